/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The archive that a kernel takes for its first root: "newc", as the kernel's own documents
 * describe it. */
#include <string.h>

#include "image/guest.h"

enum { ALIGN = 4 };

static void pad(struct tc_buf *archive)
{
    while (archive->len % ALIGN && !archive->failed)
        tc_buf_addc(archive, '\0');
}

void tc_cpio_add(struct tc_buf *archive, const char *name, unsigned mode, const void *bytes,
                 size_t size)
{
    size_t named = strlen(name) + 1;
    /* inode, mode, uid, gid, links, mtime, size, four device numbers, length of the name, sum */
    const unsigned fields[] = {(unsigned)archive->len + 1,
                               mode,
                               0,
                               0,
                               1,
                               0,
                               (unsigned)size,
                               0,
                               0,
                               0,
                               0,
                               (unsigned)named,
                               0};
    tc_buf_adds(archive, "070701");
    for (size_t i = 0; i < TC_COUNT(fields); i++)
        tc_buf_addf(archive, "%08x", fields[i]);
    tc_buf_add(archive, name, named);
    pad(archive);
    if (size)
        tc_buf_add(archive, bytes, size);
    pad(archive);
}

void tc_cpio_end(struct tc_buf *archive)
{
    tc_cpio_add(archive, "TRAILER!!!", 0, NULL, 0);
}
