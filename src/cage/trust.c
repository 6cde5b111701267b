/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the programs of a cage trust whose proxy looks into TLS: what the system trusts, and the
 * proxy's own authority, in one file. It stands where the system has its own, and at a place of
 * ours that the environment names. */
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

/* The proxy reads the same: it ends without. */
static int read_system(struct tc_cage *cage, struct tc_buf *to)
{
    for (const char *const *place = tc_bundle_places; *place; place++) {
        if (access(*place, F_OK) < 0)
            continue;
        if (tc_read_file(AT_FDCWD, *place, to) == 0 && to->len)
            return 0;
        return fail_certificates(cage, *place, "make it readable for all",
                                 "the certificates that this machine trusts cannot be read");
    }
    if (cage->plan->uid) /* in a machine, whose image may have none: the proxy is outside of it */
        return 0;
    errno = 0;
    return fail_certificates(cage, tc_bundle_places[0], "install the package ca-certificates",
                             "this machine has no file of the certificates that it trusts");
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

/* ---- shown ---- */

/* One file of a tmpfs of its own: it can be mounted apart only from where it is attached itself. */
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
        return fail_certificates(cage, path, "`toolcage doctor` shows what this machine lacks",
                                 "the cage's certificates cannot be mounted");
    return copy && tc_tree_mount(&p->trees, tree, copy, TC_LANDLOCK_READ_FILE)
               ? 0
               : tc_cage_fail_memory(cage, "trust");
}

/* Around a machine's monitor the cage shows little of the system. */
static bool shows(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        const struct tc_mount *m = &plan->mounts[i];
        if ((m->kind == TC_MOUNT_SYSTEM || m->kind == TC_MOUNT_COPY) &&
            tc_path_within(m->path, path))
            return true;
    }
    return false;
}

/* Below a granted path it is the operator's own. */
static bool shown_by_system(struct tc_cage *cage, const char *path)
{
    return tc_system_path_find(path) && shows(cage->plan, path) &&
           !tc_tree_denied(cage->plan, path) && !tc_tree_holder(&TC_PRIV(cage)->trees, path);
}

/* Where the system's file really is, so that every link to it leads to ours. One that is a copy in
 * the cage is there under its own name. */
static int show_at(struct tc_cage *cage, const char *place, char last[PATH_MAX])
{
    static const char copied[] = "/etc/pki/tls/cert.pem";
    char real[PATH_MAX];
    if (!realpath(place, real))
        return 0;
    if (strcmp(place, copied) == 0)
        tc_strcopy(real, sizeof(real), copied);
    if (strcmp(real, last) == 0 || !shown_by_system(cage, real))
        return 0;
    tc_strcopy(last, PATH_MAX, real);
    return show_certificates(cage, real);
}

/* An image has its own /etc: there the environment alone leads to it. */
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
