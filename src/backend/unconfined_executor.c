/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * No boundary: runs the command with the caller's rights. The attack tests use it to prove that an
 * attack works without a cage. */
#include "backend/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/sys.h"

struct plain {
    pid_t pid;
    int pidfd, out, err, in;
    int64_t cpu_us, max_rss;
    bool reaped;
};

#define PLAIN(cage) ((struct plain *)(cage)->priv)

static int make_unconfined(struct tc_cage *cage)
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
    int out[2], err[2];
    p->in = cage->stdin_fd >= 0 ? TAKE_FD(cage->stdin_fd) : tc_open_null();
    if (p->in < 0 || pipe2(out, O_CLOEXEC) < 0)
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

/* Runs in the child; never returns. */
static void exec_unconfined(const struct tc_plan *plan)
{
    for (size_t i = 0; i < plan->cwd.count; i++)
        if (chdir(plan->cwd.items[i]) == 0)
            break;
    (void)umask((mode_t)plan->umask & 0777);
    environ = plan->env.items;
    (void)execvp(plan->argv.items[0], plan->argv.items);
    _exit(errno == ENOENT ? 127 : 126);
}

static int start_unconfined(struct tc_cage *cage)
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
        exec_unconfined(cage->plan);
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

static void end_unconfined(struct tc_cage *cage, bool at_once)
{
    struct plain *p = PLAIN(cage);
    if (p->pid > 0 && !p->reaped) /* setsid() gave the child its own process group, with the child's
                                     pid as number */
        (void)kill(-p->pid, at_once ? SIGKILL : SIGTERM);
}

static void reap_unconfined(struct tc_cage *cage)
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

static const char *usage_of_unconfined(struct tc_cage *cage)
{
    cage->outcome->cpu_us = PLAIN(cage)->cpu_us;
    cage->outcome->memory_peak = PLAIN(cage)->max_rss;
    cage->outcome->pids_peak = -1;
    return NULL;
}

static bool destroy(struct tc_cage *cage, enum tc_may_block may_block)
{
    struct plain *p = PLAIN(cage);
    (void)may_block;
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

const struct tc_executor tc_unconfined_executor = {
    .name = "not-a-security-boundary",
    .make = make_unconfined,
    .start = start_unconfined,
    .signal = end_unconfined,
    .reap = reap_unconfined,
    .usage = usage_of_unconfined,
    .destroy = destroy,
};
