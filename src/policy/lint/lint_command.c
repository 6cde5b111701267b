/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Rules about a command and what it needs of this host: secrets in its text, URLs without a bound
 * on the scheme, and files and variables that do not exist here. */
#include <string.h>

#include "base/path.h"
#include "policy/lint/lint_rules.h"
#include "policy/names/credentials.h"
#include "policy/parse/template.h"

/* ---- secrets ---- */

static bool lint_text(struct tc_lint *l, const struct tc_spec *said, enum tc_key_id id,
                      const char *key, const char *text)
{
    const char *token = tc_credential_token(text);
    if (!token)
        return false;
    _autofree_ char *start = strndup(token, 4);
    l->memory |= !start;
    if (start)
        tc_lint_add(
            l, said, key, said->said[id], start,
            "keep it outside: secrets.NAME = { from = \"env:NAME\", hosts = [\"HOST:443\"], "
            "header = \"Authorization: Bearer {secret}\" }",
            "a secret (%s…) is in the policy, and the tool gets it", start);
    return true;
}

/* Does the name of a query's parameter look like a secret: api_key, token, …? */
static bool is_secret_name(const char *name, size_t length)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_addc(&text, '_'); /* for "key" as for "api_key" */
    for (size_t i = 0; i < length; i++)
        tc_buf_addc(&text, name[i] == '-'                     ? '_'
                           : name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A')
                                                              : name[i]);
    return !text.failed && tc_credential_variable(text.data);
}

/* A server's URL is in the command line of its bridge, and so in the audit log. */
static bool lint_query(struct tc_lint *l, const struct tc_spec *spec)
{
    const char *at = spec->url ? strchr(spec->url, '?') : NULL;
    while (at) {
        size_t length = strcspn(++at, "=&");
        if (at[length] == '=' && is_secret_name(at, length)) {
            _autofree_ char *name = strndup(at, length);
            l->memory |= !name;
            if (name)
                tc_lint_add(
                    l, spec, "url", spec->url_line, name,
                    "ask its operator for a header, and write secrets.NAME = { from = "
                    "\"env:NAME\", hosts = [\"HOST:443\"], header = \"Authorization: Bearer "
                    "{secret}\" }",
                    "the URL's %.40s looks like a secret, which the cage and the audit log "
                    "get",
                    name);
            return true;
        }
        at = strchr(at, '&');
    }
    return false;
}

void tc_lint_literal_secret(struct tc_lint *l, const struct tc_spec *spec)
{
    if (lint_query(l, spec))
        return;
    const struct tc_spec *env = tc_lint_given(l, spec, TC_KEY_ENV);
    for (size_t i = 0; i < spec->command.count; i++)
        if (lint_text(l, spec, TC_KEY_COMMAND, "command", spec->command.items[i]))
            return;
    for (size_t i = 0; env && i < env->env_set.count; i++)
        if (lint_text(l, env, TC_KEY_ENV, "env.set", env->env_set.items[i]))
            return;
}

/* ---- URLs ---- */

static bool is_bounded(const struct tc_argument *argument)
{
    return json_object_get(argument->schema, "pattern") ||
           json_object_get(argument->schema, "enum") || json_object_get(argument->schema, "const");
}

void tc_lint_scheme(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_strv *argv = &spec->command;
    struct tc_hole hole;
    if (!argv->count || !tc_streq(tc_path_base(argv->items[0]), "curl"))
        return;
    for (size_t i = 1; i < argv->count; i++)
        if (tc_startswith(argv->items[i], "--proto"))
            return;
    for (size_t i = 1; i < argv->count; i++) {
        const char *word = argv->items[i];
        if (!tc_hole_find(word, &hole) || hole.start != word)
            continue;
        const struct tc_argument *argument = tc_spec_argument(spec, hole.name, hole.name_len);
        /* after an option it may be the option's value, as in -d {body} */
        if (argv->items[i - 1][0] == '-' && argument && !strcasestr(argument->name, "url"))
            continue;
        _autofree_ char *place = strndup(hole.start, (size_t)(hole.end - hole.start));
        l->memory |= !place;
        if (argument && !is_bounded(argument) && place)
            tc_lint_add(l, spec, "command", spec->said[TC_KEY_COMMAND], place,
                        "add \"--proto\", \"=https\" before it, or bound the argument by "
                        "pattern = \"^https://\"",
                        "curl reads %s with any scheme: file:///workspace/… reads the tool's files",
                        place);
        return;
    }
}

/* ---- this host ---- */

/* A path that is absolute on the host; /workspace is a directory of the call. */
static void lint_paths(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *files = tc_lint_given(l, spec, TC_KEY_FILESYSTEM);
    for (size_t i = 0; files && i < files->fs_count; i++) {
        const struct tc_fs_rule *rule = &files->fs[i];
        const char *host = rule->from ? rule->from : "";
        if (rule->access == TC_ACCESS_DENY || rule->optional || host[0] != '/' ||
            l->facts->exists(host))
            continue;
        tc_lint_add(l, files, tc_access_list(rule->access), rule->line, host,
                    "create it, or write { path = \"…\", optional = true }",
                    "there is no %s on this host: each call is refused", host);
    }
}

void tc_lint_absent(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *module = tc_lint_given(l, spec, TC_KEY_MODULE);
    const struct tc_spec *env = tc_lint_given(l, spec, TC_KEY_ENV);
    const char *path = module ? module->module : "";
    const char *pin = tc_module_pin(path);
    _autofree_ char *file = strndup(path, pin ? (size_t)(pin - path) : strlen(path));
    l->memory |= !file;
    if (file && file[0] == '/' && l->facts->exists && !l->facts->exists(file))
        tc_lint_add(l, module, "module", module->said[TC_KEY_MODULE], NULL,
                    "compile the module, or name the file that exists",
                    "there is no module %s on this host", file);
    if (l->facts->exists)
        lint_paths(l, spec);
    for (size_t i = 0; env && l->facts->variable && i < env->env_pass.count; i++)
        if (!l->facts->variable(env->env_pass.items[i]))
            tc_lint_add(l, env, "env.pass", env->said[TC_KEY_ENV], env->env_pass.items[i],
                        "set it before the call, or remove it",
                        "the variable %s is not set here, so the tool does not get it",
                        env->env_pass.items[i]);
}
