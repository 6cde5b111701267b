/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The supported container runtimes, and the command of each to run one container in the foreground.
 */
#include "backend/oci/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "base/strv.h"
#include "base/sys.h"

/* No runtime creates cgroups: the helper manages them. */
static const char *const crun_options[] = {"--cgroup-manager=disabled",
                                           "--root=" TC_OCI_STATE,
                                           "--log=" TC_OCI_LOG,
                                           "run",
                                           "--preserve-fds=1",
                                           "--bundle=" TC_OCI_BUNDLE,
                                           NULL};
static const char *const runc_options[] = {
    "--root=" TC_OCI_STATE, "--log=" TC_OCI_LOG,       "run", "--preserve-fds=1",
    "--no-new-keyring",     "--bundle=" TC_OCI_BUNDLE, NULL};

static const char *const runsc_options[] = {"--rootless",
                                            "--ignore-cgroups",
                                            "--host-uds=open",
                                            "--root=" TC_OCI_STATE,
                                            "--log=" TC_OCI_LOG,
                                            "run",
                                            "--user-log=" TC_OCI_BUNDLE "/" TC_OCI_LACKED,
                                            "--bundle=" TC_OCI_BUNDLE,
                                            NULL};

static const struct tc_oci_runtime runtimes[] = {
    {"crun", TC_OCI_KERNEL, crun_options, true, true, 4 << 20, 1},
    {"runc", TC_OCI_KERNEL, runc_options, false, false, 24 << 20, 24},
    {"runsc", TC_OCI_SENTRY, runsc_options, false, false, 40 << 20, 256},
};

static const char *const places[] = {"/usr/bin",        "/usr/sbin", "/usr/local/bin",
                                     "/usr/local/sbin", "/bin",      "/sbin"};

static bool runs(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The path of a runtime in the usual directories; NULL with errno. */
static char *look_for_runtime(const char *name)
{
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        char *path = tc_format("%s/%s", places[i], name);
        if (!path || runs(path))
            return path;
        free(path);
    }
    errno = ENOENT;
    return NULL;
}

const struct tc_oci_runtime *tc_oci_find(enum tc_oci_kind kind, const char *wish, char **ret_path)
{
    const char *base = wish ? tc_path_base(wish) : NULL;
    errno = ENOENT;
    for (size_t i = 0; i < TC_COUNT(runtimes); i++) {
        const struct tc_oci_runtime *r = &runtimes[i];
        if (r->kind != kind || (base && strcmp(base, r->name) != 0))
            continue;
        if (!wish || wish[0] != '/')
            *ret_path = look_for_runtime(r->name);
        else
            *ret_path = runs(wish) ? strdup(wish) : NULL;
        if (*ret_path)
            return r;
    }
    return NULL;
}

void tc_oci_command(const struct tc_oci_runtime *runtime, const char *path, const char **ret)
{
    *ret++ = path;
    for (const char *const *word = runtime->words; *word; word++)
        *ret++ = *word;
    *ret++ = "cage";
    *ret = NULL;
}

const char *tc_oci_names(enum tc_oci_kind kind)
{
    return kind == TC_OCI_SENTRY ? "runsc" : "crun or runc";
}

/* ---- the runtime's version ---- */

/* Short: the query has already run as long as a whole container. */
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
        /* a process that waits in the kernel is left to it: the event loop must not wait */
        (void)poll(&ended, 1, LAST_MS);
        (void)waitpid(asked->pid, NULL, WNOHANG);
    }
    if (asked->pidfd >= 0)
        (void)close(asked->pidfd);
    if (asked->out >= 0)
        (void)close(asked->out);
    *asked = TC_OCI_NOT_ASKED;
    return version;
}
