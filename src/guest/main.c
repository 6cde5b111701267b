/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program toolcage-guest, PID 1 of a VM. It loads kernel modules, makes the image the root, and
 * runs the helper's serving code (the "engine" below) on the VM's serial port or on a vsock
 * connection to the host. For an engine's container (Kata) see contained.c. The guest holds no data
 * of the host. When the serving code ends, the VM ends. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/oci/config.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/relay.h"
#include "helper/serve.h"
#include "plan/guest.h"
#include "plan/protocol.h"

enum { WAIT_MS = 10000 };

/* Writes the reason to the console, where toolcage-vm reads it, and ends the VM. The kernel log is
 * written to the console before the write returns; buffered terminal output would be lost (level 2:
 * also shown with "quiet"). */
static _Noreturn void end_guest(const char *what, const char *how)
{
    FILE *log = fopen("/dev/kmsg", "we");
    (void)fprintf(log ? log : stderr, "%s" TC_GUEST_LAST_WORD "%s%s\n", log ? "<2>" : "", what,
                  how);
    (void)fflush(NULL);
    (void)reboot(RB_AUTOBOOT);
    _exit(1);
}

static _Noreturn void fail_guest(const char *what)
{
    char how[128];
    (void)snprintf(how, sizeof(how), ": %s", strerror(errno));
    end_guest(what, how);
}

/* ---- file systems ---- */

struct place {
    const char *type, *path, *options;
    unsigned long flags;
};

static void mount_all(const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct place *p = &places[i];
        (void)mkdir(p->path, 0755);
        if (mount(p->type, p->path, p->type, p->flags, p->options) < 0)
            fail_guest(p->path);
    }
}

/* The kernel creates the device file asynchronously. */
static void wait_for(const char *path)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    int64_t until = tc_now_us() + WAIT_MS * 1000;
    while (access(path, F_OK) < 0 && tc_now_us() < until)
        (void)nanosleep(&moment, NULL);
    if (access(path, F_OK) < 0)
        fail_guest(path);
}

/* Opens the console as standard streams: when the kernel started this program, /dev was not mounted
 * yet, so there were none. */
static void open_console(void)
{
    int fd = open("/dev/console", O_RDWR | O_NOCTTY);
    for (int to = STDIN_FILENO; fd >= 0 && to <= STDERR_FILENO; to++)
        if (fd != to)
            (void)dup2(fd, to);
    if (fd > STDERR_FILENO)
        (void)close(fd);
}

/* ---- modules ---- */

static void load_module(const char *from, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", from, name);
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST))
        fail_guest(path);
}

static int only_files(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && entry->d_type == DT_REG;
}

static void load_modules(const char *from)
{
    struct dirent **entries = NULL;
    int count = scandir(from, &entries, only_files, alphasort);
    for (int i = 0; i < count; i++) {
        load_module(from, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* ---- the root ---- */

static void mount_image(const char *at)
{
    if (mkdir(at, 0755) < 0 ||
        mount(TC_GUEST_DISK, at, TC_GUEST_FILE_SYSTEM, MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        fail_guest(TC_GUEST_DISK);
}

/* Makes this program available under the egress proxy's name: the serving code starts the proxy
 * from there. */
static void add_relay(const char *root)
{
    char at[64];
    (void)snprintf(at, sizeof(at), "%s" TC_GUEST_RELAY, root);
    _autofd_ int fd = open(at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (fd < 0 || mount("/init", at, NULL, MS_BIND, NULL) < 0)
        fail_guest(at);
}

static void enter_root(const char *root)
{
    add_relay(root);
    if (chdir(root) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
        chdir("/") < 0)
        fail_guest("root");
}

/* Makes the image the root, below an overlay in a small tmpfs, which only needs room for mount
 * points: tools write to the storage of their cage. */
static void enter_image(void)
{
    static const struct place below[] = {
        {"tmpfs", "/upper", "mode=0755,size=16m", MS_NOSUID | MS_NODEV},
    };
    mount_all(below, TC_COUNT(below));
    if (mkdir("/new", 0755) < 0 || mkdir("/upper/u", 0755) < 0 || mkdir("/upper/w", 0755) < 0)
        fail_guest("directories");
    mount_image(TC_GUEST_IMAGE);
    if (mount("overlay", "/new", "overlay", MS_NOSUID | MS_NODEV,
              "lowerdir=" TC_GUEST_IMAGE ",upperdir=/upper/u,workdir=/upper/w") < 0)
        fail_guest("overlay");
    enter_root("/new");
}

/* The image of a WebAssembly module's cage is the guest's own root, which has toolcage-wasm. */
static void mount_ourselves(const char *at)
{
    if (mkdir(at, 0755) < 0 || mount("/", at, NULL, MS_BIND, NULL) < 0 ||
        mount(NULL, at, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        fail_guest(at);
}

/* Keeps the tree of the initial root as the root, mounted over the initial root: a container
 * runtime calls pivot_root, which fails on the kernel's initial root. */
static void stay_here(bool has_disk)
{
    if (mkdir("/new", 0755) < 0 || mount("/", "/new", NULL, MS_BIND, NULL) < 0)
        fail_guest("root");
    if (has_disk)
        mount_image("/new" TC_GUEST_IMAGE);
    else
        mount_ourselves("/new" TC_GUEST_IMAGE);
    enter_root("/new");
}

static void mount_system(void)
{
    static const struct place places[] = {
        {"proc", "/proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
        {"sysfs", "/sys", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
        {"cgroup2", "/sys/fs/cgroup", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
        {"devtmpfs", "/dev", "mode=0755", MS_NOSUID},
        {"tmpfs", "/run", "mode=0755,size=16m", MS_NOSUID | MS_NODEV},
        {"tmpfs", "/tmp", "mode=1777,size=16m", MS_NOSUID | MS_NODEV},
        /* the VM has memory for all granted files, and tools write elsewhere */
        {"tmpfs", TC_GUEST_GRANTS, "mode=0711,size=100%,nr_inodes=0", MS_NOSUID | MS_NODEV},
    };
    mount_all(places, TC_COUNT(places));
}

/* ---- serving ---- */

/* Reaps orphans, as PID 1 must, until the serving process ends. */
static void reap_until(pid_t engine)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid == engine || (pid < 0 && errno != EINTR))
            return;
    }
}

/* The kernel generates the boot id at the first read. Reads it now, so that it is part of a
 * snapshot and all copies of the snapshot have the same id. */
static void settle_boot_id(void)
{
    char id[64];
    _autofd_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, id, sizeof(id)) <= 0)
        fail_guest("boot_id");
}

/* Sets the clock and reseeds the random number generator: a VM restored from a snapshot has the
 * snapshot's time, and the same random state as all its other copies. */
static bool renew(const struct tc_renewal *renewal)
{
    const struct timespec now = {.tv_sec = renewal->now_us / 1000000,
                                 .tv_nsec = renewal->now_us % 1000000 * 1000};
    struct { /* like struct rand_pool_info, which ends with a flexible array */
        int entropy_bits, size;
        uint8_t bytes[sizeof(renewal->secret)];
    } pool = {.entropy_bits = sizeof(pool.bytes) * 8, .size = sizeof(pool.bytes)};
    _autofd_ int random = open("/dev/urandom", O_RDWR | O_CLOEXEC);
    memcpy(pool.bytes, renewal->secret, sizeof(pool.bytes));
    return random >= 0 && clock_settime(CLOCK_REALTIME, &now) == 0 &&
           ioctl(random, RNDADDENTROPY, &pool) == 0 && ioctl(random, RNDRESEEDCRNG) == 0;
}

static int open_port(void)
{
    wait_for(TC_GUEST_PORT);
    int port = open(TC_GUEST_PORT, O_RDWR | O_CLOEXEC);
    if (port < 0)
        fail_guest(TC_GUEST_PORT);
    wait_for(TC_GUEST_NET_PORT);
    /* the relay runs as nobody; no cage has this port in its /dev */
    if (chmod(TC_GUEST_NET_PORT, 0666) < 0)
        fail_guest(TC_GUEST_NET_PORT);
    return port;
}

/* Connects to the host. Retries, because the vsock device may not exist yet. */
static int call_host(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    int64_t until = tc_now_us() + WAIT_MS * 1000;
    for (;;) {
        int fd = tc_guest_call(TC_GUEST_CALLS);
        if (fd >= 0)
            return fd;
        if (tc_now_us() > until)
            fail_guest("host");
        (void)nanosleep(&moment, NULL);
    }
}

static _Noreturn void serve_guest(bool calls)
{
    int port = calls ? call_host() : open_port();
    tc_helper_serve_stream(port, port,
                           &(struct tc_serve_place){.grants = TC_GUEST_GRANTS,
                                                    .owner = TC_GUEST_ID,
                                                    .renew = renew,
                                                    .again = calls ? call_host : NULL});
}

int main(int argc, char **argv)
{
    static const struct place first[] = {
        {"devtmpfs", "/dev", "mode=0755", MS_NOSUID},
    };
    if (argc > 0 && strcmp(argv[0], TC_OCI_INIT) == 0)
        tc_inner_main(argc, argv); /* PID 1 of a container in this guest */
    if (argc > 0 && strcmp(argv[0], &TC_GUEST_RELAY[1]) == 0)
        tc_guest_relay();
    if (argc > 0 && getpid() == 1 && strcmp(argv[0], TC_GUEST_CONTAINED) == 0)
        tc_guest_contained(argc, argv);
    if (getpid() != 1) {
        (void)fprintf(stderr, TC_GUEST_LAST_WORD "the first program of a virtual machine, and "
                                                 "nothing to start by hand\n");
        return 125;
    }
    mount_all(first, TC_COUNT(first));
    open_console();
    /* the last argument: the kernel passes options that it does not know as arguments before it */
    const char *word = argc > 1 ? argv[argc - 1] : "";
    if (strcmp(word, TC_GUEST_TRY) == 0)
        end_guest(TC_GUEST_RUNS, "");
    bool calls = strcmp(word, TC_GUEST_CALLING) == 0;
    load_modules(TC_GUEST_MODULES);
    if (calls)
        load_modules(TC_GUEST_SOCKET_MODULES);
    bool has_disk = access(TC_GUEST_WORKER, X_OK) < 0;
    if (has_disk)
        wait_for(TC_GUEST_DISK);
    if (!has_disk || access(TC_GUEST_RUNTIME, X_OK) == 0)
        stay_here(has_disk);
    else
        enter_image();
    mount_system();
    settle_boot_id();
    pid_t engine = fork();
    if (engine == 0)
        serve_guest(calls);
    if (engine < 0)
        fail_guest("fork");
    reap_until(engine);
    (void)reboot(RB_AUTOBOOT);
    return 1;
}
