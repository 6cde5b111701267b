/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What a function writes to a standard descriptor, as text. */
#ifndef TC_TEST_CLI_CAPTURE_H
#define TC_TEST_CLI_CAPTURE_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct capture {
    int fd, saved, file;
    char text[8192];
};

static inline void capture_begin(struct capture *c, int fd)
{
    *c = (struct capture){.fd = fd};
    c->saved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    c->file = memfd_create("capture", MFD_CLOEXEC);
    assert_true(c->saved >= 0 && c->file >= 0);
    assert_int_equal(dup2(c->file, fd), fd);
}

static inline const char *capture_end(struct capture *c)
{
    assert_int_equal(dup2(c->saved, c->fd), c->fd);
    ssize_t n = pread(c->file, c->text, sizeof(c->text) - 1, 0);
    assert_true(n >= 0);
    c->text[n] = '\0';
    (void)close(c->file);
    (void)close(c->saved);
    return c->text;
}

#endif
