/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/hook/agents.h"

#include <string.h>

#include "cli/show/say.h"

enum { ID_LONGEST = 48 };

/* clang-format off */
/* Tools without a kind start nothing on this host, apart from requests to the web. Skills are not
 * among them: a skill can bring hooks, which Claude Code runs outside of cages, and a command in a
 * cage can write a skill. */
static const struct tc_hook_tool claude_tools[] = {
    {"Bash", TC_HOOK_SHELL, "command"},
    {"Monitor", TC_HOOK_SHELL, "command"},
    {"Read", TC_HOOK_READ, "file_path"},
    {"Glob", TC_HOOK_READ, "path"},
    {"Grep", TC_HOOK_READ, "path"},
    {"LS", TC_HOOK_READ, "path"},
    {"Write", TC_HOOK_WRITE, "file_path"},
    {"Edit", TC_HOOK_WRITE, "file_path"},
    {"MultiEdit", TC_HOOK_WRITE, "file_path"},
    {"NotebookEdit", TC_HOOK_WRITE, "notebook_path"},
    {"Agent"}, {"Task"}, {"ListAgents"}, {"SendMessage"},
    {"TaskOutput"}, {"BashOutput"}, {"KillShell"}, {"KillBash"}, {"TaskStop"},
    {"TodoWrite"}, {"TaskCreate"}, {"TaskGet"}, {"TaskList"}, {"TaskUpdate"},
    {"AskUserQuestion"}, {"EnterPlanMode"}, {"ExitPlanMode"},
    {"ToolSearch"}, {"WebFetch"}, {"WebSearch"}, {"ListMcpResourcesTool"}, {"ReadMcpResourceTool"},
    {"ReportFindings"}, {"ScheduleWakeup"}, {"StructuredOutput"},
    {0},
};

static const struct tc_hook_tool codex_tools[] = {
    {"Bash", TC_HOOK_SHELL, "command"},
    {"apply_patch", TC_HOOK_PATCH, "command"},
    {"view_image", TC_HOOK_READ, "path"},
    {0},
};

static const struct tc_hook_tool gemini_tools[] = {
    {"run_shell_command", TC_HOOK_SHELL, "command"},
    {"read_file", TC_HOOK_READ, "file_path"},
    {"list_directory", TC_HOOK_READ, "dir_path"},
    {"glob", TC_HOOK_READ, "dir_path"},
    {"grep_search", TC_HOOK_READ, "dir_path"},
    {"search_file_content", TC_HOOK_READ, "dir_path"},
    {"write_file", TC_HOOK_WRITE, "file_path"},
    {"replace", TC_HOOK_WRITE, "file_path"},
    {"list_background_processes"}, {"read_background_output"},
    {"update_topic"}, {"write_todos"}, {"ask_user"}, {"complete_task"},
    {"enter_plan_mode"}, {"exit_plan_mode"}, {"invoke_agent"}, {"activate_skill"},
    {"web_fetch"}, {"google_web_search"},
    {0},
};

static const struct tc_hook_agent agents[] = {
    {"claude", "Claude Code", "claude", "PreToolUse", "CLAUDE_PROJECT_DIR", ".claude", "settings.json",
     "CLAUDE_CONFIG_DIR", ".mcp.json", ", \"onFailure\": \"block\"", TC_ANSWER_CLAUDE, true, "run_in_background", "mcp__", claude_tools},
    {"codex", "Codex", "codex", "PreToolUse", NULL, ".codex", "hooks.json", "CODEX_HOME", NULL, "",
     TC_ANSWER_CLAUDE, false, NULL, "mcp__", codex_tools},
    {"gemini", "Gemini CLI", "gemini", "BeforeTool", "GEMINI_PROJECT_DIR", ".gemini", "settings.json",
     NULL, NULL, "", TC_ANSWER_GEMINI, false, "is_background", "mcp_", gemini_tools},
};
/* clang-format on */

const struct tc_hook_agent *tc_hook_agent_at(size_t index)
{
    return index < TC_COUNT(agents) ? &agents[index] : NULL;
}

const struct tc_hook_agent *tc_hook_agent_find(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(agents); i++)
        if (!strcmp(agents[i].name, name))
            return &agents[i];
    return NULL;
}

/* ---- the request ---- */

/* The text of a member, owned; NULL: absent, not a string, or with a NUL. */
static char *get(struct tc_slice object, const char *key, bool *fine)
{
    struct tc_slice value;
    size_t length = 0;
    if (!tc_scan_member(object, key, &value)) {
        *fine = false;
        return NULL;
    }
    if (!value.at || tc_scan_is_null(value))
        return NULL;
    char *text = tc_scan_text(value, &length);
    if (text && strlen(text) == length)
        return text;
    *fine = false;
    free(text);
    return NULL;
}

static void choose_tool(struct tc_hook_request *r)
{
    for (const struct tc_hook_tool *tool = r->agent->tools; tool->name; tool++)
        if (!strcmp(tool->name, r->name)) {
            r->tool = tool;
            r->kind = tool->kind;
            return;
        }
    bool foreign = !strncmp(r->name, r->agent->mcp, strlen(r->agent->mcp));
    r->kind = foreign ? TC_HOOK_OTHER : TC_HOOK_UNKNOWN;
}

/* A command beside others does not change what the next one finds, and a sub-agent, which the agent
 * tells that its directory is reset before each command, starts in the agent's. */
static void choose_state(struct tc_hook_request *r, const char *helper)
{
    const char *background = r->agent->background;
    if (r->kind != TC_HOOK_SHELL)
        return;
    if (helper)
        r->state = TC_STATE_NONE;
    else if (!strcmp(r->name, "Monitor") ||
             (background && tc_json_true(tc_json_get(r->input, background))))
        r->state = TC_STATE_READ;
}

/* A live session's name has the agent's name of its session. */
static bool name_session(struct tc_hook_request *r)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_-";
    size_t length = r->id ? strlen(r->id) : 0;
    if (!length || length > ID_LONGEST || strspn(r->id, letters) != length)
        return false;
    r->session = tc_cli_format("%s-%s", r->agent->name, r->id);
    return r->session;
}

const char *tc_hook_read(const struct tc_hook_agent *agent, const char *text, size_t length,
                         struct tc_hook_request *ret)
{
    bool fine = true;
    struct tc_slice whole = tc_scan_whole(text, length);
    *ret = (struct tc_hook_request){.agent = agent};
    if (!whole.at || !tc_scan_is_object(whole))
        return "it is not a JSON object";
    _autofree_ char *event = get(whole, "hook_event_name", &fine);
    ret->name = get(whole, "tool_name", &fine);
    ret->id = get(whole, "session_id", &fine);
    ret->cwd = get(whole, "cwd", &fine);
    ret->transcript = get(whole, "transcript_path", &fine);
    _autofree_ char *helper = get(whole, "agent_id", &fine);
    if (!fine || !event || strcmp(event, agent->event) != 0)
        return "it is not the event of a tool that is about to run";
    if (!ret->name || !tc_scan_member(whole, "tool_input", &ret->input) || !ret->input.at)
        return "it names no tool and no arguments";
    if (!ret->cwd || ret->cwd[0] != '/')
        return "it names no working directory";
    if (!name_session(ret))
        return "it names no session";
    choose_tool(ret);
    if (!ret->tool || !ret->tool->argument)
        return NULL;
    if (!tc_scan_is_object(ret->input))
        return "the tool's arguments are not an object";
    choose_state(ret, helper);
    ret->text = get(ret->input, ret->tool->argument, &fine);
    return fine ? NULL : "an argument has a NUL, is repeated, or is not a string";
}

void tc_hook_request_done(struct tc_hook_request *r)
{
    char *const texts[] = {r->name, r->session, r->id, r->cwd, r->transcript, r->text};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    *r = (struct tc_hook_request){0};
}

/* ---- answers ---- */

static void put_input(FILE *out, const struct tc_hook_request *r, const char *text)
{
    struct tc_scan_each each = tc_scan_walk(r->input);
    for (const char *gap = "{"; tc_scan_next(&each); gap = ",") {
        (void)fprintf(out, "%s%.*s:", gap, (int)each.key.length, each.key.at);
        if (tc_scan_is(each.key, r->tool->argument))
            tc_cli_json_string(out, text);
        else
            (void)fwrite(each.value.at, 1, each.value.length, out);
    }
    (void)fputc('}', out);
}

void tc_hook_put_argument(FILE *out, const struct tc_hook_request *r, const char *text)
{
    bool gemini = r->agent->answer == TC_ANSWER_GEMINI;
    (void)fprintf(out, "{\"hookSpecificOutput\":{\"hookEventName\":\"%s\",%s", r->agent->event,
                  gemini ? "\"tool_input\":"
                         : "\"permissionDecision\":\"allow\",\"updatedInput\":");
    put_input(out, r, text);
    (void)fputs("}}\n", out);
}

void tc_hook_put_denial(FILE *out, const struct tc_hook_agent *agent, const char *reason)
{
    bool gemini = agent->answer == TC_ANSWER_GEMINI;
    if (gemini)
        (void)fputs("{\"decision\":\"deny\",\"reason\":", out);
    else
        (void)fprintf(out,
                      "{\"hookSpecificOutput\":{\"hookEventName\":\"%s\","
                      "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":",
                      agent->event);
    tc_cli_json_string(out, reason);
    (void)fputs(gemini ? "}\n" : "}}\n", out);
}

void tc_hook_put_nothing(FILE *out, const struct tc_hook_agent *agent)
{
    if (agent->answer == TC_ANSWER_GEMINI)
        (void)fputs("{}\n", out);
}
