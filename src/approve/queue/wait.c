/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The host's side of the queue: stores a request, and looks for its answer. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <toolcage/error.h>

#include "approve/queue/store.h"
#include "base/clock.h"
#include "base/jsontext.h"
#include "state/store.h"

struct tc_wait {
    int dir, own; /* the directory; the locked request */
    int64_t until_s;
    struct tc_queued request;
};

/* Suspended time counts, as it does for the gate. */
static int64_t now_s(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec;
}

/* The content of the file; owned, NULL: out of memory. */
static char *write_file(const char *id, const char *request, const char *asker)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_number(&out, "version", 1);
    tc_json_member(&out, "id", id);
    tc_json_number(&out, "created", (int64_t)time(NULL));
    tc_json_member(&out, "asker", asker);
    tc_json_key(&out, "request");
    tc_buf_adds(&out, request);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}

static int check_room(int dir, struct tc_fault *fault)
{
    _autostrv_ struct tc_strv ids = {0};
    int r = tc_queue_ids(dir, &ids, fault);
    if (r < 0 || ids.count < TC_QUEUE_MAX)
        return r;
    return tc_fault_set(fault, TOOLCAGE_EDENIED, "answer some: toolcage approvals list",
                        "%d other calls wait for a person's approval, and no more can wait",
                        TC_QUEUE_MAX);
}

/* Locked before it has its name, so that it is never taken for a leftover. */
static int store_file(struct tc_wait *w, const char *text, struct tc_fault *fault)
{
    char name[TC_QUEUE_NAME_SIZE];
    _autofree_ char *fresh = NULL;
    tc_queue_request_name(w->request.id, name);
    w->own = tc_queue_make(w->dir, &fresh, text, strlen(text));
    if (w->own >= 0 && tc_store_lock(w->own, true) == 0 &&
        renameat2(w->dir, fresh, w->dir, name, RENAME_NOREPLACE) == 0)
        return 0;
    return tc_fault_set(fault, TOOLCAGE_ESYSTEM, "make room in the state directory",
                        "the request cannot be stored in the queue of approvals: %s",
                        strerror(errno));
}

static int add_request(struct tc_wait *w, const char *text, struct tc_fault *fault)
{
    _autofd_ int lock = tc_queue_lock(w->dir, fault);
    int r = lock < 0 ? lock : check_room(w->dir, fault);
    return r < 0 ? r : store_file(w, text, fault);
}

int tc_wait_begin(const char *request, const char *asker, struct tc_wait **ret,
                  struct tc_fault *fault)
{
    char id[TC_ULID_SIZE];
    struct tc_wait *w = calloc(1, sizeof(*w));
    _autofree_ char *text = w && tc_ulid(id) == 0 ? write_file(id, request, asker) : NULL;
    if (!text) {
        free(w);
        return tc_fault_set(fault, TOOLCAGE_EMEMORY, NULL, "out of memory");
    }
    *w = (struct tc_wait){.dir = -1, .own = -1};
    int r = 0;
    if (!tc_queue_parse(text, strlen(text), id, &w->request))
        r = tc_fault_set(fault, TOOLCAGE_EDENIED,
                         "run it at a terminal: toolcage call shows all of it",
                         "the call is too long for the queue of approvals");
    if (r == 0)
        r = w->dir = tc_queue_open(fault);
    if (r >= 0)
        r = add_request(w, text, fault);
    if (r < 0)
        return tc_wait_end(w), r;
    w->until_s = now_s() + (w->request.expires - w->request.created);
    *ret = w;
    return 0;
}

const char *tc_wait_id(const struct tc_wait *wait)
{
    return wait->request.id;
}

enum tc_answer tc_wait_look(const struct tc_wait *w, char **ret_reason)
{
    char name[TC_QUEUE_NAME_SIZE];
    *ret_reason = NULL;
    if (now_s() >= w->until_s) {
        *ret_reason = tc_format("nobody answered within %lld minutes",
                                (long long)(w->request.expires - w->request.created) / 60);
        return TC_ANSWER_NO;
    }
    struct tc_queue_verdict verdict = tc_queue_verdict(w->dir, w->request.id, w->request.digest);
    tc_queue_answer_name(w->request.id, name);
    /* without the file, no process can answer */
    if (verdict.answer == TC_ANSWER_NONE && tc_queue_removed(w->own)) {
        *ret_reason = strdup("its request was removed from the queue of approvals");
        return TC_ANSWER_NO;
    }
    if (verdict.unusable)
        verdict.reason =
            tc_format("%s in the queue of approvals cannot be used: %s", name, verdict.unusable);
    *ret_reason = verdict.reason;
    /* removed before the request: by this its writer knows that it was read */
    if (verdict.answer != TC_ANSWER_NONE)
        (void)tc_remove_tree(w->dir, name);
    return verdict.answer;
}

void tc_wait_end(struct tc_wait *w)
{
    char name[TC_QUEUE_NAME_SIZE];
    if (!w)
        return;
    tc_queue_request_name(w->request.id, name);
    if (w->own >= 0) {
        if (!tc_queue_removed(w->own))
            (void)unlinkat(w->dir, name, 0);
        (void)close(w->own);
    }
    if (w->dir >= 0)
        (void)close(w->dir);
    tc_queued_done(&w->request);
    free(w);
}
