/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/say.h"

int tc_failure_set(struct tc_failure *failure, int code, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    failure->code = code;
    free(failure->message);
    free(failure->hint);
    if (vasprintf(&failure->message, fmt, ap) < 0)
        failure->message = NULL;
    failure->hint = strdup(hint ? hint : "");
    va_end(ap);
    return -1;
}

void tc_failure_done(struct tc_failure *failure)
{
    toolcage_error_free(failure->error);
    free(failure->message);
    free(failure->hint);
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

static void put_error(FILE *out, const struct tc_failure *failure)
{
    if (failure->error) {
        (void)fputs(toolcage_error_json(failure->error), out);
        return;
    }
    (void)fprintf(
        out,
        "{\"code\":\"%s\",\"stage\":\"policy lookup\",\"subject\":\"\",\"errno\":0,\"message\":",
        toolcage_error_word(failure->code));
    tc_cli_json_string(out, failure->message ? failure->message : "out of memory");
    (void)fputs(",\"hint\":", out);
    tc_cli_json_string(out, failure->hint ? failure->hint : "");
    (void)fputs(",\"location\":null}", out);
}

/* The same fields as a result of the library has, so that a reader needs one shape only. */
static void put_result(FILE *out, const struct tc_failure *failure, const char *tool)
{
    static const char stream[] = "{\"text\":\"\",\"bytes\":0,\"truncated\":false}";
    (void)fputs("{\"version\":1,\"call\":null,\"tool\":", out);
    if (tool)
        tc_cli_json_string(out, tool);
    else
        (void)fputs("null", out);
    (void)fprintf(out,
                  ",\"status\":\"%s\",\"exit_code\":null,\"signal\":null,\"limit\":null,\"error\":",
                  exit_of(failure) == TC_EXIT_DENIED ? "denied" : "error");
    put_error(out, failure);
    (void)fprintf(out,
                  ",\"backend\":null,\"layers\":[],\"tier\":null,\"policy\":null,\"grant\":null,"
                  "\"stdout\":%s,\"stderr\":%s,\"message\":",
                  stream, stream);
    const char *message =
        failure->error ? toolcage_error_message(failure->error) : failure->message;
    tc_cli_json_string(out, message ? message : "out of memory");
    (void)fputs(",\"changes\":[],\"files\":[],\"usage\":{\"wall_ms\":0,\"cpu_ms\":0,\"memory_peak_"
                "bytes\":0,"
                "\"pids_peak\":0,\"egress_bytes\":0},\"denials\":[],"
                "\"omitted\":{\"changes\":0,\"files\":0,\"denials\":0},\"enforcement\":{}}\n",
                out);
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
