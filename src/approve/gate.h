/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The gate of one call: no call of a tier that needs a person's approval runs without one that is
 * bound to exactly this call. */
#ifndef TC_APPROVE_GATE_H
#define TC_APPROVE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"

/* An answer is valid for this long; suspended time counts. */
enum { TC_APPROVAL_SECONDS = 600 };

struct tc_approval {
    char digest[TC_DIGEST_SIZE]; /* of the approved subject; "": nobody has approved */
    int64_t at_us;               /* CLOCK_BOOTTIME, which nobody sets back */
    char *refusal;               /* why the person said no; NULL: nobody did */
};

void tc_approval_done(struct tc_approval *a);
/* A person approves what has this digest. False: that is no digest. */
bool tc_approval_give(struct tc_approval *a, const char *digest);
/* A person refuses. `reason` is for the model; NULL: none. False: out of memory. */
bool tc_approval_refuse(struct tc_approval *a, const char *reason);
/* Is the subject with this digest approved? An approval is used once: it is gone afterwards. 0, or
 * -1: *why, whose stage is set, gets the code and the hint, and *ret_reason (owned) the reason;
 * NULL: out of memory. */
int tc_approval_take(struct tc_approval *a, const char *digest, struct tc_why *why,
                     char **ret_reason);

#endif
