/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/wasm/wasi from the guest's side. Input: calls, a byte for which and two for each
 * argument, of which those from 0xff00 on stand for the far end of 32 bits; the whole input is the
 * guest's memory, too. An odd length stands for a deterministic guest. No descriptor of the guest's
 * leads out of its roots, and nothing beside
 * them changes, whatever links and pipes lie there. */
#include "fuzz.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wasm/wasi/abi.h"
#include "wasm/wasi/wasi.h"

enum { MEMORY = 65536, CALL = 1 + 2 * TC_WASI_ARGUMENTS, CALLS_MAX = 64, FILE_MAX = 1 << 20 };

static uint8_t memory[MEMORY];
static char top[] = "/tmp/fuzz-wasi-XXXXXX";

static const char *below(const char *name)
{
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", top, name);
    return path;
}

static void put(const char *name, const char *text)
{
    int fd = open(below(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    INVARIANT(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
}

static void remove_tree(void)
{
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -rf %s", top);
    (void)!system(command);
}

/* Once a process: what one input leaves, the next one finds. */
static void begin(void)
{
    static bool begun;
    const struct rlimit most = {FILE_MAX, FILE_MAX};
    if (begun)
        return;
    begun = true;
    (void)signal(SIGXFSZ, SIG_IGN);
    INVARIANT(mkdtemp(top) && setrlimit(RLIMIT_FSIZE, &most) == 0 && atexit(remove_tree) == 0);
    INVARIANT(mkdir(below("w"), 0755) == 0 && mkdir(below("w/d"), 0755) == 0);
    INVARIANT(mkdir(below("r"), 0755) == 0 && mkdir(below("out"), 0755) == 0);
    put("out/key", "secret");
    put("r/a", "alpha");
    INVARIANT(symlink("../out/key", below("w/o")) == 0 && symlink("..", below("w/u")) == 0);
    INVARIANT(symlink("/etc", below("w/e")) == 0 && symlink("d/../a", below("w/l")) == 0);
    INVARIANT(mkfifo(below("w/p"), 0644) == 0);
    put("w/a", "alpha");
}

/* It would sleep; the times go, and the streams are none. */
static void wake(const uint64_t *a)
{
    for (uint64_t i = 0; i < a[2] && a[0] + (i + 1) * WASI_SUBSCRIPTION_SIZE <= MEMORY; i++)
        memset(memory + a[0] + i * WASI_SUBSCRIPTION_SIZE + 24, 0, 24);
}

static void run(struct tc_wasi *w, const uint8_t *data)
{
    const struct tc_wasi_call *call = &tc_wasi_calls[data[0] % tc_wasi_call_count];
    uint64_t a[TC_WASI_ARGUMENTS];
    for (int i = 0; i < TC_WASI_ARGUMENTS; i++) {
        uint16_t value = (uint16_t)(data[1 + 2 * i] | data[2 + 2 * i] << 8);
        a[i] = value >= 0xff00 ? 0xffffff00 | (value & 0xff) : value;
    }
    if (strcmp(call->name, "poll_oneoff") == 0)
        wake(a);
    (void)call->run(w, a);
}

static void check_descriptors(const struct tc_wasi *w)
{
    char link[32], path[PATH_MAX];
    for (int i = 0; i < TC_WASI_FDS; i++) {
        if (w->fds[i].kind == TC_WASI_FREE)
            continue;
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", w->fds[i].fd);
        ssize_t n = readlink(link, path, sizeof(path) - 1);
        INVARIANT(n > 0);
        path[n] = '\0';
        size_t length = strlen(top);
        INVARIANT(strncmp(path, top, length) == 0 && path[length] == '/' &&
                  strchr("wr", path[length + 1]));
    }
}

static void check_outside(void)
{
    char text[16] = "";
    int fd = open(below("out/key"), O_RDONLY | O_CLOEXEC), same;
    struct stat st;
    INVARIANT(fd >= 0 && read(fd, text, sizeof(text)) == 6 && strcmp(text, "secret") == 0);
    INVARIANT(fstat(fd, &st) == 0 && st.st_nlink == 1);
    (void)close(fd);
    fd = open(below("r/a"), O_RDONLY | O_CLOEXEC);
    same = fd >= 0 && read(fd, text, sizeof(text)) == 5 && memcmp(text, "alpha", 5) == 0;
    INVARIANT(same && fstat(fd, &st) == 0 && st.st_nlink == 1);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_wasi w;
    begin();
    memset(memory, 0, sizeof(memory));
    memcpy(memory, data, size < MEMORY ? size : MEMORY);
    w.base = AT_FDCWD;
    w.memory = memory;
    w.size = MEMORY;
    w.fixed = size % 2;
    INVARIANT(tc_wasi_add_root(&w, below("w"), NULL, true));
    INVARIANT(tc_wasi_add_root(&w, below("r"), NULL, false));
    for (size_t at = 0; at + CALL <= size && at < CALLS_MAX * CALL; at += CALL)
        run(&w, data + at);
    check_descriptors(&w);
    check_outside();
    tc_wasi_done(&w);
    return 0;
}
