/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The executor of crun and runc, with functions shared with gVisor's. Leases, resolved trees, root,
 * supervision and changes are the same as for every local cage. The cloned child becomes the
 * runtime, and PID 1 in the container reports to the helper over the same socket. */
#include "backend/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/oci/bundle.h"
#include "backend/oci/config.h"
#include "backend/oci/own.h"
#include "base/fd.h"
#include "base/strv.h"
#include "cage/cage.h"
#include "plan/backend.h"
#include "policy/settings.h"

static struct tc_oci *oci_of(const struct tc_cage *cage)
{
    return tc_oci_own(TC_PRIV(cage));
}

enum { LIMITS_MAX = 16 };

static const struct tc_root_point points[] = {{TC_OCI_INIT, false}, {TC_OCI_TALK, true}};

/* ---- mechanisms of the clauses ---- */

bool tc_oci_counts_exactly(const struct tc_process_cage *p)
{
    return p->group && p->group_limits.pids && tc_oci_own(p)->template.runtime->pids == 1;
}

const char *tc_oci_mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    switch ((int)clause) {
    case TC_CLAUSE_PRIV_NONE:
        return "container without capabilities, no_new_privs";
    case TC_CLAUSE_PROC_OWN:
        return "container's pid namespace and procfs";
    case TC_CLAUSE_PROC_SURVIVORS:
        return "container's pid namespace, in one that ends with the runtime";
    case TC_CLAUSE_DEV_MINIMAL:
        return "bind mounts of five devices and of /dev/tty, a private devpts";
    case TC_CLAUSE_SYSCALLS:
        return "seccomp: the runtime's list by names, and our filter by arguments";
    case TC_CLAUSE_FS_READ:
    case TC_CLAUSE_FS_WRITE:
    case TC_CLAUSE_FS_STAT:
        return "container's mount namespace";
    case TC_CLAUSE_NET_NONE:
        return "container's network namespace, without interfaces";
    case TC_CLAUSE_LIMIT_PIDS:
        return tc_process_mechanism(p->host, clause, tc_oci_counts_exactly(p));
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

int tc_oci_fail_bundle(struct tc_cage *cage, const char *what, const char *hint)
{
    return tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "bundle", what, errno, hint), -1,
                        "cannot make the container's %s", what);
}

static int fail_template(struct tc_cage *cage, const char *what)
{
    if (strcmp(what, "image") == 0)
        return tc_image_unmounted(cage);
    return tc_oci_fail_bundle(cage, what,
                              errno == ESTALE
                                  ? "the helper's program was replaced: make a new engine"
                                  : "`toolcage doctor` shows what this machine lacks");
}

/* No prestarted container took this call: its container is created now. */
static int outer(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_init_config init = {.report = p->init.report,
                                  .helper = p->init.helper,
                                  .root = p->init.root,
                                  .network = p->init.network,
                                  .network_count = p->init.network_count};
    const char *what = NULL;
    if (tc_oci_template_fill(&oci_of(cage)->template, p->host, p->trees.id, &init, &what) < 0)
        return fail_template(cage, what);
    return tc_process_clone_outer(cage, &init, tc_oci_tell);
}

/* Sends the cage's init config without the root and the id maps, which the container already has.
 * Also sends the limits here, so that they do not affect the runtime. */
int tc_oci_tell(struct tc_process_cage *p, int report)
{
    const struct tc_oci *o = tc_oci_own(p);
    struct tc_init_config init = p->init;
    struct tc_init_limit limits[LIMITS_MAX];
    bool counted = tc_oci_counts_exactly(p);
    if (init.limit_count >= LIMITS_MAX) {
        errno = E2BIG;
        return -1;
    }
    for (size_t i = 0; i < init.limit_count; i++) {
        limits[i] = init.limits[i];
        counted = counted || limits[i].resource == RLIMIT_NPROC;
    }
    if (!counted)
        limits[init.limit_count++] = (struct tc_init_limit){RLIMIT_NPROC, {o->pids, o->pids}};
    init.limits = limits;
    init.uid = o->uid;
    init.gid = o->gid;
    init.root = init.image = -1;
    init.network = NULL;
    init.network_count = 0;
    return tc_init_send(report, &init);
}

void tc_oci_drop(struct tc_oci *o)
{
    free(tc_oci_version(&o->asked, ""));
    tc_oci_template_done(&o->template);
    free(o);
}

static int find_runtime(struct tc_cage *cage, struct tc_oci *o, enum tc_oci_kind kind)
{
    struct tc_oci_template *b = &o->template;
    const char *wish = kind == TC_OCI_KERNEL ? tc_setting(&cage->plan->settings, "runtime") : NULL;
    b->runtime = tc_oci_find(kind, wish, &b->path);
    if (!b->runtime || tc_oci_identify(AT_FDCWD, b->path, &b->program) < 0)
        return refuse_absent(cage, kind);
    b->config = b->runtime->takes_filter
                    ? tc_oci_with_filter(cage->plan->payload, &cage->plan->syscalls_allow)
                    : strdup(cage->plan->payload);
    return b->config ? 0 : tc_cage_fail_memory(cage, "runtime");
}

int tc_oci_make(struct tc_cage *cage, struct tc_oci *o, enum tc_oci_kind kind)
{
    if (!o)
        return tc_cage_fail_memory(cage, "runtime");
    o->template = TC_OCI_NO_BLANK;
    o->asked = TC_OCI_NOT_ASKED;
    if (find_runtime(cage, o, kind) < 0) {
        tc_oci_drop(o);
        return -1;
    }
    o->ops.memory = o->template.runtime->memory;
    o->ops.pids = o->template.runtime->pids;
    if (kind == TC_OCI_KERNEL)
        tc_oci_ready_ask(o, cage->plan);
    int rc = tc_local_lease(cage, &o->ops, o);
    if (!cage->priv)
        tc_oci_drop(o);
    return rc;
}

static int make_oci(struct tc_cage *cage)
{
    struct tc_oci *o = calloc(1, sizeof(*o));
    if (o)
        o->ops = (struct tc_cage_ops){.points = points,
                                      .point_count = TC_COUNT(points),
                                      .mechanism = tc_oci_mechanism,
                                      .outer = outer};
    return tc_oci_make(cage, o, TC_OCI_KERNEL);
}

static int find_image(struct tc_cage *cage)
{
    struct tc_oci_template *b = &oci_of(cage)->template;
    b->image = tc_image_find(cage);
    if (b->image < 0)
        return -1;
    return tc_oci_identify(b->image, "", &b->root) < 0 ? tc_image_unmounted(cage) : 0;
}

static int prepare_oci(struct tc_cage *cage)
{
    int rc = tc_process_prepare(cage);
    return rc == 0 && cage->plan->image ? find_image(cage) : rc;
}

static void note_waiting(struct tc_cage *cage, int64_t us)
{
    struct tc_timing *t = TC_PUSH(cage->outcome->timings, cage->outcome->timing_count);
    if (t)
        *t = (struct tc_timing){.step = strdup("ready"), .us = us};
}

int tc_oci_start(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_oci *o = oci_of(cage);
    if (tc_process_complete(cage) < 0 || tc_process_enforced(cage) < 0)
        return -1;
    o->uid = p->init.uid;
    o->gid = p->init.gid;
    o->pids = (rlim_t)cage->plan->limits.pids + 1;
    tc_oci_root_ids(p->host, p->trees.id, &p->init);
    p->init.stages = &tc_oci_stages;
    int rc = tc_process_start(cage);
    tc_oci_template_started(&o->template);
    if (rc < 0)
        return -1;
    if (o->waited_us)
        note_waiting(cage, o->waited_us);
    if (!cage->plan->grant) /* only the doctor's probe has no grant */
        tc_oci_ask(&o->asked, o->template.path);
    return 0;
}

/* ---- while the tool runs, and after ---- */

/* All the tool's processes have ended. Killing the runtime removes its mounts with its namespaces,
 * faster than its own cleanup, step by step. */
void tc_oci_clear(struct tc_cage *cage)
{
    if (cage->over && !TC_PRIV(cage)->child.reaped)
        (void)kill(TC_PRIV(cage)->child.pid, SIGKILL);
}

static int event(struct tc_cage *cage)
{
    bool ran = cage->running;
    int rc = tc_process_event(cage);
    if (cage->running && !ran)
        tc_oci_ready_next(TC_PRIV(cage), cage->plan);
    tc_oci_clear(cage);
    return rc;
}

bool tc_oci_unheard(struct tc_cage *cage)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    if (!cage->outcome->failure.code)
        (void)cage->executor->event(cage);
    return !cage->over && !p->child.ready && !cage->outcome->failure.code && !p->asked_us;
}

void tc_oci_fail_runtime(struct tc_cage *cage, const char *words)
{
    const char *path = oci_of(cage)->template.path;
    (void)tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EBACKEND, "runtime", path,
               "`toolcage doctor` shows what this machine lacks; or use backend = \"process\""),
        -1, "%s did not run the container: %s", path, words ? words : "");
}

static void reap_oci(struct tc_cage *cage)
{
    if (tc_oci_unheard(cage)) {
        _autofree_ char *words = tc_oci_log_tail(oci_of(cage)->template.bundle, "log");
        tc_oci_fail_runtime(cage, words);
    }
    tc_process_reap(cage);
}

bool tc_oci_destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    struct tc_oci *o = cage->priv ? oci_of(cage) : NULL;
    if (!tc_local_destroy(cage, may_block))
        return false;
    if (o)
        tc_oci_drop(o);
    return true;
}

/* ---- the doctor's probe ---- */

/* The minimal container, with the runtime that a call would use; no probe if none is installed. The
 * probe's time limit ends a runtime that hangs. */
bool tc_oci_plan_probe(const struct tc_executor *executor, enum tc_oci_kind kind,
                       struct tc_plan *ret)
{
    _autofree_ char *path = NULL;
    if (!tc_oci_find(kind, NULL, &path) || !tc_process_probe_plan(executor, ret))
        return false;
    ret->payload = tc_oci_config(ret, kind);
    return ret->payload;
}

static bool plan_probe(const struct tc_executor *executor, struct tc_plan *ret)
{
    return tc_oci_plan_probe(executor, TC_OCI_KERNEL, ret);
}

static void report_probe(const struct tc_cage *probed, struct tc_outcome *outcome)
{
    struct tc_oci *o = oci_of(probed);
    struct tc_probe *row = tc_cage_probed(probed, outcome);
    if (!row || !row->works)
        return;
    _autofree_ char *version = tc_oci_version(&o->asked, o->template.runtime->name);
    _autofree_ char *known = version ? tc_known_escapes(version) : NULL;
    row->mechanism = version && known ? tc_format("%s, %s%s", o->template.path, version, known)
                                      : strdup(o->template.path);
}

static const struct tc_probe_ops probe = {plan_probe, report_probe};

const struct tc_executor tc_oci_executor = {
    .name = "oci",
    .make = make_oci,
    .prepare = prepare_oci,
    .start = tc_oci_start,
    .event = event,
    .signal = tc_local_signal,
    .reap = reap_oci,
    .usage = tc_local_usage,
    .destroy = tc_oci_destroy,
    .probe = &probe,
};
