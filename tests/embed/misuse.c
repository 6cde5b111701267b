/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A host that does everything wrong through the public functions: each answers with a code of the
 * closed list, says what was wrong, touches no output, and the host lives on. Needs no cage. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <toolcage/toolcage.h>
#include <toolcage/tools.h>
#include <unistd.h>

static int points, bad;

static void point(int good, const char *name)
{
    bad += !good;
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++points, name);
}

/* One call of a fallible function with its error, which must have the code, a message and a hint.
 */
#define EXPECT(code, call)                                                                    \
    do {                                                                                      \
        struct toolcage_error *err = NULL;                                                    \
        int r = (call);                                                                       \
        point(r == (code) && toolcage_error_code(err) == r && *toolcage_error_message(err) && \
                  *toolcage_error_hint(err) && strlen(toolcage_error_json(err)) > 2,          \
              #call);                                                                         \
        toolcage_error_free(err);                                                             \
    } while (0)

static void no_arguments(void)
{
    EXPECT(TOOLCAGE_EUSAGE, toolcage_engine_new(NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_engine_doctor_json(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_engine_clean(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_wasm_status_json(NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_wasm_list_json(NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_wasm_install_json(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_wasm_compile_json(NULL, 0, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_wasm_inspect_json(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_engine_changes_json(NULL, NULL, 0, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_engine_settle_json(NULL, NULL, 0, 0, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_engine_sessions_json(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_engine_end_sessions_json(NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_session(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_new_setup(NULL, NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_setups_json(NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_remove_setups_json(NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_clear_setups_json(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_load_file(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_allow_text(NULL, 1, NULL, NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_load_buffer(NULL, 1, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_new_default(NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_tools_json(NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_files_json(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_lint_json(NULL, NULL, 1, NULL, 0, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_test_json(NULL, 1, NULL, NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_schema_json(NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_egress(NULL, NULL, NULL, 0, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_written(NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_diff_json(NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_new(NULL, NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_command(NULL, 0, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_arguments_json(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set(NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_stdin(NULL, NULL, 1, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_open_stdin(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_output_callback(NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_terminal(NULL, 24, 80, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_resize(NULL, 24, 80, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_open(NULL, 1, 1, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_wait(NULL, 0, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_call(NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_shell(NULL, "true", &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_signal(NULL, 15, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_end(NULL, &err));
    int stream = -1;
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_put(NULL, "/tmp/x", 0644, 0, &stream, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_get(NULL, "/tmp/x", 1, 0, &stream, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_list(NULL, "/tmp", &stream, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_stat(NULL, "/tmp/x", &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_session_remove(NULL, "/tmp/x", 0, &err));
    EXPECT(TOOLCAGE_ESYSTEM, toolcage_stream_send(-1, -1, NULL, &err));
    EXPECT(TOOLCAGE_EBACKEND, toolcage_stream_receive(-1, -1, NULL, 1, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_start(NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_dispatch(NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_wait(NULL, 0, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_run(NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_learned_policy(NULL, NULL, NULL, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_explain_json(NULL, NULL, NULL, &err));
    point(toolcage_call_cancel(NULL) == TOOLCAGE_EUSAGE &&
              toolcage_call_fd(NULL) == TOOLCAGE_EUSAGE &&
              toolcage_call_collected(NULL) == TOOLCAGE_EUSAGE &&
              toolcage_engine_fd(NULL) == TOOLCAGE_EUSAGE,
          "descriptors of nothing");
    point(!toolcage_call_unref(NULL) && !toolcage_policy_unref(NULL) &&
              !toolcage_engine_unref(NULL) && !toolcage_engine_ref(NULL) &&
              !toolcage_policy_ref(NULL) && !toolcage_call_result(NULL),
          "references to nothing");
    toolcage_error_free(NULL);
    toolcage_free(NULL);
}

static void no_objects(void)
{
    size_t length = 1;
    point(toolcage_result_status(NULL) == TOOLCAGE_STATUS_ERROR &&
              toolcage_result_shell_code(NULL) == 125 && toolcage_result_exit_code(NULL) == -1 &&
              toolcage_result_signal(NULL) == 0 && !*toolcage_result_limit(NULL) &&
              !*toolcage_result_message(NULL) && !toolcage_result_error(NULL) &&
              strcmp(toolcage_result_json(NULL), "null") == 0 &&
              strcmp(toolcage_result_timings_json(NULL), "[]") == 0 &&
              toolcage_result_output(NULL, 1, &length) && length == 0,
          "a result that is none");
    const char *file = NULL;
    toolcage_error_location(NULL, &file, NULL, NULL);
    point(toolcage_error_code(NULL) == TOOLCAGE_OK && !*toolcage_error_message(NULL) && file &&
              !*file,
          "an error that is none");
    point(strcmp(toolcage_error_word(-6), "denied") == 0 &&
              strcmp(toolcage_error_word(0), "ok") == 0 &&
              strcmp(toolcage_error_word(-99), "unknown") == 0,
          "words of codes");
    point(*toolcage_version() && !*toolcage_policy_digest(NULL) && !*toolcage_call_id(NULL),
          "texts of nothing");
}

/* Did it end so? Else says how. */
static int ran(struct toolcage_call *call, int rc, const struct toolcage_error *why, int32_t wanted)
{
    const struct toolcage_result *result = toolcage_call_result(call);
    if (rc >= 0 && toolcage_result_status(result) == wanted)
        return 1;
    printf("# %s: %s\n# %s\n", toolcage_error_word(rc), toolcage_error_message(why),
           toolcage_result_json(result));
    return 0;
}

static void wrong_order(struct toolcage_engine *engine, struct toolcage_policy *policy)
{
    static const char *const nothing[] = {""}, *const hole[] = {"sh", NULL},
                             *const fine[] = {"true"};
    struct toolcage_call *call = NULL;
    char *json = NULL;
    int fd = -7;
    EXPECT(TOOLCAGE_ENOT_FOUND, toolcage_call_new(engine, policy, "nobody", &call, &err));
    point(call == NULL, "no output on failure");
    EXPECT(TOOLCAGE_EUSAGE, toolcage_policy_tools_json(policy, "yaml", &json, &err));
    if (toolcage_call_new(engine, policy, NULL, &call, NULL) < 0) {
        point(0, "a call");
        return;
    }
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_command(call, 0, fine, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_command(call, 1, nothing, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_command(call, 2, hole, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set(call, "timeuot", "5s", &err));
    EXPECT(TOOLCAGE_EPOLICY, toolcage_call_set(call, "timeout", "soon", &err));
    EXPECT(TOOLCAGE_EPOLICY, toolcage_call_set(call, "memory", "512m", &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_terminal(call, 0, 80, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_terminal(call, 24, 70000, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_resize(call, 24, 80, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_dispatch(call, &err));
    point(toolcage_call_fd(call) == TOOLCAGE_EUSAGE && !toolcage_call_result(call) &&
              toolcage_call_collected(call) == -1,
          "nothing before start");
    struct toolcage_error *why = NULL;
    int rc = toolcage_call_set_command(call, 1, fine, &why);
    rc = rc < 0 ? rc : toolcage_call_run(call, &why);
    point(ran(call, rc, why, TOOLCAGE_STATUS_OK), "after all of it the call runs");
    toolcage_error_free(why);
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_start(call, &err));
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_open_stdin(call, &fd, &err));
    point(fd == -7 && toolcage_call_dispatch(call, NULL) == 1, "a finished call stays finished");
    toolcage_call_unref(call);
}

/* More than the helper takes in: none of them blocks, and a cancel still gets through. */
static void many_sizes(struct toolcage_engine *engine, struct toolcage_policy *policy)
{
    static const char *const command[] = {"sleep", "20"};
    struct toolcage_call *call = NULL;
    struct toolcage_error *why = NULL;
    int rc = toolcage_call_new(engine, policy, NULL, &call, &why);
    rc = rc < 0 ? rc : toolcage_call_set_command(call, 2, command, &why);
    rc = rc < 0 ? rc : toolcage_call_set_terminal(call, 24, 80, &why);
    EXPECT(TOOLCAGE_EUSAGE, toolcage_call_set_stdin(call, "x", 1, &err));
    rc = rc < 0 ? rc : toolcage_call_start(call, &why);
    for (int i = 0; i < 50000 && rc == 0; i++) {
        rc = toolcage_call_resize(call, 1 + i % 100, 80, NULL);
        rc = rc == TOOLCAGE_ESYSTEM ? 0 : rc;
    }
    rc = rc < 0 ? rc : toolcage_call_cancel(call);
    rc = rc < 0 ? rc : toolcage_call_wait(call, 10000, &why);
    int denied = toolcage_result_status(toolcage_call_result(call)) == TOOLCAGE_STATUS_DENIED;
    point(ran(call, rc, why, denied ? TOOLCAGE_STATUS_DENIED : TOOLCAGE_STATUS_CANCELLED),
          "many sizes, and a cancel");
    toolcage_error_free(why);
    toolcage_call_unref(call);
}

static int in_the_child(struct toolcage_engine *engine, struct toolcage_policy *policy)
{
    struct toolcage_call *call = NULL;
    char *json = NULL;
    int wrong =
        toolcage_call_new(engine, policy, NULL, &call, NULL) != TOOLCAGE_EFORKED ||
        toolcage_engine_fd(engine) != TOOLCAGE_EFORKED ||
        toolcage_engine_doctor_json(engine, &json, NULL) != TOOLCAGE_EFORKED ||
        toolcage_engine_clean(engine, NULL, NULL) != TOOLCAGE_EFORKED ||
        toolcage_engine_changes_json(engine, NULL, 0, NULL, &json, NULL) != TOOLCAGE_EFORKED ||
        toolcage_engine_sessions_json(engine, &json, NULL) != TOOLCAGE_EFORKED;
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    return wrong;
}

int main(void)
{
    struct toolcage_engine *engine = NULL;
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *why = NULL;
    int status = -1;
    no_arguments();
    no_objects();
    if (toolcage_engine_new(&engine, &why) < 0 || toolcage_policy_new_default(&policy, &why) < 0) {
        fprintf(stderr, "%s", toolcage_error_report(why));
        return 1;
    }
    wrong_order(engine, policy);
    many_sizes(engine, policy);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(in_the_child(engine, policy));
    point(waitpid(pid, &status, 0) == pid && status == 0, "a fork is told apart");
    wrong_order(engine, policy);
    many_sizes(engine, policy);
    toolcage_policy_unref(policy);
    toolcage_engine_unref(engine);
    point(waitpid(-1, NULL, WNOHANG | 0x40000000 /* __WALL */) < 0 && errno == ECHILD,
          "the host has no child");
    printf("1..%d\n", points);
    return bad != 0;
}
