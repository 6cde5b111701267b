/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/say.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* The code point at `at` and its length; length 0 for a byte that is not UTF-8. */
static uint32_t decode(const unsigned char *at, size_t *ret_len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = at[0] < 0x80 ? 1 : at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc2 ? 2 : 0;
    *ret_len = 0;
    if (!len || at[0] > 0xf4)
        return 0;
    uint32_t point = len == 1 ? at[0] : at[0] & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    if (point < least[len] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return 0;
    *ret_len = len;
    return point;
}

/* Control characters, and those that reorder or hide what a terminal shows. */
static bool harmful(uint32_t point)
{
    if (point < 0x20)
        return point != '\n' && point != '\t';
    return (point >= 0x7f && point < 0xa0) || point == 0x61c ||
           (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff ||
           (point >= 0xe0000 && point < 0xe1000);
}

char *tc_cli_clean(const char *text)
{
    /* the longest escape of one byte is \xff, of a sequence of two or more \u{10ffff} */
    char *out = malloc(strlen(text) * 5 + 12);
    if (!out)
        return NULL;
    char *to = out;
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t len;
        uint32_t point = decode(at, &len);
        if (len && !harmful(point)) {
            to = mempcpy(to, at, len);
            at += len;
            continue;
        }
        to += snprintf(to, 12, len > 1 ? "\\u{%x}" : "\\x%02x", len > 1 ? point : *at);
        at += len ? len : 1;
    }
    *to = '\0';
    return out;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            (void)poll(&ready, 1, -1);
            continue;
        }
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        }
    }
    return 0;
}

/* One line on standard error in one write, so that lines of several processes do not mix. */
static void line(const char *prefix, const char *fmt, va_list ap) TC_PRINTF(2, 0);
static void line(const char *prefix, const char *fmt, va_list ap)
{
    _autofree_ char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0) {
        text = NULL;
        return;
    }
    _autofree_ char *clean = tc_cli_clean(text);
    _autofree_ char *whole = NULL;
    int length = clean ? asprintf(&whole, "%s: %s\n", prefix, clean) : -1;
    if (length < 0)
        whole = NULL;
    else
        (void)write_all(STDERR_FILENO, whole, (size_t)length);
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

void tc_cli_stderr(const char *text)
{
    _autofree_ char *clean = tc_cli_clean(text);
    if (clean)
        (void)write_all(STDERR_FILENO, clean, strlen(clean));
}

int tc_cli_no_memory(void)
{
    static const char text[] = "toolcage: out of memory\n";
    (void)write_all(STDERR_FILENO, text, sizeof(text) - 1);
    return TC_EXIT_FAILURE;
}

/* The place in the policy, as " (file:line)"; "" without one. */
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
        return tc_cli_stderr(toolcage_error_report(err));
    /* which argument: a schema's complaint speaks of the value alone */
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

int tc_cli_print(const char *text, size_t length)
{
    if (!write_all(STDOUT_FILENO, text, length))
        return 0;
    if (errno == EPIPE)
        return TC_EXIT_SIGNAL + 13; /* SIGPIPE: what the reader of a closed pipe expects */
    tc_cli_say("cannot write standard output: %s", strerror(errno));
    return TC_EXIT_FAILURE;
}

int tc_cli_print_clean(const char *text)
{
    _autofree_ char *clean = tc_cli_clean(text);
    return clean ? tc_cli_print(clean, strlen(clean)) : tc_cli_no_memory();
}

void tc_cli_json_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t len;
        (void)decode(at, &len);
        if (!len)
            (void)fputs("\\ufffd", out);
        else if (*at < 0x20 || *at == '"' || *at == '\\')
            (void)fprintf(out, "\\u%04x", *at);
        else
            (void)fwrite(at, 1, len, out);
        at += len ? len : 1;
    }
    (void)fputc('"', out);
}
