/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The CA bundle of a cage whose proxy inspects TLS: the system's CAs and the proxy's own, in one
 * file. It is mounted over the system's bundle files, and at a path that the environment names. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/proxy.h"
#include "linux/mounts.h"
#include "policy/names/system_paths.h"

enum { BUNDLE_MAX = 8 << 20, PAGES = 65536 };

static int fail_certificates(struct tc_cage *cage, const char *subject, const char *hint,
                             const char *what)
{
    return tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "trust", subject, errno, hint),
                        TC_CLAUSE_NET_INSPECT, "%s", what);
}

/* The proxy reads the same file and exits if there is none. */
static int read_system(struct tc_cage *cage, struct tc_buf *to)
{
    for (const char *const *place = tc_bundle_places; *place; place++) {
        if (access(*place, F_OK) < 0)
            continue;
        if (tc_read_file(AT_FDCWD, *place, to) == 0 && to->len)
            return 0;
        return fail_certificates(cage, *place, "make it readable for all users",
                                 "the CA certificates of this host cannot be read");
    }
    if (cage->plan->uid) /* in a VM: its image may have no bundle, because the proxy runs outside */
        return 0;
    errno = 0;
    return fail_certificates(cage, tc_bundle_places[0], "install the package ca-certificates",
                             "this host has no CA certificate file");
}

int tc_trust_await(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (!tc_plan_inspects(cage->plan))
        return 0;
    p->trusted = (struct tc_buf){.max = BUNDLE_MAX};
    if (read_system(cage, &p->trusted) < 0)
        return -1;
    tc_buf_addc(&p->trusted, '\n');
    if (tc_proxy_authority(cage, &p->trusted) < 0)
        return -1;
    return p->trusted.failed ? tc_cage_fail_memory(cage, "trust") : 0;
}

/* ---- mounting the bundle ---- */

/* A file on its own tmpfs. The kernel clones a mount of the file only while the tmpfs is
 * attached. */
static int clone_file(int root_cache, const struct tc_buf *text, int *ret_tree)
{
    static atomic_uint count;
    char at[24], file[40];
    (void)snprintf(at, sizeof(at), "trust%u", atomic_fetch_add(&count, 1));
    (void)snprintf(file, sizeof(file), "%s/bundle", at);
    _autofd_ int fs = tc_tmpfs((int64_t)text->len + PAGES, 8, "0755", false);
    if (fs < 0 || tc_put_file(fs, "bundle", text->data, text->len, 0444) < 0 ||
        mkdirat(root_cache, at, 0700) < 0)
        return -1;
    int rc = tc_move_mount(fs, root_cache, at);
    if (rc == 0) {
        char self[32];
        _autofd_ int fd = openat(fs, "bundle", O_PATH | O_NOFOLLOW | O_CLOEXEC);
        *ret_tree = fd < 0 ? -1 : tc_tree_open(fd, &(struct tc_tree){.userns = -1}, NULL);
        rc = *ret_tree < 0 ? -1 : 0;
        int saved = errno;
        (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fs);
        (void)umount2(self, MNT_DETACH);
        errno = saved;
    }
    int saved = errno;
    (void)unlinkat(root_cache, at, AT_REMOVEDIR);
    errno = saved;
    return rc;
}

static int show_certificates(struct tc_cage *cage, const char *path)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    int tree = -1;
    const char *copy = tc_arena_format(&p->trees.arena, "%s", path);
    if (clone_file(p->host->root_cache, &p->trusted, &tree) < 0 ||
        tc_tree_keep(&p->trees, tree) < 0)
        return fail_certificates(cage, path, "`toolcage doctor` shows what this host lacks",
                                 "the cage's certificates cannot be mounted");
    return copy && tc_tree_mount(&p->trees, tree, copy, TC_LANDLOCK_READ_FILE)
               ? 0
               : tc_cage_fail_memory(cage, "trust");
}

/* A cage around a VMM contains few system directories. */
static bool shows(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct tc_mount *m = &plan->mounts[i];
        if (m->kind == TC_MOUNT_SYSTEM && tc_path_within(m->path, path))
            return true;
    }
    return false;
}

/* Below a granted path the bundle is the operator's own. */
static bool shown_by_system(struct tc_cage *cage, const char *path)
{
    return tc_system_path_find(path) && shows(cage->plan, path) &&
           !tc_tree_denied(cage->plan, path) && !tc_tree_holder(&TC_PRIV(cage)->trees, path);
}

/* Mounted at the real path of the system's file, so that every symlink resolves to the new bundle.
 */
static int show_at(struct tc_cage *cage, const char *place, char last[PATH_MAX])
{
    char real[PATH_MAX];
    if (!realpath(place, real))
        return 0;
    if (strcmp(real, last) == 0 || !shown_by_system(cage, real))
        return 0;
    tc_strcopy(last, PATH_MAX, real);
    return show_certificates(cage, real);
}

/* An image has its own /etc: there only the environment names the bundle. */
int tc_trust_show(struct tc_cage *cage)
{
    char last[PATH_MAX] = "";
    if (!TC_PRIV(cage)->trusted.len)
        return 0;
    int rc = show_certificates(cage, TC_BUNDLE_OWN);
    for (const char *const *place = tc_bundle_places; rc == 0 && *place && !cage->plan->image;
         place++)
        rc = show_at(cage, *place, last);
    tc_buf_done(&TC_PRIV(cage)->trusted);
    return rc;
}
