/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The runtime shim around runsc. It holds only the runtime's fds and the report socket. The helper
 * shuts that socket down when PID 1 in the container has connected, before PID 1 may run the tool.
 * The helper accepts one connection, so at most one of several containers runs a tool. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/gvisor/runsc.h"
#include "backend/oci/runtime.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/process.h"
#include "base/sys.h"
#include "cage/init_config.h"

enum {
    STUCK_MS = 2000, /* for the kernel to end killed processes */
    LOOK_MS = 200,
    LONGEST_MS = 4 * TC_GVISOR_ANSWER_MS, /* an upper bound on a busy host, too */
};

/* Time up to which CPU contention has been accounted for. */
struct look {
    int64_t at_us, waited_us;
};

static bool answered(void)
{
    struct pollfd report = {.fd = TC_INIT_REPORT};
    return poll(&report, 1, 0) > 0;
}

/* How long, since the last look, this container's processes waited for a CPU. On a busy host
 * everything takes longer, which is not a failure of the platform. */
static int64_t held_up_us(struct look *last)
{
    struct look now = {tc_now_us(), tc_waited_all_us()};
    int64_t passed = now.at_us - last->at_us, more = now.waited_us - last->waited_us;
    *last = now;
    return more < 0 ? 0 : more < passed ? more : passed;
}

/* Waits for the end of runsc: true. If limited, returns false when the time is over and PID 1 has
 * not connected. */
static bool ends(int pidfd, bool limited)
{
    struct pollfd both[] = {{.fd = pidfd, .events = POLLIN}, {.fd = TC_INIT_REPORT}};
    int64_t begun = tc_now_us(), limit = begun + TC_GVISOR_ANSWER_MS * 1000LL;
    struct look last = {.at_us = begun};
    while (!(both[0].revents & POLLIN)) {
        if (poll(both, TC_COUNT(both), limited ? LOOK_MS : -1) > 0 && both[1].revents) {
            both[1].fd = -1;
            limited = false;
        }
        if (!limited)
            continue;
        limit += held_up_us(&last);
        if (last.at_us >= limit || last.at_us >= begun + LONGEST_MS * 1000LL)
            return false;
    }
    return true;
}

/* The log file of this platform. */
static const char *log_of(const char *platform)
{
    static char path[64];
    (void)snprintf(path, sizeof(path), TC_OCI_BUNDLE "/%s", platform);
    return path;
}

static void say_silent(const char *platform)
{
    char line[96];
    _autofd_ int log = open(log_of(platform), O_WRONLY | O_APPEND | O_CLOEXEC);
    int n = snprintf(line, sizeof(line),
                     "it did not answer within %d s, not counting its waits for a CPU\n",
                     TC_GVISOR_ANSWER_MS / 1000);
    if (log >= 0 && write(log, line, (size_t)n) < 0)
        return; /* then the report has no such line */
}

/* Starts runsc with placeholders replaced: the platform, its log, and the container's name. Each
 * attempt needs a new name, because a failed one leaves state behind. */
static pid_t begin_runtime(char **command, const char *platform)
{
    char option[64], log[80];
    pid_t pid = fork();
    if (pid)
        return pid;
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

enum { FAILED = -1, SILENT = -2 };

/* The exit code of runsc; FAILED or SILENT: PID 1 did not connect, and every process of the attempt
 * was killed. */
static int try(char **command, const char *platform)
{
    int status = 0;
    pid_t pid = begin_runtime(command, platform);
    _autofd_ int pidfd = pid < 0 ? -1 : tc_pidfd_open(pid);
    if (pidfd < 0)
        _exit(127);
    bool limited = strcmp(platform, TC_GVISOR_PTRACE) != 0;
    bool ended = ends(pidfd, limited);
    if (ended && answered()) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (!ended)
        say_silent(platform);
    (void)kill(-1, SIGKILL);
    (void)poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, STUCK_MS);
    return ended ? FAILED : SILENT;
}

/* Discards runsc's messages on standard error, which are not the tool's output. Until PID 1
 * connects, they are all still in the pipe, and its owner may open the read end. */
static bool drop_words(void)
{
    char bytes[4096];
    _autofd_ int words = open("/proc/self/fd/2", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (words >= 0 && read(words, bytes, sizeof(bytes)) > 0)
        ;
    return words >= 0;
}

/* runsc sets O_NONBLOCK on the streams that it inherits. The next runsc would take that for the
 * tool's setting, and the tool's reads would fail while no data is available. */
static bool block_again(void)
{
    bool good = true;
    for (int fd = 0; fd < TC_INIT_REPORT; fd++) {
        int flags = fcntl(fd, F_GETFL);
        good = good && flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
    }
    return good;
}

/* Also records how the first platform failed. */
static bool begin_anew(int code)
{
    const char how = code == SILENT ? TC_OCI_SILENT : TC_OCI_BROKEN;
    _autofd_ int failed = open(TC_OCI_FAILED, O_WRONLY | O_CLOEXEC);
    return drop_words() && block_again() && failed >= 0 && write(failed, &how, 1) == 1;
}

/* said[0] is the note about the runtime, said[1] the runtime. */
static char **choose_words(char **said)
{
    static char *words[TC_OCI_WORDS + TC_GVISOR_OPTIONS];
    size_t count = 0;
    if (!said[0] || !said[1])
        _exit(127);
    words[count++] = said[1];
    size_t known = tc_gvisor_options_known(words[0], said[0]);
    for (size_t i = 0; i < known; i++)
        words[count++] = (char *)(uintptr_t)tc_gvisor_options[i];
    for (char **word = said + 2; *word; word++) {
        if (count == TC_COUNT(words) - 1)
            _exit(127);
        words[count++] = *word;
    }
    return words;
}

void tc_gvisor_shim_main(char **argv)
{
    char **platform = argv + 1, **command = platform;
    while (*command && strcmp(*command, "--") != 0)
        command++;
    if (!*command || fcntl(TC_INIT_REPORT, F_SETFD, FD_CLOEXEC) < 0)
        _exit(127);
    *command++ = NULL;
    command = choose_words(command);
    for (int code; *platform; platform++) {
        if ((code = try(command, *platform)) >= 0)
            _exit(code);
        if (!platform[1] || !begin_anew(code))
            break;
    }
    _exit(127);
}
