/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "approve/queue/store.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <toolcage/error.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/path.h"
#include "state/places.h"
#include "state/store.h"

enum {
    REQUEST_MAX = 1 << 20, /* bytes of a file */
    ANSWER_MAX = 4096,
    LATE_S = 60, /* until an answer without a request is removed: its writer removes it itself */
};

_Static_assert((int)TC_QUEUE_ID_SIZE == (int)TC_ULID_SIZE, "an id is a ULID");
_Static_assert((int)TC_QUEUE_DIGEST_SIZE == (int)TC_DIGEST_SIZE, "a digest is one of digest.h");

static const char temporary[] = "new-", request_end[] = ".json", answer_end[] = ".answer";
const char tc_queue_claim_end[] = ".claim";

/* ---- the directory ---- */

static const char what[] = "the queue of approvals";

int tc_queue_place(const char *name, struct tc_fault *fault)
{
    return tc_fault_open(name, what, fault);
}

int tc_queue_open(struct tc_fault *fault)
{
    return tc_queue_place("approvals", fault);
}

int tc_queue_lock(int dir, struct tc_fault *fault)
{
    return tc_fault_lock(dir, what, fault);
}

/* ---- the files ---- */

void tc_queue_request_name(const char *id, char ret[TC_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret, TC_QUEUE_NAME_SIZE, "%s%s", id, request_end);
}

void tc_queue_answer_name(const char *id, char ret[TC_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret, TC_QUEUE_NAME_SIZE, "%s%s", id, answer_end);
}

static int open_file(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int tc_queue_request(int dir, const char *id)
{
    char name[TC_QUEUE_NAME_SIZE];
    tc_queue_request_name(id, name);
    _autofd_ int fd = open_file(dir, name);
    return tc_store_own(fd, S_IFREG) ? TAKE_FD(fd) : -1;
}

bool tc_queue_removed(int fd)
{
    struct stat st;
    return fstat(fd, &st) < 0 || !st.st_nlink;
}

/* A shared lock, so that two processes that look at once do not take each other for the host. */
bool tc_queue_waits(int request)
{
    if (tc_queue_removed(request))
        return false;
    if (flock(request, LOCK_SH | LOCK_NB) < 0)
        return errno == EWOULDBLOCK;
    (void)flock(request, LOCK_UN);
    return false;
}

/* An answer or a claim whose request is gone; its writer may still be about to remove it. */
static bool is_late(int dir, const char *name, const char *id)
{
    struct stat st;
    char request[TC_QUEUE_NAME_SIZE];
    tc_queue_request_name(id, request);
    return fstatat(dir, request, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT &&
           fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_mtim.tv_sec + LATE_S < time(NULL);
}

/* Keeps the id of a request that waits; removes what a dead process left. */
static bool visit(int dir, const char *name, struct tc_strv *ret)
{
    char id[TC_QUEUE_ID_SIZE];
    if (tc_startswith(name, temporary) ||
        ((tc_ulid_named(name, answer_end, id) || tc_ulid_named(name, tc_queue_claim_end, id)) &&
         is_late(dir, name, id))) {
        (void)tc_remove_tree(dir, name);
    } else if (tc_ulid_named(name, request_end, id)) {
        _autofd_ int fd = tc_queue_request(dir, id);
        if (fd >= 0 && tc_queue_waits(fd))
            return tc_strv_add(ret, id);
        if (fd >= 0)
            (void)unlinkat(dir, name, 0);
    }
    return true;
}

int tc_queue_ids(int dir, struct tc_strv *ret, struct tc_fault *fault)
{
    _autodir_ DIR *list = tc_list_dir(dir);
    struct dirent *e;
    int more = list ? 1 : -1;
    while (more > 0 && (more = tc_next_entry(list, &e)) > 0)
        if (!visit(dir, e->d_name, ret))
            return tc_fault_set(fault, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (more < 0)
        return tc_fault_set(fault, TOOLCAGE_ESYSTEM, "try again",
                            "the queue of approvals cannot be read: %s", strerror(errno));
    tc_strv_sort(ret);
    return 0;
}

int tc_queue_make(int dir, char **ret_name, const char *bytes, size_t length)
{
    char id[TC_ULID_SIZE];
    *ret_name = tc_ulid(id) < 0 ? NULL : tc_format("%s%s", temporary, id);
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    _autofd_ int fd = *ret_name ? openat(dir, *ret_name, flags, 0600) : -1;
    if (fd < 0)
        return -1;
    if (tc_write_all(fd, bytes, length) == 0)
        return TAKE_FD(fd);
    int saved = errno;
    (void)unlinkat(dir, *ret_name, 0);
    errno = saved;
    return -1;
}

/* ---- their content ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The subject is digested as it is written, without the two braces that end the file. */
static char *copy_subject(const char *text, size_t length)
{
    static const char key[] = "\"subject\":";
    const char *at = memmem(text, length, key, strlen(key)), *end = text + length - 2;
    bool good = at && length > 2 && memcmp(end, "}}", 2) == 0 && at + strlen(key) < end;
    at = good ? at + strlen(key) : NULL;
    return at ? strndup(at, (size_t)(end - at)) : NULL;
}

static bool is_word(const char *asker)
{
    enum { LONGEST = 16 };
    size_t length = asker ? strlen(asker) : 0;
    return length && length <= LONGEST && strspn(asker, "abcdefghijklmnopqrstuvwxyz") == length;
}

bool tc_queue_parse(const char *text, size_t length, const char *id, struct tc_queued *ret)
{
    char digest[TC_DIGEST_SIZE];
    json_t *file = length <= REQUEST_MAX
                       ? json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL)
                       : NULL;
    const json_t *request = json_object_get(file, "request");
    *ret = (struct tc_queued){.created = json_integer_value(json_object_get(file, "created")),
                              .asker = strdup(text_of(file, "asker")),
                              .subject = file ? copy_subject(text, length) : NULL};
    ret->expires = ret->created + json_integer_value(json_object_get(request, "expires_s"));
    tc_strcopy(ret->id, sizeof(ret->id), text_of(file, "id"));
    tc_strcopy(ret->digest, sizeof(ret->digest), text_of(request, "digest"));
    bool good = json_integer_value(json_object_get(file, "version")) == 1 && ret->subject &&
                is_word(ret->asker) && strcmp(ret->id, id) == 0;
    json_decref(file);
    if (good)
        tc_digest(ret->subject, strlen(ret->subject), digest);
    if (good && strcmp(digest, ret->digest) == 0)
        return true;
    tc_queued_done(ret);
    return false;
}

void tc_queued_done(struct tc_queued *queued)
{
    free(queued->asker);
    free(queued->subject);
    *queued = (struct tc_queued){0};
}

/* May this open file be an answer? NULL, or why not. */
static const char *judge_file(int fd)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return "it is not a regular file";
    if ((st.st_uid != geteuid() && st.st_uid != 0) || st.st_mode & (S_IWGRP | S_IWOTH))
        return "another user owns it or can write it";
    return st.st_size > ANSWER_MAX ? "it is too large" : NULL;
}

static const char *judge_text(const json_t *file, const char *id, const char *digest,
                              struct tc_queue_verdict *ret)
{
    const char *answer = text_of(file, "answer"), *reason = text_of(file, "reason");
    bool yes = strcmp(answer, "yes") == 0, no = strcmp(answer, "no") == 0;
    if (json_integer_value(json_object_get(file, "version")) != 1 || (!yes && !no))
        return "it is not an answer";
    if (strcmp(text_of(file, "id"), id) != 0 || strcmp(text_of(file, "digest"), digest) != 0)
        return "it answers another request";
    bool session = json_is_true(json_object_get(file, "session"));
    ret->answer = !yes ? TC_ANSWER_NO : session ? TC_ANSWER_SESSION : TC_ANSWER_YES;
    ret->reason = *reason ? strdup(reason) : NULL;
    return NULL;
}

struct tc_queue_verdict tc_queue_verdict(int dir, const char *id, const char *digest)
{
    char name[TC_QUEUE_NAME_SIZE];
    struct tc_queue_verdict ret = {0};
    struct tc_buf bytes = {.max = ANSWER_MAX};
    tc_queue_answer_name(id, name);
    _autofd_ int fd = open_file(dir, name);
    if (fd < 0 && errno == ENOENT)
        return ret;
    ret.answer = TC_ANSWER_NO;
    ret.unusable = judge_file(fd);
    if (!ret.unusable && tc_read_all(fd, &bytes) == 0) {
        json_t *file = json_loadb(bytes.data, bytes.len, JSON_REJECT_DUPLICATES, NULL);
        ret.unusable = judge_text(file, id, digest, &ret);
        json_decref(file);
    } else if (!ret.unusable) {
        ret.unusable = "it cannot be read";
    }
    tc_buf_done(&bytes);
    return ret;
}
