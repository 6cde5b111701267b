/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "audit/evidence.h"
#include "cli/audit/receipt.h"
#include "cli/show/json.h"
#include "cli/show/say.h"
#include "receipt/protocol.h"

enum { DIGEST = sizeof("sha256:") - 1 + 64 };

/* ---- subjects ---- */

static void put_slice(FILE *out, struct tc_slice value)
{
    if (value.at)
        (void)fwrite(value.at, 1, value.length, out);
    else
        (void)fputs("null", out);
}

/* `hex` without its quotes. */
static void put_digest(FILE *out, const char *hex, size_t length)
{
    (void)fprintf(out, ",\"digest\":{\"sha256\":\"%.*s\"}}", (int)length, hex);
}

static void put_record_subject(FILE *out, const char *name, const struct tc_audit_proof *proof)
{
    (void)fprintf(out, "{\"name\":\"%s\"", name);
    put_digest(out, strchr(proof->hash, ':') + 1, strlen(strchr(proof->hash, ':') + 1));
}

/* The output, if there was any: the digest of nothing would match every empty file. */
static void put_stream(FILE *out, const char *name, struct tc_slice stream)
{
    struct tc_slice digest = tc_json_get(stream, "digest");
    if (!tc_json_int(tc_json_get(stream, "bytes"), 0) || digest.length != DIGEST + 2)
        return;
    (void)fprintf(out, ",{\"name\":\"%s\"", name);
    put_digest(out, digest.at + 1 + strlen("sha256:"), 64);
}

static void put_changes(FILE *out, struct tc_slice changes)
{
    struct tc_scan_each each = tc_scan_walk(changes);
    while (tc_scan_is_array(changes) && tc_scan_next(&each)) {
        struct tc_slice path = tc_json_get(each.value, "path");
        struct tc_slice bytes = tc_json_get(each.value, "path_base64");
        struct tc_slice sha256 = tc_json_get(each.value, "sha256");
        if (!tc_scan_is_string(sha256) || sha256.length != 64 + 2 || (!path.at && !bytes.at))
            continue;
        (void)fputs(",{\"name\":", out);
        if (path.at)
            put_slice(out, path);
        else
            (void)fprintf(out, "\"base64:%.*s\"", (int)bytes.length - 2, bytes.at + 1);
        put_digest(out, sha256.at + 1, 64);
    }
}

/* ---- the predicate ---- */

enum part { REQUESTED, GRANTED, ENFORCED, OBSERVED, LEFT_OUT };

/* Members of either record that do not belong to the record's usual part. */
static const struct {
    const char *name;
    enum part part;
} places[] = {
    {"prev", LEFT_OUT},    {"seq", LEFT_OUT},           {"kind", LEFT_OUT},
    {"time", LEFT_OUT},    {"hash", LEFT_OUT},          {"call", LEFT_OUT},
    {"tool", LEFT_OUT},    {"uid", LEFT_OUT},           {"pid", LEFT_OUT},
    {"policy", GRANTED},   {"grant", GRANTED},          {"tier", GRANTED},
    {"approval", GRANTED}, {"approval_again", GRANTED}, {"read", GRANTED},
    {"write", GRANTED},    {"unix_sockets", GRANTED},   {"network", GRANTED},
    {"secrets", GRANTED},  {"reach", GRANTED},          {"environment", GRANTED},
    {"backend", ENFORCED}, {"layers", ENFORCED},        {"enforcement", ENFORCED},
    {"proved", ENFORCED},
};

static enum part part_of(struct tc_slice key, enum part usual)
{
    for (size_t i = 0; i < TC_COUNT(places); i++)
        if (tc_scan_is(key, places[i].name))
            return places[i].part;
    return usual;
}

/* The record's members of one part, with their bytes as they are. */
static bool put_members(FILE *out, struct tc_slice record, enum part usual, enum part part,
                        bool any)
{
    struct tc_scan_each each = tc_scan_walk(record);
    while (tc_scan_next(&each)) {
        if (part_of(each.key, usual) != part)
            continue;
        (void)fputs(any ? "," : "", out);
        put_slice(out, each.key);
        (void)fputc(':', out);
        put_slice(out, each.value);
        any = true;
    }
    return any;
}

static void put_record(FILE *out, const char *name, const struct tc_audit_proof *proof,
                       struct tc_slice record)
{
    (void)fprintf(out, "\"%s\":{\"seq\":%" PRIu64 ",\"time\":", name, proof->seq);
    put_slice(out, tc_json_get(record, "time"));
    (void)fprintf(out, ",\"hash\":\"%s\"}", proof->hash);
}

static void put_predicate(FILE *out, const struct tc_audit_evidence *e, struct tc_slice decision,
                          struct tc_slice result)
{
    static const char *const parts[] = {"requested", "granted", "enforced", "observed"};
    static const char *const same[] = {"call", "tool", "uid"};
    for (size_t i = 0; i < TC_COUNT(same); i++) {
        (void)fprintf(out, "%s\"%s\":", i ? "," : "{", same[i]);
        put_slice(out, tc_json_get(decision, same[i]));
    }
    (void)fputs(",\"log\":{", out);
    put_record(out, "decision", &e->decision, decision);
    (void)fputc(',', out);
    put_record(out, "result", &e->result, result);
    (void)fputc('}', out);
    for (enum part part = REQUESTED; part <= OBSERVED; part++) {
        (void)fprintf(out, ",\"%s\":{", parts[part]);
        bool any = put_members(out, decision, REQUESTED, part, false);
        (void)put_members(out, result, OBSERVED, part, any);
        (void)fputc('}', out);
    }
    (void)fputc('}', out);
}

static char *write_statement(const struct tc_audit_evidence *e, struct tc_slice decision,
                             struct tc_slice result, size_t *ret_length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);
    if (!out)
        return NULL;
    (void)fputs("{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[", out);
    put_record_subject(out, "decision", &e->decision);
    (void)fputc(',', out);
    put_record_subject(out, "result", &e->result);
    put_stream(out, "stdout", tc_json_get(result, "stdout"));
    put_stream(out, "stderr", tc_json_get(result, "stderr"));
    put_changes(out, tc_json_get(result, "changes"));
    (void)fputs("],\"predicateType\":\"" TC_RECEIPT_PREDICATE "\",\"predicate\":", out);
    put_predicate(out, e, decision, result);
    (void)fputc('}', out);
    bool whole = !ferror(out);
    char *ret = tc_cli_text(out, &text);
    if (whole)
        return ret;
    free(ret);
    return NULL;
}

/* ---- is there something to state? ---- */

static int refuse(struct tc_failure *failure, const char *call, const char *why)
{
    return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                          "receipts are for calls that ended: toolcage audit list",
                          "there is no receipt for the call %s: %s", call, why);
}

static int fail_damaged(const struct tc_audit_evidence *e, struct tc_failure *failure)
{
    static const char hint[] = "toolcage audit verify";
    return e->line ? tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, hint,
                                    "the audit log is damaged: %s.jsonl, line %" PRIu64
                                    ": the record %s",
                                    e->segment, e->line, e->fault)
                   : tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, hint,
                                    "the audit log is damaged: %s.jsonl: the segment %s",
                                    e->segment, e->fault);
}

static int check_records(const struct tc_audit_evidence *e, const char *call,
                         struct tc_failure *failure)
{
    if (e->fault)
        return fail_damaged(e, failure);
    if (e->refused)
        return refuse(failure, call, "it was refused, and nothing ran");
    if (!e->decision.text && !e->result.text)
        return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, "toolcage audit list has the ids",
                              "the log has no call %s", call);
    if (!e->decision.text)
        return refuse(
            failure, call,
            "the log lacks its decision, which may have been removed with an old segment");
    return e->result.text ? 0
                          : refuse(failure, call,
                                   "the log has no result of it. It still runs, or its program "
                                   "was ended before it");
}

static int check_result(struct tc_slice result, const char *call, struct tc_failure *failure)
{
    struct tc_slice started = tc_json_get(result, "started");
    if (tc_json_true(tc_json_get(result, "abandoned")))
        return refuse(failure, call, "it was abandoned, and nobody observed how it ended");
    if (started.at && !tc_json_true(started))
        return refuse(failure, call, "it could not be started");
    return 0;
}

static char *state(const struct tc_audit_evidence *e, const char *call, size_t *ret_length,
                   struct tc_failure *failure)
{
    if (check_records(e, call, failure))
        return NULL;
    struct tc_slice decision = tc_scan_whole(e->decision.text, e->decision.length);
    struct tc_slice result = tc_scan_whole(e->result.text, e->result.length);
    if (!tc_scan_is_object(decision) || !tc_scan_is_object(result)) {
        (void)tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, "toolcage audit verify",
                             "the records of the call %s are not JSON", call);
        return NULL;
    }
    if (check_result(result, call, failure))
        return NULL;
    char *text = write_statement(e, decision, result, ret_length);
    if (!text)
        (void)tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    return text;
}

char *tc_receipt_statement(int dir, const char *call, size_t *ret_length,
                           struct tc_failure *failure)
{
    return tc_receipt_statement_since(dir, call, &(struct tc_audit_place){.at = 0}, ret_length,
                                      failure);
}

char *tc_receipt_statement_since(int dir, const char *call, const struct tc_audit_place *since,
                                 size_t *ret_length, struct tc_failure *failure)
{
    struct tc_audit_evidence evidence;
    char *text = NULL;
    if (tc_audit_evidence_since(dir, call, since, &evidence) < 0)
        (void)tc_failure_set(failure, TOOLCAGE_ESYSTEM, "see who owns its files",
                             "cannot read the audit log: %s", strerror(errno));
    else
        text = state(&evidence, call, ret_length, failure);
    tc_audit_evidence_done(&evidence);
    return text;
}
