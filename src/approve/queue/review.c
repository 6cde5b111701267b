/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Requests about the staged changes of a call that has ended. The person's program applies them,
 * bound to their digest; the host only learns what was done. */
#include <stdio.h>
#include <string.h>
#include <toolcage/error.h>

#include "approve/queue/store.h"
#include "base/digest.h"
#include "base/jsontext.h"

/* Without the tool if it is a bare command. */
static char *write_subject(const struct tc_queue_changes *changes)
{
    struct tc_buf out = TC_BUF_INIT;
    tc_buf_addc(&out, '{');
    tc_json_number(&out, "version", 1);
    tc_json_optional(&out, "tool", changes->tool);
    tc_json_key(&out, "changes");
    tc_buf_addc(&out, '{');
    tc_json_member(&out, "call", changes->call);
    tc_json_member(&out, "digest", changes->digest);
    tc_json_number(&out, "count", changes->count);
    tc_buf_adds(&out, "}}");
    return tc_buf_steal(&out);
}

/* In the form of toolcage_call_approval_json(). */
static char *write_request(const char *subject)
{
    char digest[TC_DIGEST_SIZE];
    struct tc_buf out = TC_BUF_INIT;
    tc_digest(subject, strlen(subject), digest);
    tc_buf_addc(&out, '{');
    tc_json_bool(&out, "needed", true);
    tc_json_member(&out, "digest", digest);
    tc_json_number(&out, "expires_s", TC_QUEUE_CHANGES_S);
    tc_json_key(&out, "subject");
    tc_buf_adds(&out, subject);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}

int tc_wait_begin_changes(const struct tc_queue_changes *changes, const char *asker,
                          struct tc_wait **ret, struct tc_fault *fault)
{
    _autofree_ char *subject = write_subject(changes);
    _autofree_ char *request = subject ? write_request(subject) : NULL;
    return request ? tc_wait_begin(request, asker, ret, fault)
                   : tc_fault_set(fault, TOOLCAGE_EMEMORY, NULL, "out of memory");
}
