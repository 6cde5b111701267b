/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The machine as it stands when its guest can serve a call and has seen none, written to a file:
 * by the monitor's own protocol, as a migration that nobody receives yet. No tool has run by then,
 * so what the monitor answers is its own. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "vm/vm.h"

enum { LINE_MAX_BYTES = 64 << 10, WAIT_S = 60, LOOK_NS = 5000000 };

/* One line of the monitor's; events are lines, too. False: it has nothing more to say. */
static bool hear(int control, struct tc_buf *line)
{
    char byte;
    line->len = 0;
    while (line->len < LINE_MAX_BYTES) {
        ssize_t n = read(control, &byte, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        if (byte == '\n')
            return tc_buf_addc(line, '\0'), !line->failed;
        tc_buf_addc(line, byte);
    }
    return false;
}

/* The answer to one command, in `line`; with a descriptor to pass, or -1. */
static bool ask(int control, const char *command, int fd, struct tc_buf *line)
{
    if (tc_send(control, command, strlen(command), &fd, fd >= 0 ? 1 : 0) < 0)
        return false;
    while (hear(control, line)) {
        if (strstr(line->data, "\"return\""))
            return true;
        if (strstr(line->data, "\"error\""))
            return false;
    }
    return false;
}

static bool wait_until_whole(int control, int64_t until_us, struct tc_buf *line)
{
    static const char look[] = "{\"execute\":\"query-migrate\"}";
    const struct timespec moment = {.tv_nsec = LOOK_NS};
    while (tc_now_us() < until_us && ask(control, look, -1, line)) {
        if (strstr(line->data, "\"status\": \"completed\""))
            return true;
        if (strstr(line->data, "\"status\": \"failed\""))
            return false;
        (void)nanosleep(&moment, NULL);
    }
    return false;
}

bool tc_vm_keep(const struct tc_vm_options *o, const struct tc_vm *vm)
{
    static const char *const first[] = {
        "{\"execute\":\"qmp_capabilities\"}",
        "{\"execute\":\"migrate-set-parameters\",\"arguments\":{\"max-bandwidth\":1099511627776}}",
        /* of what a guest writes meanwhile emulation loses some, and what is in the file is torn */
        "{\"execute\":\"stop\"}",
    };
    static const char pass[] = "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"kept\"}}";
    static const char write[] = "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:kept\"}}";
    static const char go_on[] = "{\"execute\":\"cont\"}";
    const struct timeval patience = {.tv_sec = WAIT_S};
    _autobuf_ struct tc_buf line = {.max = LINE_MAX_BYTES + 1};
    int c = vm->control;
    bool fine = setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0;
    for (size_t i = 0; i < TC_COUNT(first); i++)
        fine = fine && ask(c, first[i], -1, &line);
    fine = fine && ask(c, pass, o->keep, &line) && ask(c, write, -1, &line) &&
           wait_until_whole(c, tc_now_us() + o->boot_ms * 1000, &line);
    /* it goes on in either case, unless it cannot even be told to */
    return ask(c, go_on, -1, &line) && fine;
}
