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
 *     [1] a sealed memory file holding the plan (tc_plan_visit); not for PROBE and CLEAN, nor where
 * plan_bytes says how many bytes of it stand behind the tc_job, up to TC_PLAN_INSIDE_MAX; of
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
 * memory file holding the outcome (tc_outcome_visit), or, where the job has `inside`, with one of
 * up to TC_MESSAGE_BYTES_MAX behind its head; after that it closes its end. The library sends
 * CANCEL, and RESIZE where plan.terminal. Closing the library's end cancels too. Each message
 * starts with a tc_message.
 *
 * A host that does not read delays delivery only: the helper keeps what is not yet sent, bounded by
 * the output limit.
 *
 * Where no descriptor can travel (a pipe, a serial port, a socket into a machine) the same jobs go
 * inline, as frames on a stream of bytes (base/frame.h), one job at a time:
 * - The helper says HELLO, its build, once, before anything else.
 * - RENEW goes to a guest of a machine that was started from a file (tc_renewal): it is answered by
 *   HELLO, and comes before anything else. Where the stream of such a guest was cut when it was
 *   written to the file, it has called again, and waits for that.
 * - To a helper that takes some, the library sends the granted trees: an ENTRY announces each, and
 *   then come its entries (carry/carry.h), after that of a file its BYTES, eight that say where and
 *   those that go there; FILES_END after the last one.
 * - JOB is a tc_job, CALL or PROBE; then comes what it announces: PLAN of a CALL, and SECRETS where
 *   it says so. The call begins with the last of them.
 * - INPUT is what the tool reads, unless TC_STDIN_NONE; INPUT_END ends it. No more than
 *   TC_INPUT_WINDOW of it may be on its way. CANCEL and RESIZE as above.
 * - The helper says TAKEN, four bytes: so much of the input was taken, and as much may follow; with
 *   plan.stream OUT and ERR, output; where trees were given, what has gone of them as REMOVAL, and
 *   what has changed as ENTRY and BYTES, to a FILES_END; and DONE, the outcome; empty: it could not
 *   be told.
 *
 * A peer that breaks these rules is not answered: its stream and its calls end. So do they when the
 * stream ends. */
#ifndef TC_PLAN_PROTOCOL_H
#define TC_PLAN_PROTOCOL_H

#include <stddef.h>
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
    int32_t inside;  /* CALL: 1, DONE may hold the outcome itself */
    int32_t plan_bytes;
};

enum tc_message_kind {
    TC_MESSAGE_OUTPUT = 1,
    TC_MESSAGE_DONE = 2,
    TC_MESSAGE_CANCEL = 3,
    TC_MESSAGE_RESIZE = 4
};

enum { TC_MESSAGE_BYTES_MAX = 32768 };

enum tc_frame_kind {
    TC_FRAME_HELLO,
    TC_FRAME_JOB,
    TC_FRAME_PLAN,
    TC_FRAME_SECRETS,
    TC_FRAME_INPUT,
    TC_FRAME_INPUT_END,
    TC_FRAME_CANCEL,
    TC_FRAME_RESIZE,
    TC_FRAME_TAKEN,
    TC_FRAME_OUT,
    TC_FRAME_ERR,
    TC_FRAME_DONE,
    TC_FRAME_ENTRY,
    TC_FRAME_REMOVAL, /* the number of a grant, and a path below it */
    TC_FRAME_BYTES,
    TC_FRAME_FILES_END,
    TC_FRAME_RENEW,
    TC_FRAME_KEPT, /* to the helper by toolcage-vm: the file of the machine is whole */
    TC_FRAME_KINDS
};
enum { TC_PLAN_INSIDE_MAX = 32 << 10 };
enum { TC_INPUT_WINDOW = 256 << 10, TC_PLAN_BYTES_MAX = 64 << 20, TC_SECRETS_BYTES_MAX = 1 << 20 };

/* What a copy of a machine must not have in common with others. */
struct tc_renewal {
    int64_t now_us; /* since 1970 */
    uint8_t secret[64];
};

struct tc_message {
    int32_t kind;
    int32_t stream;         /* OUTPUT: 1 or 2 */
    int32_t removed;        /* DONE of a CLEAN job: how many leftovers went */
    uint16_t rows, columns; /* RESIZE: of the terminal */
    char bytes[];           /* OUTPUT, DONE: up to TC_MESSAGE_BYTES_MAX */
};

_Static_assert(offsetof(struct tc_message, bytes) == sizeof(struct tc_message),
               "the bytes begin where the head ends");

#endif
