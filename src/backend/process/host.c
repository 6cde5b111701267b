/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the process backend has once a helper: its own mount namespace, where roots are prepared and
 * paths are resolved; id leases; control groups. The helper is a program of one thread, so one
 * static record is enough. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/process/process.h"
#include "base/fd.h"
#include "base/sys.h"
#include "linux/mounts.h"

enum { IDMAPS_MAX = 128 }; /* each holds a descriptor */

static struct tc_process_host the_host = {
    .shelf = -1, .mask_file = -1, .mask_dir = -1, .ids.lock_fd = -1};

static int fail(struct tc_outcome *outcome, const struct tc_why *why, int clause,
                const char *message)
{
    struct tc_cage cage = {.outcome = outcome};
    return tc_cage_fail(&cage, why, clause, "%s", message);
}

static const char no_userns[] =
    "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1 or "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it with "
    "--security-opt seccomp=unconfined --cap-add SYS_ADMIN; `toolcage doctor` tells more";

/* An ordinary caller gets the rights over mounts in a user namespace where only its own ids exist.
 */
static int enter_user(const struct tc_process_host *h, struct tc_outcome *outcome)
{
    char uid_map[TC_ID_MAP_SIZE], gid_map[TC_ID_MAP_SIZE];
    tc_id_map(uid_map, h->uid, h->uid);
    tc_id_map(gid_map, h->gid, h->gid);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return fail(outcome,
                    &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                     .stage = "namespaces",
                                     .subject = "user namespace",
                                     .errnum = errno,
                                     .hint = no_userns},
                    TC_CLAUSE_PRIV_NONE,
                    "this machine does not let an ordinary user make a user namespace");
    if (tc_write_id_maps("self", uid_map, gid_map, 1) < 0)
        return fail(outcome,
                    &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                     .stage = "namespaces",
                                     .subject = "id maps",
                                     .errnum = errno,
                                     .hint = no_userns},
                    TC_CLAUSE_IDS_UNPRIVILEGED,
                    "the id maps of a new user namespace cannot be written");
    return 0;
}

static int enter_root(struct tc_process_host *h, struct tc_outcome *outcome)
{
    if (unshare(CLONE_NEWNS) < 0)
        return fail(outcome,
                    &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                     .stage = "namespaces",
                                     .subject = "mount namespace",
                                     .errnum = errno,
                                     .hint =
                                         "root without CAP_SYS_ADMIN cannot build cages: run as an "
                                         "ordinary user, or in a container add "
                                         "--security-opt seccomp=unconfined --cap-add SYS_ADMIN"},
                    TC_CLAUSE_IDS_UNPRIVILEGED, "root may not make a mount namespace here");
    tc_ids_close(&h->ids); /* of an earlier try */
    if (tc_ids_open(&h->ids) < 0)
        return fail(outcome,
                    &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                     .stage = "ids",
                                     .subject = "/run/toolcage",
                                     .errnum = errno,
                                     .hint =
                                         "root's cages run as unprivileged ids leased under "
                                         "/run/toolcage: make it writable for root only, and give "
                                         "this user namespace at least 4,096 ids"},
                    TC_CLAUSE_IDS_UNPRIVILEGED, "no unprivileged ids for the cages");
    return 0;
}

/* Puts the shelf where no grant leads. Not over "/": a process whose root is covered counts as
 * chrooted and may make no user namespace. Not in /proc: a covered procfs lets no cage mount its
 * own. */
static int place_shelf(int shelf)
{
    static const char *const places[] = {"/sys/kernel/debug", "/sys/kernel/security",
                                         "/sys/firmware", "/sys/kernel", "/dev/mqueue"};
    for (size_t i = 0; i < TC_COUNT(places); i++)
        if (tc_move_mount(shelf, AT_FDCWD, places[i]) == 0)
            return 0;
    return -1;
}

static int make_shelf(struct tc_process_host *h)
{
    h->shelf = tc_tmpfs(1 << 20, 0, "0700", false);
    if (h->shelf < 0)
        return -1;
    if (place_shelf(h->shelf) < 0) { /* tried again at the next call */
        int saved = errno;
        (void)close(h->shelf);
        h->shelf = -1;
        errno = saved;
        return -1;
    }
    for (int i = 0; i < TC_SHELF_PLACES; i++) {
        char place[8];
        (void)snprintf(place, sizeof(place), "%d", i);
        if (mkdirat(h->shelf, place, 0700) < 0)
            return -1;
    }
    if (mkdirat(h->shelf, "directory", 0) < 0 || tc_put_file(h->shelf, "file", "", 0, 0) < 0)
        return -1;
    h->mask_dir = openat(h->shelf, "directory", O_PATH | O_CLOEXEC);
    h->mask_file = openat(h->shelf, "file", O_PATH | O_CLOEXEC);
    return h->mask_dir < 0 || h->mask_file < 0 ? -1 : 0;
}

static int enter(struct tc_process_host *h, struct tc_outcome *outcome)
{
    h->uid = geteuid();
    h->gid = getegid();
    h->privileged = h->uid == 0;
    if (!h->privileged && h->gid == 0)
        return fail(outcome,
                    &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                     .stage = "ids",
                                     .subject = "gid 0",
                                     .hint = "run toolcage with a primary group other than root's"},
                    TC_CLAUSE_IDS_UNPRIVILEGED, "a cage would have the host's gid 0");
    if (access("/proc/self/ns/user", F_OK) < 0)
        return fail(outcome,
                    &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                     .stage = "namespaces",
                                     .subject = "/proc",
                                     .errnum = errno,
                                     .hint = "mount it: mount -t proc proc /proc"},
                    TC_CLAUSE_PROC_OWN, "no cage can be built where /proc is not mounted");
    if ((h->privileged ? enter_root(h, outcome) : enter_user(h, outcome)) < 0)
        return -1;
    /* what is mounted on the host later shows up here; nothing goes the other way */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 || make_shelf(h) < 0)
        return fail(outcome,
                    &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                     .stage = "namespaces",
                                     .subject = "mount",
                                     .errnum = errno,
                                     .hint =
                                         "the helper needs the kernel's mount API (5.12 or newer); "
                                         "`toolcage doctor` tells what is missing"},
                    TC_CLAUSE_FS_READ, "the helper cannot mount in its own namespace");
    h->landlock_abi = tc_landlock_abi();
    struct toolcage_error *err = NULL;
    if (tc_cgroups_open(&h->cgroups, &err) < 0) {
        tc_error_free(err);
        return fail(outcome, &(struct tc_why){.code = TOOLCAGE_EMEMORY, .stage = "cgroups"}, -1,
                    "out of memory");
    }
    h->ready = true;
    return 0;
}

int tc_process_host_get(struct tc_outcome *outcome, struct tc_process_host **ret)
{
    if (!the_host.ready && enter(&the_host, outcome) < 0)
        return -1;
    *ret = &the_host;
    return 0;
}

static void reap_carrier(struct tc_idmap *m)
{
    while (m->carrier > 0 && waitpid(m->carrier, NULL, 0) < 0 && errno == EINTR)
        ;
    m->carrier = -1;
}

void tc_process_reap_carriers(struct tc_process_host *h)
{
    for (size_t i = 0; i < h->idmap_count; i++)
        reap_carrier(&h->idmaps[i]);
}

int tc_process_idmap(struct tc_process_host *h, uid_t file_uid, gid_t file_gid, uid_t cage_id)
{
    for (size_t i = 0; i < h->idmap_count; i++) {
        const struct tc_idmap *m = &h->idmaps[i];
        if (m->file_uid == file_uid && m->file_gid == file_gid && m->cage_uid == cage_id)
            return m->fd;
    }
    if (h->idmap_count == IDMAPS_MAX) { /* a mount made with it keeps what it needs */
        reap_carrier(&h->idmaps[0]);
        (void)close(h->idmaps[0].fd);
        memmove(&h->idmaps[0], &h->idmaps[1], --h->idmap_count * sizeof(*h->idmaps));
    }
    struct tc_idmap *m = TC_PUSH(h->idmaps, h->idmap_count);
    if (!m) {
        errno = ENOMEM;
        return -1;
    }
    *m = (struct tc_idmap){file_uid, cage_id, file_gid, (gid_t)cage_id, -1, -1};
    m->fd = tc_idmap_userns(file_uid, file_gid, cage_id, (gid_t)cage_id, &m->carrier);
    if (m->fd >= 0)
        return m->fd;
    int saved = errno;
    reap_carrier(m);
    h->idmap_count--;
    errno = saved;
    return -1;
}

struct tc_process_host *tc_process_host_opened(void)
{
    return the_host.ready ? &the_host : NULL;
}
