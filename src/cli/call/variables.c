/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/variables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/io.h"

enum { FILE_MAX = 1 << 20 };

int tc_variables_give(struct toolcage_call *call, const char *said, struct tc_failure *failure)
{
    _autofree_ char *whole = NULL;
    if (strchr(said, '='))
        return toolcage_call_set(call, "env", said, tc_failure_error(failure));
    const char *own = getenv(said);
    if (!own)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "give a value: --env NAME=VALUE",
                              "--env %s: there is no such variable in your environment", said);
    if (asprintf(&whole, "%s=%s", said, own) < 0) {
        whole = NULL;
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    }
    return toolcage_call_set(call, "env", whole, tc_failure_error(failure));
}

/* What the library says of a wrong name quotes the whole entry. Here its value may be a secret. */
static bool is_entry(const char *entry)
{
    size_t n = strspn(entry, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return n && (entry[0] < '0' || entry[0] > '9') && entry[n] == '=';
}

static int give_entry(struct toolcage_call *call, const char *entry, const char *path,
                      size_t number, struct tc_failure *failure)
{
    if (is_entry(entry))
        return toolcage_call_set(call, "env", entry, tc_failure_error(failure));
    return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                          "write NAME=VALUE on each line; a value of more lines needs entries that "
                          "end in a NUL byte, as env -0 prints them",
                          "--env-file %s: entry %zu is not NAME=VALUE", path, number);
}

static int give_lines(struct toolcage_call *call, char *text, const char *path,
                      struct tc_failure *failure)
{
    char *next = text;
    for (size_t number = 1; next; number++) {
        char *line = strsep(&next, "\n");
        size_t length = strlen(line);
        if (length && line[length - 1] == '\r')
            line[length - 1] = '\0';
        if (line[0] && line[0] != '#' && give_entry(call, line, path, number, failure))
            return -1;
    }
    return 0;
}

static int give_entries(struct toolcage_call *call, const char *text, size_t length,
                        const char *path, struct tc_failure *failure)
{
    const char *end = text + length;
    for (size_t number = 1; text < end; text += strlen(text) + 1, number++)
        if (give_entry(call, text, path, number, failure))
            return -1;
    return 0;
}

int tc_variables_give_file(struct toolcage_call *call, const char *path, struct tc_writers writers,
                           struct tc_failure *failure)
{
    size_t length = 0;
    if (!strcmp(path, "-"))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "name a file, or /dev/fd/N",
                              "--env-file -: standard input is the tool's");
    if (tc_secret_check(path, writers, failure))
        return -1;
    char *text = tc_cli_read_input(path, FILE_MAX, &length);
    if (!text)
        return tc_failure_set(failure, errno == ENOENT ? TOOLCAGE_ENOT_FOUND : TOOLCAGE_ESYSTEM,
                              "name a file of at most 1 MiB that you can read",
                              "cannot read --env-file %s: %s", path, strerror(errno));
    int rc = memchr(text, '\0', length) ? give_entries(call, text, length, path, failure)
                                        : give_lines(call, text, path, failure);
    explicit_bzero(text, length);
    free(text);
    return rc;
}
