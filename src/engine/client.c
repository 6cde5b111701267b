/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs containers in containerd through ctr, its own client. One `ctr run` creates the container,
 * starts it, waits for its end and removes it, and continues to do so if this process is killed.
 * Further ctr commands then check that nothing is left. ctr's output is used only for messages and
 * for names of toolcage's containers, which are checked again; the tool's permissions do not depend
 * on it. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "base/sys.h"
#include "engine/life.h"

#define NAMESPACE "toolcage"
#define NAME_BEGIN "toolcage-"

enum { ATTACHED };
enum { WORDS_MAX = 32, SAID_MAX = 16384, AFTERWARDS_MS = 5000, SWEEP_MAX = 100 };
enum { TRIES = 6, WAIT_MS = 50 }; /* to remove a container */

struct client {
    const struct tc_engine_config *config;
    int spec;
    char address[32], spec_path[32];
};

/* One ctr process. */
struct run {
    pid_t pid;
    int pidfd, out;
    struct tc_buf said; /* the start of its output */
};

/* ---- one ctr process ---- */

/* ctr opens the engine's socket and the container's spec through inherited fds. */
static _Noreturn void become(const struct client *c, char **argv, const int streams[3])
{
    static char *envp[] = {NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i <= 2; i++)
        if (null < 0 || dup2(streams[i] >= 0 ? streams[i] : null, i) != i)
            _exit(127);
    (void)signal(SIGPIPE, SIG_DFL);
    if (fcntl(c->config->socket, F_SETFD, 0) == 0 && fcntl(c->spec, F_SETFD, 0) == 0)
        (void)execve(argv[0], argv, envp);
    _exit(127);
}

/* which: read ctr's stdout (1) or stderr (2); or ATTACHED: read neither, ctr gets the container's
 * streams. */
static bool begin_run(const struct client *c, const char *const *arguments, int which,
                      struct run *ret)
{
    char patience[32];
    const char *argv[WORDS_MAX] = {c->config->client, "--address", c->address,
                                   "--namespace",     NAMESPACE,   "--connect-timeout",
                                   patience};
    size_t count = 7;
    int pair[2];
    (void)snprintf(patience, sizeof(patience), "%dms", (int)c->config->patience_ms);
    while (*arguments && count + 1 < WORDS_MAX)
        argv[count++] = *arguments++;
    *ret = (struct run){.pidfd = -1, .out = -1, .said = {.max = SAID_MAX}};
    if (*arguments || pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    ret->pid = tc_fork(&ret->pidfd);
    if (ret->pid == 0) {
        const int attached[3] = {c->config->port, c->config->port, c->config->console};
        const int read[3] = {-1, which == 1 ? pair[1] : -1, which == 2 ? pair[1] : -1};
        become(c, (char **)(uintptr_t)argv, which == ATTACHED ? attached : read);
    }
    (void)close(pair[1]);
    ret->out = pair[0];
    return ret->pid > 0;
}

/* Reads everything, so that ctr never blocks; output over SAID_MAX is discarded. */
static bool drain(struct run *r)
{
    char bytes[4096];
    ssize_t n;
    while ((n = read(r->out, bytes, sizeof(bytes))) > 0)
        if (r->said.len + (size_t)n < SAID_MAX)
            tc_buf_add(&r->said, bytes, (size_t)n);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Waits until ctr exits or the time is over (0: no limit). After a hangup, ctr gets AFTERWARDS_MS
 * at most. The exit code, or -1: ctr was killed. */
static int finish_run(struct run *r, int patience_ms, int hangup)
{
    int64_t until = patience_ms ? tc_now_us() + (int64_t)patience_ms * 1000 : INT64_MAX;
    struct pollfd p[] = {{r->pidfd, POLLIN, 0}, {r->out, POLLIN, 0}, {hangup, POLLIN, 0}};
    int status = 0;
    while (!p[0].revents) {
        int64_t left = until == INT64_MAX ? -1 : (until - tc_now_us() + 999) / 1000;
        if (until != INT64_MAX && left <= 0)
            break;
        if (poll(p, TC_COUNT(p), (int)left) < 0 && errno != EINTR)
            break;
        if (p[1].revents && !drain(r))
            p[1].fd = -1;
        if (p[2].revents) {
            int64_t last = tc_now_us() + (int64_t)AFTERWARDS_MS * 1000;
            until = until < last ? until : last;
            p[2].fd = -1;
        }
    }
    bool ended = p[0].revents;
    (void)drain(r);
    if (!ended)
        (void)kill(r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)close(r->pidfd);
    (void)close(r->out);
    return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs a short command. The exit code; -1: failed or too slow. */
static int run_short(const struct client *c, const char *const *arguments, int which,
                     char **ret_said)
{
    struct run r;
    int code =
        begin_run(c, arguments, which, &r) ? finish_run(&r, (int)c->config->patience_ms, -1) : -1;
    if (ret_said)
        *ret_said = tc_buf_steal(&r.said);
    tc_buf_done(&r.said);
    return code;
}

/* ---- the container ---- */

/* ctr prints the cause on its last line. */
static const char *last_line(char *said)
{
    size_t n = said ? strlen(said) : 0;
    while (n && (unsigned char)said[n - 1] <= ' ')
        said[--n] = '\0';
    const char *line = n ? strrchr(said, '\n') : NULL;
    line = line ? line + 1 : n ? said : "ctr ended without a message";
    return strncmp(line, "ctr: ", 5) == 0 ? line + 5 : line;
}

/* Closes this process's copies, so that their readers get an end of file when the container exits.
 */
static void let_go(const struct client *c)
{
    (void)close(c->config->port);
    (void)close(c->config->console);
}

/* Runs the container from its creation to its removal. ctr exits with PID 1's exit code, but PID 1
 * has reported the tool's end itself. When attached, ctr's own errors appear on the console. */
static void run_container(const struct client *c)
{
    const struct tc_engine_config *config = c->config;
    const char *arguments[WORDS_MAX] = {"run",        "--rm",    "--config",
                                        c->spec_path, "--label", config->label};
    bool attached = config->port >= 0;
    size_t count = 6;
    struct run r;
    if (attached) {
        arguments[count++] = "--fifo-dir";
        arguments[count++] = config->fifos;
    } else {
        arguments[count++] = "--null-io";
    }
    if (config->runtime && config->runtime[0]) {
        arguments[count++] = attached ? "--runtime" : "--runc-binary";
        arguments[count++] = config->runtime;
    }
    arguments[count++] = config->name;
    bool began = begin_run(c, arguments, attached ? ATTACHED : 2, &r);
    if (attached)
        let_go(c);
    int code = began ? finish_run(&r, 0, TC_ENGINE_CONTROL) : -1;
    _autofree_ char *said = tc_buf_steal(&r.said);
    if (code != 0 && (!began || !attached))
        tc_engine_say(TC_ENGINE_FAILED, last_line(said));
    tc_buf_done(&r.said);
}

/* 1, 0, or -1 with *ret_why, owned. */
static int is_there(const struct client *c, char **ret_why)
{
    _autofree_ char *filter = tc_format("id==%s", c->config->name);
    const char *const arguments[] = {"containers", "list", "-q", filter, NULL};
    _autofree_ char *said = NULL;
    int code = filter ? run_short(c, arguments, 1, &said) : -1;
    if (code == 0)
        return said && strstr(said, c->config->name);
    free(*ret_why);
    *ret_why = strdup("ctr does not report whether the container exists");
    return -1;
}

/* PID 1 is killed by a separate command, and its end ends all other processes: without cgroups,
 * runc cannot kill all processes at once, as the delete command wants, and would delete nothing.
 * PID 1 takes a moment to exit. */
static void remove_container(const struct client *c)
{
    const char *const stop[] = {"tasks", "kill", "--signal", "SIGKILL", c->config->name, NULL};
    const char *const end[] = {"tasks", "delete", "--force", c->config->name, NULL};
    const char *const remove[] = {"containers", "delete", c->config->name, NULL};
    _autofree_ char *why = NULL;
    int there = is_there(c, &why);
    for (int i = 0; i < TRIES && there != 0; i++) {
        _autofree_ char *said = NULL;
        (void)run_short(c, stop, 2, NULL); /* it may have exited */
        (void)usleep(i ? (WAIT_MS * 1000U) << i : 0);
        (void)run_short(c, end, 2, NULL);
        if (run_short(c, remove, 2, &said) != 0) {
            free(why);
            why = strdup(last_line(said));
        }
        there = is_there(c, &why);
    }
    tc_engine_say(there == 0 ? TC_ENGINE_GONE : TC_ENGINE_LEFT, there == 0 ? "" : why ? why : "");
}

/* ---- leftover containers ---- */

/* Does toolcage use this name, with a ULID older than any start takes? */
static bool is_left(const struct client *c, const char *name)
{
    static const char digits[] = TC_ULID_DIGITS;
    const size_t begin = sizeof(NAME_BEGIN) - 1;
    char id[TC_ULID_SIZE];
    int64_t ms = 0;
    if (strncmp(name, NAME_BEGIN, begin) != 0 || !tc_ulid_named(name + begin, "", id))
        return false;
    for (size_t i = 0; i < 10; i++)
        ms = ms * 32 + (strchr(digits, id[i]) - digits);
    return ms / 1000 < time(NULL) - c->config->stale_s;
}

/* ctr does not delete a running container, which may belong to a call again. */
static void sweep(const struct client *c)
{
    const char *const list[] = {"containers", "list", "-q", "labels.\"" TC_ENGINE_LABEL "\"", NULL};
    _autofree_ char *said = NULL;
    char *rest = NULL;
    unsigned gone = 0, seen = 0;
    if (run_short(c, list, 1, &said) != 0 || !said)
        return;
    for (char *name = strtok_r(said, "\n", &rest); name && seen < SWEEP_MAX;
         name = strtok_r(NULL, "\n", &rest)) {
        const char *const arguments[] = {"containers", "delete", name, NULL};
        if (!is_left(c, name))
            continue;
        seen++;
        gone += run_short(c, arguments, 2, NULL) == 0;
    }
    _autofree_ char *text = tc_format("%u", gone);
    tc_engine_say(TC_ENGINE_SWEPT, text ? text : "");
}

/* "Server:\n  Version:  1.6.20~ds1\n". ctr does not print the version of runc. */
static bool tell_about(const struct client *c)
{
    static const char server[] = "Server:", version[] = "Version:";
    const char *const arguments[] = {"version", NULL};
    _autofree_ char *said = NULL;
    int code = run_short(c, arguments, 1, &said);
    const char *at = code == 0 && said ? strstr(said, server) : NULL;
    at = at ? strstr(at, version) : NULL;
    if (!at) {
        tc_engine_say(TC_ENGINE_FAILED, "reading the engine's version: ctr printed none");
        return false;
    }
    at += sizeof(version) - 1;
    at += strspn(at, " \t");
    _autofree_ char *text = tc_format("containerd %.*s", (int)strcspn(at, " \t\n"), at);
    tc_engine_say(TC_ENGINE_ABOUT, text ? text : "");
    return true;
}

bool tc_engine_live_by_client(const struct tc_engine_config *config)
{
    struct client c = {.config = config};
    _autofd_ int spec = tc_memfd("engine-spec", config->create, strlen(config->create));
    if (spec < 0)
        return false;
    c.spec = spec;
    (void)snprintf(c.address, sizeof(c.address), "/proc/self/fd/%d", config->socket);
    (void)snprintf(c.spec_path, sizeof(c.spec_path), "/proc/self/fd/%d", spec);
    if (config->about && !tell_about(&c))
        return true;
    run_container(&c);
    remove_container(&c);
    if (config->sweep)
        sweep(&c);
    return true;
}
