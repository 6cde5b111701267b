/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The verb wrap: selects the server of the policy, and reports its messages. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/call/lookup.h"
#include "cli/show/clean.h"
#include "cli/show/json.h"
#include "cli/show/report.h"
#include "cli/show/say.h"
#include "mcp/mcp.h"
#include "pins/pins.h"

static const struct tc_option options[] = {
    TC_OPTION_POLICY,
    {"server", 0, "NAME", NULL, "the policy's server, if the command does not identify it"},
    {"url", 0, "URL", NULL, "the policy's server at this URL, if its name is not given"},
    {"pin", 0, NULL, NULL, "hold tools whose definition nobody approved: toolcage pins"},
    TC_OPTION_WORKSPACE,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "Runs a third-party MCP server in a cage, for as long as its client is connected. The "
    "policy's\n"
    "[server.NAME] grants what the server may reach; only the tools named there are shown, and "
    "calls of\n"
    "them are checked before the server sees them. Other parts of the protocol pass if it names "
    "them (pass).\n"
    "\n"
    "examples:\n"
    "  toolcage wrap --policy servers.toml --server files\n"
    "  toolcage wrap --policy servers.toml -- mcp-server-git --repository /workspace\n"
    "  toolcage wrap --policy servers.toml --url https://mcp.example.com/mcp\n"
    "\n"
    "in a client's settings:\n"
    "  {\"mcpServers\": {\"files\": {\"command\": \"toolcage\",\n"
    "        \"args\": [\"wrap\", \"--policy\", \"/home/me/servers.toml\", \"--server\", "
    "\"files\"]}}}\n";

struct scene {
    const struct tc_args *args;
    const struct tc_found *found;
    char *server;  /* owned */
    char *command; /* owned; a JSON array */
    char *policy;  /* owned; the file's path, without links */
    bool pin;
    char *fetcher; /* the command's program, if it downloads code but the cage has no network */
    bool own;      /* the policy sets its command */
    const char *workspace;
    bool hinted;
    int code;
};

/* ---- which server ---- */

static bool same_command(struct tc_slice command, char *const words[])
{
    struct tc_scan_each each = tc_scan_walk(command);
    size_t i = 0;
    while (tc_scan_next(&each)) {
        if (!words[i] || !tc_scan_is(each.value, words[i]))
            return false;
        i++;
    }
    return !words[i];
}

static bool has_command(struct tc_slice server)
{
    struct tc_scan_each each = tc_scan_walk(tc_json_get(server, "command"));
    return tc_scan_next(&each);
}

/* The operator decides about grants, so a command or URL in the policy cannot be replaced. */
static bool is_meant(const struct tc_args *args, const char *name, struct tc_slice server)
{
    const char *url = tc_args_value(args, "url");
    if (url && !tc_scan_is(tc_json_get(server, "url"), url))
        return false;
    if (name)
        return tc_scan_is(tc_json_get(server, "name"), name);
    return !args->operand_count || same_command(tc_json_get(server, "command"), args->operands);
}

static char *list_servers(struct tc_slice servers)
{
    char *all = NULL;
    size_t size = 0;
    bool first = true;
    FILE *out = open_memstream(&all, &size);
    struct tc_scan_each each = tc_scan_walk(servers);
    if (!out)
        return NULL;
    (void)fputs("the policy's servers: ", out);
    while (tc_scan_next(&each)) {
        _autofree_ char *name = tc_json_text(tc_json_get(each.value, "name"));
        (void)fprintf(out, "%s%s", first ? "" : ", ", name ? name : "?");
        first = false;
    }
    (void)fputs(first ? "none; write [server.NAME]" : "; name one with --server", out);
    return tc_cli_text(out, &all);
}

/* These programs download code before they run it. Without a network they fail slowly and with
 * misleading messages. */
static char *fetcher_of(struct tc_slice server, char *const words[])
{
    static const char *const names[] = {"npx", "bunx", "pnpx", "uvx", "pipx"};
    struct tc_scan_each each = tc_scan_walk(tc_json_get(server, "command"));
    _autofree_ char *own = tc_scan_next(&each) ? tc_json_text(each.value) : NULL;
    const char *program = own ? own : words[0] ? words[0] : "";
    const char *slash = strrchr(program, '/');
    const char *base = slash ? slash + 1 : program;
    if (tc_json_true(tc_json_get(server, "network")))
        return NULL;
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (!strcmp(names[i], base))
            return strdup(base);
    return NULL;
}

static int fail_choice(struct tc_slice servers, const struct tc_args *args, size_t count,
                       struct tc_failure *failure)
{
    const char *name = tc_args_value(args, "server"), *url = tc_args_value(args, "url");
    _autofree_ char *hint = list_servers(servers);
    if (url && !count)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND,
                              "write it as url of [server.NAME]: only the policy says where a "
                              "server may be",
                              "no server of the policy%s%s has the URL %s", name ? " named " : "",
                              name ? name : "", url);
    if (name)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, hint, "the policy has no server %s",
                              name);
    return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, hint,
                          count ? "several servers of the policy may be meant"
                                : "no server of the policy has this command");
}

static int choose(struct tc_slice servers, struct scene *scene, struct tc_failure *failure)
{
    const struct tc_args *args = scene->args;
    const char *name = tc_args_value(args, "server");
    struct tc_scan_each each = tc_scan_walk(servers);
    struct tc_slice chosen = {0};
    size_t count = 0;
    while (tc_scan_next(&each)) {
        if (!is_meant(args, name, each.value))
            continue;
        chosen = each.value;
        count++;
    }
    if (count != 1)
        return fail_choice(servers, args, count, failure);
    scene->own = has_command(chosen);
    scene->server = tc_json_text(tc_json_get(chosen, "name"));
    scene->fetcher = fetcher_of(chosen, args->operands);
    if (!scene->server)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (scene->own && args->operand_count &&
        !same_command(tc_json_get(chosen, "command"), args->operands))
        return tc_failure_set(failure, TOOLCAGE_EDENIED,
                              "leave the command out, or let the operator change it there",
                              "the policy sets the command of server %s, and the given one is "
                              "different",
                              scene->server);
    if (!scene->own && !args->operand_count)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "add it after \"--\", or to the policy",
                              "server %s has no command", scene->server);
    return 0;
}

/* The words as a JSON array; owned. NULL: out of memory. */
static char *write_words(char *const words[])
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return NULL;
    (void)fputc('[', out);
    for (size_t i = 0; words[i]; i++) {
        (void)fputs(i ? "," : "", out);
        tc_cli_json_string(out, words[i]);
    }
    (void)fputc(']', out);
    return tc_cli_text(out, &all);
}

/* ---- while the server runs ---- */

static int set_workspace(void *userdata, struct toolcage_call *call, struct toolcage_error **err)
{
    const struct scene *scene = userdata;
    return scene->workspace ? toolcage_call_set(call, "workspace", scene->workspace, err) : 0;
}

static void hint_fetcher(struct scene *scene)
{
    if (!scene->fetcher || scene->hinted)
        return;
    scene->hinted = true;
    tc_cli_hint("%s downloads what it runs, and this cage has no network: install the server "
                "beforehand (npm install -g, pip install) and name its own program as the command",
                scene->fetcher);
}

static void print_message(void *userdata, enum tc_wrap_message kind, const char *words,
                          size_t length)
{
    struct scene *scene = userdata;
    _autofree_ char *clean = tc_clean(TC_CLEAN_LINE, words, length, NULL);
    if (!clean || !tc_cli_is_heard())
        return;
    if (kind == TC_WRAP_NOTE) {
        tc_cli_say("server %s: %s", scene->server, clean);
    } else if (kind == TC_WRAP_SILENT) {
        tc_cli_say("server %s has not answered for ten seconds", scene->server);
        hint_fetcher(scene);
    } else {
        _autofree_ char *line = tc_cli_format("[%s] %s\n", scene->server, clean);
        if (line)
            tc_cli_stderr(line);
    }
}

static void on_ended(void *userdata, const struct toolcage_result *result, bool by_client)
{
    struct scene *scene = userdata;
    int code = toolcage_result_shell_code(result);
    enum toolcage_status status = toolcage_result_status(result);
    if (by_client && (status == TOOLCAGE_STATUS_OK || status == TOOLCAGE_STATUS_FAILED ||
                      status == TOOLCAGE_STATUS_CANCELLED))
        return; /* the normal end */
    scene->code = code;
    tc_report(result, scene->args, scene->found);
    if (status == TOOLCAGE_STATUS_OK || status == TOOLCAGE_STATUS_FAILED)
        tc_cli_say("server %s ended by itself, with exit code %d", scene->server, code);
    if (status == TOOLCAGE_STATUS_FAILED)
        hint_fetcher(scene);
}

static int wrap(struct scene *scene, const struct tc_found *found, struct tc_failure *failure)
{
    scene->found = found;
    const struct tc_args *args = scene->args;
    const struct tc_pins_key key = {scene->policy, scene->server, scene->command};
    const struct tc_wrap_options how = {.policy = found->policy,
                                        .server = scene->server,
                                        .command = (const char *const *)args->operands,
                                        .command_count = scene->own ? 0 : args->operand_count,
                                        .pins = scene->pin ? &key : NULL,
                                        .in = STDIN_FILENO,
                                        .out = STDOUT_FILENO,
                                        .narrow = set_workspace,
                                        .tell = print_message,
                                        .ended = on_ended,
                                        .userdata = scene};
    /* a closed client must be a write error and not end this process, which still has to end the
     * cage */
    (void)signal(SIGPIPE, SIG_IGN);
    return tc_failure_of_pipes(failure, tc_mcp_wrap(&how, tc_failure_error(failure)));
}

/* If the server is pinned: its identity, and whether its approved definitions can be used. */
static int find_pins(struct scene *scene, struct tc_slice server, const struct tc_found *found,
                     struct tc_failure *failure)
{
    struct tc_slice command = tc_json_get(server, "command");
    scene->pin = scene->pin || tc_json_true(tc_json_get(server, "pin"));
    if (!scene->pin)
        return 0;
    struct tc_pins pins;
    struct tc_fault fault;
    scene->command = command.at && scene->own ? strndup(command.at, command.length)
                                              : write_words(scene->args->operands);
    scene->policy = realpath(found->path, NULL);
    if (!scene->command || !scene->policy)
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, NULL, "cannot find %s again: %s",
                              found->path, strerror(errno));
    const struct tc_pins_key key = {scene->policy, scene->server, scene->command};
    if (tc_pins_load(&key, &pins, &fault) < 0)
        return tc_failure_set(failure, fault.code, fault.hint, "%s", fault.text);
    tc_pins_done(&pins);
    return 0;
}

static int find_server(struct scene *scene, const struct tc_found *found,
                       struct tc_failure *failure)
{
    char *servers = NULL;
    if (!found->path)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND,
                              "write a policy with [server.NAME], or name one with --policy FILE",
                              "there is no policy here, so nothing is granted to a server");
    if (toolcage_policy_tools_json(found->policy, "servers", &servers, tc_failure_error(failure)))
        return -1;
    int rc = choose(tc_json_of(servers), scene, failure);
    if (!rc)
        rc = find_pins(scene, tc_json_find(tc_json_of(servers), "name", scene->server), found,
                       failure);
    toolcage_free(servers);
    return rc;
}

static int run_wrap(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    _autofound_ struct tc_found found = {0};
    struct scene scene = {.args = args,
                          .workspace = tc_args_value(args, "workspace"),
                          .pin = tc_args_has(args, "pin")};
    int rc = tc_lookup(tc_args_value(args, "policy"), TC_LOOKUP_TRUSTED, &found, &failure);
    if (!rc)
        rc = find_server(&scene, &found, &failure);
    if (!rc)
        rc = wrap(&scene, &found, &failure);
    int code = rc ? tc_failure_tell(&failure, args, NULL) : scene.code;
    free(scene.server);
    free(scene.command);
    free(scene.policy);
    free(scene.fetcher);
    return code;
}

const struct tc_verb tc_verb_wrap = {
    .name = "wrap",
    .operands = "[options] [-- SERVER [ARG]...]",
    .summary = "run an MCP server in a cage, and check its tools",
    .text = text,
    .options = options,
    .command = true,
    .most = -1,
    .run = run_wrap,
};
