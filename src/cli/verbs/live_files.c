/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage session put`, `get`, `ls`, `stat` and `rm`: files of live sessions. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/call/replace.h"
#include "cli/live/files.h"
#include "cli/show/clean.h"
#include "cli/show/json.h"
#include "cli/show/say.h"

#define MOST_DEFAULT "16GiB"
#define OTHER_DIRECTORY "choose a directory to which no tool may write"

#define OPTION_TIMEOUT                                                               \
    {                                                                                \
        "timeout", 't', "TIME", "timeout", "end after this time: 500ms, 30s, 5m, 1h" \
    }
#define OPTION_TREE(what)                  \
    {                                      \
        "recursive", 'r', NULL, NULL, what \
    }

static const struct tc_option put_options[] = {
    OPTION_TREE("a directory with everything below it; PATH must not exist"),
    {"mode", 0, "MODE", NULL,
     "the file's permissions (default: LOCAL's; from standard input 0644)"},
    OPTION_TIMEOUT,
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const struct tc_option get_options[] = {
    OPTION_TREE("a directory with everything below it; LOCAL must not exist"),
    {"force", 0, NULL, NULL, "replace LOCAL"},
    {"max-size", 0, "SIZE", NULL, "maximum size (default: " MOST_DEFAULT ")"},
    OPTION_TIMEOUT,
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const struct tc_option list_options[] = {
    OPTION_TIMEOUT,
    {"json", 0, NULL, NULL, "a line of JSON for each name"},
    TC_OPTION_HELP,
    {0},
};

static const struct tc_option remove_options[] = {
    OPTION_TREE("also a directory with everything below it"),
    OPTION_TIMEOUT,
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

#define TEXT_OF_ALL                                                                             \
    "PATH is as the session's commands see it, and contains no link and no \"..\". The rights " \
    "are "                                                                                      \
    "those of a\n"                                                                              \
    "command.\n"

/* ---- the local file ---- */

struct local {
    bool standard; /* "-" */
    int dir;       /* that holds the file */
    char *name;    /* of the file in it */
    int fd;
    char temporary[TC_REPLACE_NAME]; /* "": none */
};

static void close_local(struct local *l)
{
    if (l->fd >= 0 && !l->standard)
        (void)close(l->fd);
    if (l->dir >= 0)
        (void)close(l->dir);
    free(l->name);
}

#define _autolocal_ __attribute__((cleanup(close_local)))

static int fail_local(struct tc_failure *failure, const char *path, int errnum)
{
    bool link = errnum == ELOOP || errnum == ENOTDIR;
    return tc_failure_set(failure, link ? TOOLCAGE_EUSAGE : TOOLCAGE_ESYSTEM,
                          link ? "give the path without links: a tool may have made them"
                               : "check the path and its permissions",
                          "%s: %s", path,
                          link ? "is below a link, or is one, or is not a directory"
                               : strerror(errnum));
}

static int open_parent(const char *path, struct local *l, struct tc_failure *failure)
{
    _autofree_ char *whole = strcmp(path, ".") ? strdup(path) : realpath(path, NULL);
    if (!whole)
        return fail_local(failure, path, errno);
    for (size_t n = strlen(whole); n > 1 && whole[n - 1] == '/'; n--)
        whole[n - 1] = '\0';
    char *slash = strrchr(whole, '/');
    l->name = strdup(slash ? slash + 1 : whole);
    if (!l->name)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (!l->name[0] || !strcmp(l->name, ".") || !strcmp(l->name, ".."))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "give the path with its last name",
                              "\"%s\" does not end with the name of a file", path);
    if (slash)
        slash[slash == whole] = '\0';
    l->dir = tc_replace_directory_strict(slash ? whole : ".");
    return l->dir < 0 ? fail_local(failure, path, errno) : 0;
}

static int open_source(const char *path, bool tree, struct local *l, mode_t *ret_mode,
                       struct tc_failure *failure)
{
    struct stat st;
    *ret_mode = 0644;
    l->standard = !strcmp(path, "-");
    if (l->standard && tree)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "put a file from standard input",
                              "a directory cannot come from standard input");
    if (l->standard)
        return l->fd = STDIN_FILENO, 0;
    if (open_parent(path, l, failure))
        return -1;
    if (fstatat(l->dir, l->name, &st, AT_SYMLINK_NOFOLLOW))
        return fail_local(failure, path, errno);
    if (S_ISLNK(st.st_mode))
        return fail_local(failure, path, ELOOP);
    if (tree ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                              S_ISDIR(st.st_mode) ? "put a directory with --recursive"
                                                  : "put files and directories",
                              "%s is not a %s", path, tree ? "directory" : "regular file");
    *ret_mode = st.st_mode & 0777;
    if (!tree)
        l->fd = openat(l->dir, l->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return tree || l->fd >= 0 ? 0 : fail_local(failure, path, errno);
}

static int open_target(const char *path, bool tree, bool force, struct local *l,
                       struct tc_failure *failure)
{
    struct stat st;
    l->standard = !strcmp(path, "-");
    if (tree && (l->standard || force))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "name a new directory",
                              l->standard ? "a directory cannot go to standard output"
                                          : "--force replaces a file, not a directory");
    if (l->standard && isatty(STDOUT_FILENO))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "name a file, or add a pipe: | less",
                              "a file of the session is not shown on a terminal as it is");
    if (l->standard)
        return l->fd = STDOUT_FILENO, 0;
    if (open_parent(path, l, failure))
        return -1;
    bool exists = !fstatat(l->dir, l->name, &st, AT_SYMLINK_NOFOLLOW);
    if (exists && (!force || S_ISDIR(st.st_mode)))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                              tree || S_ISDIR(st.st_mode) ? "name a new file or directory"
                                                          : "give --force to replace it",
                              "%s exists", path);
    if (tree)
        return tc_replace_name(l->temporary) ? fail_local(failure, path, errno) : 0;
    l->fd = tc_replace_begin(l->dir, 0600, l->temporary);
    return l->fd < 0 ? fail_local(failure, path, errno) : 0;
}

/* Another process that may write to the directory could have exchanged the temporary file. */
static bool is_received(const struct local *l)
{
    struct stat named, ours;
    return !fstatat(l->dir, l->name, &named, AT_SYMLINK_NOFOLLOW) && !fstat(l->fd, &ours) &&
           named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;
}

static int finish_target(const struct local *l, const char *path, bool tree, bool force,
                         const struct tc_file_action *a, struct tc_failure *failure)
{
    if (l->standard)
        return 0;
    if ((tree || !fchmod(l->fd, a->file.mode)) &&
        !renameat2(l->dir, l->temporary, l->dir, l->name, force ? 0 : RENAME_NOREPLACE))
        return tree || is_received(l) ? 0
                                      : tc_failure_set(failure, TOOLCAGE_ESYSTEM, OTHER_DIRECTORY,
                                                       "%s was replaced by another process", path);
    return errno == EEXIST
               ? tc_failure_set(failure, TOOLCAGE_EUSAGE, "name a new file, or give --force",
                                "%s was made by another process meanwhile", path)
               : fail_local(failure, path, errno);
}

/* The action may fail after its content is complete. A directory whose stream has ended is removed
 * by the library. */
static void drop_target(const struct local *l)
{
    if (l->temporary[0] && l->fd >= 0)
        (void)unlinkat(l->dir, l->temporary, 0);
    else if (l->temporary[0])
        (void)toolcage_stream_receive(-1, l->dir, l->temporary, 1, NULL, NULL);
}

/* ---- reports ---- */

/* An action that failed, or was refused. Returns the exit code. */
static int tell_action(const struct tc_file_action *a)
{
    size_t length = a->err ? strlen(a->err) : 0;
    while (length && a->err[length - 1] == '\n')
        length--;
    if (length)
        tc_cli_say("%.*s", (int)length, a->err);
    if (a->text && a->text[0])
        tc_cli_stderr(a->text);
    return a->code;
}

static int run_action(const struct tc_args *args, struct tc_file_action *a,
                      struct tc_failure *failure)
{
    a->name = args->operands[0];
    return tc_file_action_run(a, args, failure);
}

/* Its JSON, or nothing for a success. */
static int finish(const struct tc_args *args, const struct tc_file_action *a)
{
    if (!tc_args_has(args, "json"))
        return tell_action(a);
    return a->out_length && tc_cli_print(a->out, a->out_length) ? TC_EXIT_FAILURE : a->code;
}

/* ---- put ---- */

static int read_mode(const struct tc_args *args, mode_t *mode, struct tc_failure *failure)
{
    const char *text = tc_args_value(args, "mode");
    char *end = NULL;
    unsigned long value = text ? strtoul(text, &end, 8) : *mode;
    if (text && (!*text || *end || value > 0777))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "write --mode 0644 or --mode 0755",
                              "--mode %s is not a mode from 0 to 0777", text);
    *mode = (mode_t)value;
    return 0;
}

static int run_put(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autolocal_ struct local local = {.dir = -1, .fd = -1};
    bool tree = tc_args_has(args, "recursive");
    char text[16];
    mode_t mode;
    if (open_source(args->operands[1], tree, &local, &mode, &failure) ||
        read_mode(args, &mode, &failure))
        return tc_failure_tell(&failure, args, NULL);
    (void)snprintf(text, sizeof(text), "%o", (unsigned)mode);
    struct tc_file_action a __attribute__((cleanup(tc_file_action_done))) = {
        .words = {"put", args->operands[2], text, tree ? "r" : ""},
        .fd = tree ? local.dir : local.fd,
        .entry = tree ? local.name : NULL};
    if (run_action(args, &a, &failure))
        return tc_failure_tell(&failure, args, NULL);
    return finish(args, &a);
}

/* ---- get ---- */

static int read_size(const struct tc_args *args, long long *ret, struct tc_failure *failure)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    const char *text = tc_args_value(args, "max-size");
    char *end = NULL;
    text = text ? text : MOST_DEFAULT;
    long long n = text[0] >= '1' && text[0] <= '9' ? strtoll(text, &end, 10) : 0;
    for (size_t i = 0; n > 0 && n <= 1 << 20 && i < TC_COUNT(units); i++)
        if (!strcmp(end, units[i])) {
            *ret = n << (10 * i);
            return 0;
        }
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "write --max-size 512MiB or --max-size 64GiB",
                          "--max-size %s is not a size", text);
}

static int get(const struct tc_args *args, struct local *local, struct tc_file_action *a,
               struct tc_failure *failure)
{
    bool tree = tc_args_has(args, "recursive"), force = tc_args_has(args, "force");
    int rc = run_action(args, a, failure);
    if (!rc && !a->code)
        rc = finish_target(local, args->operands[2], tree, force, a, failure);
    if (rc || a->code) {
        drop_target(local);
        return rc;
    }
    if (a->file.left_out)
        tc_cli_say("%" PRId64 " links that lead out of the directory were left out",
                   a->file.left_out);
    return 0;
}

static int run_get(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autolocal_ struct local local = {.dir = -1, .fd = -1};
    bool tree = tc_args_has(args, "recursive");
    char text[32];
    struct tc_file_action a __attribute__((cleanup(tc_file_action_done))) = {
        .words = {"get", args->operands[1], text, tree ? "r" : ""}, .receives = true};
    if (read_size(args, &a.most, &failure) ||
        open_target(args->operands[2], tree, tc_args_has(args, "force"), &local, &failure))
        return tc_failure_tell(&failure, args, NULL);
    (void)snprintf(text, sizeof(text), "%lld", a.most);
    a.fd = tree ? local.dir : local.fd;
    a.entry = tree ? local.temporary : NULL;
    if (get(args, &local, &a, &failure))
        return tc_failure_tell(&failure, args, NULL);
    /* the content has standard output */
    return local.standard ? tell_action(&a) : finish(args, &a);
}

/* ---- ls, stat ---- */

static void put_entry(FILE *out, struct tc_slice row)
{
    _autofree_ char *name = tc_json_name(row, "name", "name_base64");
    _autofree_ char *target = tc_json_name(row, "target", "target_base64");
    _autofree_ char *type = tc_json_text(tc_json_get(row, "type"));
    _autofree_ char *mode = tc_json_text(tc_json_get(row, "mode"));
    time_t modified = (time_t)tc_json_int(tc_json_get(row, "modified"), 0);
    char when[32] = "";
    struct tm tm = {0};
    if (localtime_r(&modified, &tm))
        (void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
    (void)fprintf(out, "%-9s  %s  %12" PRId64 "  %s  %s", type ? type : "?", mode ? mode : "?",
                  tc_json_int(tc_json_get(row, "bytes"), 0), when, name ? name : "?");
    if (target)
        (void)fprintf(out, " -> %s", target);
    (void)fputc('\n', out);
}

/* For a terminal, hostile characters are escaped as JSON does. */
static int print_json(const char *bytes, size_t length)
{
    size_t size = length;
    _autofree_ char *clean =
        isatty(STDOUT_FILENO) ? tc_clean(TC_CLEAN_JSON, bytes, length, &size) : NULL;
    return tc_cli_print(clean ? clean : bytes, size);
}

/* Lines of JSON, as they are or as a table. */
static int print_entries(const struct tc_args *args, const char *bytes, size_t length)
{
    char *text = NULL;
    size_t size;
    if (tc_args_has(args, "json"))
        return print_json(bytes, length);
    FILE *out = open_memstream(&text, &size);
    for (const char *at = bytes, *end; out && length; length -= (size_t)(end - at), at = end) {
        end = memchr(at, '\n', length);
        end = end ? end + 1 : at + length;
        _autofree_ char *line = strndup(at, (size_t)(end - at));
        if (line)
            put_entry(out, tc_json_of(line));
    }
    return tc_cli_print_text(TC_PAINT_NOTHING, out, &text);
}

static int print_list(const struct tc_args *args, int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    if (size <= 0)
        return 0;
    char *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return tc_cli_no_memory();
    int rc = print_entries(args, bytes, (size_t)size);
    (void)munmap(bytes, (size_t)size);
    return rc;
}

static int run_list(const struct tc_args *args)
{
    enum { LIST_MAX = 64 << 20 };
    _autofailure_ struct tc_failure failure = {0};
    _autofd_ int fd = memfd_create("list", MFD_CLOEXEC);
    struct tc_file_action a
        __attribute__((cleanup(tc_file_action_done))) = {.words = {"list", args->operands[1]},
                                                         .plain = true,
                                                         .receives = true,
                                                         .fd = fd,
                                                         .most = LIST_MAX};
    if (fd < 0)
        return tc_cli_no_memory();
    if (run_action(args, &a, &failure))
        return tc_failure_tell(&failure, args, NULL);
    if (a.code)
        return tell_action(&a);
    int rc = print_list(args, fd);
    if (a.out && strstr(a.out, "\"complete\":false"))
        tc_cli_say("%s has more names; these are 10,000 of them", args->operands[1]);
    return rc;
}

static int run_stat(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct tc_file_action a __attribute__((cleanup(tc_file_action_done))) = {
        .words = {"stat", args->operands[1]}, .plain = true};
    if (run_action(args, &a, &failure))
        return tc_failure_tell(&failure, args, NULL);
    return a.code ? tell_action(&a) : print_entries(args, a.out, a.out_length);
}

/* ---- rm ---- */

static int run_remove(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct tc_file_action a __attribute__((cleanup(tc_file_action_done))) = {
        .words = {"remove", args->operands[1], "", tc_args_has(args, "recursive") ? "r" : ""}};
    if (run_action(args, &a, &failure))
        return tc_failure_tell(&failure, args, NULL);
    return finish(args, &a);
}

/* ---- the verbs ---- */

const struct tc_verb tc_verb_session_put = {
    .name = "session put",
    .operands = "[options] NAME LOCAL PATH",
    .summary = "write a file into a live session",
    .text = TEXT_OF_ALL
    "LOCAL - is standard input. A file appears at PATH when it is complete, and replaces a regular "
    "file\n"
    "there. A path of LOCAL that a tool could have made a link is refused.\n"
    "\n"
    "examples:\n"
    "  toolcage session put work data.csv /tmp/data.csv\n"
    "  toolcage session put -r --timeout 10m work ./model /tmp/model\n",
    .options = put_options,
    .minor = true,
    .least = 3,
    .most = 3,
    .run = run_put,
};

const struct tc_verb tc_verb_session_get = {
    .name = "session get",
    .operands = "[options] NAME PATH LOCAL",
    .summary = "read a file out of a live session",
    .text = TEXT_OF_ALL
    "LOCAL - is standard output. LOCAL appears when it is complete: size and SHA-256 are compared. "
    "A file\n"
    "that changes meanwhile is an error. Links in a directory are copied if they stay in it.\n"
    "\n"
    "examples:\n"
    "  toolcage session get work /tmp/result.bin result.bin\n"
    "  toolcage session get work /tmp/log - | less\n"
    "  toolcage session get -r work /tmp/site ./site\n",
    .options = get_options,
    .minor = true,
    .least = 3,
    .most = 3,
    .run = run_get,
};

const struct tc_verb tc_verb_session_ls = {
    .name = "session ls",
    .operands = "[options] NAME PATH",
    .summary = "list a directory in a live session",
    .text = TEXT_OF_ALL "It prints at most 10,000 names.\n"
                        "\n"
                        "examples:\n"
                        "  toolcage session ls work /tmp\n",
    .options = list_options,
    .minor = true,
    .least = 2,
    .most = 2,
    .run = run_list,
};

const struct tc_verb tc_verb_session_stat = {
    .name = "session stat",
    .operands = "[options] NAME PATH",
    .summary = "show type, mode, size and time of a file in a live session",
    .text = TEXT_OF_ALL "\n"
                        "examples:\n"
                        "  toolcage session stat work /tmp/result.bin\n",
    .options = list_options,
    .minor = true,
    .least = 2,
    .most = 2,
    .run = run_stat,
};

const struct tc_verb tc_verb_session_rm = {
    .name = "session rm",
    .operands = "[options] NAME PATH",
    .summary = "remove a file in a live session",
    .text = TEXT_OF_ALL "\n"
                        "examples:\n"
                        "  toolcage session rm work /tmp/result.bin\n"
                        "  toolcage session rm -r work /tmp/site\n",
    .options = remove_options,
    .minor = true,
    .least = 2,
    .most = 2,
    .run = run_remove,
};
