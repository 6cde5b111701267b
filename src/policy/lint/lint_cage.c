/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Rules about the cage: missing isolation, limits that are too high, and model text in shell
 * commands. */
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "policy/backends.h"
#include "policy/lint/lint_rules.h"
#include "policy/parse/template.h"
#include "policy/plain.h"
#include "policy/resolve/resolve.h"

static const int64_t longest_ms = 10 * 60 * 1000;
static const int64_t longest_install_ms = 60 * 60 * 1000; /* a user waits for it */
static const int64_t largest_memory = (int64_t)64 << 30;
static const int64_t largest_output = 1 << 20;
enum { BYTES_PER_TOKEN = 4 };

/* ---- backends ---- */

static const struct tc_lint_backend *find_backend(const struct tc_lint *l, const char *name)
{
    for (size_t i = 0; i < l->facts->backend_count; i++)
        if (tc_streq(l->facts->backends[i].name, name))
            return &l->facts->backends[i];
    return NULL;
}

void tc_lint_no_backend(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_backend_key *by;
    const char *name = tc_policy_backend(l->policy, spec);
    const struct tc_spec *said = tc_policy_chooser(l->policy, spec, false, &by);
    if (said && l->facts->backend_count && !find_backend(l, name))
        tc_lint_add(l, said, by->key, said->said[by->id], name,
                    "use backend = \"process\", \"oci\" or \"gvisor\"; until then each call is "
                    "refused",
                    "this version has no backend %s", name);
}

/* A grant with the tool's settings, as far as the text determines them. */
static struct tc_grant grant_of(const struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *sockets = tc_lint_given(l, spec, TC_KEY_UNIX_SOCKETS);
    const struct tc_spec *syscalls = tc_lint_given(l, spec, TC_KEY_SYSCALLS);
    const struct tc_spec *workspace = tc_lint_given(l, spec, TC_KEY_WORKSPACE);
    const struct tc_spec *net = tc_lint_given(l, spec, TC_KEY_NETWORK);
    const struct tc_spec *secrets = tc_lint_given(l, spec, TC_KEY_SECRETS);
    const struct tc_spec *time = tc_lint_given(l, spec, TC_KEY_CPU_TIME);
    const struct tc_spec *cpus = tc_lint_given(l, spec, TC_KEY_CPUS);
    const struct tc_spec *layers = tc_lint_given(l, spec, TC_KEY_LAYERS);
    static char somewhere[] = "/";
    static struct tc_fs_entry written = {.access = TC_ACCESS_WRITE, .path = somewhere};
    bool written_to = tc_spec_writable(tc_lint_given(l, spec, TC_KEY_FILESYSTEM));
    struct tc_grant grant = {
        .fs = written_to ? &written : NULL,
        .fs_count = written_to,
        .unix_sockets = sockets && sockets->unix_sockets,
        .syscalls_allow = syscalls ? syscalls->syscalls_allow : (struct tc_strv){NULL, 0},
        .workspace = workspace ? (enum tc_workspace_mode)workspace->workspace : TC_WORKSPACE_AUTO,
        .layers = layers ? layers->layers : (struct tc_strv){NULL, 0},
        .net = net ? net->net : NULL,
        .net_count = net ? net->net_count : 0,
        .secret_count = secrets ? secrets->secret_count : 0,
        .limits = {.cpu_time_ms = time ? time->limits.cpu_time_ms : 0,
                   .cpus_milli = cpus ? cpus->limits.cpus_milli : 0}};
    for (size_t i = 0; i < TC_PLAIN_COUNT; i++)
        tc_plain_lend(&tc_plain_rows[i], &grant, tc_lint_given(l, spec, tc_plain_rows[i].id));
    return grant;
}

/* Reports required features that the tool's backend lacks. */
static void lint_features(struct tc_lint *l, const struct tc_spec *spec,
                          const struct tc_lint_backend *backend, const struct tc_grant *grant)
{
    tc_features lacks = tc_grant_features(grant) & ~backend->has;
    for (int i = 0; i < TC_FEATURE_COUNT; i++) {
        const struct tc_feature_row *row = &tc_feature_rows[i];
        const struct tc_key *key = row->key ? tc_key_find(tc_keys, TC_SCOPE_TOOL, row->key) : NULL;
        const struct tc_spec *said = key ? tc_lint_given(l, spec, key->id) : NULL;
        if (said && lacks & (tc_features)1 << i)
            tc_lint_add(l, said, row->key, said->said[key->id], row->key, row->hint,
                        "backend %s %s: each call is refused", backend->name, row->text);
    }
}

static bool runs_modules(const char *backend)
{
    const struct tc_backend *row = tc_backend_find(backend);
    return row && row->kind == TC_BACKEND_MODULE;
}

/* A hint that names the backends of this version that can enforce the grant; owned. Module backends
 * run only modules, and no other backend runs one. */
static char *others_for(struct tc_lint *l, const char *name, const struct tc_grant *grant)
{
    tc_clauses clauses = tc_grant_clauses(grant);
    tc_features features = tc_grant_features(grant);
    _autobuf_ struct tc_buf names = TC_BUF_INIT;
    for (size_t i = 0; i < l->facts->backend_count; i++) {
        const struct tc_lint_backend *b = &l->facts->backends[i];
        if (!b->no_boundary && b->provides && runs_modules(b->name) == runs_modules(name) &&
            !(clauses & ~b->provides) && !(features & ~b->has))
            tc_buf_addf(&names, "%sbackend = \"%s\"", names.len ? ", or " : "", b->name);
    }
    tc_buf_adds(&names, names.len ? " can; until then each call is refused"
                                  : "no backend of this version can: remove it from the policy");
    char *hint = tc_buf_steal(&names);
    l->memory |= !hint;
    return hint;
}

void tc_lint_unenforceable(struct tc_lint *l, const struct tc_spec *spec)
{
    const char *name = tc_policy_backend(l->policy, spec);
    const struct tc_lint_backend *backend = find_backend(l, name);
    const struct tc_spec *net = tc_lint_given(l, spec, TC_KEY_NETWORK);
    const struct tc_spec *secrets = tc_lint_given(l, spec, TC_KEY_SECRETS);
    const struct tc_grant grant = grant_of(l, spec);
    tc_clauses missing = backend && !backend->no_boundary && backend->provides
                             ? tc_grant_clauses(&grant) & ~backend->provides
                             : 0;
    if (backend && !tc_lint_given(l, spec, TC_KEY_FALLBACK))
        lint_features(l, spec, backend, &grant);
    for (int i = 0; i < TC_CLAUSE_COUNT; i++) {
        if (!(missing & TC_CLAUSE_BIT(i)))
            continue;
        bool by_net = (i == TC_CLAUSE_NET_ALLOW || i == TC_CLAUSE_NET_INSPECT) && net;
        bool by_secret = i == TC_CLAUSE_NET_SECRET && secrets;
        const struct tc_spec *says = by_net ? net : by_secret ? secrets : spec;
        const char *key = by_net ? "network" : by_secret ? "secrets" : "backend";
        uint32_t line = says->said[by_net      ? TC_KEY_NETWORK
                                   : by_secret ? TC_KEY_SECRETS
                                               : TC_KEY_BACKEND];
        _autofree_ char *hint = others_for(l, name, &grant);
        if (!hint)
            return;
        tc_lint_add(l, says, key, line, by_net || by_secret ? key : name, hint,
                    "backend %s of this version cannot enforce %s: %s", name, tc_clause_name(i),
                    tc_clause_text(i));
    }
}

void tc_lint_no_boundary(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *said = tc_lint_given(l, spec, TC_KEY_BACKEND);
    if (said && tc_backend_strength(said->backend) == 0)
        tc_lint_add(l, said, "backend", said->said[TC_KEY_BACKEND], said->backend,
                    "backend = \"process\" is about as fast and isolates the tool",
                    "nothing confines %s: it may do whatever you may", spec->prefix);
}

void tc_lint_gives_up(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *said = tc_lint_given(l, spec, TC_KEY_WITHOUT);
    _autobuf_ struct tc_buf list = TC_BUF_INIT;
    for (int i = 0; said && i < TC_CLAUSE_COUNT; i++)
        if (said->without & TC_CLAUSE_BIT(i))
            tc_buf_addf(&list, "%s%s", list.len ? ", " : "", tc_clause_name(i));
    l->memory |= list.failed;
    if (list.len && !list.failed)
        tc_lint_add(
            l, said, "without", said->said[TC_KEY_WITHOUT], "without",
            "toolcage doctor shows why the host cannot create them; fix that, and remove `without`",
            "where namespaces cannot be created, calls run without %s", list.data);
}

/* A fallback whose strength cannot be compared with the backend's counts as weaker. */
void tc_lint_fallback(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *said = tc_lint_given(l, spec, TC_KEY_FALLBACK);
    const char *backend = tc_policy_backend(l->policy, spec);
    int strength = tc_backend_strength(backend);
    for (size_t i = 0; said && i < said->fallback.count; i++) {
        const char *other = said->fallback.items[i];
        if (strength >= 0 && tc_backend_strength(other) >= strength)
            continue;
        tc_lint_add(l, said, "fallback", said->said[TC_KEY_FALLBACK], other,
                    "remove it: without it the call is refused if the backend is missing",
                    "if %s cannot run, the call runs in %s, a weaker cage", backend, other);
        return;
    }
}

/* A tier or risk, also one of [defaults], takes precedence over the module. */
void tc_lint_module(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_backend_key *by;
    const char *name = tc_policy_backend(l->policy, spec);
    const struct tc_spec *module = tc_lint_given(l, spec, TC_KEY_MODULE);
    const struct tc_spec *said = tc_policy_chooser(l->policy, spec, false, &by);
    const struct tc_backend *backend = tc_backend_find(name);
    const struct tc_spec *layers = tc_policy_layers(l->policy, spec);
    if (!module || !said || !backend || backend->kind == TC_BACKEND_MODULE ||
        (layers && tc_backend_runs_module(&layers->layers)))
        return;
    _autofree_ char *hint = layers || by->id == TC_KEY_BACKEND
                                ? strdup("backend = \"wasm\", or remove module")
                                : tc_format("backend = \"wasm\" next to module, which takes "
                                            "precedence over %s; or remove module",
                                            by->key);
    if (!hint)
        l->memory = true;
    else if (layers)
        tc_lint_add(l, module, "module", module->said[TC_KEY_MODULE], "module", hint,
                    "the module does not run: layers begin with %s", name);
    else
        tc_lint_add(l, said, by->key, said->said[by->id], by->key, hint,
                    "%s chooses backend %s, so the module (line " TC_LINE_FORM ") does not run",
                    by->key, name, TC_LINE_SHOWN(l->policy, module->said[TC_KEY_MODULE]));
}

/* Each system call that a policy can allow inspects or changes other processes of the cage. */
void tc_lint_syscalls(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *said = tc_lint_given(l, spec, TC_KEY_SYSCALLS);
    if (said && said->syscalls_allow.count)
        tc_lint_add(l, said, "syscalls", said->said[TC_KEY_SYSCALLS], said->syscalls_allow.items[0],
                    "allow it for a separate tool, for debuggers, with nothing else in its cage",
                    "%s is refused by default: it acts on other processes, and exposes much of "
                    "the kernel",
                    said->syscalls_allow.items[0]);
}

/* ---- limits ---- */

void tc_lint_timeout(struct tc_lint *l, const struct tc_spec *spec)
{
    char text[TC_VALUE_TEXT_SIZE];
    const struct tc_spec *said = tc_lint_given(l, spec, TC_KEY_TIMEOUT);
    bool install = tc_spec_is_setup(spec);
    int64_t longest = install ? longest_install_ms : longest_ms;
    if (!said || tc_spec_is_server(spec) || said->limits.timeout_ms <= longest)
        return;
    tc_value_write(TC_UNIT_DURATION, said->limits.timeout_ms, text);
    tc_lint_add(l, said, "timeout", said->said[TC_KEY_TIMEOUT], "timeout",
                install ? "at most 1h, or add cpu_time = \"…\""
                        : "at most 10m, or add cpu_time = \"…\"",
                "%s that hangs or mines keeps this host busy for %s",
                install ? "an install" : "a call", text);
}

void tc_lint_memory(struct tc_lint *l, const struct tc_spec *spec)
{
    char text[TC_VALUE_TEXT_SIZE];
    const struct tc_spec *memory = tc_lint_given(l, spec, TC_KEY_MEMORY);
    const struct tc_spec *pids = tc_lint_given(l, spec, TC_KEY_PIDS);
    const struct tc_limits *m = memory ? &memory->limits : &tc_limits_default;
    int64_t most = m->memory, count = (pids ? &pids->limits : &tc_limits_default)->pids;
    if (!m->memory_any || most <= largest_memory / count)
        return;
    const struct tc_spec *says = memory ? memory : pids;
    tc_value_write(TC_UNIT_SIZE, most, text);
    tc_lint_add(l, says, memory ? "memory" : "pids",
                says->said[memory ? TC_KEY_MEMORY : TC_KEY_PIDS], memory ? "memory" : "pids",
                "fewer pids, or memory = \"…\" without by = \"any\", which needs a cgroup",
                "without a cgroup the limit is for each process: %" PRId64 " processes of %s",
                count, text);
}

/* Private storage is memory. With "any", it counts as memory only if there is a cgroup. */
void tc_lint_disk_memory(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_spec *disk = tc_lint_given(l, spec, TC_KEY_DISK);
    const struct tc_spec *memory = tc_lint_given(l, spec, TC_KEY_MEMORY);
    if (!disk || !memory || memory->limits.memory_any || disk->limits.disk <= memory->limits.memory)
        return;
    tc_lint_add(l, disk, "disk", disk->said[TC_KEY_DISK], "disk",
                "raise memory above disk, or lower disk",
                "files of %s are kept in memory and count as memory: that limit ends it before "
                "disk is full",
                spec->prefix);
}

void tc_lint_output(struct tc_lint *l, const struct tc_spec *spec)
{
    char text[TC_VALUE_TEXT_SIZE];
    const struct tc_spec *said = tc_lint_given(l, spec, TC_KEY_OUTPUT);
    if (!said || said->limits.output <= largest_output || tc_spec_is_setup(spec))
        return; /* no model reads what an install prints */
    tc_value_write(TC_UNIT_SIZE, said->limits.output, text);
    tc_lint_add(l, said, "output", said->said[TC_KEY_OUTPUT], "output",
                "keep 1MiB or less, and let the tool write the rest to a file named in collect",
                "%s of a stream are about %" PRId64 " tokens, more than most models can read", text,
                said->limits.output / BYTES_PER_TOKEN);
}

/* ---- a shell ---- */

static bool is_shell(const char *program)
{
    static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"};
    return TC_AMONG(names, tc_path_base(program));
}

/* Does the text mix operator text with an argument? An element that is only an argument is meant to
 * be a program. */
static bool mixes(const char *text, struct tc_hole *hole)
{
    return tc_hole_find(text, hole) && (hole->start != text || *hole->end);
}

void tc_lint_shell(struct tc_lint *l, const struct tc_spec *spec)
{
    const struct tc_strv *argv = &spec->command;
    struct tc_hole hole;
    if (!argv->count || !is_shell(argv->items[0]))
        return;
    for (size_t i = 1; i + 1 < argv->count; i++) {
        const char *word = argv->items[i];
        if (word[0] != '-' || word[strlen(word) - 1] != 'c' || !mixes(argv->items[i + 1], &hole))
            continue;
        _autofree_ char *place = strndup(hole.start, (size_t)(hole.end - hole.start));
        l->memory |= !place;
        if (place)
            tc_lint_add(l, spec, "command", spec->said[TC_KEY_COMMAND], place,
                        "pass it as a separate argument: [\"sh\", \"-c\", \"… \\\"$1\\\"\", "
                        "\"sh\", \"{NAME}\"]",
                        "a shell reads %s as part of its program: a value with ; or $( runs "
                        "anything that the cage allows",
                        place);
        return;
    }
}
