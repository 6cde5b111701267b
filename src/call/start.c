/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * From a call to a job: resolve, route, lower, submit. A refusal by any step ends the call with
 * a result; start itself fails only for misuse, lack of memory and a lost helper. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "call/bridge.h"
#include "call/call.h"
#include "call/exchanges.h"
#include "call/host/programs.h"
#include "call/inputs.h"
#include "call/live.h"
#include "call/packaged.h"
#include "call/plan_cache.h"
#include "call/route.h"
#include "call/settle.h"
#include "provenance/provenance.h"
#include "spawn/own.h"

static int fail_system(struct toolcage_error **err, const char *what)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", what, errno,
                                "see whether this process is at its limit of open files (ulimit "
                                "-n) or of file sizes (ulimit -f)"),
                   "cannot start the call: %s failed", what);
}

static void note(struct toolcage_call *call, const char *step, int64_t since)
{
    if (call->step_count < TC_COUNT(call->steps))
        call->steps[call->step_count++] =
            (struct tc_timing){.step = (char *)(uintptr_t)step, .us = tc_now_us() - since};
}

/* Modules and images show nothing of the host's system directories. */
static int add_system(struct toolcage_engine *engine, const char *state, struct tc_grant *grant,
                      struct toolcage_error **err)
{
    if (grant->image || grant->module || tc_call_packaged(engine, state, &grant->system))
        return 0;
    return tc_fail_memory(err);
}

int tc_call_resolve(struct toolcage_call *call, bool explain, const char *supposed,
                    struct tc_grant *ret, struct toolcage_error **err)
{
    _autosurroundings_ struct tc_surroundings here = {0};
    int r = tc_surroundings_begin(&here, err);
    if (r < 0)
        return r;
    struct tc_request request = {.tool = call->tool,
                                 .argv = &call->argv,
                                 .arguments = call->arguments,
                                 .narrow = call->narrow,
                                 .narrow_count = call->narrow_count,
                                 .explain = explain,
                                 .supposed = supposed,
                                 .terminal = call->rows > 0,
                                 .watched = tc_call_is_live(call),
                                 .open = true};
    r = tc_policy_resolve(call->policy, &request, &here.facts, ret, err);
    ret->umask = explain ? 0 : tc_caller_umask();
    if (r == 0)
        r = tc_programs_extend(call->policy, &here.facts, ret, err);
    if (r == 0)
        r = tc_bridge_extend(call->policy, &here.facts, ret, err);
    if (r == 0 && !call->installs)
        r = tc_install_extend(call->policy, &here.facts, explain, ret, err);
    else if (r == 0 && !explain)
        r = tc_install_begin(call->policy, &here.facts, ret, &call->stage, err);
    else if (r == 0)
        r = tc_install_suppose(call->policy, &here.facts, ret, err);
    return r ? r : add_system(call->engine, here.state, ret, err);
}

static bool chose_backend(const struct toolcage_call *call)
{
    for (size_t i = 0; i < call->narrow_count; i++)
        if (strcmp(call->narrow[i].key, "backend") == 0)
            return true;
    return false;
}

static bool fill_field(char **field, const char *text)
{
    if (*field || !text)
        return true;
    *field = strdup(text);
    return *field != NULL;
}

/* Servers and terminals stream for as long as they run. */
static enum tc_stream_mode stream_mode(const struct toolcage_call *call)
{
    return call->rows || call->work || (call->tool && tc_startswith(call->tool, "server."))
               ? TC_STREAM_ALL
               : TC_STREAM_KEPT;
}

/* Is a file of the policy within one of these paths? */
static bool has_policy_in(const struct tc_grant *grant, const struct tc_strv *places)
{
    const char *path;
    for (size_t f = 0; (path = tc_grant_policy_path(grant, f)); f++)
        for (size_t i = 0; i < places->count; i++)
            if (tc_path_within(places->items[i], path))
                return true;
    return false;
}

/* Records the paths that this grant makes writable, before the tool can write. toolcage's own
 * files below them are added to the plan: the tool must not change them. */
static bool note_places(const struct tc_grant *grant, struct tc_plan *plan)
{
    _autostrv_ struct tc_strv places = {0};
    for (size_t i = 0; i < grant->fs_count; i++) {
        const struct tc_fs_entry *entry = &grant->fs[i];
        const char *place = entry->bound ? entry->bound : entry->from;
        if (entry->access == TC_ACCESS_WRITE && place && !entry->setup &&
            !tc_strv_add(&places, place))
            return false;
    }
    const char *policy = has_policy_in(grant, &places) ? tc_grant_policy_path(grant, 0) : NULL;
    return tc_spawn_own_within(&places, &plan->extended) && tc_provenance_states(&plan->records) &&
           tc_provenance_note(&places, policy, policy ? tc_policy_digest(grant->policy) : NULL);
}

/* A call on its way to the helper. */
struct start {
    struct toolcage_call *call;
    const struct tc_planner *planner;
    struct tc_plan plan;
    char **request; /* the call does not start: its approval is requested; else NULL */
};

/* For the record of what becomes of its staged changes. */
static bool fill_rules(const struct toolcage_call *call, struct tc_plan *plan)
{
    const struct tc_audit_rules *rules = tc_policy_audit(call->policy);
    plan->audit = rules ? tc_settle_rules(rules) : NULL;
    return !rules || plan->audit;
}

static int lower_grant(struct start *s, struct toolcage_error **err)
{
    struct toolcage_call *call = s->call;
    struct tc_plan *plan = &s->plan;
    int r = tc_planner_lower(s->planner, &call->grant, plan, err);
    if (r < 0)
        return r;
    bool filled =
        (call->live_in[0] || note_places(&call->grant, plan)) && tc_live_plan(call, plan) &&
        fill_field(&plan->call, call->id) && fill_field(&plan->tool, call->grant.tool) &&
        fill_field(&plan->backend, s->planner->name) &&
        fill_field(&plan->grant, call->grant.digest) && fill_field(&plan->session, call->session) &&
        fill_field(&plan->bounds, call->grant.bounds) && fill_rules(call, plan);
    plan->replays = call->grant.net_count && tc_call_is_replay(call);
    plan->stream = call->output ? stream_mode(call) : TC_STREAM_NONE;
    plan->terminal = call->rows > 0;
    plan->rows = call->rows;
    plan->columns = call->columns;
    return filled ? 0 : tc_fail_memory(err);
}

/* The plan, after room for a job. */
static int write_plan(struct tc_plan *plan, struct tc_buf *packet, struct toolcage_error **err)
{
    static const struct tc_job none;
    struct tc_wire wire = TC_WIRE_PUT_INIT;
    tc_buf_add(&wire.out, &none, sizeof(none));
    tc_plan_visit(&wire, plan);
    *packet = wire.out;
    return wire.failed ? tc_fail_memory(err) : 0;
}

/* Sends the plan inside the packet, or in a sealed memory file. */
static int send_plan(struct toolcage_call *call, const struct tc_job *job, struct tc_buf *packet,
                     const int *fds, size_t count, struct toolcage_error **err)
{
    int r = tc_engine_submit_inside(call->engine, job, packet, fds, count, err);
    if (r != 0)
        return r < 0 ? r : 0;
    _autofd_ int plan =
        tc_memfd("toolcage-plan", packet->data + sizeof(*job), packet->len - sizeof(*job));
    if (plan < 0)
        return fail_system(err, "memfd_create");
    int all[5] = {fds[0], plan};
    memcpy(all + 2, fds + 1, (count - 1) * sizeof(*fds));
    return tc_engine_submit(call->engine, job, all, count + 1, err);
}

static int make_input(struct toolcage_call *call, int *ret_fd, enum tc_stdin_kind *ret_kind,
                      struct toolcage_error **err)
{
    const struct tc_grant *grant = &call->grant;
    if (grant->stdin_bytes && call->input.given)
        return tc_fail(
            err, TC_WHY(TOOLCAGE_EUSAGE, "start", "stdin", "pass it as an argument of the tool"),
            "the policy makes the standard input of tool %s itself; the call cannot give one",
            grant->tool ? grant->tool : "(a bare command)");
    const char *bytes = grant->stdin_bytes ? grant->stdin_bytes : call->input.bytes;
    size_t length = grant->stdin_bytes ? grant->stdin_len : call->input.length;
    *ret_kind = TC_STDIN_PIPE;
    if (call->input.pipe >= 0) {
        *ret_fd = fcntl(call->input.pipe, F_DUPFD_CLOEXEC, 0);
        return *ret_fd < 0 ? fail_system(err, "dup") : 0;
    }
    if (!bytes) {
        *ret_kind = TC_STDIN_NONE;
        return 0;
    }
    *ret_fd = tc_filled_pipe(bytes, length);
    if (*ret_fd >= 0)
        return 0;
    *ret_kind = TC_STDIN_BYTES;
    *ret_fd = tc_memfd("toolcage-stdin", bytes, length);
    return *ret_fd < 0 ? fail_system(err, "memfd_create") : 0;
}

static int submit(struct start *s, struct toolcage_error **err)
{
    struct toolcage_call *call = s->call;
    _autofd_ int input = -1, secrets = -1, exchanges = -1;
    _autobuf_ struct tc_buf packet = TC_BUF_INIT;
    enum tc_stdin_kind kind = TC_STDIN_NONE;
    int r = write_plan(&s->plan, &packet, err);
    if (r == 0)
        r = make_input(call, &input, &kind, err);
    /* a replay sends no request; the session's proxy has the secrets */
    if (r == 0 && !tc_call_is_replay(call) && !call->live_in[0])
        r = tc_secrets_read(call->policy, &call->grant, &secrets, err);
    if (r == 0 && !call->live_in[0])
        r = tc_exchanges_begin(call, &exchanges, err);
    if (r < 0)
        return r;
    const struct tc_job job = {.kind = TC_JOB_CALL,
                               .stdin_kind = kind,
                               .secrets = secrets >= 0,
                               .exchanges = exchanges >= 0,
                               .inside = true};
    int fds[4] = {call->peer};
    size_t count = 1;
    if (input >= 0)
        fds[count++] = input;
    if (secrets >= 0)
        fds[count++] = secrets;
    if (exchanges >= 0)
        fds[count++] = exchanges;
    return send_plan(call, &job, &packet, fds, count, err);
}

/* An install is configured by the policy alone: no settings of a call apply. */
static int check_setup(const struct toolcage_call *call, struct toolcage_error **err)
{
    bool said = call->argv.count || call->arguments || call->narrow_count || call->session ||
                call->input.given || call->rows;
    if (!call->installs || !said)
        return 0;
    return tc_fail(err, TC_WHY(TOOLCAGE_EUSAGE, "start", call->tool, "set it in the policy"),
                   "an install phase takes no arguments, no input and no options of a call");
}

/* Features that the call needs in addition to its grant. */
static tc_features wanted(const struct toolcage_call *call)
{
    return (call->rows ? TC_FEATURE_BIT(TERMINAL) : 0) |
           (call->session ? TC_FEATURE_BIT(SESSION) : 0) |
           (tc_call_is_live(call) ? TC_FEATURE_BIT(LIVE) : 0) |
           (call->installs ? TC_FEATURE_BIT(INSTALL) : 0);
}

static int resolve(struct start *s, struct toolcage_error **err)
{
    int r = tc_call_resolve(s->call, false, NULL, &s->call->grant, err);
    return r < 0 ? r : tc_live_check(s->call, err);
}

/* What this host has for the backend. */
static int find_backend(struct toolcage_call *call, const char *name, struct toolcage_error **err)
{
    const struct tc_locator *locator = tc_locator_find(name);
    struct tc_search search = tc_errand_search(call->engine);
    search.work = call->work;
    search.module = call->module;
    search.lock = &call->image;
    return locator && locator->find ? locator->find(locator, &search, &call->grant, err) : 0;
}

/* An image would not help where the backend itself is missing: then that is the error. */
static int prefer_absence(struct toolcage_call *call, int r, struct toolcage_error **err)
{
    struct toolcage_error *absent = NULL;
    if (r != TOOLCAGE_EUNENFORCEABLE || !err || !tc_streq(tc_error_subject(*err), "image") ||
        find_backend(call, call->grant.backend, &absent) == 0)
        return r;
    r = tc_error_code(absent);
    tc_error_free(*err);
    *err = absent;
    return r;
}

static int route(struct start *s, struct toolcage_error **err)
{
    struct toolcage_call *call = s->call;
    if (s->request && !call->grant.approval)
        return 1;
    bool answered = s->request || call->approval.digest[0] || call->approval.refusal;
    int r = tc_route_admit(call->policy, &call->grant, answered, err);
    if (r == 0 && call->grant.fallback.count)
        r = tc_choose(call->engine, call->policy, &call->grant, err);
    if (r < 0)
        return r;
    r = tc_route(call->policy, &call->grant, chose_backend(call), wanted(call), &s->planner, err);
    if (r == 0 && s->planner->flags & TC_BACKEND_NO_BOUNDARY && tc_call_is_replay(call))
        return tc_fail(err,
                       TC_WHY(TOOLCAGE_EUNENFORCEABLE, "route", call->grant.backend,
                              "replay the call under a policy with another backend"),
                       "backend %s isolates nothing, so a replay could change the host",
                       call->grant.backend);
    return prefer_absence(call, r, err);
}

static int seal(struct start *s, struct toolcage_error **err)
{
    struct toolcage_call *call = s->call;
    int r = tc_image_extend(call->policy, false, &call->grant, &call->image, err);
    return r < 0 ? r : tc_grant_digest(&call->grant, err);
}

static int locate(struct start *s, struct toolcage_error **err)
{
    return find_backend(s->call, s->planner->name, err);
}

static int pass_gate(struct start *s, struct toolcage_error **err)
{
    return tc_call_pass_gate(s->call, s->request, err);
}

static int record(struct start *s, struct toolcage_error **err)
{
    return tc_call_record(s->call, err);
}

static int check_proved(struct start *s, struct toolcage_error **err)
{
    return tc_call_check_proved(s->call, err);
}

/* In this order; named steps are among the call's timings. */
static const struct {
    const char *name;
    int (*run)(struct start *s, struct toolcage_error **err);
} steps[] = {{"resolve", resolve},   {NULL, route},        {NULL, seal},      {NULL, locate},
             {"lower", lower_grant}, {NULL, check_proved}, {NULL, pass_gate}, {NULL, check_proved},
             {NULL, record},         {"submit", submit}};
/* The steps that every call takes, also with a known plan; a request for approval takes none. */
enum { LAST_STEPS = 3 };

/* `request`: goes no further than the gate; 1: it needs no approval. */
static int go(struct toolcage_call *call, char **request, struct toolcage_error **err)
{
    struct tc_plan_cache *plans = tc_engine_plans(call->engine);
    struct start s = {.call = call, .request = request};
    size_t count = TC_COUNT(steps) - (request ? LAST_STEPS : 0);
    struct tc_plan *known = NULL;
    int64_t now = tc_now_us();
    int r = check_setup(call, err);
    if (r == 0 && !request)
        r = tc_plan_cache_find(plans, call, &known, err);
    if (r == 0 && known) {
        note(call, "again", now);
        s.plan = *known;
    }
    for (size_t i = known ? count - LAST_STEPS : 0; r == 0 && i < count; i++) {
        now = tc_now_us();
        r = steps[i].run(&s, err);
        if (r == 0 && steps[i].name)
            note(call, steps[i].name, now);
    }
    if (known)
        return r;
    if (r == 0 && !request)
        tc_plan_cache_keep(plans, call, &s.plan);
    tc_plan_done(&s.plan);
    return r;
}

static bool is_misuse(int code)
{
    return code == TOOLCAGE_EUSAGE || code == TOOLCAGE_EMEMORY || code == TOOLCAGE_EFORKED ||
           code == TOOLCAGE_EHELPER;
}

/* A refusal by policy, or a failure to start: the difference is the status. */
static int64_t status_of(int code)
{
    switch (code) {
    case TOOLCAGE_EDENIED:
    case TOOLCAGE_EARGUMENTS:
    case TOOLCAGE_EUNTRUSTED:
    case TOOLCAGE_EUNENFORCEABLE:
    case TOOLCAGE_EPATH:
    case TOOLCAGE_ENOT_FOUND:
        return TOOLCAGE_STATUS_DENIED;
    case TOOLCAGE_ECANCELLED:
        return TOOLCAGE_STATUS_CANCELLED;
    default:
        return TOOLCAGE_STATUS_ERROR;
    }
}

static void close_sent(struct toolcage_call *call)
{
    if (call->peer >= 0)
        (void)close(TAKE_FD(call->peer));
    if (call->input.pipe >= 0)
        (void)close(TAKE_FD(call->input.pipe));
}

static int refuse_call(struct toolcage_call *call, struct toolcage_error *why, int code,
                       struct toolcage_error **err)
{
    struct tc_outcome none = {
        .status = status_of(code), .exit_code = -1, .memory_peak = -1, .pids_peak = -1};
    none.failure.clause = -1;
    /* a grant that was not fully resolved has no digest */
    if (call->step_count && call->grant.policy && !call->grant.digest[0])
        (void)tc_grant_digest(&call->grant, NULL); /* the result of a refused call has it, too */
    /* The helper will not write to our end: closing the other end makes ours readable for good. */
    close_sent(call);
    return tc_call_finish(call, &none, why, err);
}

/* Nothing was sent: the call can be started again. */
static void forget_start(struct toolcage_call *call)
{
    tc_plan_cache_leave(tc_engine_plans(call->engine), call);
    tc_grant_done(&call->grant);
    tc_stage_free(TAKE(call->stage));
    if (call->image >= 0)
        (void)close(TAKE_FD(call->image));
    if (call->exchanges >= 0)
        (void)close(TAKE_FD(call->exchanges));
    call->step_count = 0;
}

int tc_call_approval(struct toolcage_call *call, char **ret_json, struct toolcage_error **err)
{
    int r = tc_call_check_new(call, "start", err);
    if (r < 0)
        return r;
    r = go(call, ret_json, err);
    forget_start(call);
    if (r <= 0)
        return r;
    *ret_json = strdup("{\"needed\":false}");
    return *ret_json ? 0 : tc_fail_memory(err);
}

int tc_call_start(struct toolcage_call *call, struct toolcage_error **err)
{
    int r = tc_call_check_new(call, "start", err);
    if (r < 0)
        return r;
    struct toolcage_error *why = NULL;
    call->started_us = tc_now_us();
    if (atomic_load(&call->cancelled))
        r = tc_fail(&why, &(struct tc_why){.code = TOOLCAGE_ECANCELLED, .stage = "start"},
                    "the call was cancelled before it started");
    else
        r = go(call, NULL, &why);
    if (r < 0 && !is_misuse(r))
        return refuse_call(call, why, r, err);
    if (r == 0) {
        call->state = TC_CALL_RUNNING;
        close_sent(call);
        return 0;
    }
    tc_call_record_unstarted(call);
    forget_start(call); /* a failed start may be retried */
    if (err)
        *err = why;
    else
        tc_error_free(why);
    return r;
}
