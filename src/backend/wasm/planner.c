/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The planner of the wasm backends: a process cage in which toolcage-wasm runs the module. The cage
 * confines the engine, even if a module compromises the engine. Inside it, the module reaches only
 * the paths that the engine passes to it. */
#include <string.h>
#include <toolcage/error.h>

#include "base/path.h"
#include "cage/lower.h"
#include "policy/settings.h"
#include "wasm/order.h"
#include "wasm/version.h"

/* Where the cage shows what runs the module: Landlock allows reading and executing there. */
#define PLACE TC_PLACE_OWN
#define WORKER PLACE "/toolcage-wasm"
#define ENGINE PLACE "/engine.so"
#define MODULE PLACE "/module.wasm"
#define CODE PLACE "/module.cwasm"
#define EDGE PLACE "/wasmedge"

static int check_grant(const struct tc_grant *grant, struct toolcage_error **err)
{
    for (size_t i = 0; i < grant->fs_count; i++)
        if (tc_path_within(PLACE, grant->fs[i].path))
            return tc_fail(
                err,
                TC_WHY(TOOLCAGE_EUNENFORCEABLE, "lower", "filesystem", "grant it by another path"),
                "the cage needs " PLACE " for the engine and the module");
    return 0;
}

/* Paths that the module may read or write. /tmp is private. The strings still belong to the grant.
 */
static bool add_places(struct tc_wasm_order *order, const struct tc_grant *grant)
{
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *e = &grant->fs[i];
        struct tc_strv *list = e->access == TC_ACCESS_WRITE ? &order->write : &order->read;
        if (e->access != TC_ACCESS_DENY && !tc_strv_add(list, e->path))
            return false;
    }
    return tc_strv_add(&order->write, "/tmp");
}

/* WasmEdge also needs its C library's loader. */
static bool add_command(struct tc_plan *plan, bool edge)
{
    static const char *const words[] = {EDGE "/" TC_WASM_EDGE_LOADER, "--library-path", EDGE};
    for (size_t i = 0; edge && i < TC_COUNT(words); i++)
        if (!tc_strv_add(&plan->argv, words[i]))
            return false;
    return tc_strv_add(&plan->argv, WORKER);
}

/* A reused worker ends after this many calls, which bounds memory leaks of the engine. */
enum { CALLS_MAX = 1000 };

static int64_t calls_of(const struct tc_grant *grant)
{
    const char *said = tc_setting(&grant->settings, "wasm.reuse");
    return tc_streq(said, "same-grant") ? CALLS_MAX : 0;
}

/* A deterministic call has fuel instead of CPU time: a million units per millisecond. */
enum { FUEL_MS = 1000000 };

static int64_t take_fuel(const struct tc_grant *grant, int64_t *spend)
{
    if (!grant->deterministic)
        return 0;
    int64_t fuel = *spend && *spend < INT64_MAX / FUEL_MS ? *spend * FUEL_MS : INT64_MAX;
    *spend = 0;
    return fuel;
}

/* The string still belongs to the grant; NULL: absent or empty. */
static char *located(const struct tc_grant *grant, const char *name)
{
    const char *text = tc_setting(&grant->located, name);
    return text && *text ? (char *)(uintptr_t)text : NULL;
}

/* The task of toolcage-wasm for this module: how it runs, and its limits. */
static struct tc_wasm_order describe_module(const struct tc_grant *grant, bool edge,
                                            const struct tc_plan *plan)
{
    static char run[] = "run", in_edge[] = "edge", engine[] = ENGINE, module[] = MODULE,
                edge_engine[] = EDGE "/" TC_WASM_EDGE_LIBRARY, code[] = CODE;
    char *work = located(grant, "work"), *digest = grant->module_digest;
    struct tc_wasm_order order = {.work = edge   ? in_edge
                                          : work ? work
                                                 : run,
                                  .engine = edge ? edge_engine : engine,
                                  .module = module,
                                  .digest = digest && *digest ? digest : NULL,
                                  .calls = plan->calls,
                                  .memory = plan->limits.memory,
                                  .fuel = plan->fuel,
                                  .cpu_time = plan->limits.cpu_time_ms,
                                  /* refused for a component: its engine reports no denials */
                                  .watched = grant->denials != TC_DENIALS_CALLS &&
                                             grant->denials != TC_DENIALS_OFF};
    if (located(grant, "code")) {
        order.code = code;
        order.code_digest = located(grant, "code-digest");
        order.code_stamp = located(grant, "code-stamp");
    }
    return order;
}

/* The worker receives the module's arguments and environment, and has none itself. Compiled code
 * loads quickly and is identified by its digest: a worker that has loaded it can serve any next
 * call of the tool. */
static bool replace_command(const struct tc_grant *grant, bool edge, struct tc_plan *plan)
{
    (void)tc_plan_bind(plan); /* a worker has no layers */
    plan->fuel = take_fuel(grant, &plan->limits.cpu_time_ms);
    plan->calls = grant->deterministic ? 0 : calls_of(grant);
    plan->ahead = located(grant, "code") && !located(grant, "work") && !grant->deterministic;
    struct tc_wasm_order order = describe_module(grant, edge, plan);
    order.args = plan->argv;
    order.env = plan->env;
    plan->argv = plan->env = (struct tc_strv){0};
    bool fine = (!plan->calls || plan->bounds || (plan->bounds = strdup(grant->bounds))) &&
                add_places(&order, grant) && add_command(plan, edge) &&
                tc_plan_tell(plan, &tc_wasm_order_fields, &order, TC_WASM_OF_CALL);
    struct tc_strv *lists[] = {&order.args, &order.env, &order.read, &order.write};
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_strv_done(lists[i]);
    return fine;
}

static bool add_file(struct tc_plan *plan, enum tc_mount_kind kind, const char *path,
                     const char *from, const char *key)
{
    struct tc_mount *m = from ? tc_plan_mount(plan, kind, path, from) : NULL;
    return !from || (m && (m->key = strdup(key)));
}

static int lower_wasm(const struct tc_planner *planner, const struct tc_grant *grant,
                      struct tc_plan *ret, struct toolcage_error **err)
{
    bool edge = strcmp(planner->name, "wasmedge") == 0;
    int r = check_grant(grant, err);
    if (r == 0)
        r = tc_local_lower(grant, planner->name, ret, err);
    if (r < 0)
        return r;
    if (!ret->argv.count)
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_EUSAGE, "lower", "command",
                              "give the tool a `command` (its first element is the module's own "
                              "name), or name one in the call"),
                       "there is no command for the module");
    return replace_command(grant, edge, ret) &&
                   add_file(ret, TC_MOUNT_SYSTEM, WORKER, located(grant, "worker"), "backend") &&
                   add_file(ret, TC_MOUNT_SYSTEM, edge ? EDGE : ENGINE, located(grant, "engine"),
                            "backend") &&
                   add_file(ret, TC_MOUNT_READ, MODULE, grant->module, "module") &&
                   add_file(ret, TC_MOUNT_READ, CODE, located(grant, "code"), "module")
               ? 0
               : tc_fail_memory(err);
}

#define PROVIDES                                                                 \
    ~(TC_CLAUSE_BIT(TC_CLAUSE_NET_SECRET) | TC_CLAUSE_BIT(TC_CLAUSE_NET_ALLOW) | \
      TC_CLAUSE_BIT(TC_CLAUSE_NET_INSPECT))
#define HAS (TC_FEATURE_BIT(PATHS) | TC_LOCAL_FEATURES | TC_FEATURE_BIT(BYTES))

const struct tc_planner tc_wasm_planner = {
    .name = "wasm",
    .summary = "a WebAssembly module in Wasmtime, inside a process cage",
    .provides = PROVIDES,
    .has = HAS | TC_FEATURE_BIT(DETERMINISTIC),
    .lower = lower_wasm,
};

const struct tc_planner tc_wasmedge_planner = {
    .name = "wasmedge",
    .summary = "a WebAssembly module in WasmEdge, inside a process cage",
    .provides = PROVIDES,
    .has = HAS,
    .lower = lower_wasm,
};
