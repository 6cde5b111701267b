/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What modules were compiled to, kept in the user's state. Compiled code runs as our own does, and
 * the engine does not see when a byte of it is another one: so a record beside it says of which
 * module, engine and settings it is, and its digest, under a key that nobody else has. What does
 * not fit is as good as not there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/path.h"
#include "call/facts.h"
#include "call/modules.h"
#include "wasm/version.h"

enum { KEY = 32, BLOCK = 64, MODULE_MAX = 256 << 20 };

/* HMAC-SHA256, as hex behind "sha256:". */
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

/* The user's own file and no other's; -1 with errno. */
static int open_own(const char *path, int flags)
{
    struct stat st;
    _autofd_ int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    errno = EPERM;
    bool own = S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
    return own ? TAKE_FD(fd) : -1;
}

static bool read_own(const char *path, struct tc_buf *ret)
{
    _autofd_ int fd = path ? open_own(path, O_RDONLY) : -1;
    ret->max = MODULE_MAX;
    return fd >= 0 && tc_read_all(fd, ret) == 0 && ret->data;
}

static bool read_key(const char *dir, uint8_t key[KEY])
{
    _autofree_ char *path = tc_path_join(dir, "key");
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    if (!read_own(path, &bytes) || bytes.len != KEY)
        return false;
    memcpy(key, bytes.data, KEY);
    return true;
}

/* The first one makes it; of two at once the one whose link came first. */
static bool make_key(const char *dir, uint8_t key[KEY])
{
    if (read_key(dir, key))
        return true;
    _autofree_ char *path = tc_path_join(dir, "key"), *fresh = NULL;
    fresh = path ? tc_format("%s.%d", path, (int)getpid()) : NULL;
    _autofd_ int fd = fresh ? open_own(fresh, O_WRONLY | O_CREAT | O_EXCL) : -1;
    bool made = fd >= 0 && getrandom(key, KEY, 0) == KEY && tc_write_all(fd, key, KEY) == 0 &&
                (link(fresh, path) == 0 || errno == EEXIST);
    if (fd >= 0)
        (void)unlink(fresh);
    return made && read_key(dir, key);
}

/* What the key speaks of. */
static char *words_of(const char *module, const char *code)
{
    return tc_format("toolcage-wasm 1\n%s\n%s\n%s\n", TC_WASM_SETTINGS, module, code);
}

static const char *hex(const char *digest)
{
    return digest + strlen("sha256:");
}

static char *record_path(const char *dir, const char *module)
{
    return tc_format("%s/%s.record", dir, hex(module));
}

static char *code_path(const char *dir, const char *code)
{
    return tc_format("%s/%s.cwasm", dir, hex(code));
}

/* The code's digest that the record names, if the record is ours. */
static bool read_record(const char *dir, const char *module, char code[TC_DIGEST_SIZE])
{
    uint8_t key[KEY];
    char found[TC_DIGEST_SIZE];
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofree_ char *path = record_path(dir, module);
    if (!read_key(dir, key) || !read_own(path, &text) || text.len != 2 * (TC_DIGEST_SIZE - 1) + 2)
        return false;
    memcpy(code, text.data, TC_DIGEST_SIZE - 1);
    code[TC_DIGEST_SIZE - 1] = '\0';
    _autofree_ char *words = words_of(module, code);
    if (!words || strncmp(code, "sha256:", 7) != 0)
        return false;
    authenticate(key, words, found);
    return memcmp(found, text.data + TC_DIGEST_SIZE, TC_DIGEST_SIZE - 1) == 0;
}

bool tc_code_find(const char *dir, const char *module, char **ret_path, char **ret_digest)
{
    char code[TC_DIGEST_SIZE], found[TC_DIGEST_SIZE];
    _autobuf_ struct tc_buf bytes = TC_BUF_INIT;
    if (!read_record(dir, module, code))
        return false;
    _autofree_ char *path = code_path(dir, code), *digest = strdup(code);
    if (!digest || !read_own(path, &bytes))
        return false;
    tc_digest(bytes.data, bytes.len, found);
    if (strcmp(found, code) != 0)
        return false;
    *ret_path = TAKE(path);
    *ret_digest = TAKE(digest);
    return true;
}

bool tc_code_keep(const char *dir, const char *module, const struct tc_buf *bytes)
{
    uint8_t key[KEY];
    char code[TC_DIGEST_SIZE], mac[TC_DIGEST_SIZE];
    if (!make_key(dir, key))
        return false;
    tc_digest(bytes->data, bytes->len, code);
    _autofree_ char *words = words_of(module, code), *path = code_path(dir, code),
                    *record = record_path(dir, module);
    if (!words || !path || !record)
        return false;
    authenticate(key, words, mac);
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_addf(&text, "%s\n%s\n", code, mac);
    return !text.failed && tc_modules_write(path, bytes) == 0 &&
           tc_modules_write(record, &text) == 0;
}

bool tc_module_digest(const char *path, char out[TC_DIGEST_SIZE])
{
    struct stat st;
    _autobuf_ struct tc_buf bytes = {.max = MODULE_MAX};
    _autofd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    errno = fd >= 0 ? EINVAL : errno;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || tc_read_all(fd, &bytes) < 0)
        return false;
    tc_digest(bytes.data, bytes.len, out);
    return true;
}
