/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage mcp`: the policy's tools as an MCP server. */
#include "mcp/mcp.h"

#include <string.h>
#include <unistd.h>

#include "approve/queue/queue.h"
#include "cli/call/httpd.h"
#include "cli/call/lookup.h"
#include "cli/call/notify.h"
#include "cli/show/diff.h"
#include "cli/show/say.h"
#include "cli/verbs/receipts.h"

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

/* Where calls run, for a call now and for one that is stored. */
struct place {
    const char *workspace, *digest;
    char *policy, *directory, *workspace_path; /* absolute; links are not followed: relative paths
                                                  of a policy start where it was named */
    struct tc_receipts *receipts;              /* NULL: none are made */
};

/* An absolute path, owned; NULL: `path` is NULL, or memory is exhausted. */
static char *absolute(const char *directory, const char *path)
{
    return !path || path[0] == '/' ? path ? strdup(path) : NULL
                                   : tc_cli_format("%s/%s", directory, path);
}

static int prepare_call(void *userdata, struct toolcage_call *call, struct toolcage_error **err)
{
    const struct place *place = userdata;
    if (place->receipts)
        tc_receipts_begin(place->receipts, toolcage_call_id(call));
    return place->workspace ? toolcage_call_set(call, "workspace", place->workspace, err) : 0;
}

/* What the model hears about a call that only a person starts; owned. */
static char *keep(void *userdata, const char *tool, const char *arguments)
{
    const struct place *place = userdata;
    struct tc_kept kept = {.policy = place->policy,
                           .digest = (char *)place->digest,
                           .directory = place->directory,
                           .workspace = place->workspace_path,
                           .tool = (char *)tool,
                           .arguments = (char *)arguments};
    struct tc_queue_fault fault;
    char id[TC_QUEUE_ID_SIZE];
    if (!place->directory || !place->policy || (place->workspace && !place->workspace_path))
        return strdup("only a person starts it, and the working directory is gone");
    if (tc_kept_store(&kept, id, &fault) < 0)
        return tc_cli_format("only a person starts it, and it could not be stored: %s", fault.text);
    return tc_cli_format("only a person starts it: it is stored for that as %s (toolcage approvals "
                         "run %s). It has not run",
                         id, id);
}

static void reloaded(void *userdata, const struct toolcage_policy *policy)
{
    struct place *place = userdata;
    place->digest = toolcage_policy_digest(policy);
}

static void say(void *userdata, const char *line)
{
    (void)userdata;
    if (tc_cli_is_heard())
        tc_cli_say("%s", line);
}

/* Few files, so that other calls do not wait for the comparison. */
static char *review_changes(void *userdata, struct toolcage_engine *engine, const char *json)
{
    enum { FILES_MAX = 64, SECONDS = 2 };
    _autoreview_ struct tc_review review = {0};
    bool whole = false;
    (void)userdata;
    if (tc_review_make(&review, tc_json_of(json)) || review.count > FILES_MAX ||
        tc_review_caches_alone(&review)) /* a yes leaves caches out */
        return NULL;
    char *shown = tc_diff_text(engine, &review, SECONDS, &whole);
    if (whole)
        return shown;
    free(shown);
    return NULL;
}

static void notify(void *userdata, const char *id)
{
    (void)userdata;
    tc_notify_request(id);
}

static char *sign_receipt(void *userdata, const char *call, char **ret_why)
{
    const struct place *place = userdata;
    return tc_receipts_sign(place->receipts, call, ret_why);
}

static int serve_mcp(const struct tc_args *args, const struct tc_found *found,
                     struct tc_receipts *receipts, struct tc_failure *failure)
{
    const char *workspace = tc_args_value(args, "workspace");
    _autofree_ char *directory = getcwd(NULL, 0);
    _autofree_ char *policy = directory ? absolute(directory, found->path) : NULL;
    _autofree_ char *path = directory ? absolute(directory, workspace) : NULL;
    struct place place = {.workspace = workspace,
                          .digest = toolcage_policy_digest(found->policy),
                          .policy = policy,
                          .directory = directory,
                          .workspace_path = path,
                          .receipts = receipts};
    bool queues = tc_args_has(args, "queue");
    const struct tc_mcp_tools what = {.policy = found->policy,
                                      .path = found->path,
                                      .reloaded = reloaded,
                                      .say = say,
                                      .name = tc_args_value(args, "name"),
                                      .narrow = prepare_call,
                                      .userdata = &place,
                                      .elicits = tc_args_has(args, "elicit"),
                                      .queues = queues,
                                      .streams = tc_args_has(args, "stream"),
                                      .review = review_changes,
                                      .notify = notify,
                                      .keep = queues ? keep : NULL,
                                      .receipt = receipts ? sign_receipt : NULL,
                                      .receipts_required = tc_args_has(args, "receipts-required")};
    const struct tc_writers writers = {.policy = found->policy, .workspace = workspace};
    if (tc_notify_use(args, writers, failure))
        return -1;
    int rc = tc_mcp_serve(&what, STDIN_FILENO, STDOUT_FILENO, tc_failure_error(failure));
    return tc_failure_of_pipes(failure, rc);
}

/* With or without receipts. */
static int serve_pipes(const struct tc_args *args, const struct tc_found *found,
                       struct tc_failure *failure)
{
    struct tc_receipts receipts;
    if (!tc_args_has(args, "receipts") && !tc_args_has(args, "receipts-required"))
        return serve_mcp(args, found, NULL, failure);
    int rc = tc_receipts_open(&receipts, found->policy, failure);
    if (!rc)
        rc = serve_mcp(args, found, &receipts, failure);
    tc_receipts_close(&receipts);
    return rc;
}

static int check_pipes(const struct tc_args *args, const char *option, struct tc_failure *failure)
{
    _autofree_ char *hint = tc_cli_format("leave out --%s, or --listen", option);
    if (!tc_args_has(args, option) || !tc_args_has(args, "listen"))
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, hint,
                          "--%s works over standard input and output only", option);
}

static int run_mcp(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofound_ struct tc_found found = {0};
    static const char *const of_pipes[] = {"elicit", "queue", "notify", "receipts",
                                           "receipts-required"};
    const struct tc_httpd_way way = {.passed = -1};
    int rc = check_name(tc_args_value(args, "name"), &failure);
    for (size_t i = 0; !rc && i < TC_COUNT(of_pipes); i++)
        rc = check_pipes(args, of_pipes[i], &failure);
    if (!rc)
        rc = tc_httpd_check(args, &failure);
    if (!rc)
        rc = tc_lookup(tc_args_value(args, "policy"), TC_LOOKUP_TRUSTED, &found, &failure);
    if (!rc && !found.path)
        rc = tc_failure_set(&failure, TOOLCAGE_ENOT_FOUND,
                            "write a policy (toolcage init), or name one with --policy FILE",
                            "there is no policy here, so there are no tools to serve");
    if (!rc)
        rc = tc_args_has(args, "listen") ? tc_httpd_become(args, &found, &way, &failure)
                                         : serve_pipes(args, &found, &failure);
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
