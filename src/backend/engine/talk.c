/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Both ends of the report socket of an engine's container: the directory in which the helper
 * listens for one connection, and PID 1 of the container, the helper's executable under another
 * name. PID 1 has the container's id, no capabilities, and no other host path than this socket. It
 * receives the cage's init config over the connection and then acts as every cage's PID 1, in its
 * own namespaces. */
#include "backend/engine/talk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cage/init_config.h"
#include "cage/stages.h"
#include "engine/engine.h"
#include "workspace/state.h"

/* ---- the helper's end ---- */

enum { STALE_S = 3600 };

/* Removes directories of helpers that were killed while a container started. */
static void sweep(int parent)
{
    struct dirent *e;
    struct stat st;
    _autodir_ DIR *dir = tc_list_dir(parent);
    while (dir && tc_next_entry(dir, &e) > 0) {
        if (fstatat(parent, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
            st.st_mtime > time(NULL) - STALE_S)
            continue;
        _autofd_ int fd =
            openat(parent, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            (void)unlinkat(fd, "report", 0);
        (void)unlinkat(parent, e->d_name, AT_REMOVEDIR);
    }
}

/* Binds through the fd: the path may be too long for a socket's name. */
static int listen_in(int directory, uid_t id)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    _autofd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/report", directory);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, 1) < 0)
        return -1;
    if (id != (uid_t)-1 && (fchownat(directory, "report", id, (gid_t)id, 0) < 0 ||
                            fchown(directory, id, (gid_t)id) < 0))
        return -1;
    return TAKE_FD(fd);
}

int tc_engine_talk_open(struct tc_engine_talk *talk, uid_t id)
{
    const char *where = "";
    talk->parent = tc_state_open_mode("engine", 0711, &where); /* runtimes mount from it */
    if (talk->parent < 0)
        return -1;
    sweep(talk->parent);
    int n = tc_ulid(talk->name) < 0 ? -1
                                    : snprintf(talk->directory, sizeof(talk->directory),
                                               "%s/engine/%s", where, talk->name);
    errno = ENAMETOOLONG;
    if (n < 0 || (size_t)n >= sizeof(talk->directory) ||
        mkdirat(talk->parent, talk->name, 0700) < 0)
        return -1;
    _autofd_ int directory =
        openat(talk->parent, talk->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    talk->listener = directory < 0 ? -1 : listen_in(directory, id);
    return talk->listener < 0 ? -1 : 0;
}

int tc_engine_talk_accept(struct tc_engine_talk *talk, uid_t id, int *ret_pidfd, pid_t *ret_pid)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    _autofd_ int fd = talk->listener < 0 ? -1 : accept4(talk->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != id ||
        peer.pid <= 0)
        return -1;
    *ret_pidfd = tc_pidfd_open(peer.pid);
    if (*ret_pidfd < 0)
        return -1;
    *ret_pid = peer.pid;
    return TAKE_FD(fd);
}

void tc_engine_talk_close(struct tc_engine_talk *talk)
{
    if (talk->listener >= 0)
        (void)close(talk->listener);
    if (talk->parent >= 0 && talk->name[0]) {
        _autofd_ int directory =
            openat(talk->parent, talk->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (directory >= 0)
            (void)unlinkat(directory, "report", 0);
        (void)unlinkat(talk->parent, talk->name, AT_REMOVEDIR);
    }
    if (talk->parent >= 0)
        (void)close(talk->parent);
    *talk = TC_ENGINE_NO_TALK;
}

/* ---- the container's end ---- */

/* Puts the connection at the fd of every PID 1's report socket. */
static bool connect_report(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = TC_ENGINE_TALK "/report"};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
        return false;
    return fd == TC_INIT_REPORT || dup3(fd, TC_INIT_REPORT, O_CLOEXEC) >= 0;
}

void tc_engine_guest_main(void)
{
    struct tc_init_config init = {.stages = &tc_contained_stages};
    if (!connect_report() || !tc_init_receive(TC_INIT_REPORT, &init))
        _exit(1);
    /* the container's only id becomes the tool's */
    tc_id_map(init.uid_map, init.uid, geteuid());
    tc_id_map(init.gid_map, init.gid, getegid());
    tc_init_run_stages(&init);
    _exit(1);
}
