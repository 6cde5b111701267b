/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which code made a call. Before each look-up of a user or a host the C library connects to a name
 * service daemon; programs create the same kind of socket and depend on it. The return address of
 * the library's function tells them apart. A tool can forge it, and only misleads its own list. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "observe/watch.h"

enum {
    MAPS_MAX = 256 * 1024, /* of a process's mappings, as text */
    LOOKS_MAX = 100,       /* reads of these for one cage */
};

static bool read_proc(pid_t pid, const char *name, size_t max, struct tc_buf *text)
{
    char path[64];
    text->max = max;
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return tc_read_file(AT_FDCWD, path, text) == 0;
}

/* Is the mapping that contains the address one of the C library? */
static bool in_libc(const char *maps, uint64_t address)
{
    for (const char *line = maps; line; line = strchr(line, '\n')) {
        uint64_t from, to;
        char file[256] = "";
        line += *line == '\n';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %255[^\n]", &from, &to, file) < 2)
            continue;
        if (address >= from && address < to)
            return tc_startswith(tc_path_base(file), "libc.so") ||
                   tc_startswith(tc_path_base(file), "libc-");
    }
    return false;
}

bool tc_notify_by_libc(struct tc_observer *o, pid_t pid)
{
    _autobuf_ struct tc_buf now = TC_BUF_INIT, maps = TC_BUF_INIT;
    uint64_t stack, at, caller;
#ifdef __x86_64__
    bool on_stack = true; /* the return address */
#else
    bool on_stack = false;
#endif
    if (!on_stack || o->caller_looks == LOOKS_MAX)
        return true;
    o->caller_looks++;
    /* "number six arguments stack-pointer program-counter" */
    if (!read_proc(pid, "syscall", 512, &now) ||
        sscanf(now.data, "%*s %*s %*s %*s %*s %*s %*s %" SCNx64 " %" SCNx64, &stack, &at) != 2 ||
        tc_notify_bytes(pid, stack, &caller, sizeof(caller)) != sizeof(caller) ||
        !read_proc(pid, "maps", MAPS_MAX, &maps))
        return true;
    return in_libc(maps.data, at) && in_libc(maps.data, caller);
}
