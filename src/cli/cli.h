/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Shared by the verbs of the command line. The command line uses only the library's public headers,
 * so an embedder can do everything that it does. */
#ifndef TC_CLI_CLI_H
#define TC_CLI_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <toolcage/toolcage.h>
#include <toolcage/tools.h>
#include <unistd.h>

static inline void tc_cli_free(void *p)
{
    free(*(void **)p);
}

static inline void tc_cli_close(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void tc_cli_error_free(struct toolcage_error **err)
{
    toolcage_error_free(*err);
}

#define _autofree_ __attribute__((cleanup(tc_cli_free)))
#define _autofd_ __attribute__((cleanup(tc_cli_close)))
#define _autoerror_ __attribute__((cleanup(tc_cli_error_free)))
#define TC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define TC_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Microseconds of the monotonic clock. */
static inline int64_t tc_cli_now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t tc_cli_now_ms(void)
{
    return tc_cli_now_us() / 1000;
}

/* As asprintf(): owned; NULL if memory is exhausted. */
static inline char *tc_cli_format(const char *fmt, ...) TC_PRINTF(1, 2);
static inline char *tc_cli_format(const char *fmt, ...)
{
    char *text;
    va_list ap;
    va_start(ap, fmt);
    int length = vasprintf(&text, fmt, ap);
    va_end(ap);
    return length < 0 ? NULL : text;
}

/* Closes a stream of open_memstream(); returns its text, owned; NULL if memory is exhausted. */
static inline char *tc_cli_text(FILE *out, char **text)
{
    if (!fclose(out))
        return *text;
    free(*text);
    return *text = NULL;
}

/* The command line's own exit codes; other codes are the tool's. */
enum {
    TC_EXIT_TIMEOUT = 124,
    TC_EXIT_FAILURE = 125,
    TC_EXIT_DENIED = 126,
    TC_EXIT_NOT_FOUND = 127,
    TC_EXIT_SIGNAL = 128,
};

struct tc_option;
struct tc_args;

/* One verb. A member of a group has two words in `name` ("policy check"). */
struct tc_verb {
    const char *name, *alias;
    const char *operands; /* the arguments after the options, for the usage line */
    const char *summary;  /* one line for `toolcage --help` */
    const char *text;     /* notes and examples, printed by `--help` below the options */
    const struct tc_option *options;
    bool minor;      /* not in the short help, which fits a screen */
    bool command;    /* the first argument that is not an option ends the options */
    int least, most; /* number of arguments; most < 0: any number */
    int (*run)(const struct tc_args *args);
};

extern const struct tc_verb tc_verb_exec, tc_verb_call, tc_verb_shell, tc_verb_tools, tc_verb_init,
    tc_verb_learn, tc_verb_allow, tc_verb_changes, tc_verb_approvals, tc_verb_audit,
    tc_verb_session, tc_verb_session_start, tc_verb_session_exec, tc_verb_session_logs,
    tc_verb_session_attach, tc_verb_session_wait, tc_verb_session_signal, tc_verb_session_put,
    tc_verb_session_get, tc_verb_session_ls, tc_verb_session_stat, tc_verb_session_rm,
    tc_verb_session_ports, tc_verb_setup, tc_verb_policy_check, tc_verb_policy_explain,
    tc_verb_policy_test, tc_verb_policy_trust, tc_verb_policy_digest, tc_verb_policy_schema,
    tc_verb_policy_diff, tc_verb_policy_import, tc_verb_image_build, tc_verb_image_import,
    tc_verb_image_list, tc_verb_image_inspect, tc_verb_image_remove, tc_verb_doctor, tc_verb_egress,
    tc_verb_agent, tc_verb_mcp, tc_verb_wrap, tc_verb_wasm_install, tc_verb_wasm_compile,
    tc_verb_wasm_inspect, tc_verb_wasm_list, tc_verb_completion, tc_verb_version, tc_verb_receipt,
    tc_verb_receipt_verify, tc_verb_receipt_key, tc_verb_adopt, tc_verb_pins, tc_verb_serve,
    tc_verb_hook, tc_verb_hook_run, tc_verb_hook_install;

/* verbs.c: all verbs, in the order of the help. */

/* NULL after the last. */
const struct tc_verb *tc_verb_at(size_t index);
/* The title of the section of the help that starts with this verb; NULL: the section continues. */
const char *tc_verb_section(const struct tc_verb *verb);
/* The verb that argv starts with, and the number of words in its name; NULL and 0 if there is none.
 * */
const struct tc_verb *tc_verb_find(int argc, char **argv, int *ret_words);

#endif
