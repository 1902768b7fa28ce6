/* A double of libnvidia-ml.so.1 for machines without a GPU.
 *
 * It exports the C interface of the real library (a driver of the 550 series: no later entry
 * points), so that unmodified clients load it through LD_LIBRARY_PATH. What it answers stands
 * in the text file named by $FAKE_NVML_SCENARIO, which is looked at again on every call: a
 * test changes the box under a running program by renaming a new file over the old one.
 *
 * Lines are "key = value"; '#' starts a comment; lines before the first "[gpu N]" are about
 * the system. Without a scenario the driver is not loaded.
 *
 *   system   driver_version, cuda_version, count (default: number of gpu sections)
 *   both     fail.<Function> = <NVML error>     that call fails; 13 for an absent function
 *            delay_ms.<Function> = <ms>         that call hangs for so long
 *   gpu      lost = 1                           every call says NVML_ERROR_GPU_IS_LOST
 *            fail = <NVML error>                every call fails with it
 *            name uuid serial vbios bus_id cc mem_total mem_used mem_reserved util_gpu util_mem
 *            temp_c power_mw power_limit_mw clock_reasons mig_mode ecc_mode persistence pstate
 *            clock.{graphics,sm,mem,video} clock_max.{...} temp_threshold.<kind>
 *            ecc.{corrected,uncorrected}.{volatile,aggregate}
 *            remap = <corrected> <uncorrected> <pending> <failed>
 *            procs = <pid>:<bytes> ...
 *            shares = <pid>:<percent> ...        its time by process; "none" when none has any
 *            minor = <N>                         of its device file /dev/nvidiaN
 *            event_types = <bits>                what can be reported (default 0xa: double-bit
 *                                                ECC errors and Xids; 0 for none)
 *            xids = <code> ...                   reported one by one to who has registered; a
 *                                                longer list reports what was added
 *
 * A value that is absent is NVML_ERROR_NOT_SUPPORTED, as on a board without that sensor.
 * <Function> is the name without a version suffix (fail.nvmlInit, not nvmlInit_v2), but for
 * nvmlDeviceGetComputeRunningProcesses_v2 and _v3, so that a test can take away the newer.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define MAX_GPUS 16
#define MAX_PAIRS 128

typedef unsigned int u32;
typedef unsigned long long u64;

typedef enum {
    OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, TIMEOUT = 10, GPU_IS_LOST = 15, VERSION_MISMATCH = 25,
    UNKNOWN = 999,
} result;

struct pair { char key[64], value[192]; };
struct section { struct pair pairs[MAX_PAIRS]; int length; };
struct device { int index; };

static struct section box, boards[MAX_GPUS];
static struct device devices[MAX_GPUS];
static int boards_there, initialised;
static struct stat seen;

/* ---- the scenario ------------------------------------------------------------------- */

static char *trimmed(char *text) {
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1])) text[--length] = 0;
    return text;
}

static void add(struct section *section, const char *key, const char *value) {
    if (section->length == MAX_PAIRS) return;
    struct pair *pair = &section->pairs[section->length++];
    snprintf(pair->key, sizeof pair->key, "%s", key);
    snprintf(pair->value, sizeof pair->value, "%s", value);
}

static void parse(FILE *file) {
    struct section *section = &box;
    char line[512];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "#")] = 0;
        char *text = trimmed(line), *equals = strchr(text, '=');
        int index;
        if (sscanf(text, "[gpu %d]", &index) == 1 && index >= 0 && index < MAX_GPUS) {
            section = &boards[index];
            if (index >= boards_there) boards_there = index + 1;
        } else if (equals) {
            *equals = 0;
            add(section, trimmed(text), trimmed(equals + 1));
        }
    }
}

static void reload(void) {
    const char *path = getenv("FAKE_NVML_SCENARIO");
    struct stat now;
    if (!path || stat(path, &now)) memset(&now, 0, sizeof now);
    if (now.st_ino == seen.st_ino && now.st_size == seen.st_size &&
        now.st_mtim.tv_sec == seen.st_mtim.tv_sec && now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec)
        return;
    seen = now;
    box.length = boards_there = 0;
    for (int i = 0; i < MAX_GPUS; i++) boards[i].length = 0, devices[i].index = i;
    FILE *file = now.st_ino ? fopen(path, "r") : NULL;
    if (!file) return;
    parse(file);
    fclose(file);
}

/* The last line with the key counts, so that a test can append to a scenario. */
static const char *text(const struct section *section, const char *key) {
    for (int i = section->length; i--;)
        if (!strcmp(section->pairs[i].key, key)) return section->pairs[i].value;
    return NULL;
}

static int number(const struct section *section, const char *key, u64 *out) {
    const char *value = text(section, key);
    if (value) *out = strtoull(value, NULL, 0);
    return value != NULL;
}

static u64 injected(const struct section *section, const char *kind, const char *function) {
    char key[96];
    u64 value = 0;
    snprintf(key, sizeof key, "%s.%s", kind, function);
    if (!number(section, key, &value)) number(&box, key, &value);
    return value;
}

/* What every call goes through first: reload, delay, injected error. */
static result enter(const struct device *device, const char *function) {
    reload();
    const struct section *section = device ? &boards[device->index] : &box;
    u64 wait = injected(section, "delay_ms", function), error = injected(section, "fail", function);
    struct timespec pause = {(time_t)(wait / 1000), (long)(wait % 1000) * 1000000};
    if (wait) nanosleep(&pause, NULL);
    if (!device) return (result)error;
    u64 lost = 0;
    number(section, "lost", &lost);
    if (lost || device->index >= boards_there) return GPU_IS_LOST;
    if (!error) number(section, "fail", &error);
    return (result)error;
}

#define SYSTEM(function) \
    do { \
        if (!initialised) return UNINITIALIZED; \
        result entered = enter(NULL, function); \
        if (entered) return entered; \
    } while (0)
#define DEVICE(device, function) \
    do { \
        if (!initialised) return UNINITIALIZED; \
        if (!(device)) return INVALID_ARGUMENT; \
        result entered = enter(device, function); \
        if (entered) return entered; \
    } while (0)

static result give_text(const char *value, char *out, u32 size) {
    if (!value) return NOT_SUPPORTED;
    if (strlen(value) >= size) return INSUFFICIENT_SIZE;
    strcpy(out, value);
    return OK;
}

static result give_u64(const struct device *device, const char *key, u64 *out) {
    return number(&boards[device->index], key, out) ? OK : NOT_SUPPORTED;
}

static result give_u32(const struct device *device, const char *key, u32 *out) {
    u64 value;
    result found = give_u64(device, key, &value);
    if (!found) *out = (u32)value;
    return found;
}

/* ---- the system --------------------------------------------------------------------- */

API result nvmlInitWithFlags(u32 flags) {
    (void)flags;
    result entered = enter(NULL, "nvmlInit");
    if (entered) return entered;
    if (!seen.st_ino) return DRIVER_NOT_LOADED;
    initialised++;
    return OK;
}
API result nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
API result nvmlInit(void) { return nvmlInitWithFlags(0); }

API result nvmlShutdown(void) {
    if (!initialised) return UNINITIALIZED;
    initialised--;
    return OK;
}

API const char *nvmlErrorString(result error) {
    static const char *const names[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
        "Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power",
        "Driver Not Loaded", "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found",
        "Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires reset",
        "The operating system has blocked the request", "RM has detected an NVML/RM version mismatch."};
    return (size_t)error < sizeof names / sizeof *names ? names[error] : "Unknown Error";
}

API result nvmlSystemGetDriverVersion(char *out, u32 size) {
    SYSTEM("nvmlSystemGetDriverVersion");
    const char *version = text(&box, "driver_version");
    return give_text(version ? version : "550.54.15", out, size);
}

API result nvmlSystemGetCudaDriverVersion_v2(int *out) {
    SYSTEM("nvmlSystemGetCudaDriverVersion");
    u64 version = 12040;
    number(&box, "cuda_version", &version);
    *out = (int)version;
    return OK;
}
API result nvmlSystemGetCudaDriverVersion(int *out) { return nvmlSystemGetCudaDriverVersion_v2(out); }

API result nvmlDeviceGetCount_v2(u32 *out) {
    SYSTEM("nvmlDeviceGetCount");
    u64 count = (u64)boards_there;
    number(&box, "count", &count);
    *out = (u32)count;
    return OK;
}

API result nvmlDeviceGetHandleByIndex_v2(u32 index, struct device **out) {
    SYSTEM("nvmlDeviceGetHandleByIndex");
    if (index >= (u32)boards_there) return INVALID_ARGUMENT;
    result entered = enter(&devices[index], "nvmlDeviceGetHandleByIndex");
    if (!entered) *out = &devices[index];
    return entered;
}

static result by_text(const char *key, const char *wanted, struct device **out) {
    for (int i = 0; i < boards_there; i++) {
        const char *value = text(&boards[i], key);
        if (value && !strcasecmp(value, wanted)) return *out = &devices[i], OK;
    }
    return NOT_FOUND;
}

API result nvmlDeviceGetHandleByUUID(const char *uuid, struct device **out) {
    SYSTEM("nvmlDeviceGetHandleByUUID");
    return by_text("uuid", uuid, out);
}

API result nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, struct device **out) {
    SYSTEM("nvmlDeviceGetHandleByPciBusId");
    return by_text("bus_id", bus_id, out);
}

/* ---- one device: plain values ------------------------------------------------------- */

#define TEXT(name, key) \
    API result name(struct device *device, char *out, u32 size) { \
        DEVICE(device, #name); \
        return give_text(text(&boards[device->index], key), out, size); \
    }
#define VALUE(name, type, key) \
    API result name(struct device *device, type *out) { \
        DEVICE(device, #name); \
        return give_##type(device, key, out); \
    }

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
VALUE(nvmlDeviceGetPowerUsage, u32, "power_mw")
VALUE(nvmlDeviceGetEnforcedPowerLimit, u32, "power_limit_mw")
VALUE(nvmlDeviceGetPowerManagementLimit, u32, "power_limit_mw")
VALUE(nvmlDeviceGetPerformanceState, u32, "pstate")
VALUE(nvmlDeviceGetPersistenceMode, u32, "persistence")
VALUE(nvmlDeviceGetCurrentClocksEventReasons, u64, "clock_reasons")
VALUE(nvmlDeviceGetCurrentClocksThrottleReasons, u64, "clock_reasons")
/* Asked for by other programs that look at the same box (scripts/bench-beside). */
VALUE(nvmlDeviceGetFanSpeed, u32, "fan")
VALUE(nvmlDeviceGetDisplayActive, u32, "display")
VALUE(nvmlDeviceGetDisplayMode, u32, "display")
VALUE(nvmlDeviceGetComputeMode, u32, "compute_mode")
VALUE(nvmlDeviceGetMaxMigDeviceCount, u32, "mig_devices")

API result nvmlDeviceGetEncoderUtilization(struct device *device, u32 *out, u32 *period_us) {
    DEVICE(device, "nvmlDeviceGetEncoderUtilization");
    *period_us = 0;
    return give_u32(device, "util_encoder", out);
}

API result nvmlDeviceGetDecoderUtilization(struct device *device, u32 *out, u32 *period_us) {
    DEVICE(device, "nvmlDeviceGetDecoderUtilization");
    *period_us = 0;
    return give_u32(device, "util_decoder", out);
}

API result nvmlDeviceGetPcieThroughput(struct device *device, u32 counter, u32 *out) {
    DEVICE(device, "nvmlDeviceGetPcieThroughput");
    return counter > 1 ? INVALID_ARGUMENT : give_u32(device, "pcie_kb", out);
}

API result nvmlDeviceGetIndex(struct device *device, u32 *out) {
    DEVICE(device, "nvmlDeviceGetIndex");
    *out = (u32)device->index;
    return OK;
}

API result nvmlDeviceGetTemperature(struct device *device, u32 sensor, u32 *out) {
    DEVICE(device, "nvmlDeviceGetTemperature");
    return sensor ? INVALID_ARGUMENT : give_u32(device, "temp_c", out);
}

API result nvmlDeviceGetTemperatureThreshold(struct device *device, u32 kind, u32 *out) {
    char key[32];
    DEVICE(device, "nvmlDeviceGetTemperatureThreshold");
    snprintf(key, sizeof key, "temp_threshold.%u", kind);
    return give_u32(device, key, out);
}

static result clock_of(const struct device *device, const char *kind, u32 type, u32 *out) {
    static const char *const domains[] = {"graphics", "sm", "mem", "video"};
    char key[32];
    if (type >= sizeof domains / sizeof *domains) return INVALID_ARGUMENT;
    snprintf(key, sizeof key, "%s.%s", kind, domains[type]);
    return give_u32(device, key, out);
}

API result nvmlDeviceGetClockInfo(struct device *device, u32 type, u32 *out) {
    DEVICE(device, "nvmlDeviceGetClockInfo");
    return clock_of(device, "clock", type, out);
}

API result nvmlDeviceGetMaxClockInfo(struct device *device, u32 type, u32 *out) {
    DEVICE(device, "nvmlDeviceGetMaxClockInfo");
    return clock_of(device, "clock_max", type, out);
}

/* ---- one device: structures --------------------------------------------------------- */

struct utilization { u32 gpu, memory; };

API result nvmlDeviceGetUtilizationRates(struct device *device, struct utilization *out) {
    DEVICE(device, "nvmlDeviceGetUtilizationRates");
    out->memory = 0;
    give_u32(device, "util_mem", &out->memory);
    return give_u32(device, "util_gpu", &out->gpu);
}

struct memory { u64 total, free, used; };
struct memory_v2 { u32 version; u64 total, reserved, free, used; };

API result nvmlDeviceGetMemoryInfo_v2(struct device *device, struct memory_v2 *out) {
    DEVICE(device, "nvmlDeviceGetMemoryInfo");
    if (out->version != (sizeof *out | 2u << 24)) return VERSION_MISMATCH;
    out->reserved = out->used = 0;
    give_u64(device, "mem_reserved", &out->reserved);
    give_u64(device, "mem_used", &out->used);
    result found = give_u64(device, "mem_total", &out->total);
    if (!found) out->free = out->total - out->used - out->reserved;
    return found;
}

/* The first version counts as used what the driver keeps for itself. */
API result nvmlDeviceGetMemoryInfo(struct device *device, struct memory *out) {
    struct memory_v2 all = {.version = sizeof all | 2u << 24};
    result found = nvmlDeviceGetMemoryInfo_v2(device, &all);
    if (!found) *out = (struct memory){all.total, all.free, all.used + all.reserved};
    return found;
}

struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; };

API result nvmlDeviceGetPciInfo_v3(struct device *device, struct pci *out) {
    DEVICE(device, "nvmlDeviceGetPciInfo");
    memset(out, 0, sizeof *out);
    result found = give_text(text(&boards[device->index], "bus_id"), out->bus_id, sizeof out->bus_id);
    if (found) return found;
    sscanf(out->bus_id, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    snprintf(out->legacy, sizeof out->legacy, "%04x:%02x:%02x.0", out->domain & 0xffff,
             out->bus & 0xff, out->device & 0xff);
    return OK;
}

API result nvmlDeviceGetMinorNumber(struct device *device, u32 *out) {
    DEVICE(device, "nvmlDeviceGetMinorNumber");
    return give_u32(device, "minor", out);
}

API result nvmlDeviceGetCudaComputeCapability(struct device *device, int *major, int *minor) {
    DEVICE(device, "nvmlDeviceGetCudaComputeCapability");
    const char *value = text(&boards[device->index], "cc");
    return value && sscanf(value, "%d.%d", major, minor) == 2 ? OK : NOT_SUPPORTED;
}

static result current_and_pending(const struct device *device, const char *key, u32 *now, u32 *next) {
    result found = give_u32(device, key, now);
    if (!found) *next = *now;
    return found;
}

API result nvmlDeviceGetMigMode(struct device *device, u32 *now, u32 *next) {
    DEVICE(device, "nvmlDeviceGetMigMode");
    return current_and_pending(device, "mig_mode", now, next);
}

API result nvmlDeviceGetEccMode(struct device *device, u32 *now, u32 *next) {
    DEVICE(device, "nvmlDeviceGetEccMode");
    return current_and_pending(device, "ecc_mode", now, next);
}

API result nvmlDeviceGetTotalEccErrors(struct device *device, u32 kind, u32 counter, u64 *out) {
    char key[48];
    DEVICE(device, "nvmlDeviceGetTotalEccErrors");
    snprintf(key, sizeof key, "ecc.%s.%s", kind ? "uncorrected" : "corrected",
             counter ? "aggregate" : "volatile");
    return give_u64(device, key, out);
}

API result nvmlDeviceGetRemappedRows(struct device *device, u32 *corrected, u32 *uncorrected,
                                     u32 *pending, u32 *failed) {
    DEVICE(device, "nvmlDeviceGetRemappedRows");
    const char *value = text(&boards[device->index], "remap");
    if (!value) return NOT_SUPPORTED;
    return sscanf(value, "%u %u %u %u", corrected, uncorrected, pending, failed) == 4 ? OK : UNKNOWN;
}

struct process { u32 pid; u64 used; u32 gpu_instance, compute_instance; };

static result processes(const struct device *device, u32 *length, struct process *out) {
    const char *value = text(&boards[device->index], "procs");
    char list[192] = "", *rest = list;
    u32 room = out ? *length : 0, count = 0;
    if (value) snprintf(list, sizeof list, "%s", value);
    for (char *word; (word = strsep(&rest, " "));) {
        struct process process = {.gpu_instance = ~0u, .compute_instance = ~0u};
        if (sscanf(word, "%u:%llu", &process.pid, &process.used) < 1) continue;
        if (count < room) out[count] = process;
        count++;
    }
    *length = count;
    return count > room ? INSUFFICIENT_SIZE : OK;
}

#define PROCESSES(name) \
    API result name(struct device *device, u32 *length, struct process *out) { \
        DEVICE(device, #name); \
        return processes(device, length, out); \
    }

PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2)

#define NO_PROCESSES(name) \
    API result name(struct device *device, u32 *length, struct process *out) { \
        DEVICE(device, #name); \
        (void)out; \
        *length = 0; \
        return OK; \
    }

NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)

API result nvmlDeviceGetDriverModel(struct device *device, u32 *now, u32 *next) {
    DEVICE(device, "nvmlDeviceGetDriverModel");
    (void)now, (void)next;
    return NOT_SUPPORTED; /* Windows alone has two */
}

struct share { u32 pid; u64 at; u32 sm, memory, encoder, decoder; };

API result nvmlDeviceGetProcessUtilization(
    struct device *device, struct share *out, u32 *length, u64 since) {
    DEVICE(device, "nvmlDeviceGetProcessUtilization");
    const char *value = text(&boards[device->index], "shares");
    char list[192] = "", *rest = list;
    u32 room = out ? *length : 0, count = 0;
    if (!value) return NOT_SUPPORTED;
    snprintf(list, sizeof list, "%s", value);
    for (char *word; (word = strsep(&rest, " "));) {
        struct share share = {.at = since + 1};
        if (sscanf(word, "%u:%u", &share.pid, &share.sm) < 2) continue;
        if (count < room) out[count] = share;
        count++;
    }
    *length = count;
    return !count ? NOT_FOUND : count > room ? INSUFFICIENT_SIZE : OK;
}

/* ---- events: one set is enough for a client of ours ----------------------------------- */

struct event { struct device *device; u64 type, data; u32 gpu_instance, compute_instance; };

static struct set { int told[MAX_GPUS]; char follows[MAX_GPUS]; } events;

static u64 xid_at(const struct device *device, int place, int *length) {
    const char *value = text(&boards[device->index], "xids");
    char list[192] = "", *rest = list;
    u64 found = 0;
    *length = 0;
    if (value) snprintf(list, sizeof list, "%s", value);
    for (char *word; (word = strsep(&rest, " "));)
        if (*word && (*length)++ == place) found = strtoull(word, NULL, 0);
    return found;
}

API result nvmlDeviceGetSupportedEventTypes(struct device *device, u64 *out) {
    DEVICE(device, "nvmlDeviceGetSupportedEventTypes");
    *out = 0xa;
    number(&boards[device->index], "event_types", out);
    return OK;
}

API result nvmlEventSetCreate(struct set **out) {
    SYSTEM("nvmlEventSetCreate");
    memset(&events, 0, sizeof events);
    *out = &events;
    return OK;
}

/* What was there before is not reported. */
API result nvmlDeviceRegisterEvents(struct device *device, u64 types, struct set *set) {
    DEVICE(device, "nvmlDeviceRegisterEvents");
    if (!types) return INVALID_ARGUMENT;
    set->follows[device->index] = 1;
    xid_at(device, 0, &set->told[device->index]);
    return OK;
}

API result nvmlEventSetWait_v2(struct set *set, struct event *out, u32 timeout_ms) {
    SYSTEM("nvmlEventSetWait");
    (void)timeout_ms;
    for (int i = 0; i < boards_there; i++) {
        int length;
        u64 xid = xid_at(&devices[i], set->told[i], &length);
        if (!set->follows[i] || set->told[i] >= length) continue;
        set->told[i]++;
        *out = (struct event){&devices[i], 8, xid, ~0u, ~0u};
        return OK;
    }
    return TIMEOUT;
}

API result nvmlEventSetFree(struct set *set) {
    SYSTEM("nvmlEventSetFree");
    memset(set, 0, sizeof *set);
    return OK;
}
