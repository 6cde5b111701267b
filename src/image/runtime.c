/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A container runtime for a guest's first root: crun as this machine has it installed, with the
 * libraries that it is linked with, each in the place where it is found here. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/root.h"
#include "base/strv.h"
#include "guest/guest.h"
#include "image/guest.h"
#include "image/run.h"

enum { LINKED_SECONDS = 20, LINKED_MAX = 1 << 20, LIBRARIES_MAX = 64 };

static int fail(const char *path, const char *reason, struct toolcage_error **err)
{
    return tc_fail(err,
                   &(struct tc_why){.code = TOOLCAGE_EBACKEND,
                                    .stage = "guest",
                                    .subject = path,
                                    .errnum = errno,
                                    .hint = "apt-get install --reinstall crun"},
                   "the guest's container runtime: %s %s", path, reason);
}

/* Of every directory above, once: an archive's files need them. */
static bool add_directories(const char *path, struct tc_strv *made, struct tc_buf *archive)
{
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        _autofree_ char *above = strndup(path, (size_t)(at - path));
        if (!above)
            return false;
        if (tc_strv_has(made, above))
            continue;
        tc_cpio_add(archive, above + 1, 0040755, NULL, 0);
        if (!tc_strv_add(made, above))
            return false;
    }
    return true;
}

static int add_file(const char *path, struct tc_strv *made, struct tc_buf *archive,
                    struct toolcage_error **err)
{
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    struct stat st;
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail(path, "cannot be read", err);
    const char *reason = tc_program_unsafe(&st);
    errno = 0;
    if (reason)
        return fail(path, reason, err);
    if (tc_read_all(fd, &bytes) < 0)
        return fail(path, "cannot be read", err);
    if (!add_directories(path, made, archive))
        return tc_fail_memory(err);
    tc_cpio_add(archive, path + 1, 0100755, bytes.data, bytes.len);
    return 0;
}

/* "\tlibc.so.6 => /lib/libc.so.6 (0x7f…)" or "\t/lib64/ld.so (0x7f…)": the path in a line of the
 * loader's, ended there; NULL: the line has none. */
static char *path_in(char *line)
{
    char *path = strchr(line, '/');
    char *end = path ? strstr(path, " (") : NULL;
    if (end)
        *end = '\0';
    return end ? path : NULL;
}

static int add_linked(const char *program, struct tc_strv *made, struct tc_buf *archive,
                      struct toolcage_error **err)
{
    const char *const argv[] = {"ldd", program, NULL};
    _autobuf_ struct tc_buf said = {.max = LINKED_MAX};
    char *rest = NULL;
    int r = tc_run(&(struct tc_run){.argv = argv,
                                    .seconds = LINKED_SECONDS,
                                    .output = &said,
                                    .hint = "apt-get install libc-bin"},
                   err);
    tc_buf_addc(&said, '\0');
    if (r < 0 || said.failed)
        return r < 0 ? r : tc_fail_memory(err);
    size_t count = 0;
    for (char *line = strtok_r(said.data, "\n", &rest); line && r == 0 && count < LIBRARIES_MAX;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *path = path_in(line);
        count += path != NULL;
        r = path ? add_file(path, made, archive, err) : 0;
    }
    return r;
}

int tc_guest_runtime(struct tc_buf *archive, struct toolcage_error **err)
{
    _autostrv_ struct tc_strv made = {0};
    if (access(TC_GUEST_RUNTIME, X_OK) < 0)
        return 0;
    int r = add_file(TC_GUEST_RUNTIME, &made, archive, err);
    if (r == 0)
        r = add_linked(TC_GUEST_RUNTIME, &made, archive, err);
    return r < 0 ? r : archive->failed ? tc_fail_memory(err) : 1;
}
