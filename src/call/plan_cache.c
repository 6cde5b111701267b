/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/plan_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/wasm/modules.h"
#include "call/live.h"

/* A cached plan. While a call uses it, it is not in the cache. */
struct tc_kept_plan {
    struct tc_buf question;               /* the cache key: the request and its surroundings */
    struct toolcage_policy *policy;       /* referenced, so that no other policy gets its address */
    const struct tc_known_module *module; /* NULL: no plan yet */
    struct tc_grant grant;                /* empty while a call uses it */
    struct tc_plan plan;
};

static void let_go(struct tc_kept_plan *k)
{
    if (!k)
        return;
    tc_buf_done(&k->question);
    (void)tc_policy_unref(k->policy);
    tc_grant_done(&k->grant);
    tc_plan_done(&k->plan);
    free(k);
}

void tc_plan_cache_close(struct tc_plan_cache *cache)
{
    for (size_t i = 0; i < TC_PLAN_CACHE_MAX; i++)
        let_go(atomic_exchange(&cache->places[i], NULL));
}

/* Replaces the oldest entry if the cache is full. */
static void put_plan(struct tc_plan_cache *cache, struct tc_kept_plan *k)
{
    for (size_t i = 0; i < TC_PLAN_CACHE_MAX; i++) {
        struct tc_kept_plan *none = NULL;
        if (atomic_compare_exchange_strong(&cache->places[i], &none, k))
            return;
    }
    let_go(
        atomic_exchange(&cache->places[atomic_fetch_add(&cache->next, 1) % TC_PLAN_CACHE_MAX], k));
}

static bool may_be_known(const struct toolcage_call *call)
{
    return !call->session && !tc_call_is_live(call) && !call->output && !call->rows &&
           !call->installs && !call->work && !call->module;
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

/* False: out of memory. Empty: there is no working directory. */
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
    return !ret->failed;
}

static bool same(const struct tc_buf *a, const struct tc_buf *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static struct tc_kept_plan *key_of_call(const struct toolcage_call *call)
{
    struct tc_kept_plan *k = calloc(1, sizeof(*k));
    if (k && write_question(call, &k->question)) {
        k->policy = tc_policy_ref(call->policy);
        return k;
    }
    let_go(k);
    return NULL;
}

static struct tc_kept_plan *take_plan(struct tc_plan_cache *cache, const struct tc_kept_plan *asked)
{
    for (size_t i = 0; i < TC_PLAN_CACHE_MAX; i++) {
        struct tc_kept_plan *k = atomic_exchange(&cache->places[i], NULL);
        if (k && k->policy == asked->policy && same(&k->question, &asked->question))
            return k;
        if (k)
            put_plan(cache, k);
    }
    return NULL;
}

int tc_plan_cache_find(struct tc_plan_cache *cache, struct toolcage_call *call,
                       struct tc_plan **ret, struct toolcage_error **err)
{
    *ret = NULL;
    struct tc_kept_plan *asked = may_be_known(call) ? key_of_call(call) : NULL;
    if (!asked)
        return may_be_known(call) ? tc_fail_memory(err) : 0;
    struct tc_kept_plan *known = take_plan(cache, asked);
    bool holds = known && tc_modules_hold(cache->modules, known->module);
    call->kept = holds ? known : asked;
    let_go(holds ? asked : known);
    if (!holds)
        return 0;
    call->grant = known->grant;
    known->grant = (struct tc_grant){0};
    memcpy(known->plan.call, call->id, sizeof(call->id));
    *ret = &known->plan;
    return 0;
}

/* Did only the cache key and the module's files decide the grant? Then the plan may be cached. */
static bool is_decided(const struct toolcage_call *call)
{
    const struct tc_grant *g = &call->grant;
    return !g->fs_count && !g->socket_count && !g->net_count && !g->secret_count &&
           !g->programs.count && !g->fallback.count && !g->image && !g->setup && !g->approval &&
           call->image < 0;
}

/* Are the surroundings still those of the cache key? */
static bool is_steady(const struct toolcage_call *call)
{
    _autobuf_ struct tc_buf now = TC_BUF_INIT;
    const struct tc_buf *was = &call->kept->question;
    return was->len && write_question(call, &now) && same(&now, was);
}

void tc_plan_cache_keep(const struct tc_plan_cache *cache, struct toolcage_call *call,
                        struct tc_plan *plan)
{
    const struct tc_known_module *module = tc_modules_known_as(cache->modules, &call->grant);
    if (!call->kept || !module || !plan->calls || !is_decided(call) || !is_steady(call))
        return;
    call->kept->module = module;
    call->kept->plan = *plan;
    *plan = (struct tc_plan){0};
}

void tc_plan_cache_leave(struct tc_plan_cache *cache, struct toolcage_call *call)
{
    struct tc_kept_plan *k = TAKE(call->kept);
    if (k && k->module) {
        k->grant = call->grant;
        call->grant = (struct tc_grant){0};
        put_plan(cache, TAKE(k));
    }
    let_go(k);
}
