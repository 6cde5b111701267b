/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage receipt`: signs statements about recorded calls, and verifies them. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/audit/past.h"
#include "cli/audit/receipt.h"
#include "cli/call/signer.h"
#include "cli/show/clean.h"
#include "cli/show/io.h"
#include "cli/show/say.h"
#include "cli/show/table.h"

enum { EXIT_UNVERIFIED = 1, ULID = 26, SAVED_MAX = 64 << 20 };

static int check_call(const char *call, struct tc_failure *failure)
{
    if (strlen(call) == ULID && strspn(call, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ULID)
        return 0;
    return tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage audit list has the ids",
                          "%s is not the id of a call", call);
}

/* ---- receipt ---- */

static int print_signed(const struct tc_signer *signer, const char *statement, size_t length,
                        struct tc_failure *failure)
{
    struct tc_signer_answer answer = {0};
    int rc = length > TC_RECEIPT_STATEMENT_MAX
                 ? tc_failure_set(failure, TOOLCAGE_ESYSTEM, NULL,
                                  "the records of the call are too large for a receipt")
                 : tc_signer_ask(signer, TC_RECEIPT_SIGN, statement, length, &answer, failure);
    if (!rc && !answer.done)
        rc = tc_failure_set(failure, TOOLCAGE_EUNTRUSTED, "toolcage audit verify",
                            "the statement from the log is not signed: it %s", answer.bytes);
    if (!rc)
        rc = tc_cli_print(answer.bytes, answer.length);
    free(answer.bytes);
    return rc;
}

static int sign(const struct tc_args *args, struct tc_failure *failure)
{
    const char *call = args->operands[0], *given = tc_args_value(args, "key");
    struct tc_signer signer = {.socket = -1};
    size_t length = 0;
    if (check_call(call, failure))
        return -1;
    _autofree_ char *path = given ? strdup(given) : tc_signer_path(failure);
    /* no other log than the user's own: a tool could have written a copy */
    _autofd_ int dir = path ? tc_past_log(NULL, failure) : -1;
    if (dir < 0 || tc_signer_check_place(dir, failure))
        return -1;
    _autofree_ char *statement =
        dir >= 0 ? tc_receipt_statement(dir, call, &length, failure) : NULL;
    _autofd_ int key = statement ? tc_signer_open_key(path, true, failure) : -1;
    if (key < 0)
        return -1;
    int rc = tc_signer_start(&signer, path, key, failure);
    if (!rc)
        rc = print_signed(&signer, statement, length, failure);
    tc_signer_done(&signer);
    return rc;
}

/* ---- verify ---- */

static const char *const parts[] = {"requested", "granted", "enforced", "observed"};

struct verify {
    const struct tc_args *args;
    struct tc_failure *failure;
    struct tc_signer signer;
    const char *call;
    int log; /* -1: not compared */
    bool json, whole;
    bool unverified;
};

static void put_result(FILE *out, struct tc_slice predicate)
{
    struct tc_slice observed = tc_json_get(predicate, "observed");
    _autofree_ char *call = tc_json_line(tc_json_get(predicate, "call"));
    _autofree_ char *tool = tc_json_line(tc_json_get(predicate, "tool"));
    _autofree_ char *status = tc_json_line(tc_json_get(observed, "status"));
    (void)fprintf(out, "call %s: %s%s%s\n", call ? call : "?", status ? status : "?",
                  tool ? ", tool " : "", tool ? tool : "");
}

/* The signed members that are not empty, without the subjects. False: out of memory. */
static bool put_details(FILE *out, struct tc_slice predicate)
{
    static const char *const apart[] = {"requested", "granted", "enforced", "observed", NULL};
    bool fine = fputc('\n', out) != EOF && tc_table_object(out, predicate, apart);
    for (size_t i = 0; fine && i < TC_COUNT(parts); i++) {
        (void)fprintf(out, "\n-- %s\n", parts[i]);
        fine = tc_table_object(out, tc_json_get(predicate, parts[i]), NULL);
    }
    return fine;
}

/* As one line: only blanks between values can be line breaks. */
static void put_json(FILE *out, struct tc_slice value)
{
    for (size_t i = 0; i < value.length; i++)
        (void)fputc(value.at[i] < ' ' && value.at[i] > 0 ? ' ' : value.at[i], out);
}

/* Prints what was written to `out`. */
static int print_out(const struct verify *v, FILE *out, char **shown)
{
    if (!v->json)
        return tc_cli_print_text(TC_PAINT_STATES, out, shown);
    _autofree_ char *line = tc_cli_text(out, shown);
    return line ? tc_cli_print_json(line) : tc_cli_no_memory();
}

static void put_file(const struct verify *v, FILE *out, const char *file, const char *state,
                     const char *json)
{
    _autofree_ char *name = v->json ? NULL : tc_clean(TC_CLEAN_LINE, file, strlen(file), NULL);
    if (!v->json) {
        (void)fprintf(out, "%s  %s: ", state, name ? name : "?");
        return;
    }
    (void)fputs("{\"file\":", out);
    tc_cli_json_string(out, file);
    (void)fputs(json, out);
}

/* `statement`: the signed statement. */
static int print_good(const struct verify *v, const char *file, struct tc_slice statement)
{
    struct tc_slice predicate = tc_json_get(statement, "predicate");
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    bool fine = out;
    if (!out)
        return tc_cli_no_memory();
    put_file(v, out, file, "ok", ",\"verified\":true,\"statement\":");
    if (v->json) {
        put_json(out, statement);
        (void)fputc('}', out);
    } else {
        put_result(out, predicate);
        fine = !v->whole || put_details(out, predicate);
    }
    int rc = print_out(v, out, &shown);
    return rc || fine ? rc : tc_cli_no_memory();
}

/* `wrong` NULL: out of memory. */
static int print_bad(struct verify *v, const char *file, const char *wrong)
{
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    const char *reason = wrong ? wrong : "is not verified: out of memory";
    v->unverified = true;
    if (!out)
        return tc_cli_no_memory();
    put_file(v, out, file, "no", ",\"verified\":false,\"reason\":");
    if (v->json)
        tc_cli_json_string(out, reason);
    else
        (void)fputs(reason, out);
    (void)fputc(v->json ? '}' : '\n', out);
    return print_out(v, out, &shown);
}

/* A verdict that lacks its text for lack of memory is still a refusal. */
struct verdict {
    bool good;
    char *wrong; /* what is wrong, owned */
};

static struct verdict refuse(char *wrong)
{
    return (struct verdict){.wrong = wrong};
}

static bool is_equal(struct tc_slice a, struct tc_slice b)
{
    return a.at && b.at && a.length == b.length && !memcmp(a.at, b.at, a.length);
}

/* A member of any part: versions of toolcage order them differently. */
static struct tc_slice find_member(struct tc_slice predicate, struct tc_slice key)
{
    for (size_t i = 0; i < TC_COUNT(parts); i++)
        for (struct tc_scan_each each = tc_scan_walk(tc_json_get(predicate, parts[i]));
             tc_scan_next(&each);)
            if (is_equal(each.key, key))
                return each.value;
    return (struct tc_slice){0};
}

static bool has_all(struct tc_slice predicate, struct tc_slice of)
{
    for (size_t i = 0; i < TC_COUNT(parts); i++)
        for (struct tc_scan_each each = tc_scan_walk(tc_json_get(of, parts[i]));
             tc_scan_next(&each);)
            if (!is_equal(each.value, find_member(predicate, each.key)))
                return false;
    return true;
}

/* Are both statements about the same records, with the same members? */
static bool agrees(struct tc_slice a, struct tc_slice b)
{
    static const char *const same[] = {"call", "tool", "uid", "log"};
    struct tc_slice x = tc_json_get(a, "predicate"), y = tc_json_get(b, "predicate");
    for (size_t i = 0; i < TC_COUNT(same); i++)
        if (!is_equal(tc_json_get(x, same[i]), tc_json_get(y, same[i])))
            return false;
    return has_all(x, y) && has_all(y, x);
}

/* Does the log still say what was signed? */
static struct verdict compare_log(const struct verify *v, const char *call, const char *text,
                                  size_t length)
{
    _autofailure_ struct tc_failure failure = {0};
    size_t now = 0;
    _autofree_ char *logged = tc_receipt_statement(v->log, call, &now, &failure);
    if (!logged)
        return refuse(tc_cli_format("is signed, but does not agree with the log: %s",
                                    failure.message ? failure.message : "out of memory"));
    if (!agrees(tc_scan_whole(text, length), tc_scan_whole(logged, now)))
        return refuse(strdup("is signed, but the log says something else about the call"));
    return (struct verdict){.good = true};
}

/* A good signature is not enough: is it about the right call? */
static struct verdict judge(const struct verify *v, const struct tc_signer_answer *answer)
{
    struct tc_slice statement = tc_scan_whole(answer->bytes, answer->length);
    _autofree_ char *call = tc_json_line(tc_json_get(tc_json_get(statement, "predicate"), "call"));
    if (!answer->done)
        return refuse(strdup(answer->bytes));
    if (!call)
        return refuse(strdup("is signed, but cannot be read"));
    if (v->call && strcmp(call, v->call) != 0)
        return refuse(tc_cli_format("is signed, but it is of another call: %s", call));
    return v->log < 0 ? (struct verdict){.good = true}
                      : compare_log(v, call, answer->bytes, answer->length);
}

/* The receipt in the result of toolcage mcp --receipts: the response, its result, or the _meta in
 * it, as far as the client has saved that. Otherwise the whole text. */
static struct tc_slice find_receipt(const char *bytes, size_t length)
{
    static const char *const ways[] = {"result", "_meta", "toolcage/receipt"};
    struct tc_slice whole = {bytes, length}, found = tc_scan_whole(bytes, length);
    for (size_t i = 0; i < TC_COUNT(ways) && tc_scan_is_object(found); i++) {
        struct tc_slice inner = tc_json_get(found, ways[i]);
        found = inner.at ? inner : found;
    }
    return tc_scan_is_object(found) && tc_json_get(found, "payload").at ? found : whole;
}

static int verify_bytes(struct verify *v, const char *file, const char *bytes, size_t length)
{
    struct tc_signer_answer answer;
    int rc = tc_signer_ask(&v->signer, TC_RECEIPT_CHECK, bytes, length, &answer, v->failure);
    _autofree_ char *text = answer.bytes;
    if (rc)
        return rc;
    struct verdict verdict = judge(v, &answer);
    rc = verdict.good ? print_good(v, file, tc_scan_whole(text, answer.length))
                      : print_bad(v, file, verdict.wrong);
    free(verdict.wrong);
    return rc;
}

/* A pipe among files would be waited for; a shell's <(…) is meant. */
static bool is_stray_pipe(const char *file)
{
    struct stat st;
    return strncmp(file, "/dev/fd/", strlen("/dev/fd/")) != 0 && !stat(file, &st) &&
           S_ISFIFO(st.st_mode);
}

static int verify_file(struct verify *v, const char *file)
{
    size_t length = 0;
    if (is_stray_pipe(file))
        return print_bad(v, file, "is a pipe: pass its content as input, and name -");
    _autofree_ char *bytes = tc_cli_read_input(file, SAVED_MAX, &length);
    struct tc_slice receipt = bytes ? find_receipt(bytes, length) : (struct tc_slice){0};
    if (receipt.at && receipt.length <= TC_RECEIPT_ENVELOPE_MAX)
        return verify_bytes(v, file, receipt.at, receipt.length);
    errno = bytes ? EFBIG : errno;
    _autofree_ char *wrong = tc_cli_format(
        errno == EFBIG ? "is larger than a receipt can be" : "cannot be read: %s", strerror(errno));
    return print_bad(v, file, wrong);
}

static int verify_files(struct verify *v, const char *path, int key)
{
    int rc = tc_signer_start(&v->signer, path, key, v->failure);
    for (size_t i = 0; !rc && i < v->args->operand_count; i++)
        rc = verify_file(v, v->args->operands[i]);
    tc_signer_done(&v->signer);
    return rc ? rc : v->unverified ? EXIT_UNVERIFIED : 0;
}

static int verify(const struct tc_args *args, struct tc_failure *failure)
{
    const char *path = tc_args_value(args, "key"), *directory = tc_args_value(args, "directory");
    struct verify v = {.args = args,
                       .failure = failure,
                       .call = tc_args_value(args, "call"),
                       .log = -1,
                       .json = tc_args_has(args, "json"),
                       .whole = args->operand_count == 1};
    if (!path)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                              "add --key FILE, with what toolcage receipt key printed",
                              "the public key of the signer is needed");
    if (v.call && check_call(v.call, failure))
        return -1;
    _autofd_ int key = tc_signer_open_key(path, false, failure);
    bool compares = directory || tc_args_has(args, "log");
    _autofd_ int log = key >= 0 && compares ? tc_past_log(directory, failure) : -1;
    v.log = log;
    return key < 0 || (compares && log < 0) ? -1 : verify_files(&v, path, key);
}

/* ---- key ---- */

static int print_key(const char *path, int key, struct tc_failure *failure)
{
    struct tc_signer signer;
    struct tc_signer_answer answer = {0};
    int rc = tc_signer_start(&signer, path, key, failure);
    if (!rc)
        rc = tc_signer_ask(&signer, TC_RECEIPT_SHOW, "", 0, &answer, failure);
    if (!rc)
        rc = tc_cli_print(answer.bytes, answer.length);
    free(answer.bytes);
    tc_signer_done(&signer);
    return rc;
}

static int show_key(const struct tc_args *args, struct tc_failure *failure)
{
    bool made = false;
    (void)args;
    _autofree_ char *path = tc_signer_path(failure);
    if (!path || tc_signer_make_key(path, &made, failure))
        return -1;
    _autofd_ int key = tc_signer_open_key(path, true, failure);
    if (key < 0)
        return -1;
    if (made)
        tc_cli_say("made the key %s; give verifiers the public one, which follows", path);
    return print_key(path, key, failure);
}

/* ---- the verbs ---- */

static int tell(const struct tc_args *args,
                int (*run)(const struct tc_args *args, struct tc_failure *failure))
{
    _autofailure_ struct tc_failure failure = {0};
    int rc = run(args, &failure);
    return rc < 0 ? tc_failure_tell(&failure, args, NULL) : rc;
}

static int run_receipt(const struct tc_args *args)
{
    return tell(args, sign);
}

static int run_verify(const struct tc_args *args)
{
    return tell(args, verify);
}

static int run_key(const struct tc_args *args)
{
    return tell(args, show_key);
}

static const struct tc_option receipt_options[] = {
    {"key", 0, "FILE", NULL, "another private key than yours (Ed25519, PEM, mode 0600)"},
    TC_OPTION_HELP,
    {0},
};

static const struct tc_option verify_options[] = {
    {"key", 0, "FILE", NULL, "the signer's public key in PEM"},
    {"call", 0, "ID", NULL, "the receipt must be of this call"},
    {"log", 0, NULL, NULL, "also compare with the audit log"},
    {"directory", 0, "DIR", NULL, "the same with another log than yours, such as a copy"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const struct tc_option key_options[] = {TC_OPTION_HELP, {0}};

const struct tc_verb tc_verb_receipt = {
    .name = "receipt",
    .operands = "CALL",
    .summary = "sign a statement about a call of the audit log",
    .text =
        "The receipt says what was requested, granted, enforced and observed, according to the "
        "call's two\n"
        "records. It is a DSSE envelope with an in-toto statement, so other tools can verify it, "
        "too. A call\n"
        "without a result has no receipt, and nothing is signed from a damaged log.\n"
        "\n"
        "examples:\n"
        "  toolcage receipt key > receipts.pub      make the key pair, print the public key\n"
        "  toolcage receipt 01JD8XKQ7PZ3T5V9WYB2C4D6E8 > call.json\n"
        "  toolcage receipt verify --key receipts.pub call.json\n",
    .options = receipt_options,
    .minor = true,
    .least = 1,
    .most = 1,
    .run = run_receipt,
};

const struct tc_verb tc_verb_receipt_verify = {
    .name = "receipt verify",
    .operands = "--key FILE RECEIPT...",
    .summary = "verify receipts, and print what was signed",
    .text =
        "Needs only the public key. Of several receipts, each is a line. - is standard input.\n"
        "\n"
        "exit codes: 0 all are verified, 1 one is not, 125 or 126 the key or the log cannot be "
        "used\n"
        "\n"
        "examples:\n"
        "  toolcage receipt verify --key receipts.pub call.json\n"
        "  toolcage receipt verify --key receipts.pub --call 01JD8XKQ7PZ3T5V9WYB2C4D6E8 call.json\n"
        "  toolcage receipt verify --key receipts.pub --log *.json\n",
    .options = verify_options,
    .minor = true,
    .least = 1,
    .most = -1,
    .run = run_verify,
};

const struct tc_verb tc_verb_receipt_key = {
    .name = "receipt key",
    .operands = "",
    .summary = "print the public key of receipts; make the pair first, if there is none",
    .text = "The private key is receipt/key.pem in the state directory, which no cage shows.\n"
            "\n"
            "example:\n"
            "  toolcage receipt key > receipts.pub\n",
    .options = key_options,
    .minor = true,
    .most = 0,
    .run = run_key,
};
