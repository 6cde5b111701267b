/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Combines all fds that the helper polls for one cage in a single epoll fd. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cage/cage.h"

int tc_events_add(struct tc_cage *cage, int fd, uint32_t events)
{
    struct epoll_event wanted = {.events = events};
    return fd < 0 ? 0 : epoll_ctl(cage->event_fd, EPOLL_CTL_ADD, fd, &wanted);
}

/* close() alone does not remove the fd: a cage cloned meanwhile keeps a copy open until its
 * exec. */
void tc_events_drop(struct tc_cage *cage, int fd)
{
    (void)epoll_ctl(cage->event_fd, EPOLL_CTL_DEL, fd, NULL);
}

int tc_events_report(struct tc_cage *cage, int fd)
{
    int report = TC_PRIV(cage)->child.report;
    tc_events_drop(cage, report);
    return dup3(fd, report, O_CLOEXEC) < 0 ? -1 : tc_events_add(cage, report, EPOLLIN);
}

int tc_events_open(struct tc_cage *cage)
{
    cage->event_fd = tc_tree_keep(&TC_PRIV(cage)->trees, epoll_create1(EPOLL_CLOEXEC));
    return cage->event_fd < 0 ? -1 : 0;
}
