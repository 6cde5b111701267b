/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Keeps the shown paths: in an engine for a second, and in the file `system` of the state directory
 * until something that they depend on changes. The file has a line "STAMP PATH" for each file that
 * must be unchanged, an empty line, "#HASH" of those lines, and the shown paths. */
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "state/seal.h"
#include "state/stamp.h"
#include "state/store.h"
#include "system/owners.h"
#include "system/rule.h"

#define FILE_NAME "system"
#define HEAD "toolcage-system 7\n"

enum { CHECK_US = 1000000, TEXT_MAX = 1 << 20 };

static void stamp_of(const char *path, char out[TC_STAMP_SIZE])
{
    struct stat st;
    if (lstat(path, &st) == 0)
        tc_stamp(&st, out);
    else
        tc_strcopy(out, TC_STAMP_SIZE, "-");
}

/* ---- the text ---- */

static void add_watched(struct tc_buf *text, const char *path)
{
    char stamp[TC_STAMP_SIZE];
    stamp_of(path, stamp);
    tc_buf_addf(text, "%s %s\n", stamp, path);
}

/* False: out of memory. The databases are stamped before they are read. */
static bool make_text(tc_system_rpm *rpm, struct tc_buf *text)
{
    _autoowners_ struct tc_owners owners = {0};
    struct tc_system_scan scan = {.owners = &owners};
    tc_buf_adds(text, HEAD);
    for (size_t i = 0; tc_owner_databases[i]; i++)
        add_watched(text, tc_owner_databases[i]);
    bool fine = tc_owners_read(&owners, rpm);
    if (fine)
        tc_system_scan(&scan);
    for (size_t i = 0; i < scan.watched.count; i++)
        add_watched(text, scan.watched.items[i]);
    if (!text->failed)
        tc_buf_addf(text, "\n#%016" PRIx64 "\n", tc_hash(text->data));
    for (size_t i = 0; i < scan.paths.count; i++)
        tc_buf_addf(text, "%s\n", scan.paths.items[i]);
    fine = fine && !scan.memory && !text->failed;
    tc_strv_done(&scan.paths);
    tc_strv_done(&scan.watched);
    return fine;
}

/* Is what the line "STAMP PATH" names unchanged? */
static bool holds_line(const char *line, size_t length)
{
    char path[4096], stamp[TC_STAMP_SIZE];
    const char *blank = memchr(line, ' ', length);
    size_t rest = blank ? length - (size_t)(blank + 1 - line) : sizeof(path);
    if (rest >= sizeof(path))
        return false;
    memcpy(path, blank + 1, rest);
    path[rest] = '\0';
    stamp_of(path, stamp);
    return strlen(stamp) == (size_t)(blank - line) && memcmp(stamp, line, strlen(stamp)) == 0;
}

static bool text_holds(const struct tc_buf *text)
{
    if (!text->len || !tc_startswith(text->data, HEAD))
        return false;
    const char *at = text->data + strlen(HEAD);
    while (*at && *at != '\n') {
        size_t length = strcspn(at, "\n");
        if (!holds_line(at, length))
            return false;
        at += length + (at[length] == '\n');
    }
    return *at == '\n';
}

/* The part behind the empty line. */
static bool copy_paths(const struct tc_buf *text, char **ret)
{
    const char *end = text->len ? strstr(text->data, "\n\n") : NULL;
    *ret = strdup(end ? end + 2 : "");
    return *ret != NULL;
}

/* ---- the file ---- */

/* Leaves the buffer empty if there is no such file of this user. False: out of memory. */
static bool load_text(const char *state, struct tc_buf *text)
{
    _autofree_ char *path = state ? tc_path_join(state, FILE_NAME) : NULL;
    _autofd_ int fd = path ? tc_open_own(path, O_RDONLY) : -1;
    text->max = TEXT_MAX;
    if (fd < 0)
        return path || !state;
    if (tc_read_all(fd, text) == 0)
        return true;
    bool memory = errno == ENOMEM;
    tc_buf_done(text);
    return !memory;
}

/* A failure is harmless: the next process makes the text again. */
static void store_text(const char *state, const struct tc_buf *text)
{
    if (!state || tc_make_directories(state) < 0)
        return;
    _autofd_ int dir = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        (void)tc_store_write(dir, FILE_NAME, text->data, text->len, 0600);
}

/* ---- the cache of an engine ---- */

void tc_system_cache_init(struct tc_system_cache *cache)
{
    *cache = (struct tc_system_cache){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void tc_system_cache_done(struct tc_system_cache *cache)
{
    (void)pthread_mutex_destroy(&cache->lock);
    tc_buf_done(&cache->text);
}

/* False: out of memory. */
static bool renew(struct tc_system_cache *cache, const char *state, tc_system_rpm *rpm)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    if (text_holds(&cache->text))
        return true;
    if (!load_text(state, &text))
        return false;
    if (!text_holds(&text)) {
        tc_buf_done(&text);
        text = TC_BUF_INIT;
        if (!make_text(rpm, &text))
            return false;
        store_text(state, &text);
    }
    tc_buf_done(&cache->text);
    cache->text = text;
    text = TC_BUF_INIT;
    return true;
}

bool tc_system_now(struct tc_system_cache *cache, const char *state, tc_system_rpm *rpm, char **ret)
{
    bool fine = true;
    int saved = errno;
    (void)pthread_mutex_lock(&cache->lock);
    int64_t now = tc_now_us();
    if (!cache->checked || now - cache->checked >= CHECK_US) {
        fine = renew(cache, state, rpm);
        cache->checked = fine ? now : 0;
    }
    fine = fine && copy_paths(&cache->text, ret);
    (void)pthread_mutex_unlock(&cache->lock);
    errno = saved;
    return fine;
}

bool tc_system_stored(const char *state, char **ret)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    return load_text(state, &text) && copy_paths(&text, ret);
}
