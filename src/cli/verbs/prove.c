/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Each attack runs twice: without a cage, to check that it works on this host, and in one. Its
 * effect is observed from outside where possible. */
#include "cli/verbs/prove.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/call/sibling.h"
#include "cli/show/clean.h"
#include "cli/show/fold.h"
#include "cli/show/json.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"
#include "proof/proof.h"

enum {
    TC_EXIT_UNPROVEN = 1,
    WORDS_MAX = 16,
    BARE_MS = 10000, /* enough for a loaded host: all attacks but one end by themselves at once */
    BARE_ENDLESS_MS = 1000,
    ATTACK_WIDTH = 34,
    RESULT_WIDTH = 11,
    BY_COLUMN = ATTACK_WIDTH + RESULT_WIDTH + 2,
    LINE_WIDTH = 79,
    OUTPUT_MAX = 1 << 20,
};

/* ---- a program without a cage ---- */

/* Runs with this process's environment and fds, in a separate session on an unused terminal, so
 * that it cannot reach the user's. */
struct bare {
    pid_t pid; /* 0: none */
    char *output;
    size_t length;
};

/* Opens an unused terminal; the master must stay open as long as the program runs. */
static int open_terminal(char *name, size_t size)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master >= 0 && (grantpt(master) || unlockpt(master) || ptsname_r(master, name, size))) {
        (void)close(master);
        return -1;
    }
    return master;
}

/* The first terminal that a session leader opens becomes its controlling terminal. */
static int spawn(const char *const argv[], const char *terminal, int out, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions))
        return -1;
    int rc = posix_spawnattr_init(&attributes);
    if (!rc) {
        rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
        if (!rc)
            rc = posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0);
        if (!rc)
            rc = posix_spawn_file_actions_adddup2(&actions, out, 1);
        if (!rc)
            rc = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        if (!rc)
            rc = posix_spawn(ret, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                             environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    errno = rc;
    return rc ? -1 : 0;
}

static void read_output(int in, int64_t until, struct bare *bare)
{
    while (bare->length < OUTPUT_MAX) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        int64_t left = until - tc_cli_now_ms();
        if (left <= 0 || poll(&ready, 1, (int)left) <= 0)
            return;
        ssize_t n = read(in, bare->output + bare->length, OUTPUT_MAX - bare->length);
        if (n <= 0)
            return;
        bare->length += (size_t)n;
    }
}

/* Runs the program until its output ends or the timeout, then sends SIGTERM. Its output, up to a
 * limit, is in ret. 0, or -1 with errno. */
static int bare_run(const char *const argv[], int timeout_ms, struct bare *ret)
{
    char name[64];
    int ends[2];
    _autofd_ int master = open_terminal(name, sizeof(name));
    if (master < 0 || pipe2(ends, O_CLOEXEC))
        return -1;
    _autofd_ int in = ends[0];
    *ret = (struct bare){.output = calloc(1, OUTPUT_MAX + 1)};
    int rc = ret->output ? spawn(argv, name, ends[1], &ret->pid) : -1;
    (void)close(ends[1]);
    if (rc)
        return -1;
    read_output(in, tc_cli_now_ms() + timeout_ms, ret);
    (void)kill(ret->pid, SIGTERM);
    return 0;
}

/* Kills the program's remaining processes and frees its output. */
static void bare_end(struct bare *bare)
{
    if (bare->pid > 0) {
        (void)kill(-bare->pid, SIGKILL);
        (void)kill(bare->pid, SIGKILL);
        while (waitpid(bare->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    free(bare->output);
    *bare = (struct bare){0};
}

/* ---- findings ---- */

enum finding { STOPPED, NOT_STOPPED, NOT_PROVEN, HARMLESS, FINDINGS };

static const char *const shown[] = {"stopped", "NOT STOPPED", "not proven", "harmless"};
static const char *const spelled[] = {"stopped", "not_stopped", "not_proven", "harmless"};

struct row {
    enum finding finding;
    char *by; /* the mechanism, or the reason */
};

struct proof {
    const char *backend;
    char program[PATH_MAX];
    struct tc_decoys decoys;
    struct toolcage_engine *engine;
    struct toolcage_policy *policy;
    struct row *rows;
    size_t counts[FINDINGS];
    char *host; /* what the isolation depended on before the first attack; owned */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signal_number)
{
    interrupted = signal_number;
}

/* Signals are caught so that the decoys are removed first. */
static void catch_signals(void)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    for (size_t i = 0; i < TC_COUNT(caught); i++)
        (void)sigaction(caught[i], &action, NULL);
}

/* ---- the program ---- */

static bool is_safe(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK) &&
           !(st.st_mode & (S_IWGRP | S_IWOTH)) && (st.st_uid == 0 || st.st_uid == geteuid());
}

/* Only at the installed or the built path. */
static int find_program(struct proof *proof, struct tc_failure *failure)
{
    static const char *const places[] = {"../libexec/toolcage/toolcage-attacks",
                                         "../attacks/toolcage-attacks"};
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        _autofree_ char *path = tc_sibling_place(places[i]);
        if (path && realpath(path, proof->program) && is_safe(proof->program))
            return 0;
    }
    _autofree_ char *self = tc_sibling_place("");
    (void)tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, "reinstall toolcage",
                         "toolcage-attacks is not in ../libexec/toolcage from %s, or others "
                         "may write it",
                         self ? self : "this program");
    return tc_failure_about(failure, "toolcage-attacks");
}

/* Splits `text` into argv, which is NULL-terminated and points into it. */
static size_t split(const struct proof *proof, char *text, const char *argv[WORDS_MAX])
{
    size_t count = 0;
    char *rest = text;
    argv[count++] = proof->program;
    for (char *word; count + 1 < WORDS_MAX && (word = strsep(&rest, " "));)
        argv[count++] = word;
    argv[count] = NULL;
    return count;
}

/* ---- one attack ---- */

static int run_bare(const struct proof *proof, const char *words, int timeout_ms, struct bare *ret)
{
    const char *argv[WORDS_MAX];
    _autofree_ char *text = tc_decoys_fill(&proof->decoys, words);
    if (!text)
        return -1;
    (void)split(proof, text, argv);
    return bare_run(argv, timeout_ms, ret);
}

/* Runs a helper command outside the cage; the first line of its output is stored. */
static int assist(struct proof *proof, const char *words)
{
    struct bare bare = {0};
    if (!words)
        return 0;
    int rc = run_bare(proof, words, BARE_MS, &bare);
    if (!rc)
        (void)snprintf(proof->decoys.made, sizeof(proof->decoys.made), "%.*s",
                       (int)strcspn(bare.output, "\n"), bare.output);
    bare_end(&bare);
    return rc;
}

static int works_bare(const struct proof *proof, const struct tc_attack *attack, bool *ret)
{
    struct bare bare = {0};
    int rc = run_bare(proof, attack->command,
                      attack->sign == TC_SIGN_BEATS ? BARE_ENDLESS_MS : BARE_MS, &bare);
    if (!rc)
        *ret = tc_attack_through(attack, &proof->decoys, bare.output, bare.length);
    bare_end(&bare);
    return rc;
}

static int call_caged(const struct proof *proof, const struct tc_attack *attack,
                      struct toolcage_call **ret, struct toolcage_error **err)
{
    const char *argv[WORDS_MAX];
    _autofree_ char *text = tc_decoys_fill(&proof->decoys, attack->command);
    if (!text)
        return TOOLCAGE_EMEMORY;
    size_t count = split(proof, text, argv);
    int rc = toolcage_call_new(proof->engine, proof->policy,
                               attack->workspace ? "workspace" : "strict", ret, err);
    /* in place what an attack leaves is on the host at once; nothing is planted even at the end */
    if (!rc && attack->workspace && attack->sign != TC_SIGN_PLANTED)
        rc = toolcage_call_set(*ret, "mode", "bind", err);
    if (!rc && attack->key)
        rc = toolcage_call_set(*ret, attack->key, attack->say, err);
    if (!rc)
        rc = toolcage_call_set_command(*ret, count, argv, err);
    if (!rc)
        rc = toolcage_call_run(*ret, err);
    return rc < 0 ? rc : 0;
}

/* The clause and mechanism named in the result; NULL if there is none. */
static char *mechanism(const struct tc_attack *attack, const struct toolcage_result *result)
{
    struct tc_slice named = tc_json_get(
        tc_json_get(tc_json_of(toolcage_result_json(result)), "enforcement"), attack->clause);
    _autofree_ char *how = tc_json_text(named);
    return how && *how ? tc_cli_format("%s: %s", attack->clause, how) : NULL;
}

static bool ran(const struct toolcage_result *result)
{
    int32_t status = toolcage_result_status(result);
    return status != TOOLCAGE_STATUS_DENIED && status != TOOLCAGE_STATUS_ERROR &&
           status != TOOLCAGE_STATUS_CANCELLED;
}

static struct row judge_attack(const struct proof *proof, const struct tc_attack *attack, bool bare,
                               const struct toolcage_result *result)
{
    const struct toolcage_error *err = toolcage_result_error(result);
    size_t length = 0;
    const char *output = toolcage_result_output(result, 1, &length);
    _autofree_ char *text = strndup(length ? output : "", length);
    if (!ran(result))
        return (struct row){NOT_PROVEN, strdup(err ? toolcage_error_message(err)
                                                   : toolcage_result_message(result))};
    if (!text || tc_attack_through(attack, &proof->decoys, text, length))
        return (struct row){NOT_STOPPED, strdup(attack->clause)};
    if (!bare)
        return (struct row){HARMLESS, strdup("does not work here without a cage either")};
    char *by = mechanism(attack, result);
    if (by)
        return (struct row){STOPPED, by};
    return (struct row){NOT_PROVEN, strdup("the result names nothing that stopped it")};
}

/* The file that was not planted is staged. */
static void discard(const struct proof *proof, const struct toolcage_result *result)
{
    _autofree_ char *call =
        result ? tc_json_text(tc_json_get(tc_json_of(toolcage_result_json(result)), "call")) : NULL;
    char *json = NULL;
    if (call)
        (void)toolcage_engine_settle_json(proof->engine, call, TOOLCAGE_SETTLE_DISCARD, 0, NULL,
                                          &json, NULL);
    toolcage_free(json);
}

static struct row try_caged(const struct proof *proof, const struct tc_attack *attack, bool bare)
{
    _autoerror_ struct toolcage_error *err = NULL;
    struct toolcage_call *call = NULL;
    struct row row;
    if (call_caged(proof, attack, &call, &err))
        row = (struct row){NOT_PROVEN, strdup(err ? toolcage_error_message(err) : "out of memory")};
    else
        row = judge_attack(proof, attack, bare, toolcage_call_result(call));
    if (attack->sign == TC_SIGN_PLANTED && call)
        discard(proof, toolcage_call_result(call));
    (void)toolcage_call_unref(call);
    return row;
}

static struct row try_attack(struct proof *proof, const struct tc_attack *attack)
{
    bool bare = false;
    struct row row = {NOT_PROVEN, NULL};
    if (tc_decoys_renew(&proof->decoys) || assist(proof, attack->prepare) ||
        works_bare(proof, attack, &bare) || tc_decoys_renew(&proof->decoys))
        row.by = strdup(strerror(errno));
    else
        row = try_caged(proof, attack, bare);
    (void)assist(proof, attack->tidy);
    return row;
}

/* ---- output ---- */

static bool proven(const struct proof *proof)
{
    return proof->counts[STOPPED] && !proof->counts[NOT_STOPPED] && !proof->counts[NOT_PROVEN];
}

static void put_row(FILE *out, const struct tc_attack *attack, const struct row *row)
{
    (void)fprintf(out, "%-*s %-*s ", ATTACK_WIDTH, attack->operands, RESULT_WIDTH,
                  shown[row->finding]);
    tc_cli_wrap(out, row->by ? row->by : "", BY_COLUMN, tc_fold_most(LINE_WIDTH));
}

static void put_table(FILE *out, const struct proof *proof)
{
    (void)fprintf(out, "%-*s %-*s %s\n", ATTACK_WIDTH, "attack", RESULT_WIDTH, "result", "by");
    for (size_t i = 0; i < tc_attack_count; i++)
        put_row(out, &tc_attacks[i], &proof->rows[i]);
    (void)fprintf(out,
                  "\n%zu attacks, backend %s:\n%zu stopped, %zu NOT STOPPED, %zu not proven, "
                  "%zu harmless\n",
                  tc_attack_count, proof->backend, proof->counts[STOPPED],
                  proof->counts[NOT_STOPPED], proof->counts[NOT_PROVEN], proof->counts[HARMLESS]);
}

static void put_json(FILE *out, const struct proof *proof)
{
    (void)fputs("{\"backend\":", out);
    tc_cli_json_string(out, proof->backend);
    (void)fprintf(out, ",\"proven\":%s,\"attacks\":[", proven(proof) ? "true" : "false");
    for (size_t i = 0; i < tc_attack_count; i++) {
        const struct row *row = &proof->rows[i];
        (void)fputs(i ? ",{\"attack\":" : "{\"attack\":", out);
        tc_cli_json_string(out, tc_attacks[i].operands);
        (void)fprintf(out, ",\"clause\":\"%s\",\"result\":\"%s\",\"by\":", tc_attacks[i].clause,
                      spelled[row->finding]);
        tc_cli_json_string(out, row->by ? row->by : "");
        (void)fputc('}', out);
    }
    (void)fputc(']', out);
    for (size_t i = 0; i < FINDINGS; i++)
        (void)fprintf(out, ",\"%s\":%zu", spelled[i], proof->counts[i]);
    (void)fputs("}\n", out);
}

/* For policies with `proved`. */
static void record_proof(const struct proof *proof)
{
    const struct tc_proof record = {.at = (int64_t)time(NULL),
                                    .attacks = (int)tc_attack_count,
                                    .stopped = (int)proof->counts[STOPPED]};
    if (!proven(proof))
        return;
    if (!proof->host || tc_proof_record(proof->backend, proof->host, &record) < 0)
        tc_cli_say("the outcome cannot be stored, so calls of a policy with proved = true are "
                   "refused: %s",
                   errno == ESTALE ? "the host changed during the attacks" : strerror(errno));
}

static int print_proof(const struct tc_args *args, const struct proof *proof)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return tc_cli_no_memory();
    if (tc_args_has(args, "json"))
        put_json(out, proof);
    else
        put_table(out, proof);
    enum tc_paint paint = tc_args_has(args, "json") ? TC_PAINT_NOTHING : TC_PAINT_ROWS;
    int rc = tc_cli_print_text(paint, out, &all);
    return rc ? rc : proven(proof) ? 0 : TC_EXIT_UNPROVEN;
}

/* ---- the verb ---- */

/* Two tools: one without grants, and one with a workspace. */
static int compile_policy(struct proof *proof, struct toolcage_error **err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return TOOLCAGE_EMEMORY;
    for (int workspace = 0; workspace < 2; workspace++) {
        (void)fprintf(out, "[tool.%s]\nbackend = ", workspace ? "workspace" : "strict");
        tc_cli_json_string(out, proof->backend);
        (void)fputs("\nimage = \"system\"\nnetwork = \"none\"\ntimeout = \"10s\"\ngrace = "
                    "\"200ms\"\npids = 64\n"
                    "memory = { max = \"256MiB\", by = \"any\" }\nfilesystem.readable = [",
                    out);
        tc_cli_json_string(out, proof->program);
        (void)fputs("]\n", out);
        if (!workspace)
            continue;
        (void)fprintf(out, "filesystem.writable = [\"%s\"]\nfilesystem.denied = [\"%s/.env\"]\n",
                      proof->decoys.work, proof->decoys.work);
    }
    int rc = fclose(out) ? TOOLCAGE_EMEMORY
                         : toolcage_policy_load_buffer(text, size, "/doctor", &proof->policy, err);
    free(text);
    return rc;
}

static int open_proof(struct proof *proof, struct tc_failure *failure)
{
    struct toolcage_error **err = tc_failure_error(failure);
    if (find_program(proof, failure))
        return -1;
    if (tc_decoys_open(&proof->decoys))
        return tc_failure_set(failure, TOOLCAGE_ESYSTEM, "make room in /var/tmp or /tmp",
                              "cannot make the decoys that attacks are aimed at: %s",
                              strerror(errno));
    proof->rows = calloc(tc_attack_count, sizeof(*proof->rows));
    if (!proof->rows || chdir("/"))
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return toolcage_engine_new(&proof->engine, err) || compile_policy(proof, err) ? -1 : 0;
}

static int try_all(const struct tc_args *args, struct proof *proof)
{
    proof->host = tc_proof_begin(proof->backend);
    bool counts = tc_cli_draws(STDERR_FILENO) && !tc_args_has(args, "json");
    for (size_t i = 0; i < tc_attack_count && !interrupted; i++) {
        if (counts)
            (void)dprintf(STDERR_FILENO, "\r\033[K%zu/%zu %s", i + 1, tc_attack_count,
                          tc_attacks[i].operands);
        proof->rows[i] = try_attack(proof, &tc_attacks[i]);
        proof->counts[proof->rows[i].finding]++;
    }
    if (counts)
        (void)dprintf(STDERR_FILENO, "\r\033[K");
    if (interrupted)
        return TC_EXIT_SIGNAL + interrupted;
    record_proof(proof);
    return print_proof(args, proof);
}

static void close_proof(struct proof *proof)
{
    (void)toolcage_policy_unref(proof->policy);
    (void)toolcage_engine_unref(proof->engine);
    for (size_t i = 0; proof->rows && i < tc_attack_count; i++)
        free(proof->rows[i].by);
    free(proof->rows);
    free(proof->host);
    tc_decoys_done(&proof->decoys);
}

int tc_prove(const struct tc_args *args, struct tc_failure *failure)
{
    const char *backend = tc_args_value(args, "backend");
    struct proof proof = {.backend = backend ? backend : "process",
                          .decoys = {.inherited = -1, .listeners = {-1, -1, -1, -1}}};
    catch_signals();
    int rc =
        open_proof(&proof, failure) ? tc_failure_tell(failure, args, NULL) : try_all(args, &proof);
    close_proof(&proof);
    return rc;
}
