/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage doctor --agents`. What is not known to be caged is reported as not caged. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "adopt/adopt.h"
#include "cli/hook/agents.h"
#include "cli/hook/hook.h"
#include "cli/hook/settings.h"
#include "cli/show/clean.h"
#include "cli/show/io.h"
#include "cli/show/say.h"

enum { TC_EXIT_UNCAGED = 1 };

/* What all settings of an agent say together. */
struct view {
    struct tc_hook_facts facts;
    char *where;      /* the file with the hook; owned */
    bool own;         /* it is the user's, not the project's */
    const char *why;  /* not caged: static */
    bool any, unread; /* settings exist; one cannot be read */
};

/* Settings that a company or a system imposes, and that may switch hooks off. */
static const char *const imposed[] = {
    "/etc/claude-code/managed-settings.json",
    "/etc/claude-code/managed-settings.d",
    "/etc/codex/requirements.toml",
    "/etc/codex/managed_config.toml",
    "/etc/codex/hooks.json",
    "/etc/gemini-cli/settings.json",
    "/etc/gemini-cli/system-defaults.json",
};

static void add_file(struct view *v, const struct tc_hook_agent *agent, const char *path, bool own)
{
    size_t length = 0;
    struct tc_hook_facts facts = {0};
    struct stat st;
    bool special = path && !stat(path, &st) && !S_ISREG(st.st_mode); /* may never end */
    _autofree_ char *text =
        path && !special ? tc_cli_read_input(path, TC_ADOPT_BYTES_MAX, &length) : NULL;
    if (!text) {
        v->unread = v->unread || !path || special || (errno != ENOENT && errno != ENOTDIR);
        return;
    }
    v->any = true;
    if (!tc_hook_facts(agent, text, length, &facts)) {
        tc_hook_facts_done(&facts);
        v->unread = true;
        return;
    }
    v->facts.others |= facts.others;
    v->facts.disabled |= facts.disabled;
    v->facts.sealed |= facts.sealed;
    v->facts.unsealed |= facts.unsealed;
    if (facts.present && !v->facts.present) {
        v->facts.present = true;
        v->facts.program = facts.program;
        v->facts.line = facts.line;
        v->where = strdup(path);
        v->own = own;
        return;
    }
    if (facts.present && (!v->facts.line || strcmp(v->facts.line, facts.line) != 0))
        v->facts.others = true; /* both run, and the first one chooses the policy */
    tc_hook_facts_done(&facts);
}

static void view_of(const struct tc_hook_agent *agent, const char *project, struct view *ret)
{
    const char *const names[] = {agent->file, "settings.local.json", "hooks.json"};
    *ret = (struct view){0};
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < TC_COUNT(names); i++) {
            if (i && !strcmp(names[i], agent->file))
                continue;
            _autofree_ char *path = tc_hook_settings_path(agent, own ? NULL : project, names[i]);
            add_file(ret, agent, path, own);
        }
}

static void view_done(struct view *v)
{
    tc_hook_facts_done(&v->facts);
    free(v->where);
}

/* ---- the report ---- */

static bool is_imposed(const struct tc_hook_agent *agent)
{
    for (size_t i = 0; i < TC_COUNT(imposed); i++)
        if (strstr(imposed[i], agent->name) && !access(imposed[i], F_OK))
            return true;
    return false;
}

/* Will the program in the settings answer, and can no tool of the user's change it? */
static bool is_runnable(const char *program)
{
    struct stat st;
    return program && !stat(program, &st) && S_ISREG(st.st_mode) && !access(program, X_OK) &&
           !(st.st_mode & S_IWOTH) && (st.st_uid == 0 || st.st_uid == geteuid());
}

/* Variables here with which the agent reads other settings, or no hooks. */
static bool is_steered(const struct tc_hook_agent *agent)
{
    static const char *const names[] = {
        "claude CLAUDE_CODE_SIMPLE", "claude CLAUDE_CODE_SAFE_MODE", "gemini GEMINI_CLI_HOME",
        "gemini GEMINI_CLI_SYSTEM_SETTINGS_PATH", "gemini GEMINI_CLI_SYSTEM_DEFAULTS_PATH"};
    size_t length = strlen(agent->name);
    for (size_t i = 0; i < TC_COUNT(names); i++)
        if (!strncmp(names[i], agent->name, length) && getenv(names[i] + length + 1))
            return true;
    return false;
}

static const char *why_not(const struct tc_hook_agent *agent, const struct view *v)
{
    if (v->unread)
        return "some of its settings cannot be read";
    if (!v->facts.present)
        return "its settings have no hook that toolcage wrote";
    if (v->facts.disabled)
        return "its settings switch hooks off, or may";
    if (v->facts.others)
        return "another hook in its settings can change what runs";
    if (is_imposed(agent))
        return "settings in /etc may switch hooks off";
    if (is_steered(agent))
        return "a variable of this environment makes it ignore hooks, or read other settings";
    if (agent->answer == TC_ANSWER_GEMINI && (!v->facts.sealed || v->facts.unsealed))
        return "it reads a project's .env, which a command may write; set advanced.ignoreLocalEnv, "
               "or install the hook again";
    if (!is_runnable(v->facts.program))
        return "the hook's program is missing, or others can change it; every tool is refused";
    if (!v->own && agent->answer == TC_ANSWER_GEMINI)
        return "it runs a project's hooks only in a trusted directory, which toolcage cannot see; "
               "install the hook in your own settings";
    if (!agent->project)
        return "it skips a hook until you trust it with /hooks, which toolcage cannot see; once "
               "trusted, its commands and patches are caged";
    return NULL;
}

static bool is_installed(const struct tc_hook_agent *agent)
{
    const char *path = getenv("PATH");
    _autofree_ char *copy = strdup(path ? path : "");
    char *rest = copy;
    for (char *directory; rest && (directory = strsep(&rest, ":"));) {
        _autofree_ char *file = tc_cli_format("%s/%s", directory, agent->program);
        if (*directory && file && !access(file, X_OK))
            return true;
    }
    return false;
}

static void put_agent(FILE *out, const struct tc_hook_agent *agent, const struct view *v)
{
    _autofree_ char *where =
        v->where ? tc_clean(TC_CLEAN_LINE, v->where, strlen(v->where), NULL) : NULL;
    (void)fprintf(out, "%s\n", agent->title);
    if (v->why) {
        (void)fprintf(out, "  not caged  every tool: %s\n", v->why);
        if (!v->facts.present)
            (void)fprintf(out, "             fix: toolcage hook install %s\n", agent->name);
        return;
    }
    (void)fprintf(out, "  caged      shell commands (%s)\n", where ? where : "?");
    (void)fprintf(out,
                  "  checked    paths of its tools that read and write files, which run outside\n");
    (void)fputs("  refused    tools that toolcage does not know, and skills that can bring hooks\n",
                out);
    (void)fprintf(out,
                  "  not caged  MCP servers without toolcage wrap, other hooks and plugins, web "
                  "tools, what a search finds\n"
                  "             in the project, commands that you type, and all tools if you "
                  "start it with options that\n"
                  "             switch hooks or settings off\n");
}

static void put_other(FILE *out, const char *title)
{
    (void)fprintf(out, "%s\n  not caged  every tool: toolcage has no hook for it\n", title);
}

int tc_hook_doctor(const struct tc_args *args)
{
    static const char *const others[][2] = {{"copilot", "Copilot CLI"},
                                            {"opencode", "OpenCode"},
                                            {"cursor-agent", "Cursor"},
                                            {"goose", "Goose"},
                                            {"aider", "Aider"}};
    _autofree_ char *here = realpath(".", NULL);
    char *text = NULL;
    size_t size = 0, found = 0;
    bool uncaged = false;
    FILE *out = open_memstream(&text, &size);
    (void)args;
    if (!out)
        return tc_cli_no_memory();
    for (size_t i = 0; tc_hook_agent_at(i); i++) {
        const struct tc_hook_agent *agent = tc_hook_agent_at(i);
        struct view v;
        view_of(agent, here ? here : "/", &v);
        if (is_installed(agent) || v.any || v.unread) {
            v.why = why_not(agent, &v);
            put_agent(out, agent, &v);
            uncaged = uncaged || v.why;
            found++;
        }
        view_done(&v);
    }
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        const struct tc_hook_agent other = {.program = others[i][0]};
        if (!is_installed(&other))
            continue;
        put_other(out, others[i][1]);
        uncaged = true;
        found++;
    }
    if (!found)
        (void)fputs("no agent that toolcage knows is installed for this user and project\n", out);
    int rc = tc_cli_print_text(TC_PAINT_STATES, out, &text);
    return rc ? rc : uncaged ? TC_EXIT_UNCAGED : 0;
}
