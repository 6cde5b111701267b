/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call's own socket, and the word by which it is cancelled. */
#include <errno.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "call/call.h"

/* It cannot block: sizes leave room for it. */
void tc_call_send_cancel(int sock, int64_t serial)
{
    const struct tc_message cancel = {.kind = TC_MESSAGE_CANCEL, .serial = serial};
    (void)tc_send(sock, &cancel, sizeof(cancel), NULL, 0);
}

/* Who cancels from another thread sees the socket, or is seen here; twice is once. */
int tc_call_open(struct toolcage_call *call, struct toolcage_error **err)
{
    int pair[2];
    if (call->sock >= 0)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return tc_fail(
            err,
            TC_WHY_ERRNO(TOOLCAGE_ESYSTEM, "call", "socketpair", errno,
                         "see whether this process is at its limit of open files (ulimit -n)"),
            "cannot make the call: socketpair failed");
    call->peer = pair[1];
    atomic_store(&call->sock, pair[0]);
    if (atomic_load(&call->cancelled))
        tc_call_send_cancel(pair[0], 0);
    return 0;
}
