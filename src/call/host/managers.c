/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/host/managers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

enum { SHIM_MAX = 64 << 10 };

#define CONDA(name)                                                  \
    {                                                                \
        .named = (name), .cache = "CONDA_PKGS_DIRS=/tmp/.conda/pkgs" \
    }
#define UV(name)                                                                                 \
    {                                                                                            \
        .named = (name), .variable = "UV_PYTHON_INSTALL_DIR", .place = ".local/share/uv/python", \
        .cache = "UV_CACHE_DIR=/tmp/.cache/uv"                                                   \
    }

static const struct tc_manager managers[] = {
    /* cargo, rustc and the others are rustup, which runs those of a toolchain */
    {.same_as = "rustup",
     .variable = "RUSTUP_HOME",
     .place = ".rustup",
     .cache = "CARGO_HOME=/tmp/.cargo"},
    UV("uv"),
    UV("uvx"),
    CONDA("conda"),
    CONDA("mamba"),
    {.named = "micromamba",
     .variable = "MAMBA_ROOT_PREFIX",
     .place = "micromamba",
     .cache = "CONDA_PKGS_DIRS=/tmp/.conda/pkgs"},
    {.named = "pyenv", .variable = "PYENV_ROOT", .place = ".pyenv"},
    {.named = "asdf", .variable = "ASDF_DATA_DIR", .place = ".asdf"},
    /* Maven and Gradle need its Java */
    {.below = true,
     .variable = "SDKMAN_DIR",
     .place = ".sdkman",
     .part = "candidates",
     .inner = "JAVA_HOME",
     .inside = "java/current"},
};

char *tc_manager_directory(const struct tc_facts *facts, const struct tc_manager *m)
{
    const char *said = m->variable ? tc_variable(facts->environ, m->variable) : NULL;
    if (said && said[0] == '/')
        return tc_path_absolute("/", said);
    return m->place && facts->home ? tc_path_join(facts->home, m->place) : NULL;
}

char *tc_manager_part(const struct tc_facts *facts, const struct tc_manager *m)
{
    _autofree_ char *directory = tc_manager_directory(facts, m);
    return !directory || !m->part ? TAKE(directory) : tc_path_join(directory, m->part);
}

static bool is_same_file(const char *file, const char *name)
{
    struct stat one, other;
    _autofree_ char *directory = tc_path_parent(file);
    _autofree_ char *path = directory ? tc_path_join(directory, name) : NULL;
    return path && stat(file, &one) == 0 && stat(path, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static bool manages(const struct tc_facts *facts, const struct tc_manager *m, const char *file)
{
    if (m->named)
        return strcmp(tc_path_base(file), m->named) == 0;
    if (m->same_as)
        return is_same_file(file, m->same_as);
    _autofree_ char *part = tc_manager_part(facts, m);
    return part && tc_path_within(part, file);
}

const struct tc_manager *tc_manager_of(const struct tc_facts *facts, const char *file)
{
    for (size_t i = 0; i < TC_COUNT(managers); i++)
        if (manages(facts, &managers[i], file))
            return &managers[i];
    return NULL;
}

/* ---- shims of asdf: scripts whose comments list the plugin and its versions ---- */

/* The version that ROOT/../.tool-versions, the home's file, names for the plugin; false: none. */
static bool chosen_version(const char *root, const char *plugin, char version[static 128])
{
    _autofree_ char *home = tc_path_parent(root);
    _autofree_ char *file = home ? tc_path_join(home, ".tool-versions") : NULL;
    _autobuf_ struct tc_buf text = {.max = SHIM_MAX};
    if (!file || tc_read_file(AT_FDCWD, file, &text) < 0 || !text.data)
        return false;
    char *rest = text.data, name[128];
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        if (sscanf(line, "%127s %127s", name, version) == 2 && strcmp(name, plugin) == 0)
            return true;
    return false;
}

static char *installed(const char *root, const char *plugin, const char *version, const char *name)
{
    if (strchr(plugin, '/') || strchr(version, '/') || plugin[0] == '.' || version[0] == '.')
        return NULL;
    _autofree_ char *path = tc_format("%s/installs/%s/%s/bin/%s", root, plugin, version, name);
    return path && eaccess(path, X_OK) == 0 ? TAKE(path) : NULL;
}

char *tc_manager_shim(const char *shims, const char *name)
{
    _autofree_ char *root = tc_path_parent(shims);
    _autofree_ char *file = tc_path_join(shims, name);
    _autobuf_ struct tc_buf text = {.max = SHIM_MAX};
    char plugin[128], version[128], chosen[128];
    char *found = NULL;
    if (!root || !file || tc_read_file(AT_FDCWD, file, &text) < 0 || !text.data)
        return NULL;
    char *rest = text.data;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        if (sscanf(line, "# asdf-plugin: %127s %127s", plugin, version) != 2)
            continue;
        bool wanted = chosen_version(root, plugin, chosen) && strcmp(chosen, version) == 0;
        char *path = wanted || !found ? installed(root, plugin, version, name) : NULL;
        if (!path)
            continue;
        free(found);
        found = path;
        if (wanted)
            break;
    }
    return found;
}
