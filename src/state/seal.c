/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "state/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "state/store.h"

enum { KEY = 32, BLOCK = 64 };

static void authenticate(const uint8_t key[KEY], const char *text, char out[TC_DIGEST_SIZE])
{
    uint8_t pad[BLOCK], inner[SHA256_DIGEST_LENGTH];
    SHA2_CTX ctx;
    memset(pad, 0x36, sizeof(pad));
    for (size_t i = 0; i < KEY; i++)
        pad[i] ^= key[i];
    SHA256Init(&ctx);
    SHA256Update(&ctx, pad, sizeof(pad));
    SHA256Update(&ctx, (const uint8_t *)text, strlen(text));
    SHA256Final(inner, &ctx);
    for (size_t i = 0; i < sizeof(pad); i++)
        pad[i] ^= 0x36 ^ 0x5c;
    SHA256Init(&ctx);
    SHA256Update(&ctx, pad, sizeof(pad));
    SHA256Update(&ctx, inner, sizeof(inner));
    tc_digest_finish(&ctx, out);
}

int tc_open_own(const char *path, int flags)
{
    _autofd_ int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    return tc_store_own(fd, S_IFREG) ? TAKE_FD(fd) : -1;
}

static bool read_key(const char *path, uint8_t key[KEY])
{
    _autofd_ int fd = tc_open_own(path, O_RDONLY);
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    if (fd < 0 || tc_read_all(fd, &bytes) < 0 || bytes.len != KEY)
        return false;
    memcpy(key, bytes.data, KEY);
    return true;
}

/* The first one makes it; of two at once the one whose link came first. */
static bool make_key(const char *path, uint8_t key[KEY])
{
    if (read_key(path, key))
        return true;
    _autofree_ char *fresh = tc_format("%s.%d", path, (int)getpid());
    _autofd_ int fd = fresh ? tc_open_own(fresh, O_WRONLY | O_CREAT | O_EXCL) : -1;
    bool made = fd >= 0 && getrandom(key, KEY, 0) == KEY && tc_write_all(fd, key, KEY) == 0 &&
                (link(fresh, path) == 0 || errno == EEXIST);
    if (fd >= 0)
        (void)unlink(fresh);
    return made && read_key(path, key);
}

bool tc_seal(const char *dir, const char *text, char out[TC_DIGEST_SIZE])
{
    uint8_t key[KEY];
    _autofree_ char *path = tc_path_join(dir, "key");
    if (!path || !make_key(path, key))
        return false;
    authenticate(key, text, out);
    return true;
}

bool tc_seal_holds(const char *dir, const char *text, const char *seal)
{
    uint8_t key[KEY];
    char found[TC_DIGEST_SIZE];
    _autofree_ char *path = tc_path_join(dir, "key");
    if (!path || !read_key(path, key))
        return false;
    authenticate(key, text, found);
    return strncmp(found, seal, TC_DIGEST_SIZE - 1) == 0;
}
