/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Stands in for the supervisor of a cage: starts toolcage-egress as egress.h says, gives it
 * listeners, and tells what it wrote down.
 *
 * usage: egress-driver [--uid N] [--connections N] [--files N] [--ipv6] [--tool NAME]
 *                      [--direct ADDRESS:PORT]... [--upstream [socks5://]HOST:PORT [--names]]
 * PROGRAM ENDPOINT[=METHOD,...][PATH]...
 *
 * Prints {"pid", "proxy", "dns"} when the proxy is ready; then, for each line on stdin, what was
 * said. At the end of stdin it closes the control socket, and prints how the proxy ended. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsontext.h"
#include "egress/egress.h"
#include "egress/read/host.h"
#include "policy/endpoint.h"

static struct tc_egress_config config = {
    .values_file = -1, .exchanges = -1, .sockets = -1, .connections = 4096};
static struct tc_egress_message message = {.kind = TC_EGRESS_LISTEN};
static int fds[TC_EGRESS_LISTENERS_MAX];
static uid_t uid = (uid_t)-1;
static rlim_t files;

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(2);
}

static void add_listener(int fd, enum tc_egress_role role)
{
    if (message.count == TC_EGRESS_LISTENERS_MAX)
        fail("listeners");
    fds[message.count] = fd;
    message.role[message.count++] = role;
}

/* Listens there; the port that it got. */
static unsigned listen_at(const char *host, unsigned port, int type, enum tc_egress_role role)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {0};
    socklen_t len = sizeof(at);
    const int yes = 1;
    bool v6 = inet_pton(AF_INET6, host, &at.v6.sin6_addr) == 1;
    at.any.sa_family = v6 ? AF_INET6 : AF_INET;
    if (!v6 && inet_pton(AF_INET, host, &at.v4.sin_addr) != 1)
        fail(host);
    *(v6 ? &at.v6.sin6_port : &at.v4.sin_port) = htons((uint16_t)port);
    int fd = socket(at.any.sa_family, type | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &yes, sizeof(yes));
    if (bind(fd, &at.any, v6 ? sizeof(at.v6) : sizeof(at.v4)) < 0 ||
        (type == SOCK_STREAM && listen(fd, 4096) < 0) || getsockname(fd, &at.any, &len) < 0)
        fail(host);
    add_listener(fd, role);
    return ntohs(v6 ? at.v6.sin6_port : at.v4.sin_port);
}

static void add_direct(const char *text)
{
    struct tc_egress_host at; /* also one that no entry may name */
    if (!tc_egress_authority_read(text, strlen(text), &at))
        fail(text);
    (void)listen_at(at.name, at.port, SOCK_STREAM, TC_EGRESS_DIRECT);
}

static void set_upstream(const char *text)
{
    struct tc_complaint c;
    struct tc_net_entry at = {0};
    config.upstream.socks = tc_startswith(text, "socks5://");
    if (tc_endpoint_read(text + (config.upstream.socks ? strlen("socks5://") : 0), &at, &c))
        fail(c.what);
    config.upstream.host = at.host;
    config.upstream.port = at.port;
}

/* "host:port", "host:port=GET,HEAD" or "host:port/path" */
static void add_rule(const char *text)
{
    struct tc_complaint c;
    struct tc_net_entry *entry = TC_PUSH(config.net, config.net_count);
    size_t len = strcspn(text, "=/");
    char *host = strndup(text, len);
    if (tc_endpoint_read(host, entry, &c))
        fail(c.what);
    free(host);
    if (text[len] == '/')
        (void)tc_strv_add(&entry->paths, text + len);
    if (text[len] == '=')
        for (char *word = strdup(text + len + 1), *next; word; word = next) {
            next = strchr(word, ',');
            if (next)
                *next++ = '\0';
            (void)tc_strv_add(&entry->methods, word);
        }
}

static const char *read_options(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--ipv6")) {
            config.ipv6 = true;
            continue;
        }
        if (!strcmp(argv[i], "--names")) {
            config.upstream.names = true;
            continue;
        }
        i++;
        if (!strcmp(argv[i - 1], "--uid"))
            uid = (uid_t)atoi(value);
        else if (!strcmp(argv[i - 1], "--connections"))
            config.connections = atoi(value);
        else if (!strcmp(argv[i - 1], "--files"))
            files = (rlim_t)atoi(value);
        else if (!strcmp(argv[i - 1], "--tool"))
            config.tool = strdup(value);
        else if (!strcmp(argv[i - 1], "--upstream"))
            set_upstream(value);
        else if (!strcmp(argv[i - 1], "--direct"))
            add_direct(value);
        else
            fail(argv[i - 1]);
    }
    const char *program = i < argc ? argv[i++] : NULL;
    for (; i < argc; i++)
        add_rule(argv[i]);
    return program;
}

/* ---- the proxy ---- */

static void become_proxy(const char *program, int control, int shared)
{
    char *const argv[] = {(char *)(uintptr_t) "toolcage-egress", NULL}, *const envp[] = {NULL};
    const struct rlimit limit = {files, files};
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        (void)dup2(null, fd);
    int a = fcntl(control, F_DUPFD, 100), b = fcntl(shared, F_DUPFD, 100);
    (void)dup2(a, TC_EGRESS_CONTROL);
    (void)dup2(b, TC_EGRESS_SHARED);
    if (files && setrlimit(RLIMIT_NOFILE, &limit) < 0)
        _exit(90);
    if (uid != (uid_t)-1 &&
        (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
        _exit(91);
    (void)execve(program, argv, envp);
    _exit(92);
}

static void send_config(int control)
{
    if (tc_task_send(control, &tc_egress_config_fields, &config) < 0)
        fail("config");
}

static void send_listeners(int control)
{
    if (tc_send(control, &message, sizeof(message), fds, (size_t)message.count) < 0)
        fail("listen");
    for (int i = 0; i < message.count; i++)
        (void)close(fds[i]); /* the proxy alone holds them */
}

static void wait_ready(int control)
{
    struct tc_egress_message got = {0};
    size_t count;
    ssize_t n = tc_recv(control, &got, sizeof(got), NULL, 0, &count, NULL, NULL, true);
    if (n != (ssize_t)sizeof(got) || got.kind != TC_EGRESS_READY)
        fail("not ready");
}

/* ---- what it said ---- */

static void print_stats(const struct tc_egress_stats *stats)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"denials\":[");
    for (uint32_t i = 0; i < stats->denial_count && i < TC_EGRESS_DENIALS_MAX; i++) {
        const struct tc_egress_denial *d = &stats->denials[i];
        tc_buf_addf(&out, "%s{\"target\":", i ? "," : "");
        tc_json_string(&out, d->target, strlen(d->target));
        tc_buf_addf(&out, ",\"reason\":%d,\"resolve\":%d,\"count\":%u}", d->reason, d->resolve,
                    d->count);
    }
    tc_buf_adds(&out, "],\"destinations\":[");
    for (uint32_t i = 0; i < stats->destination_count && i < TC_EGRESS_DESTINATIONS_MAX; i++) {
        const struct tc_egress_destination *d = &stats->destinations[i];
        tc_buf_addf(&out, "%s{\"target\":", i ? "," : "");
        tc_json_string(&out, d->target, strlen(d->target));
        tc_buf_addf(&out, ",\"connections\":%u,\"sent\":%llu,\"received\":%llu}", d->connections,
                    (unsigned long long)d->sent, (unsigned long long)d->received);
    }
    tc_buf_adds(&out, "],\"authority\":");
    tc_json_string(&out, stats->authority, stats->authority_size);
    printf("%s,\"sent\":%llu,\"received\":%llu,\"ready\":%u}\n", out.data,
           (unsigned long long)stats->sent, (unsigned long long)stats->received, stats->ready);
    (void)fflush(stdout);
    tc_buf_done(&out);
}

int main(int argc, char **argv)
{
    int pair[2], status = 0;
    char line[64];
    int shared = memfd_create("egress-said", MFD_CLOEXEC);
    const char *program = read_options(argc, argv);
    if (!program || shared < 0 || ftruncate(shared, sizeof(struct tc_egress_stats)) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        fail("usage");
    const struct tc_egress_stats *stats =
        mmap(NULL, sizeof(*stats), PROT_READ, MAP_SHARED, shared, 0);
    unsigned proxy = listen_at("127.0.0.1", 0, SOCK_STREAM, TC_EGRESS_PROXY);
    /* The number is TCP's choice: there a client that has gone may still hold one. */
    unsigned dns = listen_at("127.0.0.1", 0, SOCK_STREAM, TC_EGRESS_DNS_TCP);
    (void)listen_at("127.0.0.1", dns, SOCK_DGRAM, TC_EGRESS_DNS_UDP);
    pid_t pid = fork();
    if (pid == 0)
        become_proxy(program, pair[1], shared);
    (void)close(pair[1]);
    send_config(pair[0]);
    wait_ready(pair[0]);
    send_listeners(pair[0]);
    printf("{\"pid\":%d,\"proxy\":%u,\"dns\":%u}\n", pid, proxy, dns);
    (void)fflush(stdout);
    while (fgets(line, sizeof(line), stdin))
        print_stats(stats);
    (void)close(pair[0]);
    (void)waitpid(pid, &status, 0);
    printf("{\"code\":%d,\"signal\":%d}\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
}
