/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "spawn/spawn.h"
#include "spawn/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "base/sys.h"

#define SEARCH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum { KERNEL_SIGSET = 8, INTERPRETER_MAX = 256, SCRIPTS_MAX = 5 };

/* ---- the program ---- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && eaccess(path, X_OK) == 0;
}

/* The interpreter in a script's first line; "" if there is none. */
static void read_interpreter(const char *path, char ret[INTERPRETER_MAX])
{
    char line[INTERPRETER_MAX];
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
    ret[0] = line[n < 0 ? 0 : n] = '\0';
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return;
    const char *at = line + 2 + strspn(line + 2, " \t");
    size_t length = strcspn(at, " \t\n");
    memcpy(ret, at, length);
    ret[length] = '\0';
}

/* Returns the path if the program may be run; NULL with errno. Follows interpreters that are
 * scripts as far as the kernel does. */
static char *judge_program(struct tc_provenance *writers, const char *path)
{
    char at[PATH_MAX], interpreter[INTERPRETER_MAX];
    errno = ENOENT;
    if (!is_program(path) || strlen(path) >= sizeof(at))
        return NULL;
    tc_strcopy(at, sizeof(at), path);
    for (int i = 0; i < SCRIPTS_MAX && at[0] == '/'; i++) {
        if (tc_provenance_tool(writers, at)) {
            errno = EPERM;
            return NULL;
        }
        read_interpreter(at, interpreter);
        tc_strcopy(at, sizeof(at), interpreter);
    }
    return strdup(path);
}

char *tc_spawn_find(struct tc_provenance *writers, const char *name)
{
    if (name[0] == '/')
        return judge_program(writers, name);
    _autofree_ char *search = strdup(SEARCH);
    char *rest = search;
    int errnum = search ? ENOENT : ENOMEM;
    for (char *dir; !strchr(name, '/') && search && (dir = strsep(&rest, ":"));) {
        _autofree_ char *path = tc_path_join(dir, name);
        char *found = path ? judge_program(writers, path) : NULL;
        if (found)
            return found;
        errnum = !path ? ENOMEM : errno == ENOENT ? errnum : errno;
    }
    errno = errnum;
    return NULL;
}

/* ---- its environment ---- */

static bool is_passed(const char *pair)
{
    static const char *const passed[] = {
        /* the user and the directories */
        "HOME", "USER", "LOGNAME", "TZ", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
        "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
        /* logins and keys */
        "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "GNUPGHOME", "GPG_TTY", "PASSWORD_STORE_DIR",
        "DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "CONTAINERS_STORAGE_CONF",
        /* network access */
        "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST",
        "PIP_PROXY", "PIP_CERT", "PIP_CLIENT_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES",
        "PIP_FIND_LINKS", "PIP_NO_INDEX"};
    for (size_t i = 0; i < TC_COUNT(passed); i++) {
        size_t n = strlen(passed[i]);
        if (strncmp(pair, passed[i], n) == 0 && pair[n] == '=')
            return true;
    }
    return false;
}

bool tc_spawn_environment(struct tc_strv *ret)
{
    bool fine = tc_strv_add(ret, "PATH=" SEARCH) && tc_strv_add(ret, "LC_ALL=C.UTF-8");
    for (char **pair = environ; fine && pair && *pair; pair++)
        fine = !is_passed(*pair) || tc_strv_add(ret, *pair);
    return fine;
}

/* ---- in the child ---- */

void tc_spawn_reset_signals(void)
{
    struct sigaction fresh = {.sa_handler = SIG_DFL};
    for (int sig = 1; sig < NSIG; sig++)
        (void)sigaction(sig, &fresh, NULL);
}

int tc_spawn_become(const struct tc_spawn *s)
{
    uint64_t none = 0;
    tc_spawn_reset_signals();
    int in = s->in >= 0 ? s->in : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (dup2(in, STDIN_FILENO) >= 0 &&
        dup2(s->out >= 0 ? s->out : STDERR_FILENO, STDOUT_FILENO) >= 0 && chdir("/") == 0 &&
        tc_close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
        (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, KERNEL_SIGSET);
        (void)execve(s->path, s->argv, s->env);
    }
    return errno;
}

static int await(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int tc_spawn_run(const char *name, const char *const *words)
{
    _autostrv_ struct tc_strv argv = {0}, env = {0};
    _autoprovenance_ struct tc_provenance writers;
    bool fine = tc_provenance_here(&writers, NULL, NULL) && tc_spawn_environment(&env) &&
                tc_strv_add(&argv, name);
    for (; fine && *words; words++)
        fine = tc_strv_add(&argv, *words);
    errno = ENOMEM;
    _autofree_ char *path = fine ? tc_spawn_find(&writers, name) : NULL;
    if (!path)
        return -1;
    const struct tc_spawn s = {
        .path = path, .argv = argv.items, .env = env.items, .in = -1, .out = -1};
    pid_t pid = fork();
    if (pid == 0) {
        (void)tc_spawn_become(&s);
        _exit(127);
    }
    return pid < 0 ? -1 : await(pid);
}

int tc_spawn_turn_into(const char *path, int in)
{
    _autostrv_ struct tc_strv env = {0};
    _autoprovenance_ struct tc_provenance writers;
    char *argv[] = {(char *)(uintptr_t)path, NULL};
    if (!tc_provenance_here(&writers, NULL, NULL) || !tc_spawn_environment(&env))
        return ENOMEM;
    _autofree_ char *found = tc_spawn_find(&writers, path);
    return found ? tc_spawn_become(&(struct tc_spawn){
                       .path = found, .argv = argv, .env = env.items, .in = in, .out = -1})
                 : errno;
}
