/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One thread and one ppoll(): clients are never waited for. What a client has not read yet is
 * queued; its command's output limit bounds the queue. */
#include "cli/live/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/live/action.h"
#include "cli/live/detached.h"
#include "cli/live/place.h"
#include "cli/live/queue.h"
#include "cli/live/wire.h"
#include "cli/show/report.h"
#include "cli/show/say.h"

/* A detached command is not ended early unless it is requested. */
#define DETACHED_TIMEOUT "24h"

/* More clients than commands, so that a session with all its commands can be listed and ended. */
enum { COMMANDS_MAX = 64, CLIENTS_MAX = COMMANDS_MAX + 8, REQUEST_MS = 2000 };
enum { LAST_MS = 2000, CAPTURED_MAX = 64 << 20 };
enum { TERM_SIZE = 65 };
enum { SCREEN_MAX = 256 << 10 /* queued bytes of a terminal; then its command waits */ };

struct client {
    int fd;   /* -1: the place is free */
    int pipe; /* the write end of the command's input, or the stream of its file action, until it is
                 sent; -1: none */
    struct toolcage_call *call;
    char **words; /* of its command, NULL-terminated */
    size_t word_count, received;
    int64_t since;
    bool timed, detach, terminal;
    char term[TERM_SIZE];            /* the kind of terminal */
    char watches;                    /* TC_WIRE_LOGS, FOLLOW, ATTACH or WAIT; 0: none */
    struct tc_detached *watched;     /* NULL: all */
    uint64_t seen;                   /* of its output */
    bool json, shell, started, ends; /* `ends`: waits for the end of the session */
    bool last;                       /* its last packet is queued */
    bool file, gone;                 /* its command is a file action; it has ended before that */
    struct tc_queue queue;
};

struct server {
    const struct tc_live_owner *owner;
    struct client clients[CLIENTS_MAX];
    struct tc_detached_list detached;
    int64_t started;
};

static volatile sig_atomic_t asked;

static void on_signal(int signal_number)
{
    (void)signal_number;
    asked = 1;
}

/* ---- packets to a client ---- */

static void queue_bytes(struct client *c, char kind, const char *bytes, size_t length)
{
    tc_queue_add(&c->queue, kind, bytes, length);
}

static void queue_exit(struct client *c, int code)
{
    char byte = (char)code;
    queue_bytes(c, TC_WIRE_EXIT, &byte, 1);
    c->last = true;
}

static bool has_packets(const struct client *c)
{
    return c->pipe >= 0 || tc_queue_left(&c->queue);
}

/* Is the command of a terminal ahead of its client? All output is delivered, so it must wait. */
static bool is_ahead(const struct client *c)
{
    return c->terminal && tc_queue_left(&c->queue) > SCREEN_MAX;
}

/* Sends what the socket accepts. False: the client is gone. */
static bool send_packets(struct client *c)
{
    if (c->pipe >= 0) {
        if (tc_wire_send(c->fd, TC_WIRE_PIPE, NULL, 0, c->pipe, true))
            return errno == EAGAIN;
        (void)close(c->pipe);
        c->pipe = -1;
    }
    return tc_queue_send(&c->queue, c->fd);
}

/* ---- reports: what the command line would print, as packets ---- */

struct captured {
    int was[2], files[2];
};

static void begin_capture(struct captured *c)
{
    (void)fflush(stdout);
    (void)fflush(stderr);
    for (int i = 0; i < 2; i++) {
        c->was[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
        c->files[i] = memfd_create("report", MFD_CLOEXEC);
        if (c->files[i] >= 0)
            (void)dup2(c->files[i], i + 1);
    }
}

static void end_capture(struct captured *c, struct client *to)
{
    static const char kinds[] = {TC_WIRE_OUT, TC_WIRE_TEXT};
    (void)fflush(stdout);
    (void)fflush(stderr);
    for (int i = 0; i < 2; i++) {
        off_t size = c->files[i] < 0 ? 0 : lseek(c->files[i], 0, SEEK_END);
        char *bytes = size > 0 && size <= CAPTURED_MAX
                          ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, c->files[i], 0)
                          : MAP_FAILED;
        if (bytes != MAP_FAILED) {
            queue_bytes(to, kinds[i], bytes, (size_t)size);
            (void)munmap(bytes, (size_t)size);
        }
        if (c->was[i] >= 0) {
            (void)dup2(c->was[i], i + 1);
            (void)close(c->was[i]);
        }
        if (c->files[i] >= 0)
            (void)close(c->files[i]);
    }
}

/* The client's command line, as the reports read it. */
struct line {
    struct tc_given json;
    struct tc_args args;
};

static const struct tc_args *line_of(const struct server *s, const struct client *c,
                                     struct line *ret)
{
    static const struct tc_option json = TC_OPTION_JSON;
    static char *none[] = {NULL};
    *ret = (struct line){.json = {&json, NULL}};
    ret->args = (struct tc_args){.verb = s->owner->verb,
                                 .given = &ret->json,
                                 .given_count = c->json,
                                 .operands = c->words ? c->words : none,
                                 .operand_count = c->word_count};
    return &ret->args;
}

static void tell_failure(const struct server *s, struct client *c, struct tc_failure *failure)
{
    struct captured captured;
    struct line line;
    begin_capture(&captured);
    int code = tc_failure_tell(failure, line_of(s, c, &line), s->owner->tool);
    end_capture(&captured, c);
    queue_exit(c, code);
    tc_failure_done(failure);
}

static void tell_result(const struct server *s, struct client *c,
                        const struct toolcage_result *result)
{
    struct captured captured;
    struct line line;
    begin_capture(&captured);
    if (c->json)
        (void)tc_report_json(result);
    else
        tc_report(result, line_of(s, c, &line), &s->owner->setup->found);
    tc_report_notice(result);
    end_capture(&captured, c);
    queue_exit(c, toolcage_result_shell_code(result));
}

static void put_text(FILE *out, const char *key, const char *text)
{
    (void)fprintf(out, "\"%s\":", key);
    if (text)
        tc_cli_json_string(out, text);
    else
        (void)fputs("null", out);
    (void)fputc(',', out);
}

static void tell_info(const struct server *s, struct client *c)
{
    const struct tc_live_owner *o = s->owner;
    char *text = NULL;
    size_t size = 0, running = tc_detached_running(&s->detached);
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        running += s->clients[i].fd >= 0 && s->clients[i].started && !s->clients[i].last;
    if (out) {
        (void)fputc('{', out);
        put_text(out, "name", o->name);
        put_text(out, "tool", o->tool);
        put_text(out, "policy", o->setup->found.path);
        put_text(out, "call", toolcage_call_id(o->setup->call));
        (void)fprintf(out, "\"pid\":%ld,\"started\":%" PRId64 ",\"commands\":%zu,\"detached\":",
                      (long)getpid(), s->started, running);
        tc_detached_describe(&s->detached, out);
        (void)fputc('}', out);
        if (!fclose(out))
            queue_bytes(c, TC_WIRE_OUT, text, size);
    }
    free(text);
    queue_exit(c, 0);
}

static int tell_ports(const struct server *s, struct client *c, struct tc_failure *failure)
{
    char *json = NULL;
    if (toolcage_session_ports_json(s->owner->setup->call, &json, tc_failure_error(failure)))
        return -1;
    queue_bytes(c, TC_WIRE_OUT, json, strlen(json));
    queue_exit(c, 0);
    toolcage_free(json);
    return 0;
}

/* ---- requests ---- */

static void on_output(void *userdata, int stream, const void *bytes, size_t length)
{
    queue_bytes(userdata, stream == 1 ? TC_WIRE_OUT : TC_WIRE_ERR, bytes, length);
}

static int need_call(const struct server *s, struct client *c, struct tc_failure *failure)
{
    return c->call
               ? 0
               : toolcage_session_call(s->owner->setup->call, &c->call, tc_failure_error(failure));
}

static int add_word(struct client *c, const char *word, struct tc_failure *failure)
{
    char **words = realloc(c->words, (c->word_count + 2) * sizeof(*words));
    char *copy = words ? strdup(word) : NULL;
    c->words = words ? words : c->words;
    if (!copy)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    c->words[c->word_count++] = copy;
    c->words[c->word_count] = NULL;
    return 0;
}

static int narrow(const struct server *s, struct client *c, char *text, struct tc_failure *failure)
{
    char *equals = strchr(text, '=');
    if (!equals)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, NULL, "an option has no value");
    if (need_call(s, c, failure))
        return -1;
    *equals = '\0';
    c->timed = c->timed || !strcmp(text, "timeout");
    return toolcage_call_set(c->call, text, equals + 1, tc_failure_error(failure));
}

static int set_command(struct client *c, struct toolcage_error **err)
{
    if (c->file)
        return tc_action_set(c->call, c->words, c->word_count, &c->pipe, err);
    return c->shell && c->word_count == 1
               ? toolcage_session_shell(c->call, c->words[0], err)
               : toolcage_call_set_command(c->call, c->word_count, (const char *const *)c->words,
                                           err);
}

/* Clients that stay leave places for others. */
static int check_stay(const struct server *s, struct tc_failure *failure)
{
    size_t staying = 0;
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        staying += s->clients[i].started || s->clients[i].watches;
    return staying < COMMANDS_MAX
               ? 0
               : tc_failure_set(failure, TOOLCAGE_EBACKEND, "end one of them",
                                "the session serves %d clients that wait for commands, its maximum",
                                COMMANDS_MAX);
}

static int run_detached(struct server *s, struct client *c, struct tc_failure *failure)
{
    struct toolcage_error **err = tc_failure_error(failure);
    char line[32];
    bool times = !c->timed && !s->owner->timed && !s->owner->setup->found.path;
    if (set_command(c, err) ||
        (times && toolcage_call_set(c->call, "timeout", DETACHED_TIMEOUT, err)))
        return -1;
    struct tc_detached *d = tc_detached_add(&s->detached, c->call, c->words);
    if (!d)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, NULL, "out of memory");
    c->call = NULL;
    if (toolcage_call_start(d->call, err)) {
        tc_detached_remove(&s->detached, d);
        return -1;
    }
    int length = snprintf(line, sizeof(line), c->json ? "{\"id\":%u}\n" : "%u\n", d->id);
    queue_bytes(c, TC_WIRE_OUT, line, (size_t)length);
    queue_exit(c, 0);
    return 0;
}

static int run(struct server *s, struct client *c, struct tc_failure *failure)
{
    struct toolcage_error **err = tc_failure_error(failure);
    size_t commands = tc_detached_running(&s->detached);
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        commands += s->clients[i].started;
    if (commands >= COMMANDS_MAX)
        return tc_failure_set(failure, TOOLCAGE_EBACKEND, "wait until one of them has ended",
                              "the session runs %d commands, its maximum", COMMANDS_MAX);
    if ((!c->detach && check_stay(s, failure)) || need_call(s, c, failure))
        return -1;
    if (c->detach)
        return run_detached(s, c, failure);
    c->started = true;
    if (c->terminal) /* the library passes the caller's, if it is a plain name */
        (void)setenv("TERM", c->term, 1);
    if (!c->json && toolcage_call_set_output_callback(c->call, on_output, c, err))
        return -1;
    return set_command(c, err) ? -1 : toolcage_call_start(c->call, err);
}

/* ---- detached commands ---- */

static int watch(const struct server *s, struct client *c, char kind, const char *id,
                 struct tc_failure *failure)
{
    bool all = kind == TC_WIRE_WAIT && !*id;
    if (check_stay(s, failure))
        return -1;
    c->watched = all ? NULL : tc_detached_find(&s->detached, s->owner->name, id, failure);
    if (!c->watched && !all)
        return -1;
    c->watches = kind;
    if (c->watched)
        c->watched->watchers++;
    return 0;
}

static int pass_signal(const struct server *s, struct client *c, const char *text,
                       struct tc_failure *failure)
{
    if (tc_detached_signal(&s->detached, s->owner->name, text, failure))
        return -1;
    queue_exit(c, 0);
    return 0;
}

static void tell_all(struct server *s, struct client *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int first = out ? tc_detached_codes(&s->detached, out) : TC_EXIT_FAILURE;
    if (out && !fclose(out))
        queue_bytes(c, TC_WIRE_OUT, text, size);
    free(text);
    queue_exit(c, first);
}

/* Queues the output that was not shown yet. False: there was none. */
static bool queue_output(struct client *c)
{
    static const char cut[] = "toolcage: earlier output is no longer kept\n";
    const char *bytes;
    size_t length;
    int stream;
    bool lost, any = false;
    while (tc_detached_read(c->watched, &c->seen, &stream, &bytes, &length, &lost)) {
        if (lost)
            queue_bytes(c, TC_WIRE_TEXT, cut, sizeof(cut) - 1);
        queue_bytes(c, stream == 1 ? TC_WIRE_OUT : TC_WIRE_ERR, bytes, length);
        any = true;
    }
    return any;
}

/* Queues what a watching client can be sent. False: nothing. */
static bool serve_watcher(struct server *s, struct client *c)
{
    const struct tc_detached *d = c->watched;
    if (!c->watches || c->last || (c->watches != TC_WIRE_WAIT && queue_output(c)))
        return c->watches && !c->last;
    if (c->watches != TC_WIRE_LOGS && (d ? !d->done : tc_detached_running(&s->detached) > 0))
        return false;
    const struct toolcage_result *result = d ? toolcage_call_result(d->call) : NULL;
    if (!d)
        tell_all(s, c);
    else if (c->watches == TC_WIRE_LOGS || c->watches == TC_WIRE_FOLLOW)
        queue_exit(c, 0);
    else if (result)
        tell_result(s, c, result);
    else
        queue_exit(c, TC_EXIT_FAILURE);
    return true;
}

/* The client leaves; only an attached one ends the command. */
static int leave_watch(struct client *c)
{
    if (c->watches == TC_WIRE_ATTACH && !c->watched->done)
        return toolcage_call_cancel(c->watched->call);
    queue_exit(c, 0);
    return 0;
}

/* Sets a new terminal, or the size of the one that it has. */
static int set_terminal(const struct server *s, struct client *c, const char *text,
                        struct tc_failure *failure)
{
    char *end;
    int rows = (int)strtol(text, &end, 10), columns = (int)strtol(end, &end, 10);
    if (c->started) { /* a size that is too early is followed by others, or is lost */
        (void)toolcage_call_resize(c->call, rows, columns, NULL);
        return 0;
    }
    c->terminal = true;
    (void)snprintf(c->term, sizeof(c->term), "%s", *end ? end + 1 : "");
    return need_call(s, c, failure)
               ? -1
               : toolcage_call_set_terminal(c->call, rows, columns, tc_failure_error(failure));
}

static int take_packet(struct server *s, struct client *c, char kind, char *text,
                       struct tc_failure *failure)
{
    if (kind == TC_WIRE_CANCEL && c->started)
        return toolcage_call_cancel(c->call);
    if (kind == TC_WIRE_TERMINAL && (!c->started || c->terminal))
        return set_terminal(s, c, text, failure);
    if (kind == TC_WIRE_CANCEL && c->watches)
        return leave_watch(c);
    if (c->started || c->ends || c->watches)
        return 0;
    switch (kind) {
    case TC_WIRE_WORD:
        return add_word(c, text, failure);
    case TC_WIRE_NARROW:
        return narrow(s, c, text, failure);
    case TC_WIRE_INPUT:
        return need_call(s, c, failure)
                   ? -1
                   : toolcage_call_open_stdin(c->call, &c->pipe, tc_failure_error(failure));
    case TC_WIRE_JSON:
        c->json = true;
        return 0;
    case TC_WIRE_SHELL:
        c->shell = true;
        return 0;
    case TC_WIRE_DETACH:
        c->detach = true;
        return 0;
    case TC_WIRE_LOGS:
    case TC_WIRE_FOLLOW:
    case TC_WIRE_ATTACH:
    case TC_WIRE_WAIT:
        return watch(s, c, kind, text, failure);
    case TC_WIRE_SIGNAL:
        return pass_signal(s, c, text, failure);
    case TC_WIRE_RUN:
    case TC_WIRE_FILE:
        c->file = kind == TC_WIRE_FILE;
        return run(s, c, failure);
    case TC_WIRE_INFO:
        tell_info(s, c);
        return 0;
    case TC_WIRE_PORTS:
        return tell_ports(s, c, failure);
    case TC_WIRE_END:
        c->ends = true;
        return toolcage_session_end(s->owner->setup->call, tc_failure_error(failure));
    default:
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "use the same version of toolcage",
                              "the session's owner received an unknown request");
    }
}

static void drop_client(struct client *c)
{
    (void)toolcage_call_unref(c->call);
    if (c->watched)
        c->watched->watchers--;
    for (size_t i = 0; i < c->word_count; i++)
        free(c->words[i]);
    free(c->words);
    tc_queue_done(&c->queue);
    if (c->pipe >= 0)
        (void)close(c->pipe);
    (void)close(c->fd);
    *c = (struct client){.fd = -1, .pipe = -1};
}

/* The end of a client kills its command. A file action is cancelled: it removes what is not
 * complete. */
static void lose_client(struct client *c)
{
    c->gone = c->file && !c->last && toolcage_call_cancel(c->call) >= 0;
    if (!c->gone)
        drop_client(c);
}

static void read_client(struct server *s, struct client *c)
{
    static char bytes[TC_WIRE_MAX + 1];
    char kind;
    for (int share = 0; c->fd >= 0 && share < CLIENTS_MAX; share++) {
        struct tc_failure failure = {0};
        ssize_t n = tc_wire_receive(c->fd, &kind, bytes, NULL, true);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        c->received += n < 0 ? 0 : (size_t)n + 1;
        if (n < 0 || c->received > TC_WIRE_REQUEST_MAX) {
            lose_client(c);
            return;
        }
        bytes[n] = '\0';
        if (!c->last && take_packet(s, c, kind, bytes, &failure) < 0)
            tell_failure(s, c, &failure);
    }
}

/* A place for a new client; NULL: there is none. Clients that do not complete their request, or do
 * not read a short answer, keep no place from others. */
static struct client *find_place(struct server *s, int64_t now)
{
    struct client *stale = NULL;
    for (struct client *c = s->clients; c < s->clients + CLIENTS_MAX; c++) {
        if (c->fd < 0)
            return c;
        if (!stale && !c->started && !c->ends && !c->watches && now - c->since > REQUEST_MS)
            stale = c;
    }
    return stale;
}

static void accept_clients(struct server *s)
{
    int64_t now = tc_cli_now_ms();
    for (struct client *c; (c = find_place(s, now));) {
        int fd = tc_place_accept(s->owner->listener);
        if (fd < 0)
            return;
        if (c->fd >= 0)
            drop_client(c);
        *c = (struct client){.fd = fd, .pipe = -1, .since = now};
    }
}

static void dispatch_client(struct server *s, struct client *c)
{
    struct tc_failure failure = {0};
    int rc = c->started && !c->last && !is_ahead(c)
                 ? toolcage_call_dispatch(c->call, tc_failure_error(&failure))
                 : 0;
    if (rc < 0)
        tell_failure(s, c, &failure);
    else if (rc > 0)
        tell_result(s, c, toolcage_call_result(c->call));
    if (c->gone && c->last) {
        drop_client(c);
        return;
    }
    bool here = c->gone || send_packets(c);
    while (here && !c->gone && !has_packets(c) && serve_watcher(s, c))
        here = send_packets(c);
    if (!here)
        lose_client(c);
    else if (!c->gone && c->last && !has_packets(c))
        drop_client(c);
}

/* ---- the loop ---- */

static bool is_over(const struct server *s)
{
    return toolcage_call_result(s->owner->setup->call) != NULL;
}

static void wait_events(struct server *s, const sigset_t *outside, int64_t left_ms)
{
    struct pollfd fds[2 * CLIENTS_MAX + 2 + TC_DETACHED_MAX] = {
        {.fd = is_over(s) ? -1 : s->owner->listener, .events = POLLIN},
        {.fd = is_over(s) ? -1 : toolcage_call_fd(s->owner->setup->call), .events = POLLIN}};
    struct timespec patience = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};
    bool full = true, forever = left_ms < 0;
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        const struct client *c = &s->clients[i];
        bool runs = c->fd >= 0 && c->started && !c->last && !is_ahead(c);
        full = full && c->fd >= 0;
        fds[2 * i + 2] = (struct pollfd){
            .fd = c->gone ? -1 : c->fd, .events = (short)(POLLIN | (has_packets(c) ? POLLOUT : 0))};
        fds[2 * i + 3] =
            (struct pollfd){.fd = runs ? toolcage_call_fd(c->call) : -1, .events = POLLIN};
    }
    for (size_t i = 0; i < TC_DETACHED_MAX; i++) {
        const struct tc_detached *d = s->detached.all[i];
        fds[2 * CLIENTS_MAX + 2 + i] =
            (struct pollfd){.fd = d && !d->done ? toolcage_call_fd(d->call) : -1, .events = POLLIN};
    }
    if (full) /* looks for places now and then */
        fds[0].fd = -1;
    if (full && forever)
        patience = (struct timespec){.tv_sec = 1};
    (void)ppoll(fds, TC_COUNT(fds), forever && !full ? NULL : &patience, outside);
}

static void turn(struct server *s, const sigset_t *outside, int64_t left_ms)
{
    struct toolcage_call *session = s->owner->setup->call;
    wait_events(s, outside, left_ms);
    if (asked)
        (void)toolcage_session_end(session, NULL);
    if (!is_over(s) && toolcage_call_dispatch(session, NULL) < 0)
        (void)toolcage_call_cancel(session);
    tc_detached_dispatch(&s->detached);
    if (!is_over(s))
        accept_clients(s);
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *c = &s->clients[i];
        if (c->fd >= 0 && !c->gone)
            read_client(s, c);
        if (c->fd >= 0 && c->ends && !c->last && is_over(s))
            tell_result(s, c, toolcage_call_result(session));
        if (c->fd >= 0)
            dispatch_client(s, c);
    }
}

static bool has_clients(const struct server *s)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (s->clients[i].fd >= 0)
            return true;
    return false;
}

static void catch_signals(sigset_t *ret_outside)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = on_signal};
    sigset_t block;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&block);
    for (size_t i = 0; i < TC_COUNT(caught); i++)
        (void)sigaddset(&block, caught[i]);
    (void)sigprocmask(SIG_BLOCK, &block, ret_outside);
    for (size_t i = 0; i < TC_COUNT(caught); i++)
        (void)sigaction(caught[i], &action, NULL);
}

void tc_owner_serve(const struct tc_live_owner *owner)
{
    static struct server s;
    sigset_t outside;
    s = (struct server){.owner = owner, .started = (int64_t)time(NULL)};
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        s.clients[i] = (struct client){.fd = -1, .pipe = -1};
    catch_signals(&outside);
    while (!is_over(&s))
        turn(&s, &outside, -1);
    for (int64_t until = tc_cli_now_ms() + LAST_MS; has_clients(&s) && tc_cli_now_ms() < until;)
        turn(&s, &outside, until - tc_cli_now_ms());
    tc_detached_clear(&s.detached);
}
