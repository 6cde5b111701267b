/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Programs and libraries of this machine for a guest's first root, with the libraries that they are
 * linked with, each of those in the place where it is found here. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/root.h"
#include "image/guest.h"
#include "image/run.h"

enum { LINKED_SECONDS = 20, LINKED_MAX = 1 << 20, LIBRARIES_MAX = 64 };

static int fail(const struct tc_guest_parts *parts, const char *path, const char *reason,
                struct toolcage_error **err)
{
    return tc_fail(err,
                   &(struct tc_why){.code = TOOLCAGE_EBACKEND,
                                    .stage = "guest",
                                    .subject = path,
                                    .errnum = errno,
                                    .hint = parts->hint},
                   "the guest's %s: %s %s", parts->what, path, reason);
}

/* Of every directory above, once: an archive's files need them. */
static bool add_directories(struct tc_guest_parts *parts, const char *path)
{
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        _autofree_ char *above = strndup(path, (size_t)(at - path));
        if (!above)
            return false;
        if (tc_strv_has(&parts->made, above))
            continue;
        tc_cpio_add(parts->archive, above + 1, 0040755, NULL, 0);
        if (!tc_strv_add(&parts->made, above))
            return false;
    }
    return true;
}

static int add_file(struct tc_guest_parts *parts, const char *path, const char *as,
                    struct toolcage_error **err)
{
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    struct stat st;
    if (tc_strv_has(&parts->made, as))
        return 0;
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail(parts, path, "cannot be read", err);
    const char *reason = tc_program_unsafe(&st);
    errno = 0;
    if (reason)
        return fail(parts, path, reason, err);
    bytes.max = TC_GUEST_INITRD_MAX;
    if (tc_read_all(fd, &bytes) < 0)
        return fail(parts, path, "cannot be read", err);
    if (!add_directories(parts, as) || !tc_strv_add(&parts->made, as))
        return tc_fail_memory(err);
    tc_cpio_add(parts->archive, as + 1, 0100755, bytes.data, bytes.len);
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

static int add_linked(struct tc_guest_parts *parts, const char *program,
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
        r = path ? add_file(parts, path, path, err) : 0;
    }
    return r;
}

int tc_guest_linked(struct tc_guest_parts *parts, const char *path, const char *as,
                    struct toolcage_error **err)
{
    int r = add_file(parts, path, as, err);
    return r < 0 ? r : add_linked(parts, path, err);
}
