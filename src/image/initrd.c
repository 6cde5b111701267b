/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The content of a guest's initramfs, in three parts: toolcage's init program with kernel modules;
 * a container runtime (the host's crun); and toolcage-wasm with its engine. Each part includes the
 * shared libraries that its programs are linked with, at the same paths as on the host. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/process.h"
#include "image/guest.h"
#include "image/run.h"
#include "plan/guest.h"
#include "state/places.h"
#include "wasm/version.h"

enum { LINKED_SECONDS = 20, LINKED_MAX = 1 << 20, LIBRARIES_MAX = 64 };

/* ---- archives ---- */

static la_ssize_t keep_bytes(struct archive *archive, void *ud, const void *bytes, size_t size)
{
    struct tc_buf *to = ud;
    (void)archive;
    tc_buf_add(to, bytes, size);
    return to->failed ? -1 : (la_ssize_t)size;
}

static bool begin_initrd(struct tc_initrd *initrd)
{
    initrd->archive = archive_write_new();
    return initrd->archive && archive_write_set_format_cpio_newc(initrd->archive) == ARCHIVE_OK &&
           archive_write_set_bytes_per_block(initrd->archive, 0) == ARCHIVE_OK &&
           archive_write_open(initrd->archive, &initrd->bytes, NULL, keep_bytes, NULL) ==
               ARCHIVE_OK;
}

void tc_initrd_add(struct tc_initrd *initrd, const char *name, unsigned mode,
                   const struct tc_buf *bytes)
{
    struct archive_entry *e = archive_entry_new();
    size_t size = bytes ? bytes->len : 0;
    bool fine = e && name && !initrd->bytes.failed;
    if (fine) {
        archive_entry_set_pathname(e, name);
        archive_entry_set_mode(e, mode);
        archive_entry_set_size(e, (la_int64_t)size);
        fine =
            archive_write_header(initrd->archive, e) == ARCHIVE_OK &&
            (!size || archive_write_data(initrd->archive, bytes->data, size) == (la_ssize_t)size);
    }
    archive_entry_free(e);
    initrd->bytes.failed |= !fine;
}

/* ---- the host's programs ---- */

/* The part being added, and the hint for its errors. */
struct part {
    struct tc_initrd *initrd;
    const char *what, *hint;
};

static int fail_initrd(const struct part *part, const char *path, const char *reason,
                       struct toolcage_error **err)
{
    return tc_fail(err, TC_WHY_ERRNO(TOOLCAGE_EBACKEND, "guest", path, errno, part->hint),
                   "the guest's %s: %s %s", part->what, path, reason);
}

/* Records the path. False: it is already in the archive. */
static bool is_new(struct tc_initrd *initrd, const char *path)
{
    bool is = !tc_strv_has(&initrd->made, path);
    initrd->bytes.failed |= is && !tc_strv_add(&initrd->made, path);
    return is;
}

/* Adds the file, and each missing parent directory, which cpio needs. */
static int add_file(const struct part *part, const char *path, const char *as,
                    struct toolcage_error **err)
{
    _autobuf_ struct tc_buf bytes = {.max = TC_GUEST_INITRD_MAX};
    struct stat st;
    if (!is_new(part->initrd, as))
        return 0;
    _autofd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_initrd(part, path, "cannot be read", err);
    const char *reason = tc_program_unsafe(&st);
    errno = 0;
    if (reason || tc_read_all(fd, &bytes) < 0)
        return fail_initrd(part, path, reason ? reason : "cannot be read", err);
    for (const char *at = strchr(as + 1, '/'); at; at = strchr(at + 1, '/')) {
        _autofree_ char *above = strndup(as, (size_t)(at - as));
        if (!above || is_new(part->initrd, above))
            tc_initrd_add(part->initrd, above ? above + 1 : NULL, 0040755, NULL);
    }
    tc_initrd_add(part->initrd, as + 1, 0100755, &bytes);
    return 0;
}

/* Lines of ldd are "\tlibc.so.6 => /lib/libc.so.6 (0x7f…)" or "\t/lib64/ld.so (0x7f…)". */
static int add_linked(const struct part *part, const char *path, const char *as,
                      struct toolcage_error **err)
{
    const char *const argv[] = {"ldd", path, NULL};
    _autobuf_ struct tc_buf said = {.max = LINKED_MAX};
    const struct tc_run run = {.argv = argv,
                               .seconds = LINKED_SECONDS,
                               .output = &said,
                               .hint = "apt-get install libc-bin"};
    int r = add_file(part, path, as, err), count = 0;
    if (r == 0)
        r = tc_run(&run, err);
    for (char *rest = said.data, *line; r == 0 && (line = strsep(&rest, "\n"));) {
        char *library = strchr(line, '/'), *end = library ? strstr(library, " (") : NULL;
        if (!end || count++ >= LIBRARIES_MAX)
            continue;
        *end = '\0';
        r = add_file(part, library, library, err);
    }
    return r;
}

/* ---- the parts ---- */

static int add_first(struct tc_initrd *initrd, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf program = TC_BUF_INIT;
    _autofree_ char *path = tc_self_beside("toolcage-guest");
    if (!path || tc_read_file(AT_FDCWD, path, &program) < 0)
        return tc_fail(err,
                       TC_WHY_ERRNO(TOOLCAGE_EHELPER, "guest", "toolcage-guest", errno,
                                    "install toolcage completely"),
                       "the guest's init program is not next to toolcage-image");
    int r = tc_guest_modules(initrd->modules, initrd, err);
    tc_initrd_add(initrd, "init", 0100755, &program);
    return r < 0 ? r : 1;
}

static int add_runtime(struct tc_initrd *initrd, struct toolcage_error **err)
{
    const struct part part = {initrd, "container runtime", "apt-get install --reinstall crun"};
    if (access(TC_GUEST_RUNTIME, X_OK) < 0)
        return 0;
    return add_linked(&part, TC_GUEST_RUNTIME, TC_GUEST_RUNTIME, err) < 0 ? -1 : 1;
}

/* The engine is searched for where calls also search: next to the program that loads it, or in the
 * user's state directory. */
static int add_engine(struct tc_initrd *initrd, struct toolcage_error **err)
{
    const struct part engine = {initrd, "WebAssembly engine",
                                "toolcage wasm install fetches and checks it"},
                      worker = {initrd, engine.what, "install toolcage completely"};
    _autofree_ char *program = tc_self_beside("toolcage-wasm"), *state = NULL,
                    *library = tc_self_beside(TC_WASM_LIBRARY);
    if (!program || !library || !tc_state_directory(&state))
        return tc_fail_memory(err);
    if (state && access(library, R_OK) < 0) {
        free(library);
        library = tc_path_join(state, "wasm/" TC_WASM_LIBRARY);
    }
    if (!library)
        return tc_fail_memory(err);
    if (access(library, R_OK) < 0 || access(program, X_OK) < 0)
        return 0;
    int r = add_linked(&engine, library, TC_GUEST_ENGINE, err);
    if (r == 0)
        r = add_linked(&worker, program, TC_GUEST_WORKER, err);
    return r < 0 ? r : 1;
}

int tc_initrd_grow(struct tc_initrd *initrd, enum tc_initrd_part part, struct toolcage_error **err)
{
    static int (*const adds[])(struct tc_initrd *,
                               struct toolcage_error **) = {[TC_INITRD_FIRST] = add_first,
                                                            [TC_INITRD_RUNTIME] = add_runtime,
                                                            [TC_INITRD_ENGINE] = add_engine};
    bool fine = begin_initrd(initrd);
    int r = fine ? adds[part](initrd, err) : 0;
    fine = archive_write_free(initrd->archive) == ARCHIVE_OK && fine && !initrd->bytes.failed;
    return r < 0 || fine ? r : tc_fail_memory(err);
}
