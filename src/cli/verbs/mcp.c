/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage mcp`: the policy's tools as an MCP server. */
#include "mcp/mcp.h"

#include <string.h>
#include <unistd.h>

#include "cli/call/httpd.h"
#include "cli/verbs/offer.h"

static const struct tc_option options[] = {
    TC_OPTION_POLICY,
    TC_OPTION_WORKSPACE,
    {"name", 0, "NAME", NULL, "the server's name for clients (default: toolcage)"},
    {"elicit", 0, NULL, NULL,
     "also offer tools of tier HumanApprove: the client asks its user to approve each call"},
    {"queue", 0, NULL, NULL,
     "also offer them, and those of tier ManualOnly: calls wait for toolcage approvals"},
    TC_OPTION_NOTIFY,
    {"stream", 0, NULL, NULL,
     "send a tool's output while it runs, to clients that ask for progress or log messages"},
    {"receipts", 0, NULL, NULL,
     "add the signed receipt of each call to its result, as _meta (the policy needs [audit])"},
    {"receipts-required", 0, NULL, NULL, "the same; a result without a receipt is an error"},
    {"listen", 0, "ADDRESS:PORT", NULL, "serve over HTTP instead of standard input; port 0: any"},
    TC_OPTIONS_HTTPD,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Serves the tools of the policy that have a command to a client of the Model Context "
    "Protocol,\n"
    "over standard input and output, or over HTTP. Each call runs in a separate cage; a refusal "
    "is a\n"
    "result that the model can read. The protocol's versions are 2026-07-28, 2025-11-25, "
    "2025-06-18,\n"
    "2025-03-26; over HTTP /mcp is Streamable HTTP, and /sse is for clients older than that. "
    "Without\n"
    "--remote only this host can connect, and clients must send the token.\n"
    "\n"
    "examples:\n"
    "  toolcage mcp --policy tools.toml\n"
    "  toolcage mcp --policy tools.toml --workspace ~/project --name data-tools\n"
    "  toolcage mcp --policy tools.toml --queue --receipts\n"
    "  toolcage mcp --policy tools.toml --listen 127.0.0.1:8931 --token-file ~/.config/token\n"
    "\n"
    "in a client's settings:\n"
    "  {\"mcpServers\": {\"caged\": {\"command\": \"toolcage\",\n"
    "                             \"args\": [\"mcp\", \"--policy\", \"/home/me/tools.toml\"]}}}\n";

/* Restricts the length and characters of the server's name, because clients derive headings and
 * tool names from the name. */
static int check_name(const char *name, struct tc_failure *failure)
{
    enum { LENGTH_MAX = 64 };
    static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t length = name ? strlen(name) : 0;
    bool good =
        length && length <= LENGTH_MAX && !strchr("_.-", name[0]) && strspn(name, all) == length;
    if (!name || good)
        return 0;
    return tc_failure_set(
        failure, TOOLCAGE_EUSAGE, "write a name like data-tools",
        "--name %s: use 1 to 64 letters, digits, _ . or -, starting with a letter or digit", name);
}

static int serve(const struct tc_args *args, const struct tc_found *found,
                 struct tc_failure *failure)
{
    const struct tc_offered given = {.path = found->path,
                                     .name = tc_args_value(args, "name"),
                                     .workspace = tc_args_value(args, "workspace"),
                                     .notify = tc_args_value(args, "notify"),
                                     .elicits = tc_args_has(args, "elicit"),
                                     .queues = tc_args_has(args, "queue"),
                                     .streams = tc_args_has(args, "stream"),
                                     .receipts = tc_args_has(args, "receipts"),
                                     .receipts_required = tc_args_has(args, "receipts-required")};
    const struct tc_httpd_way way = {.passed = -1};
    struct tc_offer offer;
    bool http = tc_args_has(args, "listen");
    int rc = tc_offer_open(&offer, found->policy, &given, failure);
    if (!rc && !http)
        rc = tc_failure_of_pipes(failure, tc_mcp_serve(&offer.what, STDIN_FILENO, STDOUT_FILENO,
                                                       tc_failure_error(failure)));
    tc_offer_close(&offer);
    return rc || !http ? rc : tc_httpd_become(args, found, &way, failure);
}

static int run_mcp(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofound_ struct tc_found found = {0};
    int rc = check_name(tc_args_value(args, "name"), &failure);
    if (!rc)
        rc = tc_httpd_check(args, &failure);
    if (!rc)
        rc = tc_httpd_policy(args, &found, &failure);
    if (!rc)
        rc = serve(args, &found, &failure);
    return rc ? tc_failure_tell(&failure, args, NULL) : 0;
}

const struct tc_verb tc_verb_mcp = {
    .name = "mcp",
    .operands = "[options]",
    .summary = "serve the policy's tools to an MCP client",
    .text = text,
    .options = options,
    .run = run_mcp,
};
