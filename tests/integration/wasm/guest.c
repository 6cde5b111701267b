/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A module for tests: one thing for each first word, good or bad. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wasi/api.h>

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int show(char **a)
{
    char bytes[4096];
    ssize_t n = 0;
    int fd = strcmp(a[0], "-") == 0 ? 0 : open(a[0], O_RDONLY);
    while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
        (void)!write(1, bytes, (size_t)n);
    return fd < 0 || n < 0 ? fail(a[0]) : 0;
}

static int put(char **a)
{
    int fd = open(a[0], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, a[1], strlen(a[1])) < 0)
        return fail(a[0]);
    return 0;
}

/* Which number a file gets that comes and goes. */
static int pass(char **a)
{
    struct stat st;
    if (put((char *[]){a[0], "x"}) || stat(a[0], &st) || unlink(a[0]))
        return fail(a[0]);
    printf("%llu\n", (unsigned long long)st.st_ino);
    return 0;
}

/* So many MiB. */
static int bulk(char **a)
{
    static char mib[1 << 20];
    int fd = open(a[0], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (int left = atoi(a[1]); left > 0; left--)
        if (fd < 0 || write(fd, mib, sizeof(mib)) != sizeof(mib))
            return fail(a[0]);
    return 0;
}

static int list(char **a)
{
    DIR *dir = opendir(a[0]);
    struct dirent *e;
    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.')
            puts(e->d_name);
    return dir ? 0 : fail(a[0]);
}

static int make_link(char **a)
{
    return symlink(a[0], a[1]) ? fail(a[1]) : 0;
}

static int move(char **a)
{
    return rename(a[0], a[1]) ? fail(a[1]) : 0;
}

static int take_away(char **a)
{
    return unlink(a[0]) ? fail(a[0]) : 0;
}

static int environment(char **a)
{
    extern char **environ;
    for (char **at = environ; *at; at++)
        puts(*at);
    return 0;
}

static int nap(char **a)
{
    struct timespec time = {atoi(a[0]), 0};
    return nanosleep(&time, NULL);
}

static int spin(char **a)
{
    for (volatile int x = 0;; x++)
        ;
}

static int flood(char **a)
{
    struct timespec time;
    for (;;)
        (void)clock_gettime(CLOCK_MONOTONIC, &time);
}

/* The engine's stack, not the guest's own. */
static int dig(char **a)
{
    static int (*volatile again)(char **a) = dig;
    return again(a) + 1;
}

static int trap(char **a)
{
    __builtin_trap();
}

static int grow(char **a)
{
    size_t pages = 0;
    while (__builtin_wasm_memory_grow(0, 16) != (size_t)-1)
        pages += 16;
    printf("%zu\n", pages / 16);
    return 0;
}

static int leave(char **a)
{
    exit(atoi(a[0]));
}

static int echo(char **a)
{
    for (; *a; a++)
        puts(*a);
    return 0;
}

static int shout(char **a)
{
    static char line[65536];
    memset(line, 'x', sizeof(line));
    for (int i = 0; i < 64; i++)
        if (write(1, line, sizeof(line)) < 0)
            return 7;
    return 0;
}

/* So much of its input, how much that was, and how it begins. */
static int drink(char **a)
{
    static char bytes[1 << 17];
    size_t most = (size_t)atol(a[0]), have = 0;
    for (ssize_t n = 1; n > 0 && have < most && have<sizeof(bytes); have += n> 0 ? (size_t)n : 0)
        n = read(0, bytes + have, most < sizeof(bytes) ? most - have : sizeof(bytes) - have);
    printf("%lu %.8s\n", (unsigned long)have, bytes);
    return 0;
}

/* What a call can leave behind, and what looks for it. */

static int remember(char **a)
{
    static char kept[64];
    printf("[%s]\n", kept);
    strncpy(kept, a[0], sizeof(kept) - 1);
    return 0;
}

static unsigned char *pages(int count)
{
    size_t at = __builtin_wasm_memory_grow(0, (size_t)count);
    return at == (size_t)-1 ? NULL : (unsigned char *)(at * 65536);
}

static int stain(char **a)
{
    unsigned char *at = pages(64);
    if (!at)
        return 1;
    memset(at, 0xa5, 64 * 65536);
    return 0;
}

static int sniff(char **a)
{
    const volatile unsigned char *at = pages(64);
    size_t found = 0;
    for (size_t i = 0; at && i < 64 * 65536; i++)
        found += at[i] != 0;
    printf("%zu\n", found);
    return !at;
}

static int fill(char **a)
{
    int count = atoi(a[0]) * 16;
    unsigned char *at = pages(count);
    if (!at)
        return 1;
    memset(at, 1, (size_t)count * 65536);
    return 0;
}

static int hold(char **a)
{
    return open(a[0], O_RDONLY) < 0 ? fail(a[0]) : 0;
}

static int descriptors(char **a)
{
    struct stat st;
    for (int fd = 0; fd < 256; fd++)
        if (fstat(fd, &st) == 0)
            printf("%d ", fd);
    puts("");
    return 0;
}

/* Of the processor's time. */
static int burn(char **a)
{
    enum { PROCESS_TIME = 2 };
    __wasi_timestamp_t start = 0, now = 0, wanted = (__wasi_timestamp_t)atoi(a[0]) * 1000000;
    (void)__wasi_clock_time_get(PROCESS_TIME, 1, &start);
    now = start;
    for (volatile unsigned long rounds = 0; now - start < wanted; rounds++)
        if (rounds % 1000 == 0 && __wasi_clock_time_get(PROCESS_TIME, 1, &now))
            return 1;
    return 0;
}

static void tell_time(int clock)
{
    __wasi_timestamp_t time = 0;
    (void)__wasi_clock_time_get((__wasi_clockid_t)clock, 1, &time);
    printf("%llu ", (unsigned long long)time);
}

static void tell_names(const char *path)
{
    struct stat st;
    DIR *dir = opendir(path);
    struct dirent *e;
    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.')
            printf("%s ", e->d_name);
    for (dir ? rewinddir(dir) : (void)0; dir && (e = readdir(dir));)
        if (!fstatat(dirfd(dir), e->d_name, &st, 0))
            printf("%d %d %d ", (int)st.st_ino, (int)st.st_nlink, (int)st.st_mtime);
}

/* All that depends on the machine and the moment. */
static int machine(char **a)
{
    static unsigned char bytes[4096];
    volatile float zero = 0;
    float nan = zero / zero;
    unsigned bits;
    for (int clock = 0; clock < 4; clock++)
        tell_time(clock);
    (void)!getentropy(bytes, 8);
    for (int i = 0; i < 8; i++)
        printf("%02x", bytes[i]);
    tell_names(a[0]);
    memcpy(&bits, &nan, sizeof(bits));
    printf("nan %08x ", bits);
    printf("%d bytes\n", (int)read(0, bytes, sizeof(bytes)));
    tell_time(1);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(char **a);
        int words;
    } verbs[] = {
        {"show", show, 1},       {"put", put, 2},    {"list", list, 1},
        {"link", make_link, 2},  {"move", move, 2},  {"remove", take_away, 1},
        {"env", environment, 0}, {"nap", nap, 1},    {"spin", spin, 0},
        {"flood", flood, 0},     {"dig", dig, 0},    {"trap", trap, 0},
        {"grow", grow, 0},       {"exit", leave, 1}, {"echo", echo, 0},
        {"shout", shout, 0},     {"hold", hold, 1},  {"remember", remember, 1},
        {"stain", stain, 0},     {"fill", fill, 1},  {"fds", descriptors, 0},
        {"sniff", sniff, 0},     {"burn", burn, 1},  {"machine", machine, 1},
        {"pass", pass, 1},       {"bulk", bulk, 2},  {"drink", drink, 1},
    };
    for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i].name, argv[1]) == 0 && argc - 2 >= verbs[i].words)
            return verbs[i].run(argv + 2);
    fputs("no such verb\n", stderr);
    return 99;
}
