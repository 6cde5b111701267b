/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program toolcage-egress: started by the supervisor of a cage (egress.h), or standalone by a
 * caller of toolcage_policy_egress(). */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/sys.h"
#include "egress/egress.h"
#include "egress/proxy/authority.h"
#include "egress/proxy/confine.h"
#include "egress/proxy/flow.h"
#include "egress/proxy/loop.h"
#include "egress/proxy/resolve.h"
#include "egress/read/secrets.h"
#include "policy/endpoint.h"

enum { SECRETS_MAX = 16 << 20, FILES_APART = 128, PUBLISHED_MAX = 256 };

static struct tc_egress_proxy proxy;

/* ---- messages ---- */

static bool is_sealed(int fd)
{
    const int wanted = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & wanted) == wanted;
}

/* Owned; NULL on failure. */
static char *read_sealed(int fd, size_t *ret_size)
{
    struct stat st;
    if (fd < 0 || !is_sealed(fd) || fstat(fd, &st) < 0 || st.st_size <= 0 ||
        st.st_size > SECRETS_MAX)
        return NULL;
    _autofree_ char *bytes = malloc((size_t)st.st_size);
    *ret_size = (size_t)st.st_size;
    return bytes && pread(fd, bytes, *ret_size, 0) == st.st_size ? TAKE(bytes) : NULL;
}

static bool read_secrets(int fd, struct tc_egress_config *config)
{
    size_t size;
    _autofree_ char *bytes = fd < 0 ? NULL : read_sealed(fd, &size);
    if (!bytes)
        return fd < 0 && !config->secret_count;
    bool fine = tc_egress_secrets_read(config, bytes, size);
    explicit_bzero(bytes, size);
    return fine;
}

static bool receive_config(struct tc_egress_config *config)
{
    bool fine = tc_task_receive(TC_EGRESS_CONTROL, &tc_egress_config_fields, config);
    _autofd_ int values = fine ? config->values_file : -1;
    return fine && tc_egress_config_fine(config) &&
           (config->replays ? values < 0 : read_secrets(values, config));
}

/* Takes the fds. */
static bool listen_all(const struct tc_egress_message *message, const int *fds, size_t count)
{
    bool fine =
        message->kind == TC_EGRESS_LISTEN && message->count > 0 && (size_t)message->count == count;
    for (size_t i = 0; i < count; i++) {
        if (fine)
            fine = tc_egress_listen(&proxy, fds[i], (enum tc_egress_role)message->role[i]);
        else
            (void)close(fds[i]);
    }
    return fine;
}

/* An invalid message ends the proxy: half a configuration is never used. */
static void control_ready(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events)
{
    struct tc_egress_message message;
    int fds[TC_EGRESS_LISTENERS_MAX];
    size_t count = 0;
    (void)events;
    ssize_t n = tc_recv(watch->fd, &message, sizeof(message), fds, TC_EGRESS_LISTENERS_MAX, &count,
                        NULL, NULL, false);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n == (ssize_t)sizeof(message) && message.kind == TC_EGRESS_FINISH && !count) {
        tc_egress_listeners_end(p);
        p->finish_at = p->now + TC_EGRESS_FINISH_US;
        return;
    }
    if (n != (ssize_t)sizeof(message) || !listen_all(&message, fds, count))
        p->over = true;
}

static bool send_message(enum tc_egress_kind kind)
{
    const struct tc_egress_message message = {.kind = kind};
    return tc_send(TC_EGRESS_CONTROL, &message, sizeof(message), NULL, 0) == 0;
}

static bool say_ready(void)
{
    atomic_store(&proxy.stats->ready, 1);
    return send_message(TC_EGRESS_READY);
}

/* ---- the start ---- */

static bool map_stats(void)
{
    void *at = mmap(NULL, sizeof(struct tc_egress_stats), PROT_READ | PROT_WRITE, MAP_SHARED,
                    TC_EGRESS_SHARED, 0);
    if (at == MAP_FAILED)
        return false;
    proxy.stats = at;
    if (proxy.config.sockets < 0)
        return tc_close_range(TC_EGRESS_SHARED, ~0U, 0) == 0;
    if (dup2(proxy.config.sockets, TC_EGRESS_SHARED) < 0)
        return false;
    proxy.config.sockets = TC_EGRESS_SHARED;
    return tc_close_range(TC_EGRESS_SHARED + 1, ~0U, 0) == 0;
}

/* The policy's limit, or half the available fds: a connection needs two. */
static void set_most(void)
{
    struct rlimit limit = {0};
    rlim_t files = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : 0;
    size_t most = files > FILES_APART + 2 ? (size_t)(files - FILES_APART) / 2 : 1;
    if (proxy.config.published.count) { /* clients outside leave files for the tool's connections */
        proxy.published_max = most / 2 < PUBLISHED_MAX ? most / 2 + 1 : PUBLISHED_MAX;
        most = most > proxy.published_max ? most - proxy.published_max : 1;
    }
    proxy.flow_max =
        (uint64_t)proxy.config.connections < most ? (size_t)proxy.config.connections : most;
}

static struct tc_egress_authority authority;

/* Only a proxy that inspects TLS creates a CA. */
static bool open_authority(void)
{
    bool inspects = false;
    for (size_t i = 0; i < proxy.config.net_count; i++)
        inspects |= tc_net_entry_inspected(&proxy.config.net[i]);
    if (!inspects)
        return true;
    proxy.authority = &authority;
    return tc_egress_authority_open(&authority, &proxy.config, proxy.stats);
}

static bool open_proxy(void)
{
    proxy.epoll = epoll_create1(EPOLL_CLOEXEC);
    set_most();
    return proxy.epoll >= 0 && tc_egress_names_open(&proxy.names, &proxy.config) &&
           tc_egress_resolver_open(&proxy);
}

static bool open_control(void)
{
    proxy.control = (struct tc_egress_watch){.fd = TC_EGRESS_CONTROL, .ready = control_ready};
    return tc_egress_watch_for(&proxy, &proxy.control, EPOLLIN);
}

/* ---- standalone ---- */

/* The one LISTEN message was queued before the start. */
static bool take_listeners(void)
{
    struct tc_egress_watch control = {.fd = TC_EGRESS_CONTROL};
    control_ready(&proxy, &control, EPOLLIN);
    (void)close(TC_EGRESS_CONTROL);
    return !proxy.over && proxy.listeners;
}

/* Writes the CA certificate for clients to trust. Once complete, `made` replaces `named`. */
static bool write_authority(const char *made, const char *named)
{
    bool fine = open_authority();
    if (fine && proxy.authority) {
        size_t size = atomic_load(&proxy.stats->authority_size);
        fine = size && write(TC_EGRESS_SHARED, proxy.stats->authority, size) == (ssize_t)size;
    }
    (void)close(TC_EGRESS_SHARED);
    if (!named)
        return fine;
    fine = fine && renameat(TC_EGRESS_BESIDE, made, TC_EGRESS_BESIDE, named) == 0;
    if (!fine)
        (void)unlinkat(TC_EGRESS_BESIDE, made, 0);
    (void)close(TC_EGRESS_BESIDE);
    return fine;
}

/* argv: "json" or "text", then the temporary and the final name of the certificate, if any. */
static int serve_standalone(char *const *argv)
{
    static struct tc_egress_stats stats;
    proxy.standalone = strcmp(argv[0], "json") == 0 ? TC_EGRESS_JSON : TC_EGRESS_TEXT;
    proxy.stats = &stats;
    if (!tc_egress_keep_shut() || !receive_config(&proxy.config) || !open_proxy() ||
        !take_listeners())
        return tc_egress_standalone_fail("its settings are incomplete", "use `toolcage egress`");
    (void)tc_close_range(TC_EGRESS_SHARED + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (!tc_egress_standalone_begin(&proxy))
        return tc_egress_standalone_fail("it cannot wait for signals",
                                         "raise the limit of open files");
    if (!write_authority(argv[1], argv[1] ? argv[2] : NULL))
        return tc_egress_standalone_fail(
            "its CA certificate cannot be written",
            "name a file with --authority: the policy's network entries have methods or paths");
    if (!tc_egress_standalone_become() || !tc_egress_keep_shut()) /* setresuid() undoes it */
        return tc_egress_standalone_fail("it cannot change from root to an unprivileged user",
                                         "start it as another user");
    if (!tc_egress_confine(&proxy.config, true) ||
        (proxy.authority && !tc_egress_authority_trust(&authority)))
        return tc_egress_standalone_fail("it cannot confine itself",
                                         "toolcage doctor lists what this host lacks");
    tc_egress_run(&proxy);
    tc_egress_flows_leave(&proxy);
    return 0;
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN); /* c-ares writes to sockets that may be closed */
    if (argc > 1)
        return serve_standalone(argv + 1);
    if (!tc_egress_keep_shut() || !receive_config(&proxy.config) || !tc_egress_kept_open(&proxy) ||
        !map_stats() || !open_proxy() || !open_control() || !tc_egress_publish_open(&proxy) ||
        !open_authority() || !tc_egress_confine(&proxy.config, false) || !say_ready() ||
        (proxy.authority && !tc_egress_authority_trust(&authority)))
        return 1;
    tc_egress_run(&proxy);
    if (!proxy.finish_at)
        return 0;
    tc_egress_flows_leave(&proxy);
    tc_egress_kept_exit(&proxy, tc_egress_flows_sent(&proxy) && tc_egress_datagrams_sent(&proxy));
    return !send_message(TC_EGRESS_DONE);
}
