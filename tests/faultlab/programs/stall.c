/* A parent by vfork() is in state D until its child ends. */
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>

void stall(long seconds) {
    struct timespec left = {seconds, 0};
    if (vfork() == 0) {
        nanosleep(&left, 0);
        _exit(0);
    }
}
