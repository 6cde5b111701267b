/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The executor of the container engines. Leases, resolved trees, root, supervision and changes are
 * the same as for every local cage. The engine creates an empty container. Its first process is
 * toolcage's PID 1, which connects to the helper, receives the cage as fds, and reports over the
 * same socket. toolcage-engine sends the requests to the engine. It lives as long as the container,
 * so the helper waits for this process. */
#include "backend/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "backend/engine/create.h"
#include "backend/engine/order.h"
#include "backend/engine/talk.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/proxy.h"
#include "engine/engine.h"
#include "plan/backend.h"
#include "policy/settings.h"

enum { FILES_MAX = 16384, PROCESSES_MAX = 32768 };

struct engine {
    struct tc_engine_socket socket;
    struct tc_engine_talk talk;
    struct tc_engine_root *root; /* of containerd's containers, else NULL */
    int program, control;        /* toolcage-engine: its program (owned by the trees), its socket */
    int first;                   /* pidfd of the container's PID 1; -1: not connected yet */
    bool begun;                  /* a container may exist */
    bool failed;
    /* from toolcage-engine: why it failed, and the engine's version */
    char said[TC_ENGINE_TEXT_MAX], about[TC_ENGINE_TEXT_MAX];
};

static struct engine *engine_of(const struct tc_cage *cage)
{
    return TC_PRIV(cage)->own;
}

static const char *mechanism(const struct tc_cage *cage, enum tc_clause clause)
{
    const struct tc_process_cage *p = TC_PRIV(cage);
    switch ((int)clause) {
    case TC_CLAUSE_PRIV_NONE:
        return "container without capabilities, no_new_privs, locked securebits";
    case TC_CLAUSE_PROC_OWN:
        return "container's pid namespace and procfs";
    case TC_CLAUSE_PROC_SURVIVORS:
        return "container's pid namespace ends with PID 1, which ends with the helper";
    default:
        return tc_process_mechanism(p->host, clause, p->group != NULL);
    }
}

/* ---- before the start ---- */

static int make_engine(struct tc_cage *cage)
{
    static const struct tc_cage_ops ops = {.apart = true, .mechanism = mechanism};
    struct engine *e = calloc(1, sizeof(*e));
    if (!e)
        return tc_cage_fail_memory(cage, "runtime");
    e->control = e->first = -1;
    e->talk = TC_ENGINE_NO_TALK;
    if (tc_engine_enter(cage, cage->executor->name, &e->socket) < 0) {
        free(e);
        return -1;
    }
    int rc = tc_local_lease(cage, &ops, e);
    if (cage->priv)
        return rc;
    (void)close(e->socket.fd);
    free(e);
    return rc;
}

static int prepare_engine(struct tc_cage *cage)
{
    if (tc_process_prepare(cage) < 0)
        return -1;
    return cage->plan->image ? tc_image_open(cage, &TC_PRIV(cage)->init.image) : 0;
}

static int find_program(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = engine_of(cage);
    if (tc_engine_find(cage, "toolcage-engine", &e->program) < 0)
        return -1;
    e->program = tc_tree_keep(&p->trees, e->program);
    p->init.own = &e->program;
    return e->program < 0 ? tc_cage_fail_memory(cage, "start") : 0;
}

/* A rootless engine maps the caller to id 0. */
static void set_ids(const struct tc_process_cage *p, const struct engine *e,
                    struct tc_engine_container *c)
{
    bool leased = p->trees.id != (uid_t)-1;
    c->uid = leased ? p->trees.id : e->socket.rootless ? 0 : p->trees.host->uid;
    c->gid = leased ? (gid_t)p->trees.id : e->socket.rootless ? 0 : p->trees.host->gid;
}

static int64_t own_limit(__rlimit_resource_t resource, int64_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) < 0 || now.rlim_max > (rlim_t)most)
        return most;
    return (int64_t)now.rlim_max;
}

/* The JSON description of the container. */
static char *describe_container(const struct tc_cage *cage, const char *image)
{
    const struct engine *e = engine_of(cage);
    struct tc_engine_container c = {
        .call = cage->plan->call ? cage->plan->call : e->talk.name,
        .image = image,
        .talk = e->talk.directory,
        .root = e->root ? e->root->directory : NULL,
        .program = e->root ? e->root->program : NULL,
        .files = own_limit(RLIMIT_NOFILE, FILES_MAX),
        .processes = own_limit(RLIMIT_NPROC, PROCESSES_MAX),
    };
    set_ids(TC_PRIV(cage), e, &c);
    return e->root ? tc_engine_spec(&c) : tc_engine_create(cage->plan, &c);
}

static int send_order(struct tc_cage *cage)
{
    static _Atomic bool swept;
    struct engine *e = engine_of(cage);
    struct tc_engine_config config = {0};
    _autofd_ int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const struct tc_engine_order order = {.engine = cage->executor->name,
                                          .socket = &e->socket,
                                          .repository = "localhost/toolcage-init",
                                          .program = program,
                                          .name = e->talk.name,
                                          .runtime = tc_setting(&cage->plan->settings, "runtime")};
    _autofree_ char *image = tc_engine_order(cage, &order, &config);
    config.create = image ? describe_container(cage, image) : NULL;
    config.about = !cage->plan->grant; /* only the doctor's probe has no grant */
    config.sweep = !atomic_exchange(&swept, true);
    int rc = tc_engine_send(cage, e->control, &config);
    e->begun = rc == 0;
    return rc;
}

static int watch_program(struct tc_cage *cage)
{
    const struct engine *e = engine_of(cage);
    tc_events_drop(cage, TC_PRIV(cage)->child.report); /* until now the control socket */
    if (tc_events_add(cage, e->control, EPOLLIN) < 0 ||
        tc_events_add(cage, e->talk.listener, EPOLLIN) < 0)
        return tc_engine_fail_start(cage, "event descriptor");
    return 0;
}

static int start_engine(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = engine_of(cage);
    if (find_program(cage) < 0 ||
        tc_engine_take_root(cage, &e->socket, "/proc/self/exe", &e->root) < 0 ||
        tc_process_complete(cage) < 0 || tc_process_enforced(cage) < 0)
        return -1;
    if (tc_engine_talk_open(&e->talk, p->trees.id) < 0)
        return tc_engine_fail_start(cage, "report socket");
    p->init.stages = &tc_engine_stages;
    if (tc_process_start(cage) < 0)
        return -1;
    e->control = fcntl(p->child.report, F_DUPFD_CLOEXEC, 0);
    if (e->control < 0)
        return tc_engine_fail_start(cage, "report socket");
    return send_order(cage) < 0 ? -1 : watch_program(cage);
}

/* ---- PID 1 connects ---- */

/* Moves PID 1 to the cgroup with the cage's limits, before any process of the tool exists. */
static int join_group(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (!p->group || tc_cgroup_join(p->group, p->child.first) == 0)
        return 0;
    return tc_cage_fail(
        cage,
        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "cgroup", tc_clause_name(TC_CLAUSE_LIMIT_MEMORY),
                     errno, "limit each process instead: memory = { max = \"…\", by = \"any\" }"),
        TC_CLAUSE_LIMIT_MEMORY,
        "the container's first process cannot be moved into the call's cgroup");
}

/* 0: not connected yet. */
static int take_first(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = engine_of(cage);
    uid_t id = p->trees.id != (uid_t)-1 ? p->trees.id : p->trees.host->uid;
    if (e->first >= 0)
        return 0;
    _autofd_ int fd = tc_engine_talk_accept(&e->talk, id, &e->first, &p->child.first);
    if (fd < 0)
        return 0;
    tc_engine_talk_close(&e->talk); /* no other process may connect */
    p->child.first_pidfd = e->first;
    if (tc_events_report(cage, fd) < 0)
        return tc_engine_fail_start(cage, "report socket");
    if (join_group(cage) < 0)
        return -1;
    if (tc_init_send(p->child.report, &p->init) < 0)
        return tc_engine_fail_start(cage, "PID 1's orders");
    tc_process_close_ends(cage);
    return 1;
}

/* ---- messages from toolcage-engine ---- */

/* Is the next message about the start of toolcage-engine itself, in the form of every child? */
static bool is_stage(const struct engine *e, const struct tc_process_cage *p)
{
    int32_t kind = 0;
    return e->first < 0 && e->control >= 0 &&
           recv(p->child.report, &kind, sizeof(kind), MSG_PEEK | MSG_DONTWAIT) ==
               (ssize_t)sizeof(kind) &&
           kind < TC_ENGINE_ABOUT;
}

/* Strings from the engine are untrusted; toolcage-engine has reduced them to plain words, and here
 * their length is limited again. */
static void read_message(struct tc_cage *cage)
{
    struct engine *e = engine_of(cage);
    struct tc_engine_message said;
    ssize_t n;
    while (e->control >= 0 &&
           (n = recv(e->control, &said, sizeof(said), MSG_DONTWAIT)) == (ssize_t)sizeof(said)) {
        said.text[sizeof(said.text) - 1] = '\0';
        if (said.kind == TC_ENGINE_ABOUT)
            memcpy(e->about, said.text, sizeof(e->about));
        if (said.kind == TC_ENGINE_FAILED && !e->failed) {
            memcpy(e->said, said.text, sizeof(e->said));
            e->failed = true;
        }
    }
    if (e->control >= 0 && n == 0) { /* exit_fd reports its end */
        tc_events_drop(cage, e->control);
        (void)close(TAKE_FD(e->control));
    }
}

static int fail_engine(struct tc_cage *cage, const char *why)
{
    const struct engine *e = engine_of(cage);
    return tc_cage_fail(cage,
                        TC_WHY(TOOLCAGE_EBACKEND, "engine", e->socket.path,
                               "`toolcage doctor` tests this engine; or use backend = \"process\""),
                        -1, "%s at %s did not run the container: %s", cage->executor->name,
                        e->socket.path, why);
}

static int event(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = engine_of(cage);
    int rc = 0;
    if (is_stage(e, p))
        return tc_process_event(cage);
    read_message(cage);
    if (e->first < 0)
        rc = take_first(cage);
    if (rc >= 0 && e->first >= 0)
        rc = tc_process_event(cage);
    /* after a kill, a failure to start is expected */
    if (rc >= 0 && e->failed && !p->child.ready && !p->asked_us)
        return fail_engine(cage, e->said);
    return rc;
}

/* ---- the end of the cage ---- */

/* PID 1 is not our child; only its pidfd is safe from pid reuse. */
static void signal_cage(struct tc_cage *cage, bool at_once)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = engine_of(cage);
    if (p->child.pid <= 0 || p->child.reaped)
        return;
    if (at_once) {
        p->asked_us = p->asked_us ? p->asked_us : tc_now_us();
        tc_limits_end(cage);
        tc_proxy_kill(cage);
        tc_engine_talk_close(&e->talk);
    }
    if (e->first >= 0)
        (void)tc_sys(SYS_pidfd_send_signal, e->first, at_once ? SIGKILL : SIGTERM, 0, 0, 0, 0);
    if (at_once && e->control >= 0)
        (void)send(e->control, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (at_once && !e->begun) /* toolcage-engine still waits for its orders */
        (void)kill(p->child.pid, SIGKILL);
}

/* toolcage-engine has ended, so the container was removed, unless toolcage-engine was killed. */
static void reap_engine(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = engine_of(cage);
    if (e->first >= 0)
        (void)tc_sys(SYS_pidfd_send_signal, e->first, SIGKILL, 0, 0, 0, 0);
    if (!cage->outcome->failure.code)
        (void)event(cage);
    if (!cage->over && !p->child.ready && !cage->outcome->failure.code && !p->asked_us)
        (void)fail_engine(cage, e->failed      ? e->said
                                : e->first < 0 ? "PID 1 of the container did not connect to the "
                                                 "helper; the engine must share this host's files"
                                               : "it exited before its sandbox was complete");
    tc_process_reap(cage);
}

static bool destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = p ? p->own : NULL;
    if (!tc_local_destroy(cage, may_block))
        return false;
    if (e) {
        const int fds[] = {e->socket.fd, e->control, e->first};
        tc_engine_talk_close(&e->talk);
        for (size_t i = 0; i < TC_COUNT(fds); i++)
            if (fds[i] >= 0)
                (void)close(fds[i]);
        free(e->root);
    }
    free(e);
    return true;
}

/* ---- the doctor's probe ---- */

/* A minimal container, if an engine listens on its default socket. */
static bool plan_probe(const struct tc_executor *executor, struct tc_plan *ret)
{
    static const struct tc_strv none = {0};
    struct tc_engine_socket socket;
    if (!tc_engine_socket_path(executor->name, &none, geteuid(), &socket) ||
        access(socket.path, F_OK) < 0 || !tc_process_probe_plan(executor, ret))
        return false;
    ret->limits.timeout_ms += TC_ENGINE_PATIENCE_MS;
    return true;
}

/* The engine, whose rights it has, and known escapes of its runtime. */
static char *describe_engine(const struct engine *e)
{
    _autofree_ char *known = tc_known_escapes(e->about);
    return known ? tc_format("%s at %s, %s%s", e->about, e->socket.path,
                             e->socket.rootless
                                 ? "rootless"
                                 : "with root's rights: access to it is equivalent to root",
                             known)
                 : NULL;
}

static void report_probe(const struct tc_cage *probed, struct tc_outcome *outcome)
{
    struct tc_probe *row = tc_cage_probed(probed, outcome);
    if (row && row->works)
        row->mechanism = describe_engine(engine_of(probed));
}

static const struct tc_probe_ops probe = {plan_probe, report_probe};

#define EXECUTOR(backend)                                                                         \
    {                                                                                             \
        .name = (backend), .make = make_engine, .prepare = prepare_engine, .start = start_engine, \
        .event = event, .signal = signal_cage, .reap = reap_engine, .usage = tc_local_usage,      \
        .destroy = destroy, .probe = &probe,                                                      \
    }

const struct tc_executor tc_podman_executor = EXECUTOR("podman");
const struct tc_executor tc_docker_executor = EXECUTOR("docker");
const struct tc_executor tc_containerd_executor = EXECUTOR("containerd");
