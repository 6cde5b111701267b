/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/adopt/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "cli/call/replace.h"
#include "cli/show/io.h"
#include "cli/show/say.h"

enum { RECORDS_MAX = 10000, MADE_MAX = 4096 };

static int fail(struct tc_failure *failure, const char *what, const char *path)
{
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "make it a directory that you can write",
                          "cannot %s %s: %s", what, path ? path : "a file", strerror(errno));
}

static char *directory_of_records(void)
{
    return tc_user_path("XDG_STATE_HOME", ".local/state", "adopt");
}

/* As root in the home of another user, files and directories would be root's, and the records of
 * that user would choose what root overwrites. */
static int check_owner(const char *path, struct tc_failure *failure)
{
    _autofree_ char *at = strdup(path);
    struct stat st;
    int rc = at ? stat(at, &st) : -1;
    for (char *slash; rc && at && errno == ENOENT && (slash = strrchr(at, '/')) && slash > at;) {
        *slash = '\0';
        rc = stat(at, &st);
    }
    if (!rc && st.st_uid == geteuid())
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EPATH,
                          "run toolcage adopt as its owner, or set HOME to your own",
                          "%s belongs to another user, or cannot be read", at ? at : path);
}

static int check_owners(struct tc_failure *failure)
{
    const char *home = secure_getenv("HOME");
    _autofree_ char *records = directory_of_records();
    _autofree_ char *policies = tc_user_path("XDG_CONFIG_HOME", ".config", "servers");
    if (!records || !policies)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "set HOME to an absolute path",
                              "there is no home directory for the backups");
    return (home && check_owner(home, failure)) || check_owner(records, failure) ||
                   check_owner(policies, failure)
               ? -1
               : 0;
}

/* What a crash has left of secrets and policies. */
static void sweep_all(void)
{
    static const char *const names[] = {"servers", "secrets"};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        _autofree_ char *path = tc_user_path("XDG_CONFIG_HOME", ".config", names[i]);
        if (path)
            tc_adopt_sweep_directory(path);
    }
}

int tc_adopt_lock(struct tc_failure *failure)
{
    _autofree_ char *directory = directory_of_records();
    if (check_owners(failure))
        return -1;
    if (!directory || tc_record_directory(directory))
        return fail(failure, "create", directory);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB)) {
        sweep_all();
        return fd;
    }
    (void)(errno == EWOULDBLOCK
               ? tc_failure_set(failure, TOOLCAGE_ESYSTEM, "wait until it has ended",
                                "another toolcage adopt is running")
               : fail(failure, "lock", directory));
    tc_cli_close(&fd);
    return -1;
}

/* ---- writing ---- */

/* A new directory with the next number; owned. */
static char *new_record(struct tc_failure *failure)
{
    _autofree_ char *base = directory_of_records();
    for (int i = 1; base && i < RECORDS_MAX; i++) {
        char *path = tc_cli_format("%s/%04d", base, i);
        if (path && !mkdir(path, 0700))
            return path;
        int saved = path ? errno : ENOMEM;
        free(path);
        errno = saved;
        if (saved != EEXIST)
            break;
    }
    (void)fail(failure, "create a backup in", base);
    return NULL;
}

static int put(const char *directory, const char *name, const char *text, size_t length,
               struct tc_failure *failure)
{
    _autofree_ char *path = tc_cli_format("%s/%s", directory, name);
    return path && !tc_record_write(path, text, length) ? 0 : fail(failure, "write", path);
}

/* Files that a record lists in "made", with copies in "made-0" and so on. */
struct made {
    const char *record;
    char *list;
    size_t size, count;
    FILE *out;
};

/* The copy and the list are written first, so that an undo finds every file. */
static int make(struct made *made, const char *path, const char *text, struct tc_failure *failure)
{
    char name[32];
    struct stat st;
    (void)snprintf(name, sizeof(name), "made-%zu", made->count++);
    if (!lstat(path, &st)) {
        errno = EEXIST;
        return fail(failure, "write", path);
    }
    (void)fprintf(made->out, "%s\n", path);
    if (fflush(made->out))
        return fail(failure, "write", path);
    if (put(made->record, name, text, strlen(text), failure) ||
        put(made->record, "made", made->list, made->size, failure))
        return -1;
    return tc_record_write(path, text, strlen(text)) ? fail(failure, "write", path) : 0;
}

static int make_all(struct made *made, const struct tc_adopt_target *target,
                    struct tc_failure *failure)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < target->job_count; i++) {
        const struct tc_adopt_job *job = &target->jobs[i];
        for (size_t k = 0; !rc && job->adopted && k < job->plan.secret_count; k++)
            rc = make(made, job->plan.secrets[k].file, job->secrets[k], failure);
        if (!rc && job->adopted)
            rc = make(made, job->policy, job->plan.policy, failure);
    }
    return rc;
}

static int write_record(const struct tc_adopt_target *target, const char *record,
                        struct tc_failure *failure)
{
    struct made made = {.record = record};
    const struct tc_adopt_file *file = &target->file;
    if (put(record, "file", file->path, strlen(file->path), failure) ||
        put(record, "before", file->text, file->length, failure) ||
        put(record, "after", target->text, target->length, failure))
        return -1;
    made.out = open_memstream(&made.list, &made.size);
    if (!made.out)
        return fail(failure, "write", record);
    int rc = make_all(&made, target, failure);
    (void)fclose(made.out);
    free(made.list);
    _autofree_ char *note = rc ? NULL : tc_adopt_record_note(record);
    if (!rc && !note)
        return fail(failure, "write", record);
    return rc ? rc : tc_adopt_replace(file, target->text, target->length, note, failure);
}

int tc_adopt_write(const struct tc_adopt_run *run, const struct tc_adopt_target *target,
                   char **ret_backup, struct tc_failure *failure)
{
    if (tc_record_directory(run->policies))
        return fail(failure, "create", run->policies);
    if (tc_record_directory(run->secrets) || chmod(run->secrets, 0700))
        return fail(failure, "create", run->secrets);
    char *record = new_record(failure);
    if (!record)
        return -1;
    if (write_record(target, record, failure)) {
        const struct tc_adopt_record all = {.directory = record};
        tc_adopt_record_remove(&all);
        free(record);
        return -1;
    }
    *ret_backup = record;
    return 0;
}

/* ---- reading ---- */

static int order_newest(const void *a, const void *b)
{
    return strcmp(*(char *const *)b, *(char *const *)a);
}

static bool is_record(const char *name)
{
    return strlen(name) == 4 && strspn(name, "0123456789") == 4;
}

char **tc_adopt_records(struct tc_failure *failure)
{
    _autofree_ char *base = directory_of_records();
    char **paths = calloc(RECORDS_MAX + 1, sizeof(*paths));
    DIR *directory = base ? opendir(base) : NULL;
    size_t count = 0;
    for (struct dirent *e; paths && directory && count < RECORDS_MAX && (e = readdir(directory));)
        if (is_record(e->d_name) && (paths[count] = tc_cli_format("%s/%s", base, e->d_name)))
            count++;
    if (directory)
        (void)closedir(directory);
    if (!paths)
        (void)tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    else if (count)
        qsort(paths, count, sizeof(*paths), order_newest);
    return paths;
}

static char *get(const char *directory, const char *name, size_t *ret_length)
{
    _autofree_ char *path = tc_cli_format("%s/%s", directory, name);
    return path ? tc_cli_read_input(path, TC_ADOPT_BYTES_MAX * (size_t)2, ret_length) : NULL;
}

char *tc_adopt_record_note(const char *directory)
{
    return tc_cli_format("%s/temporary", directory);
}

static bool is_missing(const char *directory, const char *name)
{
    struct stat st;
    _autofree_ char *path = tc_cli_format("%s/%s", directory, name);
    return path && lstat(path, &st) && errno == ENOENT;
}

int tc_adopt_record_read(const char *directory, struct tc_adopt_record *ret,
                         struct tc_failure *failure)
{
    size_t length;
    *ret = (struct tc_adopt_record){.directory = strdup(directory)};
    if (ret->directory && is_missing(directory, "after")) {
        ret->unfinished = true;
        return 0;
    }
    ret->path = get(directory, "file", &length);
    ret->temporary = get(directory, "temporary", &length);
    ret->before = ret->path ? get(directory, "before", &ret->before_length) : NULL;
    ret->after = ret->before ? get(directory, "after", &ret->after_length) : NULL;
    if (ret->directory && ret->after && ret->path[0] == '/')
        return 0;
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "remove it if it is of no use",
                          "the backup %s cannot be read", directory);
}

void tc_adopt_record_done(struct tc_adopt_record *record)
{
    if (record->before)
        explicit_bzero(record->before, record->before_length);
    free(record->directory);
    free(record->path);
    free(record->temporary);
    free(record->before);
    free(record->after);
    *record = (struct tc_adopt_record){0};
}

static void remove_made(const char *record, const char *path, size_t number)
{
    char name[32];
    size_t length, now_length;
    (void)snprintf(name, sizeof(name), "made-%zu", number);
    _autofree_ char *copy = get(record, name, &length);
    _autofree_ char *now = copy ? tc_cli_read_input(path, TC_ADOPT_BYTES_MAX, &now_length) : NULL;
    if (now && now_length == length && !memcmp(copy, now, length))
        (void)unlink(path);
    else if (now)
        tc_cli_say("%s was changed since, and stays", path);
}

static void remove_in(const char *directory, const char *name)
{
    _autofree_ char *path = tc_cli_format("%s/%s", directory, name);
    if (path)
        (void)unlink(path);
}

/* The last copy may not be in the list yet. Without "after" a record is unfinished: it is removed
 * once the files that were made are gone, and before their copies. */
void tc_adopt_record_remove(const struct tc_adopt_record *record)
{
    const char *directory = record->directory;
    size_t length, count = 0;
    _autofree_ char *list = record->unfinished ? NULL : get(directory, "made", &length);
    char *rest = list;
    for (char *path; rest && count < MADE_MAX && (path = strsep(&rest, "\n"));)
        if (path[0] == '/')
            remove_made(directory, path, count++);
    remove_in(directory, "after");
    for (size_t i = record->unfinished ? MADE_MAX : count + 1; i--;) {
        char name[32];
        (void)snprintf(name, sizeof(name), "made-%zu", i);
        remove_in(directory, name);
    }
    static const char *const names[] = {"made", "temporary", "before", "file"};
    for (size_t i = 0; i < TC_COUNT(names); i++)
        remove_in(directory, names[i]);
    tc_adopt_sweep_directory(directory);
    (void)rmdir(directory);
}
