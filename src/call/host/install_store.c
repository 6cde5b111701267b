/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The directory of installs: STATE/setup/HEX/tree, and next to it "new-…" for a running install,
 * which holds a lock on it. Root's is in /var/lib/toolcage, other users' in their state
 * directory; both are masked in every grant. A directory that other users can write is not used. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "call/host/install.h"
#include "state/store.h"

static int fail_install(struct toolcage_error **err, const char *where, const char *what)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_EPATH, "setup", where, errno,
                                "it must be your directory, writable only by you, with free space"),
                   "%s in %s", what, where);
}

bool tc_install_directory(const struct tc_facts *facts, char **ret)
{
    const char *base = geteuid() == 0 ? "/var/lib/toolcage" : facts->state;
    *ret = base ? tc_path_join(base, "setup") : NULL;
    return *ret || !base;
}

/* "sha256:" is not part of the name. */
static const char *hex_of(const char *key)
{
    return strchr(key, ':') ? strchr(key, ':') + 1 : key;
}

static int open_all(const char *path)
{
    _autofree_ char *base = tc_path_parent(path);
    _autofd_ int above = base ? tc_store_enter(AT_FDCWD, base) : -1;
    return above < 0 ? -1 : tc_store_enter(above, tc_path_base(path));
}

char *tc_install_find(const struct tc_facts *facts, const char *key)
{
    _autofree_ char *path = NULL;
    if (!tc_install_directory(facts, &path))
        return errno = ENOMEM, NULL;
    errno = ENOENT;
    _autofd_ int all = path ? open_all(path) : -1;
    _autofd_ int own = all < 0 ? -1 : tc_store_enter(all, hex_of(key));
    _autofd_ int tree = own < 0 ? -1 : tc_store_enter(own, "tree");
    if (tree < 0)
        return NULL;
    char *found = tc_format("%s/%s/tree", path, hex_of(key));
    errno = ENOMEM;
    return found;
}

int tc_install_sizes(const struct tc_facts *facts, struct tc_kept_installs *ret)
{
    _autofree_ char *path = NULL;
    struct dirent *e;
    *ret = (struct tc_kept_installs){0};
    if (!tc_install_directory(facts, &path))
        return TOOLCAGE_EMEMORY;
    _autofd_ int all = path ? open_all(path) : -1;
    _autodir_ DIR *dir = tc_list_dir(all);
    while (dir && tc_next_entry(dir, &e) > 0) {
        if (tc_store_is_begun(-1, e->d_name))
            continue;
        int64_t bytes = tc_tree_bytes(all, e->d_name);
        ret->count++;
        ret->bytes += bytes > 0 ? bytes : 0;
    }
    return 0;
}

int64_t tc_install_bytes(const struct tc_facts *facts, const char *key)
{
    _autofree_ char *path = NULL;
    (void)tc_install_directory(facts, &path);
    _autofd_ int all = path ? open_all(path) : -1;
    return all < 0 ? -1 : tc_tree_bytes(all, hex_of(key));
}

/* ---- an install ---- */

int tc_install_sweep(const struct tc_facts *facts, unsigned *ret, struct toolcage_error **err)
{
    _autofree_ char *path = NULL;
    if (!tc_install_directory(facts, &path))
        return tc_fail_memory(err);
    _autofd_ int all = path ? open_all(path) : -1;
    *ret = tc_store_sweep(all, tc_store_is_begun);
    return 0;
}

static int make_own(struct tc_install_stage *stage)
{
    stage->own = tc_store_begin(stage->all, &stage->name);
    /* the tool's ids read it later */
    return stage->own < 0 || mkdirat(stage->own, "tree", 0755) < 0
               ? -1
               : fchmodat(stage->own, "tree", 0755, 0);
}

int tc_stage_begin(const struct tc_facts *facts, const char *key, struct tc_install_stage **ret,
                   struct toolcage_error **err)
{
    _autofree_ char *path = NULL;
    struct stat st;
    struct tc_install_stage *stage = *ret = calloc(1, sizeof(*stage));
    if (!stage)
        return tc_fail_memory(err);
    stage->all = stage->own = -1;
    tc_strcopy(stage->key, sizeof(stage->key), key);
    if (!tc_install_directory(facts, &path))
        return tc_fail_memory(err);
    if (!path) {
        errno = ENOENT;
        return fail_install(err, "a state directory (neither HOME nor XDG_STATE_HOME is set)",
                            "nothing can be installed");
    }
    if (tc_make_directories(path) < 0 || (stage->all = open_all(path)) < 0)
        return fail_install(err, path, "nothing can be installed");
    (void)tc_store_sweep(stage->all, tc_store_is_begun);
    stage->again =
        fstatat(stage->all, hex_of(key), &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
    if (make_own(stage) < 0)
        return fail_install(err, path, "nothing can be installed");
    stage->tree = tc_format("%s/%s/tree", path, stage->name);
    return stage->tree ? 0 : tc_fail_memory(err);
}

int tc_stage_keep(struct tc_install_stage *stage, struct toolcage_error **err)
{
    /* after a power failure the tree must be complete or absent */
    if (syncfs(stage->own) < 0 ||
        tc_store_place(stage->all, stage->name, stage->all, hex_of(stage->key), stage->again) < 0)
        return fail_install(err, stage->tree, "the install cannot be stored");
    return 0;
}

void tc_stage_free(struct tc_install_stage *stage)
{
    if (!stage)
        return;
    if (stage->name && stage->own >= 0)
        (void)tc_remove_tree(stage->all, stage->name);
    if (stage->own >= 0)
        (void)close(stage->own);
    if (stage->all >= 0)
        (void)close(stage->all);
    free(stage->name);
    free(stage->tree);
    free(stage);
}

static int remove_all(int all, unsigned *ret)
{
    _autodir_ DIR *dir = tc_list_dir(all);
    struct dirent *e;
    while (dir && tc_next_entry(dir, &e) > 0) {
        if (tc_store_is_begun(-1, e->d_name))
            continue;
        if (tc_store_discard(all, e->d_name, all) != 0)
            return -1;
        ++*ret;
    }
    return dir ? 0 : -1;
}

int tc_install_remove(const struct tc_facts *facts, const char *key, unsigned *ret,
                      struct toolcage_error **err)
{
    _autofree_ char *path = NULL;
    if (!tc_install_directory(facts, &path))
        return tc_fail_memory(err);
    _autofd_ int all = path ? open_all(path) : -1;
    if (!path || (all < 0 && errno == ENOENT))
        return 0;
    if (all >= 0)
        (void)tc_store_sweep(all, tc_store_is_begun);
    int rc = all < 0 ? -1 : key ? tc_store_discard(all, hex_of(key), all) : remove_all(all, ret);
    if (key && rc == 0)
        ++*ret;
    if (rc == 0 || (key && errno == ENOENT))
        return 0;
    return fail_install(err, path, "what is installed cannot be removed");
}
