/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/hook/settings.h"

#include <string.h>

#include "adopt/adopt.h"
#include "cli/show/say.h"
#include "text/shell.h"

/* Agents take exit code 2 for a refusal and every other failure for a warning, and Codex needs a
 * reason. So the tool does not run either if toolcage is missing or is killed. */
#define TAIL " || { echo 'toolcage hook failed: the tool may not run' >&2; exit 2; }"

enum { SECONDS = 60 }; /* more than toolcage takes at most */

/* ---- where ---- */

/* The directory of the user's settings, which hold for all projects; owned. */
static char *user_directory(const struct tc_hook_agent *agent)
{
    const char *named = agent->variable ? secure_getenv(agent->variable) : NULL;
    const char *home = secure_getenv("HOME");
    if (named && named[0] == '/')
        return strdup(named);
    return home && home[0] == '/' ? tc_cli_format("%s/%s", home, agent->folder) : NULL;
}

char *tc_hook_settings_path(const struct tc_hook_agent *agent, const char *project,
                            const char *name)
{
    _autofree_ char *directory =
        project ? tc_cli_format("%s/%s", project, agent->folder) : user_directory(agent);
    return directory ? tc_cli_format("%s/%s", directory, name ? name : agent->file) : NULL;
}

/* ---- the hook's command line ---- */

char *tc_hook_command_line(const struct tc_hook_agent *agent, const struct tc_args *args)
{
    static const char *const options[] = {"policy", "preset", "tool"};
    _autofree_ char *self = realpath("/proc/self/exe", NULL);
    _autofree_ char *program = self ? tc_shell_quote(self) : NULL;
    char *line = program ? tc_cli_format("%s hook", program) : NULL;
    for (size_t i = 0; line && i < TC_COUNT(options); i++) {
        const char *value = tc_args_value(args, options[i]);
        _autofree_ char *before = line, *full = NULL;
        if (value && i == 0)
            full = realpath(value, NULL);
        _autofree_ char *word = value ? tc_shell_quote(full ? full : value) : NULL;
        line = !value ? strdup(before)
               : word ? tc_cli_format("%s --%s %s", before, options[i], word)
                      : NULL;
    }
    _autofree_ char *before = line;
    return before ? tc_cli_format("%s %s" TAIL, before, agent->name) : NULL;
}

/* The program of a shell command, as tc_shell_quote() writes it; owned. *ret_rest is what
 * follows. */
static char *first_argument(const char *line, const char **ret_rest)
{
    char *word = strdup(line), *to = word;
    const char *at = line;
    for (bool quoted = false; word && *at && (quoted || *at != ' '); at++) {
        if (*at == '\'')
            quoted = !quoted;
        else if (*at == '\\' && !quoted && at[1])
            *to++ = *++at;
        else
            *to++ = *at;
    }
    if (word)
        *to = '\0';
    *ret_rest = at;
    return word;
}

/* Is it a command line of toolcage for this agent? *ret_exact: exactly as toolcage writes it. */
static bool is_ours(const struct tc_hook_agent *agent, const char *line, char **ret_program,
                    bool *ret_exact)
{
    const char *rest;
    _autofree_ char *end = tc_cli_format(" %s" TAIL, agent->name);
    char *program = first_argument(line, &rest);
    const char *slash = program ? strrchr(program, '/') : NULL;
    bool ours = program && end && !strcmp(slash ? slash + 1 : program, "toolcage") &&
                !strncmp(rest, " hook ", 6);
    size_t length = strlen(rest), tail = end ? strlen(end) : 0;
    *ret_exact = ours && program[0] == '/' && length >= 5 + tail &&
                 !strcmp(rest + length - tail, end) &&
                 strcspn(rest, ";|&$`<>()\n\r\\") >= length - tail;
    *ret_program = ours ? program : NULL;
    if (!ours)
        free(program);
    return ours;
}

/* ---- reading ---- */

static bool has_only(struct tc_slice object, const char *const *names)
{
    for (struct tc_scan_each each = tc_scan_walk(object); tc_scan_next(&each);) {
        bool known = false;
        for (size_t i = 0; names[i]; i++)
            known = known || tc_scan_is(each.key, names[i]);
        if (!known)
            return false;
    }
    return true;
}

static bool is_for_all(struct tc_slice group)
{
    struct tc_slice matcher;
    return tc_scan_member(group, "matcher", &matcher) &&
           (!matcher.at || tc_scan_is(matcher, "") || tc_scan_is(matcher, "*"));
}

/* Members that change when a hook runs, or whether its answer counts, are not known. */
static bool is_plain(const struct tc_hook_agent *agent, struct tc_slice group, struct tc_slice hook)
{
    static const char *const of_group[] = {"matcher", "hooks", NULL};
    static const char *const of_hook[] = {"type",        "command", "timeout", "onFailure",
                                          "description", "name",    NULL};
    int64_t least = agent->answer == TC_ANSWER_GEMINI ? SECONDS * 1000 : SECONDS;
    struct tc_slice type, timeout, failure;
    return is_for_all(group) && has_only(group, of_group) && has_only(hook, of_hook) &&
           tc_scan_member(hook, "type", &type) && tc_scan_is(type, "command") &&
           tc_scan_member(hook, "timeout", &timeout) && tc_json_int(timeout, 0) >= least &&
           tc_scan_member(hook, "onFailure", &failure) &&
           (!failure.at || tc_scan_is(failure, "block"));
}

static void look_at_hook(const struct tc_hook_agent *agent, struct tc_slice group,
                         struct tc_slice hook, struct tc_hook_facts *ret)
{
    struct tc_slice command;
    bool exact = false, fine = tc_scan_member(hook, "command", &command);
    _autofree_ char *line = fine ? tc_json_text(command) : NULL, *program = NULL;
    if (!line || !is_ours(agent, line, &program, &exact)) {
        ret->others = true;
        return;
    }
    if (!is_plain(agent, group, hook) || !exact || ret->line) {
        ret->others = ret->others || !exact || (ret->line && strcmp(ret->line, line) != 0);
        return;
    }
    ret->present = true;
    ret->program = program;
    ret->line = line;
    line = program = NULL;
}

static void look_at_event(const struct tc_hook_agent *agent, struct tc_slice groups,
                          struct tc_hook_facts *ret)
{
    for (struct tc_scan_each group = tc_scan_walk(groups); tc_scan_next(&group);) {
        struct tc_slice hooks;
        if (!tc_scan_is_object(group.value) || !tc_scan_member(group.value, "hooks", &hooks) ||
            !tc_scan_is_array(hooks)) {
            ret->others = true;
            continue;
        }
        for (struct tc_scan_each hook = tc_scan_walk(hooks); tc_scan_next(&hook);)
            look_at_hook(agent, group.value, hook.value, ret);
    }
}

/* False: a member is repeated, or has another form. */
static bool look_at_hooks(const struct tc_hook_agent *agent, struct tc_slice hooks,
                          struct tc_hook_facts *ret)
{
    struct tc_slice event, asked, off;
    if (!hooks.at)
        return true;
    if (!tc_scan_is_object(hooks) || !tc_scan_member(hooks, agent->event, &event) ||
        !tc_scan_member(hooks, "PermissionRequest", &asked) ||
        !tc_scan_member(hooks, "disabled", &off) || (event.at && !tc_scan_is_array(event)))
        return false;
    ret->others = asked.at;
    ret->disabled = ret->disabled || off.at;
    if (event.at)
        look_at_event(agent, event, ret);
    return true;
}

/* Gemini CLI takes its own environment from a project's .env, which a command may write. */
static bool look_at_env(struct tc_slice root, struct tc_hook_facts *ret)
{
    struct tc_slice advanced, off;
    if (!tc_scan_member(root, "advanced", &advanced))
        return false;
    if (!advanced.at)
        return true;
    if (!tc_scan_is_object(advanced) || !tc_scan_member(advanced, "ignoreLocalEnv", &off))
        return false;
    ret->sealed = tc_json_true(off);
    ret->unsealed = off.at && !ret->sealed;
    return true;
}

static bool is_false(struct tc_slice value)
{
    return value.length == 5 && !memcmp(value.at, "false", 5);
}

void tc_hook_facts_done(struct tc_hook_facts *facts)
{
    free(facts->program);
    free(facts->line);
    facts->program = facts->line = NULL;
}

bool tc_hook_facts(const struct tc_hook_agent *agent, const char *text, size_t length,
                   struct tc_hook_facts *ret)
{
    struct tc_slice hooks, off, config;
    *ret = (struct tc_hook_facts){0};
    _autofree_ char *strict = tc_adopt_strict(text, length);
    struct tc_slice root = strict ? tc_scan_whole(strict, length) : (struct tc_slice){0};
    if (!strict || !tc_scan_member(root, "hooks", &hooks) ||
        !tc_scan_member(root, "disableAllHooks", &off) ||
        !tc_scan_member(root, "hooksConfig", &config))
        return false;
    ret->disabled = (off.at && !is_false(off)) || config.at;
    return look_at_hooks(agent, hooks, ret) &&
           (agent->answer != TC_ANSWER_GEMINI || look_at_env(root, ret));
}

/* ---- editing ---- */

static char *element_of(const struct tc_hook_agent *agent, const char *command)
{
    char *text = NULL;
    size_t size = 0;
    bool gemini = agent->answer == TC_ANSWER_GEMINI;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fprintf(out, "{\"matcher\": \"*\", \"hooks\": [{%s\"type\": \"command\", \"command\": ",
                  gemini ? "\"name\": \"toolcage\", " : "");
    tc_cli_json_string(out, command);
    (void)fprintf(out, ", \"timeout\": %d%s}]}", gemini ? SECONDS * 1000 : SECONDS, agent->more);
    return tc_cli_text(out, &text);
}

char *tc_hook_settings_add(const struct tc_hook_agent *agent, const char *text, size_t length,
                           const char *command, size_t *ret_length)
{
    static const char *const seal[] = {"advanced", "ignoreLocalEnv", NULL};
    const char *const keys[] = {"hooks", agent->event, NULL};
    size_t middle;
    struct tc_hook_facts facts;
    _autofree_ char *element = element_of(agent, command);
    bool known = tc_hook_facts(agent, text, length, &facts);
    tc_hook_facts_done(&facts);
    bool sealed = facts.sealed || agent->answer != TC_ANSWER_GEMINI;
    if (known && facts.present && sealed && element &&
        memmem(text, length, element, strlen(element))) {
        *ret_length = length;
        return strndup(text, length);
    }
    _autofree_ char *clean = tc_hook_settings_remove(agent, text, length, &middle);
    if (!element || !clean)
        return NULL;
    if (sealed)
        return tc_adopt_put(clean, middle, keys, element, true, ret_length);
    _autofree_ char *hooked = tc_adopt_put(clean, middle, keys, element, true, &middle);
    return hooked ? tc_adopt_put(hooked, middle, seal, "true", false, ret_length) : NULL;
}

/* The group whose only hook is toolcage's; end 0: none. */
static struct tc_adopt_range find_group(const struct tc_hook_agent *agent, const char *strict,
                                        size_t length)
{
    struct tc_slice root = tc_scan_whole(strict, length), hooks, groups, inner, command;
    if (!tc_scan_member(root, "hooks", &hooks) || !tc_scan_is_object(hooks) ||
        !tc_scan_member(hooks, agent->event, &groups) || !tc_scan_is_array(groups))
        return (struct tc_adopt_range){0};
    for (struct tc_scan_each group = tc_scan_walk(groups); tc_scan_next(&group);) {
        if (!tc_scan_is_object(group.value) || !tc_scan_member(group.value, "hooks", &inner) ||
            !tc_scan_is_array(inner))
            continue;
        struct tc_scan_each hook = tc_scan_walk(inner);
        bool exact, one = tc_scan_next(&hook) && tc_scan_is_object(hook.value) &&
                          tc_scan_member(hook.value, "command", &command);
        _autofree_ char *line = one ? tc_json_text(command) : NULL, *program = NULL;
        if (line && is_ours(agent, line, &program, &exact) && !tc_scan_next(&hook)) {
            size_t at = (size_t)(group.value.at - strict);
            return (struct tc_adopt_range){at, at + group.value.length};
        }
    }
    return (struct tc_adopt_range){0};
}

char *tc_hook_settings_remove(const struct tc_hook_agent *agent, const char *text, size_t length,
                              size_t *ret_length)
{
    char *now = strndup(text, length);
    *ret_length = length;
    while (now) {
        _autofree_ char *strict = tc_adopt_strict(now, *ret_length);
        struct tc_adopt_range range = {0};
        if (strict)
            range = find_group(agent, strict, *ret_length);
        if (strict && !range.end)
            return now;
        _autofree_ char *before = now;
        now = strict ? tc_adopt_take(before, *ret_length, range, ret_length) : NULL;
    }
    return NULL;
}
