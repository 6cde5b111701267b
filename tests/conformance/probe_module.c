/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The conformance cases as a WebAssembly module can try them: the accesses of probe.c for which its
 * interface has words. For the others modules.py makes modules that ask for what they would need.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wasi/api.h>

static void say(int worked, const char *what)
{
    if (worked)
        printf("yes %s\n", what);
    else
        printf("no %s: %s\n", what, strerror(errno));
    (void)fflush(stdout);
}

static void do_read(char **a)
{
    char text[4096];
    int fd = open(a[0], O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    say(n >= 0, "read");
    if (n > 0)
        (void)!write(1, text, (size_t)n);
}

static void do_size(char **a)
{
    struct stat st;
    say(stat(a[0], &st) == 0 && st.st_size > 0, "size");
}

static void do_write(char **a)
{
    int fd = open(a[0], O_WRONLY | O_CREAT | O_APPEND, 0644);
    say(fd >= 0 && write(fd, "written\n", 8) == 8, "write");
}

static void do_may_write(char **a)
{
    say(open(a[0], O_WRONLY) >= 0, "may-write");
}

static void do_device(char **a)
{
    say(open(a[0], O_RDWR) >= 0, "device");
}

static void do_unlink(char **a)
{
    say(unlink(a[0]) == 0, "unlink");
}

static void do_rename(char **a)
{
    say(rename(a[0], a[1]) == 0, "rename");
}

static void do_link(char **a)
{
    say(link(a[0], a[1]) == 0, "link");
}

static void do_read_moved(char **a)
{
    char path[4096];
    say(rename(a[0], a[1]) == 0, "move");
    (void)snprintf(path, sizeof(path), "%s/%s", a[1], a[2]);
    do_read((char *[]){path});
}

static void do_read_link(char **a)
{
    say(symlink(a[0], a[1]) == 0, "symlink");
    do_read(a + 1);
}

static void do_processes(char **a)
{
    char path[64];
    struct stat st;
    int found = 0;
    for (int pid = 1; pid < 4096; pid++) {
        (void)snprintf(path, sizeof(path), "/proc/%d", pid);
        found += stat(path, &st) == 0;
    }
    printf("processes %d\n", found);
}

static void do_environment(char **a)
{
    extern char **environ;
    for (char **e = environ; *e; e++)
        puts(*e);
}

/* No stream is a terminal, which fd_fdstat_get() would call a character device. */
static const char *kind_of(__wasi_fd_t fd, const __wasi_fdstat_t *st)
{
    __wasi_filestat_t file;
    if (st->fs_filetype != __WASI_FILETYPE_UNKNOWN || __wasi_fd_filestat_get(fd, &file) != 0)
        return "other";
    return file.filetype == __WASI_FILETYPE_CHARACTER_DEVICE ? "null" : "pipe";
}

/* What it was not handed as a directory is a stream, or somebody else's. */
static void do_descriptors(char **a)
{
    __wasi_fdstat_t st;
    __wasi_prestat_t root;
    for (__wasi_fd_t fd = 0; fd < 1024; fd++)
        if (__wasi_fd_fdstat_get(fd, &st) == 0 && __wasi_fd_prestat_get(fd, &root) != 0)
            printf("%u %s\n", fd, kind_of(fd, &st));
}

static void do_memory(char **a)
{
    size_t size = (size_t)atol(a[0]) << 20;
    char *block = malloc(size);
    for (size_t i = 0; block && i < size; i += 4096)
        ((volatile char *)block)[i] = 1;
    say(block != NULL, "memory");
}

static void do_fill(char **a)
{
    static char block[65536];
    long left = atol(a[1]);
    int fd = open(a[0], O_WRONLY | O_CREAT, 0600);
    while (left > 0 && write(fd, block, sizeof(block)) > 0)
        left -= (long)sizeof(block);
    say(left <= 0, "fill");
}

static void do_files(char **a)
{
    char path[64];
    int made = 0, most = atoi(a[0]);
    for (; made < most; made++) {
        (void)snprintf(path, sizeof(path), "/tmp/file-%d", made);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        if (fd < 0)
            break;
        (void)close(fd);
    }
    say(made == most, "files");
}

/* It has no dup(). */
static void do_open(char **a)
{
    int most = atoi(a[0]), made = 0;
    while (made < most && open("/tmp", O_RDONLY) >= 0)
        made++;
    say(made == most, "open");
}

/* Its C library knows no clock of the processor; the interface does. */
static void do_spin(char **a)
{
    __wasi_timestamp_t used = 0, most = (__wasi_timestamp_t)(atof(a[0]) * 1e9);
    while (used < most)
        if (__wasi_clock_time_get(__WASI_CLOCKID_PROCESS_CPUTIME_ID, 1, &used) != 0)
            return;
    say(1, "spin");
}

static void do_sleep(char **a)
{
    double seconds = atof(a[0]);
    struct timespec t = {.tv_sec = (time_t)seconds,
                         .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&t, NULL);
    say(1, "sleep");
}

static void do_print(char **a)
{
    static char block[1024];
    memset(block, 'o', sizeof(block));
    for (long left = atol(a[0]); left > 0; left -= (long)sizeof(block))
        (void)!write(1, block, sizeof(block));
    printf("\nyes print\n");
}

static void do_nothing(char **a)
{
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(char **args);
        int args;
    } accesses[] = {
        {"read", do_read, 1},
        {"size", do_size, 1},
        {"write", do_write, 1},
        {"may-write", do_may_write, 1},
        {"unlink", do_unlink, 1},
        {"rename", do_rename, 2},
        {"link", do_link, 2},
        {"read-moved", do_read_moved, 3},
        {"read-link", do_read_link, 2},
        {"device", do_device, 1},
        {"processes", do_processes, 0},
        {"environment", do_environment, 0},
        {"descriptors", do_descriptors, 0},
        {"memory", do_memory, 1},
        {"fill", do_fill, 2},
        {"files", do_files, 1},
        {"open", do_open, 1},
        {"spin", do_spin, 1},
        {"sleep", do_sleep, 1},
        {"print", do_print, 1},
        {"nothing", do_nothing, 0},
    };
    for (size_t i = 0; argc > 1 && i < sizeof(accesses) / sizeof(accesses[0]); i++) {
        if (strcmp(accesses[i].name, argv[1]) != 0 || argc - 2 < accesses[i].args)
            continue;
        accesses[i].run(argv + 2);
        return 0;
    }
    (void)fprintf(stderr, "probe: no such access\n");
    return 99;
}
