/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb egress: a tool's proxy without a cage, on an address that it is told. The library says
 * what it has to know, and this process becomes it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "cli/lookup.h"
#include "cli/say.h"

static const struct tc_option options[] = {
    {"tool", 0, "NAME", NULL, "whose network it is; without it that of [defaults]"},
    {"listen", 0, "ADDRESS:PORT", NULL, "where it listens (127.0.0.1:3128); port 0: any"},
    {"authority", 0, "FILE", NULL,
     "write the certificate there that clients have to trust, for methods and paths"},
    TC_OPTION_POLICY,
    {"json", 0, NULL, NULL, "say where it listens and what it refuses in lines of JSON"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Speaks HTTP, CONNECT and SOCKS5, and lets through what the tool's network names, by the same\n"
    "rules as in a cage. It is for what runs in a cage that somebody else built: whoever reaches "
    "the\n"
    "address reaches what the tool may, and nothing holds programs to the proxy but that cage.\n"
    "It ends with TERM or INT, after what was sent is delivered, at most two seconds later.\n"
    "\n"
    "examples:\n"
    "  toolcage egress --policy tools.toml --tool web_fetch\n"
    "  toolcage egress --policy tools.toml --tool web_fetch --listen '[::1]:8080' --json\n";

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* ---- where it listens ---------------------------------------------------------------------------
 */

/* "127.0.0.1:3128", "[::1]:3128"; no names: which of their addresses would it be? */
static bool read_address(const char *given, union address *ret)
{
    char host[INET6_ADDRSTRLEN];
    const char *colon = strrchr(given, ':');
    char *end = NULL;
    long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : -1;
    bool v6 = given[0] == '[';
    size_t len = colon ? (size_t)(colon - given) : 0;
    if (port < 0 || port > 65535 || *end || len >= sizeof(host) || (v6 && colon[-1] != ']'))
        return false;
    len -= v6 ? 2 : 0;
    memcpy(host, given + v6, len);
    host[len] = '\0';
    memset(ret, 0, sizeof(*ret));
    ret->any.sa_family = v6 ? AF_INET6 : AF_INET;
    if (v6) {
        ret->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1;
    }
    ret->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1;
}

static bool is_loopback(const union address *at)
{
    return at->any.sa_family == AF_INET ? ntohl(at->v4.sin_addr.s_addr) >> 24 == 127
                                        : IN6_IS_ADDR_LOOPBACK(&at->v6.sin6_addr);
}

static void write_address(const union address *at, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";
    bool v6 = at->any.sa_family == AF_INET6;
    (void)inet_ntop(at->any.sa_family,
                    v6 ? (const void *)&at->v6.sin6_addr : (const void *)&at->v4.sin_addr, host,
                    sizeof(host));
    (void)snprintf(out, size, v6 ? "[%s]:%u" : "%s:%u", host,
                   ntohs(v6 ? at->v6.sin6_port : at->v4.sin_port));
}

/* The descriptor, or -1 with the failure; the address is what it got. */
static int open_listener(const char *given, union address *at, struct tc_failure *failure)
{
    enum { BACKLOG = 1024 };
    const int yes = 1;
    if (!read_address(given, at))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                              "write --listen 127.0.0.1:3128 or --listen '[::1]:3128'",
                              "--listen %s is no address with a port", given);
    socklen_t len = at->any.sa_family == AF_INET ? sizeof(at->v4) : sizeof(at->v6);
    _autofd_ int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, &at->any, len) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, &at->any, &len) < 0)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "name another address or port",
                              "cannot listen on %s: %s", given, strerror(errno));
    int ret = fd;
    fd = -1;
    return ret;
}

static int tell(const struct tc_args *args, const union address *at)
{
    char where[INET6_ADDRSTRLEN + sizeof("[]:65535")];
    char line[sizeof(where) + sizeof("{\"listening\":\"\"}\n")];
    write_address(at, where, sizeof(where));
    if (!is_loopback(at))
        tc_cli_say("warning: whoever reaches %s reaches what the tool may", where);
    if (!tc_args_has(args, "json")) {
        tc_cli_say("the proxy listens on %s", where);
        return 0;
    }
    int n = snprintf(line, sizeof(line), "{\"listening\":\"%s\"}\n", where);
    return tc_cli_print(line, (size_t)n);
}

/* ---- becoming it --------------------------------------------------------------------------------
 */

static bool is_safe(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Beside this program, or where an installed one has it; nowhere else, whatever PATH says. */
static int open_program(struct tc_failure *failure)
{
    static const char *const places[] = {"toolcage-egress", "../libexec/toolcage/toolcage-egress"};
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n < 0 ? 0 : n] = '\0';
    const char *slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < TC_COUNT(places); i++) {
        (void)snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self), self, places[i]);
        _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || !is_safe(fd))
            continue;
        int ret = fd;
        fd = -1;
        return ret;
    }
    return tc_failure_set(failure, TOOLCAGE_EHELPER,
                          "reinstall toolcage; its egress proxy is a file of root (or of yours) "
                          "with mode 0755",
                          "the egress proxy toolcage-egress is not installed beside toolcage");
}

static int open_authority(const struct tc_args *args, struct tc_failure *failure)
{
    const char *file = tc_args_value(args, "authority");
    int fd = open(file ? file : "/dev/null",
                  file ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY : O_RDONLY | O_CLOEXEC,
                  0644);
    return fd >= 0
               ? fd
               : tc_failure_set(failure, TOOLCAGE_ESYSTEM, "name a file that can be written",
                                "cannot write %s: %s", file ? file : "/dev/null", strerror(errno));
}

/* From where it has said that it listens on, it ends in order: they wait for the program. */
static void hold_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Returns only when it fails. */
static int become(const struct tc_args *args, int program, int control, int authority,
                  struct tc_failure *failure)
{
    enum { CONTROL = 3, AUTHORITY = 4, ABOVE = 10 };
    static char name[] = "toolcage-egress", json[] = "json", plain[] = "text";
    char *argv[] = {name, tc_args_has(args, "json") ? json : plain, NULL}, *none[] = {NULL};
    int from = fcntl(control, F_DUPFD_CLOEXEC, ABOVE);
    int to = fcntl(authority, F_DUPFD_CLOEXEC, ABOVE);
    int self = fcntl(program, F_DUPFD_CLOEXEC, ABOVE);
    if (from >= 0 && to >= 0 && self >= 0 && dup2(from, CONTROL) >= 0 && dup2(to, AUTHORITY) >= 0)
        (void)fexecve(self, argv, none);
    return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "reinstall toolcage",
                          "the egress proxy cannot be started: %s", strerror(errno));
}

static int serve(const struct tc_args *args, const struct tc_found *found,
                 struct tc_failure *failure)
{
    const char *given = tc_args_value(args, "listen");
    union address at;
    int control = -1;
    _autofd_ int program = open_program(failure);
    if (program < 0)
        return -1;
    _autofd_ int listener = open_listener(given ? given : "127.0.0.1:3128", &at, failure);
    if (listener < 0)
        return -1;
    if (toolcage_policy_egress(found->policy, tc_args_value(args, "tool"), &listener, 1, &control,
                               tc_failure_error(failure)))
        return -1;
    _autofd_ int owned = control;
    _autofd_ int authority = open_authority(args, failure);
    if (authority < 0)
        return -1;
    hold_signals();
    int rc = tell(args, &at);
    return rc ? rc : become(args, program, owned, authority, failure);
}

static int run(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofound_ struct tc_found found = {0};
    int rc = tc_lookup(tc_args_value(args, "policy"), TC_LOOKUP_TRUSTED, &found, &failure);
    if (!rc && !found.path)
        rc = tc_failure_set(&failure, TOOLCAGE_ENOT_FOUND,
                            "write a policy (toolcage init), or name one with --policy FILE",
                            "there is no policy here, so there is no network to give");
    if (!rc)
        rc = serve(args, &found, &failure);
    return rc < 0 ? tc_failure_tell(&failure, args, tc_args_value(args, "tool")) : rc;
}

const struct tc_verb tc_verb_egress = {
    .name = "egress",
    .words = "[--tool NAME] [--listen ADDRESS:PORT]",
    .summary = "a tool's egress proxy alone, for what runs in a cage of others",
    .text = text,
    .options = options,
    .run = run,
};
