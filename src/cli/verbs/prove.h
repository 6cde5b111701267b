/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage doctor --prove`: known ways out, tried here. */
#ifndef TC_CLI_VERBS_PROVE_H
#define TC_CLI_VERBS_PROVE_H

#include "cli/call/decoys.h"
#include "cli/show/failure.h"

/* How it is known that an attack got through. */
enum tc_sign {
    TC_SIGN_GOT,      /* it says so: only for what cannot be seen from outside */
    TC_SIGN_TOKEN,    /* it prints what stands in the decoys */
    TC_SIGN_COUNT,    /* it got at least `least` of something */
    TC_SIGN_PRINTED,  /* at least `least` bytes of its output were kept */
    TC_SIGN_HOME,     /* files of the home are changed or gone */
    TC_SIGN_TCP,      /* a listener got the token */
    TC_SIGN_PATH,     /* ... */
    TC_SIGN_ABSTRACT, /* ... */
    TC_SIGN_DATAGRAM, /* ... */
    TC_SIGN_VICTIM,   /* the process outside has ended */
    TC_SIGN_BEATS,    /* the file that it writes still grows after its end */
    TC_SIGN_SETID,    /* a set-id file is left */
    TC_SIGN_DEVICE,   /* a device node is left */
};

struct tc_attack {
    const char *operands; /* for a person */
    const char *clause;
    const char *command; /* of the attack program, with places of the decoys */
    enum tc_sign sign;
    long least;
    bool workspace;             /* under the grant with a writable workspace */
    const char *key, *say;      /* a narrowing of the caged call */
    const char *prepare, *tidy; /* commands of an accomplice outside, or NULL */
};

extern const struct tc_attack tc_attacks[];
extern const size_t tc_attack_count;

/* Did it get through? `output` is what it wrote. */
bool tc_attack_through(const struct tc_attack *attack, const struct tc_decoys *decoys,
                       const char *output, size_t length);

/* The whole verb; the exit code. */
int tc_prove(const struct tc_args *args, struct tc_failure *failure);

#endif
