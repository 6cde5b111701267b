/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/show/say.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/show/clean.h"
#include "cli/show/fold.h"
#include "cli/show/io.h"
#include "progress/progress.h"

/* A tool's output and toolcage's lines share a terminal. There toolcage's lines are bold from their
 * start; a tool's cannot be, because its escape sequences are removed. */
static bool unfinished;

void tc_cli_unfinished(void)
{
    unfinished = true;
}

/* Writes one line to standard error in one write, so that lines of several processes do not mix. */
static void line(const char *prefix, const char *fmt, va_list ap) TC_PRINTF(2, 0);
static void line(const char *prefix, const char *fmt, va_list ap)
{
    _autofree_ char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0) {
        text = NULL;
        return;
    }
    _autofree_ char *clean = tc_clean(TC_CLEAN_LINE, text, strlen(text), NULL);
    _autofree_ char *whole = NULL;
    bool marked = tc_cli_draws(STDERR_FILENO);
    if (clean)
        whole = tc_cli_format("%s%s%s:%s %s\n", marked && unfinished ? "\n" : "",
                              marked ? "\x1b[1m" : "", prefix, marked ? "\x1b[0m" : "", clean);
    unfinished = false;
    tc_progress_end();
    if (whole)
        (void)tc_cli_write(STDERR_FILENO, whole, strlen(whole));
}

bool tc_cli_is_heard(void)
{
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT);
}

void tc_cli_say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line("toolcage", fmt, ap);
    va_end(ap);
}

void tc_cli_hint(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    line("hint", fmt, ap);
    va_end(ap);
}

bool tc_cli_ask(int terminal, const char *question)
{
    bool marked = tc_cli_draws(STDERR_FILENO);
    _autofree_ char *whole =
        tc_cli_format("%s%stoolcage:%s %s ", unfinished ? "\n" : "", marked ? "\x1b[1m" : "",
                      marked ? "\x1b[0m" : "", question);
    unfinished = false;
    tc_progress_end();
    return whole && tc_cli_write(terminal, whole, strlen(whole)) == 0;
}

char tc_cli_answer(int fd, FILE *in, const char *question)
{
    char line[64];
    (void)tcflush(fd, TCIFLUSH);
    if (!tc_cli_ask(fd, question) || !fgets(line, sizeof(line), in))
        return 0;
    return line[0] >= 'A' && line[0] <= 'Z' ? (char)(line[0] - 'A' + 'a') : line[0];
}

/* Text to be copied or read by programs is not folded. */
static char *fold(enum tc_paint paint, int fd, const char *text)
{
    static char *(*const folds[])(const char *, size_t) = {
        [TC_PAINT_ROWS] = tc_fold_rows,
        [TC_PAINT_SIGNS] = tc_fold_rows,
        [TC_PAINT_STATES] = tc_fold_rows,
        [TC_PAINT_FINDINGS] = tc_fold_findings,
    };
    size_t width = tc_fold_width(fd);
    return width && folds[paint] ? folds[paint](text, width) : strdup(text);
}

/* Escapes, folds and colours text for `fd`. Escaping is first, so that only toolcage's own
 * sequences remain; these have no width. */
static char *dress(enum tc_paint paint, int fd, const char *text)
{
    _autofree_ char *clean = tc_clean(TC_CLEAN_TEXT, text, strlen(text), NULL);
    _autofree_ char *folded = clean ? fold(paint, fd, clean) : NULL;
    return folded ? tc_color_paint(paint, fd, folded) : NULL;
}

void tc_cli_stderr_painted(enum tc_paint paint, const char *text)
{
    _autofree_ char *dressed = dress(paint, STDERR_FILENO, text);
    tc_progress_end();
    if (dressed)
        (void)tc_cli_write(STDERR_FILENO, dressed, strlen(dressed));
}

void tc_cli_stderr(const char *text)
{
    tc_cli_stderr_painted(TC_PAINT_NOTHING, text);
}

int tc_cli_no_memory(void)
{
    static const char text[] = "toolcage: out of memory\nhint: " TC_CLI_FREE_MEMORY "\n";
    tc_progress_end();
    (void)tc_cli_write(STDERR_FILENO, text, sizeof(text) - 1);
    return TC_EXIT_FAILURE;
}

/* The location in the policy, as " (file:line)"; "" without one. */
static bool place(const struct toolcage_error *err, char *buffer, size_t size)
{
    const char *file;
    uint32_t at;
    toolcage_error_location(err, &file, &at, NULL);
    buffer[0] = '\0';
    if (*file && at)
        (void)snprintf(buffer, size, " (%s:%u)", file, at);
    return buffer[0];
}

void tc_cli_error(const struct toolcage_error *err)
{
    char where[PATH_MAX + 32];
    const char *message = toolcage_error_message(err), *subject = toolcage_error_subject(err);
    bool has_place = place(err, where, sizeof(where));
    if (has_place && toolcage_error_code(err) == TOOLCAGE_EPOLICY)
        return tc_cli_stderr_painted(TC_PAINT_FINDINGS, toolcage_error_report(err));
    /* names the argument, because a schema's error describes only the value */
    bool name =
        toolcage_error_code(err) == TOOLCAGE_EARGUMENTS && *subject && !strstr(message, subject);
    tc_cli_say("%s%s%s%s", name ? subject : "", name ? ": " : "", message, where);
    if (*toolcage_error_hint(err))
        tc_cli_hint("%s", toolcage_error_hint(err));
}

int tc_cli_error_exit(const struct toolcage_error *err)
{
    switch (toolcage_error_code(err)) {
    case TOOLCAGE_EUNTRUSTED:
    case TOOLCAGE_EDENIED:
    case TOOLCAGE_EARGUMENTS:
    case TOOLCAGE_ENOT_EXECUTABLE:
        return TC_EXIT_DENIED;
    case TOOLCAGE_ECOMMAND_NOT_FOUND:
        return TC_EXIT_NOT_FOUND;
    default:
        return TC_EXIT_FAILURE;
    }
}

const char *tc_cli_unwritable(int errnum)
{
    return errnum == EBADF ? "it is closed" : strerror(errnum);
}

int tc_cli_print(const char *text, size_t length)
{
    tc_progress_end();
    if (!tc_cli_write(STDOUT_FILENO, text, length))
        return 0;
    if (errno == EPIPE)
        return TC_EXIT_SIGNAL + 13; /* SIGPIPE: expected when the reader closed the pipe */
    tc_cli_say("cannot write standard output: %s", tc_cli_unwritable(errno));
    tc_cli_hint(TC_CLI_OTHER_OUTPUT);
    return TC_EXIT_FAILURE;
}

int tc_cli_print_line(const char *text)
{
    _autofree_ char *line = tc_cli_format("%s\n", text);
    return line ? tc_cli_print(line, strlen(line)) : tc_cli_no_memory();
}

void tc_cli_time(char to[TC_CLI_TIME_SIZE], int64_t at, bool seconds)
{
    const time_t then = (time_t)at;
    struct tm tm = {0};
    to[0] = '\0';
    if (!localtime_r(&then, &tm))
        return;
    if (seconds)
        (void)strftime(to, TC_CLI_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm);
    else
        (void)strftime(to, TC_CLI_TIME_SIZE, "%Y-%m-%d %H:%M", &tm);
}

int tc_cli_print_painted(enum tc_paint paint, const char *text)
{
    _autofree_ char *dressed = dress(paint, STDOUT_FILENO, text);
    return dressed ? tc_cli_print(dressed, strlen(dressed)) : tc_cli_no_memory();
}

int tc_cli_print_text(enum tc_paint paint, FILE *out, char **text)
{
    _autofree_ char *whole = tc_cli_text(out, text);
    return whole ? tc_cli_print_painted(paint, whole) : tc_cli_no_memory();
}

int tc_cli_print_clean(const char *text)
{
    return tc_cli_print_painted(TC_PAINT_NOTHING, text);
}

int tc_cli_print_json(const char *json)
{
    if (!isatty(STDOUT_FILENO))
        return tc_cli_print_line(json);
    _autofree_ char *clean = tc_clean(TC_CLEAN_JSON, json, strlen(json), NULL);
    return clean ? tc_cli_print_line(clean) : tc_cli_no_memory();
}

void tc_cli_json_string(FILE *out, const char *text)
{
    char *escaped = NULL;
    size_t size = 0;
    FILE *quoted = open_memstream(&escaped, &size);
    for (const char *at = text; quoted && *at; at++)
        (void)fprintf(
            quoted, (unsigned char)*at < 0x20 || *at == '"' || *at == '\\' ? "\\u%04x" : "%c", *at);
    bool whole = quoted && !fclose(quoted);
    _autofree_ char *clean = whole ? tc_clean(TC_CLEAN_JSON, escaped, size, NULL) : NULL;
    (void)fprintf(out, "\"%s\"", clean ? clean : "out of memory");
    free(escaped);
}

void tc_cli_wrap(FILE *out, const char *words, int indent, int width)
{
    int column = indent;
    for (const char *word = words; *word;) {
        int length = (int)strcspn(word, " \n");
        if (column > indent && column + 1 + length > width) {
            (void)fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            (void)fputc(' ', out);
            column++;
        }
        (void)fprintf(out, "%.*s", length, word);
        column += length;
        word += length + (word[length] != '\0');
    }
    (void)fputc('\n', out);
}
