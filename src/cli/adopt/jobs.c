/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/adopt/jobs.h"

#include <errno.h>
#include <string.h>

#include "cli/adopt/places.h"
#include "cli/call/replace.h"
#include "cli/call/secret.h"
#include "cli/show/clean.h"
#include "cli/show/diff.h"
#include "cli/show/say.h"

/* ---- display ---- */

/* The ranges of the edits after they were applied. */
static struct tc_adopt_range *shift(const struct tc_adopt_edits *edits, bool after)
{
    struct tc_adopt_range *ranges = calloc(edits->count + 1, sizeof(*ranges));
    long long moved = 0;
    for (size_t i = 0; ranges && i < edits->count; i++) {
        struct tc_adopt_range range = edits->items[i].range;
        size_t length = strlen(edits->items[i].text);
        ranges[i] = range;
        if (!after)
            continue;
        ranges[i].at = (size_t)((long long)range.at + moved);
        ranges[i].end = ranges[i].at + length;
        moved += (long long)length - (long long)(range.end - range.at);
    }
    return ranges;
}

char *tc_adopt_show(const char *path, const char *before, size_t before_length, const char *after,
                    size_t after_length, const struct tc_adopt_edits *edits)
{
    enum tc_adopt_format format;
    (void)tc_adopt_format_of(path, &format);
    _autofree_ struct tc_adopt_range *old = shift(edits, false), *new = shift(edits, true);
    _autofree_ char *line = tc_clean(TC_CLEAN_LINE, path, strlen(path), NULL);
    _autofree_ char *a =
        old ? tc_adopt_mask(format, before, before_length, old, edits->count) : NULL;
    _autofree_ char *b = new ? tc_adopt_mask(format, after, after_length, new, edits->count) : NULL;
    const char *const names[] = {line, line};
    return line && a && b ? tc_lines_diff(names, a, b) : NULL;
}

/* ---- one server ---- */

static char kind_of(void *userdata, const char *path)
{
    struct stat st;
    (void)userdata;
    if (stat(path, &st))
        return 0;
    return S_ISREG(st.st_mode) ? 'f' : S_ISDIR(st.st_mode) ? 'd' : 0;
}

static bool is_linked(void *userdata, const char *path)
{
    _autofree_ char *part = strdup(path);
    struct stat st;
    (void)userdata;
    for (char *slash = part; slash;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (lstat(part, &st))
            return errno != ENOENT;
        if (S_ISLNK(st.st_mode))
            return true;
        if (slash)
            *slash = '/';
    }
    return !part;
}

static bool is_used(const struct tc_adopt_run *run, const char *path)
{
    struct stat st;
    for (size_t i = 0; i < run->name_count; i++)
        if (!strcmp(run->names[i], path))
            return true;
    return !lstat(path, &st) || errno != ENOENT;
}

/* A path for the policy that no file has; owned. NULL: out of memory, or of numbers. */
static char *new_name(struct tc_adopt_run *run, const struct tc_adopt_target *target,
                      const char *slug)
{
    enum { TRIES = 1000 };
    const char *base = target->project ? strrchr(target->project, '/') + 1 : "";
    _autofree_ char *agent = tc_adopt_slug(target->agent);
    _autofree_ char *project = tc_adopt_slug(base);
    for (char *c = agent; c && *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    for (int i = 1; agent && project && i < TRIES; i++) {
        char number[16] = "";
        if (i > 1)
            (void)snprintf(number, sizeof(number), "-%d", i);
        char *path = tc_cli_format("%s/%s%s%s-%s%s.toml", run->policies, agent, *base ? "-" : "",
                                   *base ? project : "", slug, number);
        if (path && !is_used(run, path))
            return path;
        free(path);
    }
    return NULL;
}

static bool remember(struct tc_adopt_run *run, const char *path)
{
    char **names = reallocarray(run->names, run->name_count + 1, sizeof(*names));
    if (!names)
        return false;
    run->names = names;
    names[run->name_count] = strdup(path);
    return names[run->name_count++];
}

static int no_memory(struct tc_failure *failure)
{
    return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
}

/* Why a generated policy is not valid; owned, NULL: it is valid. */
static char *compile(const char *text, const char *path)
{
    struct toolcage_policy *policy = NULL;
    _autoerror_ struct toolcage_error *why = NULL;
    if (!toolcage_policy_load_buffer(text, strlen(text), path, &policy, &why)) {
        (void)toolcage_policy_unref(policy);
        return NULL;
    }
    _autofree_ char *message = tc_clean(TC_CLEAN_LINE, toolcage_error_message(why),
                                        strlen(toolcage_error_message(why)), NULL);
    return tc_cli_format("left alone: something in it cannot become a policy: %.200s",
                         message ? message : "out of memory");
}

static bool take_secrets(struct tc_adopt_job *job, const struct tc_adopt_server *server)
{
    job->secrets = calloc(job->plan.secret_count + 1, sizeof(*job->secrets));
    for (size_t i = 0; job->secrets && i < job->plan.secret_count; i++) {
        const struct tc_adopt_secret *secret = &job->plan.secrets[i];
        job->secrets[i] = strdup(server->variables[secret->variable].value + secret->skip);
        if (!job->secrets[i])
            return false;
    }
    return job->secrets;
}

/* The words before the server's command; for a server at a URL they are all of it. */
static struct tc_adopt_words words_of(const struct tc_adopt_run *run,
                                      const struct tc_adopt_job *job, bool remote)
{
    char *items[] = {run->program,       (char *)"wrap",   (char *)"--policy", job->policy,
                     (char *)"--server", job->policy_name, (char *)"--",       NULL};
    char **copy = malloc(sizeof(items));
    if (copy)
        memcpy(copy, items, sizeof(items));
    return (struct tc_adopt_words){copy, copy ? TC_COUNT(items) - (remote ? 2 : 1) : 0};
}

/* Does the edited text say exactly what was meant? */
static bool check_edit(enum tc_adopt_format format, const char *text, size_t length,
                       const struct tc_adopt_server *server, const struct tc_adopt_words *words,
                       const bool *moved)
{
    struct tc_adopt_settings now;
    struct tc_adopt_fault fault;
    bool fine = !tc_adopt_read(format, text, length, &now, &fault);
    const struct tc_adopt_server *new = fine ? tc_adopt_find(&now, server) : NULL;
    fine =
        new &&new->kind == TC_ADOPT_WRAPPED &&new->argv.count == words->count + server->argv.count;
    for (size_t i = 0; fine && i < new->argv.count; i++)
        fine = !strcmp(new->argv.items[i],
                       i < words->count ? words->items[i] : server->argv.items[i - words->count]);
    size_t left = 0;
    for (size_t i = 0; i < server->variable_count; i++)
        left += !moved[i];
    fine = fine && new->variable_count == left;
    tc_adopt_settings_done(&now);
    return fine;
}

/* Edits the target's text. */
static int edit(struct tc_adopt_run *run, struct tc_adopt_target *target, struct tc_adopt_job *job,
                const struct tc_adopt_settings *settings, const struct tc_adopt_server *server,
                struct tc_failure *failure)
{
    struct tc_adopt_edits edits = {0};
    struct tc_adopt_words words = words_of(run, job, server->kind == TC_ADOPT_REMOTE);
    size_t length = 0;
    if (words.count)
        tc_adopt_wrap(settings, server, &words, job->plan.moved, &edits);
    char *text = words.count ? tc_adopt_apply(target->text, target->length, &edits, &length) : NULL;
    bool fine = text && check_edit(settings->format, text, length, server, &words, job->plan.moved);
    if (fine)
        job->diff =
            tc_adopt_show(target->file.path, target->text, target->length, text, length, &edits);
    bool memory = !words.count || edits.failed || (fine && !job->diff);
    tc_adopt_edits_done(&edits);
    free(words.items);
    if (!fine || memory) {
        free(text);
        job->state = tc_cli_format("left alone: its form cannot be edited safely; edit it by hand");
        return memory || !job->state ? no_memory(failure) : 0;
    }
    free(target->text);
    target->text = text;
    target->length = length;
    job->adopted = true;
    job->state = tc_cli_format("will start behind toolcage wrap");
    return job->state && remember(run, job->policy) ? 0 : no_memory(failure);
}

/* The root of the repository of a directory; owned. NULL: none below the home directory. */
static char *repository_of(const struct tc_adopt_run *run, const char *directory)
{
    char *at = strdup(directory);
    while (at && *at && (!run->home || strcmp(at, run->home) != 0)) {
        _autofree_ char *mark = tc_cli_format("%s/.git", at);
        struct stat st;
        if (mark && !lstat(mark, &st))
            return at;
        *strrchr(at, '/') = '\0';
    }
    free(at);
    return NULL;
}

static int adopt(struct tc_adopt_run *run, struct tc_adopt_target *target, struct tc_adopt_job *job,
                 const struct tc_adopt_settings *settings, const struct tc_adopt_server *server,
                 struct tc_failure *failure)
{
    _autofree_ char *prefix = NULL;
    job->policy_name = tc_adopt_slug(server->name);
    job->policy = job->policy_name ? new_name(run, target, job->policy_name) : NULL;
    if (job->policy) {
        const char *base = strrchr(job->policy, '/') + 1;
        prefix =
            tc_cli_format("%s/%.*s.", run->secrets, (int)(strlen(base) - strlen(".toml")), base);
    }
    if (!prefix)
        return no_memory(failure);
    _autofree_ char *top = target->project ? repository_of(run, target->project) : NULL;
    struct tc_adopt_facts facts = {.home = run->home,
                                   .agent_home = run->home ? secure_getenv("HOME") : NULL,
                                   .project = target->project,
                                   .part = top && strcmp(top, target->project) != 0,
                                   .origin = target->file.path,
                                   .secrets = prefix,
                                   .kind = kind_of,
                                   .linked = is_linked};
    if (tc_adopt_plan(server, job->policy_name, &facts, &job->plan))
        return no_memory(failure);
    job->state = job->plan.why ? tc_cli_format("left alone: %s", job->plan.why)
                               : compile(job->plan.policy, job->policy);
    if (job->plan.why && !job->state)
        return no_memory(failure);
    if (job->state)
        return 0;
    return take_secrets(job, server) ? edit(run, target, job, settings, server, failure)
                                     : no_memory(failure);
}

static bool is_own_policy(const struct tc_adopt_run *run, const char *policy)
{
    size_t length = strlen(run->policies);
    return policy && !strncmp(policy, run->policies, length) && policy[length] == '/' &&
           !strchr(policy + length + 1, '/');
}

/* Exactly as adopt writes it for this project, with its own policy? */
static bool is_ours(const struct tc_adopt_run *run, const char *project,
                    const struct tc_adopt_server *server)
{
    char *const *argv = server->argv.items;
    _autofree_ char *slug = tc_adopt_slug(strrchr(project, '/') + 1);
    _autofree_ char *part = slug ? tc_cli_format("-%s-", slug) : NULL;
    size_t count = server->argv.count;
    return server->kind == TC_ADOPT_WRAPPED && (count == 6 || count > 7) &&
           !strcmp(argv[0], run->program) && !strcmp(argv[2], "--policy") &&
           is_own_policy(run, argv[3]) && part && strstr(strrchr(argv[3], '/'), part) &&
           !strcmp(argv[4], "--server") && (count == 6 || !strcmp(argv[6], "--"));
}

/* A server that names toolcage itself. A project could name a policy of its own, or another program
 * of this name. */
static char *own_state(const struct tc_adopt_run *run, const struct tc_adopt_target *target,
                       const struct tc_adopt_server *server)
{
    const char *policy, *program = server->argv.items[0];
    size_t policies = tc_adopt_policies_of(server, &policy);
    const char *what = server->kind == TC_ADOPT_WRAPPED ? "wrapped" : "toolcage's own server";
    _autofree_ char *line =
        policy ? tc_clean(TC_CLEAN_LINE, policy, strlen(policy), NULL) : strdup("the one it finds");
    if (!line)
        return NULL;
    if (strcmp(program, "toolcage") != 0 && strcmp(program, run->program) != 0)
        return tc_cli_format("NOT CAGED by this toolcage: it starts another program of that name");
    for (size_t i = 0; i < server->variable_count; i++)
        if (!tc_adopt_is_harmless(server->variables[i].name))
            return tc_cli_format(
                "NOT CAGED for sure: its env changes how toolcage starts; read it");
    if (target->project && !is_ours(run, target->project, server))
        return tc_cli_format("%s, but the project chose the policy (%s) or the program: read it",
                             what, line);
    if (policy && policy[0] != '/')
        return tc_cli_format("%s, but with a policy that depends on where it starts (%s): read it",
                             what, line);
    if (policies > 1)
        return tc_cli_format("%s, but with several policies, the last is %s: read it", what, line);
    if (server->kind == TC_ADOPT_WRAPPED)
        return tc_cli_format("already wrapped, with %s", line);
    return tc_cli_format("toolcage's own server: its tools are caged, with %s", line);
}

static int do_server(struct tc_adopt_run *run, struct tc_adopt_target *target,
                     struct tc_adopt_job *job, const struct tc_adopt_settings *settings,
                     const struct tc_adopt_server *server, struct tc_failure *failure)
{
    switch (server->kind) {
    case TC_ADOPT_UNCLEAR:
        job->state = tc_cli_format("left alone: %s", server->why);
        break;
    case TC_ADOPT_WRAPPED:
    case TC_ADOPT_CAGED:
        job->state = own_state(run, target, server);
        break;
    case TC_ADOPT_REMOTE:
    case TC_ADOPT_STDIO:
        return adopt(run, target, job, settings, server, failure);
    }
    return job->state ? 0 : no_memory(failure);
}

/* ---- one file ---- */

bool tc_adopt_format_of(const char *path, enum tc_adopt_format *ret)
{
    const char *dot = strrchr(path, '.');
    *ret = dot && !strcmp(dot, ".toml") ? TC_ADOPT_TOML : TC_ADOPT_JSON;
    return !dot || (strcmp(dot, ".yaml") != 0 && strcmp(dot, ".yml") != 0);
}

static int read_text(struct tc_adopt_target *target, struct tc_adopt_settings *ret,
                     struct tc_failure *failure)
{
    struct tc_adopt_fault fault;
    enum tc_adopt_format format;
    *ret = (struct tc_adopt_settings){0};
    if (!tc_adopt_format_of(target->file.path, &format))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                              "put toolcage wrap before the commands by hand: docs/mcp.md",
                              "%s is YAML, which is not edited", target->file.path);
    int rc = tc_adopt_read(format, target->text, target->length, ret, &fault);
    if (!rc)
        return 0;
    if (rc == TOOLCAGE_EMEMORY)
        return no_memory(failure);
    return tc_failure_set(failure, rc, "correct it, or edit it by hand", "%s:%zu: it %s",
                          target->file.path, fault.line, fault.text);
}

/* The n-th server; the text is read again for each, because edits move the others. */
static int do_next(struct tc_adopt_run *run, struct tc_adopt_target *target, size_t n,
                   bool *ret_end, struct tc_failure *failure)
{
    struct tc_adopt_settings settings;
    int rc = read_text(target, &settings, failure);
    *ret_end = rc || n >= settings.server_count;
    if (!*ret_end) {
        const struct tc_adopt_server *server = &settings.servers[n];
        struct tc_adopt_job *jobs =
            reallocarray(target->jobs, target->job_count + 1, sizeof(*jobs));
        if (jobs) {
            target->jobs = jobs;
            struct tc_adopt_job *job = &jobs[target->job_count++];
            *job =
                (struct tc_adopt_job){.where = strdup(server->where), .name = strdup(server->name)};
            job->line = tc_clean(TC_CLEAN_LINE, server->name, strlen(server->name), NULL);
            rc = job->where && job->name && job->line
                     ? do_server(run, target, job, &settings, server, failure)
                     : no_memory(failure);
            target->adopted += job->adopted;
        } else {
            rc = no_memory(failure);
        }
    }
    tc_adopt_settings_done(&settings);
    return rc;
}

static bool is_open_already(const struct tc_adopt_run *run, const struct tc_adopt_file *file)
{
    for (size_t i = 0; i < run->target_count; i++)
        if (run->targets[i].file.text && run->targets[i].file.st.st_ino == file->st.st_ino &&
            run->targets[i].file.st.st_dev == file->st.st_dev)
            return true;
    return false;
}

/* Large settings of a project would cost minutes. */
static int check_size(const struct tc_adopt_target *target, struct tc_failure *failure)
{
    enum { PROJECT_MAX = 1 << 20 };
    if (!target->project || target->file.length <= PROJECT_MAX)
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EPATH, "edit it by hand",
                          "%s is larger than 1 MiB, and a project chose it", target->file.path);
}

static int do_servers(struct tc_adopt_run *run, struct tc_adopt_target *target,
                      struct tc_failure *failure)
{
    bool end = false;
    target->text = malloc(target->file.length + 1);
    if (!target->text)
        return no_memory(failure);
    memcpy(target->text, target->file.text, target->file.length + 1);
    target->length = target->file.length;
    for (size_t n = 0; !target->failed && !end; n++)
        target->failed = do_next(run, target, n, &end, &target->failure) != 0;
    return 0;
}

enum origin { OF_PLACE, OF_PROJECT, NAMED_BY_USER };

/* Only the places in the home directory are the user's own: variables and --file can name a
 * repository's. */
static int do_file(struct tc_adopt_run *run, const char *agent, const char *path,
                   enum origin origin, struct tc_failure *failure)
{
    struct tc_adopt_target target = {.agent = agent};
    bool own = run->home && tc_adopt_place_is_own(run->home, path);
    target.failed =
        tc_adopt_open(path, own || origin == NAMED_BY_USER, &target.file, &target.failure) != 0;
    if (!target.failed && (!target.file.text || is_open_already(run, &target.file))) {
        tc_adopt_close(&target.file);
        return 0;
    }
    target.project = own ? NULL : tc_adopt_place_project(path);
    target.failed = target.failed || check_size(&target, &target.failure);
    /* what a tool wrote is not what the user wants to start */
    if (!target.failed && origin == OF_PLACE)
        target.failed =
            tc_secret_check(target.file.path, (struct tc_writers){0}, &target.failure) != 0;
    struct tc_adopt_target *targets =
        reallocarray(run->targets, run->target_count + 1, sizeof(*targets));
    if (!targets || (!own && !target.project)) {
        run->targets = targets ? targets : run->targets;
        tc_adopt_close(&target.file);
        free(target.project);
        return no_memory(failure);
    }
    run->targets = targets;
    targets[run->target_count] = target;
    struct tc_adopt_target *now = &targets[run->target_count++];
    if (!now->failed && do_servers(run, now, failure))
        return -1;
    run->failed += now->failed;
    run->adopted += now->failed ? 0 : now->adopted;
    return 0;
}

/* ---- all files ---- */

static int prepare(struct tc_adopt_run *run, struct tc_failure *failure)
{
    const char *home = secure_getenv("HOME");
    run->home = home && home[0] == '/' ? realpath(home, NULL) : NULL;
    run->here = realpath(".", NULL);
    run->program = realpath("/proc/self/exe", NULL);
    run->policies = tc_user_path("XDG_CONFIG_HOME", ".config", "servers");
    run->secrets = tc_user_path("XDG_CONFIG_HOME", ".config", "secrets");
    if (!run->policies || !run->secrets)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "set HOME to an absolute path",
                              "there is no home directory for the policies");
    if (!run->program || !run->here)
        return tc_failure_set(
            failure, TOOLCAGE_ESYSTEM, "change to a directory that exists", "cannot find %s: %s",
            run->program ? "the working directory" : "toolcage's own program", strerror(errno));
    if (strcmp(strrchr(run->program, '/'), "/toolcage") !=
        0) /* else a server would be wrapped twice */
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "start it by a file named toolcage",
                              "settings cannot name this program: %s", run->program);
    return 0;
}

static int do_named(struct tc_adopt_run *run, const char *path, struct tc_failure *failure)
{
    _autofree_ char *real = realpath(path, NULL);
    if (!real)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, "name a settings file that exists",
                              "cannot open %s: %s", path, strerror(errno));
    _autofree_ char *project = tc_adopt_place_project(real);
    for (size_t i = 0; tc_adopt_place_at(i); i++) {
        const struct tc_adopt_place *place = tc_adopt_place_at(i);
        _autofree_ char *known = tc_adopt_place_path(place, project);
        _autofree_ char *its = known ? realpath(known, NULL) : NULL;
        if (its && !strcmp(its, real))
            return do_file(run, place->agent, real, NAMED_BY_USER, failure);
    }
    return do_file(run, "agent", real, NAMED_BY_USER, failure);
}

static int do_places(struct tc_adopt_run *run, const char *project, struct tc_failure *failure)
{
    for (size_t i = 0; tc_adopt_place_at(i); i++) {
        const struct tc_adopt_place *place = tc_adopt_place_at(i);
        if ((place->base == TC_BASE_PROJECT) != (project != NULL))
            continue;
        _autofree_ char *path = tc_adopt_place_path(place, project);
        if (path && do_file(run, place->agent, path, project ? OF_PROJECT : OF_PLACE, failure))
            return -1;
    }
    return 0;
}

int tc_adopt_collect(struct tc_adopt_run *run, const char *file, struct tc_failure *failure)
{
    if (prepare(run, failure))
        return -1;
    if (file)
        return do_named(run, file, failure);
    if (do_places(run, NULL, failure))
        return -1;
    /* agents look in the directories above, too */
    _autofree_ char *top = repository_of(run, run->here), *at = strdup(run->here);
    for (bool end = !at || !strcmp(at, "/"); !end;) {
        if (do_places(run, at, failure))
            return -1;
        end = !top || !strcmp(at, top);
        *strrchr(at, '/') = '\0';
    }
    return at ? 0 : no_memory(failure);
}

static void free_job(struct tc_adopt_job *job)
{
    for (size_t i = 0; job->secrets && i < job->plan.secret_count; i++) {
        if (job->secrets[i])
            explicit_bzero(job->secrets[i], strlen(job->secrets[i]));
        free(job->secrets[i]);
    }
    free(job->secrets);
    tc_adopt_plan_done(&job->plan);
    char *const texts[] = {job->where, job->name,        job->line,  job->state,
                           job->diff,  job->policy_name, job->policy};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
}

void tc_adopt_run_done(struct tc_adopt_run *run)
{
    for (size_t i = 0; i < run->target_count; i++) {
        struct tc_adopt_target *target = &run->targets[i];
        for (size_t k = 0; k < target->job_count; k++)
            free_job(&target->jobs[k]);
        free(target->jobs);
        free(target->project);
        free(target->text);
        tc_adopt_close(&target->file);
        tc_failure_done(&target->failure);
    }
    for (size_t i = 0; i < run->name_count; i++)
        free(run->names[i]);
    char *const texts[] = {run->program, run->home, run->here, run->policies, run->secrets};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    free(run->targets);
    free(run->names);
}
