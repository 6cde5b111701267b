/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/call/replace.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

static const char name_others[] = "name a directory that you can write: --output-dir DIR";

/* ---- before the call ---- */

/* Can the result contain files? A call that cannot be explained is refused at its start. */
static bool collects(struct toolcage_call *call)
{
    char *json = NULL;
    if (toolcage_call_explain_json(call, NULL, &json, NULL))
        return true;
    struct tc_scan_each each = tc_scan_walk(tc_json_get(tc_json_of(json), "collect"));
    bool any = tc_scan_next(&each);
    toolcage_free(json);
    return any;
}

int tc_outdir_open(const struct tc_args *args, const struct tc_setup *setup, struct tc_outdir *ret,
                   struct tc_failure *failure)
{
    *ret = (struct tc_outdir){.name = tc_args_value(args, "output-dir"), .fd = -1};
    if (!ret->name)
        return 0;
    if (!collects(setup->call))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                              "name files with --collect PATTERN, or collect = [...] in the policy",
                              "--output-dir needs collect");
    if (mkdir(ret->name, 0777) && errno != EEXIST)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, name_others, "cannot make %s: %s",
                              ret->name, strerror(errno));
    ret->fd = tc_replace_directory(ret->name);
    if (ret->fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, name_others,
                              "cannot write below %s: it is a link, or not a directory", ret->name);
    if (ret->fd < 0 || faccessat(ret->fd, ".", W_OK | X_OK, AT_EACCESS))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, name_others, "cannot write below %s: %s",
                              ret->name, strerror(errno));
    return 0;
}

void tc_outdir_close(struct tc_outdir *dir)
{
    if (dir->name && dir->fd >= 0)
        (void)close(dir->fd);
    *dir = (struct tc_outdir){.fd = -1};
}

/* ---- one file ---- */

/* Does the path stay below its start? An empty or truncated path does not. */
static bool stays_below(const char *path, size_t length)
{
    if (strlen(path) != length)
        return false;
    for (const char *at = path;; at++) {
        const char *end = strchrnul(at, '/');
        size_t n = (size_t)(end - at);
        if (!n || n > NAME_MAX || (n <= 2 && !strncmp(at, "..", n)))
            return false;
        if (!*end)
            return true;
        at = end;
    }
}

/* Opens the directory `name` and creates it if it is missing; -1 if it is a link or not a
 * directory. */
static int enter_directory(int at, const char *name)
{
    if (mkdirat(at, name, 0777) && errno != EEXIST)
        return -1;
    return openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Opens the directory that contains `path` below `root`; *ret_name is the last component. */
static int open_parent(int root, const char *path, const char **ret_name)
{
    int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (const char *end; at >= 0 && (end = strchr(path, '/')); path = end + 1) {
        char name[NAME_MAX + 1];
        size_t n = (size_t)(end - path);
        memcpy(name, path, n);
        name[n] = '\0';
        int next = enter_directory(at, name), saved = errno;
        (void)close(at);
        errno = saved;
        at = next;
    }
    *ret_name = path;
    return at;
}

/* ---- the result's files ---- */

static bool has_content(struct tc_slice row)
{
    return tc_scan_is_string(tc_json_get(row, "text")) ||
           tc_scan_is_string(tc_json_get(row, "base64"));
}

/* The reason why a file has no content. */
static const char *left_out(struct tc_slice row)
{
    if (tc_json_int(tc_json_get(row, "bytes"), 0) > 256 << 10)
        return "larger than 256 KiB";
    if (!tc_scan_is_string(tc_json_get(row, "sha256")))
        return "it could not be read";
    return "the files of one call have at most 1 MiB together";
}

/* 0, or -1 with errno. */
static int write_below(const struct tc_outdir *dir, const char *path, struct tc_slice row)
{
    size_t length = 0;
    const char *name;
    _autofree_ char *bytes = tc_json_decoded(row, "text", "base64", &length);
    if (!bytes)
        return -1;
    _autofd_ int at = open_parent(dir->fd, path, &name);
    return at < 0 ? -1 : tc_replace(at, name, bytes, length);
}

static const char *next_step(int errnum)
{
    switch (errnum) {
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
        return "a link or something else has that name there: remove it, or name an empty "
               "directory";
    case EINVAL: /* a cage has no file with such a name */
        return "reinstall toolcage";
    default:
        return "make room there, or name another directory";
    }
}

static int tell_failure(const struct tc_outdir *dir, const char *path)
{
    int errnum = errno;
    tc_cli_say("cannot write %s below %s: %s", path, dir->name, strerror(errnum));
    tc_cli_hint("%s", next_step(errnum));
    return TC_EXIT_FAILURE;
}

static bool steers(struct tc_slice row)
{
    return tc_json_true(tc_json_get(row, "steers_host"));
}

/* 0 or the exit code. */
static int write_row(const struct tc_outdir *dir, struct tc_slice row)
{
    size_t length = 0;
    _autofree_ char *path = tc_json_decoded(row, "path", "path_base64", &length);
    if (!path)
        return tell_failure(dir, "a file");
    if (!has_content(row)) {
        tc_cli_say("not written: %s (%s)", path, left_out(row));
        return 0;
    }
    if (steers(row)) {
        tc_cli_say("not written: %s (one of your programs would run or load it automatically)",
                   path);
        tc_cli_hint("review it in the result (--json), and copy it yourself if you want it");
        return 0;
    }
    bool rooted = path[0] == '/';
    if (!stays_below(path + rooted, length - rooted))
        return errno = EINVAL, tell_failure(dir, path);
    return write_below(dir, path + rooted, row) ? tell_failure(dir, path) : 0;
}

static bool ran(const struct toolcage_result *result)
{
    int32_t status = toolcage_result_status(result);
    return status != TOOLCAGE_STATUS_DENIED && status != TOOLCAGE_STATUS_ERROR;
}

int tc_outdir_write(const struct tc_outdir *dir, const struct toolcage_result *result)
{
    if (!dir->name)
        return 0;
    struct tc_slice json = tc_json_of(toolcage_result_json(result));
    struct tc_scan_each each = tc_scan_walk(tc_json_get(json, "files"));
    int64_t omitted = tc_json_int(tc_json_get(tc_json_get(json, "omitted"), "files"), 0);
    int rc = 0;
    bool any = false, held = false;
    while (!rc && tc_scan_next(&each)) {
        any = true;
        held = held || steers(each.value);
        rc = write_row(dir, each.value);
    }
    if (omitted > 0)
        tc_cli_say("not written: %" PRId64 " more files (out of memory)", omitted);
    else if (!any && ran(result))
        tc_cli_say("no changed file matches collect");
    return !rc && held ? TC_EXIT_FAILURE : rc;
}
