/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What library and helper say to each other.
 *
 * The helper is started with a SOCK_SEQPACKET socket as descriptor 3 (the engine's socket,
 * SO_PASSCRED on) and a pidfd of the host as descriptor 4; descriptors 0 to 2 are /dev/null; argv
 * is {"toolcage-helper", state}, the environment empty.
 *
 * On the engine's socket the library sends one message a job: a tc_job with these descriptors:
 *     [0] the job's own socket (SOCK_SEQPACKET, the helper's end)
 *     [1] a sealed memory file holding the plan (tc_plan_visit); not for PROBE and CLEAN; of
 * CHANGES it has no more than `call`, the id ("": which calls have any), and `payload`, what to do:
 *         "show", "commit", "overwrite" or "discard"; of SESSIONS `session`, the name ("": all),
 *         and `payload`, "list" or "end"
 *     [2] what the tool reads: a pipe (TC_STDIN_PIPE) or a sealed memory file that the helper feeds
 *         into a pipe (TC_STDIN_BYTES); absent with TC_STDIN_NONE. With plan.terminal what comes
 *         out of the pipe is typed there
 *     [last] with `secrets`, a sealed memory file with the values of plan.secrets, which the helper
 *         hands on and never reads
 * sendmsg of one packet is atomic, so threads need no lock. The helper never answers there.
 *
 * On the job's socket the helper sends OUTPUT messages (only with plan.stream) and one DONE with a
 * memory file holding the outcome (tc_outcome_visit), after which it closes its end. The library
 * sends CANCEL, and RESIZE where plan.terminal. Closing the library's end cancels too. Each message
 * starts with a tc_message.
 *
 * A host that does not read delays delivery only: the helper keeps what is not yet sent, bounded by
 * the output limit. */
#ifndef TC_HELPER_PROTOCOL_H
#define TC_HELPER_PROTOCOL_H

#include <stdint.h>

enum { TC_HELPER_SOCKET = 3, TC_HELPER_HOST = 4 };

enum tc_job_kind {
    TC_JOB_CALL = 1,
    TC_JOB_PROBE = 2,
    TC_JOB_CLEAN = 3,
    TC_JOB_CHANGES = 4,
    TC_JOB_SESSIONS = 5
};
enum tc_stdin_kind { TC_STDIN_NONE = 0, TC_STDIN_PIPE = 1, TC_STDIN_BYTES = 2 };

enum { TC_BUILD_ID_SIZE = 40 };

struct tc_job {
    char build[TC_BUILD_ID_SIZE]; /* TC_BUILD_ID, NUL-padded: both sides are of one build */
    int32_t kind;
    int32_t stdin_kind;
    int32_t secrets; /* CALL: 1, there are some */
};

enum tc_message_kind {
    TC_MESSAGE_OUTPUT = 1,
    TC_MESSAGE_DONE = 2,
    TC_MESSAGE_CANCEL = 3,
    TC_MESSAGE_RESIZE = 4
};

enum { TC_MESSAGE_BYTES_MAX = 32768 };

struct tc_message {
    int32_t kind;
    int32_t stream;         /* OUTPUT: 1 or 2 */
    int32_t removed;        /* DONE of a CLEAN job: how many leftovers went */
    uint16_t rows, columns; /* RESIZE: of the terminal */
    char bytes[];           /* OUTPUT: up to TC_MESSAGE_BYTES_MAX */
};

#endif
