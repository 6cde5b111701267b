/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Converts the kernel's errno to WASI's codes. */
#include <errno.h>
#include <sys/stat.h>

#include "wasm/wasi/guest.h"

static const struct {
    int ours;
    uint32_t theirs;
} rows[] = {
    {E2BIG, WASI_2BIG},     {EACCES, WASI_ACCES},       {EAGAIN, WASI_AGAIN},
    {EBADF, WASI_BADF},     {EBUSY, WASI_BUSY},         {EDQUOT, WASI_DQUOT},
    {EEXIST, WASI_EXIST},   {EFAULT, WASI_FAULT},       {EFBIG, WASI_FBIG},
    {EINTR, WASI_INTR},     {EINVAL, WASI_INVAL},       {EIO, WASI_IO},
    {EISDIR, WASI_ISDIR},   {ELOOP, WASI_LOOP},         {EMFILE, WASI_MFILE},
    {EMLINK, WASI_MLINK},   {ENFILE, WASI_NFILE},       {ENAMETOOLONG, WASI_NAMETOOLONG},
    {ENOENT, WASI_NOENT},   {ENOMEM, WASI_NOMEM},       {ENOSPC, WASI_NOSPC},
    {ENOTDIR, WASI_NOTDIR}, {ENOTSUP, WASI_NOTSUP},     {ENOTEMPTY, WASI_NOTEMPTY},
    {ENXIO, WASI_NXIO},     {EOVERFLOW, WASI_OVERFLOW}, {EPERM, WASI_PERM},
    {EPIPE, WASI_PIPE},     {EROFS, WASI_ROFS},         {ESPIPE, WASI_SPIPE},
    {ETXTBSY, WASI_TXTBSY}, {EXDEV, WASI_XDEV},         {ENOSYS, WASI_NOTSUP},
};

uint32_t tc_wasi_error(int errnum)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (rows[i].ours == errnum)
            return rows[i].theirs;
    return WASI_IO;
}

uint32_t tc_wasi_answer(long result)
{
    return result < 0 ? tc_wasi_error(errno) : WASI_OK;
}

uint8_t tc_wasi_type(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return WASI_TYPE_REGULAR;
    case S_IFDIR:
        return WASI_TYPE_DIRECTORY;
    case S_IFLNK:
        return WASI_TYPE_LINK;
    case S_IFCHR:
        return WASI_TYPE_CHARACTER;
    case S_IFBLK:
        return WASI_TYPE_BLOCK;
    case S_IFSOCK:
        return WASI_TYPE_STREAM;
    default:
        return WASI_TYPE_UNKNOWN;
    }
}
