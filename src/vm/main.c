/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-vm: runs in a process cage. One fd in addition to the standard streams carries its
 * orders and, at the end, its report of the call. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <toolcage/error.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"
#include "base/task.h"
#include "plan/protocol.h"
#include "vm/vm.h"

/* In the cage's private storage, which no other process uses. */
#define SOCKET "/tmp/machine"
#define API "/tmp/monitor"

enum { CANNOT = 125, ROWS = 200, STALL_MS = 20000, PIECE = 32768 };

/* The report must fit into the socket's buffer, which is read only after this process has ended.
 * Omitted rows are counted. */
static void shorten(struct tc_outcome *o)
{
    while (o->denial_count > ROWS) {
        struct tc_denial *d = &o->denials[--o->denial_count];
        free(d->target);
        free(d->key);
        free(d->hint);
        o->omitted_denials++;
    }
}

static int tell_all(const struct tc_buf *out)
{
    int rc = 0;
    for (size_t at = 0, n; rc == 0 && at < out->len; at += n) {
        n = out->len - at < PIECE ? out->len - at : PIECE;
        rc = tc_send(TC_TASK_SOCKET, out->data + at, n, NULL, 0);
    }
    return rc;
}

static int send_outcome(struct tc_outcome *outcome, bool kept)
{
    struct tc_wire w = TC_WIRE_PUT_INIT;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    shorten(outcome);
    if (kept)
        tc_frame_put(&out, TC_FRAME_KEPT, NULL, 0);
    tc_outcome_visit(&w, outcome);
    if (!w.failed)
        tc_frame_put(&out, TC_FRAME_DONE, w.out.data, w.out.len);
    tc_buf_done(&w.out);
    return w.failed || out.failed ? -1 : tell_all(&out);
}

/* The exit code in a shell's convention; the report has the exact status. */
static int code_of(const struct tc_outcome *o)
{
    if (o->failure.code)
        return CANNOT;
    return o->signal > 0 && o->signal < 128 ? 128 + (int)o->signal : (int)(o->exit_code & 255);
}

static void fail_vm(struct tc_outcome *outcome, const struct tc_outcome_failure *failure)
{
    outcome->status = TOOLCAGE_STATUS_ERROR;
    outcome->exit_code = -1;
    outcome->failure = *failure;
    outcome->failure.clause = -1;
}

/* NULL: no reason is known. */
static void fail_file(struct tc_outcome *outcome, const char *why)
{
    fail_vm(outcome, &(struct tc_outcome_failure){
                         .code = TOOLCAGE_EBACKEND,
                         .stage = strdup("boot"),
                         .subject = strdup("guest"),
                         .message = tc_format("the VM cannot be restored from its snapshot%s%s",
                                              why ? ": " : "", why ? why : ""),
                         .hint = strdup("call it again: that snapshot is no longer used")});
}

static void serve_calls(const struct tc_vm_options *options, const struct tc_vm *vm,
                        struct tc_vm_files *files, struct tc_outcome *outcome, bool *ret_kept)
{
    _autofree_ char *why = NULL;
    if (options->from && options->driver->go_on && !options->driver->go_on(options, vm, &why))
        fail_file(outcome, why);
    else if (options->plan)
        tc_vm_call(options, vm, files, outcome, ret_kept);
    else
        tc_vm_try(options, vm, outcome);
}

static bool open_files(const struct tc_vm_options *options, struct tc_vm_files *files,
                       struct tc_outcome *outcome)
{
    if (tc_vm_files_open(files, options) == 0)
        return true;
    fail_vm(outcome,
            &(struct tc_outcome_failure){.code = TOOLCAGE_EPATH,
                                         .stage = strdup("files"),
                                         .subject = strdup(files->subject ? files->subject : ""),
                                         .message = strdup(files->problem),
                                         .hint = strdup(files->hint),
                                         .errnum = errno});
    return false;
}

/* Without a call, errors are not reported: the next call starts its own VM. */
static void run_ahead(struct tc_vm_options *options, struct tc_vm_files *files,
                      struct tc_outcome *outcome)
{
    struct tc_vm vm;
    bool kept = false;
    if (tc_vm_start(options, &vm) < 0)
        _exit(CANNOT);
    /* the next call finds that this VM has ended, and starts its own */
    if (options->rehearsal && !tc_vm_rehearse(options, &vm))
        (void)kill(vm.pid, SIGKILL);
    if (!tc_vm_await(options, &vm))
        _exit(CANNOT);
    if (open_files(options, files, outcome))
        tc_vm_call(options, &vm, files, outcome, &kept);
    (void)kill(vm.pid, SIGKILL);
}

static void run_vm(struct tc_vm_options *options, struct tc_vm_files *files,
                   struct tc_outcome *outcome, bool *ret_kept)
{
    struct tc_vm vm;
    if (!open_files(options, files, outcome))
        return;
    if (!options->fixed && !options->from)
        options->memory_mib += files->mib;
    if (tc_vm_start(options, &vm) == 0) {
        serve_calls(options, &vm, files, outcome, ret_kept);
        if (vm.pid > 0)
            (void)kill(vm.pid, SIGKILL);
        return;
    }
    if (options->from && errno == EBADMSG) {
        fail_file(outcome, "it is cut, or another machine's");
        return;
    }
    fail_vm(outcome,
            &(struct tc_outcome_failure){.code = TOOLCAGE_ESYSTEM,
                                         .stage = strdup("boot"),
                                         .subject = strdup(options->vmm),
                                         .message = strdup("the monitor cannot be started"),
                                         .errnum = errno});
}

int main(void)
{
    static struct tc_vm_options options = {.socket = SOCKET,
                                           .api = API,
                                           .stall_ms = STALL_MS,
                                           .in = STDIN_FILENO,
                                           .out = STDOUT_FILENO,
                                           .err = STDERR_FILENO};
    struct tc_vm_files files;
    struct tc_outcome outcome = {0};
    bool kept = false;
    if (!tc_vm_begin(&options)) {
        (void)fprintf(stderr, "toolcage-vm: started by toolcage only, not by hand\n");
        return CANNOT;
    }
    if (options.ahead)
        run_ahead(&options, &files, &outcome);
    else
        run_vm(&options, &files, &outcome, &kept);
    int code = code_of(&outcome);
    return send_outcome(&outcome, kept) < 0 ? CANNOT : code;
}
