/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/live/files.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/live/action.h"
#include "cli/live/place.h"
#include "cli/live/wire.h"
#include "cli/show/say.h"

enum { TEXT_MAX = 32 << 20 };

struct client {
    int sock, code;
    FILE *out, *err, *text;
    bool asked; /* to cancel the action */
};

static volatile sig_atomic_t last_signal, open_stream = -1;

/* Ends the transfer, which would otherwise wait for bytes. */
static void on_signal(int signal_number)
{
    int saved = errno;
    if (open_stream >= 0)
        (void)shutdown(open_stream, SHUT_RDWR);
    last_signal = signal_number;
    errno = saved;
}

static void catch_signals(void)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < TC_COUNT(caught); i++)
        if (!sigaction(caught[i], NULL, &before) && before.sa_handler != SIG_IGN)
            (void)sigaction(caught[i], &action, NULL);
}

static int send_request(const struct client *c, const struct tc_file_action *a,
                        const struct tc_args *args)
{
    bool json = tc_args_has(args, "json") && !a->plain;
    int rc = json ? tc_wire_send(c->sock, TC_WIRE_JSON, NULL, 0, -1, false) : 0;
    for (size_t i = 0; !rc && i < args->given_count; i++) {
        const struct tc_given *given = &args->given[i];
        if (!given->option->key)
            continue;
        _autofree_ char *text = tc_cli_format("%s=%s", given->option->key, given->value);
        errno = ENOMEM;
        rc = text ? tc_wire_send(c->sock, TC_WIRE_NARROW, text, strlen(text), -1, false) : -1;
    }
    for (size_t i = 0; !rc && i < TC_ACTION_WORDS; i++) {
        const char *word = a->words[i] ? a->words[i] : "";
        rc = tc_wire_send(c->sock, TC_WIRE_WORD, word, strlen(word), -1, false);
    }
    return rc ? rc : tc_wire_send(c->sock, TC_WIRE_FILE, NULL, 0, -1, false);
}

static void keep(FILE *to, const char *bytes, size_t length)
{
    if (to && ftell(to) + (long)length <= TEXT_MAX)
        (void)fwrite(bytes, 1, length, to);
}

/* Reads packets until the stream arrives, or the end. 0, or -1: the owner is gone. */
static int read_owner(struct client *c, int *ret_stream)
{
    static char bytes[TC_WIRE_MAX + 1];
    char kind;
    while (c->code < 0 && *ret_stream < 0) {
        if (last_signal && !c->asked) {
            (void)tc_wire_send(c->sock, TC_WIRE_CANCEL, NULL, 0, -1, false);
            c->asked = true;
        }
        ssize_t n = tc_wire_receive(c->sock, &kind, bytes, ret_stream, false);
        if (n < 0 && (errno == EINTR || errno == ECONNRESET))
            continue;
        if (n < 0)
            return -1;
        if (kind == TC_WIRE_OUT)
            keep(c->out, bytes, (size_t)n);
        else if (kind == TC_WIRE_ERR)
            keep(c->err, bytes, (size_t)n);
        else if (kind == TC_WIRE_TEXT)
            keep(c->text, bytes, (size_t)n);
        else if (kind == TC_WIRE_EXIT && n == 1)
            c->code = (unsigned char)bytes[0];
    }
    return 0;
}

static int move_content(struct tc_file_action *a, int stream, struct toolcage_error **err)
{
    open_stream = stream;
    if (last_signal)
        (void)shutdown(stream, SHUT_RDWR);
    int rc = a->receives ? toolcage_stream_receive(stream, a->fd, a->entry, a->most, &a->file, err)
                         : toolcage_stream_send(stream, a->fd, a->entry, err);
    open_stream = -1;
    return rc;
}

static int fail_owner(struct tc_failure *failure)
{
    return tc_failure_set(failure, TOOLCAGE_EHELPER, "toolcage session list",
                          "the session's owner ended without an answer");
}

/* A stream that ended early has its reason in the action's result. */
static bool is_own_failure(const struct tc_failure *failure, int code)
{
    return code == 0 || toolcage_error_code(failure->error) != TOOLCAGE_EBACKEND;
}

static int talk(struct client *c, struct tc_file_action *a, const struct tc_args *args,
                struct tc_failure *failure)
{
    _autofd_ int stream = -1;
    int none = -1, rc = 0;
    if (send_request(c, a, args) || read_owner(c, &stream))
        return fail_owner(failure);
    if (stream >= 0) {
        rc = move_content(a, stream, tc_failure_error(failure));
        (void)shutdown(stream, SHUT_RDWR); /* the action ends after a failure here */
    }
    if (c->code < 0 && read_owner(c, &none))
        c->code = -1;
    if (none >= 0)
        (void)close(none);
    if (c->code < 0 && !rc)
        return fail_owner(failure);
    if (rc && !last_signal && is_own_failure(failure, c->code))
        return -1;
    tc_failure_done(failure);
    *failure = (struct tc_failure){0};
    return 0;
}

int tc_file_action_run(struct tc_file_action *a, const struct tc_args *args,
                       struct tc_failure *failure)
{
    struct client c = {.code = -1};
    size_t length;
    if (tc_place_check(a->name, failure))
        return -1;
    _autofd_ int sock = tc_place_connect(a->name, failure);
    if (sock < 0)
        return -1;
    c.sock = sock;
    c.out = open_memstream(&a->out, &a->out_length);
    c.err = open_memstream(&a->err, &length);
    c.text = open_memstream(&a->text, &length);
    catch_signals();
    int rc = c.out && c.err && c.text
                 ? talk(&c, a, args, failure)
                 : tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    FILE *const all[] = {c.out, c.err, c.text};
    for (size_t i = 0; i < TC_COUNT(all); i++)
        if (all[i])
            (void)fclose(all[i]);
    a->stopped = last_signal != 0;
    a->code = a->stopped ? TC_EXIT_SIGNAL + last_signal : c.code;
    return rc;
}

void tc_file_action_done(struct tc_file_action *a)
{
    free(a->out);
    free(a->err);
    free(a->text);
}
