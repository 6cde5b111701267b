/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The person's side of the queue: lists and reads requests, and stores answers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "approve/queue/store.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "state/store.h"

enum { READ_TRIES = 150, PAUSE_NS = 20000000 }; /* three seconds */

static const char list_hint[] = "toolcage approvals list shows those that wait";

static int fail_gone(const char *id, struct tc_fault *fault)
{
    return tc_fault_set(fault, TOOLCAGE_ENOT_FOUND, list_hint,
                        "the call of request %.40s no longer waits: it was answered, cancelled or "
                        "has ended",
                        id);
}

/* ---- reading ---- */

/* Reads a request. False: it is gone, or damaged. */
static bool read_request(int dir, const char *id, struct tc_queued *ret)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofd_ int fd = tc_queue_request(dir, id);
    return fd >= 0 && tc_read_all(fd, &text) == 0 && text.len &&
           tc_queue_parse(text.data, text.len, id, ret);
}

/* Opens the queue. *ret_ids: the waiting requests. An fd, or a negative code. */
static int open_queue(struct tc_strv *ret_ids, struct tc_fault *fault)
{
    _autofd_ int dir = tc_queue_open(fault);
    if (dir < 0)
        return TAKE_FD(dir);
    _autofd_ int lock = tc_queue_lock(dir, fault);
    if (lock < 0)
        return TAKE_FD(lock);
    int r = tc_queue_ids(dir, ret_ids, fault);
    return r < 0 ? r : TAKE_FD(dir);
}

int tc_queue_list(struct tc_queued **ret, size_t *ret_count, struct tc_fault *fault)
{
    _autostrv_ struct tc_strv ids = {0};
    _autofd_ int dir = open_queue(&ids, fault);
    if (dir < 0)
        return TAKE_FD(dir);
    *ret_count = 0;
    *ret = calloc(ids.count + 1, sizeof(**ret));
    if (!*ret)
        return tc_fault_set(fault, TOOLCAGE_EMEMORY, NULL, "out of memory");
    for (size_t i = 0; i < ids.count; i++)
        *ret_count += read_request(dir, ids.items[i], &(*ret)[*ret_count]);
    return 0;
}

void tc_queue_free(struct tc_queued *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tc_queued_done(&list[i]);
    free(list);
}

int tc_queue_find(const char *prefix, struct tc_queued *ret, struct tc_fault *fault)
{
    _autostrv_ struct tc_strv ids = {0};
    const char *id = NULL;
    size_t found = 0;
    _autofd_ int dir = open_queue(&ids, fault);
    if (dir < 0)
        return TAKE_FD(dir);
    for (size_t i = 0; i < ids.count; i++)
        if (*prefix && strncasecmp(ids.items[i], prefix, strlen(prefix)) == 0) {
            id = ids.items[i];
            found++;
        }
    if (found > 1)
        return tc_fault_set(fault, TOOLCAGE_EUSAGE, "write more of the id; toolcage approvals list",
                            "%zu waiting requests begin with %.40s", found, prefix);
    if (!id)
        return fail_gone(prefix, fault);
    if (read_request(dir, id, ret))
        return 0;
    return tc_fault_set(fault, TOOLCAGE_ESYSTEM, "end the program whose call waits",
                        "the request %s is damaged: its subject does not have its digest", id);
}

/* ---- answering ---- */

/* The content of the file; owned, NULL: out of memory. */
static char *write_file(const struct tc_queued *q, enum tc_answer said, const char *reason)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_number(&out, "version", 1);
    tc_json_member(&out, "id", q->id);
    tc_json_member(&out, "digest", q->digest);
    tc_json_member(&out, "answer", said == TC_ANSWER_NO ? "no" : "yes");
    if (said == TC_ANSWER_SESSION)
        tc_json_bool(&out, "session", true);
    if (reason && *reason)
        tc_json_member(&out, "reason", reason);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}

static int fail_answered(int dir, const struct tc_queued *q, struct tc_fault *fault)
{
    struct tc_queue_verdict verdict = tc_queue_verdict(dir, q->id, q->digest);
    free(verdict.reason);
    if (verdict.unusable)
        return tc_fault_set(fault, TOOLCAGE_EUSAGE, "the call is refused; make it again",
                            "request %s has an answer that cannot be used: %s", q->id,
                            verdict.unusable);
    return tc_fault_set(fault, TOOLCAGE_EUSAGE, list_hint, "request %s was already answered: %s",
                        q->id,
                        verdict.answer == TC_ANSWER_NO     ? "refused"
                        : verdict.answer != TC_ANSWER_NONE ? "approved"
                                                           : "the host has read the answer");
}

/* Gives the complete file its name, if no other answer has it. An fd of it, or a negative code. */
static int store_answer(int dir, const struct tc_queued *q, const char *text,
                        struct tc_fault *fault)
{
    char name[TC_QUEUE_NAME_SIZE];
    _autofree_ char *fresh = NULL;
    _autofd_ int lock = tc_queue_lock(dir, fault);
    if (lock < 0)
        return TAKE_FD(lock);
    tc_queue_answer_name(q->id, name);
    _autofd_ int fd = tc_queue_make(dir, &fresh, text, strlen(text));
    int r = fd < 0 ? -1 : linkat(dir, fresh, dir, name, 0), errnum = errno;
    if (fd >= 0)
        (void)unlinkat(dir, fresh, 0);
    if (r == 0)
        return TAKE_FD(fd);
    return errnum == EEXIST
               ? fail_answered(dir, q, fault)
               : tc_fault_set(fault, TOOLCAGE_ESYSTEM, "make room in the state directory",
                              "the answer cannot be stored in the queue of approvals: %s",
                              strerror(errnum));
}

/* ---- claiming ---- */

int tc_queue_claim(const struct tc_queued *queued, struct tc_queue_claim *claim,
                   struct tc_fault *fault)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    if (claim->fd >= 0)
        return 0;
    _autofd_ int dir = tc_queue_open(fault);
    if (dir < 0)
        return TAKE_FD(dir);
    _autofd_ int lock = tc_queue_lock(dir, fault);
    if (lock < 0)
        return TAKE_FD(lock);
    _autofd_ int request = tc_queue_request(dir, queued->id);
    if (request < 0 || !tc_queue_waits(request))
        return fail_gone(queued->id, fault);
    struct tc_queue_verdict verdict = tc_queue_verdict(dir, queued->id, queued->digest);
    free(verdict.reason);
    if (verdict.answer != TC_ANSWER_NONE)
        return fail_answered(dir, queued, fault);
    (void)snprintf(claim->name, sizeof(claim->name), "%s%s", queued->id, tc_queue_claim_end);
    _autofd_ int fd = openat(dir, claim->name, flags, 0600);
    if (tc_store_own(fd, S_IFREG) && tc_store_lock(fd, false) == 0) {
        claim->dir = TAKE_FD(dir);
        claim->fd = TAKE_FD(fd);
        return 0;
    }
    return errno == EWOULDBLOCK || errno == ENOENT
               ? tc_fault_set(fault, TOOLCAGE_EUSAGE, list_hint,
                              "another program is deciding about request %s", queued->id)
               : tc_fault_set(fault, TOOLCAGE_ESYSTEM, "make room in the state directory",
                              "the request %s cannot be claimed: %s", queued->id, strerror(errno));
}

void tc_queue_unclaim(struct tc_queue_claim *claim)
{
    if (claim->fd < 0)
        return;
    (void)unlinkat(claim->dir, claim->name, 0);
    (void)close(claim->fd);
    (void)close(claim->dir);
    *claim = (struct tc_queue_claim)TC_QUEUE_UNCLAIMED;
}

/* ---- */

/* The host removes the answer when it has read it, and then the request. */
static int await_reader(int dir, const struct tc_queued *q, int request, int answer,
                        struct tc_fault *fault)
{
    char name[TC_QUEUE_NAME_SIZE];
    tc_queue_answer_name(q->id, name);
    for (int i = 0; i < READ_TRIES; i++) {
        bool waits = tc_queue_waits(request);
        bool read = tc_queue_removed(answer);
        if (read && !waits)
            return 0;
        if (!read && !waits) {
            (void)unlinkat(dir, name, 0);
            return fail_gone(q->id, fault);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return tc_queue_removed(answer) ? 0 : 1;
}

int tc_queue_answer(const struct tc_queued *queued, enum tc_answer said, const char *reason,
                    struct tc_fault *fault)
{
    struct tc_queue_claim claim = TC_QUEUE_UNCLAIMED;
    int r = tc_queue_claim(queued, &claim, fault);
    if (r == 0)
        r = tc_queue_answer_claimed(&claim, queued, said, reason, fault);
    tc_queue_unclaim(&claim);
    return r;
}

/* An fd of the stored answer, or a negative code. */
static int store(const struct tc_queue_claim *claim, const struct tc_queued *queued, int request,
                 enum tc_answer said, const char *reason, struct tc_fault *fault)
{
    if (reason && strlen(reason) > TC_QUEUE_REASON_MAX)
        return tc_fault_set(fault, TOOLCAGE_EUSAGE, "write a shorter one",
                            "a reason has at most %d bytes", TC_QUEUE_REASON_MAX);
    _autofree_ char *text = write_file(queued, said, reason);
    if (!text)
        return tc_fault_set(fault, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (request < 0 || !tc_queue_waits(request))
        return fail_gone(queued->id, fault);
    return store_answer(claim->dir, queued, text, fault);
}

int tc_queue_answer_claimed(const struct tc_queue_claim *claim, const struct tc_queued *queued,
                            enum tc_answer said, const char *reason, struct tc_fault *fault)
{
    _autofd_ int request = tc_queue_request(claim->dir, queued->id);
    _autofd_ int answer = store(claim, queued, request, said, reason, fault);
    return answer < 0 ? TAKE_FD(answer) : await_reader(claim->dir, queued, request, answer, fault);
}

int tc_queue_post(const struct tc_queued *queued, enum tc_answer said, const char *reason,
                  struct tc_fault *fault)
{
    struct tc_queue_claim claim = TC_QUEUE_UNCLAIMED;
    int r = tc_queue_claim(queued, &claim, fault);
    if (r == 0) {
        _autofd_ int request = tc_queue_request(claim.dir, queued->id);
        _autofd_ int answer = store(&claim, queued, request, said, reason, fault);
        r = answer < 0 ? TAKE_FD(answer) : 0;
    }
    tc_queue_unclaim(&claim);
    return r;
}
