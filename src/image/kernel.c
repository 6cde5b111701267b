/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Unpacks a kernel image. Debian's image unpacks itself at boot; unpacking it in advance saves that
 * time at each start of a VM. The header of the image (boot protocol of x86, 2.08 and newer) has
 * the offset of the packed part. */
#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "image/guest.h"

enum { SETUP_SECTORS = 0x1f1, MAGIC = 0x202, VERSION = 0x206, OFFSET = 0x248, LENGTH = 0x24c };
enum { SECTOR = 512, OLDEST = 0x208, HEAD = 0x250, TRAILER = 4, STEP = 1 << 16 };

static int fail_kernel(const char *name, const char *what, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_EBACKEND, "guest", name,
                          "apt-get install linux-image-cloud-amd64, or --kernel DIRECTORY into "
                          "which such a package was unpacked"),
                   "%s %s", name, what);
}

int tc_guest_unpack(const void *bytes, size_t size, const char *name, struct tc_buf *ret,
                    struct toolcage_error **err)
{
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    bool fine = a && archive_read_support_filter_all(a) == ARCHIVE_OK &&
                archive_read_support_format_raw(a) == ARCHIVE_OK &&
                archive_read_open_memory(a, bytes, size) == ARCHIVE_OK &&
                archive_read_next_header(a, &entry) == ARCHIVE_OK;
    for (ssize_t n = 1; fine && n > 0;) {
        char *to = tc_buf_room(ret, STEP);
        n = to ? archive_read_data(a, to, STEP) : -1;
        fine = n >= 0;
        if (fine)
            to[n] = '\0';
        ret->len += fine ? (size_t)n : 0;
    }
    (void)archive_read_free(a);
    return fine ? 0 : fail_kernel(name, "cannot be unpacked: its compression is unknown", err);
}

static uint32_t read_u32(const struct tc_buf *image, size_t at)
{
    uint32_t value;
    memcpy(&value, image->data + at, sizeof(value));
    return le32toh(value);
}

/* Finds the packed part; NULL: not such an image. All compressions except gzip append the unpacked
 * size. */
static const char *find_packed(const struct tc_buf *image, size_t *ret_size)
{
    if (image->len < HEAD || memcmp(image->data + MAGIC, "HdrS", 4) != 0 ||
        (read_u32(image, VERSION) & 0xffff) < OLDEST)
        return NULL;
    size_t sectors = (unsigned char)image->data[SETUP_SECTORS], size = read_u32(image, LENGTH);
    size_t at = ((sectors ? sectors : 4) + 1) * SECTOR + read_u32(image, OFFSET);
    if (at > image->len || size > image->len - at || size <= TRAILER)
        return NULL;
    *ret_size = memcmp(image->data + at, "\x1f\x8b", 2) == 0 ? size : size - TRAILER;
    return image->data + at;
}

int tc_guest_kernel(const char *path, struct tc_buf *ret, struct toolcage_error **err)
{
    _autobuf_ struct tc_buf image = TC_BUF_INIT;
    size_t size = 0;
    if (tc_read_file(AT_FDCWD, path, &image) < 0)
        return fail_kernel(path, strerror(errno), err);
    const char *packed = find_packed(&image, &size);
    if (!packed)
        return fail_kernel(path, "is not a kernel for this architecture", err);
    int r = tc_guest_unpack(packed, size, path, ret, err);
    if (r == 0 && (ret->len < 4 || memcmp(ret->data, "\177ELF", 4) != 0))
        r = fail_kernel(path, "does not contain a kernel", err);
    return r;
}
