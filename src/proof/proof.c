/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A record is a file for each backend in the state directory: a line with the time and the counts,
 * and the facts about the host. */
#include "proof/proof.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "proof/host.h"
#include "state/store.h"
#include "version.h"

/* The first line names the build: another one isolates in another way. */
static const char form[] = "toolcage-proof " TC_BUILD_ID " %" PRId64 " %d %d\n";

static int open_store(bool make)
{
    _autofree_ char *path = NULL;
    return tc_store_open("proofs", make, &path);
}

char *tc_proof_begin(const char *backend)
{
    struct tc_buf host = TC_BUF_INIT;
    _autofd_ int dir = open_store(false);
    if ((dir < 0 && errno != ENOENT) ||
        (dir >= 0 && unlinkat(dir, backend, 0) < 0 && errno != ENOENT))
        return NULL;
    tc_proof_write_host(&host);
    errno = ENOMEM;
    return tc_buf_steal(&host);
}

int tc_proof_record(const char *backend, const char *host, const struct tc_proof *proof)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT, now = TC_BUF_INIT;
    _autofd_ int dir = open_store(true);
    if (dir < 0)
        return -1;
    tc_proof_write_host(&now);
    tc_buf_addc(&now, '\0');
    tc_buf_addf(&text, form, proof->at, proof->attacks, proof->stopped);
    tc_buf_adds(&text, host);
    errno = text.failed || now.failed ? ENOMEM : ESTALE;
    if (text.failed || now.failed || strcmp(host, now.data) != 0)
        return -1;
    return tc_store_write(dir, backend, text.data, text.len, 0600);
}

static int read_record(const char *backend, struct tc_buf *text)
{
    _autofd_ int dir = open_store(false);
    _autofd_ int fd =
        dir < 0 ? -1 : openat(dir, backend, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return !tc_store_own(fd, S_IFREG) || tc_read_all(fd, text) < 0 ? -1 : 0;
}

/* The name of the first fact that differs. */
static void find_change(const char *was, const char *is, char *why, size_t size)
{
    size_t line = 0;
    for (size_t i = 0; is[i] && was[i] == is[i]; i++)
        line = is[i] == '\n' ? i + 1 : line;
    (void)snprintf(why, size, "%.*s", (int)strcspn(is + line, "\t\n"), is + line);
}

int tc_proof_find(const char *backend, struct tc_proof *ret, char *why, size_t size)
{
    _autobuf_ struct tc_buf was = TC_BUF_INIT, is = TC_BUF_INIT;
    why[0] = '\0';
    if (read_record(backend, &was) < 0)
        return -1;
    tc_proof_write_host(&is);
    tc_buf_addc(&was, '\0');
    tc_buf_addc(&is, '\0');
    if (was.failed || is.failed)
        return -1;
    const char *host = strchr(was.data, '\n');
    if (!host || sscanf(was.data, form, &ret->at, &ret->attacks, &ret->stopped) != 3) {
        (void)snprintf(why, size, "the version of toolcage");
        return -1;
    }
    if (strcmp(host + 1, is.data) == 0)
        return 0;
    find_change(host + 1, is.data, why, size);
    return -1;
}
