/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/version.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strv.h"
#include "base/sys.h"

/* By then it has had the time of a whole container. */
enum { LAST_MS = 200, WORDS_MAX = 4096 };

static _Noreturn void become(const char *path, int out)
{
    static char *envp[] = {NULL};
    char option[] = "--version", *argv[] = {(char *)(uintptr_t)path, option, NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 && dup2(null, 2) == 2 &&
        tc_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        (void)execve(path, argv, envp);
    _exit(127);
}

void tc_oci_ask(struct tc_oci_asked *asked, const char *path)
{
    int pair[2];
    *asked = TC_OCI_NOT_ASKED;
    if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    pid_t pid = tc_fork(&asked->pidfd);
    if (pid == 0)
        become(path, pair[1]);
    (void)close(pair[1]);
    asked->out = pair[0];
    asked->pid = pid > 0 ? pid : 0;
}

/* "crun version 1.8.1" */
static char *read_words(int out, const char *name)
{
    char words[WORDS_MAX];
    ssize_t n = read(out, words, sizeof(words) - 1);
    words[n < 0 ? 0 : n] = '\0';
    const char *at = strstr(words, "version ");
    at = at ? at + strlen("version ") : "";
    int len = (int)strspn(at, "0123456789.+-~abcdefghijklmnopqrstuvwxyz");
    return len ? tc_format("%s %.*s", name, len, at) : NULL;
}

char *tc_oci_version(struct tc_oci_asked *asked, const char *name)
{
    char *version = NULL;
    struct pollfd ended = {.fd = asked->pidfd, .events = POLLIN};
    if (asked->pid) {
        if (poll(&ended, 1, LAST_MS) > 0)
            version = read_words(asked->out, name);
        (void)kill(asked->pid, SIGKILL);
        while (waitpid(asked->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (asked->pidfd >= 0)
        (void)close(asked->pidfd);
    if (asked->out >= 0)
        (void)close(asked->out);
    *asked = TC_OCI_NOT_ASKED;
    return version;
}
