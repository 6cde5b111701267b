/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The call object. call.c has its constructor and setters, start.c sends it to the helper,
 * dispatch.c receives the result. */
#ifndef TC_CALL_CALL_H
#define TC_CALL_CALL_H

#include <stdatomic.h>
#include <toolcage/call.h>

#include "approve/gate.h"
#include "base/clock.h"
#include "base/error.h"
#include "call/engine.h"
#include "call/host/facts.h"
#include "call/host/install.h"
#include "call/result/result.h"
#include "plan/backend.h"
#include "policy/policy.h"

/* UNTOLD: the call has ended, and there was no memory for its result. */
enum tc_call_state { TC_CALL_NEW, TC_CALL_RUNNING, TC_CALL_UNTOLD, TC_CALL_DONE };

struct tc_call_input {
    char *bytes;
    size_t length;
    bool given;
    int pipe; /* read end of the pipe that the host feeds, or -1 */
};

struct toolcage_call {
    struct toolcage_engine *engine;
    struct toolcage_policy *policy;
    char id[TC_ULID_SIZE];
    char *tool, *arguments, *session;
    struct tc_strv argv;
    struct tc_narrowing *narrow;
    size_t narrow_count;
    struct tc_call_input input;
    int64_t idle_ms, lifetime_ms; /* of a live session; 0: it is none; lifetime -1: the
                                     policy's, until start */
    char live_in[TC_ULID_SIZE];   /* the live session that it runs in; "": none */
    bool shell;     /* its command continues where the last one of the live session's shell ended */
    bool live_file; /* `argv` is a file action in that session */
    bool ready;     /* the live session accepts commands */
    bool asked_to_end;      /* the live session was */
    void *ports;            /* of the live session: a mapped tc_egress_stats; NULL: none */
    uint16_t rows, columns; /* of its terminal; 0: it has none */
    toolcage_output_fn output;
    void *userdata;

    enum tc_call_state state;
    int sock; /* our end; the host polls it */
    int peer; /* the helper's end, until it was sent or the call was refused */
    atomic_bool
        cancelled; /* the only member that another thread touches, apart from writes to `sock` */
    struct tc_kept_plan *kept; /* the call's cache key, and its plan if cached; NULL: neither */
    struct tc_grant grant;
    int image; /* lock that keeps the call's root in the image store; -1: none */
    struct tc_approval approval;
    int64_t approved_again;        /* the n-th repetition of the answer; 0: it is new */
    char approved[TC_DIGEST_SIZE]; /* of the subject that a person approved; "": none */
    bool recorded;                 /* the decision is in the audit log, the result is not */
    bool inputs_kept;              /* what a replay needs is stored */
    int exchanges;     /* file that its proxy records requests in (exchanges.h); -1: none */
    int64_t proved_at; /* when its isolation was tried, in seconds; 0: not asked for */
    bool log_failed;   /* a record of this call could not be written */
    bool installs;     /* this is an install phase, which only the operator starts */
    struct tc_install_stage *stage; /* where it installs; NULL: nowhere (yet) */
    const char *work, *module; /* borrowed: work on a module, or a test boot of a VM, instead of a
                                  tool; NULL: none */
    int64_t collected;         /* the last COLLECTED message; -1: none */
    int64_t started_us, sent_us;
    struct tc_timing steps[4]; /* timings of the library; names are static text */
    size_t step_count;
    struct toolcage_result *result;
};

int tc_call_new(struct toolcage_engine *engine, struct toolcage_policy *policy, const char *tool,
                struct toolcage_call **ret, struct toolcage_error **err);
/* The install phase of `tool`. */
int tc_call_new_setup(struct toolcage_engine *engine, struct toolcage_policy *policy,
                      const char *tool, struct toolcage_call **ret, struct toolcage_error **err);
struct toolcage_call *tc_call_unref(struct toolcage_call *call);
int tc_call_set_command(struct toolcage_call *call, size_t argc, const char *const argv[],
                        struct toolcage_error **err);
int tc_call_set_arguments(struct toolcage_call *call, const char *json,
                          struct toolcage_error **err);
int tc_call_set(struct toolcage_call *call, const char *key, const char *value,
                struct toolcage_error **err);
int tc_call_set_session(struct toolcage_call *call, const char *name, struct toolcage_error **err);
int tc_call_set_stdin(struct toolcage_call *call, const void *bytes, size_t length,
                      struct toolcage_error **err);
int tc_call_open_stdin(struct toolcage_call *call, int *ret_fd, struct toolcage_error **err);
int tc_call_set_terminal(struct toolcage_call *call, int rows, int columns,
                         struct toolcage_error **err);
int tc_call_resize(struct toolcage_call *call, int rows, int columns, struct toolcage_error **err);
/* Has the helper left many messages unread? Then no more are sent, so that the socket has room for
 * the cancel message, which must not block. */
bool tc_call_is_behind(const struct toolcage_call *call);
int tc_call_set_output(struct toolcage_call *call, toolcage_output_fn fn, void *userdata,
                       struct toolcage_error **err);
/* A call that was started can be neither changed nor started again: 0, or TOOLCAGE_EUSAGE. */
int tc_call_check_new(const struct toolcage_call *call, const char *stage,
                      struct toolcage_error **err);
int tc_call_cancel(struct toolcage_call *call);
int tc_call_fd(const struct toolcage_call *call);

/* choose.c */
int tc_call_explain(struct toolcage_call *call, const char *access, char **ret_json,
                    struct toolcage_error **err);

/* approval.c */
/* `again`: for the n-th repetition of a person's answer, n; else 0. */
int tc_call_approve(struct toolcage_call *call, const char *digest, int64_t again,
                    struct toolcage_error **err);
int tc_call_deny(struct toolcage_call *call, const char *reason, struct toolcage_error **err);
/* Passes a call whose grant is complete, if it needs no approval or has one. With `ret_json`:
 * writes the request for a person; owned by the caller. 0 or a negative code. */
int tc_call_pass_gate(struct toolcage_call *call, char **ret_json, struct toolcage_error **err);

/* proved.c: refuses a call whose isolation must have been tried and was not. 0 or a negative code.
 */
int tc_call_check_proved(struct toolcage_call *call, struct toolcage_error **err);

/* audit.c: a call in the audit log, if its policy has one */
/* Records that the call is about to run. 0, or a negative code: it must not run. */
int tc_call_record(struct toolcage_call *call, struct toolcage_error **err);
/* Records its result, or that it was refused. 0 or a negative code. */
int tc_call_record_end(struct toolcage_call *call, const struct tc_result_frame *frame,
                       const struct toolcage_result *result, struct toolcage_error **err);
/* Adds a value as JSON to a record, or its digest: if it is long, or `hidden`. */
void tc_record_value(struct tc_buf *out, const char *key, const struct tc_buf *json, bool hidden);
/* Adds as many changes as fit, and the number of all others. */
void tc_record_changes(struct tc_buf *out, const struct tc_outcome *o);
/* Records a request that the host decided about, as toolcage_call_record_request(). */
int tc_call_record_request(const struct toolcage_call *call, const char *tool,
                           const char *arguments, const char *refusal, struct toolcage_error **err);
/* Records that the call did not start after all; that its owner freed it before its end. */
void tc_call_record_unstarted(struct toolcage_call *call);
void tc_call_record_abandoned(struct toolcage_call *call);

/* start.c */
/* The request for a person's approval. */
int tc_call_approval(struct toolcage_call *call, char **ret_json, struct toolcage_error **err);
int tc_call_start(struct toolcage_call *call, struct toolcage_error **err);
/* Resolves the policy and the surroundings to the whole grant, programs included. Fills *ret
 * (zeroed); the caller frees it also on failure. `supposed`: as in struct tc_request. */
int tc_call_resolve(struct toolcage_call *call, bool explain, const char *supposed,
                    struct tc_grant *ret, struct toolcage_error **err);

/* dispatch.c */
int tc_call_dispatch(struct toolcage_call *call, struct toolcage_error **err);
int tc_call_wait(struct toolcage_call *call, int timeout_ms, struct toolcage_error **err);
/* Waits until the live session accepts commands, or has ended. */
int tc_call_wait_ready(struct toolcage_call *call, int timeout_ms, struct toolcage_error **err);
/* Ends the call with this outcome (taken); `why` (taken, may be NULL) is its error. */
int tc_call_finish(struct toolcage_call *call, struct tc_outcome *outcome,
                   struct toolcage_error *why, struct toolcage_error **err);

/* secrets.c */
/* The values of the grant's secrets, in its order, in a sealed memory file that the caller
 * closes; -1 in *ret_fd where the grant has no secrets. 0 or a negative code. No message
 * contains any part of a value. */
int tc_secrets_read(const struct toolcage_policy *policy, const struct tc_grant *grant, int *ret_fd,
                    struct toolcage_error **err);

#endif
