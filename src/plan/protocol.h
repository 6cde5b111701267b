/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The protocol between library and helper.
 *
 * The helper is started with a SOCK_SEQPACKET socket as fd 3 (the engine's socket, with
 * SO_PASSCRED) and a pidfd of the host process as fd 4; fds 0 to 2 are /dev/null; argv is
 * {"toolcage-helper", state}, the environment is empty.
 *
 * On the engine's socket the library sends one message per job: a tc_job with these fds:
 *     [0] the job's own socket (SOCK_SEQPACKET, the helper's end)
 *     [1] a sealed memory file with the plan (tc_plan_visit). Absent for PROBE and CLEAN, and if
 *         plan_bytes is set: then so many bytes of plan, up to TC_PLAN_INSIDE_MAX, follow the
 *         tc_job. A plan of CHANGES has only `call`, the id ("": list the calls with staged
 *         changes), and `payload`, the action: "show", "commit", "overwrite", "steering" or
 * "discard". A plan of SESSIONS has only `session`, the name ("": all), and `payload`: "list" or
 * "end" [2] the tool's input: a pipe (TC_STDIN_PIPE) or a sealed memory file that the helper copies
 *         into a pipe (TC_STDIN_BYTES); absent with TC_STDIN_NONE. With plan.terminal the pipe's
 *         bytes are typed on the terminal
 *     [next] if `secrets` is set, a sealed memory file with the values of plan.secrets, which the
 *         helper passes on unread
 *     [next] if `exchanges` is set, the memory file of egress/exchanges.h, in which the proxy
 *         records requests, or with plan.replays finds them; the helper passes it on unread
 * sendmsg of one packet is atomic, so threads need no lock. The helper never replies on this
 * socket.
 *
 * On the job's socket the helper sends OUTPUT messages (only with plan.stream), COLLECTED twice a
 * second while it collects the changes of a call, and one DONE. The
 * outcome (tc_outcome_visit) is a memory file sent with DONE or, if the job has `inside`, up to
 * TC_MESSAGE_BYTES_MAX bytes after the message's head. Then the helper closes its end. The library
 * sends CANCEL and, with plan.terminal, RESIZE. A live session (plan.lifetime_ms) is READY when it
 * accepts commands (with plan.publish the message carries the proxy's report, egress/egress.h),
 * which are jobs with plan.live_in and accept SIGNAL; END ends it without a failure. If the library
 * closes its end, the job is cancelled, too. Each message starts with a tc_message.
 *
 * A host that does not read delays only the delivery: the helper buffers unsent messages, limited
 * by the output limit.
 *
 * Where no fd can be passed (a pipe, a serial port, a vsock into a VM) the same jobs are sent
 * inline, as frames on a byte stream (base/frame.h), one job at a time:
 * - The helper sends HELLO, with its build id, once and before any other frame.
 * - RENEW (tc_renewal) is sent only to a guest restored from a snapshot, before any other frame;
 *   the guest replies with HELLO. If taking the snapshot cut the guest's connection, the guest
 *   connects again and then waits for RENEW.
 * - If the helper accepts granted trees, the library sends them: ENTRY announces each tree, and
 *   its entries follow (carry/carry.h). The ENTRY of a file is followed by its BYTES: eight bytes
 *   of offset and the data at that offset. FILES_END follows the last tree.
 * - JOB is a tc_job, CALL or PROBE; the frames that it announces follow: PLAN for a CALL, and
 *   SECRETS if `secrets` is set. The call begins after the last of them.
 * - INPUT is the tool's input, unless TC_STDIN_NONE; INPUT_END ends it. At most TC_INPUT_WINDOW
 *   bytes may be unacknowledged. CANCEL and RESIZE as above.
 * - The helper sends TAKEN with four bytes, the number of input bytes that it has consumed: the
 *   library may send as many more. With plan.stream it sends output as OUT and ERR. If trees were
 *   granted, it sends deletions in them as REMOVAL, changes as ENTRY and BYTES, and then FILES_END.
 *   The last frame is DONE with the outcome, or empty if the outcome could not be encoded.
 *
 * If a peer breaks these rules, or the stream ends, the stream is closed without a reply and its
 * calls end. */
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
    char build[TC_BUILD_ID_SIZE]; /* TC_BUILD_ID, NUL-padded: both sides need the same */
    int32_t kind;
    int32_t stdin_kind;
    int32_t secrets;   /* CALL: 1, the job has secrets */
    int32_t exchanges; /* CALL: 1, the job has a file of requests; never inline */
    int32_t inside;    /* CALL: 1, DONE may contain the outcome */
    int32_t plan_bytes;
};

enum tc_message_kind {
    TC_MESSAGE_OUTPUT = 1,
    TC_MESSAGE_DONE = 2,
    TC_MESSAGE_CANCEL = 3,
    TC_MESSAGE_RESIZE = 4,
    TC_MESSAGE_COLLECTED = 5,
    TC_MESSAGE_READY = 6,
    TC_MESSAGE_END = 7,
    TC_MESSAGE_SIGNAL = 8
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
    TC_FRAME_KEPT, /* from toolcage-vm to the helper: the snapshot file is complete */
    TC_FRAME_KINDS
};
enum { TC_PLAN_INSIDE_MAX = 32 << 10 };
enum { TC_INPUT_WINDOW = 256 << 10, TC_PLAN_BYTES_MAX = 64 << 20, TC_SECRETS_BYTES_MAX = 1 << 20 };

/* State in which a restored VM must differ from other copies of its snapshot. */
struct tc_renewal {
    int64_t now_us; /* Unix time */
    uint8_t secret[64];
};

struct tc_message {
    int32_t kind;
    int32_t stream;         /* OUTPUT: 1 or 2 */
    int32_t signal;         /* SIGNAL: for the processes of a live session's command */
    int32_t removed;        /* DONE of a CLEAN job: number of removed leftovers */
    uint16_t rows, columns; /* RESIZE: of the terminal */
    int64_t collected;      /* COLLECTED: number of changes so far */
    char bytes[];           /* OUTPUT, DONE: up to TC_MESSAGE_BYTES_MAX */
};

_Static_assert(offsetof(struct tc_message, bytes) == sizeof(struct tc_message),
               "the bytes begin where the head ends");

#endif
