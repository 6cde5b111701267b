/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/again.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mark.h"
#include "base/places.h"
#include "call/call.h"
#include "call/modules_known.h"
#include "provenance/record.h"

struct tc_again {
    struct tc_buf question;
    struct toolcage_policy *policy; /* kept, so that no other has its place in memory */
    const struct tc_known_module *module;
    struct tc_grant grant; /* empty while a call has it */
    struct tc_plan plan;
    struct tc_buf key; /* of the plan (direct.h), once it was written */
    struct tc_buf told;
    struct tc_outcome outcome; /* what is told; empty while a call has it */
    bool retold;               /* the call that has it out has an outcome of what is told */
};

static void let_go(struct tc_again *a)
{
    if (!a)
        return;
    tc_buf_done(&a->question);
    tc_buf_done(&a->key);
    tc_buf_done(&a->told);
    tc_outcome_done(&a->outcome);
    (void)tc_policy_unref(a->policy);
    tc_grant_done(&a->grant);
    tc_plan_done(&a->plan);
    free(a);
}

void tc_again_close(struct tc_again_shelf *shelf)
{
    for (size_t i = 0; i < TC_AGAIN_MAX; i++)
        let_go(atomic_exchange(&shelf->places[i], NULL));
}

/* In place of the oldest, if need be. */
static void put(struct tc_again_shelf *shelf, struct tc_again *a)
{
    for (size_t i = 0; i < TC_AGAIN_MAX; i++) {
        struct tc_again *none = NULL;
        if (atomic_compare_exchange_strong(&shelf->places[i], &none, a))
            return;
    }
    let_go(atomic_exchange(&shelf->places[atomic_fetch_add(&shelf->next, 1) % TC_AGAIN_MAX], a));
}

/* ---- what is asked ---- */

static bool may_be_known(const struct toolcage_call *call)
{
    return !call->session && !call->output && !call->rows && !call->installs && !call->work &&
           !call->module;
}

static void add_text(struct tc_buf *to, const char *text)
{
    tc_buf_addc(to, text ? '+' : '-');
    if (text)
        tc_buf_add(to, text, strlen(text) + 1);
}

static void add_words(struct tc_buf *to, const struct toolcage_call *call)
{
    add_text(to, call->tool);
    add_text(to, call->arguments);
    for (size_t i = 0; i < call->argv.count; i++)
        add_text(to, call->argv.items[i]);
    add_text(to, NULL);
    for (size_t i = 0; i < call->narrow_count; i++) {
        add_text(to, call->narrow[i].key);
        add_text(to, call->narrow[i].value);
    }
    add_text(to, NULL);
}

/* The records of places that tools could write, which programs are resolved by. */
static bool add_records(struct tc_buf *to)
{
    _autofree_ char *state = NULL;
    if (!tc_state_directory(&state))
        return false;
    const char *const directories[] = {state, TC_RECORDS_ROOT};
    for (size_t i = 0; i < TC_COUNT(directories); i++) {
        char mark[TC_MARK_SIZE];
        _autofree_ char *path = directories[i] ? tc_record_path(directories[i]) : NULL;
        if (directories[i] && !path)
            return false;
        add_text(to, path && tc_mark_path(path, mark) ? mark : NULL);
    }
    return true;
}

/* False: out of memory. Empty: it has no working directory. */
static bool write_question(const struct toolcage_call *call, struct tc_buf *ret)
{
    uid_t ids[3];
    _autofree_ char *cwd = getcwd(NULL, 0);
    if (!cwd || getresuid(&ids[0], &ids[1], &ids[2]) < 0)
        return errno != ENOMEM;
    ret->max = SIZE_MAX / 2;
    tc_buf_add(ret, ids, sizeof(ids));
    add_text(ret, cwd);
    add_words(ret, call);
    for (char **pair = environ; pair && *pair; pair++)
        add_text(ret, *pair);
    return add_records(ret) && !ret->failed;
}

static bool same(const struct tc_buf *a, const struct tc_buf *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Whoever has it out has it alone. */
static struct tc_again *take(struct tc_again_shelf *shelf, const struct toolcage_call *call)
{
    for (size_t i = 0; i < TC_AGAIN_MAX; i++) {
        struct tc_again *a = atomic_exchange(&shelf->places[i], NULL);
        if (a && a->policy == call->policy && same(&a->question, &call->question))
            return a;
        if (a)
            put(shelf, a);
    }
    return NULL;
}

/* ---- a call ---- */

static struct tc_plan *use(struct toolcage_call *call, struct tc_again *a)
{
    if (!tc_modules_hold(tc_engine_modules(call->engine), a->module)) {
        let_go(a);
        return NULL;
    }
    call->again = a;
    a->retold = false;
    call->grant = a->grant;
    a->grant = (struct tc_grant){0};
    return &a->plan;
}

int tc_again_find(struct toolcage_call *call, struct tc_plan **ret, struct toolcage_error **err)
{
    tc_buf_done(&call->question);
    *ret = NULL;
    if (!may_be_known(call))
        return 0;
    if (!write_question(call, &call->question)) {
        tc_buf_done(&call->question);
        return tc_fail_memory(err);
    }
    struct tc_again *a = call->question.len ? take(tc_engine_again(call->engine), call) : NULL;
    *ret = a ? use(call, a) : NULL;
    return 0;
}

struct tc_buf *tc_again_key(const struct toolcage_call *call)
{
    return call->again ? &call->again->key : NULL;
}

static bool keep_told(struct tc_again *a, const struct tc_buf *told)
{
    tc_buf_done(&a->told);
    tc_outcome_done(&a->outcome);
    a->told.max = SIZE_MAX / 2;
    tc_buf_add(&a->told, told->data, told->len);
    return !a->told.failed;
}

int tc_again_outcome(struct toolcage_call *call, const struct tc_buf *told, struct tc_outcome *ret,
                     struct toolcage_error **err)
{
    struct tc_again *a = call->again;
    bool known = a && a->told.len && same(&a->told, told);
    if (known && a->outcome.enforced_count) {
        *ret = a->outcome;
        a->outcome = (struct tc_outcome){0};
        a->retold = true;
        return 0;
    }
    int r = tc_outcome_parse(told->data, told->len, ret, err);
    if (r == 0 && a)
        a->retold = known || keep_told(a, told);
    return r;
}

void tc_again_forget(struct toolcage_call *call)
{
    tc_grant_done(&call->grant);
    let_go(TAKE(call->again));
}

/* Nothing of the machine was asked for it but what the question has, and the module's files. */
static bool is_decided(const struct toolcage_call *call)
{
    const struct tc_grant *g = &call->grant;
    return !g->fs_count && !g->socket_count && !g->net_count && !g->secret_count &&
           !g->programs.count && !g->fallback.count && !g->image && !g->setup && !g->approval &&
           call->image < 0;
}

/* The surroundings were the same from before the call was resolved until now. */
static bool is_steady(const struct toolcage_call *call)
{
    _autobuf_ struct tc_buf now = TC_BUF_INIT;
    return call->question.len && write_question(call, &now) && same(&now, &call->question);
}

void tc_again_keep(struct toolcage_call *call, struct tc_plan *plan)
{
    const struct tc_known_module *module =
        tc_modules_known_as(tc_engine_modules(call->engine), &call->grant);
    if (call->again || !module || !is_decided(call) || !is_steady(call))
        return;
    struct tc_again *a = calloc(1, sizeof(*a));
    if (!a)
        return;
    a->question = call->question;
    call->question = (struct tc_buf)TC_BUF_INIT;
    a->policy = tc_policy_ref(call->policy);
    a->module = module;
    a->plan = *plan;
    *plan = (struct tc_plan){0};
    call->again = a;
}

void tc_again_leave(struct toolcage_call *call)
{
    struct tc_again *a = TAKE(call->again);
    tc_buf_done(&call->question);
    if (!a)
        return;
    a->grant = call->grant;
    call->grant = (struct tc_grant){0};
    if (a->retold && call->result && !call->result->outcome.denial_count) {
        a->outcome = call->result->outcome;
        call->result->outcome = (struct tc_outcome){0};
    }
    if (tc_engine_forked(call->engine))
        let_go(a);
    else
        put(tc_engine_again(call->engine), a);
}
