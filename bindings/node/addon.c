/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The library for Node.js, by Node-API: what index.js needs and no more. The loop polls the
 * descriptor of each call, and no thread waits for it; only changes() runs in Node's thread pool.
 * Errors are thrown as the library's JSON; index.js makes exceptions of them. */
#include <node_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolcage/toolcage.h>
#include <unistd.h>
#include <uv.h>

enum { WORDS_MAX = 4096 };

struct call {
    uv_poll_t poll;
    napi_env env;
    struct toolcage_call *call; /* NULL: it has ended */
    napi_ref output, end;       /* functions of JavaScript */
    napi_async_cleanup_hook_handle cleanup;
    bool closed, dropped; /* by the loop; by JavaScript */
};

/* ---- values ---- */

static napi_value fail(napi_env env, struct toolcage_error *err)
{
    (void)napi_throw_error(env, "TOOLCAGE", toolcage_error_json(err));
    toolcage_error_free(err);
    return NULL;
}

static napi_value misuse(napi_env env, const char *message)
{
    char json[256];
    (void)snprintf(json, sizeof(json), "{\"code\":\"usage\",\"message\":\"%s\",\"hint\":\"\"}",
                   message);
    (void)napi_throw_error(env, "TOOLCAGE", json);
    return NULL;
}

static napi_value text_of(napi_env env, const char *text)
{
    napi_value value = NULL;
    (void)napi_create_string_utf8(env, text ? text : "", NAPI_AUTO_LENGTH, &value);
    return value;
}

/* The caller's to free; NULL: an exception is pending. A text that C would end at its first NUL is
 * refused. */
static char *get_text(napi_env env, napi_value value)
{
    size_t length = 0;
    char *text = NULL;
    if (napi_get_value_string_utf8(env, value, NULL, 0, &length) == napi_ok)
        text = malloc(length + 1);
    if (text && napi_get_value_string_utf8(env, value, text, length + 1, &length) == napi_ok &&
        strlen(text) == length)
        return text;
    (void)misuse(env,
                 text ? "a text holds a NUL byte, where every reader after this one would end it"
                      : "a text was expected");
    free(text);
    return NULL;
}

static bool is_absent(napi_env env, napi_value value)
{
    napi_valuetype type = napi_undefined;
    (void)napi_typeof(env, value, &type);
    return type == napi_undefined || type == napi_null;
}

static size_t get_arguments(napi_env env, napi_callback_info info, napi_value *words, size_t count)
{
    size_t given = count;
    (void)napi_get_cb_info(env, info, &given, words, NULL, NULL);
    return given;
}

/* What an external of ours holds; NULL: an exception is pending. Only index.js has them. */
static void *get_external(napi_env env, napi_value value)
{
    void *held = NULL;
    if (napi_get_value_external(env, value, &held) == napi_ok && held)
        return held;
    (void)misuse(env, "an engine, a policy or a call was expected");
    return NULL;
}

/* ---- engines and policies: boxes, since an engine may be closed before it is collected ---- */

struct box {
    struct toolcage_engine *engine;
    struct toolcage_policy *policy;
};

static void empty_box(napi_env env, void *data, void *hint)
{
    struct box *box = data;
    toolcage_engine_unref(box->engine);
    toolcage_policy_unref(box->policy);
    free(box);
}

static napi_value make_box(napi_env env, struct toolcage_engine *engine,
                           struct toolcage_policy *policy)
{
    struct box *box = calloc(1, sizeof(*box));
    napi_value value = NULL;
    if (!box) {
        toolcage_engine_unref(engine);
        toolcage_policy_unref(policy);
        return misuse(env, "out of memory");
    }
    *box = (struct box){engine, policy};
    if (napi_create_external(env, box, empty_box, NULL, &value) != napi_ok)
        empty_box(env, box, NULL);
    return value;
}

static napi_value new_engine(napi_env env, napi_callback_info info)
{
    struct toolcage_engine *engine = NULL;
    struct toolcage_error *err = NULL;
    return toolcage_engine_new(&engine, &err) < 0 ? fail(env, err) : make_box(env, engine, NULL);
}

static napi_value close_engine(napi_env env, napi_callback_info info)
{
    napi_value word = NULL;
    (void)get_arguments(env, info, &word, 1);
    struct box *box = get_external(env, word);
    if (box)
        box->engine = toolcage_engine_unref(box->engine);
    return NULL;
}

/* ---- staged changes: the helper may work on them for long, so a thread of the pool waits ---- */

struct errand {
    napi_async_work work;
    napi_deferred promise;
    struct toolcage_engine *engine;
    char *call, *digest; /* NULL: all calls; whatever is staged */
    char **paths;
    uint32_t path_count;
    int32_t settle; /* negative: only shows */
    char *json;
    struct toolcage_error *err;
    int r;
};

static void free_errand(struct errand *e)
{
    for (uint32_t i = 0; e->paths && i < e->path_count; i++)
        free(e->paths[i]);
    free(e->paths);
    free(e->call);
    free(e->digest);
    toolcage_free(e->json);
    toolcage_error_free(e->err);
    toolcage_engine_unref(e->engine);
    free(e);
}

static void run_errand(napi_env env, void *data)
{
    struct errand *e = data;
    const char *const *paths = (const char *const *)e->paths;
    if (e->settle < 0)
        e->r = toolcage_engine_changes_json(e->engine, e->call, e->path_count, paths, &e->json,
                                            &e->err);
    else if (e->digest)
        e->r = toolcage_engine_settle_seen_json(e->engine, e->call, e->settle, e->digest,
                                                e->path_count, paths, &e->json, &e->err);
    else
        e->r = toolcage_engine_settle_json(e->engine, e->call, e->settle, e->path_count, paths,
                                           &e->json, &e->err);
}

/* The promise gets JSON in both cases. */
static void end_errand(napi_env env, napi_status status, void *data)
{
    struct errand *e = data;
    if (status == napi_ok && e->r >= 0)
        (void)napi_resolve_deferred(env, e->promise, text_of(env, e->json));
    else
        (void)napi_reject_deferred(env, e->promise, text_of(env, toolcage_error_json(e->err)));
    (void)napi_delete_async_work(env, e->work);
    free_errand(e);
}

/* False: an exception is pending. */
static bool read_paths(napi_env env, napi_value list, struct errand *e)
{
    uint32_t count = 0;
    if (napi_get_array_length(env, list, &count) != napi_ok || count > WORDS_MAX)
        return misuse(env, "paths is an array of at most 4096 paths"), false;
    e->paths = calloc((size_t)count + 1, sizeof(*e->paths));
    for (napi_value word; e->paths && e->path_count < count; e->path_count++)
        if (napi_get_element(env, list, e->path_count, &word) != napi_ok ||
            !(e->paths[e->path_count] = get_text(env, word)))
            return false;
    return e->paths || (misuse(env, "out of memory"), false);
}

/* False: an exception is pending. */
static bool read_errand(napi_env env, napi_value *words, struct errand *e)
{
    struct box *box = get_external(env, words[0]);
    if (!box)
        return false;
    e->engine = toolcage_engine_ref(box->engine);
    if (!e->engine)
        return misuse(env, "the engine is closed"), false;
    if ((!is_absent(env, words[1]) && !(e->call = get_text(env, words[1]))) ||
        (!is_absent(env, words[3]) && !(e->digest = get_text(env, words[3]))))
        return false;
    return napi_get_value_int32(env, words[2], &e->settle) == napi_ok
               ? read_paths(env, words[4], e)
               : (misuse(env, "a number of an action was expected"), false);
}

/* changes(engine, call, action as a number, digest, paths): a promise */
static napi_value changes(napi_env env, napi_callback_info info)
{
    napi_value words[5] = {0}, promise = NULL;
    if (get_arguments(env, info, words, 5) < 5)
        return misuse(env, "changes() takes five values");
    struct errand *e = calloc(1, sizeof(*e));
    if (!e)
        return misuse(env, "out of memory");
    if (!read_errand(env, words, e)) {
        free_errand(e);
        return NULL;
    }
    if (napi_create_promise(env, &e->promise, &promise) != napi_ok ||
        napi_create_async_work(env, NULL, text_of(env, "toolcage"), run_errand, end_errand, e,
                               &e->work) != napi_ok ||
        napi_queue_async_work(env, e->work) != napi_ok) {
        free_errand(e);
        return misuse(env, "the thread pool takes no work");
    }
    return promise;
}

static napi_value load_file(napi_env env, napi_callback_info info)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    napi_value word = NULL;
    (void)get_arguments(env, info, &word, 1);
    char *path = get_text(env, word);
    if (!path)
        return NULL;
    int r = toolcage_policy_load_file(path, &policy, &err);
    free(path);
    return r < 0 ? fail(env, err) : make_box(env, NULL, policy);
}

static napi_value load_text(napi_env env, napi_callback_info info)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    napi_value words[2] = {0};
    (void)get_arguments(env, info, words, 2);
    char *text = get_text(env, words[0]), *name = text ? get_text(env, words[1]) : NULL;
    int r = name ? toolcage_policy_load_buffer(text, strlen(text), name, &policy, &err) : -1;
    bool asked = name != NULL;
    free(text);
    free(name);
    if (r < 0)
        return asked ? fail(env, err) : NULL;
    return make_box(env, NULL, policy);
}

static napi_value default_policy(napi_env env, napi_callback_info info)
{
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    return toolcage_policy_new_default(&policy, &err) < 0 ? fail(env, err)
                                                          : make_box(env, NULL, policy);
}

static napi_value tools(napi_env env, napi_callback_info info)
{
    struct toolcage_error *err = NULL;
    napi_value words[2] = {0};
    char *json = NULL;
    (void)get_arguments(env, info, words, 2);
    struct box *box = get_external(env, words[0]);
    char *format = box ? get_text(env, words[1]) : NULL;
    if (!format)
        return NULL;
    int r = toolcage_policy_tools_json(box->policy, format, &json, &err);
    free(format);
    if (r < 0)
        return fail(env, err);
    napi_value value = text_of(env, json);
    toolcage_free(json);
    return value;
}

/* ---- a call's end ---- */

static void set(napi_env env, napi_value object, const char *name, napi_value value)
{
    (void)napi_set_named_property(env, object, name, value);
}

static napi_value number_of(napi_env env, int32_t number)
{
    napi_value value = NULL;
    (void)napi_create_int32(env, number, &value);
    return value;
}

static napi_value bytes_of(napi_env env, const void *bytes, size_t length)
{
    napi_value value = NULL;
    (void)napi_create_buffer_copy(env, length, length ? bytes : "", NULL, &value);
    return value;
}

static napi_value result_of(napi_env env, const struct toolcage_result *result)
{
    const struct toolcage_error *error = toolcage_result_error(result);
    napi_value object = NULL, none = NULL;
    (void)napi_create_object(env, &object);
    (void)napi_get_null(env, &none);
    set(env, object, "status", text_of(env, toolcage_result_status_word(result)));
    set(env, object, "exitCode", number_of(env, toolcage_result_exit_code(result)));
    set(env, object, "signal", number_of(env, toolcage_result_signal(result)));
    set(env, object, "limit", text_of(env, toolcage_result_limit(result)));
    set(env, object, "shellCode", number_of(env, toolcage_result_shell_code(result)));
    set(env, object, "message", text_of(env, toolcage_result_message(result)));
    set(env, object, "error", error ? text_of(env, toolcage_error_json(error)) : none);
    set(env, object, "json", text_of(env, toolcage_result_json(result)));
    for (int stream = 1; stream <= 2; stream++) {
        size_t length = 0;
        const void *bytes = toolcage_result_output(result, stream, &length);
        set(env, object, stream == 1 ? "stdout" : "stderr", bytes_of(env, bytes, length));
    }
    return object;
}

static void free_if_done(struct call *call)
{
    if (call->closed && call->dropped)
        free(call);
}

static void on_closed(uv_handle_t *handle)
{
    struct call *call = handle->data;
    if (call->cleanup)
        (void)napi_remove_async_cleanup_hook(call->cleanup);
    call->closed = true;
    free_if_done(call);
}

static void drop(napi_env env, void *data, void *hint)
{
    struct call *call = data;
    call->dropped = true;
    free_if_done(call);
}

/* A running one is ended, and its cage with it. */
static void stop(struct call *call)
{
    if (!call->call)
        return;
    call->call = toolcage_call_unref(call->call);
    (void)uv_poll_stop(&call->poll);
    uv_close((uv_handle_t *)&call->poll, on_closed);
}

/* The environment goes before the call does. */
static void on_cleanup(napi_async_cleanup_hook_handle handle, void *data)
{
    stop(data);
}

static void say(struct call *call, napi_ref function, size_t count, napi_value *words)
{
    napi_value global = NULL, called = NULL;
    (void)napi_get_global(call->env, &global);
    (void)napi_get_reference_value(call->env, function, &called);
    (void)napi_make_callback(call->env, NULL, global, called, count, words, NULL);
}

static void on_output(void *data, int stream, const void *bytes, size_t length)
{
    struct call *call = data;
    napi_value words[2] = {number_of(call->env, stream), bytes_of(call->env, bytes, length)};
    say(call, call->output, 2, words);
}

static void end(struct call *call, napi_value result, napi_value error)
{
    napi_value words[2] = {error, result};
    stop(call);
    say(call, call->end, 2, words);
    (void)napi_delete_reference(call->env, call->end);
    (void)napi_delete_reference(call->env, call->output);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct call *call = poll->data;
    struct toolcage_error *err = NULL;
    napi_handle_scope scope;
    napi_value none = NULL;
    if (napi_open_handle_scope(call->env, &scope) != napi_ok)
        return;
    (void)napi_get_null(call->env, &none);
    int r = toolcage_call_dispatch(call->call, &err);
    if (r < 0)
        end(call, none, text_of(call->env, toolcage_error_json(err)));
    else if (r > 0)
        end(call, result_of(call->env, toolcage_call_result(call->call)), none);
    toolcage_error_free(err);
    (void)napi_close_handle_scope(call->env, scope);
}

/* ---- a call's start ---- */

/* Each of these: 0, or negative with an exception pending. */
static int lose(napi_env env, int r, struct toolcage_error **err)
{
    if (r < 0)
        (void)fail(env, *err);
    return r;
}

static int give_words(napi_env env, struct toolcage_call *call, napi_value list)
{
    uint32_t count = 0, read = 0;
    struct toolcage_error *err = NULL;
    if (napi_get_array_length(env, list, &count) != napi_ok || count > WORDS_MAX) {
        (void)misuse(env, "a command is an array of at most 4096 words");
        return -1;
    }
    char **words = calloc((size_t)count + 1, sizeof(*words));
    for (napi_value word; words && read < count; read++)
        if (napi_get_element(env, list, read, &word) != napi_ok ||
            !(words[read] = get_text(env, word)))
            break;
    int r =
        words && read == count
            ? lose(env, toolcage_call_set_command(call, count, (const char *const *)words, &err),
                   &err)
            : -1;
    for (uint32_t i = 0; words && i < count; i++)
        free(words[i]);
    free(words);
    return r;
}

static int give_text(napi_env env, struct toolcage_call *call, napi_value value,
                     int (*give)(struct toolcage_call *, const char *, struct toolcage_error **))
{
    struct toolcage_error *err = NULL;
    char *text = get_text(env, value);
    int r = text ? lose(env, give(call, text, &err), &err) : -1;
    free(text);
    return r;
}

/* Bytes; or true: a pipe, whose end is *ret_fd. */
static int give_input(napi_env env, struct toolcage_call *call, napi_value value, int *ret_fd)
{
    struct toolcage_error *err = NULL;
    bool piped = false;
    if (napi_get_value_bool(env, value, &piped) == napi_ok && piped)
        return lose(env, toolcage_call_open_stdin(call, ret_fd, &err), &err);
    void *bytes = NULL;
    size_t length = 0;
    if (napi_get_buffer_info(env, value, &bytes, &length) != napi_ok) {
        (void)misuse(env, "standard input is a Buffer");
        return -1;
    }
    return lose(env, toolcage_call_set_stdin(call, length ? bytes : "", length, &err), &err);
}

/* [key, value, key, value…] */
static int give_settings(napi_env env, struct toolcage_call *call, napi_value list)
{
    uint32_t count = 0;
    int r = 0;
    (void)napi_get_array_length(env, list, &count);
    for (uint32_t i = 0; r == 0 && i + 1 < count; i += 2) {
        struct toolcage_error *err = NULL;
        napi_value words[2] = {0};
        (void)napi_get_element(env, list, i, &words[0]);
        (void)napi_get_element(env, list, i + 1, &words[1]);
        char *key = get_text(env, words[0]), *value = key ? get_text(env, words[1]) : NULL;
        r = value ? lose(env, toolcage_call_set(call, key, value, &err), &err) : -1;
        free(key);
        free(value);
    }
    return r;
}

/* What start() is given, by place. */
enum {
    ENGINE,
    POLICY,
    TOOL,
    ARGUMENTS,
    COMMAND,
    INPUT,
    SESSION,
    SETTINGS,
    REQUESTED, /* the values up to here describe the call */
    ANSWER = REQUESTED,
    OUTPUT,
    END,
    GIVEN
};

static int prepare(napi_env env, struct toolcage_call *call, napi_value *words, int *ret_fd)
{
    int r = 0;
    if (!is_absent(env, words[ARGUMENTS]))
        r = give_text(env, call, words[ARGUMENTS], toolcage_call_set_arguments_json);
    if (r == 0 && !is_absent(env, words[COMMAND]))
        r = give_words(env, call, words[COMMAND]);
    if (r == 0 && !is_absent(env, words[INPUT]))
        r = give_input(env, call, words[INPUT], ret_fd);
    if (r == 0 && !is_absent(env, words[SESSION]))
        r = give_text(env, call, words[SESSION], toolcage_call_set_session);
    return r == 0 ? give_settings(env, call, words[SETTINGS]) : r;
}

static struct toolcage_call *new_call(napi_env env, napi_value *words)
{
    struct toolcage_call *call = NULL;
    struct toolcage_error *err = NULL;
    struct box *engine = get_external(env, words[ENGINE]);
    struct box *policy = engine ? get_external(env, words[POLICY]) : NULL;
    bool named = policy && !is_absent(env, words[TOOL]);
    char *tool = named ? get_text(env, words[TOOL]) : NULL;
    if (!policy || (named && !tool))
        return NULL;
    int r = toolcage_call_new(engine->engine, policy->policy, tool, &call, &err);
    free(tool);
    return lose(env, r, &err) < 0 ? NULL : call;
}

static int repeat_answer(napi_env env, struct toolcage_call *call, napi_value digest,
                         napi_value number)
{
    struct toolcage_error *err = NULL;
    int64_t count = 0;
    (void)napi_get_value_int64(env, number, &count);
    char *text = get_text(env, digest);
    int r = text ? lose(env, toolcage_call_approve_again(call, text, count, &err), &err) : -1;
    free(text);
    return r;
}

/* [digest], [digest, which equal call it is], or [null, reason or null] */
static int give_answer(napi_env env, struct toolcage_call *call, napi_value list)
{
    struct toolcage_error *err = NULL;
    napi_value words[2] = {0};
    (void)napi_get_element(env, list, 0, &words[0]);
    (void)napi_get_element(env, list, 1, &words[1]);
    if (!is_absent(env, words[0]) && !is_absent(env, words[1]))
        return repeat_answer(env, call, words[0], words[1]);
    if (!is_absent(env, words[0]))
        return give_text(env, call, words[0], toolcage_call_approve);
    return is_absent(env, words[1]) ? lose(env, toolcage_call_deny(call, NULL, &err), &err)
                                    : give_text(env, call, words[1], toolcage_call_deny);
}

/* The request for a person's approval, as JSON; undefined where start() would refuse the call. */
static napi_value request(napi_env env, napi_callback_info info)
{
    napi_value words[REQUESTED] = {0}, value = NULL;
    char *json = NULL;
    int fd = -1;
    if (get_arguments(env, info, words, REQUESTED) < REQUESTED)
        return misuse(env, "request() takes eight values");
    struct toolcage_call *call = new_call(env, words);
    if (call && prepare(env, call, words, &fd) == 0 &&
        toolcage_call_approval_json(call, &json, NULL) == 0)
        value = text_of(env, json);
    toolcage_free(json);
    toolcage_call_unref(call);
    if (fd >= 0)
        (void)close(fd);
    return value;
}

/* From here on the loop has it. */
static int watch(napi_env env, struct call *call, napi_value *words)
{
    struct toolcage_error *err = NULL;
    uv_loop_t *loop = NULL;
    if (lose(env, toolcage_call_start(call->call, &err), &err) < 0)
        return -1;
    if (napi_get_uv_event_loop(env, &loop) != napi_ok ||
        uv_poll_init(loop, &call->poll, toolcage_call_fd(call->call)) != 0) {
        (void)misuse(env, "the loop cannot watch the call");
        return -1;
    }
    call->poll.data = call;
    (void)napi_create_reference(env, words[OUTPUT], 1, &call->output);
    (void)napi_create_reference(env, words[END], 1, &call->end);
    (void)napi_add_async_cleanup_hook(env, on_cleanup, call, &call->cleanup);
    (void)uv_poll_start(&call->poll, UV_READABLE, on_ready);
    return 0;
}

/* [the call, its id, the descriptor of its standard input or -1: the caller's to close] */
static napi_value start(napi_env env, napi_callback_info info)
{
    napi_value words[GIVEN] = {0}, value = NULL, list = NULL;
    struct toolcage_error *err = NULL;
    int fd = -1;
    if (get_arguments(env, info, words, GIVEN) < GIVEN)
        return misuse(env, "start() takes eleven values");
    struct call *call = calloc(1, sizeof(*call));
    if (!call)
        return misuse(env, "out of memory");
    call->env = env;
    call->call = new_call(env, words);
    bool good =
        call->call && prepare(env, call->call, words, &fd) == 0 &&
        (is_absent(env, words[ANSWER]) || give_answer(env, call->call, words[ANSWER]) == 0) &&
        lose(env, toolcage_call_set_output_callback(call->call, on_output, call, &err), &err) ==
            0 &&
        watch(env, call, words) == 0;
    if (!good) {
        toolcage_call_unref(call->call);
        free(call);
        if (fd >= 0)
            (void)close(fd);
        return NULL;
    }
    (void)napi_create_array(env, &list);
    if (napi_create_external(env, call, drop, NULL, &value) != napi_ok)
        call->dropped = true;
    (void)napi_set_element(env, list, 0, value);
    (void)napi_set_element(env, list, 1, text_of(env, toolcage_call_id(call->call)));
    (void)napi_set_element(env, list, 2, number_of(env, fd));
    return list;
}

static napi_value cancel(napi_env env, napi_callback_info info)
{
    napi_value word = NULL;
    (void)get_arguments(env, info, &word, 1);
    struct call *call = get_external(env, word);
    if (call && call->call)
        (void)toolcage_call_cancel(call->call);
    return NULL;
}

#ifdef NODE_API_MODULE_GET_API_VERSION /* which the next line defines, undeclared */
NAPI_MODULE_EXPORT int32_t NODE_API_MODULE_GET_API_VERSION(void);
#endif

NAPI_MODULE_INIT()
{
    static const struct {
        const char *name;
        napi_callback function;
    } functions[] = {{"newEngine", new_engine},
                     {"closeEngine", close_engine},
                     {"loadFile", load_file},
                     {"loadText", load_text},
                     {"defaultPolicy", default_policy},
                     {"tools", tools},
                     {"changes", changes},
                     {"request", request},
                     {"start", start},
                     {"cancel", cancel}};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        napi_value function = NULL;
        if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function,
                                 NULL, &function) == napi_ok)
            set(env, exports, functions[i].name, function);
    }
    set(env, exports, "version", text_of(env, toolcage_version()));
    return exports;
}
