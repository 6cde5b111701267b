/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/hook/coded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/call/replace.h"
#include "cli/cli.h"
#include "cli/show/io.h"

enum { WORD_MAX = 32 << 10, TEXT_MAX = 1 << 20, OLD_S = 24 * 60 * 60, NAME_MAX_SIZE = 64 };

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./,";

/* ---- long texts ---- */

#define FOLDER "hook"
#define LONG '@'

static char *path_of(const char *name)
{
    _autofree_ char *below = tc_cli_format(FOLDER "/%s", name);
    return below ? tc_user_path("XDG_STATE_HOME", ".local/state", below) : NULL;
}

/* Removes the texts of commands that never ran. */
static void remove_old(const char *directory)
{
    struct stat st;
    time_t now = time(NULL);
    DIR *dir = opendir(directory);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] == 't' &&
            !fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
            now - st.st_mtime > OLD_S)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
}

static char *store(const char *text)
{
    char random[TC_REPLACE_NAME], name[NAME_MAX_SIZE];
    _autofree_ char *directory = path_of("");
    if (!directory)
        return NULL;
    directory[strlen(directory) - 1] = '\0';
    if (tc_record_directory(directory) || tc_replace_name(random))
        return NULL;
    remove_old(directory);
    (void)snprintf(name, sizeof(name), "t%s", strrchr(random, '-') + 1);
    _autofree_ char *path = path_of(name);
    if (!path || tc_record_write(path, text, strlen(text)))
        return NULL;
    return tc_cli_format("%c%s", LONG, name);
}

static char *load(const char *name)
{
    size_t length;
    errno = EINVAL;
    if (name[0] != 't' || name[strspn(name, "t0123456789abcdef")] || strlen(name) > NAME_MAX_SIZE)
        return NULL;
    _autofree_ char *path = path_of(name);
    char *text = path ? tc_cli_read_input(path, TEXT_MAX, &length) : NULL;
    if (text)
        (void)unlink(path);
    return text;
}

/* ---- words ---- */

char *tc_hook_encode(const char *text)
{
    size_t length = strlen(text);
    errno = E2BIG;
    if (length >= TEXT_MAX)
        return NULL;
    static const char digits[] = "0123456789ABCDEF";
    char *word = malloc(3 * length + 2), *to = word;
    for (; word && *text; text++)
        if (strchr(plain, *text)) {
            *to++ = *text;
        } else if (*text == ' ') {
            *to++ = '+';
        } else {
            *to++ = '%';
            *to++ = digits[(unsigned char)*text >> 4];
            *to++ = digits[(unsigned char)*text & 15];
        }
    if (!word)
        return NULL;
    *to = '\0';
    if (to - word <= WORD_MAX)
        return word;
    free(word);
    return store(text - length);
}

static int digit(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

char *tc_hook_decode(const char *word)
{
    if (word[0] == LONG)
        return load(word + 1);
    char *text = malloc(strlen(word) + 1), *to = text;
    for (; text && *word; word++) {
        int high = *word == '%' ? digit(word[1]) : -1, low = high < 0 ? -1 : digit(word[2]);
        if (low >= 0 && (high || low)) {
            *to++ = (char)(high * 16 + low);
            word += 2;
        } else if (*word == '+' || strchr(plain, *word)) {
            *to++ = *word == '+' ? ' ' : *word;
        } else {
            free(text);
            errno = EINVAL;
            return NULL;
        }
    }
    if (text)
        *to = '\0';
    return text;
}
