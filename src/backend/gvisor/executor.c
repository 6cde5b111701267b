/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The executor of gVisor. A runsc container has a separate kernel, which passes no fds. So PID 1
 * connects to a socket in a directory that runsc shows. The helper accepts one connection, which is
 * made before any code of the tool runs. */
#include "backend/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/gvisor/runsc.h"
#include "backend/oci/bundle.h"
#include "backend/oci/own.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "cage/cage.h"
#include "linux/mounts.h"
#include "linux/seccomp_filter.h"
#include "policy/settings.h"

struct gvisor {
    struct tc_oci oci;            /* first: the cage's record points to it */
    const char *const *platforms; /* in the order of trying */
    char *note;                   /* for the shim: the note about runsc */
    int talk;                     /* listening socket for PID 1; -1: not yet open, or closed */
    bool listed;                  /* system calls that gVisor lacks were added */
};

enum { LIMITS_MAX = 16 };

static struct gvisor *gvisor_of(const struct tc_cage *cage)
{
    return TC_PRIV(cage)->own;
}

/* gVisor mounts a private /sys; the image's /sys may be a link, so the root needs a directory. */
static const struct tc_root_point points[] = {
    {TC_OCI_INIT, false}, {TC_OCI_TALK, true}, {"/sys", true}};

/* ---- mechanisms of the clauses ---- */

static const char *mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    bool grouped = TC_PRIV(cage)->group != NULL;
    switch ((int)clause) {
    case TC_CLAUSE_DEV_MINIMAL:
        return "devices of gVisor's kernel, all but five taken away";
    case TC_CLAUSE_TTY_NONE:
        return "setsid, no terminal device, our filter in gVisor's kernel";
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
        return grouped ? tc_oci_mechanism(cage, clause) : "RLIMIT_AS, each process by itself";
    default:
        return tc_oci_mechanism(cage, clause);
    }
}

/* ---- before the start ---- */

static int put_init(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    int self = tc_tree_keep(&p->trees, tc_oci_self());
    if (self < 0)
        return tc_oci_fail_bundle(cage, "PID 1",
                                  "the helper's program was replaced: make a new engine");
    return tc_tree_mount(&p->trees, self, TC_OCI_INIT, TC_LANDLOCK_READ_FILE)
               ? 0
               : tc_cage_fail_memory(cage, "bundle");
}

/* Binds through the directory's fd, because the directory has no path in this mount namespace. The
 * socket belongs to this id ((uid_t)-1: the helper's id); -1 with errno. */
static int listen_in(int bundle, uid_t id)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    _autofd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/talk/report", bundle);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, 1) < 0)
        return -1;
    if (id != (uid_t)-1 && (fchownat(bundle, "talk", id, (gid_t)id, 0) < 0 ||
                            fchownat(bundle, "talk/report", id, (gid_t)id, 0) < 0))
        return -1;
    return TAKE_FD(fd);
}

/* The bundle is complete before the runtime starts. */
static int make_bundle(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct gvisor *g = gvisor_of(cage);
    struct tc_oci_template *b = &g->oci.template;
    if (put_init(cage) < 0)
        return -1;
    b->bundle = tc_oci_bundle(p->trees.id, b->config);
    if (b->bundle < 0)
        return tc_oci_fail_bundle(cage, "bundle",
                                  "`toolcage doctor` shows what this machine lacks");
    if ((g->talk = listen_in(b->bundle, p->trees.id)) < 0)
        return tc_oci_fail_bundle(cage, "report socket", "try again");
    p->init.own = b;
    tc_gvisor_command(b->runtime, b->path, g->platforms, g->note, cage->plan->net_count > 0,
                      b->argv);
    return 0;
}

/* PID 1 sets the limits, at most those of the runtime. False: too many. */
static bool tell_limits(const struct tc_cage *cage, struct tc_init_config *init,
                        struct tc_init_limit limits[LIMITS_MAX])
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    const rlim_t pids = (rlim_t)cage->plan->limits.pids + 1;
    bool counted = tc_oci_counts_exactly(p);
    init->limits = limits;
    for (size_t i = 0; i < p->init.limit_count && i < LIMITS_MAX - 1; i++) {
        struct tc_init_limit limit = p->init.limits[i];
        if (limit.resource == RLIMIT_MSGQUEUE) /* gVisor's message queues are private */
            continue;
        if (limit.resource == RLIMIT_DATA) /* gVisor's RLIMIT_DATA counts only the program break */
            limit.resource = RLIMIT_AS;
        limits[init->limit_count++] = limit;
        counted = counted || limit.resource == RLIMIT_NPROC;
    }
    if (!counted)
        limits[init->limit_count++] = (struct tc_init_limit){RLIMIT_NPROC, {pids, pids}};
    return p->init.limit_count < LIMITS_MAX;
}

/* The profile without the calls that the policy denies. */
static bool change_filter(const struct tc_plan *plan, struct tc_init_config *init,
                          struct sock_filter code[TC_SECCOMP_CODE_MAX])
{
    static struct tc_seccomp_changes changes;
    const struct sock_fprog *base = tc_seccomp_program(TC_WATCH_NOTHING, false);
    const struct tc_strv nothing = {0};
    const char *bad;
    if (!plan->syscalls_deny.count)
        return true;
    if (!tc_seccomp_changes(&changes, &plan->syscalls_deny, &nothing, &bad))
        return false;
    init->code = (char *)code;
    init->code_len = tc_seccomp_change(base, &changes, TC_WATCH_NOTHING, code) * sizeof(*code);
    return init->code_len > 0;
}

static int tell_inner(struct tc_cage *cage)
{
    static struct sock_filter code[TC_SECCOMP_CODE_MAX];
    const struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_init_limit limits[LIMITS_MAX];
    struct tc_init_config init = {.uid = gvisor_of(cage)->oci.uid,
                                  .gid = gvisor_of(cage)->oci.gid,
                                  .root = -1,
                                  .image = -1,
                                  .in = -1,
                                  .out = -1,
                                  .err = -1,
                                  .talk = -1,
                                  .umask = p->init.umask,
                                  .directories = p->init.directories,
                                  .last_us = p->init.last_us,
                                  .segments = p->init.segments};
    bool told = tell_limits(cage, &init, limits) && change_filter(cage->plan, &init, code) &&
                tc_init_send(p->child.report, &init) == 0;
    return told ? 0 : tc_oci_fail_bundle(cage, "PID 1's orders", "try again");
}

static void let_go(struct gvisor *g)
{
    if (g->talk >= 0)
        (void)close(TAKE_FD(g->talk));
    free(TAKE(g->note));
}

static int make_gvisor(struct tc_cage *cage)
{
    struct gvisor *g = calloc(1, sizeof(*g));
    if (g) {
        g->talk = -1;
        g->oci.ops = (struct tc_cage_ops){.sentry = true,
                                          .points = points,
                                          .point_count = TC_COUNT(points),
                                          .mechanism = mechanism};
    }
    return tc_oci_make(cage, g ? &g->oci : NULL, TC_OCI_SENTRY);
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

/* Uses what earlier calls learnt about this runsc; the doctor tests everything again. */
static int recall(struct tc_cage *cage)
{
    struct gvisor *g = gvisor_of(cage);
    const char *known = cage->plan->grant ? g->oci.template.path : NULL;
    g->platforms = tc_gvisor_platforms(tc_setting(&cage->plan->settings, "platform"), known);
    if (!g->platforms)
        return refuse_platform(cage, "there is none of this name");
    g->note = tc_gvisor_options_note(known);
    return g->note ? 0 : tc_cage_fail_memory(cage, "platform");
}

static int prepare_gvisor(struct tc_cage *cage)
{
    if (recall(cage) < 0 || tc_process_prepare(cage) < 0)
        return -1;
    return cage->plan->image ? tc_image_open(cage, &TC_PRIV(cage)->init.image) : 0;
}

static int start_gvisor(struct tc_cage *cage)
{
    if (make_bundle(cage) < 0 || tc_oci_start(cage) < 0)
        return -1;
    if (tc_events_add(cage, gvisor_of(cage)->talk, EPOLLIN) < 0)
        return tc_oci_fail_bundle(cage, "report socket", "try again");
    cage->err_held = true; /* until PID 1 connects, runsc's messages are also in its log */
    return 0;
}

/* ---- while the tool runs, and after ---- */

/* The platform on which the container runs. */
static const char *platform_of(const struct gvisor *g, bool *ret_other)
{
    struct stat st;
    *ret_other =
        fstatat(g->oci.template.bundle, "failed", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
    return g->platforms[g->platforms[1] && *ret_other ? 1 : 0];
}

/* Whether the first platform was silent until the timeout. */
static bool was_silent(const struct tc_oci_template *b)
{
    char how = 0;
    _autofd_ int file = openat(b->bundle, "failed", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return file >= 0 && read(file, &how, 1) == 1 && how == TC_OCI_SILENT;
}

/* Stores findings for other calls, and the platform in the result: it is known once PID 1 has
 * connected. No tool has run in this container yet. */
static int learn(struct tc_cage *cage)
{
    const struct tc_oci_template *b = &gvisor_of(cage)->oci.template;
    struct tc_outcome *outcome = cage->outcome;
    bool other = false;
    const char *platform = platform_of(gvisor_of(cage), &other);
    if (other)
        tc_gvisor_first_failed(b->path, was_silent(b));
    else if (!cage->plan->grant)
        tc_gvisor_first_working(b->path);
    tc_gvisor_options_learn(b->path, b->bundle);
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

/* Replaces the report socket by PID 1's connection, once. */
static bool comes_first(struct tc_cage *cage)
{
    struct gvisor *g = gvisor_of(cage);
    _autofd_ int fd = g->talk < 0 ? -1 : accept4(g->talk, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    (void)close(TAKE_FD(g->talk));
    /* shutdown, not only close: it also ends the shim's copy, which signals the shim */
    (void)shutdown(TC_PRIV(cage)->child.report, SHUT_RDWR);
    return tc_events_report(cage, fd) == 0;
}

static int event(struct tc_cage *cage)
{
    /* messages from the runtime's process, read before PID 1's connection replaces the socket */
    int rc = tc_process_event(cage);
    if (rc == 0 && comes_first(cage)) {
        cage->err_held = false;
        rc = learn(cage) < 0 || tell_inner(cage) < 0 ? -1 : tc_process_event(cage);
    }
    tc_oci_clear(cage);
    return rc;
}

/* A signal would end runsc at once, so PID 1 gets a message instead. */
static void ask_to_end(struct tc_cage *cage, bool at_once)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (at_once)
        tc_local_signal(cage, at_once);
    else if (p->child.ready)
        (void)tc_send(p->child.report, "", 1, NULL, 0);
}

static void fail_runtime(struct tc_cage *cage)
{
    bool other = false;
    const char *platform = platform_of(gvisor_of(cage), &other);
    _autofree_ char *words = tc_oci_log_tail(gvisor_of(cage)->oci.template.bundle, platform);
    if (tc_setting(&cage->plan->settings, "platform") && !tc_streq(platform, TC_GVISOR_PTRACE))
        (void)refuse_platform(cage, words ? words : "");
    else
        tc_oci_fail_runtime(cage, words);
}

static void reap_gvisor(struct tc_cage *cage)
{
    if (tc_oci_unheard(cage))
        fail_runtime(cage);
    tc_process_reap(cage);
}

static const char *usage_of_gvisor(struct tc_cage *cage)
{
    struct gvisor *g = gvisor_of(cage);
    if (!g->listed)
        tc_gvisor_list_lacked(cage, g->oci.template.bundle);
    g->listed = true;
    return tc_local_usage(cage);
}

static bool destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    if (cage->priv)
        let_go(gvisor_of(cage));
    return tc_oci_destroy(cage, may_block);
}

/* ---- the doctor's probe ---- */

static bool plan_probe(const struct tc_executor *executor, struct tc_plan *ret)
{
    bool fine = tc_oci_plan_probe(executor, TC_OCI_SENTRY, ret);
    ret->limits.timeout_ms += TC_GVISOR_ANSWER_MS; /* allows for a silent first platform */
    return fine;
}

/* The program, its version, and the platform that it ran on. */
static char *describe_runtime(struct gvisor *g)
{
    const struct tc_oci_template *b = &g->oci.template;
    bool other = false;
    const char *platform = platform_of(g, &other);
    _autofree_ char *version = tc_oci_version(&g->oci.asked, b->runtime->name);
    _autofree_ char *why = other ? tc_oci_log_tail(b->bundle, g->platforms[0]) : NULL;
    return tc_format("%s, %s, --platform=%s%s%s%s%s", b->path,
                     version ? version : "of an unknown version", platform, why ? "; " : "",
                     why ? g->platforms[0] : "", why ? ": " : "", why ? why : "");
}

static void report_probe(const struct tc_cage *probed, struct tc_outcome *outcome)
{
    struct tc_probe *row = tc_cage_probed(probed, outcome);
    if (row && row->works)
        row->mechanism = describe_runtime(gvisor_of(probed));
}

static const struct tc_probe_ops probe = {plan_probe, report_probe};

const struct tc_executor tc_gvisor_executor = {
    .name = "gvisor",
    .make = make_gvisor,
    .prepare = prepare_gvisor,
    .start = start_gvisor,
    .event = event,
    .signal = ask_to_end,
    .reap = reap_gvisor,
    .usage = usage_of_gvisor,
    .destroy = destroy,
    .probe = &probe,
};
