/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Runs toolcage-receipt, which signs and verifies receipts, and finds the keys for it. */
#ifndef TC_CLI_CALL_SIGNER_H
#define TC_CLI_CALL_SIGNER_H

#include <sys/types.h>

#include "cli/show/failure.h"
#include "receipt/protocol.h"

/* The path of this user's private key, owned. NULL with the failure. */
char *tc_signer_path(struct tc_failure *failure);
/* Refuses an open file or directory that a tool may have written, where it really is. 0, or -1 with
 * the failure. */
int tc_signer_check_place(int fd, struct tc_failure *failure);
/* Opens a key: a regular file, not a link, that no tool and no other user may have written.
 * `secret`: no other user may read it, either. -1 with the failure. */
int tc_signer_open_key(const char *path, bool secret, struct tc_failure *failure);

struct tc_signer {
    int socket;
    pid_t pid;
    const char *key; /* its path, borrowed */
};

/* Starts the program with an fd of the key (borrowed). 0, or -1 with the failure; call
 * tc_signer_done() in any case. */
int tc_signer_start(struct tc_signer *ret, const char *path, int key, struct tc_failure *failure);

struct tc_signer_answer {
    bool done;   /* false: the request was refused */
    char *bytes; /* the result, or why it was refused; owned, and followed by a NUL */
    size_t length;
};

/* Sends one request and waits for the answer. 0, or -1 with the failure: the key cannot be used, or
 * the program has ended. */
int tc_signer_ask(const struct tc_signer *signer, enum tc_receipt_kind kind, const char *bytes,
                  size_t length, struct tc_signer_answer *ret, struct tc_failure *failure);
void tc_signer_done(struct tc_signer *signer);

/* Makes this user's key pair, unless there is one. *ret_made: there was none. 0, or -1 with the
 * failure. */
int tc_signer_make_key(const char *path, bool *ret_made, struct tc_failure *failure);

#endif
