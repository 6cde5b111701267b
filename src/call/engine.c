/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The engine: the library's connection to one helper. All its state is in the engine object. After
 * construction only five members change, all atomically, so threads share the engine without a
 * lock: the reference count, a pointer that is set once, a list that only grows, the plan cache,
 * and the time of the last flush of the audit log. */
#include "call/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/wasm/modules.h"
#include "base/fd.h"
#include "base/sys.h"
#include "call/plan_cache.h"
#include "system/system.h"
#include "version.h"

struct toolcage_engine {
    atomic_uint refs;
    pid_t pid;                 /* of the process that made the engine */
    const volatile char *ours; /* true in that process, 0 in a fork; NULL: no such page */
    int sock;
    _Atomic(struct tc_outcome *) probes; /* of this host, set at the first request */
    struct tc_modules_known modules;
    struct tc_plan_cache plans;
    struct tc_system_cache system;
    _Atomic int64_t audit_synced_us;
};

/* Makes a page that the kernel clears in every fork, to detect forks. Every function checks for a
 * fork, so the check must not cost a system call. */
static const volatile char *mark_process(void)
{
    char *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, 1, MADV_WIPEONFORK) < 0) {
        (void)munmap(page, 1);
        return NULL;
    }
    *page = true;
    return page;
}

int tc_engine_adopt(int sock, struct toolcage_engine **ret, struct toolcage_error **err)
{
    struct toolcage_engine *engine = calloc(1, sizeof(*engine));
    if (!engine) {
        (void)close(sock);
        return tc_fail_memory(err);
    }
    atomic_init(&engine->refs, 1);
    engine->pid = getpid();
    engine->ours = mark_process();
    engine->sock = sock;
    atomic_init(&engine->modules.first, NULL);
    engine->plans.modules = &engine->modules;
    tc_system_cache_init(&engine->system);
    *ret = engine;
    return 0;
}

struct tc_modules_known *tc_engine_modules(struct toolcage_engine *engine)
{
    return &engine->modules;
}

_Atomic int64_t *tc_engine_audit_synced(struct toolcage_engine *engine)
{
    return &engine->audit_synced_us;
}

struct tc_plan_cache *tc_engine_plans(struct toolcage_engine *engine)
{
    return &engine->plans;
}

struct tc_system_cache *tc_engine_system(struct toolcage_engine *engine)
{
    return &engine->system;
}

/* Every kernel that runs cages has the calls, so only a filter can refuse them. */
static int fail_system(struct toolcage_error **err, const char *what)
{
    bool refused = errno == ENOSYS || errno == EPERM || errno == EACCES;
    return tc_fail(
        err,
        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "engine", what, errno,
                     refused
                         ? "this process is in a sandbox that refuses this system call, as every "
                           "cage does: a cage cannot hold another one; run toolcage outside"
                         : "see whether this process is at its limit of open files (ulimit -n)"),
        "cannot make the engine: %s failed", what);
}

int tc_engine_new(struct toolcage_engine **ret, struct toolcage_error **err)
{
    if (getauxval(AT_SECURE))
        return tc_fail(
            err,
            &(struct tc_why){
                .code = TOOLCAGE_EUSAGE,
                .stage = "engine",
                .hint = "start cages from a program without set-id bits or file capabilities"},
            "a set-id program cannot make an engine");
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fail_system(err, "socketpair");
    _autofd_ int ours = pair[0], theirs = pair[1];
    /* Set before the first message, so that each message carries its sender. */
    if (setsockopt(theirs, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)) < 0)
        return fail_system(err, "setsockopt");
    _autofd_ int host = tc_pidfd_open(getpid());
    if (host < 0)
        return fail_system(err, "pidfd_open");
    int r = tc_launch_helper(theirs, host, err);
    return r < 0 ? r : tc_engine_adopt(TAKE_FD(ours), ret, err);
}

struct toolcage_engine *tc_engine_ref(struct toolcage_engine *engine)
{
    if (engine)
        atomic_fetch_add_explicit(&engine->refs, 1, memory_order_relaxed);
    return engine;
}

static void probes_free(struct tc_outcome *probes)
{
    if (!probes)
        return;
    tc_outcome_done(probes);
    free(probes);
}

struct toolcage_engine *tc_engine_unref(struct toolcage_engine *engine)
{
    if (engine && atomic_fetch_sub_explicit(&engine->refs, 1, memory_order_acq_rel) == 1) {
        tc_plan_cache_close(&engine->plans);
        /* Forks of the host may hold copies, which must not keep the helper alive. */
        if (!tc_engine_forked(engine))
            (void)shutdown(engine->sock, SHUT_RDWR);
        (void)close(engine->sock);
        probes_free(atomic_load(&engine->probes));
        tc_modules_forget(&engine->modules);
        tc_system_cache_done(&engine->system);
        if (engine->ours)
            (void)munmap((void *)(uintptr_t)engine->ours, 1);
        free(engine);
    }
    return NULL;
}

bool tc_engine_forked(const struct toolcage_engine *engine)
{
    return engine->ours ? !*engine->ours : engine->pid != getpid();
}

int tc_engine_check(const struct toolcage_engine *engine, struct toolcage_error **err)
{
    if (!tc_engine_forked(engine))
        return 0;
    return tc_fail(
        err,
        &(struct tc_why){
            .code = TOOLCAGE_EFORKED,
            .stage = "engine",
            .hint = "make a new engine in the child; only unref of the old one works there"},
        "the engine was made by process %d, and this is a fork of it", (int)engine->pid);
}

int tc_engine_fd(const struct toolcage_engine *engine)
{
    return tc_engine_forked(engine) ? TOOLCAGE_EFORKED : engine->sock;
}

static struct tc_job signed_job(const struct tc_job *it)
{
    struct tc_job job = *it;
    _Static_assert(sizeof(TC_BUILD_ID) <= sizeof(job.build), "the build id matches");
    memcpy(job.build, TC_BUILD_ID, sizeof(TC_BUILD_ID));
    return job;
}

static int fail_submit(struct toolcage_error **err)
{
    bool gone = errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN;
    return tc_fail(err,
                   TC_WHY_ERRNO(gone ? TOOLCAGE_EHELPER : TOOLCAGE_ESYSTEM, "submit",
                                "toolcage-helper", gone ? 0 : errno,
                                gone ? "make a new engine"
                                     : "raise this process's limit of open files (ulimit -n)"),
                   gone ? "the helper has gone" : "cannot send to the helper");
}

int tc_engine_submit(struct toolcage_engine *engine, const struct tc_job *it, const int *fds,
                     size_t count, struct toolcage_error **err)
{
    const struct tc_job job = signed_job(it);
    return tc_send(engine->sock, &job, sizeof(job), fds, count) == 0 ? 0 : fail_submit(err);
}

int tc_engine_submit_inside(struct toolcage_engine *engine, const struct tc_job *it,
                            struct tc_buf *packet, const int *fds, size_t count,
                            struct toolcage_error **err)
{
    struct tc_job job = signed_job(it);
    if (packet->len > sizeof(job) + TC_PLAN_INSIDE_MAX)
        return 0;
    job.plan_bytes = (int32_t)(packet->len - sizeof(job));
    memcpy(packet->data, &job, sizeof(job));
    if (tc_send_now(engine->sock, packet->data, packet->len, fds, count) == 0)
        return 1;
    /* do not wait for a busy helper; a packet also has a maximum size */
    return errno == EAGAIN || errno == EMSGSIZE || errno == ENOBUFS ? 0 : fail_submit(err);
}

static int fail_outcome(struct toolcage_error **err, const char *what)
{
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EHELPER, "result", "toolcage-helper",
                          "reinstall toolcage: library and helper must be of one build"),
                   "the helper's reply %s", what);
}

int tc_outcome_parse(const char *bytes, size_t length, struct tc_outcome *ret,
                     struct toolcage_error **err)
{
    struct tc_wire wire = TC_WIRE_GET_INIT(bytes, length);
    tc_outcome_visit(&wire, ret);
    if (wire.memory)
        return tc_fail_memory(err);
    return wire.failed || wire.left ? fail_outcome(err, "cannot be read") : 0;
}

int tc_outcome_read(int fd, struct tc_outcome *ret, struct toolcage_error **err)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    /* If the file could still shrink, reading it could raise SIGBUS in the host. */
    if (fstat(fd, &st) < 0 || st.st_size <= 0 || seals < 0 || !(seals & F_SEAL_SHRINK))
        return fail_outcome(err, "is not a sealed memory file");
    size_t size = (size_t)st.st_size;
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return tc_fail_memory(err);
    int r = tc_outcome_parse(map, size, ret, err);
    (void)munmap(map, size);
    return r;
}

static int fail_job(struct toolcage_error **err, int code, const char *what, int errnum)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(code, "job", "toolcage-helper", errnum,
                                "make a new engine; if it happens again, reinstall toolcage"),
                   "%s", what);
}

/* Longer than the limits of all probes together, which the helper enforces. So it ends only the
 * wait for a helper that is blocked itself. */
enum { PROBES_SECONDS = 180 };

static int fail_reply(struct toolcage_error **err, int errnum)
{
    if (errnum != EAGAIN)
        return fail_job(err, TOOLCAGE_EHELPER, "the helper exited without a reply", errnum);
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EHELPER, "job", "toolcage-helper",
                          "see what the helper waits for (ps: state and wchan), then try again"),
                   "the helper's probes of this host did not answer within %d s", PROBES_SECONDS);
}

int tc_engine_ask(struct toolcage_engine *engine, enum tc_job_kind kind, int plan,
                  struct tc_message *ret_message, int *ret_fd, struct toolcage_error **err)
{
    const struct timeval patience = {.tv_sec = kind == TC_JOB_PROBE ? PROBES_SECONDS : 0};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fail_job(err, TOOLCAGE_ESYSTEM, "cannot make a socket for the job", errno);
    _autofd_ int ours = pair[0], theirs = pair[1];
    const int sent[] = {theirs, plan};
    const struct tc_job job = {.kind = kind};
    int r = tc_engine_submit(engine, &job, sent, plan < 0 ? 1 : 2, err);
    if (r < 0)
        return r;
    /* Only the helper may hold its end, or the helper's exit would go unnoticed. */
    (void)close(TAKE_FD(theirs));
    (void)setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)); /* 0: no limit */
    int fds[1];
    size_t count = 0;
    ssize_t n = tc_recv(ours, ret_message, sizeof(*ret_message), fds, 1, &count, NULL, NULL, true);
    if (n == sizeof(*ret_message) && ret_message->kind == TC_MESSAGE_DONE) {
        *ret_fd = count ? fds[0] : -1;
        return 0;
    }
    if (count && n >= 0)
        (void)close(fds[0]);
    return fail_reply(err, n < 0 ? errno : 0);
}

int tc_engine_probe(struct toolcage_engine *engine, struct tc_outcome *ret,
                    struct toolcage_error **err)
{
    struct tc_message message;
    _autofd_ int fd = -1;
    int r = tc_engine_ask(engine, TC_JOB_PROBE, -1, &message, &fd, err);
    r = r < 0 ? r : tc_outcome_read(fd, ret, err);
    return r == 0 && !ret->probe_count ? fail_outcome(err, "lists no clause") : r;
}

/* Threads that call this at once all query the helper; the first result is kept. */
int tc_engine_probes(struct toolcage_engine *engine, const struct tc_outcome **ret,
                     struct toolcage_error **err)
{
    struct tc_outcome *none = NULL, *made;
    *ret = atomic_load(&engine->probes);
    if (*ret)
        return 0;
    made = calloc(1, sizeof(*made));
    int r = made ? tc_engine_probe(engine, made, err) : tc_fail_memory(err);
    if (r == 0 && atomic_compare_exchange_strong(&engine->probes, &none, made))
        made = NULL;
    if (r == 0)
        *ret = atomic_load(&engine->probes);
    probes_free(made);
    return r;
}
