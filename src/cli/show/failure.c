/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/clean.h"
#include "cli/show/say.h"

int tc_failure_about(struct tc_failure *failure, const char *subject)
{
    free(failure->subject);
    failure->subject = strdup(subject);
    return -1;
}

/* Escapes line breaks, so that a name or argument cannot imitate a second line. */
static char *one_line(const char *text)
{
    return text ? tc_clean(TC_CLEAN_LINE, text, strlen(text), NULL) : NULL;
}

int tc_failure_set(struct tc_failure *failure, int code, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    failure->code = code;
    free(failure->message);
    free(failure->hint);
    _autofree_ char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    failure->message = one_line(text);
    const char *usual = code == TOOLCAGE_EMEMORY ? TC_CLI_FREE_MEMORY : "";
    failure->hint = one_line(hint ? hint : usual);
    va_end(ap);
    return -1;
}

int tc_failure_of_pipes(struct tc_failure *failure, int rc)
{
    if (rc >= 0 || failure->error)
        return rc;
    if (rc == TOOLCAGE_ESYSTEM)
        return tc_failure_set(failure, rc, "restart the client, or free memory on this machine",
                              "the pipes to the client failed: %s", strerror(errno));
    return tc_failure_set(failure, rc, NULL, "out of memory");
}

void tc_failure_done(struct tc_failure *failure)
{
    toolcage_error_free(failure->error);
    free(failure->message);
    free(failure->hint);
    free(failure->subject);
    *failure = (struct tc_failure){0};
}

static int exit_of(const struct tc_failure *failure)
{
    if (failure->error)
        return tc_cli_error_exit(failure->error);
    return failure->code == TOOLCAGE_EUNTRUSTED || failure->code == TOOLCAGE_EDENIED
               ? TC_EXIT_DENIED
               : TC_EXIT_FAILURE;
}

static void tell_text(const struct tc_failure *failure)
{
    if (failure->error)
        return tc_cli_error(failure->error);
    if (!failure->message || !failure->hint)
        return (void)tc_cli_no_memory();
    tc_cli_say("%s", failure->message);
    if (*failure->hint)
        tc_cli_hint("%s", failure->hint);
}

static void put_member(FILE *out, const char *key, const char *text)
{
    (void)fprintf(out, ",\"%s\":", key);
    tc_cli_json_string(out, text ? text : "");
}

static void put_error(FILE *out, const struct tc_failure *failure)
{
    if (failure->error) {
        (void)fputs(toolcage_error_json(failure->error), out);
        return;
    }
    (void)fprintf(out, "{\"code\":\"%s\"", toolcage_error_word(failure->code));
    put_member(out, "stage", failure->code == TOOLCAGE_EUNTRUSTED ? "trust" : "command line");
    put_member(out, "subject", failure->subject);
    (void)fputs(",\"errno\":0", out);
    put_member(out, "message", failure->message ? failure->message : "out of memory");
    put_member(out, "hint", failure->message ? failure->hint : TC_CLI_FREE_MEMORY);
    (void)fputs(",\"location\":null}", out);
}

/* The message for the model, in the form of a result's. */
static void put_message(FILE *out, const struct tc_failure *failure)
{
    const char *message =
        failure->error ? toolcage_error_message(failure->error) : failure->message;
    const char *hint = failure->error ? toolcage_error_hint(failure->error) : failure->hint;
    _autofree_ char *text = tc_cli_format(
        "%s: %s%s%s\n", exit_of(failure) == TC_EXIT_DENIED ? "denied" : "error",
        message ? message : "out of memory", hint && *hint ? ". Hint: " : "", hint ? hint : "");
    put_member(out, "message", text ? text : "error: out of memory\n");
}

/* The same fields as a result of the library, so that readers need only one schema. */
static void put_result(FILE *out, const struct tc_failure *failure, const char *tool)
{
    static const char stream[] = "{\"text\":\"\",\"bytes\":0,\"truncated\":false}";
    (void)fputs("{\"version\":1,\"call\":null", out);
    if (tool)
        put_member(out, "tool", tool);
    else
        (void)fputs(",\"tool\":null", out);
    put_member(out, "status", exit_of(failure) == TC_EXIT_DENIED ? "denied" : "error");
    (void)fputs(",\"exit_code\":null,\"signal\":null,\"limit\":null,\"error\":", out);
    put_error(out, failure);
    (void)fputs(",\"backend\":null,\"layers\":[],\"tier\":null,\"policy\":null,\"grant\":null",
                out);
    (void)fprintf(out, ",\"stdout\":%s,\"stderr\":%s", stream, stream);
    put_message(out, failure);
    (void)fputs(",\"changes\":[],\"files\":[],\"session\":null", out);
    (void)fputs(",\"usage\":{\"wall_ms\":0,\"cpu_ms\":null,\"memory_peak_bytes\":null,", out);
    (void)fputs("\"pids_peak\":null,\"egress_bytes\":0,\"ingress_bytes\":0,\"destinations\":[]},"
                "\"denials\":[],",
                out);
    (void)fputs("\"omitted\":{\"changes\":0,\"files\":0,\"denials\":0},\"enforcement\":{}}\n", out);
}

int tc_failure_tell(const struct tc_failure *failure, const struct tc_args *args, const char *tool)
{
    int code = exit_of(failure);
    if (!tc_args_has(args, "json"))
        return tell_text(failure), code;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tc_cli_no_memory();
    put_result(out, failure, tool);
    int rc = fclose(out) ? tc_cli_no_memory() : tc_cli_print(text, size);
    free(text);
    return rc ? rc : code;
}
