/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The works of the container runtimes: leases, resolved trees, root, supervision and changes are
 * those of every cage of this machine; in the place of our own child stands the runtime, and our
 * PID 1 in its container says how the tool fares, over the same socket. */
#include "backend/oci/works.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/escapes.h"
#include "backend/oci/bundle.h"
#include "backend/oci/inner.h"
#include "backend/oci/lacked.h"
#include "backend/oci/platform.h"
#include "backend/oci/runtime.h"
#include "backend/oci/stages.h"
#include "backend/oci/talk.h"
#include "backend/oci/version.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "cage/cage.h"
#include "cage/enforce.h"
#include "cage/image.h"
#include "cage/proxy.h"
#include "cage/slots.h"
#include "linux/mounts.h"
#include "policy/settings.h"

struct oci {
    struct tc_local_form form;
    const struct tc_oci_runtime *runtime;
    char *path;
    const char *const *platforms; /* of runsc: in the order of trying; NULL: not its kind */
    const char *argv[TC_OCI_WORDS];
    int bundle; /* a copy of the descriptor that the child attaches, kept for the log */
    struct tc_oci_talk talk;
    int image; /* detached; -1: none */
    uid_t uid; /* what the tool sees; the runtime is root of its own */
    gid_t gid;
    struct tc_oci_asked asked; /* of a trial: its version */
    bool listed;               /* what its kernel lacks */
    bool told; /* the tool has ended, which is not said before the runtime has passed all on */
};

static struct oci *own(const struct tc_cage *cage)
{
    return TC_PRIV(cage)->own;
}

static const struct tc_root_point points[] = {{TC_OCI_INIT, false}, {TC_OCI_TALK, true}};

static bool is_sentry(const struct tc_cage *cage)
{
    return own(cage)->runtime->kind == TC_OCI_SENTRY;
}

/* ---- what holds what
 * ------------------------------------------------------------------------------ */

/* Does the control group count the tool's processes, and of the runtime's just one? */
static bool counts_exactly(const struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    return p->group && p->group_limits.pids && own(cage)->runtime->pids == 1;
}

/* What differs where the container has a kernel of its own; NULL: nothing. */
static const char *in_sentry(const struct tc_cage *cage, enum tc_clause clause)
{
    bool grouped = TC_PRIV(cage)->group != NULL;
    switch ((int)clause) {
    case TC_CLAUSE_DEV_MINIMAL:
        return "devices of gVisor's kernel, all but five taken away";
    case TC_CLAUSE_IPC_NONE:
        return "gVisor's own kernel";
    case TC_CLAUSE_SYSCALLS:
        return "gVisor's own kernel, and in it our filter; only calls that it lacks are listed";
    case TC_CLAUSE_NET_NONE:
        return "gVisor's own network, with loopback alone";
    case TC_CLAUSE_NET_ALLOW:
        return "gVisor uses the sockets of a network namespace without interfaces; an egress proxy "
               "outside is the only way out";
    case TC_CLAUSE_NET_UNIX:
        return "our filter in gVisor's kernel";
    case TC_CLAUSE_LIMIT_MEMORY:
        return grouped ? NULL : "RLIMIT_AS, each process by itself";
    default:
        return NULL;
    }
}

static const char *mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    const char *other = is_sentry(cage) ? in_sentry(cage, clause) : NULL;
    if (other)
        return other;
    switch ((int)clause) {
    case TC_CLAUSE_PRIV_NONE:
        return "container without capabilities, no_new_privs";
    case TC_CLAUSE_PROC_OWN:
        return "container's pid namespace and procfs";
    case TC_CLAUSE_PROC_SURVIVORS:
        return "container's pid namespace, in one that ends with the runtime";
    case TC_CLAUSE_DEV_MINIMAL:
        return "bind mounts of five devices";
    case TC_CLAUSE_SYSCALLS:
        return "seccomp: the runtime's list by names, and our filter by arguments";
    case TC_CLAUSE_FS_READ:
    case TC_CLAUSE_FS_WRITE:
    case TC_CLAUSE_FS_STAT:
        return "container's mount namespace";
    case TC_CLAUSE_NET_NONE:
        return "container's network namespace, without interfaces";
    case TC_CLAUSE_LIMIT_PIDS:
        return tc_process_mechanism(p->host, clause, counts_exactly(cage));
    default:
        return tc_process_mechanism(p->host, clause, p->group != NULL);
    }
}

/* ---- before the start
 * ----------------------------------------------------------------------------- */

static int refuse_absent(struct tc_cage *cage, enum tc_oci_kind kind)
{
    const char *names = tc_oci_names(kind);
    _autofree_ char *hint = tc_format("install %s, or name another backend for this tool", names);
    return tc_cage_fail(cage,
                        &(struct tc_why){.code = TOOLCAGE_EBACKEND,
                                         .stage = "runtime",
                                         .subject = names,
                                         .errnum = ENOENT,
                                         .hint = hint},
                        -1, "no container runtime is installed here (%s)", names);
}

static int lease(struct tc_cage *cage)
{
    struct oci *o = calloc(1, sizeof(*o));
    if (!o)
        return tc_cage_fail_memory(cage, "runtime");
    enum tc_oci_kind kind =
        strcmp(cage->works->name, "gvisor") == 0 ? TC_OCI_SENTRY : TC_OCI_KERNEL;
    o->bundle = -1;
    o->asked = TC_OCI_NOT_ASKED;
    o->talk = TC_OCI_NO_TALK;
    o->runtime = tc_oci_find(
        kind, kind == TC_OCI_KERNEL ? tc_setting(&cage->plan->settings, "runtime") : NULL,
        &o->path);
    if (!o->runtime) {
        free(o);
        return refuse_absent(cage, kind);
    }
    o->image = -1;
    o->form = (struct tc_local_form){.sentry = kind == TC_OCI_SENTRY,
                                     .memory = o->runtime->memory,
                                     .pids = o->runtime->pids,
                                     .points = points,
                                     .point_count = TC_COUNT(points),
                                     .mechanism = mechanism};
    int rc = tc_local_lease(cage, &o->form);
    if (cage->priv)
        TC_PRIV(cage)->own = o;
    else
        free(o);
    return rc;
}

static int fail_bundle(struct tc_cage *cage, const char *what, const char *hint)
{
    return tc_cage_fail(cage,
                        &(struct tc_why){.code = TOOLCAGE_ESYSTEM,
                                         .stage = "bundle",
                                         .subject = what,
                                         .errnum = errno,
                                         .hint = hint},
                        -1, "cannot make the container's %s", what);
}

static int put_init(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    int self = tc_process_keep(&p->trees, tc_oci_self());
    if (self < 0)
        return fail_bundle(cage, "PID 1", "the helper's program was replaced: make a new engine");
    return tc_process_mount(&p->trees, self, TC_OCI_INIT, TC_LANDLOCK_READ_FILE)
               ? 0
               : tc_cage_fail_memory(cage, "bundle");
}

static int make_bundle(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct oci *o = own(cage);
    o->bundle = tc_process_keep(&p->trees, tc_oci_bundle(p->trees.id, cage->plan->payload));
    if (o->bundle < 0)
        return fail_bundle(cage, "bundle", "`toolcage doctor` shows what this machine lacks");
    if (is_sentry(cage) && tc_oci_talk_open(&o->talk, o->bundle, p->trees.id) < 0)
        return fail_bundle(cage, "report socket", "try again");
    p->box.bundle = o->bundle;
    p->box.image = o->image;
    tc_oci_command(o->runtime, o->path, o->platforms, cage->plan->net_count > 0, o->argv);
    p->box.runtime = o->argv;
    p->box.hides_groups = o->runtime->hides_groups;
    return 0;
}

/* Limits that the runtime might not live with are set by our PID 1, within what the runtime got. */
static bool fill_inner(const struct tc_cage *cage, struct tc_inner *inner)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    bool counted = counts_exactly(cage);
    for (size_t i = 0; i < p->box.limit_count; i++) {
        bool queues = p->box.limits[i].resource == RLIMIT_MSGQUEUE;
        if (queues && is_sentry(cage)) /* a kernel of its own has queues of its own */
            continue;
        struct tc_inner_limit *l = TC_PUSH(inner->limits, inner->limit_count);
        if (!l)
            return false;
        int resource = p->box.limits[i].resource;
        if (resource == RLIMIT_DATA && is_sentry(cage)) /* gVisor counts the program break alone */
            resource = RLIMIT_AS;
        *l = (struct tc_inner_limit){resource, (int64_t)p->box.limits[i].value.rlim_max};
        counted = counted || l->resource == RLIMIT_NPROC;
    }
    struct tc_inner_limit *pids = counted ? NULL : TC_PUSH(inner->limits, inner->limit_count);
    if (pids)
        *pids = (struct tc_inner_limit){RLIMIT_NPROC, cage->plan->limits.pids + 1};
    return (counted || pids) && tc_strv_copy(&inner->directories, &cage->plan->cwd) &&
           tc_strv_copy(&inner->allow, &cage->plan->syscalls_allow) &&
           tc_strv_copy(&inner->deny, &cage->plan->syscalls_deny);
}

static int tell_inner(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_inner inner = {.uid = own(cage)->uid,
                             .gid = own(cage)->gid,
                             .segments = p->box.segments,
                             .left_us = p->box.last_us ? p->box.last_us - tc_now_us() : 0,
                             .watch = is_sentry(cage) ? TC_WATCH_NOTHING : p->box.watch,
                             .sentry = is_sentry(cage)};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    bool good = fill_inner(cage, &inner);
    if (good)
        tc_inner_visit(&w, &inner);
    int rc = good && !w.failed && !w.out.failed && w.out.len < TC_INNER_MAX
                 ? tc_send(p->child.report, w.out.data, w.out.len, NULL, 0)
                 : -1;
    tc_buf_done(&w.out);
    tc_inner_done(&inner);
    return rc < 0 ? fail_bundle(cage, "PID 1's orders", "try again") : 0;
}

static int refuse_platform(struct tc_cage *cage, const char *why)
{
    const char *platform = tc_setting(&cage->plan->settings, "platform");
    return tc_cage_fail(cage,
                        &(struct tc_why){.code = TOOLCAGE_EUNENFORCEABLE,
                                         .stage = "platform",
                                         .subject = platform,
                                         .hint = "remove [backend.gvisor] platform: then "
                                                 "systrap is used if it works, otherwise "
                                                 "ptrace"},
                        -1, "gVisor's platform %s does not work on this machine: %s", platform,
                        why);
}

static int prepare(struct tc_cage *cage)
{
    const char *wish = tc_setting(&cage->plan->settings, "platform");
    /* the doctor asks again */
    const char *known = cage->plan->grant ? own(cage)->path : NULL;
    if (is_sentry(cage) && !(own(cage)->platforms = tc_oci_platforms(wish, known)))
        return refuse_platform(cage, "there is none of this name");
    if (tc_process_prepare(cage) < 0)
        return -1;
    return cage->plan->image ? tc_image_open(cage, &own(cage)->image) : 0;
}

static int start(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (put_init(cage) < 0 || tc_process_complete(cage) < 0 || make_bundle(cage) < 0 ||
        tc_process_enforced(cage) < 0)
        return -1;
    own(cage)->uid = p->box.uid;
    own(cage)->gid = p->box.gid;
    tc_oci_root_ids(p, &p->box);
    p->box.stages = &tc_oci_stages;
    if (tc_process_start(cage) < 0)
        return -1;
    if (!cage->plan->grant) /* the doctor's */
        tc_oci_ask(&own(cage)->asked, own(cage)->path);
    if (!is_sentry(cage))
        return tell_inner(cage);
    if (tc_oci_talk_watch(&own(cage)->talk, p->child.report, tc_proxy_fd(cage)) < 0)
        return fail_bundle(cage, "report socket", "try again");
    cage->event_fd = own(cage)->talk.poll;
    cage->err_held = own(cage)->platforms[1] != NULL;
    return 0;
}

/* ---- while it runs, and after
 * --------------------------------------------------------------------- */

/* The platform that the container runs on. */
static const char *platform_of(const struct oci *o, bool *ret_other)
{
    struct stat st;
    *ret_other = fstatat(o->bundle, "failed", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
    return o->platforms[o->platforms[1] && *ret_other ? 1 : 0];
}

/* For other calls, and for the result: which one it is, is known with the answer. */
static int learn_platform(struct tc_cage *cage)
{
    struct oci *o = own(cage);
    struct tc_outcome *outcome = cage->outcome;
    bool other = false;
    const char *platform = platform_of(o, &other);
    if (other)
        tc_oci_first_failed(o->path);
    else if (!cage->plan->grant)
        tc_oci_first_works();
    for (size_t i = 0; i < outcome->enforced_count; i++) {
        if (outcome->enforced[i].clause != TC_CLAUSE_SYSCALLS)
            continue;
        free(outcome->enforced[i].mechanism);
        outcome->enforced[i].mechanism =
            tc_format("gVisor's own kernel on %s, and in it our filter; only calls that it lacks "
                      "are listed",
                      platform);
        if (!outcome->enforced[i].mechanism)
            return tc_cage_fail_memory(cage, "enforce");
    }
    return 0;
}

static int event(struct tc_cage *cage)
{
    struct oci *o = own(cage);
    /* what the runtime's process said before, on the socket that PID 1's takes the place of */
    int rc = tc_process_event(cage);
    if (rc == 0 && tc_oci_talk_accept(&o->talk, TC_PRIV(cage)->child.report)) {
        cage->err_held = false;
        rc = learn_platform(cage) < 0 || tell_inner(cage) < 0 ? -1 : tc_process_event(cage);
    }
    if (cage->over && o->runtime->copies) {
        o->told = true;
        cage->over = false;
    }
    return rc;
}

/* crun and runc pass a signal on to PID 1; runsc would end at once, and PID 1 is told. */
static void ask_to_end(struct tc_cage *cage, bool at_once)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (at_once || !is_sentry(cage))
        tc_local_signal(cage, at_once);
    else if (p->child.ready)
        (void)tc_send(p->child.report, "", 1, NULL, 0);
}

/* The runtime ended before PID 1 had spoken. */
static void fail_runtime(struct tc_cage *cage)
{
    const struct oci *o = own(cage);
    bool other = false;
    const char *platform = o->platforms ? platform_of(o, &other) : NULL;
    _autofree_ char *words = tc_oci_last_words(o->bundle, platform ? platform : "log");
    const char *why = words ? words : "";
    cage->err_held = cage->err_held && !other;
    if (platform && tc_setting(&cage->plan->settings, "platform") &&
        !tc_streq(platform, TC_OCI_PTRACE)) {
        (void)refuse_platform(cage, why);
        return;
    }
    (void)tc_cage_fail(cage,
                       &(struct tc_why){.code = TOOLCAGE_EBACKEND,
                                        .stage = "runtime",
                                        .subject = o->path,
                                        .hint = "`toolcage doctor` shows what this machine lacks; "
                                                "or use backend = \"process\""},
                       -1, "%s did not run the container: %s", o->path, why);
}

static void reap(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct oci *o = own(cage);
    if (!cage->outcome->failure.code)
        (void)event(cage);
    cage->over = cage->over || o->told;
    if (!cage->over && !p->child.ready && !cage->outcome->failure.code && !p->asked_us)
        fail_runtime(cage);
    tc_process_reap(cage);
}

static const char *usage(struct tc_cage *cage)
{
    struct oci *o = own(cage);
    if (is_sentry(cage) && !o->listed)
        tc_oci_list_lacked(cage, o->bundle);
    o->listed = true;
    return tc_local_usage(cage);
}

static void destroy(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct oci *o = p ? p->own : NULL;
    tc_local_destroy(cage);
    if (o) {
        tc_oci_talk_close(&o->talk);
        free(tc_oci_version(&o->asked, ""));
        free(o->path);
    }
    free(o);
}

/* ---- the doctor's trial
 * --------------------------------------------------------------------------- */

/* The smallest container, of the runtime that a call would take; nothing to see where none is. A
 * runtime that hangs is ended by the trial's own time limit. */
static bool trial(const char *name, enum tc_oci_kind kind, struct tc_plan *ret)
{
    _autofree_ char *path = NULL;
    if (!tc_oci_find(kind, NULL, &path) || !tc_process_trial(ret))
        return false;
    free(ret->backend);
    ret->backend = strdup(name);
    ret->payload = tc_oci_config(ret, kind);
    return ret->backend && ret->payload;
}

static bool trial_oci(struct tc_plan *ret)
{
    return trial("oci", TC_OCI_KERNEL, ret);
}

static bool trial_gvisor(struct tc_plan *ret)
{
    bool any = trial("gvisor", TC_OCI_SENTRY, ret);
    ret->limits.timeout_ms += TC_OCI_ANSWER_MS; /* of the first platform */
    return any;
}

/* The program, and how it stops system calls. */
static char *tell(struct oci *o)
{
    bool other = false;
    _autofree_ char *version = tc_oci_version(&o->asked, o->runtime->name);
    _autofree_ char *known = version ? tc_known_escapes(version) : NULL;
    if (!o->platforms)
        return version && known ? tc_format("%s, %s%s", o->path, version, known) : strdup(o->path);
    const char *platform = platform_of(o, &other);
    _autofree_ char *why = other ? tc_oci_last_words(o->bundle, o->platforms[0]) : NULL;
    return why ? tc_format("%s --platform=%s; %s: %s", o->path, platform, o->platforms[0], why)
               : tc_format("%s --platform=%s", o->path, platform);
}

static void probe(const struct tc_cage *tried, struct tc_outcome *outcome)
{
    struct tc_probe *row = tc_cage_tried(tried, outcome);
    if (row && row->works)
        row->mechanism = tell(own(tried));
}

#define WORKS                                                                                 \
    .probe = probe, .lease = lease, .prepare = prepare, .start = start, .event = event,       \
    .notify = tc_process_notify, .oomed = tc_local_oomed, .signal = ask_to_end, .reap = reap, \
    .cpu_us = tc_local_cpu_us, .shared_bytes = tc_local_shared_bytes, .usage = usage,         \
    .collect = tc_process_collect, .collected = tc_process_collected,                         \
    .uncollect = tc_process_uncollect, .holds_much = tc_local_holds_much,                     \
    .release = tc_local_release, .destroy = destroy,

const struct tc_works tc_oci_works = {.name = "oci", .trial = trial_oci, WORKS};
const struct tc_works tc_gvisor_works = {.name = "gvisor", .trial = trial_gvisor, WORKS};
