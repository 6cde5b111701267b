/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads the arguments of a system call that a seccomp notification reports, and replies to the
 * notification. */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "observe/watch.h"

size_t tc_notify_bytes(pid_t pid, uint64_t at, void *to, size_t size)
{
    struct iovec local = {.iov_base = to, .iov_len = size};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)at, .iov_len = size};
    ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return n < 0 ? 0 : (size_t)n;
}

/* Reads a string page by page: the page after the string's end may not be readable. */
bool tc_notify_text(pid_t pid, uint64_t at, char *to, size_t size)
{
    size_t done = 0;
    while (done < size - 1) {
        size_t page = 4096 - (size_t)((at + done) & 4095);
        size_t want = page < size - 1 - done ? page : size - 1 - done;
        size_t n = tc_notify_bytes(pid, at + done, to + done, want);
        if (memchr(to + done, '\0', n))
            return true;
        done += n;
        if (n < want)
            return false;
    }
    to[done] = '\0';
    return true;
}

/* Called after memory was read: if the process no longer waits, its pid may have been reused, and
 * the memory may be that of a process outside the cage. */
bool tc_notify_waits(int listener, const struct seccomp_notif *n)
{
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->id) == 0;
}

bool tc_notify_send(int listener, uint64_t id, int errnum, uint32_t flags)
{
    struct seccomp_notif_resp resp = {.id = id, .error = -errnum, .flags = flags};
    int rc;
    do
        rc = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
    while (rc < 0 && errno == EINTR);
    /* it was killed meanwhile; or it has its reply, and has not yet run */
    return rc == 0 || errno == ENOENT || errno == EINPROGRESS;
}
