/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage doctor --prove`: tries known escapes on this host. */
#ifndef TC_CLI_VERBS_PROVE_H
#define TC_CLI_VERBS_PROVE_H

#include "cli/call/decoys.h"
#include "cli/show/failure.h"

/* The evidence that an attack succeeded. */
enum tc_sign {
    TC_SIGN_GOT,      /* it reports success: only for effects not visible from outside */
    TC_SIGN_TOKEN,    /* it prints the decoys' token */
    TC_SIGN_COUNT,    /* it got at least `least` of a resource */
    TC_SIGN_PRINTED,  /* at least `least` bytes of its output were kept */
    TC_SIGN_HOME,     /* files of the home were changed or deleted */
    TC_SIGN_TCP,      /* a listener received the token */
    TC_SIGN_PATH,     /* ... */
    TC_SIGN_ABSTRACT, /* ... */
    TC_SIGN_DATAGRAM, /* ... */
    TC_SIGN_VICTIM,   /* the process outside has ended */
    TC_SIGN_BEATS,    /* the file that it writes still grows after its end */
    TC_SIGN_SETID,    /* a set-id file is left */
    TC_SIGN_DEVICE,   /* a device node is left */
    TC_SIGN_PLANTED,  /* a file that steers the host is left */
};

struct tc_attack {
    const char *operands; /* the attack's name in the table */
    const char *clause;
    const char *command; /* arguments of the attack program, with the decoys' placeholders */
    enum tc_sign sign;
    long least;
    bool workspace;             /* run under the grant with a writable workspace */
    const char *key, *say;      /* a narrowing of the caged call */
    const char *prepare, *tidy; /* commands that run outside the cage before and after, or NULL */
};

extern const struct tc_attack tc_attacks[];
extern const size_t tc_attack_count;

/* Did the attack succeed? `output` is its output. */
bool tc_attack_through(const struct tc_attack *attack, const struct tc_decoys *decoys,
                       const char *output, size_t length);

/* Runs the whole verb; returns the exit code. */
int tc_prove(const struct tc_args *args, struct tc_failure *failure);

#endif
