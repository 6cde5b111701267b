/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb egress: a tool's proxy without a cage. The library provides the proxy's config, and this
 * process executes toolcage-egress. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/call/listen.h"
#include "cli/call/lookup.h"
#include "cli/call/replace.h"
#include "cli/call/sibling.h"
#include "cli/show/say.h"

static const struct tc_option options[] = {
    {"tool", 0, "NAME", NULL, "the tool whose network rules apply (default: those of [defaults])"},
    {"listen", 0, "ADDRESS:PORT", NULL,
     "the listening address (default: 127.0.0.1:3128); port 0: any"},
    {"authority", 0, "FILE", NULL,
     "where to write the certificate that clients must trust (for entries with methods or paths)"},
    TC_OPTION_POLICY,
    {"json", 0, NULL, NULL, "report the address and refused requests as lines of JSON"},
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Speaks HTTP, CONNECT and SOCKS5, and forwards what the tool's network allows, by the same "
    "rules\n"
    "as in a cage. It is for programs in a sandbox that toolcage did not build: anyone who can "
    "connect to\n"
    "the address has the tool's network access, and only that sandbox forces programs to use the "
    "proxy.\n"
    "SIGTERM or SIGINT ends it within two seconds, after pending data is delivered.\n"
    "\n"
    "examples:\n"
    "  toolcage egress --policy tools.toml --tool web_fetch\n"
    "  toolcage egress --policy tools.toml --tool web_fetch --listen '[::1]:8080' --json\n";

static int print_address(const struct tc_args *args, const union tc_address *at)
{
    char where[TC_ADDRESS_MAX];
    char line[sizeof(where) + sizeof("{\"listening\":\"\"}\n")];
    tc_listen_write(at, where);
    if (!tc_listen_is_loopback(at))
        tc_cli_say("warning: anyone who can connect to %s has the tool's network access", where);
    if (!tc_args_has(args, "json")) {
        tc_cli_say("the proxy listens on %s", where);
        return 0;
    }
    int n = snprintf(line, sizeof(line), "{\"listening\":\"%s\"}\n", where);
    return tc_cli_print(line, (size_t)n);
}

/* The certificate is written to a temporary file next to the named one; the proxy renames it. */
struct authority {
    int fd, beside;
    char made[TC_REPLACE_NAME];
    const char *named; /* NULL: not requested */
};

static void close_authority(struct authority *a)
{
    if (a->named && a->fd >= 0)
        (void)unlinkat(a->beside, a->made, 0); /* the proxy was never started */
    if (a->fd >= 0)
        (void)close(a->fd);
    if (a->beside >= 0)
        (void)close(a->beside);
}
#define _autoauthority_ __attribute__((cleanup(close_authority)))

/* Is the name unused, a regular file or a link? A name in /dev is refused even then: /dev/stdout is
 * a link. */
static bool is_replaceable(const struct authority *a)
{
    struct stat st, devices;
    if (fstatat(a->beside, a->named, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT;
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return false;
    return fstat(a->beside, &st) || stat("/dev", &devices) || st.st_dev != devices.st_dev ||
           st.st_ino != devices.st_ino;
}

static int refuse_authority(const char *file, struct tc_failure *failure)
{
    return tc_failure_set(
        failure, TOOLCAGE_ESYSTEM, "name a file that can be written", "cannot write %s: %s", file,
        errno == ELOOP || errno == ENOTDIR ? "its directory is a link, or not a directory"
                                           : strerror(errno));
}

/* Refuses a certificate file that a tool of the policy may write: the tool could replace the
 * proxy's certificate by its own, and clients would trust it. */
static int check_authority(const char *file, const struct toolcage_policy *policy,
                           struct tc_failure *failure)
{
    int written = toolcage_policy_written(policy, file, NULL, tc_failure_error(failure));
    return written <= 0
               ? written
               : tc_failure_set(failure, TOOLCAGE_EDENIED, "name a file where no tool writes",
                                "a tool could put another certificate at %s", file);
}

static int open_authority(const struct tc_args *args, const struct toolcage_policy *policy,
                          struct authority *a, struct tc_failure *failure)
{
    const char *file = tc_args_value(args, "authority");
    if (!file) {
        a->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return a->fd < 0 ? refuse_authority("/dev/null", failure) : 0;
    }
    const char *slash = strrchr(file, '/');
    _autofree_ char *directory = slash ? strndup(file, (size_t)(slash - file) + 1) : strdup(".");
    a->beside = directory ? tc_replace_directory(directory) : -1;
    a->named = slash ? slash + 1 : file;
    if (a->beside < 0)
        return refuse_authority(file, failure);
    if (!is_replaceable(a))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "name a file",
                              "cannot write %s: it is not a regular file", file);
    if (check_authority(file, policy, failure))
        return -1;
    a->fd = tc_replace_begin(a->beside, 0644, a->made);
    return a->fd < 0 ? refuse_authority(file, failure) : 0;
}

/* Returns only on failure. */
static int become(const struct tc_args *args, int program, int control, struct authority *a,
                  struct tc_failure *failure)
{
    static char name[] = "toolcage-egress", json[] = "json", plain[] = "text";
    _autofree_ char *named = a->named ? strdup(a->named) : NULL;
    char *argv[] = {name, tc_args_has(args, "json") ? json : plain, named ? a->made : NULL, named,
                    NULL};
    char *none[] = {NULL};
    const int fds[] = {control, a->fd, a->beside};
    return tc_sibling_become(program, argv, none, fds, a->named ? 3 : 2, failure);
}

static int serve_egress(const struct tc_args *args, const struct tc_found *found,
                        struct tc_failure *failure)
{
    const char *given = tc_args_value(args, "listen");
    union tc_address at;
    int control = -1;
    _autofd_ int program = tc_sibling_open("toolcage-egress", "the egress proxy", failure);
    if (program < 0)
        return -1;
    _autofd_ int listener = tc_listen_open(given ? given : "127.0.0.1:3128", "3128", &at, failure);
    if (listener < 0)
        return -1;
    if (toolcage_policy_egress(found->policy, tc_args_value(args, "tool"), &listener, 1, &control,
                               tc_failure_error(failure)))
        return -1;
    _autofd_ int owned = control;
    _autoauthority_ struct authority authority = {.fd = -1, .beside = -1};
    if (open_authority(args, found->policy, &authority, failure))
        return -1;
    int rc = print_address(args, &at);
    return rc ? rc : become(args, program, owned, &authority, failure);
}

static int run_egress(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofound_ struct tc_found found = {0};
    int rc = tc_lookup(tc_args_value(args, "policy"), TC_LOOKUP_TRUSTED, &found, &failure);
    if (!rc && !found.path)
        rc = tc_failure_set(&failure, TOOLCAGE_ENOT_FOUND,
                            "write a policy (toolcage init), or name one with --policy FILE",
                            "there is no policy here, so there is no network to allow");
    if (!rc)
        rc = serve_egress(args, &found, &failure);
    return rc < 0 ? tc_failure_tell(&failure, args, tc_args_value(args, "tool")) : rc;
}

const struct tc_verb tc_verb_egress = {
    .name = "egress",
    .operands = "[--tool NAME] [--listen ADDRESS:PORT]",
    .summary = "a tool's egress proxy alone, for programs in another sandbox",
    .text = text,
    .options = options,
    .run = run_egress,
};
