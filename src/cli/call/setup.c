/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/call/setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/call/lookup.h"
#include "cli/call/secret.h"
#include "cli/show/io.h"

/* ---- variables for the tool: --env and --env-file ---- */

enum { FILE_MAX = 1 << 20 };

/* Sets NAME=VALUE, or NAME with the caller's value. 0, or -1 with the failure. */
static int give_variable(struct toolcage_call *call, const char *said, struct tc_failure *failure)
{
    if (strchr(said, '='))
        return toolcage_call_set(call, "env", said, tc_failure_error(failure));
    const char *own = getenv(said);
    if (!own)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "give a value: --env NAME=VALUE",
                              "--env %s: there is no such variable in your environment", said);
    _autofree_ char *whole = tc_cli_format("%s=%s", said, own);
    if (!whole)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return toolcage_call_set(call, "env", whole, tc_failure_error(failure));
}

/* The library's error for an invalid name quotes the whole entry, and the value may be a secret. */
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
    if (strncmp(entry, "export ", strlen("export ")) == 0)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                              "remove the word export: no shell reads this file, and quotes and $ "
                              "are part of the value",
                              "--env-file %s: entry %zu begins with export", path, number);
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

/* Sets each NAME=VALUE of a file. Entries are lines, or NUL-terminated if the file contains a NUL
 * byte. A file hides values that process lists would show in arguments. */
static int give_file(struct toolcage_call *call, const char *path, struct tc_writers writers,
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

/* ---- paths ---- */

static char *escape_equals(const char *path)
{
    char *out = malloc(2 * strlen(path) + 1), *to = out;
    for (; out && *path; path++) {
        if (*path == '=')
            *to++ = '\\';
        *to++ = *path;
    }
    if (out)
        *to = '\0';
    return out;
}

/* PATH=FROM, or one path with an equals sign in its name: whichever exists. */
static int give_path(struct toolcage_call *call, const char *key, const char *value,
                     struct tc_failure *failure)
{
    const char *equals = strchr(value, '=');
    bool whole = equals && equals > value && equals[-1] != '\\' && !access(value, F_OK);
    _autofree_ char *path = whole ? escape_equals(value) : NULL;
    if (whole && !path)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    if (whole && !access(equals + 1, F_OK))
        return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                              "write \\= for the equals sign of a name, or an absolute FROM",
                              "--%s %s: this path exists, and so does %s", key, value, equals + 1);
    return toolcage_call_set(call, key, path ? path : value, tc_failure_error(failure));
}

/* ---- the call ---- */

static int set(struct toolcage_call *call, const struct tc_given *given, struct tc_writers writers,
               struct tc_failure *failure)
{
    const char *key = given->option->key, *fixed = strchr(key, '=');
    struct toolcage_error **err = tc_failure_error(failure);
    if (!strcmp(key, "env"))
        return give_variable(call, given->value, failure);
    if (!strcmp(key, "env-file"))
        return give_file(call, given->value, writers, failure);
    if (!strcmp(key, "read") || !strcmp(key, "write"))
        return give_path(call, key, given->value, failure);
    if (!fixed)
        return toolcage_call_set(call, key, given->value, err);
    _autofree_ char *name = strndup(key, (size_t)(fixed - key));
    if (!name)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    return toolcage_call_set(call, name, fixed + 1, err);
}

static int narrow(const struct tc_setup *setup, const struct tc_args *args,
                  struct tc_failure *failure)
{
    const struct tc_writers writers = {setup->found.policy, tc_args_value(args, "workspace")};
    for (size_t i = 0; i < args->given_count; i++)
        if (args->given[i].option->key && set(setup->call, &args->given[i], writers, failure))
            return -1;
    return 0;
}

int tc_setup_open(const struct tc_args *args, const char *tool, enum tc_lookup_flags flags,
                  struct tc_setup *ret, struct tc_failure *failure)
{
    *ret = (struct tc_setup){0};
    struct toolcage_error **err = tc_failure_error(failure);
    int64_t start = tc_cli_now_us();
    /* first, so that the helper starts while the policy is searched */
    if (toolcage_engine_new(&ret->engine, err))
        return -1;
    int64_t begun = tc_cli_now_us();
    if (tc_args_has(args, "preset")
            ? tc_preset_open(args, &ret->found, failure)
            : tc_lookup(tc_args_value(args, "policy"), flags, &ret->found, failure))
        return -1;
    ret->engine_us = begun - start;
    ret->policy_us = tc_cli_now_us() - begun;
    if (tool && !ret->found.path)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND,
                              "write a policy (toolcage init), or name one with --policy FILE",
                              "there is no policy here, so there is no tool %s", tool);
    if (toolcage_call_new(ret->engine, ret->found.policy, tool, &ret->call, err))
        return -1;
    const char *session = tc_args_value(args, "session");
    if (session && toolcage_call_set_session(ret->call, session, err))
        return -1;
    return narrow(ret, args, failure);
}

int tc_setup_command(struct tc_setup *setup, char *const words[], size_t count,
                     struct tc_failure *failure)
{
    if (!count)
        return 0;
    return toolcage_call_set_command(setup->call, count, (const char *const *)words,
                                     tc_failure_error(failure));
}

void tc_setup_close(struct tc_setup *setup)
{
    (void)toolcage_call_unref(setup->call);
    (void)toolcage_engine_unref(setup->engine);
    tc_found_done(&setup->found);
    *setup = (struct tc_setup){0};
}
