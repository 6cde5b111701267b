/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/copy.h"
#include "workspace/state.h"
#include "workspace/workspace.h"

struct scene_storage scene_storage;

static char top[] = "/tmp/toolcage-scenes-XXXXXX";
static int scenes;

/* ---- linked in the place of what would need root ---- */

int __wrap_tc_tmpfs(int64_t bytes, int64_t inodes, const char *mode, bool executable);
int __wrap_tc_state_open(const char *part, const char **ret_where);
int __wrap_tc_state_look(const char *part);

int __wrap_tc_tmpfs(int64_t bytes, int64_t inodes, const char *mode, bool executable)
{
    (void)executable;
    scene_storage.bytes = bytes;
    scene_storage.inodes = inodes;
    errno = scene_storage.errnum;
    if (errno || mkdir(SCENE_COPY, (mode_t)strtoul(mode, NULL, 8)) < 0)
        return -1;
    return open(SCENE_COPY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int __wrap_tc_state_open(const char *part, const char **ret_where)
{
    _autofree_ char *path = tc_path_join("state", part);
    if (ret_where)
        *ret_where = "state";
    if (!path || ((mkdir("state", 0700) < 0 || mkdir(path, 0700) < 0) && errno != EEXIST))
        return -1;
    (void)mkdir(path, 0700);
    return __wrap_tc_state_look(part);
}

int __wrap_tc_state_look(const char *part)
{
    _autofree_ char *path = tc_path_join("state", part);
    return path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* ---- directories ---- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

int scenes_open(void **state)
{
    (void)state;
    (void)umask(022); /* the helper's */
    return mkdtemp(top) && chmod(top, 0755) == 0 ? 0 : -1;
}

int scenes_close(void **state)
{
    char line[sizeof(top) + 32];
    (void)state;
    (void)snprintf(line, sizeof(line), "chmod -R u+rwx %s", top);
    return chdir("/") < 0 || system(line) != 0 ? -1
                                               : nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void scene_new(void)
{
    char path[sizeof(top) + 16];
    (void)snprintf(path, sizeof(path), "%s/%d", top, scenes++);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(chdir(path), 0);
    assert_int_equal(mkdir("host", 0755), 0);
}

void scene_sh(const char *line)
{
    if (line[0] && system(line) != 0)
        fail_msg("failed: %s", line);
}

/* ---- a call ---- */

void scene_plan(struct scene *s, int64_t mode, int64_t commit)
{
    *s = (struct scene){.trees = TC_TREES_NEW, .workspace = TC_WORKSPACE_NEW};
    s->plan.call = (char *)(uintptr_t) "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    s->plan.tool = (char *)(uintptr_t) "tool";
    s->plan.workspace = mode;
    s->plan.commit = commit;
    s->plan.limits = (struct tc_limits){.disk = 1 << 20, .inodes = 100};
    s->host =
        (struct tc_tree_host){.privileged = geteuid() == 0, .uid = geteuid(), .gid = getegid()};
    s->trees.host = &s->host;
    s->mount = (struct tc_mount){.kind = TC_MOUNT_WRITE, .workspace = true};
    s->mount.path = (char *)(uintptr_t) "/workspace";
    s->cage = (struct tc_cage){
        .plan = &s->plan, .outcome = &s->outcome, .workspace = &s->workspace, .trees = &s->trees};
    s->item = (struct tc_item){.mount = &s->mount,
                               .path = s->mount.path,
                               .fd = -1,
                               .directory = true,
                               .writable = true,
                               .copy = -1,
                               .uid = geteuid(),
                               .gid = getegid(),
                               .layers = -1,
                               .steering = &s->plan.steering};
}

static int make_private(struct scene *s)
{
    if (s->plan.workspace == TC_WORKSPACE_OVERLAY)
        return tc_overlay_open(&s->cage, &s->item, "");
    return s->plan.workspace == TC_WORKSPACE_COPY ? tc_workspace_copy(&s->cage, &s->item) : 0;
}

enum { TICK_US = 12000 }; /* more than the step of file times */

int scene_begin(struct scene *s)
{
    s->mount.from = realpath("host", NULL);
    assert_non_null(s->mount.from);
    s->item.context = s->mount.from;
    s->item.fd = tc_tree_keep(&s->trees, open("host", O_PATH | O_DIRECTORY | O_CLOEXEC));
    assert_true(s->item.fd >= 0);
    s->trees.items = &s->item;
    s->trees.item_count = 1;
    bool made = tc_item_learn_around(&s->trees, &s->item) == 0 && make_private(s) >= 0 &&
                tc_workspace_single_files(&s->cage) == 0;
    tc_workspace_start(&s->workspace);
    (void)usleep(TICK_US); /* as a cage does before it starts the tool */
    return made ? 0 : -1;
}

void scene_end(struct scene *s, bool commit)
{
    mode_t mask = umask(0); /* as in the process that gathers */
    tc_workspace_gather(&s->cage, commit);
    (void)umask(mask);
}

void scene_done(struct scene *s)
{
    free(s->mount.from);
    tc_workspace_done(&s->workspace);
    tc_trees_done(&s->trees);
    tc_outcome_done(&s->outcome);
}

/* ---- what came of it ---- */

static int by_path(const void *a, const void *b)
{
    return strcmp((*(const struct tc_change *const *)a)->path,
                  (*(const struct tc_change *const *)b)->path);
}

const char *scene_changes(const struct tc_outcome *outcome)
{
    static char text[4096];
    const struct tc_change *sorted[64];
    size_t at = 0;
    assert_true(outcome->change_count <= TC_COUNT(sorted));
    for (size_t i = 0; i < outcome->change_count; i++)
        sorted[i] = &outcome->changes[i];
    qsort(sorted, outcome->change_count, sizeof(*sorted), by_path);
    text[0] = '\0';
    for (size_t i = 0; i < outcome->change_count; i++) {
        const struct tc_change *c = sorted[i];
        const char *path = tc_startswith(c->path, "/workspace/") ? c->path + 11 : c->path;
        at +=
            (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s", i ? ", " : "", c->kind, path);
        if (c->held)
            at += (size_t)snprintf(text + at, sizeof(text) - at, " (%s)", c->held);
    }
    return text;
}

static char *names[64];
static size_t name_count;

static int note_name(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind;
    assert_true(name_count < TC_COUNT(names));
    if (at->level > 0)
        names[name_count++] = strdup(path);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void describe(struct tc_buf *out, const char *path, const char *name)
{
    struct stat st;
    char target[PATH_MAX];
    _autobuf_ struct tc_buf content = TC_BUF_INIT;
    assert_int_equal(lstat(path, &st), 0);
    tc_buf_adds(out, name);
    if (S_ISDIR(st.st_mode)) {
        tc_buf_addc(out, '/');
    } else if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        assert_true(n >= 0);
        target[n] = '\0';
        tc_buf_addf(out, "->%s", target);
    } else if (S_ISREG(st.st_mode)) {
        tc_buf_addc(out, '=');
        if (tc_read_file(AT_FDCWD, path, &content) == 0)
            tc_buf_add(out, content.data, content.len);
    } else {
        tc_buf_addc(out, '!');
    }
}

const char *scene_tree(const char *directory)
{
    static char text[4096];
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    name_count = 0;
    assert_int_equal(nftw(directory, note_name, 16, FTW_PHYS), 0);
    qsort(names, name_count, sizeof(*names), by_text);
    for (size_t i = 0; i < name_count; i++) {
        if (i)
            tc_buf_addc(&out, ' ');
        describe(&out, names[i], names[i] + strlen(directory) + 1);
        free(names[i]);
    }
    assert_false(out.failed);
    (void)snprintf(text, sizeof(text), "%s", out.len ? out.data : "");
    return text;
}

unsigned scene_mode(const char *path)
{
    struct stat st;
    return lstat(path, &st) < 0 ? 0 : st.st_mode;
}
