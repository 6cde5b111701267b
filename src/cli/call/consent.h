/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Asks a person for approval of one call. */
#ifndef TC_CLI_CALL_CONSENT_H
#define TC_CLI_CALL_CONSENT_H

#include "cli/show/failure.h"
#include "mcp/scan.h"

/* subject.c: writes the subject of an approval (include/toolcage/call.h), with untrusted parts that
 * the caller escapes; `whole`: all of it. Is something left out? */
bool tc_subject_show(FILE *out, struct tc_slice subject, bool whole);

/* compared.c: writes what differs from the subject that was approved last. *ret_any: something
 * does. Is a part of it left out? */
bool tc_subject_compare(FILE *out, struct tc_slice subject, struct tc_slice last, bool *ret_any);
/* Keeps an approved subject for the next comparison. */
void tc_subject_approved(struct tc_slice subject);

/* The user's terminal. */
struct tc_person {
    int fd;
    FILE *in;
};
/* False: there is none, or standard error, where the request is shown, is not one. */
bool tc_person_open(struct tc_person *ret);
void tc_person_close(struct tc_person *person);
/* Shows the subject and asks: if one of this tool was approved before under the same policy, what
 * differs from it. 'y' only after all of that was shown; 'n' with *ret_reason (owned;
 * NULL: none); 0: no answer. */
char tc_person_decide(const struct tc_person *person, struct tc_slice subject, char **ret_reason);

/* A stored call that a person starts. */
struct tc_claim {
    const char *policy; /* the digest of the policy under which the model asked */
    /* Called after the yes; removes the stored call. 0, or -1 with the failure: another one was
     * first. */
    int (*take)(void *userdata, struct tc_failure *failure);
    void *userdata;
};
/* The next call must be this one (borrowed): a person answers at a terminal, or it fails. */
void tc_consent_claim(const struct tc_claim *claim);

/* If the call needs a person's approval, asks at the terminal, if there is one, and passes the
 * answer to the call. Without a terminal and with `queue` (a word that says which program waits;
 * NULL: no queue) the call waits in the queue of approvals, except one of tier ManualOnly. 0, or -1
 * with the failure. */
int tc_consent_ask(struct toolcage_call *call, const char *queue, struct tc_failure *failure);

#endif
