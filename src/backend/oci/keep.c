/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The process around runsc. It holds nothing but what the runtime holds, and the report socket: the
 * helper hangs up there when our PID 1 in the container has connected, before it may run the tool.
 * It takes one connection, so of several containers one at most runs a tool. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/oci/platform.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sys.h"
#include "cage/box.h"

enum { STUCK_MS = 2000 }; /* that the kernel may take to end what was killed */

static bool answered(void)
{
    struct pollfd report = {.fd = TC_BOX_REPORT};
    return poll(&report, 1, 0) > 0;
}

/* What runsc says of its own accord stays in a pipe until somebody has answered, and goes with it
 * when nobody does. As read(2); what nobody takes is dropped. */
static ssize_t pass_on(int from)
{
    char bytes[4096];
    ssize_t n = from < 0 ? 0 : read(from, bytes, sizeof(bytes)), done = 0, w = 0;
    while (done < n && (w >= 0 || errno == EINTR)) {
        w = write(STDERR_FILENO, bytes + done, (size_t)(n - done));
        done += w > 0 ? w : 0;
    }
    return n;
}

/* Until it ends: true; or until the time is over and nobody has answered. */
static bool ends(int pidfd, int limit_ms, int words)
{
    struct pollfd all[] = {
        {.fd = pidfd, .events = POLLIN}, {.fd = TC_BOX_REPORT}, {.fd = -1, .events = POLLIN}};
    int64_t until = tc_now_us() + (int64_t)limit_ms * 1000;
    while (!(all[0].revents & POLLIN)) {
        int64_t left = (until - tc_now_us() + 999) / 1000;
        int n = poll(all, TC_COUNT(all), limit_ms < 0 ? -1 : left > 0 ? (int)left : 0);
        if (n == 0 && limit_ms >= 0)
            return false;
        if (n <= 0)
            continue;
        if (all[2].revents && pass_on(words) == 0)
            all[2].fd = -1;
        if (all[1].revents) {
            all[1].fd = limit_ms = -1;
            all[2].fd = words;
        }
    }
    return true;
}

/* Where this platform's log goes. */
static const char *log_of(const char *platform)
{
    static char path[64];
    (void)snprintf(path, sizeof(path), TC_OCI_BUNDLE "/%s", platform);
    return path;
}

static void say_silent(const char *platform)
{
    char line[64];
    _autofd_ int log = open(log_of(platform), O_WRONLY | O_APPEND | O_CLOEXEC);
    int n =
        snprintf(line, sizeof(line), "it did not answer within %d s\n", TC_OCI_ANSWER_MS / 1000);
    if (log >= 0 && write(log, line, (size_t)n) < 0)
        return; /* then it is told without */
}

/* The runtime's own words, and in their places the platform, its log, and a name for the container:
 * one that failed has left something of its own. */
static pid_t begin(char **command, const char *platform, int words)
{
    char option[64], log[80];
    pid_t pid = fork();
    if (pid)
        return pid;
    if (words >= 0 && dup2(words, STDERR_FILENO) < 0)
        _exit(127);
    (void)snprintf(option, sizeof(option), "--platform=%s", platform);
    (void)snprintf(log, sizeof(log), "--log=%s", log_of(platform));
    for (char **word = command; *word; word++) {
        if (strcmp(*word, "-") == 0)
            *word = option;
        else if (strncmp(*word, "--log=", strlen("--log=")) == 0)
            *word = log;
        else if (!word[1])
            *word = (char *)(uintptr_t)platform;
    }
    (void)execv(command[0], command);
    _exit(127);
}

/* Its exit code; -1: nobody answered, and nothing of it runs any more. */
static int try(char **command, const char *platform, bool last)
{
    int status = 0, pair[2] = {-1, -1};
    if (!last && pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
        _exit(127);
    if (!last)
        (void)fcntl(pair[1], F_SETFL, 0);
    pid_t pid = begin(command, platform, pair[1]);
    _autofd_ int words = pair[0], pidfd = pid < 0 ? -1 : tc_pidfd_open(pid);
    if (pair[1] >= 0)
        (void)close(pair[1]);
    if (pidfd < 0)
        _exit(127);
    bool limited = strcmp(platform, TC_OCI_PTRACE) != 0;
    bool ended = ends(pidfd, limited ? TC_OCI_ANSWER_MS : -1, words);
    if (ended && answered()) {
        while (pass_on(words) > 0)
            ;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (!ended)
        say_silent(platform);
    (void)kill(-1, SIGKILL);
    (void)poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, STUCK_MS);
    return -1;
}

void tc_oci_keep_main(char **argv)
{
    char **platform = argv + 1, **command = platform;
    while (*command && strcmp(*command, "--") != 0)
        command++;
    if (!*command || fcntl(TC_BOX_REPORT, F_SETFD, FD_CLOEXEC) < 0)
        _exit(127);
    *command++ = NULL;
    for (int code; *platform; platform++) {
        if ((code = try(command, *platform, !platform[1])) >= 0)
            _exit(code);
        if (!platform[1])
            break;
        _autofd_ int failed = open(TC_OCI_FAILED, O_WRONLY | O_CLOEXEC);
        if (failed < 0 || write(failed, "1", 1) != 1)
            break;
    }
    _exit(127);
}
