/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The works of the container runtimes: leases, resolved trees, root, supervision and changes are
 * those of every cage of this machine; in the place of our own child stands the runtime, and our
 * PID 1 in its container says how the tool fares, over the same socket. */
#include "backend/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/oci/bundle.h"
#include "backend/oci/filter.h"
#include "backend/oci/inner.h"
#include "backend/oci/lacked.h"
#include "backend/oci/options.h"
#include "backend/oci/own.h"
#include "backend/oci/platform.h"
#include "backend/oci/stages.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "cage/cage.h"
#include "cage/enforce.h"
#include "cage/image.h"
#include "cage/orders.h"
#include "cage/slots.h"
#include "linux/mounts.h"
#include "plan/escapes.h"
#include "policy/settings.h"

static struct tc_oci *own(const struct tc_cage *cage)
{
    return tc_oci_own(TC_PRIV(cage));
}

enum { LIMITS_MAX = 16 };

/* gVisor mounts its own /sys, and what an image has of this name may be a link. */
static const struct tc_root_point points[] = {
    {TC_OCI_INIT, false}, {TC_OCI_TALK, true}, {"/sys", true}};
enum { POINTS_OF_KERNEL = 2 };

static bool is_sentry(const struct tc_cage *cage)
{
    return own(cage)->blank.runtime->kind == TC_OCI_SENTRY;
}

/* ---- what holds what ---- */

/* Does the control group count the tool's processes, and of the runtime's just one? */
static bool counts_exactly(const struct tc_process_cage *p)
{
    return p->group && p->group_limits.pids && tc_oci_own(p)->blank.runtime->pids == 1;
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
        return tc_process_mechanism(p->host, clause, counts_exactly(p));
    default:
        return tc_process_mechanism(p->host, clause, p->group != NULL);
    }
}

/* ---- before the start ---- */

static int refuse_absent(struct tc_cage *cage, enum tc_oci_kind kind)
{
    const char *names = tc_oci_names(kind);
    _autofree_ char *hint = tc_format("install %s, or name another backend for this tool", names);
    return tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "runtime", names, ENOENT, hint), -1,
                        "no container runtime is installed here (%s)", names);
}

static int fail_bundle(struct tc_cage *cage, const char *what, const char *hint)
{
    return tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "bundle", what, errno, hint), -1,
                        "cannot make the container's %s", what);
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

static int fail_blank(struct tc_cage *cage, const char *what)
{
    if (strcmp(what, "image") == 0)
        return tc_image_unmounted(cage);
    return fail_bundle(cage, what,
                       errno == ESTALE ? "the helper's program was replaced: make a new engine"
                                       : "`toolcage doctor` shows what this machine lacks");
}

/* Nobody waits for this call: its container is made now. */
static int outer(struct tc_cage *cage, struct tc_box *box)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const char *what = NULL;
    if (tc_oci_blank_fill(&own(cage)->blank, p->host, p->trees.id, box, &what) < 0)
        return fail_blank(cage, what);
    box->network = p->box.network;
    return 0;
}

/* What stands in the cage's box but the root and what is made of ids, which are the container's
 * already. Limits that the runtime might not live with come this late, too. */
static int tell(struct tc_process_cage *p, int report)
{
    const struct tc_oci *o = tc_oci_own(p);
    struct tc_box box = p->box;
    struct tc_box_limit limits[LIMITS_MAX];
    bool counted = counts_exactly(p);
    if (box.limit_count >= LIMITS_MAX) {
        errno = E2BIG;
        return -1;
    }
    for (size_t i = 0; i < box.limit_count; i++) {
        limits[i] = box.limits[i];
        counted = counted || limits[i].resource == RLIMIT_NPROC;
    }
    if (!counted)
        limits[box.limit_count++] = (struct tc_box_limit){RLIMIT_NPROC, {o->pids, o->pids}};
    box.limits = limits;
    box.uid = o->uid;
    box.gid = o->gid;
    box.root = box.image = -1;
    box.network = NULL;
    return tc_orders_send(report, &box);
}

/* gVisor: all is there before its runtime starts. */
static int make_bundle(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_oci *o = own(cage);
    if (put_init(cage) < 0)
        return -1;
    o->blank.bundle = tc_oci_bundle(p->trees.id, o->blank.config);
    if (o->blank.bundle < 0)
        return fail_bundle(cage, "bundle", "`toolcage doctor` shows what this machine lacks");
    if (tc_oci_talk_open(&o->talk, o->blank.bundle, p->trees.id) < 0)
        return fail_bundle(cage, "report socket", "try again");
    p->box.bundle = o->blank.bundle;
    tc_oci_command(o->blank.runtime, o->blank.path, o->platforms, o->note,
                   cage->plan->net_count > 0, o->blank.argv);
    p->box.runtime = o->blank.argv;
    return 0;
}

/* gVisor's PID 1: limits are set by it, within what the runtime got. */
static bool fill_inner(const struct tc_cage *cage, struct tc_inner *inner)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    bool counted = counts_exactly(p);
    for (size_t i = 0; i < p->box.limit_count; i++) {
        int resource = p->box.limits[i].resource;
        if (resource == RLIMIT_MSGQUEUE) /* a kernel of its own has queues of its own */
            continue;
        struct tc_inner_limit *l = TC_PUSH(inner->limits, inner->limit_count);
        if (!l)
            return false;
        if (resource == RLIMIT_DATA) /* gVisor counts the program break alone */
            resource = RLIMIT_AS;
        *l = (struct tc_inner_limit){resource, (int64_t)p->box.limits[i].value.rlim_max};
        counted = counted || l->resource == RLIMIT_NPROC;
    }
    struct tc_inner_limit *pids = counted ? NULL : TC_PUSH(inner->limits, inner->limit_count);
    if (pids)
        *pids = (struct tc_inner_limit){RLIMIT_NPROC, cage->plan->limits.pids + 1};
    return (counted || pids) && tc_strv_copy(&inner->directories, &cage->plan->cwd) &&
           tc_strv_copy(&inner->deny, &cage->plan->syscalls_deny);
}

static int tell_inner(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_inner inner = {.uid = own(cage)->uid,
                             .gid = own(cage)->gid,
                             .segments = p->box.segments,
                             .left_us = p->box.last_us ? p->box.last_us - tc_now_us() : 0};
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

static void drop(struct tc_oci *o)
{
    tc_oci_talk_close(&o->talk);
    free(tc_oci_version(&o->asked, ""));
    tc_oci_blank_done(&o->blank);
    free(o->note);
    free(o);
}

static struct tc_oci *begin(enum tc_oci_kind kind)
{
    struct tc_oci *o = calloc(1, sizeof(*o));
    if (!o)
        return NULL;
    o->blank = TC_OCI_NO_BLANK;
    o->asked = TC_OCI_NOT_ASKED;
    o->talk = TC_OCI_NO_TALK;
    o->form = (struct tc_local_form){.sentry = kind == TC_OCI_SENTRY,
                                     .points = points,
                                     .point_count = kind == TC_OCI_SENTRY ? TC_COUNT(points)
                                                                          : POINTS_OF_KERNEL,
                                     .mechanism = mechanism,
                                     .own = o};
    return o;
}

static int find_runtime(struct tc_cage *cage, struct tc_oci *o, enum tc_oci_kind kind)
{
    struct tc_oci_blank *b = &o->blank;
    const char *wish = kind == TC_OCI_KERNEL ? tc_setting(&cage->plan->settings, "runtime") : NULL;
    b->runtime = tc_oci_find(kind, wish, &b->path);
    if (!b->runtime || tc_oci_identify(AT_FDCWD, b->path, &b->program) < 0)
        return refuse_absent(cage, kind);
    b->config = b->runtime->takes_filter
                    ? tc_oci_with_filter(cage->plan->payload, &cage->plan->syscalls_allow)
                    : strdup(cage->plan->payload);
    return b->config ? 0 : tc_cage_fail_memory(cage, "runtime");
}

static int make(struct tc_cage *cage)
{
    enum tc_oci_kind kind = tc_oci_kind_of(cage->works->name);
    struct tc_oci *o = begin(kind);
    if (!o)
        return tc_cage_fail_memory(cage, "runtime");
    if (find_runtime(cage, o, kind) < 0) {
        drop(o);
        return -1;
    }
    o->form.memory = o->blank.runtime->memory;
    o->form.pids = o->blank.runtime->pids;
    if (kind == TC_OCI_KERNEL) {
        o->form.outer = outer;
        o->form.tell = tell;
    }
    tc_oci_ready_ask(o, cage->plan);
    int rc = tc_local_lease(cage, &o->form);
    if (!cage->priv)
        drop(o);
    return rc;
}

static int refuse_platform(struct tc_cage *cage, const char *why)
{
    const char *platform = tc_setting(&cage->plan->settings, "platform");
    return tc_cage_fail(
        cage,
        TC_WHY(
            TOOLCAGE_EUNENFORCEABLE, "platform", platform,
            "remove [backend.gvisor] platform: then systrap is used if it works, otherwise ptrace"),
        -1, "gVisor's platform %s does not work on this machine: %s", platform, why);
}

static int find_image(struct tc_cage *cage)
{
    struct tc_oci_blank *b = &own(cage)->blank;
    if (is_sentry(cage))
        return tc_image_open(cage, &TC_PRIV(cage)->box.image);
    b->image = tc_image_find(cage);
    if (b->image < 0)
        return -1;
    return tc_oci_identify(b->image, "", &b->root) < 0 ? tc_image_unmounted(cage) : 0;
}

/* What earlier calls have learnt of this runsc; the doctor asks again. */
static int recall(struct tc_cage *cage)
{
    struct tc_oci *o = own(cage);
    const char *known = cage->plan->grant ? o->blank.path : NULL;
    o->platforms = tc_oci_platforms(tc_setting(&cage->plan->settings, "platform"), known);
    if (!o->platforms)
        return refuse_platform(cage, "there is none of this name");
    o->note = tc_oci_options_note(known);
    return o->note ? 0 : tc_cage_fail_memory(cage, "platform");
}

static int prepare(struct tc_cage *cage)
{
    if ((is_sentry(cage) && recall(cage) < 0) || tc_process_prepare(cage) < 0)
        return -1;
    return cage->plan->image ? find_image(cage) : 0;
}

static void note_waiting(struct tc_cage *cage, int64_t us)
{
    struct tc_timing *t = TC_PUSH(cage->outcome->timings, cage->outcome->timing_count);
    if (t)
        *t = (struct tc_timing){.step = strdup("ready"), .us = us};
}

static int start(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_oci *o = own(cage);
    if ((is_sentry(cage) && make_bundle(cage) < 0) || tc_process_complete(cage) < 0 ||
        tc_process_enforced(cage) < 0)
        return -1;
    o->uid = p->box.uid;
    o->gid = p->box.gid;
    o->pids = (rlim_t)cage->plan->limits.pids + 1;
    tc_oci_root_ids(p->host, p->trees.id, &p->box);
    p->box.stages = &tc_oci_stages;
    int rc = tc_process_start(cage);
    tc_oci_blank_born(&o->blank);
    if (rc < 0)
        return -1;
    if (o->waited_us)
        note_waiting(cage, o->waited_us);
    if (!cage->plan->grant) /* the doctor's */
        tc_oci_ask(&o->asked, o->blank.path);
    if (!is_sentry(cage))
        return 0;
    if (tc_events_add(cage, o->talk.listener, EPOLLIN) < 0)
        return fail_bundle(cage, "report socket", "try again");
    cage->err_held = true; /* runsc's own words are in its log, too */
    return 0;
}

/* ---- while it runs, and after ---- */

/* The platform that the container runs on. */
static const char *platform_of(const struct tc_oci *o, bool *ret_other)
{
    struct stat st;
    *ret_other =
        fstatat(o->blank.bundle, "failed", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
    return o->platforms[o->platforms[1] && *ret_other ? 1 : 0];
}

/* The first platform had said nothing when its time was over. */
static bool was_silent(const struct tc_oci *o)
{
    char how = 0;
    _autofd_ int file = openat(o->blank.bundle, "failed", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return file >= 0 && read(file, &how, 1) == 1 && how == TC_OCI_SILENT;
}

/* For other calls, and for the result: which platform it is, is known with the answer. No tool has
 * run in this container yet. */
static int learn(struct tc_cage *cage)
{
    struct tc_oci *o = own(cage);
    struct tc_outcome *outcome = cage->outcome;
    bool other = false;
    const char *platform = platform_of(o, &other);
    if (other)
        tc_oci_first_failed(o->blank.path, was_silent(o));
    else if (!cage->plan->grant)
        tc_oci_first_works(o->blank.path);
    tc_oci_options_learn(o->blank.path, o->blank.bundle);
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

/* In the report socket's place comes PID 1's, once. */
static bool comes_first(struct tc_cage *cage)
{
    _autofd_ int fd = tc_oci_talk_accept(&own(cage)->talk);
    if (fd < 0)
        return false;
    /* at once, and whoever has a copy of it: the keeper is to hear of this */
    (void)shutdown(TC_PRIV(cage)->child.report, SHUT_RDWR);
    return tc_events_report(cage, fd) == 0;
}

static int event(struct tc_cage *cage)
{
    bool ran = cage->running;
    /* what the runtime's process said before, on the socket that PID 1's takes the place of */
    int rc = tc_process_event(cage);
    if (rc == 0 && comes_first(cage)) {
        cage->err_held = false;
        rc = learn(cage) < 0 || tell_inner(cage) < 0 ? -1 : tc_process_event(cage);
    }
    if (cage->running && !ran)
        tc_oci_ready_next(TC_PRIV(cage), cage->plan);
    /* Nothing of the tool's is left, and what the runtime would clear away, one after the other,
     * goes with its namespaces. */
    if (cage->over && !TC_PRIV(cage)->child.reaped)
        (void)kill(TC_PRIV(cage)->child.pid, SIGKILL);
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
    const struct tc_oci *o = own(cage);
    bool other = false;
    const char *platform = o->platforms ? platform_of(o, &other) : NULL;
    _autofree_ char *words = tc_oci_last_words(o->blank.bundle, platform ? platform : "log");
    const char *why = words ? words : "";
    if (platform && tc_setting(&cage->plan->settings, "platform") &&
        !tc_streq(platform, TC_OCI_PTRACE)) {
        (void)refuse_platform(cage, why);
        return;
    }
    (void)tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EBACKEND, "runtime", o->blank.path,
               "`toolcage doctor` shows what this machine lacks; or use backend = \"process\""),
        -1, "%s did not run the container: %s", o->blank.path, why);
}

static void reap(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (!cage->outcome->failure.code)
        (void)event(cage);
    if (!cage->over && !p->child.ready && !cage->outcome->failure.code && !p->asked_us)
        fail_runtime(cage);
    tc_process_reap(cage);
}

static const char *usage(struct tc_cage *cage)
{
    struct tc_oci *o = own(cage);
    if (is_sentry(cage) && !o->listed)
        tc_oci_list_lacked(cage, o->blank.bundle);
    o->listed = true;
    return tc_local_usage(cage);
}

static bool destroy(struct tc_cage *cage, enum tc_pace pace)
{
    struct tc_oci *o = cage->priv ? own(cage) : NULL;
    if (o)
        tc_oci_ready_over(o);
    if (!tc_local_destroy(cage, pace))
        return false;
    if (o)
        drop(o);
    return true;
}

/* ---- the doctor's trial ---- */

/* The smallest container, of the runtime that a call would take; nothing to see where none is. A
 * runtime that hangs is ended by the trial's own time limit. */
static bool plan_trial(const struct tc_works *works, struct tc_plan *ret)
{
    enum tc_oci_kind kind = tc_oci_kind_of(works->name);
    _autofree_ char *path = NULL;
    if (!tc_oci_find(kind, NULL, &path) || !tc_process_trial(works, ret))
        return false;
    ret->payload = tc_oci_config(ret, kind);
    if (kind == TC_OCI_SENTRY)
        ret->limits.timeout_ms += TC_OCI_ANSWER_MS; /* of the first platform */
    return ret->payload;
}

/* The program, what it says of its version, and on what platform it ran. */
static char *describe_sentry(const struct tc_oci *o, const char *version)
{
    bool other = false;
    const char *platform = platform_of(o, &other);
    _autofree_ char *why = other ? tc_oci_last_words(o->blank.bundle, o->platforms[0]) : NULL;
    return tc_format("%s, %s, --platform=%s%s%s%s%s", o->blank.path,
                     version ? version : "of an unknown version", platform, why ? "; " : "",
                     why ? o->platforms[0] : "", why ? ": " : "", why ? why : "");
}

static char *describe(struct tc_oci *o)
{
    _autofree_ char *version = tc_oci_version(&o->asked, o->blank.runtime->name);
    _autofree_ char *known = version ? tc_known_escapes(version) : NULL;
    if (o->platforms)
        return describe_sentry(o, version);
    return version && known ? tc_format("%s, %s%s", o->blank.path, version, known)
                            : strdup(o->blank.path);
}

static void tell_tried(const struct tc_cage *tried, struct tc_outcome *outcome)
{
    struct tc_probe *row = tc_cage_tried(tried, outcome);
    if (row && row->works)
        row->mechanism = describe(own(tried));
}

static const struct tc_trial trial = {plan_trial, tell_tried};

#define WORKS(backend)                                                                           \
    {                                                                                            \
        .name = (backend), .make = make, .prepare = prepare, .start = start, .event = event,     \
        .signal = ask_to_end, .reap = reap, .usage = usage, .destroy = destroy, .trial = &trial, \
    }

const struct tc_works tc_oci_works = WORKS("oci");
const struct tc_works tc_gvisor_works = WORKS("gvisor");
