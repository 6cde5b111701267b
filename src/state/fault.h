/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Why a store of the state directory cannot be used, for the programs beside the library. */
#ifndef TC_STATE_FAULT_H
#define TC_STATE_FAULT_H

struct tc_fault {
    int code; /* TOOLCAGE_E… */
    const char *hint;
    char text[320];
};

/* Fills *fault and returns `code`. */
int tc_fault_set(struct tc_fault *fault, int code, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int tc_fault_no_memory(struct tc_fault *fault);
/* Opens a directory of the state directory, and makes it if it is missing; `what` is kept there. An
 * fd, or a negative code: another user can write it, or it is a link. */
int tc_fault_open(const char *name, const char *what, struct tc_fault *fault);
/* Locks such a directory. An fd whose close is the unlock, or a negative code. */
int tc_fault_lock(int dir, const char *what, struct tc_fault *fault);

#endif
