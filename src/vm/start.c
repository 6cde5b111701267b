/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The machine: the smallest that QEMU has, without a network, a display or anything else that a
 * call has no use for. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/guest.h"
#include "vm/vm.h"

/* Of this machine's counter, which the guest has: what it would measure on a busy host is wrong, or
 * never comes. 0: not known. */
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

/* What goes on has no kernel to load; what is to be kept is asked for by the monitor's protocol. */
static bool add_file(const struct tc_vm_lines *lines, struct tc_strv *v)
{
    if (lines->from >= 0 &&
        (!tc_strv_add(v, "-incoming") || !tc_strv_take(v, tc_format("fd:%d", lines->from))))
        return false;
    return lines->control < 0 ||
           (tc_strv_add(v, "-chardev") &&
            tc_strv_take(v, tc_format("socket,id=control,fd=%d", lines->control)) &&
            tc_strv_add(v, "-mon") && tc_strv_add(v, "chardev=control,mode=control"));
}

bool tc_vm_command(const struct tc_vm_options *o, const struct tc_vm_lines *lines,
                   struct tc_strv *v)
{
    /* the kernel finds its devices by ACPI; of a clock that is tuned by a busy host it would say
     * that it is broken */
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
                              o->disk ? "" : " -- " TC_GUEST_TRY)},
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
    return fine && (!o->disk || add_disk(o->disk, v)) && add_file(lines, v);
}

/* It dies with us; its words and the guest's console are one stream. Who asks the tool to end means
 * the tool in the guest, which is told by us, and not the machine around it. */
static _Noreturn void become_monitor(char *const *argv, int console)
{
    char *none[] = {NULL};
    sigset_t asking;
    (void)sigemptyset(&asking);
    (void)sigaddset(&asking, SIGTERM);
    (void)sigaddset(&asking, SIGINT);
    (void)sigaddset(&asking, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &asking, NULL);
    int null = open("/dev/null", O_RDONLY);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && null >= 0 && dup2(null, 0) == 0 &&
        dup2(console, 1) == 1 && dup2(console, 2) == 2)
        (void)execve(argv[0], argv, none);
    _exit(127);
}

/* A pair of ends, of which ours stays ours; -1 with errno. */
static int make_line(int *ret_ours, int *ret_theirs)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return -1;
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    return fcntl(pair[0], F_SETFD, FD_CLOEXEC);
}

int tc_vm_start(const struct tc_vm_options *o, struct tc_vm *ret)
{
    _autostrv_ struct tc_strv argv = {0};
    _autofd_ int ours = -1, theirs = -1, asks = -1, answers = -1, from = -1;
    int tube[2];
    if (make_line(&ours, &theirs) < 0 || (o->keep > 0 && make_line(&asks, &answers) < 0) ||
        (o->from && (from = open(o->from, O_RDONLY)) < 0) || pipe2(tube, O_CLOEXEC) < 0)
        return -1;
    _autofd_ int console = tube[0], say = tube[1];
    const struct tc_vm_lines lines = {theirs, answers, from};
    if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0 || fcntl(console, F_SETFL, O_NONBLOCK) < 0 ||
        !tc_vm_command(o, &lines, &argv))
        return -1;
    ret->pid = fork();
    if (ret->pid == 0)
        become_monitor(argv.items, say);
    if (ret->pid < 0)
        return -1;
    ret->port = TAKE_FD(ours);
    ret->console = TAKE_FD(console);
    ret->control = TAKE_FD(asks);
    return 0;
}
