/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/engine/order.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cage/cage.h"
#include "cage/stages.h"
#include "engine/engine.h"
#include "policy/clauses.h"
#include "state/stamp.h"
#include "workspace/state.h"

/* Age from which a container that is not running counts as left over. */
enum { STALE_S = 600 };

int tc_engine_fail_start(struct tc_cage *cage, const char *what)
{
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", what, errno,
                                     "`toolcage doctor` shows what this machine lacks"),
                        -1, "cannot make the container's %s", what);
}

int tc_engine_enter(struct tc_cage *cage, const char *engine, struct tc_engine_socket *ret)
{
    struct tc_engine_lack lack = {.text = "the path of its socket is too long",
                                  .hint = "sockets have paths of at most 107 bytes"};
    uid_t uid = geteuid();
    if (tc_engine_socket_path(engine, &cage->plan->settings, uid, ret) &&
        tc_engine_socket_open(engine, uid, ret, &lack))
        return 0;
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "runtime",
                                     lack.subject ? lack.subject : ret->path, lack.errnum,
                                     lack.hint),
                        -1, "%s: %s", engine, lack.text);
}

int tc_engine_find(struct tc_cage *cage, const char *name, int *ret)
{
    const char *lack = NULL;
    *ret = tc_beside(name, &lack);
    if (*ret >= 0)
        return 0;
    return tc_cage_fail(
        cage,
        TC_WHY(TOOLCAGE_EBACKEND, "start", name,
               "reinstall toolcage; its programs are files of root (or your own) with mode 0755"),
        -1, "%s %s", name, lack ? lack : "cannot be opened");
}

/* ---- containerd's containers ---- */

static const char root_part[] = "engine-root";

/* The root is read-only and shared by all calls: every path in it is a mount point. */
static int make_root(int root)
{
    static const char *const directories[] = {"dev", "proc", &TC_ENGINE_OURS[1],
                                              &TC_ENGINE_TALK[1]};
    for (size_t i = 0; i < TC_COUNT(directories); i++)
        if ((mkdirat(root, directories[i], 0755) < 0 && errno != EEXIST) ||
            fchmodat(root, directories[i], 0755, 0) < 0)
            return -1;
    _autofd_ int file =
        openat(root, &TC_ENGINE_INIT[1], O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    return file < 0 ? -1 : 0;
}

/* The engine opens a path, so the path must still be that of our file. */
static int find_program(const char *link, char path[PATH_MAX])
{
    struct stat mine, found;
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0)
        return -1;
    path[n] = '\0';
    if (stat(link, &mine) < 0)
        return -1;
    if (lstat(path, &found) < 0 || mine.st_dev != found.st_dev || mine.st_ino != found.st_ino) {
        errno = ESTALE;
        return -1;
    }
    return 0;
}

/* `program`: a link in /proc to our file. 0, or -1 with errno; ESTALE: the file is no longer at its
 * path. */
static int find_root(const char *program, struct tc_engine_root *ret)
{
    const char *where = "";
    _autofd_ int root = tc_state_open_mode(root_part, 0755, &where);
    if (root < 0 || make_root(root) < 0)
        return -1;
    int n = snprintf(ret->directory, sizeof(ret->directory), "%s/%s", where, root_part);
    errno = ENAMETOOLONG;
    return n < 0 || (size_t)n >= sizeof(ret->directory) ? -1 : find_program(program, ret->program);
}

int tc_engine_take_root(struct tc_cage *cage, const struct tc_engine_socket *socket,
                        const char *program, struct tc_engine_root **ret)
{
    if (!socket->client[0])
        return 0;
    *ret = malloc(sizeof(**ret));
    if (!*ret)
        return tc_cage_fail_memory(cage, "start");
    if (find_root(program, *ret) == 0)
        return 0;
    if (errno != ESTALE)
        return tc_engine_fail_start(cage, "root");
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", "root", ESTALE,
                                     "the helper's program was replaced: make a new engine"),
                        -1, "cannot make the container's root");
}

/* One image per file. The tag is part of request paths, in which dots have a meaning. */
static char *image_tag(int program)
{
    struct stat st;
    char stamp[TC_STAMP_SIZE];
    if (fstat(program, &st) < 0)
        return NULL;
    tc_stamp(&st, stamp);
    for (char *c = stamp; (c = strchr(c, '.'));)
        *c = '-';
    return strdup(stamp);
}

char *tc_engine_order(const struct tc_cage *cage, const struct tc_engine_order *o,
                      struct tc_engine_config *ret)
{
    const char *call = cage->plan->call ? cage->plan->call : o->name;
    *ret = (struct tc_engine_config){.engine = strdup(o->engine),
                                     .repository = strdup(o->repository),
                                     .tag = image_tag(o->program),
                                     .name = tc_format("toolcage-%s", o->name),
                                     .client = strdup(o->socket->client),
                                     .label = tc_format(TC_ENGINE_LABEL "=%s", call),
                                     .runtime = strdup(o->runtime ? o->runtime : ""),
                                     .fifos = strdup(o->fifos ? o->fifos : ""),
                                     .patience_ms = TC_ENGINE_PATIENCE_MS,
                                     .stale_s = STALE_S,
                                     .program = o->program,
                                     .socket = o->socket->fd,
                                     .port = -1,
                                     .console = -1};
    bool fine = ret->engine && ret->repository && ret->tag && ret->name && ret->client &&
                ret->label && ret->runtime && ret->fifos;
    return fine ? tc_format("%s:%s", ret->repository, ret->tag) : NULL;
}

int tc_engine_send(struct tc_cage *cage, int control, struct tc_engine_config *config)
{
    int rc = config->create ? tc_task_send(control, &tc_engine_config_fields, config) : -1;
    tc_fields_done(&tc_engine_config_fields, config);
    return rc < 0 ? tc_engine_fail_start(cage, "orders") : 0;
}

/* ---- the process that becomes toolcage-engine ---- */

/* It is outside every cage: it has the caller's id, which the engine's socket requires, and no
 * other rights of the caller. It does not die with the helper, because it removes the container
 * then. As in every child of the helper: no allocation, and no libc function that takes a lock. */

enum { PROGRAM = TC_ENGINE_CONTROL + 1 };

_Static_assert((int)TC_ENGINE_CONTROL == (int)TC_INIT_REPORT, "one socket, under one number");

/* Signals to the caller's process group must not reach it. */
static int leave_session(const struct tc_init_config *init)
{
    (void)init;
    (void)umask(0077);
    (void)signal(SIGPIPE, SIG_DFL);
    return setsid() < 0 ? -1 : 0;
}

/* The helper always has fds 0 to 4 open, so no fd is overwritten here before it is used. */
static int keep_descriptors(const struct tc_init_config *init)
{
    const int *program = init->own;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < TC_ENGINE_CONTROL; i++)
        if (null < 0 || dup2(null, i) < 0)
            return -1;
    if (dup2(init->report, TC_ENGINE_CONTROL) < 0 || dup3(*program, PROGRAM, O_CLOEXEC) < 0)
        return -1;
    return tc_close_range(PROGRAM + 1, ~0U, 0);
}

static void become_engine(const struct tc_init_config *init)
{
    static char name[] = "toolcage-engine";
    static char *argv[] = {name, NULL}, *envp[] = {NULL};
    (void)init;
    (void)tc_sys(SYS_execveat, PROGRAM, TC_ARG(""), TC_ARG(argv), TC_ARG(envp), AT_EMPTY_PATH, 0);
    _exit(127);
}

static const struct tc_stage stages[] = {
    {"session", leave_session, TC_CLAUSE_TTY_NONE},
    {"privileges", tc_stage_privileges, TC_CLAUSE_PRIV_NONE},
    {"descriptors", keep_descriptors, TC_CLAUSE_FDS_CLEAN}, /* last: moves the report socket */
};

const struct tc_stages tc_engine_stages = {stages, TC_COUNT(stages), 0, become_engine,
                                           &tc_contained_stages};
