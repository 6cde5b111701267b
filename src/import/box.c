/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Converts the tables `filesystem` and `network`, which sandbox-runtime and Visual Studio Code
 * share. These settings allow every read that they do not deny; a policy denies every read that it
 * does not grant. */
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "import/state.h"
#include "policy/endpoint.h"
#include "policy/pathrule.h"

/* LIST_MAX: the limit of one list, as in a policy. ENTRIES_MAX: the limit of all lists of the file;
 * a sandbox that several MCP servers share counts once for each. */
enum { LIST_MAX = 1024, ENTRIES_MAX = 8192 };

enum { READ, WRITE, DENY_READ, DENY_WRITE, LISTS };
static const char *const names[LISTS] = {"allowRead", "allowWrite", "denyRead", "denyWrite"};

struct paths {
    struct tc_strv text, whole; /* as written; as absolute paths */
};

/* Cuts the path after the last directory before its pattern. False: no pattern. A final slash and
 * two asterisks are none: they mean the directory. */
static bool cut_pattern(char *path)
{
    size_t n = strlen(path);
    if (n > 3 && !strcmp(path + n - 3, "/**"))
        path[n - 3] = '\0';
    char *glob = strpbrk(path, "*?[");
    if (!glob)
        return false;
    while (glob > path && glob[-1] != '/')
        glob--;
    *glob = '\0';
    return true;
}

static char *known_start(const char *text)
{
    static const char workspace[] = "${workspaceFolder}", home[] = "${userHome}";
    if (tc_startswith(text, workspace))
        return tc_format("/workspace%s", text + strlen(workspace));
    if (tc_startswith(text, home))
        return tc_format("~%s", text + strlen(home));
    return strdup(text);
}

/* A denied pattern becomes its whole directory; an allowed one is left out. */
static void add_path(struct tc_settings_import *im, const char *place, int list, const char *said,
                     struct paths *to)
{
    struct tc_complaint c;
    _autofree_ char *text = known_start(said), *whole = NULL;
    bool pattern = text && cut_pattern(text), denies = list == DENY_READ || list == DENY_WRITE;
    if (!text) {
        im->rc = TOOLCAGE_EMEMORY;
        return;
    }
    if (pattern)
        tc_import_leave(im, "%sfilesystem.%s %.200s: a pattern%s", place, names[list], said,
                        denies ? "; its whole directory is used instead" : "");
    if (pattern && !denies)
        return;
    const char *path = text[0] ? text : said[0] == '/' ? "/" : ".";
    int rc =
        strstr(path, "${") ? TOOLCAGE_EPOLICY : tc_path_expand(path, im->cwd, im->home, &whole, &c);
    if (rc == TOOLCAGE_EMEMORY)
        im->rc = TOOLCAGE_EMEMORY;
    else if (rc && denies) /* without this entry the policy would grant more than the settings */
        tc_import_refuse(im, names[list], "has a path that cannot be parsed");
    else if (rc)
        tc_import_leave(im, "%sfilesystem.%s %.200s: not a path that a policy can name", place,
                        names[list], said);
    else if (!tc_strv_add(&to->text, path) || !tc_strv_add(&to->whole, whole))
        im->rc = TOOLCAGE_EMEMORY;
}

/* A call may show the current directory as /workspace, so a path that is denied under one of the
 * two names is denied under the other, too. */
static void add_twin(struct tc_settings_import *im, struct paths *to)
{
    const char *cwd = im->cwd;
    const char *whole = to->whole.count ? to->whole.items[to->whole.count - 1] : NULL;
    bool inside = whole && tc_path_within(TC_WORKSPACE, whole);
    if (!whole || tc_streq(cwd, "/") || (!inside && !tc_path_within(cwd, whole)))
        return;
    _autofree_ char *twin =
        tc_format("%s%s", inside ? cwd : TC_WORKSPACE, whole + strlen(inside ? TC_WORKSPACE : cwd));
    if (!twin || !tc_strv_add(&to->text, twin) || !tc_strv_add(&to->whole, twin))
        im->rc = TOOLCAGE_EMEMORY;
}

static const json_t *list_of(struct tc_settings_import *im, const json_t *table, const char *name)
{
    const json_t *list = json_object_get(table, name);
    bool fine = !list || json_is_array(list);
    im->entries += json_array_size(list);
    for (size_t i = 0; fine && i < json_array_size(list); i++)
        fine = json_is_string(json_array_get(list, i));
    if (!fine)
        tc_import_refuse(im, name, "must be an array of strings");
    else if (json_array_size(list) > LIST_MAX)
        tc_import_refuse(im, name, "has more than 1024 entries");
    else if (im->entries > ENTRIES_MAX)
        tc_import_refuse(im, "the file", "has more than 8192 paths and hosts");
    else
        return list;
    return NULL;
}

/* Is the path equal to or below one of these? With `below`: is one of these strictly below the
 * path? */
static bool within(const struct paths *paths, const char *path, bool below)
{
    for (size_t i = 0; i < paths->whole.count; i++) {
        const char *one = paths->whole.items[i];
        if (below ? tc_path_within(path, one) && strcmp(path, one) != 0 : tc_path_within(one, path))
            return true;
    }
    return false;
}

/* The length of the longest of these paths that contains `path`; 0: none. */
static size_t deepest(const struct paths *paths, const char *path)
{
    size_t most = 0;
    for (size_t i = 0; i < paths->whole.count; i++) {
        size_t length = strlen(paths->whole.items[i]);
        if (length > most && tc_path_within(paths->whole.items[i], path))
            most = length;
    }
    return most;
}

/* Readable in the settings: not denied, or allowed again at or below the denied directory. */
static bool readable(const struct paths *lists, const char *path)
{
    size_t denied = deepest(&lists[DENY_READ], path);
    return !denied || deepest(&lists[READ], path) >= denied;
}

static void put_entry(struct tc_settings_import *im, const char *text, size_t *count)
{
    tc_buf_adds(&im->body, (*count)++ ? ", " : "");
    tc_import_text(im, text);
}

static bool may_grant(struct tc_settings_import *im, const char *place, int list,
                      const struct paths *lists, size_t i)
{
    struct tc_complaint c;
    const char *whole = lists[list].whole.items[i], *text = lists[list].text.items[i];
    const char *from = tc_path_within(TC_WORKSPACE, whole) ? NULL : whole;
    if (!readable(lists, whole))
        tc_import_leave(im, "%sfilesystem.%s %.200s: denyRead covers it", place, names[list], text);
    else if (!tc_path_grantable(whole, from, list == WRITE ? TC_ACCESS_WRITE : TC_ACCESS_READ, &c))
        tc_import_leave(im, "%sfilesystem.%s %.200s: %s", place, names[list], text, c.what);
    else
        return true;
    return false;
}

/* Only denied paths inside a granted one are written: the policy denies the rest anyway. */
static void put_denied(struct tc_settings_import *im, const char *place, const struct paths *lists)
{
    size_t n = 0;
    for (size_t i = 0; i < lists[DENY_READ].whole.count; i++) {
        const char *denied = lists[DENY_READ].whole.items[i];
        bool granted = within(&lists[READ], denied, false) || within(&lists[WRITE], denied, false);
        if (!granted || tc_strv_has(&lists[READ].whole, denied))
            continue;
        if (within(&lists[READ], denied, true))
            tc_import_leave(im, "%sfilesystem.allowRead below %.200s: filesystem.denied covers it",
                            place, lists[DENY_READ].text.items[i]);
        tc_buf_adds(&im->body, n ? "" : "filesystem.denied = [");
        put_entry(im, lists[DENY_READ].text.items[i], &n);
    }
    tc_buf_adds(&im->body, n ? "]\n" : "");
}

static void put_files(struct tc_settings_import *im, const char *place, const struct paths *lists)
{
    size_t n = 0;
    tc_buf_adds(&im->body, "filesystem.writable = [");
    for (size_t i = 0; i < lists[WRITE].whole.count; i++)
        if (within(&lists[DENY_WRITE], lists[WRITE].whole.items[i], false))
            tc_import_leave(im, "%sfilesystem.allowWrite %.200s: denyWrite covers it", place,
                            lists[WRITE].text.items[i]);
        else if (may_grant(im, place, WRITE, lists, i))
            put_entry(im, lists[WRITE].text.items[i], &n);
    tc_buf_adds(&im->body,
                "]\n"
                "# These are read-only, also below a writable path; they must exist at the start.\n"
                "filesystem.readable = [");
    for (size_t i = n = 0; i < lists[READ].whole.count; i++)
        if (may_grant(im, place, READ, lists, i))
            put_entry(im, lists[READ].text.items[i], &n);
    for (size_t i = 0; i < lists[DENY_WRITE].whole.count; i++)
        if (within(&lists[WRITE], lists[DENY_WRITE].whole.items[i], false) &&
            may_grant(im, place, DENY_WRITE, lists, i))
            put_entry(im, lists[DENY_WRITE].text.items[i], &n);
    tc_buf_adds(&im->body, "]\n");
    put_denied(im, place, lists);
}

static void import_files(struct tc_settings_import *im, const char *place, const json_t *files)
{
    static const char *const known[] = {"allowRead", "allowWrite", "denyRead", "denyWrite", NULL};
    struct paths lists[LISTS] = {0};
    if (files && !json_is_object(files))
        tc_import_refuse(im, "filesystem", "must be an object");
    tc_import_leave_others(im, place, "filesystem.", files, known);
    for (int l = 0; l < LISTS; l++) {
        const json_t *list = list_of(im, files, names[l]);
        for (size_t i = 0; !im->rc && i < json_array_size(list); i++) {
            add_path(im, place, l, json_string_value(json_array_get(list, i)), &lists[l]);
            if (l >= DENY_READ && !im->rc)
                add_twin(im, &lists[l]);
        }
    }
    if (!im->rc)
        tc_import_leave(im,
                        "%sfilesystem: the settings allow reading everything except denyRead; the "
                        "policy allows only filesystem.readable and writable",
                        place);
    if (!im->rc)
        put_files(im, place, lists);
    for (int l = 0; l < LISTS; l++) {
        tc_strv_done(&lists[l].text);
        tc_strv_done(&lists[l].whole);
    }
}

/* ---- network ---- */

/* A rule's port is ignored: the host is denied at every port. */
static bool denied(const json_t *list, const char *host)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *rule = json_string_value(json_array_get(list, i));
        size_t n = rule[0] == '[' ? strcspn(rule, "]") + 1 : strcspn(rule, ":");
        const char *name = rule[0] == '[' ? rule + 1 : rule;
        size_t length = rule[0] == '[' ? n - 2 : n;
        size_t whole = strlen(host);
        if (length == 1 && *name == '*')
            return true;
        if (length > 1 && name[0] == '*' && whole > length - 1 &&
            !strncasecmp(host + whole - (length - 1), name + 1, length - 1))
            return true;
        if (length == whole && !strncasecmp(name, host, length))
            return true;
    }
    return false;
}

static void add_host(struct tc_settings_import *im, const char *place, const char *said,
                     const json_t *no, size_t *count)
{
    struct tc_complaint c;
    struct tc_net_entry entry = {0};
    int rc = tc_endpoint_read(said, &entry, &c);
    if (rc == TOOLCAGE_EMEMORY) {
        im->rc = TOOLCAGE_EMEMORY;
        return;
    }
    if (rc || tc_startswith(said, "allowlist:") || tc_host_is_pattern(entry.host))
        tc_import_leave(im, "%snetwork.allowedDomains %.200s: %s", place, said,
                        rc ? c.what
                        : tc_host_is_pattern(entry.host)
                            ? "a pattern; in a policy \"*.\" is one label, so name each host"
                            : "not the name of a host");
    else if (denied(no, entry.host))
        tc_import_leave(im, "%snetwork.allowedDomains %.200s: deniedDomains covers it", place,
                        said);
    else {
        _autofree_ char *text = tc_endpoint_write(entry.host, entry.port);
        if (!strrchr(said, ':') || tc_endswith(said, "]"))
            tc_import_leave(
                im,
                "%snetwork.allowedDomains %.200s: every port in the settings, 443 in the policy",
                place, said);
        if (text)
            put_entry(im, text, count);
        else
            im->rc = TOOLCAGE_EMEMORY;
    }
    tc_net_entry_done(&entry);
}

/* A socket grants everything that its server does, so a person must decide it. */
static void leave_sockets(struct tc_settings_import *im, const char *place, const json_t *list)
{
    for (size_t i = 0; !im->rc && i < json_array_size(list); i++)
        tc_import_leave(im,
                        "%snetwork.allowUnixSockets %.200s: name it in unix_sockets, if it is "
                        "needed",
                        place, json_string_value(json_array_get(list, i)));
}

static void import_network(struct tc_settings_import *im, const char *place, const json_t *network)
{
    static const char *const known[] = {"allowedDomains", "deniedDomains", "allowUnixSockets",
                                        "strictAllowlist", NULL};
    size_t n = 0;
    if (network && !json_is_object(network))
        tc_import_refuse(im, "network", "must be an object");
    tc_import_leave_others(im, place, "network.", network, known);
    const json_t *yes = list_of(im, network, "allowedDomains"),
                 *no = list_of(im, network, "deniedDomains");
    leave_sockets(im, place, list_of(im, network, "allowUnixSockets"));
    tc_buf_adds(&im->body, "network = [");
    for (size_t i = 0; !im->rc && i < json_array_size(yes); i++)
        add_host(im, place, json_string_value(json_array_get(yes, i)), no, &n);
    tc_buf_adds(&im->body, "]\n");
}

void tc_import_box(struct tc_settings_import *im, const char *place, const json_t *files,
                   const json_t *network)
{
    import_files(im, place, files);
    if (!im->rc)
        import_network(im, place, network);
}
