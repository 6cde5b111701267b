/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/base/task.c, src/vm/options.c, src/wasm/order.c, src/engine/config.c and
 * src/egress/gateway/config.c: what a program of ours reads of its work. The first byte says how
 * many descriptors come with the packet; the rest is the packet. Whatever comes: it is understood
 * as a whole or not at all, and no descriptor is left. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/task.h"
#include "egress/egress.h"
#include "engine/engine.h"
#include "vm/options.h"
#include "wasm/order.h"

enum { MOST = 9, SIZE = 32768 };

static void close_all(const struct tc_task_message *task)
{
    const int fds[] = {task->in,   task->out,  task->err,     task->root,
                       task->wall, task->port, task->console, task->file};
    for (size_t i = 0; i < TC_COUNT(fds); i++)
        INVARIANT(fds[i] < 0 || close(fds[i]) == 0);
}

/* What is understood comes to the same bytes again. */
static void read_as(const struct tc_fields *fields, void *it, unsigned of_call,
                    const struct tc_task_message *task)
{
    size_t len = 0;
    bool fine =
        task->program && tc_fields_get(fields, it, of_call, 0, task->program, task->program_len);
    char *again = fine ? tc_fields_put(fields, it, of_call, 0, &len) : NULL;
    INVARIANT(!fine ||
              (again && len == task->program_len && memcmp(again, task->program, len) == 0));
    free(again);
    if (fine && of_call && task->call)
        (void)tc_fields_get(fields, it, of_call, of_call, task->call, task->call_len);
    tc_fields_done(fields, it);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int before = lowest_free(), pair[2], null[MOST];
    if (size < 2)
        return 0;
    size_t count = data[0] % (MOST + 1), n = size - 1 < SIZE ? size - 1 : SIZE;
    struct tc_task_message task = {0};
    struct tc_vm_options options = {0};
    struct tc_wasm_order order = {0};
    struct tc_engine_config container = {0};
    struct tc_egress_config network = {0};
    null[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (size_t i = 1; i < MOST; i++)
        null[i] = null[0];
    INVARIANT(null[0] >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    INVARIANT(tc_send(pair[0], data + 1, n, null, count) == 0 && close(pair[0]) == 0);
    if (tc_task_receive(pair[1], &tc_task_fields, &task)) {
        close_all(&task);
        read_as(&tc_vm_option_fields, &options, TC_VM_OF_CALL, &task);
        read_as(&tc_wasm_order_fields, &order, TC_WASM_OF_CALL, &task);
        read_as(&tc_engine_config_fields, &container, 0, &task);
        read_as(&tc_egress_config_fields, &network, 0, &task);
    }
    tc_fields_done(&tc_task_fields, &task);
    (void)close(pair[1]);
    (void)close(null[0]);
    INVARIANT(lowest_free() == before);
    return 0;
}
