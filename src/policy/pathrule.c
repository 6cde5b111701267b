/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/pathrule.h"

#include <string.h>
#include <toolcage/error.h>

#include "base/path.h"
#include "policy/names/system_paths.h"

enum { PATH_BYTES_MAX = 4095 };

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

bool tc_path_text_fine(const char *text, struct tc_complaint *c)
{
    const char *glob = strpbrk(text, "*?[");
    if (!text[0])
        tc_complain(c, "name a directory or file", "the path is empty");
    else if (glob)
        tc_complain(c, "name the directory: everything below it is granted with it",
                    "\"%.100s\" is a pattern ('%c'), not a path", text, *glob);
    else if (has_control(text))
        tc_complain(c, "name the directory instead", "the path contains a control character");
    else if (strlen(text) > PATH_BYTES_MAX)
        tc_complain(c, "a path has at most 4095 bytes", "the path is too long");
    else
        return true;
    return false;
}

int tc_path_expand(const char *text, const char *dir, const char *home, char **ret,
                   struct tc_complaint *c)
{
    if (!tc_path_text_fine(text, c))
        return TOOLCAGE_EPOLICY;
    if (text[0] == '~') {
        if (text[1] && text[1] != '/') {
            tc_complain(c, "write the directory itself, or \"./~name\" for a name that starts so",
                        "\"%.100s\": only \"~/\" is expanded", text);
            return TOOLCAGE_EPOLICY;
        }
        if (!home || home[0] != '/') {
            tc_complain(c, "write the directory itself",
                        "\"%.100s\": the home directory is not known", text);
            return TOOLCAGE_EPOLICY;
        }
        dir = home;
        text += text[1] ? 2 : 1;
    }
    *ret = tc_path_absolute(dir, text);
    return *ret ? 0 : TOOLCAGE_EMEMORY;
}

static bool kernel_path(const char *path)
{
    return tc_path_within("/proc", path) || tc_path_within("/sys", path) ||
           (tc_path_within("/dev", path) && !tc_system_path_shm(path));
}

bool tc_path_grantable(const char *path, const char *from, enum tc_access access,
                       struct tc_complaint *c)
{
    bool same = tc_streq(path, from);
    if (tc_streq(path, "/") || tc_streq(from, "/")) {
        tc_complain(c, "name the directories that the tool needs",
                    "the whole file system cannot be granted");
    } else if (kernel_path(path)) {
        tc_complain(c, "the cage has its own /proc and a minimal /dev",
                    "\"%.100s\" cannot be granted", path);
    } else if (from && kernel_path(from)) {
        tc_complain(c, "grant a directory with files", "\"%.100s\" of the host cannot be granted",
                    from);
    } else if (tc_streq(path, "/tmp")) {
        tc_complain(c,
                    "use another name in the cage, as in { path = \"/shared\", from = \"/tmp\" }",
                    "/tmp is always private to the cage");
    } else if (tc_system_path_below(path)) {
        tc_complain(c, "name the single files or directories below it",
                    "\"%.100s\" contains system paths of the cage", path);
    } else if (tc_system_path_find(path) && (access == TC_ACCESS_WRITE || !same)) {
        tc_complain(c, "use another name in the cage, as in { path = \"/data\", from = \"...\" }",
                    "\"%.100s\" is a system path of the cage: readable, never writable", path);
    } else {
        return true;
    }
    return false;
}

char *tc_path_move(const char *dir, const char *to, const char *path)
{
    const char *rest = tc_streq(dir, "/") ? path + 1 : path + strlen(dir);
    rest += *rest == '/';
    return *rest ? tc_path_join(to, rest) : strdup(to);
}
