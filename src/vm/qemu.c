/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The VM as QEMU builds it: minimal, without a network card, a display or other unneeded devices. A
 * snapshot is taken with QMP, as a migration to a file, when the guest is ready to serve a call and
 * has seen none. No tool has run by then, so QEMU's replies can be trusted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "plan/guest.h"
#include "vm/vm.h"

/* ---- snapshots ---- */

enum { LINE_MAX_BYTES = 64 << 10, WAIT_S = 60, LOOK_NS = 5000000 };

/* Reads one line from QEMU; events are lines, too. False: the connection ended. */
static bool read_line(int control, struct tc_buf *line)
{
    char byte;
    line->len = 0;
    while (line->len < LINE_MAX_BYTES) {
        ssize_t n = read(control, &byte, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        if (byte == '\n')
            return tc_buf_addc(line, '\0'), !line->failed;
        tc_buf_addc(line, byte);
    }
    return false;
}

/* Stores the reply to one command in `line`; passes `fd` along unless -1. */
static bool ask_qemu(int control, const char *command, int fd, struct tc_buf *line)
{
    if (tc_send(control, command, strlen(command), &fd, fd >= 0 ? 1 : 0) < 0)
        return false;
    while (read_line(control, line)) {
        if (strstr(line->data, "\"return\""))
            return true;
        if (strstr(line->data, "\"error\""))
            return false;
    }
    return false;
}

static bool wait_until_whole(int control, int64_t until_us, struct tc_buf *line)
{
    static const char look[] = "{\"execute\":\"query-migrate\"}";
    const struct timespec moment = {.tv_nsec = LOOK_NS};
    while (tc_now_us() < until_us && ask_qemu(control, look, -1, line)) {
        if (strstr(line->data, "\"status\": \"completed\""))
            return true;
        if (strstr(line->data, "\"status\": \"failed\""))
            return false;
        (void)nanosleep(&moment, NULL);
    }
    return false;
}

static bool keep_qemu(const struct tc_vm_options *o, const struct tc_vm *vm)
{
    static const char *const first[] = {
        "{\"execute\":\"qmp_capabilities\"}",
        "{\"execute\":\"migrate-set-parameters\",\"arguments\":{\"max-bandwidth\":1099511627776}}",
        /* with emulation, guest writes during a migration can be lost, which corrupts the snapshot
         */
        "{\"execute\":\"stop\"}",
    };
    static const char pass[] = "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"kept\"}}";
    static const char write[] = "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:kept\"}}";
    static const char go_on[] = "{\"execute\":\"cont\"}";
    const struct timeval patience = {.tv_sec = WAIT_S};
    _autobuf_ struct tc_buf line = {.max = LINE_MAX_BYTES + 1};
    int c = vm->control;
    bool fine = setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0;
    for (size_t i = 0; i < TC_COUNT(first); i++)
        fine = fine && ask_qemu(c, first[i], -1, &line);
    fine = fine && ask_qemu(c, pass, o->keep, &line) && ask_qemu(c, write, -1, &line) &&
           wait_until_whole(c, tc_now_us() + o->boot_ms * 1000, &line);
    /* the VM continues in either case; if that fails, so does the snapshot */
    return ask_qemu(c, go_on, -1, &line) && fine;
}

/* ---- the VM ---- */

/* The frequency of the host's TSC, which the guest uses. A guest's own measurement on a busy host
 * is wrong or never ends. 0: not known. */
static long clock_khz(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    double mhz = 0;
    while (file && mhz == 0 && fgets(line, sizeof(line), file))
        if (sscanf(line, "cpu MHz : %lf", &mhz) != 1)
            mhz = 0;
    if (file)
        (void)fclose(file);
    return (long)(mhz * 1000);
}

static bool add_disk(const char *path, struct tc_strv *v)
{
    return tc_strv_add(v, "-drive") &&
           tc_strv_take(v, tc_format("file=%s,format=raw,if=none,id=root,readonly=on,"
                                     "file.locking=off",
                                     path)) &&
           tc_strv_add(v, "-device") && tc_strv_add(v, "virtio-blk-device,drive=root");
}

/* Options to restore a snapshot (no kernel is loaded), or to take one with QMP. */
static bool add_file(const struct tc_vm_lines *lines, struct tc_strv *v)
{
    if (lines->from >= 0 &&
        (!tc_strv_add(v, "-incoming") || !tc_strv_take(v, tc_format("fd:%d", lines->from))))
        return false;
    /* the VM is stopped during the migration, but its copies must run */
    return lines->control < 0 ||
           (tc_strv_add(v, "-global") && tc_strv_add(v, "migration.store-global-state=off") &&
            tc_strv_add(v, "-chardev") &&
            tc_strv_take(v, tc_format("socket,id=control,fd=%d", lines->control)) &&
            tc_strv_add(v, "-mon") && tc_strv_add(v, "chardev=control,mode=control"));
}

/* A snapshot is restored for calls with and without a network, so the port always exists. */
static bool add_net(const struct tc_vm_lines *lines, struct tc_strv *v)
{
    return tc_strv_add(v, "-chardev") &&
           tc_strv_take(v, lines->net >= 0 ? tc_format("socket,id=net,fd=%d", lines->net)
                                           : strdup("null,id=net")) &&
           tc_strv_add(v, "-device") &&
           tc_strv_add(v, "virtserialport,chardev=net,nr=2,name=toolcage-net");
}

static bool command(const struct tc_vm_options *o, const struct tc_vm_lines *lines,
                    struct tc_strv *v)
{
    /* the kernel finds its devices with ACPI; on a busy host it would declare a calibrated TSC
     * broken */
    static const char kernel[] = "console=ttyS0 quiet panic=-1 reboot=t tsc=reliable nokaslr "
                                 "mitigations=off random.trust_cpu=on";
    static const char *const fixed[] = {
        "-M",          "microvm,acpi=on,rtc=on,pcie=off,usb=off,x-option-roms=off",
        "-cpu",        "max",
        "-nodefaults", "-no-user-config",
        "-no-reboot",  "-display",
        "none",        "-monitor",
        "none",        "-serial",
        "stdio"};
    const struct {
        const char *option;
        char *value;
    } made[] = {
        {"-accel", tc_format("%s", o->kvm ? "kvm" : "tcg,tb-size=64")},
        {"-m", tc_format("%ld", o->memory_mib)},
        {"-smp", tc_format("%ld", o->cpus)},
        {"-kernel", tc_format("%s", o->kernel)},
        {"-initrd", tc_format("%s", o->initrd)},
        {"-append", tc_format("%s tsc_early_khz=%ld%s", kernel, clock_khz(),
                              o->plan ? "" : " -- " TC_GUEST_TRY)},
        {"-device", tc_format("virtio-serial-device")},
        {"-chardev", tc_format("socket,id=port,fd=%d", lines->port)},
        {"-device", tc_format("virtserialport,chardev=port,nr=1,name=toolcage")},
    };
    bool fine = tc_strv_add(v, o->vmm);
    for (size_t i = 0; i < TC_COUNT(fixed); i++)
        fine = fine && tc_strv_add(v, fixed[i]);
    for (size_t i = 0; i < TC_COUNT(made); i++) {
        fine = fine && tc_strv_add(v, made[i].option);
        fine = tc_strv_take(v, made[i].value) && fine;
    }
    return fine && add_net(lines, v) && (!o->disk || add_disk(o->disk, v)) && add_file(lines, v);
}

/* The guest finds the port after booting; what toolcage-vm writes earlier is buffered. */
static int connect_port(const struct tc_vm_options *o, struct tc_vm_port *ret)
{
    (void)o;
    return tc_vm_line(ret);
}

const struct tc_vm_driver tc_vm_qemu = {.name = "qemu",
                                        .remedy = TC_VM_REMEDY,
                                        .port = connect_port,
                                        .net = connect_port,
                                        .command = command,
                                        .keep = keep_qemu};
