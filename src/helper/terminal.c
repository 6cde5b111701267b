/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The terminal of a call: bytes from the caller's pipe are written to the terminal, and more are
 * read only when the terminal has accepted them. The terminal's output is handled like any output
 * stream. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "helper/job.h"

static bool set_size(const struct tc_job_record *j)
{
    const struct winsize size = {.ws_row = j->terminal.rows, .ws_col = j->terminal.columns};
    return !size.ws_row || ioctl(j->cage.out_fd, TIOCSWINSZ, &size) == 0;
}

/* Watches the terminal for room while input is pending, else the caller's pipe for more input. */
static bool watch_terminal(struct tc_job_record *j)
{
    bool left = j->terminal.from < j->terminal.to;
    return tc_job_watch(j, TC_ROLE_TYPED, left ? -1 : j->feed.from, EPOLLIN) &&
           tc_job_watch(j, TC_ROLE_FEED, left ? j->feed.to : -1, EPOLLOUT);
}

/* Stops writing input; output continues. */
static void stop_typing(struct tc_job_record *j)
{
    j->terminal.from = j->terminal.to = 0;
    (void)tc_job_watch(j, TC_ROLE_TYPED, -1, 0);
    (void)tc_job_watch(j, TC_ROLE_FEED, -1, 0);
    if (j->feed.from >= 0)
        (void)close(TAKE_FD(j->feed.from));
}

bool tc_terminal_attach(struct tc_job_record *j)
{
    struct tc_terminal *t = &j->terminal;
    if (!j->plan.terminal || t->attached || j->cage.out_fd < 0)
        return true;
    t->attached = true;
    /* a second fd: epoll watches each direction separately */
    j->feed.to = fcntl(j->cage.out_fd, F_DUPFD_CLOEXEC, 0);
    if (j->feed.to < 0 || !set_size(j) || !tc_job_watch(j, TC_ROLE_OUT, j->cage.out_fd, EPOLLIN))
        return false;
    if (j->feed.from < 0)
        return true;
    return fcntl(j->feed.from, F_SETFL, O_NONBLOCK) == 0 && watch_terminal(j);
}

void tc_terminal_feed(struct tc_job_record *j)
{
    struct tc_terminal *t = &j->terminal;
    ssize_t n = write(j->feed.to, t->typed + t->from, t->to - t->from);
    if (n > 0)
        t->from += (size_t)n;
    if ((n < 0 && errno != EAGAIN && errno != EINTR) || !watch_terminal(j))
        stop_typing(j);
}

void tc_terminal_typed(struct tc_source *source)
{
    struct tc_job_record *j = source->owner;
    struct tc_terminal *t = &j->terminal;
    ssize_t n = read(j->feed.from, t->typed, sizeof(t->typed));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        stop_typing(j);
        return;
    }
    t->from = 0;
    t->to = (size_t)n;
    tc_terminal_feed(j);
}

void tc_terminal_resize(struct tc_job_record *j, uint16_t rows, uint16_t columns)
{
    if (!j->plan.terminal || !rows || !columns)
        return;
    j->terminal.rows = rows;
    j->terminal.columns = columns;
    if (j->terminal.attached)
        (void)set_size(j);
}
