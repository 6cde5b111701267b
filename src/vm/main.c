/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * toolcage-vm: started in a process cage, with one descriptor beside the three, on which it says
 * at the end what came of the call. */
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
#include "helper/protocol.h"
#include "vm/vm.h"

/* In the cage's own storage; nobody else is there. */
#define SOCKET "/tmp/machine"
#define API "/tmp/monitor"

enum { TALK = 4, CANNOT = 125, ROWS = 200, STALL_MS = 20000 };

static bool take_number(const char *text, long *ret)
{
    char *end;
    errno = 0;
    *ret = strtol(text, &end, 10);
    return !errno && end != text && !*end && *ret > 0;
}

/* The file to keep the machine in comes by the socket on which we tell the end. */
static int take_descriptor(void)
{
    char byte;
    int fd = -1;
    size_t count = 0;
    ssize_t n = tc_recv(TALK, &byte, sizeof(byte), &fd, 1, &count, NULL, NULL, true);
    return n == 1 && count ? fd : -1;
}

static bool take_limit(struct tc_vm_options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        long *into;
    } numbers[] = {{"--memory", &o->memory_mib},
                   {"--cpus", &o->cpus},
                   {"--boot", &o->boot_ms},
                   {"--room", &o->room},
                   {"--names", &o->names}};
    for (size_t i = 0; i < TC_COUNT(numbers); i++)
        if (strcmp(name, numbers[i].name) == 0)
            return take_number(value, numbers[i].into);
    o->beside = strcmp(name, "--counts") == 0 && strcmp(value, "changes") == 0;
    return o->beside;
}

/* The lines of a machine of others come the same way. */
static bool take_lines(struct tc_vm_options *o)
{
    char byte;
    size_t count = 0;
    ssize_t n =
        tc_recv(TALK, &byte, sizeof(byte), o->given, TC_COUNT(o->given), &count, NULL, NULL, true);
    return n == 1 && count == TC_COUNT(o->given);
}

static bool take_driver(struct tc_vm_options *o, const char *name)
{
    static const struct tc_vm_driver *const drivers[] = {&tc_vm_qemu, &tc_vm_firecracker,
                                                         &tc_vm_kata};
    for (size_t i = 0; i < TC_COUNT(drivers); i++)
        if (strcmp(name, drivers[i]->name) == 0)
            o->driver = drivers[i];
    return o->driver && (!o->driver->given || take_lines(o));
}

static bool take_option(struct tc_vm_options *o, const char *name, const char *value)
{
    const struct {
        const char *name, **into;
    } paths[] = {{"--vmm", &o->vmm},   {"--kernel", &o->kernel},      {"--initrd", &o->initrd},
                 {"--disk", &o->disk}, {"--plan", &o->plan},          {"--warm", &o->warm},
                 {"--from", &o->from}, {"--authority", &o->authority}};
    for (size_t i = 0; i < TC_COUNT(paths); i++)
        if (strcmp(name, paths[i].name) == 0) {
            *paths[i].into = value;
            return true;
        }
    if (strcmp(name, "--keep") == 0) {
        o->keep = take_descriptor(); /* there is none where none can be made */
        o->fixed = true;
        return true;
    }
    if (strcmp(name, "--driver") == 0)
        return take_driver(o, value);
    if (strcmp(name, "--net") == 0) {
        o->net = strcmp(value, "proxy") == 0;
        return o->net;
    }
    if (strcmp(name, "--accel") == 0) {
        o->kvm = strcmp(value, "kvm") == 0;
        return o->kvm || strcmp(value, "tcg") == 0;
    }
    bool writable = strcmp(name, "--writable") == 0;
    if (!writable && strcmp(name, "--readable") != 0)
        return take_limit(o, name, value);
    if (o->grant_count == TC_COUNT(o->grants))
        return false;
    o->grants[o->grant_count++] = (struct tc_vm_grant){value, writable};
    return true;
}

static bool take_options(int argc, char **argv, struct tc_vm_options *o)
{
    for (int i = 1; i < argc; i += 2)
        if (i + 1 >= argc || !take_option(o, argv[i], argv[i + 1]))
            return false;
    bool whole =
        o->driver && (o->driver->given ? o->plan && !o->disk
                                       : o->vmm && o->kernel && o->initrd && (o->plan || !o->disk));
    return whole && o->memory_mib && o->cpus && o->boot_ms;
}

/* What fits into a socket that nobody reads before we have ended; rows that do not are counted. */
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

static int tell(struct tc_outcome *outcome, bool kept)
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
    return w.failed || out.failed ? -1 : tc_write_all(TALK, out.data, out.len);
}

/* As a shell says it; the helper knows it exactly. */
static int code_of(const struct tc_outcome *o)
{
    if (o->failure.code)
        return CANNOT;
    return o->signal > 0 && o->signal < 128 ? 128 + (int)o->signal : (int)(o->exit_code & 255);
}

static void fail(struct tc_outcome *outcome, const struct tc_outcome_failure *failure)
{
    outcome->status = TOOLCAGE_STATUS_ERROR;
    outcome->exit_code = -1;
    outcome->failure = *failure;
    outcome->failure.clause = -1;
}

/* NULL: it does not say why. */
static void fail_file(struct tc_outcome *outcome, const char *why)
{
    fail(outcome, &(struct tc_outcome_failure){
                      .code = TOOLCAGE_EBACKEND,
                      .stage = strdup("boot"),
                      .subject = strdup("guest"),
                      .message = tc_format("the machine cannot go on from its file%s%s",
                                           why ? ": " : "", why ? why : ""),
                      .hint = strdup("call it again: that file is not used any more")});
}

static void serve(const struct tc_vm_options *options, const struct tc_vm *vm,
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

static void run(struct tc_vm_options *options, struct tc_vm_files *files,
                struct tc_outcome *outcome, bool *ret_kept)
{
    struct tc_vm vm;
    if (tc_vm_files_open(files, options) < 0) {
        fail(outcome,
             &(struct tc_outcome_failure){.code = TOOLCAGE_EPATH,
                                          .stage = strdup("files"),
                                          .subject = strdup(files->subject ? files->subject : ""),
                                          .message = strdup(files->problem),
                                          .hint = strdup(files->hint),
                                          .errnum = errno});
        return;
    }
    if (!options->fixed && !options->from)
        options->memory_mib += files->mib;
    if (tc_vm_start(options, &vm) == 0) {
        serve(options, &vm, files, outcome, ret_kept);
        if (vm.pid > 0)
            (void)kill(vm.pid, SIGKILL);
        return;
    }
    if (options->from && errno == EBADMSG) {
        fail_file(outcome, "it is cut, or another machine's");
        return;
    }
    fail(outcome, &(struct tc_outcome_failure){.code = TOOLCAGE_ESYSTEM,
                                               .stage = strdup("boot"),
                                               .subject = strdup(options->vmm),
                                               .message = strdup("the monitor cannot be started"),
                                               .errnum = errno});
}

int main(int argc, char **argv)
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
    if (!take_options(argc, argv, &options)) {
        (void)fprintf(stderr, "toolcage-vm: started by toolcage only, not by hand\n");
        return CANNOT;
    }
    run(&options, &files, &outcome, &kept);
    int code = code_of(&outcome);
    return tell(&outcome, kept) < 0 ? CANNOT : code;
}
