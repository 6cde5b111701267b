/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The functions that the library exports, and nothing else; results and live sessions are in files
 * next to this one. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <toolcage/toolcage.h>
#include <toolcage/tools.h>

#include "api.h"
#include "backend/wasm/modules.h"
#include "call/call.h"
#include "call/engine.h"
#include "call/host/facts.h"
#include "call/policy_check.h"
#include "policy/compare/compare.h"
#include "version.h"

/* ---- toolcage.h, error.h, policy.h ---- */
EXPORT const char *toolcage_version(void)
{
    return TC_VERSION;
}

EXPORT int32_t toolcage_error_code(const struct toolcage_error *err)
{
    return tc_error_code(err);
}

EXPORT const char *toolcage_error_word(int32_t code)
{
    return tc_error_word(code);
}

EXPORT const char *toolcage_error_message(const struct toolcage_error *err)
{
    return tc_error_message(err);
}

EXPORT const char *toolcage_error_hint(const struct toolcage_error *err)
{
    return tc_error_hint(err);
}

EXPORT const char *toolcage_error_stage(const struct toolcage_error *err)
{
    return tc_error_stage(err);
}

EXPORT const char *toolcage_error_subject(const struct toolcage_error *err)
{
    return tc_error_subject(err);
}

EXPORT int32_t toolcage_error_errno(const struct toolcage_error *err)
{
    return tc_error_errno(err);
}

EXPORT void toolcage_error_location(const struct toolcage_error *err, const char **ret_file,
                                    uint32_t *ret_line, uint32_t *ret_column)
{
    tc_error_location(err, ret_file, ret_line, ret_column);
}

EXPORT const char *toolcage_error_report(const struct toolcage_error *err)
{
    return tc_error_report(err);
}

EXPORT const char *toolcage_error_json(const struct toolcage_error *err)
{
    return tc_error_json(err);
}

EXPORT void toolcage_error_free(struct toolcage_error *err)
{
    tc_error_free(err);
}

EXPORT int toolcage_policy_load_file(const char *path, struct toolcage_policy **ret,
                                     struct toolcage_error **err)
{
    NEED(path);
    NEED(ret);
    return closed(tc_policy_load_file(path, ret, err), err);
}

EXPORT int toolcage_policy_load_buffer(const char *text, size_t length, const char *name,
                                       struct toolcage_policy **ret, struct toolcage_error **err)
{
    if (length)
        NEED(text);
    NEED(name);
    NEED(ret);
    return closed(tc_policy_load_buffer(text ? text : "", length, name, ret, err), err);
}

EXPORT int toolcage_policy_allow_text(const char *text, size_t length, const char *name,
                                      const char *tool, const char *access, char **ret_text,
                                      struct toolcage_error **err)
{
    if (length)
        NEED(text);
    NEED(name);
    NEED(access);
    NEED(ret_text);
    return closed(tc_policy_allow(text ? text : "", length, name, tool, access, ret_text, err),
                  err);
}

EXPORT int toolcage_policy_new_default(struct toolcage_policy **ret, struct toolcage_error **err)
{
    NEED(ret);
    return closed(tc_policy_new_default(ret, err), err);
}

EXPORT int toolcage_policy_new_preset(const char *name, struct toolcage_policy **ret,
                                      struct toolcage_error **err)
{
    NEED(name);
    NEED(ret);
    return closed(tc_policy_new_preset(name, ret, err), err);
}

EXPORT struct toolcage_policy *toolcage_policy_ref(struct toolcage_policy *policy)
{
    return policy ? tc_policy_ref(policy) : NULL;
}

EXPORT struct toolcage_policy *toolcage_policy_unref(struct toolcage_policy *policy)
{
    return tc_policy_unref(policy);
}

EXPORT const char *toolcage_policy_digest(const struct toolcage_policy *policy)
{
    return policy ? tc_policy_digest(policy) : "";
}

EXPORT int toolcage_policy_tools_json(const struct toolcage_policy *policy, const char *format,
                                      char **ret_json, struct toolcage_error **err)
{
    NEED(policy);
    NEED(format);
    NEED(ret_json);
    return closed(tc_policy_tools_json(policy, format, ret_json, err), err);
}

EXPORT int toolcage_policy_files_json(const struct toolcage_policy *policy, char **ret_json,
                                      struct toolcage_error **err)
{
    NEED(policy);
    NEED(ret_json);
    return closed(tc_policy_files_json(policy, ret_json, err), err);
}

EXPORT int toolcage_policy_setups_json(const struct toolcage_policy *policy, const char *tool,
                                       char **ret_json, struct toolcage_error **err)
{
    NEED(policy);
    NEED(ret_json);
    return closed(tc_policy_installs(policy, tool, "list", ret_json, err), err);
}

EXPORT int toolcage_policy_remove_setups_json(const struct toolcage_policy *policy,
                                              const char *tool, char **ret_json,
                                              struct toolcage_error **err)
{
    NEED(policy);
    NEED(ret_json);
    return closed(tc_policy_installs(policy, tool, "remove", ret_json, err), err);
}

EXPORT int toolcage_policy_clear_setups_json(const struct toolcage_policy *policy, char **ret_json,
                                             struct toolcage_error **err)
{
    NEED(policy);
    NEED(ret_json);
    return closed(tc_policy_installs(policy, NULL, "clear", ret_json, err), err);
}

EXPORT int toolcage_policy_lint_json(const struct toolcage_policy *policy, const char *text,
                                     size_t length, const char *suffixes, size_t suffixes_length,
                                     char **ret_json, struct toolcage_error **err)
{
    NEED(policy);
    if (length)
        NEED(text);
    NEED(ret_json);
    return closed(tc_policy_lint_here(policy, text ? text : "", length, suffixes, suffixes_length,
                                      ret_json, err),
                  err);
}

EXPORT int toolcage_policy_test_json(const struct toolcage_policy *policy, size_t count,
                                     const char *const texts[], const size_t lengths[],
                                     const char *const names[], char **ret_json,
                                     struct toolcage_error **err)
{
    NEED(policy);
    if (count) {
        NEED(texts);
        NEED(lengths);
        NEED(names);
    }
    for (size_t i = 0; i < count; i++) {
        NEED(texts[i]);
        NEED(names[i]);
    }
    NEED(ret_json);
    const struct tc_test_texts tests = {count, texts, lengths, names};
    return closed(tc_policy_test_here(policy, &tests, ret_json, err), err);
}

EXPORT int toolcage_policy_diff_json(const struct toolcage_policy *from,
                                     const struct toolcage_policy *to, char **ret_json,
                                     struct toolcage_error **err)
{
    NEED(from);
    NEED(to);
    NEED(ret_json);
    _autosurroundings_ struct tc_surroundings around = {0};
    int rc = tc_surroundings_gather(&around, err);
    if (!rc)
        rc = tc_policy_diff_json(from, to, &around.facts, ret_json, err);
    return closed(rc, err);
}

EXPORT int toolcage_policy_schema_json(char **ret_json, struct toolcage_error **err)
{
    NEED(ret_json);
    return closed(tc_policy_schema_json(ret_json, err), err);
}

EXPORT int toolcage_policy_egress(const struct toolcage_policy *policy, const char *tool,
                                  const int *listeners, size_t count, int *ret_fd,
                                  struct toolcage_error **err)
{
    enum { LISTENERS_MAX = 60 };
    NEED(policy);
    NEED(listeners);
    NEED(ret_fd);
    if (!count || count > LISTENERS_MAX)
        return fail_usage(err, __func__, "count must be 1 to 60");
    return closed(tc_sidecar(policy, tool, listeners, count, ret_fd, err), err);
}

EXPORT int toolcage_policy_written(const struct toolcage_policy *policy, const char *path,
                                   const char *workspace, struct toolcage_error **err)
{
    if (!policy && !path)
        return fail_usage(err, __func__, "policy and path must not both be NULL");
    return closed(tc_policy_tool_writable(policy, path, workspace, err), err);
}

EXPORT void toolcage_free(void *text)
{
    free(text);
}

/* ---- engine.h ---- */
EXPORT int toolcage_engine_new(struct toolcage_engine **ret, struct toolcage_error **err)
{
    NEED(ret);
    return closed(tc_engine_new(ret, err), err);
}

EXPORT struct toolcage_engine *toolcage_engine_ref(struct toolcage_engine *engine)
{
    return tc_engine_ref(engine);
}

EXPORT struct toolcage_engine *toolcage_engine_unref(struct toolcage_engine *engine)
{
    return tc_engine_unref(engine);
}

EXPORT int toolcage_engine_fd(const struct toolcage_engine *engine)
{
    return engine ? tc_engine_fd(engine) : TOOLCAGE_EUSAGE;
}

EXPORT int toolcage_engine_doctor_json(struct toolcage_engine *engine, char **ret_json,
                                       struct toolcage_error **err)
{
    NEED(engine);
    NEED(ret_json);
    return closed(tc_engine_doctor(engine, ret_json, err), err);
}

EXPORT int toolcage_wasm_status_json(char **ret_json, struct toolcage_error **err)
{
    NEED(ret_json);
    return closed(tc_modules_json("status", NULL, tc_errand_run, ret_json, err), err);
}

EXPORT int toolcage_wasm_list_json(char **ret_json, struct toolcage_error **err)
{
    NEED(ret_json);
    return closed(tc_modules_json("list", NULL, tc_errand_run, ret_json, err), err);
}

EXPORT int toolcage_wasm_install_json(const char *path, char **ret_json,
                                      struct toolcage_error **err)
{
    NEED(path);
    NEED(ret_json);
    return closed(tc_modules_json("install", path, tc_errand_run, ret_json, err), err);
}

EXPORT int toolcage_wasm_compile_json(const char *path, int deterministic, char **ret_json,
                                      struct toolcage_error **err)
{
    NEED(path);
    NEED(ret_json);
    return closed(tc_modules_json(deterministic ? "compile-deterministic" : "compile", path,
                                  tc_errand_run, ret_json, err),
                  err);
}

EXPORT int toolcage_wasm_inspect_json(const char *path, char **ret_json,
                                      struct toolcage_error **err)
{
    NEED(path);
    NEED(ret_json);
    return closed(tc_modules_json("inspect", path, tc_errand_run, ret_json, err), err);
}

EXPORT int toolcage_engine_sessions_json(struct toolcage_engine *engine, char **ret_json,
                                         struct toolcage_error **err)
{
    NEED(engine);
    NEED(ret_json);
    return closed(tc_engine_sessions(engine, NULL, "list", ret_json, err), err);
}

EXPORT int toolcage_engine_end_sessions_json(struct toolcage_engine *engine, const char *name,
                                             char **ret_json, struct toolcage_error **err)
{
    NEED(engine);
    NEED(ret_json);
    return closed(tc_engine_sessions(engine, name, "end", ret_json, err), err);
}

EXPORT int toolcage_engine_changes_json(struct toolcage_engine *engine, const char *call,
                                        size_t path_count, const char *const paths[],
                                        char **ret_json, struct toolcage_error **err)
{
    NEED(engine);
    NEED(ret_json);
    if (path_count)
        NEED(call);
    return closed(tc_engine_changes(engine, call, "show", NULL, path_count, paths, ret_json, err),
                  err);
}

EXPORT int toolcage_engine_settle_json(struct toolcage_engine *engine, const char *call,
                                       int32_t settle, size_t path_count, const char *const paths[],
                                       char **ret_json, struct toolcage_error **err)
{
    NEED(engine);
    NEED(call);
    NEED(ret_json);
    return closed(tc_engine_changes(engine, call, tc_engine_settle_action(settle), NULL, path_count,
                                    paths, ret_json, err),
                  err);
}

EXPORT int toolcage_engine_settle_seen_json(struct toolcage_engine *engine, const char *call,
                                            int32_t settle, const char *digest, size_t path_count,
                                            const char *const paths[], char **ret_json,
                                            struct toolcage_error **err)
{
    NEED(engine);
    NEED(call);
    NEED(digest);
    NEED(ret_json);
    return closed(tc_engine_changes(engine, call, tc_engine_settle_action(settle), digest,
                                    path_count, paths, ret_json, err),
                  err);
}

EXPORT int toolcage_engine_clean(struct toolcage_engine *engine, uint32_t *ret_removed,
                                 struct toolcage_error **err)
{
    NEED(engine);
    return closed(tc_engine_clean(engine, ret_removed, err), err);
}

/* ---- call.h ---- */
EXPORT int toolcage_call_new(struct toolcage_engine *engine, struct toolcage_policy *policy,
                             const char *tool, struct toolcage_call **ret,
                             struct toolcage_error **err)
{
    NEED(engine);
    NEED(policy);
    NEED(ret);
    return closed(tc_call_new(engine, policy, tool, ret, err), err);
}

EXPORT int toolcage_call_new_setup(struct toolcage_engine *engine, struct toolcage_policy *policy,
                                   const char *tool, struct toolcage_call **ret,
                                   struct toolcage_error **err)
{
    NEED(engine);
    NEED(policy);
    NEED(tool);
    NEED(ret);
    return closed(tc_call_new_setup(engine, policy, tool, ret, err), err);
}

EXPORT struct toolcage_call *toolcage_call_unref(struct toolcage_call *call)
{
    return tc_call_unref(call);
}

EXPORT const char *toolcage_call_id(const struct toolcage_call *call)
{
    return call ? call->id : "";
}

EXPORT int toolcage_call_set_command(struct toolcage_call *call, size_t argc,
                                     const char *const argv[], struct toolcage_error **err)
{
    NEED(call);
    NEED(argv);
    if (!argc || argc > INT_MAX)
        return fail_usage(err, __func__, "argc must be at least 1");
    for (size_t i = 0; i < argc; i++)
        NEED(argv[i]);
    if (!argv[0][0])
        return fail_usage(err, __func__, "argv[0] must not be empty");
    return closed(tc_call_set_command(call, argc, argv, err), err);
}

EXPORT int toolcage_call_set_arguments_json(struct toolcage_call *call, const char *json,
                                            struct toolcage_error **err)
{
    NEED(call);
    NEED(json);
    return closed(tc_call_set_arguments(call, json, err), err);
}

EXPORT int toolcage_call_set(struct toolcage_call *call, const char *key, const char *value,
                             struct toolcage_error **err)
{
    NEED(call);
    NEED(key);
    NEED(value);
    return closed(tc_call_set(call, key, value, err), err);
}

EXPORT int toolcage_call_set_session(struct toolcage_call *call, const char *name,
                                     struct toolcage_error **err)
{
    NEED(call);
    NEED(name);
    return closed(tc_call_set_session(call, name, err), err);
}

EXPORT int toolcage_call_set_stdin(struct toolcage_call *call, const void *bytes, size_t length,
                                   struct toolcage_error **err)
{
    NEED(call);
    if (length)
        NEED(bytes);
    if (length > SSIZE_MAX - 1)
        return fail_usage(err, __func__, "length is out of range");
    return closed(tc_call_set_stdin(call, bytes, length, err), err);
}

EXPORT int toolcage_call_open_stdin(struct toolcage_call *call, int *ret_fd,
                                    struct toolcage_error **err)
{
    NEED(call);
    NEED(ret_fd);
    return closed(tc_call_open_stdin(call, ret_fd, err), err);
}

EXPORT int toolcage_call_set_terminal(struct toolcage_call *call, int rows, int columns,
                                      struct toolcage_error **err)
{
    NEED(call);
    return closed(tc_call_set_terminal(call, rows, columns, err), err);
}

EXPORT int toolcage_call_resize(struct toolcage_call *call, int rows, int columns,
                                struct toolcage_error **err)
{
    NEED(call);
    return closed(tc_call_resize(call, rows, columns, err), err);
}

EXPORT int64_t toolcage_call_collected(const struct toolcage_call *call)
{
    return call ? call->collected : TOOLCAGE_EUSAGE;
}

EXPORT int toolcage_call_set_output_callback(struct toolcage_call *call, toolcage_output_fn fn,
                                             void *userdata, struct toolcage_error **err)
{
    NEED(call);
    return closed(tc_call_set_output(call, fn, userdata, err), err);
}

EXPORT int toolcage_call_start(struct toolcage_call *call, struct toolcage_error **err)
{
    NEED(call);
    return closed(tc_call_start(call, err), err);
}

EXPORT int toolcage_call_fd(const struct toolcage_call *call)
{
    return call ? tc_call_fd(call) : TOOLCAGE_EUSAGE;
}

EXPORT int toolcage_call_dispatch(struct toolcage_call *call, struct toolcage_error **err)
{
    NEED(call);
    return closed(tc_call_dispatch(call, err), err);
}

EXPORT int toolcage_call_wait(struct toolcage_call *call, int timeout_ms,
                              struct toolcage_error **err)
{
    NEED(call);
    return closed(tc_call_wait(call, timeout_ms, err), err);
}

EXPORT int toolcage_call_run(struct toolcage_call *call, struct toolcage_error **err)
{
    NEED(call);
    int r = tc_call_start(call, err);
    if (r == 0)
        r = tc_call_wait(call, -1, err);
    return closed(r < 0 ? r : 0, err);
}

EXPORT int toolcage_call_cancel(struct toolcage_call *call)
{
    return call ? tc_call_cancel(call) : TOOLCAGE_EUSAGE;
}

EXPORT const struct toolcage_result *toolcage_call_result(const struct toolcage_call *call)
{
    return call ? call->result : NULL;
}

EXPORT int toolcage_call_learned_policy(const struct toolcage_call *call, const char *name,
                                        char **ret_policy, struct toolcage_error **err)
{
    NEED(call);
    NEED(ret_policy);
    return closed(tc_call_learned_policy(call, name, ret_policy, err), err);
}

EXPORT int toolcage_call_explain_json(struct toolcage_call *call, const char *access,
                                      char **ret_json, struct toolcage_error **err)
{
    NEED(call);
    NEED(ret_json);
    return closed(tc_call_explain(call, access, ret_json, err), err);
}

EXPORT int toolcage_call_approval_json(struct toolcage_call *call, char **ret_json,
                                       struct toolcage_error **err)
{
    NEED(call);
    NEED(ret_json);
    return closed(tc_call_approval(call, ret_json, err), err);
}

EXPORT int toolcage_call_approve(struct toolcage_call *call, const char *digest,
                                 struct toolcage_error **err)
{
    NEED(call);
    NEED(digest);
    return closed(tc_call_approve(call, digest, 0, err), err);
}

EXPORT int toolcage_call_record_request(struct toolcage_call *call, const char *tool,
                                        const char *arguments, const char *refusal,
                                        struct toolcage_error **err)
{
    NEED(call);
    NEED(tool);
    return closed(tc_call_record_request(call, tool, arguments, refusal, err), err);
}

EXPORT int toolcage_call_approve_again(struct toolcage_call *call, const char *digest,
                                       int64_t count, struct toolcage_error **err)
{
    NEED(call);
    NEED(digest);
    return closed(tc_call_approve(call, digest, count, err), err);
}

EXPORT int toolcage_call_deny(struct toolcage_call *call, const char *reason,
                              struct toolcage_error **err)
{
    NEED(call);
    return closed(tc_call_deny(call, reason, err), err);
}
