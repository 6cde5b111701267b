/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/host/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "state/places.h"

static int working_directory(char **ret, struct toolcage_error **err)
{
    _autofree_ char *cwd = getcwd(NULL, 0);
    if (!cwd && errno == ENOMEM)
        return tc_fail_memory(err);
    if (!cwd)
        return tc_fail(
            err,
            TC_WHY_ERRNO(TOOLCAGE_EPATH, "facts", ".", errno, "change to a directory that exists"),
            "the working directory has no name");
    /* The kernel prefixes a directory outside the process's root with "(unreachable)". */
    if (cwd[0] != '/')
        return tc_fail(
            err,
            TC_WHY(TOOLCAGE_EPATH, "facts", cwd, "change to a directory below this process's root"),
            "the working directory is outside this process's root: %s", cwd);
    *ret = TAKE(cwd);
    return 0;
}

int64_t tc_caller_umask(void)
{
    enum { STRICT = 077 }; /* without /proc */
    unsigned mask = STRICT;
    char text[256]; /* it is the second line */
    _autofd_ int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[n < 0 ? 0 : n] = '\0';
    const char *line = strstr(text, "\nUmask:");
    return line && sscanf(line, "\nUmask: %o", &mask) == 1 ? (int64_t)(mask & 0777) : STRICT;
}

/* The path without links in its existing part; NULL: it contains none. False: out of memory. */
static bool without_links(const char *path, char **ret)
{
    if (!path || (tc_path_is_clean(path) && tc_path_straight(path) >= 0))
        return true;
    _autofree_ char *there = strdup(path);
    if (!there)
        return false;
    for (;;) {
        _autofree_ char *real = realpath(there, NULL);
        if (!real && errno == ENOMEM)
            return false;
        if (real && strcmp(real, there) != 0)
            *ret = tc_format("%s%s", strcmp(real, "/") == 0 ? "" : real, path + strlen(there));
        if (real)
            return strcmp(real, there) == 0 || *ret;
        char *slash = strrchr(there, '/');
        if (!slash || slash == there)
            return true;
        *slash = '\0';
    }
}

/* Facts that need a look at the host's files. */
static bool look_at_files(void *context)
{
    struct tc_surroundings *s = context;
    bool own = false;
    if (!s->facts.look)
        return true;
    if (!tc_homes(s->home, &s->homes, &own) || !without_links(s->home, &s->real_home) ||
        !without_links(s->state, &s->real_state) || !without_links(s->config, &s->real_config) ||
        !without_links(s->images, &s->real_images))
        return false;
    s->facts.real.home = s->real_home;
    s->facts.real.state = s->real_state;
    s->facts.real.config = s->real_config;
    s->facts.real.images = s->real_images;
    s->facts.homes = &s->homes;
    s->facts.homeless = !own;
    s->facts.look = NULL;
    return true;
}

int tc_surroundings_begin(struct tc_surroundings *ret, struct toolcage_error **err)
{
    int r = working_directory(&ret->cwd, err);
    if (r < 0)
        return r;
    if (!tc_variable_path("HOME", &ret->home) ||
        !tc_own_directory("XDG_STATE_HOME", ret->home, ".local/state/toolcage", &ret->state) ||
        !tc_own_directory("XDG_CONFIG_HOME", ret->home, ".config/toolcage", &ret->config) ||
        !tc_own_directory("XDG_DATA_HOME", ret->home, ".local/share/toolcage", &ret->images))
        return tc_fail_memory(err);
    ret->facts = (struct tc_facts){.cwd = ret->cwd,
                                   .home = ret->home,
                                   .state = ret->state,
                                   .config = ret->config,
                                   .images = ret->images,
                                   .environ = (const char *const *)environ,
                                   .closed = tc_home_closed,
                                   .look = look_at_files,
                                   .context = ret};
    return 0;
}

int tc_surroundings_gather(struct tc_surroundings *ret, struct toolcage_error **err)
{
    int r = tc_surroundings_begin(ret, err);
    return r < 0 || tc_facts_look(&ret->facts) ? r : tc_fail_memory(err);
}

void tc_surroundings_done(struct tc_surroundings *s)
{
    free(s->cwd);
    free(s->home);
    free(s->state);
    free(s->config);
    free(s->images);
    free(s->real_home);
    free(s->real_state);
    free(s->real_config);
    free(s->real_images);
    tc_strv_done(&s->homes);
    *s = (struct tc_surroundings){0};
}
