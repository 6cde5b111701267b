/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/engine/order.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <toolcage/error.h>
#include <unistd.h>

#include "base/fd.h"
#include "cage/beside.h"
#include "state/mark.h"

/* How old a container that does not run must be to be nobody's. */
enum { STALE_S = 600 };

int tc_engine_fail_start(struct tc_cage *cage, const char *what)
{
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", what, errno,
                                     "`toolcage doctor` shows what this machine lacks"),
                        -1, "cannot make the container's %s", what);
}

int tc_engine_enter(struct tc_cage *cage, const char *engine, struct tc_engine_door *ret)
{
    struct tc_engine_lack lack = {.text = "the path of its socket is too long",
                                  .hint = "sockets have paths of at most 107 bytes"};
    uid_t uid = geteuid();
    if (tc_engine_door_path(engine, &cage->plan->settings, uid, ret) &&
        tc_engine_door_open(engine, uid, ret, &lack))
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
               "reinstall toolcage; its programs are files of root (or of yours) with mode 0755"),
        -1, "%s %s", name, lack ? lack : "cannot be opened");
}

int tc_engine_take_root(struct tc_cage *cage, const struct tc_engine_door *door,
                        const char *program, struct tc_engine_root **ret)
{
    if (!door->client[0])
        return 0;
    *ret = malloc(sizeof(**ret));
    if (!*ret)
        return tc_cage_fail_memory(cage, "start");
    if (tc_engine_root_find(program, *ret) == 0)
        return 0;
    if (errno != ESTALE)
        return tc_engine_fail_start(cage, "root");
    return tc_cage_fail(cage,
                        TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", "root", ESTALE,
                                     "the helper's program was replaced: make a new engine"),
                        -1, "cannot make the container's root");
}

/* Of one file one image. It goes into paths of requests, where dots have a meaning. */
static char *image_tag(int program)
{
    struct stat st;
    char mark[TC_MARK_SIZE];
    if (fstat(program, &st) < 0)
        return NULL;
    tc_mark(&st, mark);
    for (char *c = mark; (c = strchr(c, '.'));)
        *c = '-';
    return strdup(mark);
}

char *tc_engine_order(const struct tc_cage *cage, const struct tc_engine_order *o,
                      struct tc_engine_config *ret)
{
    const char *call = cage->plan->call ? cage->plan->call : o->name;
    *ret = (struct tc_engine_config){.engine = strdup(o->engine),
                                     .repository = strdup(o->repository),
                                     .tag = image_tag(o->program),
                                     .name = tc_format("toolcage-%s", o->name),
                                     .client = strdup(o->door->client),
                                     .label = tc_format(TC_ENGINE_LABEL "=%s", call),
                                     .runtime = strdup(o->runtime ? o->runtime : ""),
                                     .fifos = strdup(o->fifos ? o->fifos : ""),
                                     .patience_ms = TC_ENGINE_PATIENCE_MS,
                                     .stale_s = STALE_S};
    bool fine = ret->engine && ret->repository && ret->tag && ret->name && ret->client &&
                ret->label && ret->runtime && ret->fifos;
    return fine ? tc_format("%s:%s", ret->repository, ret->tag) : NULL;
}

int tc_engine_send(struct tc_cage *cage, int control, const struct tc_engine_order *order,
                   struct tc_engine_config *config, const int lines[2])
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    tc_engine_config_visit(&w, config);
    _autofd_ int file = w.failed ? -1 : tc_memfd("engine-config", w.out.data, w.out.len);
    const int fds[] = {file, order->program, order->door->fd, lines ? lines[0] : -1,
                       lines ? lines[1] : -1};
    int rc = file < 0 ? -1 : tc_send(control, "", 1, fds, lines ? 5 : 3);
    tc_buf_done(&w.out);
    return rc < 0 ? tc_engine_fail_start(cage, "orders") : 0;
}
