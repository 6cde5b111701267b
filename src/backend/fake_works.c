/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The two backends that are no boundary, for tests: "fake" plays the script in the command line,
 * "not-a-security-boundary" runs the command as the caller itself would, which is how the attack
 * tests prove that an attack works where there is no cage. */
#include "backend/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "base/sys.h"

struct plain {
    pid_t pid;
    int pidfd, out, err, in;
    int64_t cpu_us, max_rss;
    bool reaped;
};

#define PLAIN(cage) ((struct plain *)(cage)->priv)

static int make(struct tc_cage *cage)
{
    struct plain *p = calloc(1, sizeof(*p));
    if (!p)
        return tc_cage_fail_memory(cage, "prepare");
    *p = (struct plain){.pidfd = -1, .out = -1, .err = -1, .in = -1};
    cage->priv = p;
    return 0;
}

static int open_streams(struct tc_cage *cage)
{
    struct plain *p = PLAIN(cage);
    int in[2], out[2], err[2];
    if (cage->stdin_fd < 0) {
        if (pipe2(in, O_CLOEXEC) < 0)
            return -1;
        (void)close(in[1]);
        cage->stdin_fd = in[0];
    }
    p->in = TAKE_FD(cage->stdin_fd);
    if (pipe2(out, O_CLOEXEC) < 0)
        return -1;
    cage->out_fd = out[0];
    p->out = out[1];
    if (pipe2(err, O_CLOEXEC) < 0)
        return -1;
    cage->err_fd = err[0];
    p->err = err[1];
    (void)fcntl(cage->out_fd, F_SETFL, O_NONBLOCK);
    return fcntl(cage->err_fd, F_SETFL, O_NONBLOCK);
}

/* The child of either backend; never returns. */
typedef void (*play_fn)(const struct tc_plan *plan);

static int start_with(struct tc_cage *cage, play_fn play)
{
    struct plain *p = PLAIN(cage);
    if (open_streams(cage) < 0)
        return tc_cage_fail(cage, &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .errnum = errno}, -1,
                            "cannot make pipes");
    p->pid = tc_fork(&p->pidfd);
    if (p->pid == 0) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)setsid();
        if (dup2(p->in, 0) < 0 || dup2(p->out, 1) < 0 || dup2(p->err, 2) < 0)
            _exit(126);
        play(cage->plan);
        _exit(127);
    }
    if (p->pid < 0)
        return tc_cage_fail(cage, &(struct tc_why){.code = TOOLCAGE_ESYSTEM, .errnum = errno}, -1,
                            "cannot start a process");
    int *ends[] = {&p->in, &p->out, &p->err};
    for (size_t i = 0; i < TC_COUNT(ends); i++)
        (void)close(TAKE_FD(*ends[i]));
    cage->exit_fd = p->pidfd;
    cage->running = true;
    return 0;
}

static const char *setting(const struct tc_plan *plan, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 1; i < plan->argv.count; i++)
        if (strncmp(plan->argv.items[i], name, n) == 0)
            return plan->argv.items[i] + n;
    return NULL;
}

static bool is_word(const struct tc_plan *plan, const char *word)
{
    return strcmp(plan->argv.items[0], word) == 0;
}

static void play_script(const struct tc_plan *plan)
{
    const char *out = setting(plan, "stdout="), *err = setting(plan, "stderr=");
    const char *sleep_ms = setting(plan, "sleep_ms="), *code = setting(plan, "exit=");
    long ms = sleep_ms ? strtol(sleep_ms, NULL, 10) : 0;
    struct timespec pause_for = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    if (out)
        (void)tc_write_all(1, out, strlen(out));
    if (err)
        (void)tc_write_all(2, err, strlen(err));
    (void)nanosleep(&pause_for, NULL);
    while (is_word(plan, "hang") || is_word(plan, "timeout"))
        (void)pause();
    _exit(code ? (int)strtol(code, NULL, 10) : is_word(plan, "ok") ? 0 : 1);
}

static void play_command(const struct tc_plan *plan)
{
    for (size_t i = 0; i < plan->cwd.count; i++)
        if (chdir(plan->cwd.items[i]) == 0)
            break;
    environ = plan->env.items;
    (void)execvp(plan->argv.items[0], plan->argv.items);
    _exit(errno == ENOENT ? 127 : 126);
}

static int start_fake(struct tc_cage *cage)
{
    return start_with(cage, play_script);
}

static int start_unconfined(struct tc_cage *cage)
{
    return start_with(cage, play_command);
}

static void end(struct tc_cage *cage, bool at_once)
{
    struct plain *p = PLAIN(cage);
    if (p->pid > 0 && !p->reaped) /* a session of its own, so its group has its number */
        (void)kill(-p->pid, at_once ? SIGKILL : SIGTERM);
}

static void reap(struct tc_cage *cage)
{
    struct plain *p = PLAIN(cage);
    struct rusage usage = {0};
    int status = 0;
    while (wait4(p->pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    (void)kill(-p->pid, SIGKILL);
    p->reaped = true;
    cage->exit_fd = -1;
    p->cpu_us = ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    p->max_rss = (int64_t)usage.ru_maxrss * 1024;
    cage->outcome->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    cage->outcome->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static const char *usage_plain(struct tc_cage *cage)
{
    cage->outcome->cpu_us = PLAIN(cage)->cpu_us;
    cage->outcome->memory_peak = PLAIN(cage)->max_rss;
    cage->outcome->pids_peak = -1;
    return NULL;
}

static const char *usage_fake(struct tc_cage *cage)
{
    (void)usage_plain(cage);
    const char *limit = setting(cage->plan, "limit=");
    return is_word(cage->plan, "limit") ? (limit ? limit : "memory") : NULL;
}

static bool destroy(struct tc_cage *cage, enum tc_pace pace)
{
    struct plain *p = PLAIN(cage);
    (void)pace;
    tc_cage_close_streams(cage);
    if (!p)
        return true;
    int own[] = {p->pidfd, p->in, p->out, p->err};
    for (size_t i = 0; i < TC_COUNT(own); i++)
        if (own[i] >= 0)
            (void)close(own[i]);
    free(p);
    cage->priv = NULL;
    return true;
}

#define PLAIN_SLOTS .make = make, .signal = end, .reap = reap, .destroy = destroy

const struct tc_works tc_fake_works = {
    .name = "fake", .start = start_fake, .usage = usage_fake, PLAIN_SLOTS};
const struct tc_works tc_unconfined_works = {.name = "not-a-security-boundary",
                                             .start = start_unconfined,
                                             .usage = usage_plain,
                                             PLAIN_SLOTS};
