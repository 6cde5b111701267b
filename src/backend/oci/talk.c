/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/oci/talk.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The directory has no path that we could name, but a descriptor. */
int tc_oci_talk_open(struct tc_oci_talk *talk, int bundle, uid_t id)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    _autofd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/talk/report", bundle);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, 1) < 0)
        return -1;
    if (id != (uid_t)-1 && (fchownat(bundle, "talk", id, (gid_t)id, 0) < 0 ||
                            fchownat(bundle, "talk/report", id, (gid_t)id, 0) < 0))
        return -1;
    talk->listener = TAKE_FD(fd);
    return 0;
}

int tc_oci_talk_accept(struct tc_oci_talk *talk)
{
    _autofd_ int fd = talk->listener < 0 ? -1 : accept4(talk->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        (void)close(TAKE_FD(talk->listener));
    return TAKE_FD(fd);
}

void tc_oci_talk_close(struct tc_oci_talk *talk)
{
    if (talk->listener >= 0)
        (void)close(talk->listener);
    *talk = TC_OCI_NO_TALK;
}
