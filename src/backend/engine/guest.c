/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The first program in a container of an engine's: the helper's own file, under another name. It
 * has the container's id and no right of any kind, and nothing to look at but a socket to the
 * helper. From there it gets what a cage is made of, and goes the way of every cage's PID 1, in
 * namespaces of its own. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/engine/guest.h"
#include "cage/box.h"
#include "cage/stages.h"
#include "engine/engine.h"

/* Where the report socket of every first process stands. */
static bool connect_report(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = TC_ENGINE_TALK "/report"};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
        return false;
    return fd == TC_BOX_REPORT || dup3(fd, TC_BOX_REPORT, O_CLOEXEC) >= 0;
}

void tc_engine_guest_main(void)
{
    struct tc_box box = {.stages = &tc_contained_stages};
    if (!connect_report() || !tc_box_receive(TC_BOX_REPORT, &box))
        _exit(1);
    /* one id, the container's, is the tool's */
    tc_id_map(box.uid_map, box.uid, geteuid());
    tc_id_map(box.gid_map, box.gid, getegid());
    tc_box_go(&box);
    _exit(1);
}
