/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compiled modules, stored in the user's state directory. Compiled code runs as native code, and
 * the engine does not notice a changed byte. So a sealed record next to the code names the module,
 * the engine, the settings and the code's digest. Code that does not match its record is ignored.
 * Megabytes of code are not read again at each call: a second sealed file has the stamp (file
 * state) of the code when its digest was checked. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/wasm/modules.h"
#include "base/digest.h"
#include "base/fd.h"
#include "policy/settings.h"
#include "state/seal.h"
#include "state/stamp.h"
#include "state/store.h"
#include "wasm/version.h"

enum { MODULE_MAX = 256 << 20 };

static bool read_own(const char *path, struct tc_buf *ret)
{
    _autofd_ int fd = path ? tc_open_own(path, O_RDONLY) : -1;
    ret->max = MODULE_MAX;
    return fd >= 0 && tc_read_all(fd, ret) == 0 && ret->data;
}

static int write_own(const char *path, const struct tc_buf *bytes)
{
    return tc_store_write(AT_FDCWD, path, bytes->data, bytes->len, 0644);
}

/* The text that the seal authenticates. */
static char *words_of(const char *module, bool deterministic, const char *code)
{
    return tc_format("toolcage-wasm 1\n%s\n%s\n%s\n",
                     deterministic ? TC_WASM_FIXED_SETTINGS : TC_WASM_SETTINGS, module, code);
}

static const char *hex(const char *digest)
{
    return digest + strlen("sha256:");
}

static char *record_path(const char *dir, const char *module, bool deterministic)
{
    return tc_format("%s/%s%s.record", dir, hex(module), deterministic ? ".deterministic" : "");
}

static char *code_path(const char *dir, const char *code)
{
    return tc_format("%s/%s.cwasm", dir, hex(code));
}

/* The code's digest from the record, if the record's seal is valid. */
static bool read_record(const char *dir, const char *module, bool deterministic,
                        char code[TC_DIGEST_SIZE])
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofree_ char *path = record_path(dir, module, deterministic);
    if (!read_own(path, &text) || text.len != 2 * (TC_DIGEST_SIZE - 1) + 2)
        return false;
    memcpy(code, text.data, TC_DIGEST_SIZE - 1);
    code[TC_DIGEST_SIZE - 1] = '\0';
    _autofree_ char *words = words_of(module, deterministic, code);
    return words && strncmp(code, "sha256:", 7) == 0 &&
           tc_seal_holds(dir, words, text.data + TC_DIGEST_SIZE);
}

/* ---- the stamp of checked code ---- */

static char *stamp_path(const char *dir, const char *code)
{
    return tc_format("%s/%s.mark", dir, hex(code));
}

static char *stamp_words(const char *code, const char *stamp)
{
    return tc_format("toolcage-wasm code 1\n%s\n%s\n", code, stamp);
}

static bool is_marked(const char *dir, const char *code, const char *stamp)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofree_ char *path = stamp_path(dir, code), *words = stamp_words(code, stamp);
    return path && words && read_own(path, &text) && text.len == TC_DIGEST_SIZE - 1 &&
           tc_seal_holds(dir, words, text.data);
}

/* If this fails, the code is read and checked again next time. */
static void keep_stamp(const char *dir, const char *code, const char *stamp)
{
    char seal[TC_DIGEST_SIZE];
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    _autofree_ char *path = stamp_path(dir, code), *words = stamp_words(code, stamp);
    if (!path || !words || !tc_seal(dir, words, seal))
        return;
    tc_buf_adds(&text, seal);
    if (!text.failed)
        (void)write_own(path, &text);
}

static bool has_digest(int fd, const char *code)
{
    char found[TC_DIGEST_SIZE];
    _autobuf_ struct tc_buf bytes = {.max = MODULE_MAX};
    if (tc_read_all(fd, &bytes) < 0)
        return false;
    tc_digest(bytes.data, bytes.len, found);
    return strcmp(found, code) == 0;
}

/* Whether the open file is that code. Also returns its stamp, for the process that loads it; "" if
 * the file changed too recently. */
static bool check_code(const char *dir, const char *code, int fd, char stamp[TC_STAMP_SIZE])
{
    struct stat st, after;
    char again[TC_STAMP_SIZE];
    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    tc_stamp(&st, stamp);
    bool settled = tc_stamp_settled(&st);
    if (settled && is_marked(dir, code, stamp))
        return true;
    if (!has_digest(fd, code) || fstat(fd, &after) < 0)
        return false;
    tc_stamp(&after, again);
    if (settled && strcmp(stamp, again) == 0)
        keep_stamp(dir, code, stamp);
    else
        stamp[0] = '\0';
    return true;
}

int tc_code_find(const char *dir, const char *module, bool deterministic, struct tc_strv *to,
                 struct toolcage_error **err)
{
    char code[TC_DIGEST_SIZE], stamp[TC_STAMP_SIZE];
    if (!read_record(dir, module, deterministic, code))
        return 0;
    _autofree_ char *path = code_path(dir, code);
    _autofd_ int fd = path ? tc_open_own(path, O_RDONLY) : -1;
    if (!check_code(dir, code, fd, stamp))
        return 0;
    bool fine = tc_setting_add(to, "code", path) && tc_setting_add(to, "code-digest", code) &&
                tc_setting_add(to, "code-stamp", stamp);
    return fine ? 1 : tc_fail_memory(err);
}

bool tc_code_keep(const char *dir, const char *module, bool deterministic,
                  const struct tc_buf *bytes)
{
    char code[TC_DIGEST_SIZE], mac[TC_DIGEST_SIZE];
    tc_digest(bytes->data, bytes->len, code);
    _autofree_ char *words = words_of(module, deterministic, code), *path = code_path(dir, code),
                    *record = record_path(dir, module, deterministic);
    if (!words || !path || !record || !tc_seal(dir, words, mac))
        return false;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_addf(&text, "%s\n%s\n", code, mac);
    return !text.failed && write_own(path, bytes) == 0 && write_own(record, &text) == 0;
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
