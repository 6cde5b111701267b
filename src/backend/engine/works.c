/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The works of the container engines: leases, resolved trees, root, supervision and changes are
 * those of every cage of this machine. The engine makes a container that has nothing; its first
 * process is our PID 1, which comes to us by a socket, gets the cage by descriptors, and tells how
 * the tool fares over the same socket. Beside it toolcage-engine asks the engine for all that, and
 * lives as long as the container: it is the process that we wait for. */
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
#include "backend/engine/door.h"
#include "backend/engine/root.h"
#include "backend/engine/spec.h"
#include "backend/engine/stages.h"
#include "backend/engine/talk.h"
#include "backend/escapes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mark.h"
#include "base/sys.h"
#include "cage/beside.h"
#include "cage/cage.h"
#include "cage/enforce.h"
#include "cage/image.h"
#include "cage/limiter.h"
#include "cage/orders.h"
#include "cage/proxy.h"
#include "cage/slots.h"
#include "engine/engine.h"
#include "policy/settings.h"

/* How long an engine may take for one answer; how old a container that does not run must be to be
 * nobody's. */
enum { PATIENCE_MS = 20000, STALE_S = 600, FILES_MAX = 16384, PROCESSES_MAX = 32768 };

struct engine {
    struct tc_local_form form;
    struct tc_engine_door door;
    struct tc_engine_talk talk;
    struct tc_engine_root *root; /* of containerd's containers, else NULL */
    int control;                 /* the socket to toolcage-engine */
    int first;                   /* pidfd of PID 1; -1: it has not come yet */
    bool begun;                  /* there may be a container */
    bool failed;
    char said[TC_ENGINE_TEXT_MAX], about[TC_ENGINE_TEXT_MAX];
};

static struct engine *own(const struct tc_cage *cage)
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

static int fail_door(struct tc_cage *cage, const char *subject, const struct tc_engine_lack *lack)
{
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "runtime",
                                     lack->subject ? lack->subject : subject, lack->errnum,
                                     lack->hint),
                        -1, "%s: %s", cage->works->name, lack->text);
}

static int open_door(struct tc_cage *cage, struct tc_engine_door *door)
{
    struct tc_engine_lack lack = {.text = "the path of its socket is too long",
                                  .hint = "sockets have paths of at most 107 bytes"};
    uid_t uid = geteuid();
    bool good = tc_engine_door_path(cage->works->name, &cage->plan->settings, uid, door) &&
                tc_engine_door_open(cage->works->name, uid, door, &lack);
    return good ? 0 : fail_door(cage, door->path, &lack);
}

static int make(struct tc_cage *cage)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e)
        return tc_cage_fail_memory(cage, "runtime");
    e->control = e->first = -1;
    e->talk = TC_ENGINE_NO_TALK;
    e->form = (struct tc_local_form){
        .apart = true, .begin = tc_process_fork_apart, .mechanism = mechanism};
    if (open_door(cage, &e->door) < 0) {
        free(e);
        return -1;
    }
    int rc = tc_local_lease(cage, &e->form);
    if (cage->priv) {
        TC_PRIV(cage)->own = e;
        return rc;
    }
    (void)close(e->door.fd);
    free(e);
    return rc;
}

static int prepare(struct tc_cage *cage)
{
    if (tc_process_prepare(cage) < 0)
        return -1;
    return cage->plan->image ? tc_image_open(cage, &TC_PRIV(cage)->box.image) : 0;
}

static int fail_start(struct tc_cage *cage, const char *what)
{
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", what, errno,
                                     "`toolcage doctor` shows what this machine lacks"),
                        -1, "cannot make the container's %s", what);
}

static int find_program(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const char *lack = NULL;
    p->box.bundle = tc_process_keep(&p->trees, tc_beside("toolcage-engine", &lack));
    if (p->box.bundle >= 0)
        return 0;
    return tc_cage_fail(
        cage,
        TC_WHY(
            TOOLCAGE_EBACKEND, "start", "toolcage-engine",
            "reinstall toolcage; toolcage-engine is a file of root (or of yours) with mode 0755"),
        -1, "toolcage-engine, which speaks to engines, %s", lack ? lack : "cannot be opened");
}

/* A rootless engine knows the caller as its root. */
static void set_ids(const struct tc_process_cage *p, const struct engine *e,
                    struct tc_engine_container *c)
{
    bool leased = p->trees.id != (uid_t)-1;
    c->uid = leased ? p->trees.id : e->door.rootless ? 0 : p->trees.host->uid;
    c->gid = leased ? (gid_t)p->trees.id : e->door.rootless ? 0 : p->trees.host->gid;
}

static int64_t own_limit(__rlimit_resource_t resource, int64_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) < 0 || now.rlim_max > (rlim_t)most)
        return most;
    return (int64_t)now.rlim_max;
}

/* Of one file one image. It goes into paths of requests, where dots have a meaning. */
static char *image_tag(int program)
{
    struct stat st;
    char mark[TC_MARK_SIZE];
    if (fstat(program, &st) < 0)
        return NULL;
    tc_mark(&st, mark);
    for (char *c = mark; (c = strchr(c, '.'));)
        *c = '-';
    return strdup(mark);
}

/* containerd takes paths. */
static int find_root(struct tc_cage *cage)
{
    struct engine *e = own(cage);
    if (!e->door.client[0])
        return 0;
    e->root = malloc(sizeof(*e->root));
    if (!e->root)
        return tc_cage_fail_memory(cage, "start");
    if (tc_engine_root_find("/proc/self/exe", e->root) == 0)
        return 0;
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", "root", errno,
                                     errno == ESTALE
                                         ? "the helper's program was replaced: make a new engine"
                                         : "`toolcage doctor` shows what this machine lacks"),
                        -1, "cannot make the container's root");
}

static const char repository[] = "localhost/toolcage-init";

static bool fill_config(const struct tc_cage *cage, int program, struct tc_engine_config *config)
{
    static _Atomic bool swept;
    const struct engine *e = own(cage);
    const char *runtime = tc_setting(&cage->plan->settings, "runtime");
    struct tc_engine_container c = {
        .call = cage->plan->call ? cage->plan->call : e->talk.name,
        .talk = e->talk.directory,
        .root = e->root ? e->root->directory : NULL,
        .program = e->root ? e->root->program : NULL,
        .files = own_limit(RLIMIT_NOFILE, FILES_MAX),
        .processes = own_limit(RLIMIT_NPROC, PROCESSES_MAX),
    };
    set_ids(TC_PRIV(cage), e, &c);
    *config = (struct tc_engine_config){.engine = strdup(cage->works->name),
                                        .repository = strdup(repository),
                                        .tag = image_tag(program),
                                        .name = tc_format("toolcage-%s", e->talk.name),
                                        .client = strdup(e->door.client),
                                        .label = tc_format(TC_ENGINE_LABEL "=%s", c.call),
                                        .runtime = strdup(runtime ? runtime : ""),
                                        .fifos = strdup(""),
                                        .patience_ms = PATIENCE_MS,
                                        .stale_s = STALE_S,
                                        .about = !cage->plan->grant,
                                        .sweep = !atomic_exchange(&swept, true)};
    _autofree_ char *image = config->tag ? tc_format("%s:%s", repository, config->tag) : NULL;
    c.image = image;
    if (image)
        config->create = e->root ? tc_engine_spec(&c) : tc_engine_create(cage->plan, &c);
    return config->engine && config->repository && config->name && config->client &&
           config->label && config->runtime && config->fifos && config->create;
}

/* Its orders wait in the socket until it is there to read them. */
static int send_config(struct tc_cage *cage)
{
    struct engine *e = own(cage);
    struct tc_engine_config config = {0};
    struct tc_wire w = TC_WIRE_PUT_INIT;
    _autofd_ int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool good = program >= 0 && fill_config(cage, program, &config);
    if (good)
        tc_engine_config_visit(&w, &config);
    _autofd_ int file = good && !w.failed ? tc_memfd("engine-config", w.out.data, w.out.len) : -1;
    const int fds[] = {file, program, e->door.fd};
    int rc = file < 0 ? -1 : tc_send(e->control, "", 1, fds, TC_COUNT(fds));
    tc_buf_done(&w.out);
    tc_engine_config_done(&config);
    e->begun = rc == 0;
    return rc < 0 ? fail_start(cage, "orders") : 0;
}

static int watch(struct tc_cage *cage)
{
    const struct engine *e = own(cage);
    tc_events_drop(cage, TC_PRIV(cage)->child.report); /* the control socket, until PID 1 comes */
    if (tc_events_add(cage, e->control, EPOLLIN) < 0 ||
        tc_events_add(cage, e->talk.listener, EPOLLIN) < 0)
        return fail_start(cage, "event descriptor");
    return 0;
}

static int start(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = own(cage);
    if (find_program(cage) < 0 || find_root(cage) < 0 || tc_process_complete(cage) < 0 ||
        tc_process_enforced(cage) < 0)
        return -1;
    if (tc_engine_talk_open(&e->talk, p->trees.id) < 0)
        return fail_start(cage, "report socket");
    p->box.stages = &tc_engine_stages;
    if (tc_process_start(cage) < 0)
        return -1;
    e->control = fcntl(p->child.report, F_DUPFD_CLOEXEC, 0);
    if (e->control < 0)
        return fail_start(cage, "report socket");
    return send_config(cage) < 0 ? -1 : watch(cage);
}

/* ---- PID 1 comes ---- */

/* Where the limits of the whole cage are kept; before anything of the tool's is there. */
static int join_group(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (!p->group || tc_cgroup_join(p->group, p->child.first) == 0)
        return 0;
    return tc_cage_fail(
        cage,
        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "cgroup", tc_clause_name(TC_CLAUSE_LIMIT_MEMORY),
                     errno, "bound each process by itself: memory = { max = \"…\", by = \"any\" }"),
        TC_CLAUSE_LIMIT_MEMORY,
        "the container's first process cannot be moved into the call's control "
        "group");
}

/* 0: it has not come. */
static int take_first(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = own(cage);
    uid_t id = p->trees.id != (uid_t)-1 ? p->trees.id : p->trees.host->uid;
    if (e->first >= 0)
        return 0;
    _autofd_ int fd = tc_engine_talk_accept(&e->talk, id, &e->first, &p->child.first);
    if (fd < 0)
        return 0;
    tc_engine_talk_close(&e->talk); /* the directory is nobody's way any more */
    p->child.first_pidfd = e->first;
    if (tc_events_report(cage, fd) < 0)
        return fail_start(cage, "report socket");
    if (join_group(cage) < 0)
        return -1;
    if (tc_orders_send(p->child.report, &p->box) < 0)
        return fail_start(cage, "PID 1's orders");
    tc_process_close_ends(cage);
    return 1;
}

/* ---- what toolcage-engine says ---- */

/* A stage of its own birth is told as those of every child are. */
static bool is_stage(const struct engine *e, const struct tc_process_cage *p)
{
    int32_t kind = 0;
    return e->first < 0 && e->control >= 0 &&
           recv(p->child.report, &kind, sizeof(kind), MSG_PEEK | MSG_DONTWAIT) ==
               (ssize_t)sizeof(kind) &&
           kind < TC_ENGINE_ABOUT;
}

/* What it says of the engine is a stranger's text: it has made words of it, and they are bounded
 * here once more. */
static void hear(struct tc_cage *cage)
{
    struct engine *e = own(cage);
    struct tc_engine_said said;
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
    if (e->control >= 0 && n == 0) { /* its end is told by exit_fd */
        tc_events_drop(cage, e->control);
        (void)close(TAKE_FD(e->control));
    }
}

static int fail_engine(struct tc_cage *cage, const char *why)
{
    const struct engine *e = own(cage);
    return tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EBACKEND, "engine", e->door.path,
               "`toolcage doctor` shows what this engine can; or use backend = \"process\""),
        -1, "%s at %s did not run the container: %s", cage->works->name, e->door.path, why);
}

static int event(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = own(cage);
    int rc = 0;
    if (is_stage(e, p))
        return tc_process_event(cage);
    hear(cage);
    if (e->first < 0)
        rc = take_first(cage);
    if (rc >= 0 && e->first >= 0)
        rc = tc_process_event(cage);
    /* what we keep from coming may well fail */
    if (rc >= 0 && e->failed && !p->child.ready && !p->asked_us)
        return fail_engine(cage, e->said);
    return rc;
}

/* ---- its end ---- */

/* PID 1 is not our child, but its descriptor is its own whoever has its number. */
static void signal_cage(struct tc_cage *cage, bool at_once)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = own(cage);
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
    if (at_once && !e->begun) /* it has no orders, and waits for them */
        (void)kill(p->child.pid, SIGKILL);
}

/* toolcage-engine has ended, and the container is gone; unless it was killed. */
static void reap(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = own(cage);
    if (e->first >= 0)
        (void)tc_sys(SYS_pidfd_send_signal, e->first, SIGKILL, 0, 0, 0, 0);
    if (!cage->outcome->failure.code)
        (void)event(cage);
    if (!cage->over && !p->child.ready && !cage->outcome->failure.code && !p->asked_us)
        (void)fail_engine(cage, e->failed      ? e->said
                                : e->first < 0 ? "the first program in it did not come to us; the "
                                                 "engine must share this machine's files"
                                               : "it ended before its walls stood");
    tc_process_reap(cage);
}

static bool destroy(struct tc_cage *cage, enum tc_pace pace)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct engine *e = p ? p->own : NULL;
    if (!tc_local_destroy(cage, pace))
        return false;
    if (e) {
        const int fds[] = {e->door.fd, e->control, e->first};
        tc_engine_talk_close(&e->talk);
        for (size_t i = 0; i < TC_COUNT(fds); i++)
            if (fds[i] >= 0)
                (void)close(fds[i]);
        free(e->root);
    }
    free(e);
    return true;
}

/* ---- the doctor's trial ---- */

/* The smallest container, where an engine listens in its usual place. */
static bool plan_trial(const struct tc_works *works, struct tc_plan *ret)
{
    static const struct tc_strv none = {0};
    struct tc_engine_door door;
    if (!tc_engine_door_path(works->name, &none, geteuid(), &door) ||
        access(door.path, F_OK) < 0 || !tc_process_trial(works, ret))
        return false;
    ret->limits.timeout_ms += PATIENCE_MS;
    return true;
}

/* Who it is, whose rights it has, and what is known of its runtime. */
static char *describe(const struct engine *e)
{
    _autofree_ char *known = tc_known_escapes(e->about);
    return known ? tc_format("%s at %s, %s%s", e->about, e->door.path,
                             e->door.rootless ? "rootless"
                                              : "with root's rights: who may use it is root",
                             known)
                 : NULL;
}

static void tell_tried(const struct tc_cage *tried, struct tc_outcome *outcome)
{
    struct tc_probe *row = tc_cage_tried(tried, outcome);
    if (row && row->works)
        row->mechanism = describe(own(tried));
}

static const struct tc_trial trial = {plan_trial, tell_tried};

#define WORKS(backend)                                                                          \
    {                                                                                           \
        .name = (backend), .make = make, .prepare = prepare, .start = start, .event = event,    \
        .signal = signal_cage, .reap = reap, .usage = tc_local_usage, .destroy = destroy,       \
        .trial = &trial,                                                                        \
    }

const struct tc_works tc_podman_works = WORKS("podman");
const struct tc_works tc_docker_works = WORKS("docker");
const struct tc_works tc_containerd_works = WORKS("containerd");
