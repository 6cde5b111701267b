/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The lifecycle of a cage's egress proxy: program, process, end. */
#include "cage/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/published.h"
#include "egress/egress.h"
#include "policy/endpoint.h"

enum { LEFT_MAX = 64 };

struct tc_proxy {
    struct tc_gateway gateway;
    struct tc_init_network network;
    struct tc_egress_stats *stats;
    struct tc_publisher publisher;
    int control;          /* the helper's end */
    bool killed;          /* by the helper, with the cage */
    bool finishing, done; /* delivers the tool's last data; has delivered all */
    pid_t pid;            /* 0: not started, or ended */
    uid_t id;             /* leased for it; (uid_t)-1: the caller's id */
};

/* Proxies whose cage has ended: requested to end, or still delivering data. An id is reusable only
 * after its process is reaped. */
static struct left {
    pid_t pid;
    uid_t id;
    struct tc_ids *ids;
    int control;      /* -1: was killed */
    int64_t until_us; /* else killed then */
} left[LEFT_MAX];
static size_t left_count;

bool tc_plan_inspects(const struct tc_plan *plan)
{
    for (size_t i = 0; i < plan->net_count; i++)
        if (tc_net_entry_inspected(&plan->net[i]))
            return true;
    return false;
}

/* The most demanding clause that the plan needs the proxy for. */
static enum tc_clause clause_of(const struct tc_plan *plan)
{
    return plan->secret_count       ? TC_CLAUSE_NET_SECRET
           : tc_plan_inspects(plan) ? TC_CLAUSE_NET_INSPECT
                                    : TC_CLAUSE_NET_ALLOW;
}

static int fail_proxy(struct tc_cage *cage, const char *subject, const char *hint, const char *what)
{
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EUNENFORCEABLE, "network", subject, errno, hint),
                        clause_of(cage->plan), "%s", what);
}

/* ---- the program ---- */

static int look_for_program(const char **ret_lack)
{
    return tc_beside("toolcage-egress", ret_lack);
}

const char *tc_proxy_lacks(void)
{
    const char *lack;
    _autofd_ int fd = look_for_program(&lack);
    return fd < 0 ? lack : NULL;
}

static int fail_program(struct tc_cage *cage, const char *lack)
{
    errno = 0;
    _autofree_ char *message = tc_format("the egress proxy toolcage-egress %s", lack);
    return fail_proxy(
        cage, "toolcage-egress",
        "reinstall toolcage; toolcage-egress must belong to root (or to you) and have mode 0755",
        message ? message : lack);
}

/* ---- the process ---- */

struct cloned_us {
    int program, null, control, shared;
    uid_t id;
};

/* The group first, while the process is still privileged. */
static int become(const struct cloned_us *b)
{
    const int from[] = {b->null, b->null, b->null, b->control, b->shared};
    for (int i = 0; i < (int)TC_COUNT(from); i++)
        if (tc_sys(SYS_dup3, from[i], i, 0, 0, 0, 0) < 0)
            return -1;
    if (tc_close_range(TC_EGRESS_SHARED + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ||
        tc_sys(SYS_setsid, 0, 0, 0, 0, 0, 0) < 0)
        return -1;
    if (b->id == (uid_t)-1)
        return 0;
    return tc_sys(SYS_setgroups, 0, 0, 0, 0, 0, 0) < 0 ||
                   tc_sys(SYS_setresgid, b->id, b->id, b->id, 0, 0, 0) < 0 ||
                   tc_sys(SYS_setresuid, b->id, b->id, b->id, 0, 0, 0) < 0
               ? -1
               : 0;
}

/* A fork with separate memory: a change of ids makes all processes that share the memory
 * undumpable, and the helper's children could no longer read the helper's /proc entry. The helper
 * detects a failed start by the closed socket. */
static pid_t clone_child(const struct cloned_us *b)
{
    static char name[] = "toolcage-egress";
    static char *argv[] = {name, NULL}, *envp[] = {NULL};
    pid_t pid = _Fork();
    if (pid != 0)
        return pid;
    if (become(b) == 0)
        (void)tc_sys(SYS_execveat, b->program, TC_ARG(""), TC_ARG(argv), TC_ARG(envp),
                     AT_EMPTY_PATH, 0);
    _exit(127);
}

/* A memory file that the proxy can write but not resize. */
static int share(struct tc_proxy *x)
{
    _autofd_ int fd = memfd_create("egress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, sizeof(*x->stats)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
        tc_publisher_record(&x->publisher, fd) < 0)
        return -1;
    void *at = mmap(NULL, sizeof(*x->stats), PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return -1;
    x->stats = at;
    return TAKE_FD(fd);
}

static int start_process(struct tc_cage *cage, struct tc_proxy *x, int program)
{
    struct tc_process_host *host = TC_PRIV(cage)->host;
    int pair[2];
    _autofd_ int shared = share(x), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (shared < 0 || null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fail_proxy(cage, "toolcage-egress", "free memory or file descriptors on this host",
                          "the egress proxy cannot be started");
    x->control = pair[0];
    _autofd_ int control = pair[1];
    if (x->publisher.count && (cage->published_fd = fcntl(shared, F_DUPFD_CLOEXEC, 3)) < 0)
        return fail_proxy(cage, "toolcage-egress", "raise this process's limits (ulimit -n)",
                          "the egress proxy cannot be started");
    if (host->tree->privileged && (x->id = tc_ids_take(&host->ids)) == (uid_t)-1)
        return fail_proxy(cage, "/run/toolcage/ids.lock",
                          "wait until some of the running cages have ended",
                          "every unprivileged id is in use");
    x->pid = clone_child(&(struct cloned_us){program, null, control, shared, x->id});
    if (x->pid > 0)
        return 0;
    x->pid = 0;
    return fail_proxy(cage, "toolcage-egress",
                      "raise this process's limits (ulimit -u), or reinstall "
                      "toolcage",
                      "the egress proxy cannot be started");
}

static int send_config(struct tc_cage *cage, struct tc_proxy *x, bool ipv6)
{
    bool values = cage->plan->secret_count && !cage->plan->replays;
    struct tc_egress_config config = {.net = cage->plan->net,
                                      .net_count = cage->plan->net_count,
                                      .secrets = cage->plan->secrets,
                                      .secret_count = cage->plan->secret_count,
                                      .values_file = values ? cage->secrets_fd : -1,
                                      .upstream = cage->plan->upstream,
                                      .tool = cage->plan->tool,
                                      .ipv6 = ipv6,
                                      .connections = cage->plan->limits.connections,
                                      .transfer = cage->plan->limits.transfer,
                                      .bandwidth = cage->plan->limits.bandwidth,
                                      .exchanges = cage->exchanges_fd,
                                      .published = x->publisher.texts,
                                      .sockets = x->publisher.for_proxy,
                                      .replays = cage->plan->replays};
    if (values == (cage->secrets_fd >= 0) && tc_egress_config_fine(&config) &&
        tc_task_send(x->control, &tc_egress_config_fields, &config) == 0 &&
        tc_publisher_listen(&x->publisher, x->control) == 0) {
        if (values)
            (void)close(TAKE_FD(cage->secrets_fd));
        if (cage->exchanges_fd >= 0)
            (void)close(TAKE_FD(cage->exchanges_fd));
        if (x->publisher.for_proxy >= 0)
            (void)close(TAKE_FD(x->publisher.for_proxy));
        return 0;
    }
    return fail_proxy(cage, "toolcage-egress", "free memory on this host",
                      "the policy's entries cannot be sent to the egress proxy");
}

/* The addresses and listeners that the child makes in the cage. */
static int open_network(struct tc_cage *cage, struct tc_proxy *x, bool ipv6)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_plan *plan = cage->plan;
    if (tc_gateway_make(plan->net, plan->net_count, ipv6, &x->gateway) < 0)
        return tc_cage_fail_memory(cage, "network");
    x->network = (struct tc_init_network){.listeners = x->gateway.listeners,
                                          .listeners_size = x->gateway.listener_count *
                                                            sizeof(*x->gateway.listeners)};
    for (size_t i = 0; i < TC_GATEWAY_REQUESTS; i++)
        x->network.requests[i] =
            (struct tc_gateway_requests){x->gateway.requests[i].data, x->gateway.requests[i].len};
    p->init.network = &x->network;
    p->init.network_count = 1;
    return 0;
}

int tc_proxy_start(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    const struct tc_plan *plan = cage->plan;
    const char *lack = NULL;
    bool reaches = plan->net_count || plan->asks_network;
    if (p->proxy || (!reaches && !plan->publish.count))
        return 0;
    bool ipv6 = access("/proc/net/if_inet6", F_OK) == 0;
    _autofd_ int program = look_for_program(&lack);
    if (program < 0) /* without granted entries the proxy only records accesses and is optional */
        return plan->net_count || plan->publish.count ? fail_program(cage, lack) : 0;
    struct tc_proxy *x = p->proxy = calloc(1, sizeof(*x));
    if (!x)
        return tc_cage_fail_memory(cage, "network");
    x->control = -1;
    x->id = (uid_t)-1;
    x->publisher = TC_PUBLISHER_EMPTY;
    if ((reaches && open_network(cage, x, ipv6) < 0) || tc_publisher_open(cage, &x->publisher) < 0)
        return -1;
    return start_process(cage, x, program) < 0 ? -1 : send_config(cage, x, ipv6);
}

int tc_proxy_lend(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    if (!p->proxy || tc_publisher_lend(&p->proxy->publisher, p->talk) == 0)
        return 0;
    return fail_proxy(cage, "publish", "try again; the host may be out of memory",
                      "the session's sockets cannot be passed to the egress proxy");
}

/* The proxy is still trusted here: the cage has not sent it any data. */
int tc_proxy_authority(struct tc_cage *cage, struct tc_buf *to)
{
    enum { PATIENCE_MS = 10000 };
    const struct tc_proxy *x = TC_PRIV(cage)->proxy;
    struct tc_egress_message m = {0};
    struct pollfd ready = {.fd = x->control, .events = POLLIN};
    bool said = poll(&ready, 1, PATIENCE_MS) > 0 &&
                recv(x->control, &m, sizeof(m), MSG_DONTWAIT) == (ssize_t)sizeof(m) &&
                m.kind == TC_EGRESS_READY;
    uint32_t size = said ? atomic_load(&x->stats->authority_size) : 0;
    errno = 0;
    if (!size || size > TC_EGRESS_AUTHORITY_MAX)
        return fail_proxy(
            cage, "toolcage-egress",
            "the host may be out of memory: try again; if there are thousands of hosts "
            "with methods or paths, name fewer",
            "the egress proxy did not create its CA for TLS");
    tc_buf_add(to, x->stats->authority, size);
    return 0;
}

int tc_proxy_listen(struct tc_cage *cage, const int *fds, size_t count, int32_t first)
{
    struct tc_proxy *x = TC_PRIV(cage)->proxy;
    struct tc_egress_message m = {.kind = TC_EGRESS_LISTEN, .count = (int32_t)count};
    bool fine = x && first >= 0 && count <= TC_EGRESS_LISTENERS_MAX &&
                (size_t)first + count <= x->gateway.listener_count;
    for (size_t i = 0; fine && i < count; i++)
        m.role[i] = (int32_t)x->gateway.listeners[(size_t)first + i].role;
    errno = EPROTO;
    int rc = fine ? tc_send(x->control, &m, sizeof(m), fds, count) : -1;
    tc_close_all(fds, count);
    return rc == 0 ? 0
                   : fail_proxy(cage, "toolcage-egress", "try again; the host may be out of memory",
                                "the cage's sockets cannot be passed to the egress proxy");
}

int tc_proxy_fd(const struct tc_cage *cage)
{
    return TC_PRIV(cage)->proxy ? TC_PRIV(cage)->proxy->control : -1;
}

int tc_proxy_event(struct tc_cage *cage)
{
    struct tc_proxy *x = TC_PRIV(cage)->proxy;
    struct tc_egress_message m;
    ssize_t n = 0;
    if (!x || cage->over || x->killed)
        return 0;
    while ((n = recv(x->control, &m, sizeof(m), MSG_DONTWAIT)) > 0)
        ;
    if (n < 0 && errno == EAGAIN)
        return 0;
    return tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EBACKEND, "network", "toolcage-egress",
               "the host may be out of memory: try again; `toolcage doctor` shows what it lacks"),
        TC_CLAUSE_NET_ALLOW, "the egress proxy has ended, so the tool has no network");
}

/* ---- after the tool has ended ---- */

/* A tool that ended by itself may just have sent data. The proxy usually delivers it within this
 * short wait; the rest is delivered after the cage has ended. */
static void deliver(struct tc_proxy *x)
{
    enum { SHORT_MS = 10 };
    const struct tc_egress_message finish = {.kind = TC_EGRESS_FINISH};
    struct tc_egress_message m = {0};
    struct pollfd ready = {.fd = x->control, .events = POLLIN};
    x->finishing = tc_send(x->control, &finish, sizeof(finish), NULL, 0) == 0;
    int64_t until = tc_now_us() + SHORT_MS * 1000;
    while (x->finishing && !x->done && tc_now_us() < until && poll(&ready, 1, SHORT_MS) > 0)
        x->done = recv(x->control, &m, sizeof(m), MSG_DONTWAIT) <= 0 || m.kind == TC_EGRESS_DONE;
}

void tc_proxy_finish(struct tc_cage *cage)
{
    struct tc_proxy *x = TC_PRIV(cage)->proxy;
    if (!x || !x->stats)
        return;
    if (cage->over && x->control >= 0)
        deliver(x);
    tc_proxy_report(cage, x->stats);
    tc_proxy_report_ports(cage->outcome, x->stats, &x->publisher.texts);
}

bool tc_proxy_spent(const struct tc_cage *cage)
{
    const struct tc_proxy *x = TC_PRIV(cage)->proxy;
    return x && x->stats && cage->plan->limits.transfer && atomic_load(&x->stats->spent);
}

void tc_proxy_mark(const struct tc_cage *cage, struct tc_proxy_mark *ret)
{
    const struct tc_proxy *x = TC_PRIV(cage)->proxy;
    *ret = (struct tc_proxy_mark){0};
    if (x && x->stats)
        tc_proxy_read_mark(x->stats, ret);
}

void tc_proxy_since(const struct tc_cage *cage, const struct tc_proxy_mark *mark,
                    struct tc_outcome *to)
{
    const struct tc_proxy *x = TC_PRIV(cage)->proxy;
    struct tc_cage view = {.plan = cage->plan, .outcome = to};
    if (x && x->stats)
        tc_proxy_report_since(&view, x->stats, mark);
}

void tc_proxy_kill(struct tc_cage *cage)
{
    struct tc_proxy *x = TC_PRIV(cage)->proxy;
    if (!x || x->pid <= 0 || x->finishing)
        return;
    x->killed = true;
    (void)kill(x->pid, SIGKILL);
}

/* ---- ending the proxy ---- */

static bool gone(pid_t pid, int flags)
{
    return waitpid(pid, NULL, flags) != 0;
}

static void give_back(struct tc_ids *ids, uid_t id)
{
    if (id != (uid_t)-1)
        tc_ids_give(ids, id);
}

static void hang_up(struct left *l)
{
    if (l->control < 0)
        return;
    (void)kill(l->pid, SIGKILL);
    (void)close(l->control);
    l->control = -1;
}

int64_t tc_proxy_tick(int64_t now)
{
    enum { AGAIN_US = 20000 };
    for (size_t i = 0; i < left_count;) {
        if (now >= left[i].until_us)
            hang_up(&left[i]);
        if (!gone(left[i].pid, WNOHANG)) {
            i++;
            continue;
        }
        if (left[i].control >= 0) /* the proxy ended by itself: the pid may be reused */
            (void)close(left[i].control);
        give_back(left[i].ids, left[i].id);
        left[i] = left[--left_count];
    }
    return left_count ? now + AGAIN_US : 0;
}

void tc_proxy_close(void)
{
    enum { PAUSE_US = 1000 };
    while (tc_proxy_tick(tc_now_us()))
        (void)usleep(PAUSE_US);
}

/* Ends the proxy at once, or lets it finish its delivery. With no free slot to track it, the helper
 * blocks. */
static void let_go(struct tc_proxy *x, struct tc_ids *ids)
{
    bool stays = x->finishing && !x->done;
    struct left l = {x->pid, x->id, ids, TAKE_FD(x->control),
                     stays ? tc_now_us() + TC_EGRESS_FINISH_US + TC_EGRESS_FINISH_US / 4 : 0};
    if (!stays || left_count == LEFT_MAX)
        hang_up(&l);
    if (gone(x->pid, left_count < LEFT_MAX ? WNOHANG : 0))
        give_back(ids, x->id);
    else
        left[left_count++] = l;
}

void tc_proxy_end(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_proxy *x = p ? TAKE(p->proxy) : NULL;
    if (!x)
        return;
    p->init.network = NULL;
    p->init.network_count = 0;
    if (x->pid > 0)
        let_go(x, &p->host->ids);
    else
        give_back(&p->host->ids, x->id);
    if (x->control >= 0)
        (void)close(x->control);
    if (x->stats)
        (void)munmap(x->stats, sizeof(*x->stats));
    tc_gateway_done(&x->gateway);
    tc_publisher_done(&x->publisher);
    free(x);
}
