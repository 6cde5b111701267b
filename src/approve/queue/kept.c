/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Calls that a model asked for and only a person starts: ID.call has what `toolcage call` needs.
 * Nothing waits for them. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "approve/queue/store.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "state/store.h"

enum { CALL_MAX = 1 << 20, LONGEST_S = 24 * 3600 };

static const char call_end[] = ".call";

void tc_kept_done(struct tc_kept *kept)
{
    free(kept->policy);
    free(kept->digest);
    free(kept->tool);
    free(kept->arguments);
    free(kept->directory);
    free(kept->workspace);
    *kept = (struct tc_kept){0};
}

static void name_of(const char *id, char ret[TC_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret, TC_QUEUE_NAME_SIZE, "%s%s", id, call_end);
}

static int fail_store(struct tc_fault *fault)
{
    return tc_fault_set(fault, TOOLCAGE_ESYSTEM, "make room in the state directory",
                        "the call cannot be stored in the queue of approvals: %s", strerror(errno));
}

/* ---- reading ---- */

static char *copy_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? strdup(text) : NULL;
}

static bool parse(const char *text, size_t length, const char *id, struct tc_kept *ret)
{
    json_t *file = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const char *said = json_string_value(json_object_get(file, "id"));
    const json_t *arguments = json_object_get(file, "arguments");
    *ret = (struct tc_kept){
        .created = json_integer_value(json_object_get(file, "created")),
        .policy = copy_text(file, "policy"),
        .digest = copy_text(file, "digest"),
        .tool = copy_text(file, "tool"),
        .directory = copy_text(file, "directory"),
        .workspace = copy_text(file, "workspace"),
        .arguments = json_is_object(arguments) ? json_dumps(arguments, JSON_COMPACT) : NULL};
    tc_strcopy(ret->id, sizeof(ret->id), id);
    bool good = said && strcmp(said, id) == 0 && ret->policy && ret->policy[0] == '/' &&
                ret->digest && ret->tool && ret->directory && ret->directory[0] == '/' &&
                ret->arguments;
    json_decref(file);
    if (!good)
        tc_kept_done(ret);
    return good;
}

static bool is_old(const struct tc_kept *kept)
{
    int64_t age = (int64_t)time(NULL) - kept->created;
    return age > LONGEST_S || age < -LONGEST_S;
}

/* False: there is no such call (any longer). What does not parse, or is old, is removed. */
static bool read_call(int dir, const char *id, struct tc_kept *ret)
{
    char name[TC_QUEUE_NAME_SIZE];
    _autobuf_ struct tc_buf text = {.max = CALL_MAX};
    name_of(id, name);
    _autofd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (!tc_store_own(fd, S_IFREG) || tc_read_all(fd, &text) < 0)
        return false;
    bool good = text.len && parse(text.data, text.len, id, ret);
    if (good && !is_old(ret))
        return true;
    if (good)
        tc_kept_done(ret);
    (void)unlinkat(dir, name, 0);
    return false;
}

static int order(const void *a, const void *b)
{
    return strcmp(((const struct tc_kept *)a)->id, ((const struct tc_kept *)b)->id);
}

/* Removes what is old or damaged. */
static int read_all(int dir, struct tc_kept **ret, size_t *ret_count, struct tc_fault *fault)
{
    _autodir_ DIR *list = tc_list_dir(dir);
    struct dirent *e;
    int more = list ? 1 : -1;
    while (more > 0 && (more = tc_next_entry(list, &e)) > 0) {
        char id[TC_QUEUE_ID_SIZE];
        struct tc_kept kept;
        if (!tc_ulid_named(e->d_name, call_end, id) || !read_call(dir, id, &kept))
            continue;
        struct tc_kept *slot = TC_PUSH(*ret, *ret_count);
        if (!slot) {
            tc_kept_done(&kept);
            return tc_fault_set(fault, TOOLCAGE_EMEMORY, NULL, "out of memory");
        }
        *slot = kept;
    }
    if (more < 0)
        return tc_fault_set(fault, TOOLCAGE_ESYSTEM, "try again",
                            "the queue of approvals cannot be read: %s", strerror(errno));
    if (*ret_count)
        qsort(*ret, *ret_count, sizeof(**ret), order);
    return 0;
}

static int open_locked(int *ret_lock, struct tc_fault *fault)
{
    _autofd_ int dir = tc_queue_open(fault);
    if (dir < 0)
        return TAKE_FD(dir);
    *ret_lock = tc_queue_lock(dir, fault);
    return *ret_lock < 0 ? *ret_lock : TAKE_FD(dir);
}

int tc_kept_list(struct tc_kept **ret, size_t *ret_count, struct tc_fault *fault)
{
    _autofd_ int lock = -1;
    _autofd_ int dir = open_locked(&lock, fault);
    *ret = NULL;
    *ret_count = 0;
    return dir < 0 ? TAKE_FD(dir) : read_all(dir, ret, ret_count, fault);
}

void tc_kept_free(struct tc_kept *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tc_kept_done(&list[i]);
    free(list);
}

/* ---- storing and taking ---- */

/* Owned; NULL: out of memory. */
static char *write_file(const char *id, const struct tc_kept *kept)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_number(&out, "version", 1);
    tc_json_member(&out, "id", id);
    tc_json_number(&out, "created", (int64_t)time(NULL));
    tc_json_member(&out, "policy", kept->policy);
    tc_json_member(&out, "digest", kept->digest);
    tc_json_member(&out, "tool", kept->tool);
    tc_json_member(&out, "directory", kept->directory);
    tc_json_optional(&out, "workspace", kept->workspace);
    tc_json_key(&out, "arguments");
    tc_buf_adds(&out, kept->arguments);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}

static int check_room(int dir, struct tc_fault *fault)
{
    struct tc_kept *list = NULL;
    size_t count = 0;
    int r = read_all(dir, &list, &count, fault);
    tc_kept_free(list, count);
    if (r < 0 || count < TC_QUEUE_MAX)
        return r;
    return tc_fault_set(fault, TOOLCAGE_EDENIED, "start or deny some: toolcage approvals list",
                        "%d other calls wait for a person to start them, and no more can wait",
                        TC_QUEUE_MAX);
}

int tc_kept_store(const struct tc_kept *kept, char ret_id[TC_QUEUE_ID_SIZE], struct tc_fault *fault)
{
    char name[TC_QUEUE_NAME_SIZE];
    _autofree_ char *fresh = NULL;
    _autofree_ char *text = tc_ulid(ret_id) == 0 ? write_file(ret_id, kept) : NULL;
    if (!text)
        return tc_fault_set(fault, TOOLCAGE_EMEMORY, NULL, "out of memory");
    struct tc_kept read;
    bool readable = strlen(text) < CALL_MAX && parse(text, strlen(text), ret_id, &read);
    if (readable)
        tc_kept_done(&read);
    else
        return tc_fault_set(fault, TOOLCAGE_EDENIED, "toolcage call at a terminal takes it",
                            "the call is too long, or nested too deeply, for the queue of "
                            "approvals");
    _autofd_ int lock = -1;
    _autofd_ int dir = open_locked(&lock, fault);
    int r = dir < 0 ? TAKE_FD(dir) : check_room(dir, fault);
    if (r < 0)
        return r;
    name_of(ret_id, name);
    _autofd_ int fd = tc_queue_make(dir, &fresh, text, strlen(text));
    return fd >= 0 && renameat2(dir, fresh, dir, name, RENAME_NOREPLACE) == 0 ? 0
                                                                              : fail_store(fault);
}

int tc_kept_take(const char *id, struct tc_fault *fault)
{
    char name[TC_QUEUE_NAME_SIZE];
    _autofd_ int lock = -1;
    _autofd_ int dir = open_locked(&lock, fault);
    if (dir < 0)
        return TAKE_FD(dir);
    name_of(id, name);
    if (unlinkat(dir, name, 0) == 0)
        return 0;
    return tc_fault_set(fault, TOOLCAGE_ENOT_FOUND, "toolcage approvals list shows those that wait",
                        "the call %s was started, denied or has expired", id);
}
