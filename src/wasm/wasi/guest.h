/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Shared by the system calls: access to the guest's memory, fds and paths. */
#ifndef TC_WASM_GUEST_H
#define TC_WASM_GUEST_H

#include <limits.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "wasm/wasi/abi.h"
#include "wasm/wasi/wasi.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the guest's numbers are little-endian");

/* A range of the guest's memory; NULL: out of bounds. */
static inline void *tc_guest(const struct tc_wasi *w, uint64_t at, uint64_t length)
{
    return at <= w->size && length <= w->size - at ? w->memory + at : NULL;
}

static inline bool tc_guest_put32(const struct tc_wasi *w, uint64_t at, uint32_t value)
{
    void *to = tc_guest(w, at, sizeof(value));
    return to && memcpy(to, &value, sizeof(value));
}

static inline bool tc_guest_put64(const struct tc_wasi *w, uint64_t at, uint64_t value)
{
    void *to = tc_guest(w, at, sizeof(value));
    return to && memcpy(to, &value, sizeof(value));
}

static inline uint32_t tc_get32(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof(value));
    return value;
}

static inline uint64_t tc_get64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof(value));
    return value;
}

/* errno.c */
uint32_t tc_wasi_error(int errnum);
/* WASI_OK, or errno as a WASI code: converts a system call's result. */
uint32_t tc_wasi_answer(long result);
/* The file type in a mode. */
uint8_t tc_wasi_type(unsigned mode);

/* WASI's times are in nanoseconds. */
enum { TC_WASI_SECOND = 1000000000 };

static inline uint64_t tc_wasi_ns(struct timespec t)
{
    return (uint64_t)t.tv_sec * TC_WASI_SECOND + (uint64_t)t.tv_nsec;
}

/* process.c: reads a host clock. */
int64_t tc_wasi_now(clockid_t clock);

/* fixed.c: replaces the host's clock, randomness and inodes for a deterministic guest. */
#define TC_WASI_EPOCH (946684800ULL * TC_WASI_SECOND)               /* start of the year 2000 */
uint64_t tc_wasi_fixed_clock(const struct tc_wasi *w, uint64_t id); /* nanoseconds */
void tc_wasi_fixed_random(struct tc_wasi *w, uint8_t *to, uint64_t length);
/* A file's number: files are numbered from 1 as they are first seen. 0: none, or no memory. */
uint64_t tc_wasi_fixed_number(struct tc_wasi *w, int dir, const char *name);
struct tc_buf;
/* Lists a directory's entries, sorted by name; false with errno. */
bool tc_wasi_fixed_list(int dir, struct tc_buf *ret, char ***ret_names, size_t *ret_count);

/* fds.c */
/* An fd with these rights; NULL and the error. */
struct tc_wasi_fd *tc_wasi_get(struct tc_wasi *w, uint64_t number, uint64_t rights,
                               uint32_t *ret_error);
/* The first free fd number, and its slot; NULL: none. */
struct tc_wasi_fd *tc_wasi_free(struct tc_wasi *w, uint32_t *ret_number);

/* io.c: converts the guest's I/O vectors. */
enum { TC_WASI_VECTORS = 1024 };
uint32_t tc_wasi_vectors(const struct tc_wasi *w, uint64_t at, uint64_t count, struct iovec *ret);

/* walk.c: resolves a guest's path. */
struct tc_wasi_place {
    int dir;                 /* the directory that contains the name */
    int owned;               /* fd to close; -1: none */
    int depth;               /* of `dir`, below the starting directory */
    bool directory;          /* the path requires a directory */
    char name[NAME_MAX + 1]; /* "." for the directory itself; may not exist, or be a symlink */
};
struct tc_wasi_where {
    uint64_t fd, path, length;
    uint64_t rights; /* required rights */
    bool follow;     /* follow a symlink as the last component */
    bool change;     /* the caller will modify the file or its directory */
};
/* The caller calls tc_wasi_leave(), also on failure. */
uint32_t tc_wasi_walk(struct tc_wasi *w, const struct tc_wasi_where *where,
                      struct tc_wasi_place *ret);
void tc_wasi_leave(struct tc_wasi_place *place);
#define _autoplace_ _auto_(tc_wasi_leave)
#define TC_WASI_PLACE_INIT     \
    {                          \
        .dir = -1, .owned = -1 \
    }
/* Does a symlink's target escape, as far as its text shows? `depth`: of the symlink's directory. */
bool tc_wasi_leads_out(const char *target, int depth);

/* The system calls, in table.c's order. */
#define TC_WASI_LIST(X)                   \
    X(args_get, "ii")                     \
    X(args_sizes_get, "ii")               \
    X(environ_get, "ii")                  \
    X(environ_sizes_get, "ii")            \
    X(clock_res_get, "ii")                \
    X(clock_time_get, "ili")              \
    X(fd_advise, "illi")                  \
    X(fd_allocate, "ill")                 \
    X(fd_close, "i")                      \
    X(fd_datasync, "i")                   \
    X(fd_fdstat_get, "ii")                \
    X(fd_fdstat_set_flags, "ii")          \
    X(fd_fdstat_set_rights, "ill")        \
    X(fd_filestat_get, "ii")              \
    X(fd_filestat_set_size, "il")         \
    X(fd_filestat_set_times, "illi")      \
    X(fd_pread, "iiili")                  \
    X(fd_prestat_get, "ii")               \
    X(fd_prestat_dir_name, "iii")         \
    X(fd_pwrite, "iiili")                 \
    X(fd_read, "iiii")                    \
    X(fd_readdir, "iiili")                \
    X(fd_renumber, "ii")                  \
    X(fd_seek, "ilii")                    \
    X(fd_sync, "i")                       \
    X(fd_tell, "ii")                      \
    X(fd_write, "iiii")                   \
    X(path_create_directory, "iii")       \
    X(path_filestat_get, "iiiii")         \
    X(path_filestat_set_times, "iiiilli") \
    X(path_link, "iiiiiii")               \
    X(path_open, "iiiiillii")             \
    X(path_readlink, "iiiiii")            \
    X(path_remove_directory, "iii")       \
    X(path_rename, "iiiiii")              \
    X(path_symlink, "iiiii")              \
    X(path_unlink_file, "iii")            \
    X(poll_oneoff, "iiii")                \
    X(proc_exit, "xi")                    \
    X(proc_raise, "i")                    \
    X(random_get, "ii")                   \
    X(sched_yield, "")                    \
    X(sock_accept, "iii")                 \
    X(sock_recv, "iiiiii")                \
    X(sock_send, "iiiii")                 \
    X(sock_shutdown, "ii")
#define TC_WASI_DECLARE_(name, types) uint32_t tc_wasi_##name(struct tc_wasi *w, const uint64_t *a);
TC_WASI_LIST(TC_WASI_DECLARE_)
#undef TC_WASI_DECLARE_

#endif
