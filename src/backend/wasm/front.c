/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The wasm backend's front: a process cage in which toolcage-wasm runs the module. What holds a
 * process holds the engine, whatever the module makes of it; within that, the module reaches what
 * it is handed and nothing else of the cage. */
#include <inttypes.h>
#include <string.h>
#include <toolcage/error.h>

#include "base/path.h"
#include "cage/lower.h"
#include "cage/system.h"
#include "policy/settings.h"
#include "wasm/version.h"

/* Of the cage's own root, where its second wall lets files be read and executed. */
#define PLACE TC_PLACE_OWN
#define WORKER PLACE "/toolcage-wasm"
#define ENGINE PLACE "/engine.so"
#define MODULE PLACE "/module.wasm"
#define CODE PLACE "/module.cwasm"
#define EDGE PLACE "/wasmedge"

typedef bool words_of(struct tc_strv *v, const struct tc_grant *grant);

static int check(const struct tc_grant *grant, struct toolcage_error **err)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (tc_path_within(PLACE, grant->fs[i].path))
            return tc_fail(
                err,
                TC_WHY(TOOLCAGE_EUNENFORCEABLE, "lower", "filesystem", "grant it by another path"),
                "the cage keeps what runs the module below " PLACE);
    return 0;
}

static bool word(struct tc_strv *v, const char *option, const char *value)
{
    return tc_strv_add(v, option) && tc_strv_add(v, value);
}

static bool numbered(struct tc_strv *v, const char *option, int64_t value)
{
    return tc_strv_add(v, option) && tc_strv_take(v, tc_format("%" PRId64, value));
}

/* What it may see and change. /tmp is the cage's own. */
static bool add_places(struct tc_strv *v, const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        const char *option = e->access == TC_ACCESS_WRITE ? "--write" : "--read";
        if (e->access != TC_ACCESS_DENY && !word(v, option, e->path))
            return false;
    }
    return word(v, "--write", "/tmp");
}

static bool add_environment(struct tc_strv *v, const struct tc_strv *env)
{
    for (size_t i = 0; i < env->count; i++)
        if (!word(v, "--env", env->items[i]))
            return false;
    return true;
}

static bool start_wasmtime(struct tc_strv *v, const struct tc_grant *grant)
{
    const char *work = tc_setting(&grant->located, "work");
    return tc_strv_add(v, WORKER) && word(v, work ? work : "run", "--engine") &&
           tc_strv_add(v, ENGINE);
}

/* With the C library that the engine needs. */
static bool start_wasmedge(struct tc_strv *v, const struct tc_grant *grant)
{
    (void)grant;
    return tc_strv_add(v, EDGE "/" TC_WASM_EDGE_LOADER) && word(v, "--library-path", EDGE) &&
           word(v, WORKER, "edge") && word(v, "--engine", EDGE "/" TC_WASM_EDGE_LIBRARY);
}

/* Memory that leaks in the engine, or in our own interface, goes with the worker. */
enum { CALLS_MAX = 1000 };

static int64_t calls_of(const struct tc_grant *grant)
{
    const char *said = tc_setting(&grant->settings, "wasm.reuse");
    return tc_streq(said, "same-grant") ? CALLS_MAX : 0;
}

/* What was compiled before is loaded in a moment, and is known by its digest: a worker that has
 * loaded it serves whichever call of the tool comes next. */
static int64_t words_ahead(const struct tc_grant *grant, const struct tc_strv *words)
{
    bool can = tc_setting(&grant->located, "code") && !tc_setting(&grant->located, "work") &&
               !grant->deterministic;
    return can ? (int64_t)words->count : 0;
}

/* A million units stand for a millisecond of processor time; without a bound there is as much as a
 * number holds. */
enum { FUEL_MS = 1000000 };

static bool add_fuel(struct tc_strv *v, const struct tc_grant *grant, struct tc_plan *plan)
{
    int64_t *spend = &plan->limits.cpu_time_ms;
    if (!grant->deterministic)
        return true;
    plan->fuel = *spend && *spend < INT64_MAX / FUEL_MS ? *spend * FUEL_MS : INT64_MAX;
    *spend = 0;
    return numbered(v, "--fuel", plan->fuel);
}

/* A component's refusals are the engine's, which tells nobody. */
static bool add_watch(struct tc_strv *v, const struct tc_grant *grant)
{
    return grant->denials == TC_DENIALS_CALLS || grant->denials == TC_DENIALS_OFF ||
           word(v, "--watched", "1");
}

/* Which module it is, and in what form. */
static bool add_module(struct tc_strv *v, const struct tc_grant *grant)
{
    const struct tc_strv *located = &grant->located;
    const char *const words[][2] = {{"--digest", grant->module_digest},
                                    {"--code", tc_setting(located, "code") ? CODE : NULL},
                                    {"--code-digest", tc_setting(located, "code-digest")},
                                    {"--code-mark", tc_setting(located, "code-mark")}};
    for (size_t i = 0; i < TC_COUNT(words); i++)
        if (words[i][1] && words[i][1][0] && !word(v, words[i][0], words[i][1]))
            return false;
    return true;
}

static bool add_calls(struct tc_strv *v, const struct tc_grant *grant, struct tc_plan *plan)
{
    plan->calls = grant->deterministic ? 0 : calls_of(grant);
    return !plan->calls || (numbered(v, "--calls", plan->calls) &&
                            (plan->bounds || (plan->bounds = strdup(grant->bounds))));
}

/* The worker's own words, then the module's. Its environment is no environment of the worker. */
static bool replace_words(const struct tc_grant *grant, words_of *begin, struct tc_plan *plan)
{
    _autostrv_ struct tc_strv words = plan->argv, env = plan->env;
    struct tc_strv *v = &plan->argv;
    *v = plan->env = (struct tc_strv){0};
    bool fine = begin(v, grant) && word(v, "--module", MODULE) && add_fuel(v, grant, plan) &&
                add_watch(v, grant) && numbered(v, "--memory", plan->limits.memory) &&
                numbered(v, "--cpu-time", plan->limits.cpu_time_ms) && add_module(v, grant) &&
                add_calls(v, grant, plan);
    plan->ahead = fine ? words_ahead(grant, v) : 0;
    fine = fine && add_places(v, grant) && add_environment(v, &env) && tc_strv_add(v, "--");
    for (size_t i = 0; i < words.count; i++)
        fine = fine && tc_strv_add(v, words.items[i]);
    return fine;
}

static bool add_file(struct tc_plan *plan, enum tc_mount_kind kind, const char *path,
                     const char *from, const char *key)
{
    struct tc_mount *m = from ? tc_plan_mount(plan, kind, path, from) : NULL;
    return !from || (m && (m->key = strdup(key)));
}

static int lower(const struct tc_front *front, const struct tc_grant *grant, struct tc_plan *ret,
                 struct toolcage_error **err)
{
    const struct tc_strv *located = &grant->located;
    bool edge = strcmp(front->name, "wasmedge") == 0;
    int r = check(grant, err);
    if (r == 0)
        r = tc_local_lower(grant, front->name, ret, err);
    if (r < 0)
        return r;
    if (!ret->argv.count)
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_EUSAGE, "lower", "command",
                              "give the tool a `command` (its first element is the module's own "
                              "name), or name one in the call"),
                       "there is no command for the module");
    return replace_words(grant, edge ? start_wasmedge : start_wasmtime, ret) &&
                   add_file(ret, TC_MOUNT_SYSTEM, WORKER, tc_setting(located, "worker"),
                            "backend") &&
                   add_file(ret, TC_MOUNT_SYSTEM, edge ? EDGE : ENGINE,
                            tc_setting(located, "engine"), "backend") &&
                   add_file(ret, TC_MOUNT_READ, MODULE, grant->module, "module") &&
                   add_file(ret, TC_MOUNT_READ, CODE, tc_setting(located, "code"), "module")
               ? 0
               : tc_fail_memory(err);
}

#define PROVIDES                                                                 \
    ~(TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET) | TC_CLAUSE_BIT(TC_CLAUSE_NET_ALLOW) | \
      TC_CLAUSE_BIT(TC_CLAUSE_NET_INSPECT))
#define HAS (TC_FEATURE_BIT(PATHS) | TC_LOCAL_FEATURES | TC_FEATURE_BIT(BYTES))

const struct tc_front tc_wasm_front = {
    .name = "wasm",
    .summary = "a WebAssembly module in Wasmtime, inside a process cage of its own",
    .provides = PROVIDES,
    .has = HAS | TC_FEATURE_BIT(DETERMINISTIC),
    .lower = lower,
};

const struct tc_front tc_wasmedge_front = {
    .name = "wasmedge",
    .summary = "a WebAssembly module in WasmEdge, inside a process cage of its own",
    .provides = PROVIDES,
    .has = HAS,
    .lower = lower,
};
