/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Creates, renames, links and removes names. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wasm/wasi/guest.h"

enum { DIRECTORY_MODE = 0777 };

static uint32_t walk_change(struct tc_wasi *w, const uint64_t *a, uint64_t rights,
                            struct tc_wasi_place *ret)
{
    return tc_wasi_walk(
        w,
        &(struct tc_wasi_where){
            .fd = a[0], .path = a[1], .length = a[2], .rights = rights, .change = true},
        ret);
}

/* A name with a trailing slash must be a directory. */
static uint32_t check_slash(const struct tc_wasi_place *at)
{
    struct stat st;
    if (!at->directory)
        return WASI_OK;
    if (fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return tc_wasi_error(errno);
    return S_ISDIR(st.st_mode) ? WASI_OK : WASI_NOTDIR;
}

/* A new name must not have a trailing slash. */
static uint32_t check_new(const struct tc_wasi_place *at)
{
    uint32_t error = check_slash(at);
    return at->directory && !error ? WASI_EXIST : error;
}

uint32_t tc_wasi_path_create_directory(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place at = TC_WASI_PLACE_INIT;
    uint32_t error = walk_change(w, a, WASI_R_MKDIR, &at);
    return error ? error : tc_wasi_answer(mkdirat(at.dir, at.name, DIRECTORY_MODE));
}

uint32_t tc_wasi_path_remove_directory(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place at = TC_WASI_PLACE_INIT;
    uint32_t error = walk_change(w, a, WASI_R_RMDIR, &at);
    return error ? error : tc_wasi_answer(unlinkat(at.dir, at.name, AT_REMOVEDIR));
}

uint32_t tc_wasi_path_unlink_file(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place at = TC_WASI_PLACE_INIT;
    uint32_t error = walk_change(w, a, WASI_R_UNLINK, &at);
    if (!error)
        error = check_slash(&at);
    return error ? error : tc_wasi_answer(unlinkat(at.dir, at.name, 0));
}

uint32_t tc_wasi_path_rename(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place from = TC_WASI_PLACE_INIT;
    _autoplace_ struct tc_wasi_place to = TC_WASI_PLACE_INIT;
    uint32_t error = walk_change(w, a, WASI_R_RENAME_FROM, &from);
    if (!error)
        error = walk_change(w, a + 3, WASI_R_RENAME_TO, &to);
    if (!error)
        error = check_slash(&from);
    return error ? error : tc_wasi_answer(renameat(from.dir, from.name, to.dir, to.name));
}

/* Links a symlink itself, not its target. */
uint32_t tc_wasi_path_link(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place from = TC_WASI_PLACE_INIT;
    _autoplace_ struct tc_wasi_place to = TC_WASI_PLACE_INIT;
    const uint64_t first[] = {a[0], a[2], a[3]};
    if (a[1] & WASI_FOLLOW)
        return WASI_INVAL;
    uint32_t error = walk_change(w, first, WASI_R_LINK_FROM, &from);
    if (!error)
        error = walk_change(w, a + 4, WASI_R_LINK_TO, &to);
    if (!error && !(error = check_slash(&from)))
        error = check_new(&to);
    return error ? error : tc_wasi_answer(linkat(from.dir, from.name, to.dir, to.name, 0));
}

/* An escaping symlink is harmless in the guest, but not to programs that read the files afterwards.
 */
uint32_t tc_wasi_path_symlink(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place at = TC_WASI_PLACE_INIT;
    char target[PATH_MAX];
    const char *words = tc_guest(w, a[0], a[1]);
    if (!words)
        return WASI_FAULT;
    if (!a[1] || a[1] >= PATH_MAX)
        return a[1] ? WASI_NAMETOOLONG : WASI_NOENT;
    if (memchr(words, '\0', a[1]))
        return WASI_INVAL;
    memcpy(target, words, a[1]);
    target[a[1]] = '\0';
    uint32_t error = walk_change(w, a + 2, WASI_R_SYMLINK, &at);
    if (error || (error = check_new(&at)))
        return error;
    return tc_wasi_leads_out(target, at.depth) ? WASI_NOTCAPABLE
                                               : tc_wasi_answer(symlinkat(target, at.dir, at.name));
}

uint32_t tc_wasi_path_readlink(struct tc_wasi *w, const uint64_t *a)
{
    _autoplace_ struct tc_wasi_place at = TC_WASI_PLACE_INIT;
    uint32_t error =
        tc_wasi_walk(w,
                     &(struct tc_wasi_where){
                         .fd = a[0], .path = a[1], .length = a[2], .rights = WASI_R_READLINK},
                     &at);
    char *to = tc_guest(w, a[3], a[4]);
    if (error)
        return error;
    if (!to || !tc_guest(w, a[5], 4))
        return WASI_FAULT;
    ssize_t n = a[4] ? readlinkat(at.dir, at.name, to, a[4]) : 0;
    if (n < 0)
        return tc_wasi_error(errno);
    (void)tc_guest_put32(w, a[5], (uint32_t)n);
    return WASI_OK;
}
