/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The standalone proxy: without a supervisor, ended by a signal, reports its denials itself. */

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/jsontext.h"
#include "egress/egress.h"
#include "egress/proxy/loop.h"
#include "egress/read/stats.h"

enum { NOBODY = 65534, FAILURE = 125 };

/* ---- signals ---- */

/* The first signal lets pending connections finish; the second ends them. */
static void told(struct tc_egress_proxy *p, struct tc_egress_watch *watch, uint32_t events)
{
    struct signalfd_siginfo info;
    (void)events;
    if (read(watch->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    p->over = p->finish_at != 0;
    tc_egress_listeners_end(p);
    p->finish_at = p->now + TC_EGRESS_FINISH_US;
}

bool tc_egress_standalone_begin(struct tc_egress_proxy *p)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return false;
    p->control = (struct tc_egress_watch){.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC),
                                          .ready = told};
    return p->control.fd >= 0 && tc_egress_watch_for(p, &p->control, EPOLLIN);
}

bool tc_egress_standalone_become(void)
{
    if (geteuid() != 0)
        return true;
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
           setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* ---- reports ---- */

static void add_text(struct tc_buf *out, const struct tc_egress_denial *d, unsigned count)
{
    tc_buf_addf(out, "toolcage: denied %s %s: %s", d->resolve ? "resolve" : "connect", d->target,
                tc_egress_reason_text(d->reason));
    if (count > 1)
        tc_buf_addf(out, " (%u times)", count);
    tc_buf_addc(out, '\n');
}

static void add_json(struct tc_buf *out, const struct tc_egress_config *config,
                     const struct tc_egress_denial *d, unsigned count)
{
    tc_buf_addc(out, '{');
    tc_json_member(out, "operation", d->resolve ? "resolve" : "connect");
    tc_json_member(out, "target", d->target);
    tc_json_member(out, "reason", tc_egress_reason_text(d->reason));
    tc_buf_addf(out, ",\"count\":%u", count);
    if (config->net_count && config->net[0].origin.key)
        tc_json_member(out, "key", config->net[0].origin.key);
    tc_buf_adds(out, "}\n");
}

/* Blocks until the report is read: a proxy whose denials are not seen must not serve. */
static void write_all(int fd, const struct tc_buf *text)
{
    for (size_t at = 0; !text->failed && at < text->len;) {
        ssize_t n = write(fd, text->data + at, text->len - at);
        if (n < 0 && errno != EINTR)
            return;
        at += n > 0 ? (size_t)n : 0;
    }
}

/* Resets the list after printing it, so it is never full for long. */
void tc_egress_standalone_report(struct tc_egress_proxy *p)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    bool json = p->standalone == TC_EGRESS_JSON;
    uint32_t count = atomic_load(&p->stats->denial_count);
    if (!count && !atomic_load(&p->stats->omitted_denials))
        return;
    for (uint32_t i = 0; i < count && i < TC_EGRESS_DENIALS_MAX; i++) {
        const struct tc_egress_denial *d = &p->stats->denials[i];
        if (json)
            add_json(&out, &p->config, d, atomic_load(&d->count));
        else
            add_text(&out, d, atomic_load(&d->count));
    }
    uint32_t more = atomic_exchange(&p->stats->omitted_denials, 0);
    if (more)
        tc_buf_addf(&out, json ? "{\"omitted\":%u}\n" : "toolcage: %u more were denied\n", more);
    atomic_store(&p->stats->denial_count, 0);
    write_all(json ? STDOUT_FILENO : STDERR_FILENO, &out);
}

int tc_egress_standalone_fail(const char *what, const char *hint)
{
    (void)fprintf(stderr, "toolcage: the egress proxy cannot start: %s\nhint: %s\n", what, hint);
    return FAILURE;
}
