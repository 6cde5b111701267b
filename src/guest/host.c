/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A machine's calls to its host, where it has sockets for that and no serial port. */
#include "guest/relay.h"

#include <sys/socket.h>
/* after that, which it needs */
#include <linux/vm_sockets.h>

#include "base/cleanup.h"

int tc_guest_call(unsigned number)
{
    const struct sockaddr_vm host = {
        .svm_family = AF_VSOCK, .svm_port = number, .svm_cid = VMADDR_CID_HOST};
    _autofd_ int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&host, sizeof(host)) < 0)
        return -1;
    return TAKE_FD(fd);
}
