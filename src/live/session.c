/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The cage of a live session: a process cage whose PID 1 gets a socket for commands. */
#include "live/session.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "cage/proxy.h"
#include "live/inside/order.h"
#include "live/live.h"

static struct tc_live *sessions;

#define LIVE(cage) ((struct tc_live *)TC_PRIV(cage)->own)

/* ---- the list of sessions ---- */

struct tc_live *tc_live_find(const char *call)
{
    for (struct tc_live *l = sessions; l; l = l->next)
        if (l->cage && strcmp(l->cage->plan->call, call) == 0)
            return l->cage->running && !l->cage->over && !l->ending ? l : NULL;
    return NULL;
}

struct tc_live *tc_live_use(struct tc_live *live)
{
    live->users++;
    return live;
}

void tc_live_leave(struct tc_live *live)
{
    if (!live || --live->users)
        return;
    for (struct tc_live **at = &sessions; *at; at = &(*at)->next)
        if (*at == live) {
            *at = live->next;
            break;
        }
    free(live);
}

static void schedule(struct tc_live *live)
{
    struct tc_cage *cage = live->cage;
    int64_t idle = live->running ? 0 : live->quiet_since + tc_us_of_ms(cage->plan->idle_ms);
    int64_t at = live->until && (!idle || live->until < idle) ? live->until : idle;
    if (live->until && !live->ending && (!cage->look_at_us || at < cage->look_at_us))
        cage->look_at_us = at;
}

void tc_live_count(struct tc_live *live, int started)
{
    live->running += (unsigned)started;
    if (!live->running)
        live->quiet_since = tc_now_us();
    if (live->cage)
        schedule(live);
}

void tc_live_kill(struct tc_live *live, const char *why)
{
    if (!live->cage || TC_PRIV(live->cage)->child.pid <= 0 || TC_PRIV(live->cage)->child.reaped)
        return;
    live->ending = live->ended = true;
    tc_outcome_note(live->cage->outcome, strdup(why));
    tc_local_signal(live->cage, true);
}

/* ---- the executor ---- */

static int make_session(struct tc_cage *cage)
{
    if (tc_host_forbids_cages())
        return tc_cage_fail(cage,
                            TC_WHY(TOOLCAGE_EUNENFORCEABLE, "session", "namespaces",
                                   "run toolcage where namespaces are allowed (toolcage doctor)"),
                            TC_CLAUSE_PROC_SURVIVORS, "a live session needs namespaces");
    struct tc_live *live = calloc(1, sizeof(*live));
    if (!live)
        return tc_cage_fail_memory(cage, "session");
    int rc = tc_local_lease(cage, NULL, NULL);
    if (!cage->priv) {
        free(live);
        return rc;
    }
    live->cage = cage;
    live->next = sessions;
    sessions = tc_live_use(live);
    TC_PRIV(cage)->own = live;
    return rc;
}

/* Its output is that of no process: PID 1 closes its ends. */
static int start_session(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return tc_cage_fail(cage,
                            TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "start", "session socket", errno,
                                         "raise this process's limits (ulimit -n)"),
                            -1, "cannot create the socket of the session");
    p->talk = pair[0];
    p->init.talk = pair[1];
    p->init.talks = p->init.live = true;
    return tc_process_run(cage) < 0 ? -1 : tc_proxy_lend(cage);
}

/* Ends the session in time: nothing else does, if its host is busy. */
static void look_at_time(struct tc_cage *cage)
{
    struct tc_live *live = LIVE(cage);
    int64_t now = tc_now_us();
    if (cage->running && !live->until) {
        live->quiet_since = now;
        live->until = now + tc_us_of_ms(cage->plan->lifetime_ms);
    }
    bool idle = !live->running && now >= live->quiet_since + tc_us_of_ms(cage->plan->idle_ms);
    if (!live->until || live->ending)
        return;
    if (idle || now >= live->until) {
        tc_outcome_note(cage->outcome, strdup(idle ? "it ended after its idle time"
                                                   : "it ended after its lifetime"));
        cage->finished = true;
        return;
    }
    schedule(live);
}

static int event_of_session(struct tc_cage *cage)
{
    int rc = tc_process_event(cage);
    if (rc == 0 && !cage->over)
        look_at_time(cage);
    return rc;
}

static bool tell_first(struct tc_cage *cage, int32_t word)
{
    return tc_send_now(TC_PRIV(cage)->talk, &word, sizeof(word), NULL, 0) == 0;
}

/* A requested end is a success, also if processes ignore SIGTERM: PID 1 kills them and reports its
 * end. A session that must end at once, or does not end, is killed. */
static void signal_session(struct tc_cage *cage, bool at_once)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    struct tc_live *live = LIVE(cage);
    if (p->child.pid <= 0 || p->child.reaped)
        return;
    bool soft = at_once ? live->ending && !live->ended : true;
    int32_t word = at_once ? TC_LIVE_END : TC_LIVE_TERMINATE;
    live->ended = live->ended || at_once;
    live->ending = true;
    if (at_once && soft)
        tc_limits_end(cage);
    if (!soft || !tell_first(cage, word))
        tc_local_signal(cage, true);
}

static bool destroy_session(struct tc_cage *cage, enum tc_may_block may_block)
{
    struct tc_live *live = cage->priv ? LIVE(cage) : NULL;
    if (!tc_local_destroy(cage, may_block))
        return false;
    if (live)
        live->cage = NULL;
    tc_live_leave(live);
    return true;
}

const struct tc_executor tc_live_session_executor = {
    .name = "process",
    .make = make_session,
    .prepare = tc_process_prepare,
    .start = start_session,
    .event = event_of_session,
    .signal = signal_session,
    .reap = tc_process_reap,
    .usage = tc_local_usage,
    .destroy = destroy_session,
};

const struct tc_executor *tc_live_executor(const struct tc_plan *plan)
{
    if (plan->live_in)
        return &tc_live_command_executor;
    return plan->lifetime_ms ? &tc_live_session_executor : NULL;
}
