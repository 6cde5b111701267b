/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Sends the init config to a first process that is not a copy of the helper, without the fields
 * that this process sets itself. Mounts are sent as fds, so the receiver resolves no host path. */
#include "cage/init_config.h"

#include <limits.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/task.h"

enum { MOUNTS_MAX = 8192, LIMITS_MAX = 16 };

#define TC_STRUCT struct tc_init_network
#define REQUESTS(F, n) F(BYTES, requests[n].at, TC_COUNTED(requests[n].len))
#define NETWORK(F)                    \
    REQUESTS(F, TC_GATEWAY_V4)        \
    REQUESTS(F, TC_GATEWAY_V6)        \
    REQUESTS(F, TC_GATEWAY_FILTER_V4) \
    REQUESTS(F, TC_GATEWAY_FILTER_V6) \
    F(BYTES, listeners, TC_COUNTED(listeners_size))
static TC_FIELDS(network_fields, NETWORK);
#undef TC_STRUCT

#define TC_STRUCT struct tc_init_limit
#define LIMIT(F)           \
    F(ONE, resource)       \
    F(ONE, value.rlim_cur) \
    F(ONE, value.rlim_max)
static TC_FIELDS(limit_fields, LIMIT);
#undef TC_STRUCT

#define TC_STRUCT struct tc_init_mount
#define MOUNT(F)    \
    F(FD, fd)       \
    F(ONE, path)    \
    F(ONE, dev)     \
    F(ONE, ino)     \
    F(ONE, rights)  \
    F(ONE, no_rule) \
    F(ONE, frozen)  \
    F(ONE, itself)  \
    F(TEXTS, hide)  \
    F(ONE, layered) \
    F(ONE, tmp)     \
    F(FD, layers)
static TC_FIELDS(mount_fields, MOUNT);
#undef TC_STRUCT

#define TC_STRUCT struct tc_init_config
#define BOX(F)                                                                         \
    F(POINTER, stages)                                                                 \
    F(POINTER, reaper)                                                                 \
    F(POINTER, report)                                                                 \
    F(POINTER, helper)                                                                 \
    F(POINTER, parks)                                                                  \
    F(POINTER, handed)                                                                 \
    F(POINTER, wait_for_maps)                                                          \
    F(CHARS, uid_map)                                                                  \
    F(CHARS, gid_map)                                                                  \
    F(ONE, uid)                                                                        \
    F(ONE, gid)                                                                        \
    F(FD, root)                                                                        \
    F(FD, image)                                                                       \
    F(POINTER, own)                                                                    \
    F(ARRAY, mounts, TC_COUNTED(mount_count), TC_OF(mount_fields), .most = MOUNTS_MAX) \
    F(ARRAY, limits, TC_COUNTED(limit_count), TC_OF(limit_fields), .most = LIMITS_MAX) \
    F(FD, in)                                                                          \
    F(FD, out)                                                                         \
    F(FD, err)                                                                         \
    F(ONE, talks)                                                                      \
    F(FD, talk)                                                                        \
    F(ONE, live)                                                                       \
    F(ARRAY, network, TC_COUNTED(network_count), TC_OF(network_fields), .most = 1)     \
    F(ONE, terminal)                                                                   \
    F(ONE, rows)                                                                       \
    F(ONE, columns)                                                                    \
    F(POINTER, ruleset)                                                                \
    F(ONE, not_before)                                                                 \
    F(ONE, landlock_abi)                                                               \
    F(BYTES, code, TC_COUNTED(code_len))                                               \
    F(ONE, watch)                                                                      \
    F(POINTER, told)                                                                   \
    F(ONE, unix_sockets)                                                               \
    F(ONE, umask)                                                                      \
    F(TEXTS, directories)                                                              \
    F(TEXTS, programs)                                                                 \
    F(TEXTS, argv)                                                                     \
    F(TEXTS, envp)                                                                     \
    F(ONE, last_us)                                                                    \
    F(ONE, segments)                                                                   \
    F(ONE, cpus)
TC_FIELDS(tc_init_fields, BOX);
#undef TC_STRUCT

/* The receiver may have another clock, so the message holds the remaining time. */
int tc_init_send(int sock, const struct tc_init_config *init)
{
    struct tc_init_config told = *init;
    int64_t left = init->last_us - tc_now_us();
    if (init->last_us)
        told.last_us = left > 0 ? left : 1;
    return tc_task_send(sock, &tc_init_fields, &told);
}

/* Lowers each limit to the current hard limit, which the container may have set. */
static void lower_limits(struct tc_init_limit *limits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rlimit now;
        struct rlimit *meant = &limits[i].value;
        if (getrlimit((__rlimit_resource_t)limits[i].resource, &now) < 0)
            continue;
        if (now.rlim_max < meant->rlim_max)
            meant->rlim_max = now.rlim_max;
        if (meant->rlim_max < meant->rlim_cur)
            meant->rlim_cur = meant->rlim_max;
    }
}

bool tc_init_receive(int sock, struct tc_init_config *ret)
{
    if (!tc_task_receive(sock, &tc_init_fields, ret) || ret->watch > TC_WATCH_ACCESSES ||
        !ret->directories || !*ret->directories || ret->last_us < 0)
        return false;
    for (size_t i = 0; i < ret->mount_count; i++)
        if (!ret->mounts[i].path)
            return false;
    lower_limits((struct tc_init_limit *)(uintptr_t)ret->limits, ret->limit_count);
    ret->last_us += ret->last_us ? tc_now_us() : 0;
    ret->report = sock;
    return true;
}

/* Copies all data that the config points to into the shared memory, except static data (stages,
 * filters): the child has it at the same addresses. */
int tc_init_hand(struct tc_init_config *to, size_t size, const struct tc_init_config *init,
                 int report)
{
    enum { USUAL = 16384 };
    struct tc_wire put = TC_WIRE_PUT_INIT;
    (void)tc_buf_room(&put.out, USUAL);
    tc_fields_visit(&put, &tc_init_fields, (void *)(uintptr_t)init, 0, 0);
    bool fits = !put.failed && put.fd_count <= TC_FDS_MAX;
    int there[TC_FDS_MAX];
    for (size_t i = 0; i < TC_FDS_MAX; i++)
        there[i] = TC_INIT_HANDED + (int)i;
    struct tc_wire get = TC_WIRE_GET_INIT(put.out.data, put.out.len);
    get.fds = there;
    get.fd_max = fits ? put.fd_count : 0;
    get.room = (char *)to + (sizeof(*to) + 15) / 16 * 16;
    get.room_end = (char *)to + size;
    if (fits)
        tc_fields_visit(&get, &tc_init_fields, to, 0, 0);
    to->handed = put.fd_count;
    int rc = fits && !get.failed ? tc_send(report, "", 1, put.fds, put.fd_count) : -1;
    tc_buf_done(&put.out);
    free(put.fds);
    return rc;
}

const struct sock_fprog *tc_init_filter(const struct tc_init_config *init, struct sock_fprog *own)
{
    size_t count = init->code_len / sizeof(*own->filter);
    if (!init->code)
        return tc_seccomp_program(init->watch, init->unix_sockets);
    *own = (struct sock_fprog){.len = (unsigned short)count,
                               .filter = (struct sock_filter *)(void *)init->code};
    return count && count <= USHRT_MAX && init->code_len % sizeof(*own->filter) == 0 ? own : NULL;
}
