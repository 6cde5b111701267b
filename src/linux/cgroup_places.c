/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Where cgroups are mounted on this host, parsed from file contents: pure. */
#include "linux/cgroup_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/strv.h"
#include "linux/mounts.h"

const char *tc_cgroup_controller_name(enum tc_cgroup_controller controller)
{
    static const char *const names[] = {"memory", "pids", "cpu", "cpuacct"};
    return names[controller];
}

bool tc_cgroup_has_word(const char *list, const char *separators, const char *word)
{
    size_t len = strlen(word);
    while (*list) {
        size_t run = strcspn(list, separators);
        if (run == len && strncmp(list, word, len) == 0)
            return true;
        list += run;
        list += strspn(list, separators);
    }
    return false;
}

struct mount_line {
    char *root, *point, *type, *super;
};

/* Splits one line in place: id parent dev ROOT POINT options [tags…] - TYPE source SUPER. */
static bool cut_mount(char *line, struct mount_line *ret)
{
    char *dash = strstr(line, " - ");
    if (!dash)
        return false;
    *dash = '\0';
    char *save = NULL, *field[5];
    for (int i = 0; i < 5; i++) {
        field[i] = strtok_r(i ? NULL : line, " ", &save);
        if (!field[i])
            return false;
    }
    ret->root = field[3];
    ret->point = field[4];
    ret->type = strtok_r(dash + 3, " ", &save);
    char *source = ret->type ? strtok_r(NULL, " ", &save) : NULL;
    ret->super = source ? strtok_r(NULL, " ", &save) : NULL;
    tc_mounts_unescape(ret->root);
    tc_mounts_unescape(ret->point);
    return ret->super != NULL;
}

/* The group's path in one hierarchy, from /proc/self/cgroup ("4:memory:/a/b", "0::/a"). */
static char *group_path(const char *groups, const char *controller)
{
    _autofree_ char *text = strdup(groups);
    if (!text)
        return NULL;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        list++;
        if (controller ? tc_cgroup_has_word(list, ",", controller) : !list[0])
            return strdup(path);
    }
    return NULL;
}

/* The group's directory below a mount that shows the hierarchy from `root` on. NULL when it is
 * not below, as in a container that sees a mount of another group ("/.." in a foreign cgroup
 * namespace). */
static char *own_directory(const char *mount, const char *root, const char *group)
{
    if (tc_startswith(group, "/..") || tc_startswith(root, "/.."))
        return NULL;
    if (!tc_path_within(root, group))
        return NULL;
    const char *rest = strcmp(root, "/") == 0 ? group : group + strlen(root);
    rest += strspn(rest, "/");
    return *rest ? tc_path_join(mount, rest) : strdup(mount);
}

static bool fill_place(struct tc_cgroup_place *place, const struct mount_line *line,
                       const char *groups, const char *controller)
{
    if (place->mount)
        return true; /* the first mount is used */
    place->mount = strdup(line->point);
    _autofree_ char *group = group_path(groups, controller);
    if (place->mount && group)
        place->own = own_directory(line->point, line->root, group);
    return place->mount != NULL;
}

static bool take_mount(struct tc_cgroup_places *places, const struct mount_line *line,
                       const char *groups)
{
    if (strcmp(line->type, "cgroup2") == 0)
        return fill_place(&places->v2, line, groups, NULL);
    if (strcmp(line->type, "cgroup") != 0)
        return true;
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        const char *name = tc_cgroup_controller_name(c);
        if (tc_cgroup_has_word(line->super, ",", name) &&
            !fill_place(&places->v1[c], line, groups, name))
            return false;
    }
    return true;
}

bool tc_cgroup_places_parse(const char *groups, const char *mounts, struct tc_cgroup_places *ret)
{
    *ret = (struct tc_cgroup_places){0};
    _autofree_ char *text = strdup(mounts);
    if (!text)
        return false;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct mount_line cut;
        if (cut_mount(line, &cut) && !take_mount(ret, &cut, groups))
            return false;
    }
    return true;
}

void tc_cgroup_places_done(struct tc_cgroup_places *places)
{
    for (int c = 0; c < TC_CGROUP_CONTROLLERS; c++) {
        free(places->v1[c].mount);
        free(places->v1[c].own);
    }
    free(places->v2.mount);
    free(places->v2.own);
    *places = (struct tc_cgroup_places){0};
}
