/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A call's life over a helper that is a thread: every status, every way to misuse it, and a helper
 * that answers wrongly. */
#include "call/call.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "call/live_files.h"
#include "peer.h"
#include "test.h"

static const char policy_text[] = "[tool.fine]\n"
                                  "command = [\"ok\", \"stdout=hello\", \"stderr=oops\"]\n"
                                  "backend = \"not-a-security-boundary\"\n"
                                  "[tool.bad]\n"
                                  "command = [\"failed\", \"exit=3\"]\n"
                                  "backend = \"not-a-security-boundary\"\n"
                                  "[tool.slow]\n"
                                  "command = [\"timeout\"]\n"
                                  "backend = \"not-a-security-boundary\"\n"
                                  "timeout = \"7s\"\n"
                                  "[tool.big]\n"
                                  "command = [\"limit\", \"limit=memory\"]\n"
                                  "backend = \"not-a-security-boundary\"\n"
                                  "memory = \"64MiB\"\n"
                                  "[tool.endless]\n"
                                  "command = [\"hang\"]\n"
                                  "backend = \"not-a-security-boundary\"\n"
                                  "[tool.fed]\n"
                                  "command = [\"ok\"]\n"
                                  "stdin = \"from the policy\"\n"
                                  "backend = \"not-a-security-boundary\"\n"
                                  "[tool.absent]\n"
                                  "command = [\"ok\"]\n"
                                  "backend = \"kubernetes\"\n"
                                  "[tool.asks]\n"
                                  "command = [\"ok\"]\n"
                                  "tier = \"HumanApprove\"\n"
                                  "backend = \"not-a-security-boundary\"\n"
                                  "[tool.caged]\n"
                                  "command = [\"true\"]\n"
                                  "backend = \"process\"\n"
                                  "network = [\"api.example.com:443\"]\n"
                                  "secrets.KEY = { from = \"env:KEY\", hosts = "
                                  "[\"api.example.com:443\"], header = \"X: {secret}\" }\n"
                                  "[tool.first]\n"
                                  "command = [\"ok\"]\n"
                                  "backend = \"process\"\n"
                                  "fallback = [\"oci\"]\n"
                                  "[tool.second]\n"
                                  "command = [\"ok\"]\n"
                                  "backend = \"kubernetes\"\n"
                                  "fallback = [\"wasmtime\", \"process\"]\n"
                                  "[tool.grouped]\n"
                                  "command = [\"ok\"]\n"
                                  "memory = \"64MiB\"\n"
                                  "backend = \"process\"\n"
                                  "image = \"system\"\n"
                                  "fallback = [\"oci\"]\n"
                                  "[tool.unixy]\n"
                                  "command = [\"ok\"]\n"
                                  "backend = \"oci\"\n"
                                  "unix_sockets = \"own\"\n"
                                  "fallback = [\"gvisor\", \"process\"]\n"
                                  "[tool.nowhere]\n"
                                  "command = [\"ok\"]\n"
                                  "backend = \"kubernetes\"\n"
                                  "fallback = [\"wasmtime\"]\n"
                                  "[tool.nested]\n"
                                  "command = [\"ok\"]\n"
                                  "layers = [\"oci\", \"gvisor\"]\n"
                                  "[tool.traces]\n"
                                  "command = [\"ok\"]\n"
                                  "backend = \"gvisor\"\n"
                                  "syscalls.allow = [\"ptrace\"]\n"
                                  "[tool.byhand]\n"
                                  "command = [\"ok\"]\n"
                                  "tier = \"ManualOnly\"\n"
                                  "fallback = [\"process\"]\n";

/* One engine, one policy, one call of a tool. */
struct stage {
    struct peer peer;
    struct toolcage_engine *engine;
    struct toolcage_policy *policy;
    struct toolcage_call *call;
};

static void set_stage(struct stage *s, enum peer_manner manner, const char *tool)
{
    struct toolcage_error *err = NULL;
    peer_start(&s->peer, manner, &s->engine);
    int r = tc_policy_load_buffer(policy_text, strlen(policy_text), "test.toml", &s->policy, &err);
    if (r < 0)
        fail_msg("%s", tc_error_report(err));
    assert_int_equal(tc_call_new(s->engine, s->policy, tool, &s->call, NULL), 0);
}

static void strike(struct stage *s)
{
    tc_call_unref(s->call);
    tc_policy_unref(s->policy);
    tc_engine_unref(s->engine);
    peer_join(&s->peer);
}

static const struct toolcage_result *run_call(struct stage *s)
{
    struct toolcage_error *err = NULL;
    if (tc_call_start(s->call, &err) < 0 || tc_call_wait(s->call, 10000, &err) != 1)
        fail_msg("%s", tc_error_report(err));
    assert_non_null(s->call->result);
    return s->call->result;
}

/* Text of a member of the result's JSON, by path of at most two names. */
static void expect_json(const struct toolcage_result *result, const char *key, const char *sub,
                        const char *wanted)
{
    json_error_t why;
    json_t *root = json_loads(result->json, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        fail_msg("%s: %s", why.text, result->json);
    json_t *value = json_object_get(root, key);
    if (sub)
        value = json_object_get(value, sub);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (!text || strcmp(text, wanted) != 0)
        fail_msg("%s.%s is %s, not %s", key, sub ? sub : "", text ? text : "absent", wanted);
    free(text);
    json_decref(root);
}

/* The peer's machine holds every clause but limit.memory, by a control group. */
static void falls_back_in_order(void **state)
{
    static const struct {
        const char *tool, *backend;
    } rows[] = {{"first", "\"process\""},
                {"second", "\"process\""},
                {"grouped", "\"oci\""},
                {"unixy", "\"process\""}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct stage s;
        set_stage(&s, PEER_HONEST, rows[i].tool);
        char *json = NULL;
        assert_int_equal(tc_call_explain(s.call, NULL, &json, NULL), 0);
        if (!strstr(json, "\"chosen\":true"))
            fail_msg("%s: %s", rows[i].tool, json);
        free(json);
        const struct toolcage_result *result = run_call(&s);
        assert_int_equal(result->outcome.status, TOOLCAGE_STATUS_OK);
        expect_json(result, "backend", NULL, rows[i].backend);
        peer_settle(&s.peer);
        assert_int_equal(s.peer.calls, 2); /* one probe, one call */
        strike(&s);
    }
}

/* The grant's digest is that of the backend that ran it. */
static void choice_is_in_the_digest(void **state)
{
    struct stage a, b;
    set_stage(&a, PEER_HONEST, "grouped");
    set_stage(&b, PEER_HONEST, "grouped");
    struct tc_grant grant = {0};
    assert_int_equal(tc_call_resolve(b.call, false, NULL, &grant, NULL), 0);
    assert_string_equal(grant.backend, "process");
    run_call(&a);
    assert_string_not_equal(a.call->grant.digest, grant.digest);
    tc_grant_done(&grant);
    strike(&a);
    strike(&b);
}

static void success_has_every_field(void **state)
{
    static const char *const fields[] = {
        "version", "call",   "tool",    "status", "exit_code", "signal",  "limit",      "error",
        "backend", "layers", "tier",    "policy", "grant",     "stdout",  "stderr",     "message",
        "changes", "files",  "session", "usage",  "denials",   "omitted", "enforcement"};
    struct stage s;
    set_stage(&s, PEER_HONEST, "fine");
    const struct toolcage_result *result = run_call(&s);
    assert_int_equal(result->outcome.status, TOOLCAGE_STATUS_OK);
    assert_int_equal(tc_result_shell_code(result), 0);
    json_t *root = json_loads(result->json, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_int_equal(json_object_size(root), TC_COUNT(fields));
    for (size_t i = 0; i < TC_COUNT(fields); i++)
        assert_non_null(json_object_get(root, fields[i]));
    json_decref(root);
    assert_null(strchr(result->json, '\n'));
    expect_json(result, "status", NULL, "\"ok\"");
    expect_json(result, "exit_code", NULL, "0");
    expect_json(result, "error", NULL, "null");
    expect_json(result, "stdout", NULL, "{\"text\":\"hello\",\"bytes\":5,\"truncated\":false}");
    expect_json(result, "usage", "memory_peak_bytes", "null");
    assert_non_null(strstr(result->message, "NOT A SECURITY BOUNDARY"));
    assert_non_null(strstr(result->message, "hello"));
    strike(&s);
}

static void endings_map_to_status_and_code(void **state)
{
    static const struct {
        const char *tool, *status, *limit, *words;
        int shell;
    } rows[] = {
        {"bad", "\"failed\"", "null", "exited with code 3", 3},
        {"slow", "\"timeout\"", "null", "deadline of 7 s", 124},
        {"big", "\"limit\"", "\"memory\"", "memory limit of 64 MiB", 137},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct stage s;
        set_stage(&s, PEER_HONEST, rows[i].tool);
        const struct toolcage_result *result = run_call(&s);
        expect_json(result, "status", NULL, rows[i].status);
        expect_json(result, "limit", NULL, rows[i].limit);
        assert_int_equal(tc_result_shell_code(result), rows[i].shell);
        assert_non_null(strstr(result->message, rows[i].words));
        strike(&s);
    }
}

static void refusals_are_finished_calls(void **state)
{
    static const struct {
        const char *tool, *subject, *words;
        int code, shell;
    } rows[] = {
        {"absent", "kubernetes", "no backend kubernetes", TOOLCAGE_EBACKEND, 125},
        {"asks", "asks", "nobody has given it", TOOLCAGE_EDENIED, 126},
        {"caged", "env:KEY", "the secret KEY has no value that can be used: it is not set",
         TOOLCAGE_ENOT_FOUND, 126},
        {"nowhere", "fallback",
         "kubernetes (this version has no such backend); wasmtime (this version has no such "
         "backend)",
         TOOLCAGE_EUNENFORCEABLE, 126},
        {"nested", "layers", "no backend of this version supports", TOOLCAGE_EUNENFORCEABLE, 126},
        {"traces", "syscalls", "backend gvisor cannot allow system calls that",
         TOOLCAGE_EUNENFORCEABLE, 126},
        {"byhand", "byhand", "tier ManualOnly", TOOLCAGE_EDENIED, 126},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct stage s;
        set_stage(&s, PEER_HONEST, rows[i].tool);
        const struct toolcage_result *result = run_call(&s);
        assert_int_equal(tc_error_code(result->error), rows[i].code);
        assert_string_equal(tc_error_subject(result->error), rows[i].subject);
        if (!strstr(tc_error_message(result->error), rows[i].words))
            fail_msg("%s: %s", rows[i].tool, tc_error_message(result->error));
        assert_string_not_equal(tc_error_hint(result->error), "");
        assert_non_null(strstr(result->message, rows[i].words));
        assert_int_equal(tc_result_shell_code(result), rows[i].shell);
        struct pollfd p = {.fd = tc_call_fd(s.call), .events = POLLIN};
        assert_int_equal(poll(&p, 1, 0), 1);
        assert_true(p.revents & POLLIN);
        assert_int_equal(tc_call_dispatch(s.call, NULL), 1);
        peer_settle(&s.peer);
        assert_int_equal(s.peer.calls, 0);
        strike(&s);
    }
}

static void missing_secret_names_its_place(void **state)
{
    struct stage s;
    set_stage(&s, PEER_HONEST, "caged");
    const struct toolcage_result *result = run_call(&s);
    const char *file;
    uint32_t line;
    tc_error_location(result->error, &file, &line, NULL);
    assert_string_equal(file, "test.toml");
    assert_int_equal(line, 33);
    strike(&s);
}

static void call_cannot_choose_no_cage(void **state)
{
    struct stage s;
    set_stage(&s, PEER_HONEST, "first");
    /* Refused at once or at start, by the policy or by the router: it must not reach the helper. */
    if (tc_call_set(s.call, "backend", "not-a-security-boundary", NULL) == 0) {
        const struct toolcage_result *result = run_call(&s);
        assert_int_equal(result->outcome.status, TOOLCAGE_STATUS_DENIED);
    }
    peer_settle(&s.peer);
    assert_int_equal(s.peer.calls, 0);
    strike(&s);
}

static void wrong_answers_are_errors(void **state)
{
    static const enum peer_manner manners[] = {PEER_VANISH,   PEER_LEAVE,     PEER_GARBAGE,
                                               PEER_TRAILING, PEER_UNSEALED,  PEER_NO_FILE,
                                               PEER_SHORT,    PEER_INSIDE_CUT};
    for (size_t i = 0; i < TC_COUNT(manners); i++) {
        struct stage s;
        set_stage(&s, manners[i], "fine");
        const struct toolcage_result *result = run_call(&s);
        assert_int_equal(result->outcome.status, TOOLCAGE_STATUS_ERROR);
        assert_int_equal(tc_error_code(result->error), TOOLCAGE_EHELPER);
        assert_int_equal(tc_result_shell_code(result), 125);
        expect_json(result, "error", "code", "\"helper\"");
        strike(&s);
    }
}

/* What a call said is the same whether its outcome came in the message or in a file. */
static void outcomes_come_inside(void **state)
{
    static const enum peer_manner manners[] = {PEER_HONEST, PEER_INSIDE};
    for (size_t i = 0; i < TC_COUNT(manners); i++) {
        struct stage s;
        set_stage(&s, manners[i], "fine");
        const struct toolcage_result *result = run_call(&s);
        assert_int_equal(result->outcome.status, TOOLCAGE_STATUS_OK);
        peer_settle(&s.peer);
        assert_true(s.peer.job.inside);
        assert_true(s.peer.job.plan_bytes > 0);
        strike(&s);
    }
}

static void lost_helper_fails_start(void **state)
{
    struct stage s;
    set_stage(&s, PEER_LEAVE, "fine");
    (void)run_call(&s);
    struct pollfd p = {.fd = tc_engine_fd(s.engine), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 5000), 1);
    struct toolcage_call *second = NULL;
    struct toolcage_error *err = NULL;
    assert_int_equal(tc_call_new(s.engine, s.policy, "fine", &second, NULL), 0);
    assert_int_equal(tc_call_start(second, &err), TOOLCAGE_EHELPER);
    assert_string_equal(tc_error_message(err), "the helper has gone");
    tc_error_free(err);
    tc_call_unref(second);
    strike(&s);
}

static void lie_about_success(struct tc_outcome *o)
{
    o->exit_code = 5;
}

static void say_nonsense(struct tc_outcome *o)
{
    o->status = 99;
}

static void deny_without_reason(struct tc_outcome *o)
{
    o->status = TOOLCAGE_STATUS_DENIED;
}

static void success_is_never_assumed(void **state)
{
    void (*const answers[])(struct tc_outcome *) = {lie_about_success, say_nonsense,
                                                    deny_without_reason};
    for (size_t i = 0; i < TC_COUNT(answers); i++) {
        struct stage s;
        set_stage(&s, PEER_HONEST, "fine");
        s.peer.answer = answers[i];
        const struct toolcage_result *result = run_call(&s);
        assert_int_not_equal(result->outcome.status, TOOLCAGE_STATUS_OK);
        assert_non_null(result->error);
        assert_int_not_equal(tc_result_shell_code(result), 0);
        strike(&s);
    }
}

static void fail_with_place(struct tc_outcome *o)
{
    o->status = TOOLCAGE_STATUS_DENIED;
    o->exit_code = -1;
    o->failure = (struct tc_outcome_failure){
        .code = TOOLCAGE_EPATH,
        .stage = strdup("resolve"),
        .subject = strdup("/data"),
        .message = strdup("the granted path /data is missing: No such file or directory"),
        .errnum = ENOENT,
        .hint = strdup("make it, or say optional = true"),
        .line = 12,
        .clause = TC_CLAUSE_FS_READ};
}

static void failures_carry_their_place(void **state)
{
    struct stage s;
    set_stage(&s, PEER_HONEST, "fine");
    s.peer.answer = fail_with_place;
    const struct toolcage_result *result = run_call(&s);
    expect_json(result, "error", "location", "{\"file\":\"test.toml\",\"line\":12,\"column\":1}");
    expect_json(result, "error", "subject", "\"/data\"");
    assert_string_equal(tc_error_message(result->error),
                        "the granted path /data is missing: No such file or directory");
    assert_int_equal(tc_result_shell_code(result), 126);
    strike(&s);
}

static void describe_much(struct tc_outcome *o)
{
    static const char bytes[] = "\xff\xfe\x00z";
    o->status = TOOLCAGE_STATUS_FAILED;
    o->exit_code = 1;
    free(o->out.head);
    o->out = (struct tc_stream){.head = malloc(4), .head_len = 4, .bytes = 4};
    memcpy(o->out.head, bytes, 4);
    struct tc_denial *d = TC_PUSH(o->denials, o->denial_count);
    *d = (struct tc_denial){
        .kind = TC_DENIAL_CONNECT, .target = strdup("192.0.2.1:443"), .count = 2};
    d = TC_PUSH(o->denials, o->denial_count);
    *d = (struct tc_denial){
        .kind = TC_DENIAL_SYSCALL, .target = strdup("io_uring_setup"), .count = 1, .probe = true};
    struct tc_change *c = TC_PUSH(o->changes, o->change_count);
    *c = (struct tc_change){.path = strdup("/workspace/\xff"), .kind = strdup("added"), .bytes = 3};
    struct tc_file *f = TC_PUSH(o->files, o->file_count);
    *f = (struct tc_file){.path = strdup("/workspace/a.csv"), .bytes = 3, .sha256 = strdup("00")};
    f = TC_PUSH(o->files, o->file_count);
    *f = (struct tc_file){.path = strdup("/f"), .content = strdup("a\n"), .content_len = 2};
    f = TC_PUSH(o->files, o->file_count);
    *f = (struct tc_file){.path = strdup("/f"), .content = strdup("\xff"), .content_len = 1};
    f = TC_PUSH(o->files, o->file_count);
    *f = (struct tc_file){.path = strdup("/f"), .content = strdup("")};
    struct tc_enforced *e = TC_PUSH(o->enforced, o->enforced_count);
    *e = (struct tc_enforced){.clause = TC_CLAUSE_FS_WRITE, .mechanism = strdup("mount namespace")};
}

static void evidence_is_reported(void **state)
{
    struct stage s;
    set_stage(&s, PEER_HONEST, "fine");
    s.peer.answer = describe_much;
    const struct toolcage_result *result = run_call(&s);
    expect_json(result, "stdout", "base64", "\"//4Aeg==\"");
    expect_json(result, "enforcement", "fs.write", "\"mount namespace\"");
    assert_non_null(strstr(result->json, "\"path_base64\""));
    assert_non_null(strstr(result->json, "\"mime\":\"text/csv\",\"bytes\":3,\"sha256\":\"00\","
                                         "\"text\":null}"));
    assert_non_null(strstr(result->json, "\"sha256\":null,\"text\":\"a\\n\"}"));
    assert_non_null(strstr(result->json, "\"sha256\":null,\"base64\":\"/w==\"}"));
    assert_non_null(strstr(result->json, "\"sha256\":null,\"text\":\"\"}"));
    assert_non_null(strstr(result->json, "\"probe\":true"));
    assert_non_null(strstr(
        result->message, "network: 192.0.2.1:443 was refused: tool fine has no network (2 times)"));
    assert_null(strstr(result->message, "io_uring_setup"));
    assert_non_null(strstr(result->message, "4 bytes that are not UTF-8"));
    strike(&s);
}

static void collect_output(void *userdata, int stream, const void *bytes, size_t length)
{
    tc_buf_addf(userdata, "%d:%.*s;", stream, (int)length, (const char *)bytes);
}

static void output_streams(void **state)
{
    struct stage s;
    _autobuf_ struct tc_buf heard = TC_BUF_INIT;
    set_stage(&s, PEER_HONEST, "fine");
    assert_int_equal(tc_call_set_output(s.call, collect_output, &heard, NULL), 0);
    (void)run_call(&s);
    assert_string_equal(heard.data, "1:hello;2:oops;");
    strike(&s);
}

static void no_input_is_not_an_empty_one(void **state)
{
    struct stage s;
    set_stage(&s, PEER_HONEST, "bad");
    (void)run_call(&s);
    peer_settle(&s.peer);
    assert_int_equal(s.peer.job.stdin_kind, TC_STDIN_NONE);
    strike(&s);
}

static void input_of_each_size_arrives(void **state)
{
    static const struct {
        size_t length;
        enum tc_stdin_kind kind;
    } rows[] = {
        {0, TC_STDIN_PIPE}, {1, TC_STDIN_PIPE}, {65536, TC_STDIN_PIPE}, {65537, TC_STDIN_BYTES}};
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct stage s;
        set_stage(&s, PEER_HONEST, "bad");
        _autofree_ char *bytes = malloc(rows[i].length + 1);
        memset(bytes, 'x', rows[i].length);
        assert_int_equal(tc_call_set_stdin(s.call, bytes, rows[i].length, NULL), 0);
        (void)run_call(&s);
        peer_settle(&s.peer);
        assert_int_equal(s.peer.job.stdin_kind, rows[i].kind);
        assert_int_equal(s.peer.input.len, rows[i].length);
        strike(&s);
    }
}

static void input_pipe_is_the_hosts_to_feed(void **state)
{
    struct stage s;
    int fd = -1;
    set_stage(&s, PEER_HONEST, "bad");
    assert_int_equal(tc_call_open_stdin(s.call, &fd, NULL), 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(tc_call_set_stdin(s.call, "x", 1, NULL), TOOLCAGE_EUSAGE);
    assert_int_equal(tc_call_start(s.call, NULL), 0);
    assert_int_equal(write(fd, "fed later", 9), 9);
    assert_int_equal(tc_call_dispatch(s.call, NULL), 0);
    close(fd);
    assert_int_equal(tc_call_wait(s.call, 10000, NULL), 1);
    peer_settle(&s.peer);
    assert_int_equal(s.peer.job.stdin_kind, TC_STDIN_PIPE);
    assert_memory_equal(s.peer.input.data, "fed later", 9);
    strike(&s);
}

static void input_of_the_policy_is_alone(void **state)
{
    struct stage s;
    struct toolcage_error *err = NULL;
    set_stage(&s, PEER_HONEST, "fed");
    (void)run_call(&s);
    peer_settle(&s.peer);
    assert_int_equal(s.peer.input.len, strlen("from the policy"));
    strike(&s);
    set_stage(&s, PEER_HONEST, "fed");
    assert_int_equal(tc_call_set_stdin(s.call, "mine", 4, NULL), 0);
    assert_int_equal(tc_call_start(s.call, &err), TOOLCAGE_EUSAGE);
    assert_string_equal(tc_error_subject(err), "stdin");
    tc_error_free(err);
    strike(&s);
}

static void *cancel_it(void *call)
{
    usleep(50000);
    return (void *)(intptr_t)tc_call_cancel(call);
}

static void cancel_from_another_thread(void **state)
{
    struct stage s;
    pthread_t thread;
    void *answer;
    set_stage(&s, PEER_HONEST, "endless");
    assert_int_equal(tc_call_start(s.call, NULL), 0);
    assert_int_equal(tc_call_wait(s.call, 10, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, cancel_it, s.call), 0);
    assert_int_equal(tc_call_wait(s.call, 10000, NULL), 1);
    assert_int_equal(pthread_join(thread, &answer), 0);
    assert_null(answer);
    expect_json(s.call->result, "status", NULL, "\"cancelled\"");
    assert_int_equal(tc_result_shell_code(s.call->result), 128 + 15);
    assert_int_equal(tc_call_cancel(s.call), 0);
    strike(&s);
}

static void cancel_before_start(void **state)
{
    struct stage s;
    set_stage(&s, PEER_HONEST, "fine");
    assert_int_equal(tc_call_cancel(s.call), 0);
    const struct toolcage_result *result = run_call(&s);
    expect_json(result, "status", NULL, "\"cancelled\"");
    peer_settle(&s.peer);
    assert_int_equal(s.peer.calls, 0);
    strike(&s);
}

static void misuse_is_an_error(void **state)
{
    struct stage s;
    set_stage(&s, PEER_HONEST, "fine");
    assert_int_equal(tc_call_dispatch(s.call, NULL), TOOLCAGE_EUSAGE);
    assert_int_equal(tc_call_fd(s.call), TOOLCAGE_EUSAGE);
    assert_int_equal(tc_call_set(s.call, "nonsense", "1", NULL), TOOLCAGE_EUSAGE);
    assert_int_equal(tc_call_set(s.call, "timeout", "soon", NULL), TOOLCAGE_EPOLICY);
    (void)run_call(&s);
    int fd;
    assert_int_equal(tc_call_start(s.call, NULL), TOOLCAGE_EUSAGE);
    assert_int_equal(tc_call_set(s.call, "timeout", "1s", NULL), TOOLCAGE_EUSAGE);
    assert_int_equal(tc_call_set_stdin(s.call, "", 0, NULL), TOOLCAGE_EUSAGE);
    assert_int_equal(tc_call_open_stdin(s.call, &fd, NULL), TOOLCAGE_EUSAGE);
    struct toolcage_call *none = NULL;
    assert_int_equal(tc_call_new(s.engine, s.policy, "nobody", &none, NULL), TOOLCAGE_ENOT_FOUND);
    assert_null(none);
    strike(&s);
}

static void command_replaces_a_file_action(void **state)
{
    static const char *const argv[] = {"remove", "/tmp/x"};
    struct stage s;
    set_stage(&s, PEER_HONEST, "fine");
    memcpy(s.call->live_in, s.call->id, sizeof(s.call->live_in));
    assert_int_equal(tc_call_set_terminal(s.call, 24, 80, NULL), 0);
    assert_int_equal(tc_live_stat(s.call, "/tmp/x", NULL), TOOLCAGE_EUSAGE);
    s.call->rows = 0;
    assert_int_equal(tc_live_stat(s.call, "/tmp/x", NULL), 0);
    assert_true(s.call->live_file);
    assert_int_equal(tc_call_set_command(s.call, TC_COUNT(argv), argv, NULL), 0);
    assert_false(s.call->live_file);
    strike(&s);
}

static int use_after_fork(struct stage *s)
{
    struct toolcage_call *call = NULL;
    char *json = NULL;
    if (tc_call_new(s->engine, s->policy, "fine", &call, NULL) != TOOLCAGE_EFORKED ||
        tc_call_start(s->call, NULL) != TOOLCAGE_EFORKED ||
        tc_call_cancel(s->call) != TOOLCAGE_EFORKED ||
        tc_call_dispatch(s->call, NULL) != TOOLCAGE_EFORKED ||
        tc_call_fd(s->call) != TOOLCAGE_EFORKED || tc_engine_fd(s->engine) != TOOLCAGE_EFORKED ||
        tc_engine_doctor(s->engine, &json, NULL) != TOOLCAGE_EFORKED ||
        tc_call_explain(s->call, NULL, &json, NULL) != TOOLCAGE_EFORKED)
        return 1;
    tc_call_unref(s->call);
    tc_engine_unref(s->engine);
    return 0;
}

static void fork_is_noticed(void **state)
{
    struct stage s;
    int status = -1;
    set_stage(&s, PEER_HONEST, "endless");
    assert_int_equal(tc_call_start(s.call, NULL), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(use_after_fork(&s));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    /* what the child gave back was its own copy: the call runs on until its owner ends it */
    assert_int_equal(tc_call_wait(s.call, 50, NULL), 0);
    assert_int_equal(tc_call_cancel(s.call), 0);
    assert_int_equal(tc_call_wait(s.call, 10000, NULL), 1);
    expect_json(s.call->result, "status", NULL, "\"cancelled\"");
    strike(&s);
}

static void forks_keep_nothing_alive(void **state)
{
    struct stage s;
    set_stage(&s, PEER_HONEST, "endless");
    s.peer.hang_up = true;
    peer_settle(&s.peer);
    assert_int_equal(tc_call_start(s.call, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pause(); /* with copies of all descriptors */
        _exit(0);
    }
    /* The peer's thread waits for the call's end and then for the engine's: joining it is the
     * proof. */
    strike(&s);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void doctor_and_clean(void **state)
{
    struct stage s;
    char *json = NULL;
    uint32_t removed = 0;
    set_stage(&s, PEER_HONEST, "fine");
    assert_int_equal(tc_engine_doctor(s.engine, &json, NULL), 0);
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    json_t *clauses = json_object_get(root, "clauses");
    assert_int_equal(json_array_size(clauses), TC_CLAUSE_COUNT);
    json_t *row = json_array_get(clauses, TC_CLAUSE_LIMIT_MEMORY);
    assert_string_equal(json_string_value(json_object_get(row, "clause")), "limit.memory");
    assert_true(json_is_false(json_object_get(row, "works")));
    assert_string_equal(json_string_value(json_object_get(row, "mechanism")), "a \"wall\"");
    json_decref(root);
    free(json);
    /* What a killed install left on this machine is removed and counted as well, the first time. */
    assert_int_equal(tc_engine_clean(s.engine, &removed, NULL), 0);
    assert_true(removed >= 7);
    assert_int_equal(tc_engine_clean(s.engine, &removed, NULL), 0);
    assert_int_equal(removed, 7);
    strike(&s);
    json = NULL;
    set_stage(&s, PEER_VANISH, "fine");
    assert_int_equal(tc_engine_doctor(s.engine, &json, NULL), TOOLCAGE_EHELPER);
    assert_null(json);
    strike(&s);
}

static void host_without_descriptors(void **state)
{
    struct stage s;
    struct rlimit before, none;
    if (getenv("TC_TEST_EMULATED")) /* valgrind needs descriptors of its own */
        skip();
    set_stage(&s, PEER_HONEST, "fine");
    assert_int_equal(tc_call_start(s.call, NULL), 0);
    struct pollfd p = {.fd = tc_call_fd(s.call), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 5000), 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = tc_call_dispatch(s.call, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, 1);
    assert_int_equal(s.call->result->outcome.status, TOOLCAGE_STATUS_ERROR);
    assert_int_equal(tc_error_errno(s.call->result->error), EMFILE);
    strike(&s);
}

static void timings_name_the_steps(void **state)
{
    struct stage s;
    set_stage(&s, PEER_HONEST, "fine");
    json_t *rows = json_loads(run_call(&s)->timings, 0, NULL);
    static const char *const steps[] = {"resolve", "lower", "submit", "total"};
    assert_int_equal(json_array_size(rows), TC_COUNT(steps));
    for (size_t i = 0; i < TC_COUNT(steps); i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(rows, i), "step")),
                            steps[i]);
    json_decref(rows);
    strike(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_has_every_field),
        cmocka_unit_test(endings_map_to_status_and_code),
        cmocka_unit_test(refusals_are_finished_calls),
        cmocka_unit_test(missing_secret_names_its_place),
        cmocka_unit_test(call_cannot_choose_no_cage),
        cmocka_unit_test(wrong_answers_are_errors),
        cmocka_unit_test(outcomes_come_inside),
        cmocka_unit_test(lost_helper_fails_start),
        cmocka_unit_test(success_is_never_assumed),
        cmocka_unit_test(failures_carry_their_place),
        cmocka_unit_test(evidence_is_reported),
        cmocka_unit_test(output_streams),
        cmocka_unit_test(no_input_is_not_an_empty_one),
        cmocka_unit_test(input_of_each_size_arrives),
        cmocka_unit_test(input_pipe_is_the_hosts_to_feed),
        cmocka_unit_test(input_of_the_policy_is_alone),
        cmocka_unit_test(cancel_from_another_thread),
        cmocka_unit_test(cancel_before_start),
        cmocka_unit_test(misuse_is_an_error),
        cmocka_unit_test(command_replaces_a_file_action),
        cmocka_unit_test(fork_is_noticed),
        cmocka_unit_test(forks_keep_nothing_alive),
        cmocka_unit_test(falls_back_in_order),
        cmocka_unit_test(choice_is_in_the_digest),
        cmocka_unit_test(doctor_and_clean),
        cmocka_unit_test(host_without_descriptors),
        cmocka_unit_test(timings_name_the_steps),
    };
    /* what this user's tools could write is no part of these */
    if (setenv("XDG_STATE_HOME", "/proc/none", 1) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
