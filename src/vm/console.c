/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The end of a VM's console output; and the test boot, which sends nothing to the guest and expects
 * one line on the console. The caller must limit the time: this process may hang in the kernel
 * together with its VMM. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <toolcage/error.h>
#include <toolcage/result.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/process.h"
#include "plan/guest.h"
#include "vm/vm.h"

void tc_vm_console_read(struct tc_vm_console *c, int fd)
{
    char bytes[TC_CONSOLE_BYTES / 2];
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        c->ended = true;
    if (n <= 0)
        return;
    size_t room = sizeof(c->bytes) - (size_t)n;
    size_t keep = room < c->len ? room : c->len;
    memmove(c->bytes, c->bytes + c->len - keep, keep);
    memcpy(c->bytes + keep, bytes, (size_t)n);
    c->len = keep + (size_t)n;
}

bool tc_vm_console_has(const struct tc_vm_console *c, const char *text)
{
    return memmem(c->bytes, c->len, text, strlen(text)) != NULL;
}

bool tc_vm_console_stuck(const struct tc_vm_console *c)
{
    return tc_vm_console_has(c, "KVM internal error") || tc_vm_console_has(c, "KVM: entry failed");
}

/* Offset of the last occurrence, or the end. */
static size_t find_last(const struct tc_vm_console *c, const char *text)
{
    size_t len = strlen(text), at = c->len;
    while (at-- > 0)
        if (c->len - at >= len && memcmp(c->bytes + at, text, len) == 0)
            return at;
    return c->len;
}

/* The guest program's last line, else the last line on the console. */
char *tc_vm_console_tail(const struct tc_vm_console *c)
{
    _autobuf_ struct tc_buf words = TC_BUF_INIT;
    size_t end = c->len, begin = find_last(c, TC_GUEST_LAST_WORD);
    const char *newline = begin < end ? memchr(c->bytes + begin, '\n', end - begin) : NULL;
    if (newline)
        end = (size_t)(newline - c->bytes);
    while (end && (unsigned char)c->bytes[end - 1] <= ' ')
        end--;
    for (begin = begin < end ? begin : end; begin && c->bytes[begin - 1] != '\n'; begin--)
        ;
    for (size_t i = begin; i < end; i++)
        tc_buf_addc(&words, c->bytes[i] >= ' ' && c->bytes[i] < 127 ? c->bytes[i] : '?');
    return tc_buf_steal(&words);
}

/* ---- the test boot ---- */

enum { LOOK_MS = 100 };

static bool runs(const struct tc_vm_console *console)
{
    return tc_vm_console_has(console, TC_GUEST_LAST_WORD TC_GUEST_RUNS);
}

static void fail_probe(struct tc_outcome *ret, const struct tc_vm_console *console)
{
    _autofree_ char *words = tc_vm_console_tail(console);
    char *message = tc_vm_console_stuck(console) ? strdup("KVM cannot continue the guest's kernel")
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
    struct tc_vm_console console = {.len = 0};
    struct pollfd p = {.fd = vm->console, .events = POLLIN};
    int64_t until = tc_now_us() + o->boot_ms * 1000;
    while (!runs(&console) && !tc_vm_console_stuck(&console) && !console.ended &&
           (tc_now_us() < until || tc_now_us() < until + tc_waited_us(vm->pid)))
        if (poll(&p, 1, LOOK_MS) > 0)
            tc_vm_console_read(&console, vm->console);
    if (runs(&console))
        *ret = (struct tc_outcome){.status = TOOLCAGE_STATUS_OK, .failure.clause = -1};
    else
        fail_probe(ret, &console);
}
