/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/vm/kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/path.h"
#include "state/places.h"
#include "state/seal.h"
#include "state/stamp.h"

#define DEVICE "/dev/kvm"
/* the backend that can run the same guest by emulation */
#define EMULATES "qemu"

/* KVM is faster than emulation if it works, and host load slows both down. A guest that needs more
 * than MOST_MS is of no use. */
enum { LEAST_MS = 5000, MOST_MS = 20000, TIMES = 2, RECORD_MAX = 64 << 10 };
/* How long to wait for the test of another process: its boots, and the ends of their cages. */
enum { OTHER_MS = LEAST_MS + 2 * MOST_MS + 15000, LOOK_MS = 50 };

void tc_kvm_done(struct tc_kvm *kvm)
{
    free(kvm->reason);
    free(kvm->fix);
    *kvm = (struct tc_kvm){.boots = false};
}

/* ---- checks without a boot ---- */

static bool set_reason(struct tc_kvm *ret, const char *reason, const char *fix)
{
    ret->reason = strdup(reason);
    ret->fix = strdup(fix);
    if (!ret->reason || !ret->fix)
        tc_kvm_done(ret);
    return false;
}

static bool has_flag(const char *flags, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = flags; (at = strstr(at, name)); at += len)
        if (at[-1] == ' ' && (at[len] == ' ' || at[len] == '\n' || !at[len]))
            return true;
    return false;
}

/* There is no device: finds the reason in /proc/cpuinfo. */
static bool absent(struct tc_kvm *ret)
{
    char line[8192];
    FILE *file = fopen("/proc/cpuinfo", "re");
    bool amd = false, intel = false, inside = false;
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "flags", 5) == 0) {
            amd = has_flag(line, "svm");
            intel = has_flag(line, "vmx");
            inside = has_flag(line, "hypervisor");
            break;
        }
    if (file)
        (void)fclose(file);
    if (amd || intel)
        return set_reason(
            ret, "there is no " DEVICE ", though the CPU supports virtualisation",
            amd ? "modprobe kvm_amd; a container has to be given the device (docker run "
                  "--device " DEVICE ")"
                : "modprobe kvm_intel; a container has to be given the device (docker run "
                  "--device " DEVICE ")");
    if (inside)
        return set_reason(
            ret,
            "there is no " DEVICE ": this is a VM whose host does not offer nested "
            "virtualisation",
            "turn on nested virtualisation on its host (modprobe kvm_intel nested=1, or "
            "kvm_amd nested=1, and a CPU model like host)");
    return set_reason(ret, "there is no " DEVICE ", and the CPU reports no virtualisation support",
                      "turn on VT-x or AMD-V in the machine's firmware");
}

/* A root caller's cages run under ids without groups, so the device's mode must allow other users.
 */
bool tc_kvm_present(struct tc_kvm *ret)
{
    struct stat st;
    if (stat(DEVICE, &st) < 0)
        return absent(ret);
    if (!S_ISCHR(st.st_mode))
        return set_reason(ret, DEVICE " is not a device", "modprobe kvm_amd or kvm_intel makes it");
    if (geteuid() == 0 && (st.st_mode & 06) != 06)
        return set_reason(ret,
                          "toolcage runs as root, and the ids of its cages may not open " DEVICE,
                          "run toolcage as a user in the group kvm; or chmod 0666 " DEVICE);
    if (geteuid() != 0 && access(DEVICE, R_OK | W_OK) < 0)
        return set_reason(ret, "this user may not open " DEVICE,
                          "sudo usermod -aG kvm $USER, and log in again");
    return true;
}

/* ---- what the result depends on ---- */

/* The digest of all that the result depends on: the VM's files (`vm`), the stamp of the device, and
 * the user. False: one of them is unknown, so the result cannot be stored. */
static bool make_key(const char *vm, char ret[TC_DIGEST_SIZE])
{
    char device[TC_STAMP_SIZE];
    _autofree_ char *text = *vm && tc_stamp_path(DEVICE, device)
                                ? tc_format("%s\n%s\n%u", vm, device, (unsigned)geteuid())
                                : NULL;
    if (text)
        tc_digest(text, strlen(text), ret);
    return text;
}

/* ---- the record ---- */

/* Opens and locks the record of a backend: a second process waits for the result of the first one,
 * at most OTHER_MS. -1: the record cannot be opened or locked. */
static int open_record(const char *backend, int *ret_waited_ms)
{
    _autofree_ char *directory = NULL;
    if (!tc_state_directory(&directory) || !directory || tc_make_directories(directory) < 0)
        return -1;
    _autofree_ char *path = tc_format("%s/kvm-%s", directory, backend);
    _autofd_ int fd = path ? tc_open_own(path, O_RDWR | O_CREAT) : -1;
    for (; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0; *ret_waited_ms += LOOK_MS) {
        if (errno != EWOULDBLOCK || *ret_waited_ms >= OTHER_MS)
            return -1;
        (void)usleep(LOOK_MS * 1000);
    }
    return TAKE_FD(fd);
}

/* The record is "KEY boots\n" or "KEY not REASON\n". False: it has no result for this key. */
static bool read_record(int fd, const char *key, struct tc_kvm *ret)
{
    _autobuf_ struct tc_buf text = {.max = RECORD_MAX};
    size_t len = strlen(key);
    if (fd < 0 || tc_read_all(fd, &text) < 0 || !text.len || text.data[text.len - 1] != '\n' ||
        strncmp(text.data, key, len) != 0)
        return false;
    const char *said = text.data + len;
    ret->boots = strcmp(said, " boots\n") == 0;
    if (!ret->boots && tc_startswith(said, " not "))
        ret->reason = strndup(said + 5, strlen(said) - 6);
    return ret->boots || ret->reason;
}

static void write_record(int fd, const char *key, const struct tc_kvm *kvm)
{
    _autofree_ char *text =
        kvm->boots ? tc_format("%s boots\n", key) : tc_format("%s not %s\n", key, kvm->reason);
    if (fd >= 0 && text && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        (void)tc_write_all(fd, text, strlen(text)); /* a partly written record is ignored */
}

/* ---- a boot ---- */

#define POLICY                                                 \
    "[tool.machine]\nbackend = \"%s\"\n"                       \
    "timeout = \"%" PRId64 "ms\"\n"                            \
    "command = [\"machine\"]\n"                                \
    "filesystem = \"none\"\n"                                  \
    "network = \"none\"\n"                                     \
    "image = \"system\"\n" /* required, but no disk is used */ \
    "memory = { max = \"64MiB\", by = \"any\" }\n"             \
    "grace = \"0s\"\n"

static char *reason_of(const struct tc_errand_end *end, const char *by, int64_t limit_ms)
{
    if (end->status == TOOLCAGE_STATUS_TIMEOUT)
        return tc_format("a guest did not boot by %s within %" PRId64 ".%" PRId64 " s", by,
                         limit_ms / 1000, limit_ms / 100 % 10);
    return tc_format("a guest does not boot by %s: %s", by,
                     end->error ? end->error : "its cage ended");
}

struct boot {
    int64_t ms;
    bool late;    /* it reached its time limit */
    char *reason; /* why the guest did not boot; NULL: it did */
};

static int time_boot(const struct tc_search *search, const char *backend, const char *accel,
                     int64_t limit_ms, struct boot *ret, struct toolcage_error **err)
{
    free(ret->reason);
    *ret = (struct boot){.ms = 0};
    struct tc_errand_end end = {.status = TOOLCAGE_STATUS_OK};
    _autofree_ char *policy = tc_format(POLICY, backend, limit_ms);
    const struct tc_errand errand = {.policy = policy, .tool = "machine", .work = accel};
    int64_t began = tc_now_us();
    int r = policy ? search->run(search->engine, &errand, &end, err) : tc_fail_memory(err);
    ret->ms = (tc_now_us() - began) / 1000;
    ret->late = end.status == TOOLCAGE_STATUS_TIMEOUT;
    const char *by = strcmp(accel, "kvm") == 0 ? "it" : "emulation";
    if (r == 0 && end.status != TOOLCAGE_STATUS_OK &&
        !(ret->reason = reason_of(&end, by, limit_ms)))
        r = tc_fail_memory(err);
    free(end.error);
    return r;
}

static void to_one_line(char *text)
{
    for (; *text; text++)
        *text = (unsigned char)*text < ' ' ? ' ' : *text;
}

/* How long a boot by emulation takes; measured once for all backends, and again for the reason why
 * it fails. */
static int emulate(struct tc_search *search, const char *backend, char **ret_reason,
                   struct toolcage_error **err)
{
    bool own = strcmp(backend, EMULATES) == 0;
    if (search->emulated_ms > 0 || (search->emulated_ms < 0 && !own))
        return 0;
    struct boot slow = {.ms = 0};
    int r = time_boot(search, EMULATES, "tcg", MOST_MS, &slow, err);
    search->emulated_ms = slow.reason ? -1 : slow.ms > 0 ? slow.ms : 1;
    if (own)
        *ret_reason = TAKE(slow.reason);
    free(slow.reason);
    return r;
}

/* A host too slow for the first try gets the time of a boot by emulation for another. */
static int try_slowly(const struct tc_search *search, const char *backend, struct boot *boot,
                      struct toolcage_error **err)
{
    int64_t limit_ms = search->emulated_ms > 0 ? search->emulated_ms * TIMES : MOST_MS;
    limit_ms = limit_ms < MOST_MS ? limit_ms : MOST_MS;
    return boot->late && limit_ms > LEAST_MS
               ? time_boot(search, backend, "kvm", limit_ms, boot, err)
               : 0;
}

static int try_boot(struct tc_search *search, const char *backend, struct tc_kvm *ret,
                    struct toolcage_error **err)
{
    _autofree_ char *slow = NULL;
    struct boot boot = {.ms = 0};
    int r = time_boot(search, backend, "kvm", LEAST_MS, &boot, err);
    if (r == 0 && boot.reason)
        r = emulate(search, backend, &slow, err);
    if (r == 0 && boot.reason)
        r = try_slowly(search, backend, &boot, err);
    _autofree_ char *fast = boot.reason;
    if (r < 0)
        return r;
    ret->boots = !fast;
    if (fast)
        ret->reason =
            tc_format(DEVICE " is there, but %s%s%s", fast, slow ? "; and " : "", slow ? slow : "");
    if (ret->reason)
        to_one_line(ret->reason);
    return ret->boots || ret->reason ? 0 : tc_fail_memory(err);
}

/* The other process may be stopped, or its VM may wait in the kernel. */
static int fail_other(struct tc_kvm *ret, struct toolcage_error **err)
{
    ret->reason = tc_format(DEVICE " is there, but another toolcage process tests it, and did not "
                                   "finish within %d s",
                            OTHER_MS / 1000);
    return ret->reason ? 0 : tc_fail_memory(err);
}

/* A failure that another process found meanwhile is not tested again. */
static int find_result(struct tc_search *search, const char *backend, const char *vm, bool again,
                       struct tc_kvm *ret, struct toolcage_error **err)
{
    char key[TC_DIGEST_SIZE];
    int waited_ms = 0;
    _autofd_ int record = make_key(vm, key) ? open_record(backend, &waited_ms) : -1;
    if (record < 0 && waited_ms >= OTHER_MS)
        return fail_other(ret, err);
    if (read_record(record, key, ret) && (ret->boots || !again || waited_ms))
        return 0;
    tc_kvm_done(ret);
    int r = try_boot(search, backend, ret, err);
    if (r == 0)
        write_record(record, key, ret);
    return r;
}

int tc_kvm_look(struct tc_search *search, const char *backend, const char *vm, bool again,
                struct tc_kvm *ret, struct toolcage_error **err)
{
    if (!tc_kvm_present(ret))
        return ret->reason ? 0 : tc_fail_memory(err);
    int r = find_result(search, backend, vm, again, ret, err);
    if (r == 0 && !ret->boots &&
        !(ret->fix = strdup("toolcage doctor tries it again; where this is a virtual machine, its "
                            "host has to offer nested virtualisation that works")))
        return tc_fail_memory(err);
    return r;
}
