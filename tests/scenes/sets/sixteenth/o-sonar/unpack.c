/* Echo sounder pings: u16 channel count, u16 samples, then i16 samples per channel, run-length coded. */
#include <stdint.h>
#include <string.h>

int unpack_ping(const uint8_t *raw, int size, float *out) {
    int16_t line[512];
    uint16_t channels, samples;
    int at = 4;
    memcpy(&channels, raw, 2);
    memcpy(&samples, raw + 2, 2);
    for (int c = 0; c < channels; c++) {
        int filled = 0;
        while (filled < samples) {
            int run = raw[at];
            int16_t value;
            memcpy(&value, raw + at + 1, 2);
            at += 3;
            for (int k = 0; k < run; k++)
                out[c * samples + filled + k] = value / 32768.0f;
            filled += run;
        }
    }
    (void)line;
    (void)size;
    return channels * samples;
}
