/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Derives the policy of a server from its settings: the strictest that can start it, and what a
 * well-known server needs. Whatever is granted is listed for a person, and whatever is not. */
#include <ctype.h>
#include <string.h>
#include <toolcage/error.h>

#include "adopt/adopt.h"
#include "adopt/known.h"
#include "adopt/remote.h"
#include "base/buf.h"
#include "base/display.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "base/strv.h"

#define INSTALLED "/opt/server"

struct deriving {
    const struct tc_adopt_server *server;
    const struct tc_adopt_facts *facts;
    struct tc_adopt_plan *plan;
    struct tc_strv argv; /* expanded */
    struct tc_strv readable, writable, network, programs, pass;
    struct tc_buf set, secrets, setup; /* TOML */
    struct tc_buf grants, left;        /* for a person */
    const char *cwd, *disk;
    bool memory; /* out of memory */
};

/* ---- text ---- */

static void put_line(struct tc_buf *out, const char *what, const char *name, const char *rest)
{
    tc_buf_adds(out, what);
    if (name)
        tc_buf_add_display(out, name);
    tc_buf_adds(out, rest);
    tc_buf_addc(out, '\n');
}

static void add(struct deriving *d, struct tc_strv *list, const char *text)
{
    if (!tc_strv_has(list, text))
        d->memory |= !tc_strv_add(list, text);
}

char *tc_adopt_slug(const char *name)
{
    enum { LONGEST = 60 };
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (; *name && out.len < LONGEST; name++) {
        bool plain =
            isascii((unsigned char)*name) && (isalnum((unsigned char)*name) || *name == '_');
        if (plain)
            tc_buf_addc(&out, *name);
        else if (out.len && out.data[out.len - 1] != '-')
            tc_buf_addc(&out, '-');
    }
    while (out.len && out.data[out.len - 1] == '-')
        out.len--;
    if (!out.len)
        return strdup("server");
    tc_buf_addc(&out, '\0');
    return tc_buf_steal(&out);
}

/* ---- variables of the agent ---- */

bool tc_adopt_expand(const char *text, const struct tc_adopt_facts *facts, char **ret)
{
    const struct {
        const char *name, *value;
    } known[] = {{"${workspaceFolder}", facts->project},
                 {"${userHome}", facts->agent_home},
                 {"${HOME}", facts->agent_home},
                 {"${env:HOME}", facts->agent_home},
                 {"{env:HOME}", facts->agent_home}};
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    *ret = NULL;
    while (*text) {
        size_t i = 0;
        while (i < TC_COUNT(known) && (!known[i].value || !tc_startswith(text, known[i].name)))
            i++;
        if (i < TC_COUNT(known)) {
            tc_buf_adds(&out, known[i].value);
            text += strlen(known[i].name);
        } else {
            tc_buf_addc(&out, *text++);
        }
    }
    char *all = tc_buf_steal(&out);
    if (!all || tc_adopt_has_variable(all)) {
        free(all);
        return false;
    }
    *ret = all;
    return true;
}

static bool expand(struct deriving *d)
{
    for (size_t i = 0; i < d->server->argv.count; i++) {
        char *word = NULL;
        if (!tc_adopt_expand(d->server->argv.items[i], d->facts, &word)) {
            d->plan->why = "its command has a variable that only the agent can replace";
            return false;
        }
        d->memory |= !tc_strv_take(&d->argv, word);
    }
    return true;
}

/* ---- files ---- */

static bool is_system(const char *path)
{
    static const char *const dirs[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64"};
    for (size_t i = 0; i < TC_COUNT(dirs); i++)
        if (tc_path_within(dirs[i], path))
            return true;
    return false;
}

/* A path of the settings as the server sees it: relative ones start at the project, else at
 * /workspace. Owned. */
static char *resolve(struct deriving *d, const char *path)
{
    char *all = tc_path_absolute(d->facts->project ? d->facts->project : "/workspace", path);
    d->memory |= !all;
    return all;
}

/* A repository chooses the settings of a project, so they may only name the project's files, and it
 * can replace any of them by a link. */
static const char *why_not(const struct deriving *d, const char *path)
{
    const struct tc_adopt_facts *facts = d->facts;
    if (!facts->project)
        return NULL;
    if (facts->home && tc_path_within(facts->project, facts->home))
        return " is not granted: the settings are in your home directory or above it";
    if (facts->part)
        return " is not granted: the settings are in a part of a repository, which could become a "
               "link";
    if (!tc_path_within(facts->project, path))
        return " is outside the project: not granted";
    if (facts->linked(facts->userdata, path))
        return " has a link in it: not granted";
    return NULL;
}

static void grant(struct deriving *d, const char *path, bool writable)
{
    if (is_system(path))
        return;
    const char *why = why_not(d, path), *project = d->facts->project;
    if (why) {
        put_line(&d->left, "", path, why);
        return;
    }
    if (project && !tc_streq(path, project)) {
        if (writable)
            put_line(&d->left, "write ", path,
                     " is not granted, only read: the project could replace it by a link");
        path = project;
        writable = false;
    }
    if (tc_strv_has(&d->writable, path) || (!writable && tc_strv_has(&d->readable, path)))
        return;
    add(d, writable ? &d->writable : &d->readable, path);
    put_line(&d->grants, writable ? "write " : "read ", path,
             tc_path_within("/workspace", path) ? " (/workspace: where the agent starts it)" : "");
}

static bool holds_home(const struct deriving *d, const char *directory)
{
    const struct tc_adopt_facts *facts = d->facts;
    return (facts->home && tc_path_within(directory, facts->home)) ||
           (facts->agent_home && tc_path_within(directory, facts->agent_home));
}

/* The directory that a program's file needs: its node_modules, virtual environment, package or
 * directory; never the home directory or one above it. Owned; NULL: only the file. */
static char *root_of(struct deriving *d, const char *path)
{
    static const char *const marks[] = {"package.json", "pyvenv.cfg", "pyproject.toml",
                                        "Cargo.toml",   "go.mod",     ".git"};
    const char *modules = strstr(path, "/node_modules/");
    if (modules)
        return strndup(path, (size_t)(modules - path) + strlen("/node_modules"));
    _autofree_ char *first = tc_path_parent(path);
    for (_autofree_ char *at = first ? strdup(first) : NULL; at && tc_path_depth(at) > 1;) {
        if (holds_home(d, at))
            break;
        for (size_t i = 0; i < TC_COUNT(marks); i++) {
            _autofree_ char *mark = tc_path_join(at, marks[i]);
            if (mark && d->facts->kind(d->facts->userdata, mark))
                return TAKE(at);
        }
        char *up = tc_path_parent(at);
        free(at);
        at = up;
    }
    bool wide = !first || tc_path_depth(first) < 2 || holds_home(d, first);
    return wide ? NULL : TAKE(first);
}

static void grant_program(struct deriving *d, const char *word)
{
    _autofree_ char *path = resolve(d, word);
    if (!path || is_system(path))
        return;
    if (!d->facts->project && word[0] != '/') {
        grant(d, "/workspace", false);
        return;
    }
    _autofree_ char *root = d->facts->project ? NULL : root_of(d, path);
    grant(d, root ? root : path, false);
}

/* The file that an interpreter runs; NULL: none. */
static const char *script_of(const struct tc_strv *argv)
{
    static const char *const interpreters[] = {"node", "nodejs", "bun",  "deno", "tsx",
                                               "ruby", "perl",   "bash", "sh",   "php"};
    const char *base = tc_path_base(argv->items[0]);
    base = *base ? base : argv->items[0];
    if (!TC_AMONG(interpreters, base) && !tc_startswith(base, "python"))
        return NULL;
    for (size_t i = 1; i < argv->count; i++) {
        const char *word = argv->items[i];
        if (tc_streq(word, "-c") || tc_streq(word, "-m") || tc_streq(word, "-e"))
            return NULL;
        if (tc_streq(word, "run") && i == 1)
            continue;
        if (word[0] != '-')
            return strchr(word, '/') || strchr(word, '.') ? word : NULL;
    }
    return NULL;
}

static void derive_files(struct deriving *d)
{
    const char *script = script_of(&d->argv);
    if (strchr(d->argv.items[0], '/'))
        grant_program(d, d->argv.items[0]);
    else
        add(d, &d->programs, d->argv.items[0]);
    if (script)
        grant_program(d, script);
    if (d->facts->project && (tc_strv_has(&d->readable, d->facts->project) ||
                              tc_strv_has(&d->writable, d->facts->project)))
        d->cwd = d->facts->project;
}

/* ---- programs that download what they run ---- */

static bool is_package(const char *spec)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@/._-~^+*";
    size_t slashes = 0;
    for (const char *c = spec; *c; c++)
        slashes += *c == '/';
    return *spec && strspn(spec, letters) == strlen(spec) && spec[0] != '.' && spec[0] != '/' &&
           spec[0] != '-' && slashes == (spec[0] == '@');
}

/* The package of an npx command; NULL: none that can be installed in advance. */
static const char *npx_package(const struct tc_strv *argv)
{
    for (size_t i = 1; i < argv->count; i++) {
        const char *word = argv->items[i];
        bool named = tc_streq(word, "-p") || tc_streq(word, "--package");
        if (named && i + 1 < argv->count)
            return is_package(argv->items[i + 1]) ? argv->items[i + 1] : NULL;
        if (tc_startswith(word, "--package="))
            return is_package(word + strlen("--package=")) ? word + strlen("--package=") : NULL;
        if (word[0] != '-')
            return is_package(word) ? word : NULL;
        if (!tc_streq(word, "-y") && !tc_streq(word, "--yes") && !tc_streq(word, "-q") &&
            !tc_streq(word, "--quiet") && !tc_streq(word, "--"))
            return NULL;
    }
    return NULL;
}

/* npx looks for a version's tag (@latest) in the registry even if the package is installed. */
static bool has_tag(const char *package)
{
    const char *version = package + tc_adopt_package(package);
    return *version == '@' && !strpbrk(version, "0123456789*^~");
}

static void derive_npx(struct deriving *d)
{
    const char *package = npx_package(&d->argv);
    if (!package) {
        put_line(&d->left,
                 "npx downloads what it runs, and has no network: install the server and "
                 "name its program",
                 NULL, "");
        return;
    }
    add(d, &d->programs, "node");
    d->plan->setup = true;
    d->cwd = INSTALLED;
    tc_buf_adds(&d->setup, "command = [\"npm\", \"install\", \"--no-audit\", \"--no-fund\", "
                           "\"--prefix\", \"" INSTALLED "\", ");
    tc_toml_string(&d->setup, package);
    tc_buf_adds(&d->setup, "]\ninto = \"" INSTALLED "\"\nprograms = [\"npm\", \"node\"]\n"
                           "network = [\"registry.npmjs.org\"]\ntimeout = \"10m\"\n"
                           "disk = \"1GiB\"\nmemory = { max = \"2GiB\", by = \"any\" }\n");
    put_line(&d->grants, "install ", package,
             " once, by `toolcage setup`, with a connection to registry.npmjs.org:443");
    if (has_tag(package))
        add(d, &d->network, "registry.npmjs.org");
}

static void derive_launcher(struct deriving *d)
{
    const char *base = tc_path_base(d->argv.items[0]);
    base = *base ? base : d->argv.items[0];
    if (tc_streq(base, "npx")) {
        derive_npx(d);
    } else if (tc_streq(base, "uvx") || tc_streq(base, "uv")) {
        add(d, &d->network, "pypi.org");
        add(d, &d->network, "files.pythonhosted.org");
        d->disk = "1GiB";
    } else if (tc_streq(base, "bunx") || tc_streq(base, "pnpx") || tc_streq(base, "pipx")) {
        put_line(&d->left, "", base,
                 " downloads what it runs, and has no network: install the server and name its "
                 "program");
    }
}

static bool is_any(const char *const *names, const char *word, size_t length)
{
    for (; *names; names++)
        if (strlen(*names) == length && !strncmp(*names, word, length))
            return true;
    return false;
}

/* Do the arguments name any of these programs? */
static bool names_any(const struct tc_strv *argv, const char *const *names)
{
    static const char ends[] = " \t\n/;&|()'\"";
    for (size_t i = 1; i < argv->count; i++)
        for (const char *at = argv->items[i]; *(at += strspn(at, ends)); at += strcspn(at, ends))
            if (is_any(names, at, strcspn(at, ends)))
                return true;
    return false;
}

/* Programs that no cage can start, or whose work is done by another process. */
static const char *refusal(const struct tc_strv *argv)
{
    static const char *const engines[] = {"docker", "podman", "nerdctl", "docker-compose", NULL};
    static const char *const others[] = {"sudo", "doas", "su", "pkexec", "systemd-run", NULL};
    static const char *const starters[] = {"sh",   "bash",  "dash",   "zsh",  "env",
                                           "nice", "nohup", "setsid", "exec", "timeout"};
    const char *base = tc_path_base(argv->items[0]);
    base = *base ? base : argv->items[0];
    if (is_any(engines, base, strlen(base)))
        return "it starts a container, and no cage can use a container engine";
    if (is_any(others, base, strlen(base)))
        return "it changes to another user, which no cage can";
    if (TC_AMONG(starters, base) && (names_any(argv, engines) || names_any(argv, others)))
        return "it may start a container or change to another user, which no cage can";
    for (size_t i = 0; i < argv->count; i++) {
        size_t length = tc_adopt_package(argv->items[i]);
        if (length == strlen("mcp-remote") && !strncmp(argv->items[i], "mcp-remote", length))
            return "not covered: remote (mcp-remote connects to a URL)";
    }
    return NULL;
}

/* ---- well-known servers ---- */

static void grant_argument(struct deriving *d, const struct tc_adopt_known *row, const char *word)
{
    _autofree_ char *path = resolve(d, word);
    if (word[0] != '/' && d->cwd && tc_streq(d->cwd, INSTALLED))
        put_line(&d->left, "", word,
                 " is not granted: the server starts in " INSTALLED ", so name an absolute path");
    else if (path)
        grant(d, path, row->writable);
}

/* Does the command surely start this package, and not another one that only names it? */
static bool is_sure(const struct deriving *d, const struct tc_adopt_known *row, size_t at)
{
    static const char *const flags[] = {"-y", "--yes", "-q", "--quiet"};
    const char *word = d->argv.items[at], *first = d->argv.items[0];
    if (!d->facts->project)
        return true;
    for (size_t i = 0; i < d->server->variable_count; i++)
        if (!tc_streq(d->server->variables[i].name, row->variable))
            return false; /* as NODE_OPTIONS */
    if (!at)              /* installed by the user */
        return !strchr(word, '/');
    for (size_t i = 1; i < at; i++)
        if (!TC_AMONG(flags, d->argv.items[i]))
            return false;
    size_t length = tc_adopt_package(word);
    const char *version = word + length + (word[length] == '@');
    return (tc_streq(first, "npx") || tc_streq(first, "uvx")) && strlen(row->package) == length &&
           !strncmp(word, row->package, length) && is_package(word) && !strpbrk(version, "@/");
}

static const struct tc_adopt_known *derive_known(struct deriving *d)
{
    size_t at = 0;
    const struct tc_adopt_known *row = tc_adopt_known(&d->argv, &at);
    if (row && row->host && !is_sure(d, row, at))
        return NULL;
    for (size_t i = at + 1; row && i < d->argv.count; i++) {
        const char *word = d->argv.items[i];
        if (row->option ? tc_streq(d->argv.items[i - 1], row->option)
                        : row->paths && word[0] != '-')
            grant_argument(d, row, word);
    }
    if (row && row->host)
        add(d, &d->network, row->host);
    return row;
}

/* ---- variables ---- */

/* NAME, or NAME (= ${OTHER}) */
static void put_variable(struct tc_buf *out, const struct tc_adopt_variable *v)
{
    tc_buf_add_display(out, v->name);
    if (!tc_adopt_has_variable(v->value))
        return;
    tc_buf_adds(out, " (= ");
    tc_buf_add_display(out, tc_adopt_is_reference(v->value) ? v->value : "\xe2\x80\xa6");
    tc_buf_addc(out, ')');
}

static void store_secret(struct deriving *d, size_t i, const struct tc_adopt_known *row)
{
    const struct tc_adopt_variable *v = &d->server->variables[i];
    bool stored = !tc_adopt_has_variable(v->value);
    _autofree_ char *slug = tc_adopt_slug(v->name);
    _autofree_ char *file = slug ? tc_format("%s%s", d->facts->secrets, slug) : NULL;
    _autofree_ char *from = !stored ? tc_format("env:%s", v->name)
                            : file  ? tc_format("file:%s", file)
                                    : NULL;
    bool known = row && row->variable && tc_streq(row->variable, v->name);
    if (!from) {
        d->memory = true;
        return;
    }
    for (size_t k = 0; stored && k < d->plan->secret_count; k++)
        if (tc_streq(d->plan->secrets[k].file, file))
            d->plan->why = "the names of two of its secrets differ only in special characters";
    if (stored) {
        struct tc_adopt_secret *secret = TC_PUSH(d->plan->secrets, d->plan->secret_count);
        if (secret)
            *secret = (struct tc_adopt_secret){i, 0, strdup(file)};
        d->memory |= !secret || !secret->file;
        d->plan->moved[i] = true;
    }
    const char *mark = known ? "" : "# ";
    tc_buf_addf(&d->secrets, "%ssecrets.%s = { from = ", mark, slug);
    tc_toml_string(&d->secrets, from);
    tc_buf_adds(&d->secrets, ", hosts = [");
    tc_toml_string(&d->secrets, known ? row->host : "HOST");
    tc_buf_adds(&d->secrets, "], header = ");
    tc_toml_string(&d->secrets, known ? row->header : "Authorization: Bearer {secret}");
    tc_buf_adds(&d->secrets, " }\n");
    if (known) {
        tc_buf_adds(&d->grants, "use the secret ");
        put_variable(&d->grants, v);
        put_line(&d->grants, " in requests to ", row->host, ", without seeing it");
    } else {
        put_line(
            &d->left, "the secret ", v->name,
            " is not given to it: in its policy, name the host and header for secrets, and the "
            "host in network");
    }
}

static bool is_dropped(const char *name)
{
    static const char *const names[] = {"PATH", "HOME", "TMPDIR"};
    return TC_AMONG(names, name) || tc_startswith(name, "TOOLCAGE_");
}

static void derive_variable(struct deriving *d, size_t i, const struct tc_adopt_known *row)
{
    const struct tc_adopt_variable *v = &d->server->variables[i];
    bool known = row && row->variable && tc_streq(row->variable, v->name);
    bool variable = tc_adopt_has_variable(v->value);
    if (variable && !tc_adopt_is_harmless(v->name)) {
        d->plan->why = "its env sets a variable that would affect toolcage itself";
    } else if (is_dropped(v->name)) {
        d->plan->moved[i] = true;
        put_line(&d->left, "the variable ", v->name, " is not taken over: cages have their own");
    } else if (variable && !known && d->facts->project) {
        d->plan->moved[i] = true;
        tc_buf_adds(&d->left, "the variable ");
        put_variable(&d->left, v);
        put_line(&d->left, " is not passed: a project may not choose your variables", NULL, "");
    } else if (known || tc_adopt_is_secret(v->name, v->value) ||
               (variable &&
                (tc_adopt_is_secret(v->name, "x") || tc_adopt_names_secret(v->value)))) {
        store_secret(d, i, row);
    } else if (variable) {
        add(d, &d->pass, v->name);
        tc_buf_adds(&d->grants, "see the variable ");
        put_variable(&d->grants, v);
        put_line(&d->grants, "", NULL, "");
    } else {
        d->plan->moved[i] = true;
        tc_buf_adds(&d->set, d->set.len ? ", " : "");
        tc_toml_string(&d->set, v->name);
        tc_buf_adds(&d->set, " = ");
        tc_toml_string(&d->set, v->value);
    }
}

static void derive_variables(struct deriving *d, const struct tc_adopt_known *row)
{
    d->plan->moved = calloc(d->server->variable_count + 1, sizeof(*d->plan->moved));
    d->memory |= !d->plan->moved;
    for (size_t i = 0; !d->memory && !d->plan->why && i < d->server->variable_count; i++)
        derive_variable(d, i, row);
}

/* ---- the policy ---- */

static void put_list(struct tc_buf *out, const char *key, const struct tc_strv *list)
{
    if (!list->count)
        return;
    tc_buf_adds(out, key);
    tc_toml_list(out, list);
    tc_buf_addc(out, '\n');
}

static void put_text(struct tc_buf *out, const struct tc_buf *text)
{
    tc_buf_add(out, text->data ? text->data : "", text->len);
    out->failed |= text->failed;
}

void tc_adopt_put_header(struct tc_buf *out, const struct tc_adopt_server *server,
                         const struct tc_adopt_facts *facts, const char *name)
{
    tc_buf_adds(out, "# Made by toolcage adopt for the server ");
    tc_buf_add_display(out, server->name);
    tc_buf_adds(out, " of ");
    tc_buf_add_display(out, facts->origin);
    tc_buf_adds(out, ".\n# Whatever is not granted here is denied. After an edit, restart the "
                     "server in the agent.\n");
    tc_buf_addf(out, "\n[server.%s]\n", name);
}

static void put_files(struct tc_buf *out, const struct deriving *d)
{
    if (!d->readable.count && !d->writable.count) {
        tc_buf_adds(out, "filesystem = \"none\"\n");
        return;
    }
    put_list(out, "filesystem.readable = ", &d->readable);
    put_list(out, "filesystem.writable = ", &d->writable);
}

static char *write_policy(struct deriving *d, const char *name)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_adopt_put_header(&out, d->server, d->facts, name);
    put_list(&out, "command = ", &d->argv);
    put_list(&out, "programs = ", &d->programs);
    put_files(&out, d);
    if (d->network.count)
        put_list(&out, "network = ", &d->network);
    else
        tc_buf_adds(&out, "network = \"none\"\n");
    tc_buf_adds(&out, "memory = { max = \"1GiB\", by = \"any\" }\n");
    if (d->disk)
        tc_buf_addf(&out, "disk = \"%s\"\n", d->disk);
    if (d->cwd) {
        tc_buf_adds(&out, "cwd = ");
        tc_toml_string(&out, d->cwd);
        tc_buf_addc(&out, '\n');
    }
    put_list(&out, "env.pass = ", &d->pass);
    if (d->set.len) {
        tc_buf_adds(&out, "env.set = { ");
        put_text(&out, &d->set);
        tc_buf_adds(&out, " }\n");
    }
    put_text(&out, &d->secrets);
    tc_buf_adds(&out, TC_ADOPT_ALL_TOOLS);
    if (d->setup.len) {
        tc_buf_addf(&out, "\n[server.%s.setup]\n", name);
        put_text(&out, &d->setup);
    }
    return tc_buf_steal(&out);
}

/* An absolute path in the arguments that is a file or directory, but was not granted. */
static void put_ungranted(struct deriving *d)
{
    for (size_t i = 1; i < d->argv.count; i++) {
        const char *word = d->argv.items[i], *value = strchr(word, '=');
        word = word[0] == '-' && value ? value + 1 : word;
        _autofree_ char *path = word[0] == '/' ? tc_path_absolute("/", word) : NULL;
        if (path && !is_system(path) && !tc_path_within_any(&d->readable, path) &&
            !tc_path_within_any(&d->writable, path) && !(d->facts->project && why_not(d, path)) &&
            d->facts->kind(d->facts->userdata, path))
            put_line(&d->left, "", path, " is in its arguments: not granted");
    }
}

static void finish_grants(struct deriving *d)
{
    put_ungranted(d);
    if (!d->readable.count && !d->writable.count)
        put_line(&d->grants, "access none of your files", NULL, "");
    for (size_t i = 0; i < d->network.count; i++)
        put_line(&d->grants, "connect to ", d->network.items[i], ":443");
    if (!d->network.count)
        put_line(&d->grants, "use no network", NULL, "");
}

static void derive(struct deriving *d, const char *name)
{
    if (!expand(d) || d->memory)
        return;
    d->plan->why = refusal(&d->argv);
    if (d->plan->why)
        return;
    derive_files(d);
    derive_launcher(d);
    derive_variables(d, derive_known(d));
    if (d->memory || d->plan->why)
        return;
    finish_grants(d);
    d->plan->policy = write_policy(d, name);
    d->plan->grants = tc_buf_steal(&d->grants);
    d->plan->left = tc_buf_steal(&d->left);
    d->memory |= !d->plan->policy || !d->plan->grants || !d->plan->left;
}

int tc_adopt_plan(const struct tc_adopt_server *server, const char *name,
                  const struct tc_adopt_facts *facts, struct tc_adopt_plan *ret)
{
    if (server->kind == TC_ADOPT_REMOTE)
        return tc_adopt_plan_remote(server, name, facts, ret);
    *ret = (struct tc_adopt_plan){0};
    struct deriving d = {.server = server,
                         .facts = facts,
                         .plan = ret,
                         .set = TC_BUF_INIT,
                         .secrets = TC_BUF_INIT,
                         .setup = TC_BUF_INIT,
                         .grants = TC_BUF_INIT,
                         .left = TC_BUF_INIT};
    struct tc_strv *const lists[] = {&d.argv,    &d.readable, &d.writable,
                                     &d.network, &d.programs, &d.pass};
    struct tc_buf *const texts[] = {&d.set, &d.secrets, &d.setup, &d.grants, &d.left};
    derive(&d, name);
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        tc_strv_done(lists[i]);
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        tc_buf_done(texts[i]);
    return d.memory ? TOOLCAGE_EMEMORY : 0;
}

void tc_adopt_plan_done(struct tc_adopt_plan *plan)
{
    free(plan->policy);
    free(plan->grants);
    free(plan->left);
    free(plan->moved);
    for (size_t i = 0; i < plan->secret_count; i++)
        free(plan->secrets[i].file);
    free(plan->secrets);
    *plan = (struct tc_adopt_plan){0};
}
