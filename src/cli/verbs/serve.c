/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage serve`: the policy's tools over an HTTP API. */
#include <stdlib.h>

#include "cli/call/httpd.h"
#include "cli/call/local.h"
#include "cli/call/lookup.h"

static const struct tc_option options[] = {
    TC_OPTION_POLICY,
    TC_OPTION_WORKSPACE,
    {"socket", 0, "PATH", NULL, "the unix socket (default: serve.sock in the state directory)"},
    {"listen", 0, "ADDRESS:PORT", NULL, "listen on TCP instead; port 0: any"},
    {"console", 0, NULL, NULL, "a web page for approvals, calls and history (on 127.0.0.1:8931)"},
    {"operator-token-file", 0, "FILE", NULL,
     "the token of the person who approves (with --console: a new one)"},
    {"calls", 0, "N", NULL, "how many calls run at once (default: 64)"},
    TC_OPTIONS_HTTPD,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Serves the tools of the policy to programs, over HTTP: run a call and stream what it prints,\n"
    "list, cancel, explain, health, metrics, approvals. Each call runs in a separate cage. Only\n"
    "processes of the same user can connect to the unix socket; over TCP, clients must send the\n"
    "token, and cannot approve calls: the operator can, with a second token, which starts none.\n"
    "--console prints the URL of a web page for the operator. /v1/openapi.json describes the API;\n"
    "/mcp serves the same tools to clients of the Model Context Protocol.\n"
    "\n"
    "examples:\n"
    "  toolcage serve --policy tools.toml\n"
    "  curl --unix-socket ~/.local/state/toolcage/serve.sock http://localhost/v1/calls \\\n"
    "    --json '{\"tool\": \"grep\", \"arguments\": {\"pattern\": \"main\"}}'\n"
    "  toolcage serve --policy tools.toml --listen 127.0.0.1:8931 --token-file ~/.config/token\n"
    "  toolcage serve --policy tools.toml --console\n";

static int check_options(const struct tc_args *args, struct tc_failure *failure)
{
    if (tc_args_has(args, "socket") && tc_args_has(args, "console"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "leave out --socket",
                              "browsers cannot open the console on a unix socket");
    if (tc_args_has(args, "socket") && tc_args_has(args, "listen"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "start a server for each",
                              "a server listens on a socket or an address, not both");
    return tc_httpd_check(args, failure);
}

static int serve(const struct tc_args *args, const struct tc_found *found,
                 struct tc_failure *failure)
{
    const char *given = tc_args_value(args, "socket");
    bool local = !tc_args_has(args, "listen") && !tc_args_has(args, "console");
    int passed = local && !given ? tc_local_passed(failure) : -1;
    char *made = local && !given && passed == -1 ? tc_local_path(failure) : NULL;
    if (passed < -1 || (local && !given && passed < 0 && !made))
        return -1;
    const struct tc_httpd_way way = {.api = true,
                                     .socket = passed >= 0 ? "of the service manager"
                                               : made      ? made
                                                           : given,
                                     .passed = passed};
    int rc = tc_httpd_become(args, found, &way, failure);
    free(made);
    return rc;
}

static int run_serve(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofound_ struct tc_found found = {0};
    int rc = check_options(args, &failure);
    if (!rc)
        rc = tc_httpd_policy(args, &found, &failure);
    if (!rc)
        rc = serve(args, &found, &failure);
    return rc ? tc_failure_tell(&failure, args, NULL) : 0;
}

const struct tc_verb tc_verb_serve = {
    .name = "serve",
    .operands = "[options]",
    .summary = "serve the policy's tools over an HTTP API",
    .text = text,
    .options = options,
    .minor = true,
    .run = run_serve,
};
