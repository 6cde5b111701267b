/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The loop of toolcage-vm for one call: between the serving code in the guest (frames) and the
 * caller (three plain streams). It reads no more from one side until the other side has taken all
 * that was read before. The console is the exception: of its text only the end is stored. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <toolcage/error.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/process.h"
#include "plan/guest.h"
#include "plan/protocol.h"
#include "version.h"
#include "vm/vm.h"

enum {
    DONE_MAX = 8 << 20, /* bytes of a guest's outcome */
    LOOK_MS = 100,      /* interval of look_at_clock() */
    DELIVER_MS = 2000,  /* time limit of deliver() */
    AHEAD = 256 << 10,  /* bytes of granted files that are read before the guest takes them */
    SETTLE_US = 500000, /* time in let_settle(), without waits for a CPU */
    SETTLE_MOST = 20    /* at most this many times SETTLE_US in all */
};

/* The frames that a guest may send, with their maximum length. */
static const size_t most[TC_FRAME_KINDS] = {[TC_FRAME_HELLO] = TC_BUILD_ID_SIZE,
                                            [TC_FRAME_TAKEN] = sizeof(uint32_t),
                                            [TC_FRAME_OUT] = TC_MESSAGE_BYTES_MAX,
                                            [TC_FRAME_ERR] = TC_MESSAGE_BYTES_MAX,
                                            [TC_FRAME_DONE] = DONE_MAX,
                                            [TC_FRAME_ENTRY] = TC_CARRY_ENTRY_MAX,
                                            [TC_FRAME_REMOVAL] = TC_CARRY_ENTRY_MAX,
                                            [TC_FRAME_BYTES] = TC_MESSAGE_BYTES_MAX};

struct talk {
    const struct tc_vm_options *options;
    const struct tc_vm *vm;
    struct tc_vm_files *files;
    struct tc_vm_net *net; /* NULL: the tool has no network */
    struct tc_frames frames;
    struct tc_buf out; /* to the guest, from `sent` on */
    size_t sent;
    struct tc_buf shown; /* to the caller, from `told` on */
    size_t told;
    int shown_to;
    size_t window; /* bytes of input that the guest still accepts */
    struct tc_vm_console console;
    bool hello;       /* the guest sent HELLO; next it gets its files, and its call */
    bool warming;     /* the command of `warm`, or the rehearsal, is running */
    bool rehearses;   /* runs only the rehearsal, no call */
    bool rehearsed;   /* the rehearsal has ended */
    bool begun;       /* the call was sent */
    bool listens;     /* vm->port still listens: the guest has not connected, nothing can be sent */
    bool net_listens; /* the same for vm->net, which carries the tool's connections */
    bool port_ended, input_ended, asked_to_end;
    int64_t boot_until_us, heard_us; /* the time limit for HELLO; when the guest last sent bytes */
    struct tc_outcome *outcome;
    bool done;
    bool tried, kept; /* a snapshot was attempted; the snapshot is complete */
};

static volatile sig_atomic_t asked; /* SIGTERM has asked to end the call */

static void on_term(int sig)
{
    (void)sig;
    asked = 1;
}

/* ---- failures ---- */

static void fail_call(struct talk *t, int code, const char *stage, const char *subject,
                      const char *hint, const char *message)
{
    struct tc_outcome_failure *f = &t->outcome->failure;
    if (t->done)
        return;
    tc_outcome_done(t->outcome);
    t->outcome->status = TOOLCAGE_STATUS_ERROR;
    t->outcome->exit_code = -1;
    *f = (struct tc_outcome_failure){.code = code,
                                     .stage = strdup(stage),
                                     .subject = strdup(subject),
                                     .message = strdup(message),
                                     .hint = strdup(hint),
                                     .clause = -1};
    t->done = true;
}

/* The guest violated the protocol: fails the call. */
static void break_off(struct talk *t, const char *how)
{
    _autofree_ char *message = tc_format("the machine's guest %s", how);
    fail_call(t, TOOLCAGE_EBACKEND, "machine", "guest",
              "the tool may have taken over its VM: check what the call ran",
              message ? message : "");
}

/* The VMM exited before the call ended. */
static void fail_ended(struct talk *t)
{
    _autofree_ char *words = tc_vm_console_tail(&t->console);
    const char *how = tc_vm_console_has(&t->console, "Kernel panic")
                          ? "the guest's kernel panicked before the call had ended"
                      : tc_vm_console_has(&t->console, TC_GUEST_LAST_WORD)
                          ? "the guest cannot serve calls"
                      : t->hello ? "the machine was switched off before the call had ended"
                                 : "the machine does not start";
    _autofree_ char *message =
        tc_format("%s%s%s", how, words && *words ? "; its last words: " : "", words ? words : "");
    fail_call(t, TOOLCAGE_EBACKEND, t->hello ? "machine" : "boot", "guest",
              t->hello ? "a tool may have ended its machine; more memory may help"
                       : t->options->driver->remedy,
              message ? message : how);
}

/* ---- from the guest ---- */

static void put_frame(struct talk *t, enum tc_frame_kind kind, const void *bytes, size_t len)
{
    tc_frame_put(&t->out, kind, bytes, len);
}

static void begin_call(struct talk *t);

/* Sends the next part of the granted trees, as fast as the guest accepts them; after the last one,
 * the call. */
static void send_files(struct talk *t)
{
    int more = t->files->any;
    while (more > 0 && t->out.len < AHEAD)
        more = tc_pack_next(&t->files->there, &t->out);
    if (more < 0) {
        _autofree_ char *message = tc_format("a granted file cannot be read: %s", strerror(errno));
        fail_call(t, TOOLCAGE_EPATH, "files", "filesystem", "check the disk that it is on",
                  message);
    } else if (more == 0) {
        begin_call(t);
    }
}

/* Sends the guest random bytes and the time, which differ for each VM restored from a snapshot. */
static void renew(struct talk *t)
{
    struct timespec now;
    struct tc_renewal renewal;
    if (getrandom(renewal.secret, sizeof(renewal.secret), 0) != sizeof(renewal.secret) ||
        clock_gettime(CLOCK_REALTIME, &now) < 0) {
        fail_call(t, TOOLCAGE_ESYSTEM, "boot", "guest", "",
                  "there are no random numbers for the guest");
        return;
    }
    renewal.now_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    put_frame(t, TC_FRAME_RENEW, &renewal, sizeof(renewal));
    explicit_bzero(&renewal, sizeof(renewal));
}

/* Taking a snapshot cuts the guest's connection; the guest then connects again. */
static void await_again(struct talk *t)
{
    tc_frames_done(&t->frames);
    t->frames = tc_frames_of(most, TC_FRAME_KINDS);
    t->listens = dup3(t->vm->again, t->vm->port, O_CLOEXEC) >= 0;
    t->port_ended = !t->listens;
    (void)close(t->vm->again);
}

/* A snapshot was taken. From here on this VM must differ from those restored from the snapshot,
 * which contains the state of the random number generator. */
static void part(struct talk *t)
{
    t->hello = false;
    t->boot_until_us = tc_now_us() + t->options->boot_ms * 1000;
    if (t->vm->again >= 0)
        await_again(t);
    renew(t);
}

/* Takes a snapshot, if one was requested and not attempted before; else false. Until now the guest
 * has received only data that all VMs of its kind receive. */
static bool keep_snapshot(struct talk *t)
{
    bool asked_for = t->options->keep > 0 && !t->tried;
    if (!asked_for)
        return false;
    t->tried = true;
    t->kept = t->options->driver->keep(t->options, t->vm);
    (void)close(t->options->keep);
    if (t->vm->control >= 0)
        (void)close(t->vm->control);
    return true;
}

static void send_job(struct talk *t, const char *plan, size_t len, unsigned stdin_kind)
{
    struct tc_job job = {.build = TC_BUILD_ID, .kind = TC_JOB_CALL, .stdin_kind = stdin_kind};
    put_frame(t, TC_FRAME_JOB, &job, sizeof(job));
    put_frame(t, TC_FRAME_PLAN, plan, len);
}

static void begin_call(struct talk *t)
{
    t->input_ended = tc_is_null(t->options->in);
    send_job(t, t->options->plan, t->options->plan_len,
             t->input_ended ? TC_STDIN_NONE : TC_STDIN_PIPE);
    t->begun = true;
}

/* Waits before a snapshot: after HELLO or the command of `warm` the guest prestarts a cage, and the
 * snapshot should contain that cage, so that restored VMs need not create it. Only the call that
 * takes the snapshot waits. Time in which the VMM waits for a CPU is not counted. */
static void let_settle(const struct tc_vm *vm)
{
    const struct timespec moment = {.tv_nsec = SETTLE_US * 1000 / 10};
    int64_t until = tc_now_us() + SETTLE_US - tc_waited_us(vm->pid);
    int64_t last = tc_now_us() + SETTLE_MOST * SETTLE_US;
    while (tc_now_us() < last && tc_now_us() < until + tc_waited_us(vm->pid))
        (void)nanosleep(&moment, NULL);
}

/* The guest can take its call now: takes the snapshot first, if one was requested. */
static void get_ready(struct talk *t)
{
    if (t->options->keep > 0 && !t->tried)
        let_settle(t->vm);
    if (keep_snapshot(t))
        part(t);
    else
        send_files(t);
}

static void fail_warm(struct talk *t, const struct tc_outcome *said)
{
    const char *why = said->failure.message ? said->failure.message : said->limit;
    _autofree_ char *message =
        why ? tc_format("the command of `warm` failed: %s", why)
        : said->signal > 0
            ? tc_format("the command of `warm` was ended by signal %d", (int)said->signal)
            : tc_format("the command of `warm` ended with exit code %d", (int)said->exit_code);
    fail_call(
        t, TOOLCAGE_EBACKEND, "warm", "warm",
        "run the command as a call of the tool without `warm` to see its output; in `warm` it has "
        "no files, no network and no input",
        message ? message : "");
}

/* Discards the warm-up's outcome, unless it failed. */
static void take_warm(struct talk *t, const struct tc_frame *f)
{
    struct tc_outcome said = {0};
    struct tc_wire w = TC_WIRE_GET_INIT(f->bytes, f->len);
    tc_outcome_visit(&w, &said);
    t->warming = false;
    if (f->len == 0 || w.failed || w.left)
        break_off(t, "did not report how the warm-up command ended");
    else if (t->rehearses)
        t->rehearsed = true;
    else if (said.failure.code || said.limit || said.signal || said.exit_code)
        fail_warm(t, &said);
    else
        get_ready(t);
    tc_outcome_done(&said);
}

static void take_hello(struct talk *t, const struct tc_frame *f)
{
    static const char build[TC_BUILD_ID_SIZE] = TC_BUILD_ID;
    if (t->hello)
        break_off(t, "greets twice");
    else if (f->len != sizeof(build) || memcmp(f->bytes, build, sizeof(build)) != 0)
        fail_call(t, TOOLCAGE_EBACKEND, "boot", "guest",
                  "toolcage image build guest builds one for this version",
                  "the guest's PID 1 was built for another version of toolcage");
    else
        t->hello = true;
    if (!t->hello || t->done || t->begun)
        return;
    const struct tc_vm_options *o = t->options;
    t->warming = t->rehearses || (o->warm && o->keep > 0 && !t->tried);
    if (t->rehearses)
        send_job(t, o->rehearsal, o->rehearsal_len, TC_STDIN_NONE);
    else if (t->warming)
        send_job(t, o->warm, o->warm_len, TC_STDIN_NONE);
    else
        get_ready(t);
}

/* The call has ended: takes the guest's report as the outcome. The output was passed on before. */
static void take_done(struct talk *t, const struct tc_frame *f)
{
    struct tc_wire w = TC_WIRE_GET_INIT(f->bytes, f->len);
    tc_outcome_visit(&w, t->outcome);
    if (f->len == 0 || w.failed || w.left)
        break_off(t, "did not report how the call ended");
    else if (t->files->any && !t->files->back.ended)
        break_off(t, "ended the call without reporting its changes");
    else if (tc_streq(t->outcome->failure.stage, "boot"))
        break_off(t, "reported a failed boot after it had booted"); /* stage "boot" would delete the
                                                                       snapshot */
    t->done = true;
}

static void take_taken(struct talk *t, const struct tc_frame *f)
{
    uint32_t taken = UINT32_MAX;
    if (f->len == sizeof(taken))
        memcpy(&taken, f->bytes, sizeof(taken));
    if (taken > TC_INPUT_WINDOW - t->window)
        break_off(t, "took more input than it was given");
    else
        t->window += taken;
}

static void take_files(struct talk *t, const struct tc_frame *f)
{
    struct tc_unpack *back = &t->files->back;
    if (!t->begun || !t->files->any) {
        break_off(t, "reported files that were not granted");
    } else if (tc_unpack_take(back, f) < 0 && back->fault) {
        break_off(t, back->fault);
    } else if (back->errnum) {
        _autofree_ char *message =
            tc_format("what the tool changed cannot be brought out of its machine: %s",
                      strerror(back->errnum));
        fail_call(t, TOOLCAGE_EPATH, "files", "filesystem",
                  back->errnum == ENOSPC ? "it must fit into `disk`: raise it" : "call it again",
                  message);
    }
}

static void take_frame(struct talk *t, const struct tc_frame *f)
{
    if (!t->hello && f->kind != TC_FRAME_HELLO) {
        break_off(t, "sent a frame before its HELLO");
        return;
    }
    if (tc_unpack_takes(f)) {
        take_files(t, f);
        return;
    }
    switch (f->kind) {
    case TC_FRAME_HELLO:
        take_hello(t, f);
        return;
    case TC_FRAME_OUT:
    case TC_FRAME_ERR:
        if (t->warming)
            return;
        tc_buf_add(&t->shown, f->bytes, f->len);
        t->shown_to = f->kind == TC_FRAME_OUT ? t->options->out : t->options->err;
        return;
    case TC_FRAME_TAKEN:
        take_taken(t, f);
        return;
    case TC_FRAME_DONE:
        if (t->warming)
            take_warm(t, f);
        else
            take_done(t, f);
        return;
    default:
        break_off(t, "sent a frame that only the host may send");
    }
}

/* Handles received frames. A frame with output stops this until the output was written. */
static void take_frames(struct talk *t)
{
    struct tc_frame f;
    int more = 0;
    while (!t->done && t->told == t->shown.len && (more = tc_frames_next(&t->frames, &f)) > 0)
        take_frame(t, &f);
    if (more < 0)
        break_off(t, "sent a frame with an invalid length");
    if (t->shown.failed || t->out.failed)
        fail_call(t, TOOLCAGE_EMEMORY, "machine", "toolcage-vm", "free memory", "out of memory");
}

/* Accepts the guest's connection. If the console has ended, the VMM has exited and no guest will
 * connect: gives up. */
static void await_guest(struct talk *t)
{
    int later = t->listens && !t->port_ended ? tc_vm_accept(t->vm->port) : 0;
    if (later < 0)
        t->port_ended = true;
    else if (later == 0)
        t->listens = false;
    else if (t->console.ended)
        t->port_ended = true;
}

static void read_port(struct talk *t)
{
    ssize_t n = tc_frames_read(&t->frames, t->vm->port);
    if (n > 0)
        t->heard_us = tc_now_us();
    if (n == 0 || (n < 0 && errno != EAGAIN))
        t->port_ended = true;
    take_frames(t);
}

static void read_console(struct talk *t)
{
    tc_vm_console_read(&t->console, t->vm->console);
    if (t->options->kvm && tc_vm_console_stuck(&t->console))
        fail_call(t, TOOLCAGE_EBACKEND, t->hello ? "machine" : "boot", "guest",
                  "toolcage doctor tests KVM again", "KVM cannot continue the guest");
}

/* ---- to the guest, and to the caller ---- */

/* Writes the bytes from *at on, as many as fd accepts. False: the reader has closed its end. */
static bool drain(struct tc_buf *buf, size_t *at, int fd)
{
    ssize_t n = *at < buf->len ? write(fd, buf->data + *at, buf->len - *at) : 0;
    if (n > 0)
        *at += (size_t)n;
    if (*at == buf->len)
        buf->len = *at = 0;
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static void read_input(struct talk *t)
{
    char bytes[TC_MESSAGE_BYTES_MAX];
    size_t room = t->window < sizeof(bytes) ? t->window : sizeof(bytes);
    ssize_t n = read(t->options->in, bytes, room);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    t->input_ended = n <= 0;
    put_frame(t, n > 0 ? TC_FRAME_INPUT : TC_FRAME_INPUT_END, bytes, n > 0 ? (size_t)n : 0);
    t->window -= n > 0 ? (size_t)n : 0;
}

/* ---- the loop ---- */

enum { PORT, CONSOLE_OUT, SHOWN, INPUT, WAITS };

static void poll_talk(struct talk *t, struct pollfd *p)
{
    bool showing = t->told < t->shown.len;
    bool says = !t->listens && t->sent < t->out.len;
    short port = (short)((showing ? 0 : POLLIN) | (says ? POLLOUT : 0));
    p[PORT] = (struct pollfd){.fd = t->port_ended || !port ? -1 : t->vm->port, .events = port};
    p[CONSOLE_OUT] =
        (struct pollfd){.fd = t->console.ended ? -1 : t->vm->console, .events = POLLIN};
    p[SHOWN] = (struct pollfd){.fd = showing ? t->shown_to : -1, .events = POLLOUT};
    p[INPUT] = (struct pollfd){.fd = t->begun && !t->input_ended && t->window ? t->options->in : -1,
                               .events = POLLIN};
}

static void serve_talk(struct talk *t, const struct pollfd *p)
{
    if (p[CONSOLE_OUT].revents)
        read_console(t);
    if (t->listens) {
        await_guest(t);
        return;
    }
    if (p[SHOWN].revents && !drain(&t->shown, &t->told, t->shown_to))
        t->shown.len = t->told = 0;
    if (p[INPUT].revents)
        read_input(t);
    if (p[PORT].revents & POLLOUT && !drain(&t->out, &t->sent, t->vm->port))
        t->port_ended = true;
    if (t->hello && !t->warming && !t->begun && !t->done && t->out.len == 0)
        send_files(t);
    if (p[PORT].revents & ~POLLOUT)
        read_port(t);
    else
        take_frames(t);
}

/* Fails the call of a guest that does not boot or stops within a frame, and passes SIGTERM on. The
 * call's deadline is enforced by the helper. */
static void look_at_clock(struct talk *t)
{
    int64_t now = tc_now_us();
    if ((!t->hello || t->rehearses) && now > t->boot_until_us &&
        now > t->boot_until_us + tc_waited_us(t->vm->pid))
        fail_call(t, TOOLCAGE_EBACKEND, "boot", "guest", t->options->driver->remedy,
                  "the guest did not start in time");
    else if (tc_frames_cut(&t->frames) && t->told == t->shown.len &&
             now > t->heard_us + t->options->stall_ms * 1000)
        break_off(t, "stopped in the middle of a frame");
    if (asked && t->begun && !t->asked_to_end) {
        put_frame(t, TC_FRAME_CANCEL, NULL, 0);
        t->asked_to_end = true;
    }
}

/* Serves the connections of the tool in the guest. */
static void serve_connections(struct talk *t, const struct pollfd *p, size_t count)
{
    const char *fault = count ? tc_mux_endpoints_answer(&t->net->lines, p, count) : NULL;
    if (fault)
        break_off(t, fault);
}

/* The fds to poll for the tool's connections. Until the guest's relay has connected: only the
 * listening socket. */
static size_t ask_net(struct talk *t, struct pollfd *p)
{
    if (!t->net || !t->net_listens)
        return t->net ? tc_mux_endpoints_ask(&t->net->lines, p) : 0;
    *p = (struct pollfd){.fd = t->vm->net, .events = POLLIN};
    return 1;
}

static void answer_net(struct talk *t, const struct pollfd *p, size_t count)
{
    if (!t->net_listens)
        serve_connections(t, p, count);
    else if (count && p->revents)
        t->net_listens = tc_vm_accept(t->vm->net) != 0;
}

static void turn(struct talk *t)
{
    struct pollfd p[WAITS + TC_MUX_ENDPOINTS_WAITS];
    poll_talk(t, p);
    size_t lines = ask_net(t, p + WAITS);
    int n = poll(p, WAITS + lines, LOOK_MS);
    if (n > 0)
        answer_net(t, p + WAITS, lines);
    if (n > 0 && !t->done)
        serve_talk(t, p);
    look_at_clock(t);
    if (!t->done && t->port_ended && t->console.ended && t->told == t->shown.len) {
        take_frames(t);
        fail_ended(t);
    }
}

/* If a tool exited by itself, its last data is still delivered to the proxy, for a limited time.
 * Other connections are reset. */
static void deliver(struct talk *t)
{
    struct pollfd p[TC_MUX_ENDPOINTS_WAITS];
    int64_t until = tc_now_us() + DELIVER_MS * 1000;
    bool fine = t->net && !asked && !t->outcome->failure.code && !t->outcome->limit;
    while (fine && t->net->lines.mux.used && !t->net->lines.ended && tc_now_us() < until) {
        size_t count = tc_mux_endpoints_ask(&t->net->lines, p);
        fine = poll(p, count, LOOK_MS) <= 0 || !tc_mux_endpoints_answer(&t->net->lines, p, count);
    }
    tc_vm_net_close(t->net);
}

static struct talk begin_talk(const struct tc_vm_options *o, const struct tc_vm *vm,
                              struct tc_vm_files *files, struct tc_outcome *outcome)
{
    return (struct talk){.options = o,
                         .vm = vm,
                         .files = files,
                         .frames = tc_frames_of(most, TC_FRAME_KINDS),
                         .out = TC_BUF_INIT,
                         .shown = TC_BUF_INIT,
                         .window = TC_INPUT_WINDOW,
                         .listens = vm->calls,
                         .net_listens = vm->calls,
                         .boot_until_us = tc_now_us() + o->boot_ms * 1000,
                         .heard_us = tc_now_us(),
                         .outcome = outcome};
}

static void end_talk(struct talk *t)
{
    tc_frames_done(&t->frames);
    tc_buf_done(&t->out);
    tc_buf_done(&t->shown);
}

/* Renews the random state first: VMs restored from one snapshot would otherwise rehearse with the
 * same random numbers. The call renews it again. */
bool tc_vm_rehearse(const struct tc_vm_options *o, const struct tc_vm *vm)
{
    struct tc_vm_files none = {0};
    struct tc_outcome nobodys = {0};
    struct talk t = begin_talk(o, vm, &none, &nobodys);
    t.rehearses = true;
    renew(&t);
    while (!t.done && !t.rehearsed)
        turn(&t);
    bool fine = t.rehearsed && !t.done && !tc_frames_cut(&t.frames);
    tc_outcome_done(&nobodys);
    end_talk(&t);
    return fine;
}

void tc_vm_call(const struct tc_vm_options *o, const struct tc_vm *vm, struct tc_vm_files *files,
                struct tc_outcome *ret, bool *ret_kept)
{
    struct sigaction term = {.sa_handler = on_term}, ignore = {.sa_handler = SIG_IGN};
    struct talk t = begin_talk(o, vm, files, ret);
    t.net = tc_vm_net_open(o, vm->net);
    if (o->net && !t.net)
        fail_call(&t, TOOLCAGE_EMEMORY, "machine", "toolcage-vm", "free memory", "out of memory");
    (void)sigaction(SIGTERM, &term, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
    (void)sigaction(SIGXFSZ, &ignore, NULL); /* a guest may announce any file size */
    if (o->from)
        renew(&t);
    while (!t.done)
        turn(&t);
    *ret_kept = t.kept;
    deliver(&t);
    while (t.told < t.shown.len && drain(&t.shown, &t.told, t.shown_to))
        (void)poll(&(struct pollfd){.fd = t.shown_to, .events = POLLOUT}, 1, -1);
    end_talk(&t);
}
