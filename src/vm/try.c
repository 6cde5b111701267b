/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Does a guest boot at all? Nothing is handed in and nothing comes out but one line of the console.
 * Who asks holds the time: this process may be stuck in the kernel with its monitor. */
#include <poll.h>
#include <string.h>
#include <toolcage/error.h>
#include <toolcage/result.h>

#include "base/clock.h"
#include "base/process.h"
#include "plan/guest.h"
#include "vm/console.h"
#include "vm/vm.h"

enum { LOOK_MS = 100 };

static bool runs(const struct tc_console *console)
{
    return tc_console_has(console, TC_GUEST_LAST_WORD TC_GUEST_RUNS);
}

static void fail(struct tc_outcome *ret, const struct tc_console *console)
{
    _autofree_ char *words = tc_console_last_words(console);
    char *message = tc_console_stuck(console)
                        ? strdup("the processor's virtualisation (KVM) cannot go on with the "
                                 "guest's kernel")
                    : console->ended
                        ? tc_format("the machine ended before the guest ran%s%s",
                                    words && *words ? "; its last words: " : "", words ? words : "")
                        : strdup("the guest did not start in time");
    *ret = (struct tc_outcome){.status = TOOLCAGE_STATUS_ERROR,
                               .exit_code = -1,
                               .failure = {.code = TOOLCAGE_EBACKEND,
                                           .stage = strdup("boot"),
                                           .subject = strdup("guest"),
                                           .message = message,
                                           .clause = -1}};
}

void tc_vm_try(const struct tc_vm_options *o, const struct tc_vm *vm, struct tc_outcome *ret)
{
    struct tc_console console = {.len = 0};
    struct pollfd p = {.fd = vm->console, .events = POLLIN};
    int64_t until = tc_now_us() + o->boot_ms * 1000;
    while (!runs(&console) && !tc_console_stuck(&console) && !console.ended &&
           (tc_now_us() < until || tc_now_us() < until + tc_waited_us(vm->pid)))
        if (poll(&p, 1, LOOK_MS) > 0)
            tc_console_read(&console, vm->console);
    if (runs(&console))
        *ret = (struct tc_outcome){.status = TOOLCAGE_STATUS_OK, .failure.clause = -1};
    else
        fail(ret, &console);
}
