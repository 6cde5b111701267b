/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/strv.h"
#include "engine/life.h"

/* ---- strings from the engine, as messages for people ---- */

/* Keeps printable ASCII and replaces the rest by spaces: no line ends, no terminal escapes. */
static void write_line(char to[TC_ENGINE_TEXT_MAX], const char *from)
{
    size_t n = 0;
    for (; *from && n + 1 < TC_ENGINE_TEXT_MAX; from++) {
        char c = *from >= ' ' && *from <= '~' ? *from : ' ';
        if (c != ' ' || (n && to[n - 1] != ' '))
            to[n++] = c;
    }
    while (n && to[n - 1] == ' ')
        n--;
    memset(to + n, 0, TC_ENGINE_TEXT_MAX - n);
}

void tc_engine_say(int kind, const char *text)
{
    struct tc_engine_message said = {.kind = kind};
    write_line(said.text, text);
    (void)tc_send(TC_ENGINE_CONTROL, &said, sizeof(said), NULL, 0);
}

/* "crun version 1.8.1\ncommit: …" or "1.1.5+ds1": from the first digit to the next space. */
static void add_version(struct tc_buf *out, const char *text)
{
    const char *at = text ? text + strcspn(text, "0123456789") : "";
    tc_buf_addf(out, " %.*s", (int)(strcspn(at, " \n\t")), at);
}

/* "Podman Engine 4.3.1, crun 1.8.1", from the response to /version; owned, NULL: no memory. */
static char *describe_engine(const char *version)
{
    static const char *const runtimes[] = {"crun", "runc", "runsc"};
    json_t *v = json_loads(version, 0, NULL);
    const json_t *parts = json_object_get(v, "Components");
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t k = 0; k < json_array_size(parts); k++) {
        const json_t *part = json_array_get(parts, k);
        const char *name = json_string_value(json_object_get(part, "Name"));
        const char *number = json_string_value(json_object_get(part, "Version"));
        if (k == 0) {
            const char *what = name && strcmp(name, "Engine") == 0 ? "Docker Engine" : name;
            tc_buf_addf(&out, "%.40s", what ? what : "an unnamed engine");
            add_version(&out, number);
            continue;
        }
        for (size_t r = 0; name && r < TC_COUNT(runtimes); r++)
            if (strstr(name, runtimes[r])) {
                tc_buf_addf(&out, ", %s", runtimes[r]);
                add_version(&out, number);
                break;
            }
    }
    if (!out.len)
        tc_buf_adds(&out, "an engine of unknown name");
    json_decref(v);
    return tc_buf_steal(&out);
}

/* ---- the container ---- */

/* The oldest API version with everything that is used here, so that old engines work. */
#define API "/v1.40"
#define LIBPOD "/v4.0.0/libpod"

enum { IMPORT_TIMES = 4, LOOK_MS = 50, AFTERWARDS_MS = 5000, SWEEP_MAX = 100, ID_MAX = 128 };

struct life {
    struct tc_engine_http *http;
    const struct tc_engine_config *config;
    const char *doing; /* the current step, for messages */
    bool made;         /* a container may exist */
};

/* ---- failures ---- */

static bool fail_engine(const struct life *l, const char *why)
{
    _autofree_ char *text = tc_format("%s: %s", l->doing, why);
    tc_engine_say(TC_ENGINE_FAILED, text ? text : "out of memory");
    return false;
}

/* Engines return errors as {"message": …}. */
static bool fail_status(const struct life *l, const struct tc_engine_http_answer *a)
{
    json_t *said = json_loadb(a->body.data ? a->body.data : "", a->body.len, 0, NULL);
    const char *message = json_string_value(json_object_get(said, "message"));
    _autofree_ char *text =
        tc_format("status %ld%s%s", a->status, message ? ": " : "", message ? message : "");
    json_decref(said);
    return fail_engine(l, text ? text : "out of memory");
}

/* ---- requests ---- */

/* Is it another engine than the policy names? Each engine handles only a part of the other's
 * requests. */
static bool is_other(const struct life *l)
{
    bool libpod = strncasecmp(tc_engine_http_server(l->http), "Libpod", 6) == 0;
    return tc_engine_http_server(l->http)[0] &&
           libpod != (strcmp(l->config->engine, "podman") == 0);
}

/* Sends the request; false after a failure, which is already reported. */
static bool ask_engine(struct life *l, const char *doing, struct tc_engine_http_ask *a,
                       struct tc_engine_http_answer *ret)
{
    const char *why = "";
    l->doing = doing;
    enum tc_engine_http_end end = tc_engine_http_ask(l->http, a, ret, &why);
    if (end == TC_ENGINE_HTTP_HUNG_UP)
        return false;
    if (end != TC_ENGINE_HTTP_ANSWERED)
        return fail_engine(l, why);
    if (!is_other(l))
        return true;
    _autofree_ char *text =
        tc_format("this engine is %s, not %s", tc_engine_http_server(l->http), l->config->engine);
    return fail_engine(l, text ? text : "out of memory");
}

#define ASK(times, ...)                                                                 \
    (&(struct tc_engine_http_ask){.patience_ms = (int)l->config->patience_ms * (times), \
                                  __VA_ARGS__})

static bool import(struct life *l)
{
    struct tc_engine_http_answer a = TC_ENGINE_HTTP_NO_ANSWER;
    struct tc_engine_http_source tar = {0};
    const struct tc_engine_config *c = l->config;
    bool podman = strcmp(c->engine, "podman") == 0;
    _autofree_ char *path =
        podman ? tc_format(LIBPOD "/images/import?reference=%s:%s", c->repository, c->tag)
               : tc_format(API "/images/create?fromSrc=-&repo=%s&tag=%s", c->repository, c->tag);
    l->doing = "importing the image of the init program";
    if (!path || !tc_engine_image(l->config->program, &tar))
        return fail_engine(l, "the program cannot be read");
    bool good = ask_engine(l, l->doing,
                           ASK(IMPORT_TIMES, .method = "POST", .path = path, .source = &tar), &a);
    if (good && a.status != 200)
        good = fail_status(l, &a);
    tc_engine_image_done(&tar);
    tc_engine_http_answer_done(&a);
    return good;
}

/* From here on a container may exist, whatever the response is. */
static bool create_once(struct life *l, long *ret_status, bool last)
{
    struct tc_engine_http_answer a = TC_ENGINE_HTTP_NO_ANSWER;
    _autofree_ char *path = tc_format(API "/containers/create?name=%s", l->config->name);
    l->made = true;
    /* not cancelled by a hangup: a container created after the request to remove it would stay */
    struct tc_engine_http_ask wanted = {.method = "POST",
                                        .path = path,
                                        .json = l->config->create,
                                        .patience_ms = (int)l->config->patience_ms,
                                        .afterwards_ms = AFTERWARDS_MS};
    bool good = path && ask_engine(l, "creating the container", &wanted, &a);
    *ret_status = a.status;
    l->made = !good || a.status == 201; /* without a response it may exist */
    if (good && a.status != 201 && (last || a.status != 404))
        good = fail_status(l, &a);
    tc_engine_http_answer_done(&a);
    return good;
}

/* 404: the engine does not have the image yet. */
static bool create(struct life *l)
{
    long status = 0;
    if (!create_once(l, &status, false))
        return false;
    return status == 201 || (import(l) && create_once(l, &status, true));
}

/* The container is addressed by its unique name. */
static char *path_of(const struct life *l, const char *what)
{
    return tc_format(API "/containers/%s%s", l->config->name, what);
}

static bool start_container(struct life *l)
{
    struct tc_engine_http_answer a = TC_ENGINE_HTTP_NO_ANSWER;
    _autofree_ char *path = path_of(l, "/start");
    bool good =
        path && ask_engine(l, "starting the container", ASK(1, .method = "POST", .path = path), &a);
    if (good && a.status != 204)
        good = fail_status(l, &a);
    tc_engine_http_answer_done(&a);
    if (good)
        tc_engine_say(TC_ENGINE_STARTED, "");
    return good;
}

/* Of the engine's response only the fact that the container ended is used: PID 1 reports the rest.
 */
static bool wait_for_end(struct life *l)
{
    struct tc_engine_http_answer a = TC_ENGINE_HTTP_NO_ANSWER;
    _autofree_ char *path = path_of(l, "/wait");
    bool good = path && ask_engine(l, "waiting for the container's end",
                                   ASK(0, .method = "POST", .path = path), &a);
    if (good && a.status != 200 && a.status != 404) /* 404: exited and removed */
        good = fail_status(l, &a);
    tc_engine_http_answer_done(&a);
    return good;
}

/* ---- removal ---- */

/* Ignores a hangup. The status, or 0 and the cause. */
static long ask_regardless(struct life *l, const char *method, const char *path, int patience_ms,
                           const char **ret_why)
{
    struct tc_engine_http_answer a = TC_ENGINE_HTTP_NO_ANSWER;
    struct tc_engine_http_ask wanted = {
        .method = method, .path = path, .patience_ms = patience_ms, .afterwards_ms = patience_ms};
    bool good = tc_engine_http_ask(l->http, &wanted, &a, ret_why) == TC_ENGINE_HTTP_ANSWERED;
    tc_engine_http_answer_done(&a);
    return good ? a.status : 0;
}

/* An engine that is already removing an exited container refuses the request, so wait until the
 * container is gone. */
static bool is_gone(struct life *l, const char *path, int64_t until, const char **ret_why)
{
    long status = 0;
    while (tc_now_us() < until) {
        int left = (int)((until - tc_now_us()) / 1000) + 1;
        status = ask_regardless(l, "GET", path, left, ret_why);
        if (status == 404)
            return true;
        if (!status)
            return false;
        (void)usleep(LOOK_MS * 1000);
    }
    *ret_why = "it accepts the request, and the container remains";
    return false;
}

static void remove_container(struct life *l)
{
    const char *why = "out of memory";
    int patience = (int)l->config->patience_ms;
    int64_t until = tc_now_us() + (int64_t)patience * 1000;
    _autofree_ char *path = path_of(l, "?force=1&v=1"), *look = path_of(l, "/json");
    long status = path && look ? ask_regardless(l, "DELETE", path, patience, &why) : 0;
    if (status == 204 || status == 200 || status == 404)
        tc_engine_say(TC_ENGINE_GONE, "");
    else if (status && is_gone(l, look, until, &why))
        tc_engine_say(TC_ENGINE_GONE, "");
    else
        tc_engine_say(TC_ENGINE_LEFT, why);
}

/* ---- leftover containers ---- */

/* Does the container have toolcage's label, is it stopped, and is it older than any start takes?
 * The request already filters for such containers, but the response is untrusted. */
static bool is_left(const struct life *l, const json_t *one, const char **ret_id)
{
    static const char *const states[] = {"created", "exited", "dead", "stopped"};
    const char *id = json_string_value(json_object_get(one, "Id"));
    const char *state = json_string_value(json_object_get(one, "State"));
    json_int_t made = json_integer_value(json_object_get(one, "Created"));
    bool ours = json_is_string(json_object_get(json_object_get(one, "Labels"), TC_ENGINE_LABEL));
    bool still = false;
    for (size_t i = 0; state && i < TC_COUNT(states); i++)
        still = still || strcasecmp(state, states[i]) == 0;
    if (!id || !ours || !still || made <= 0 || made > time(NULL) - l->config->stale_s)
        return false;
    *ret_id = id;
    return id[0] && strlen(id) < ID_MAX && strspn(id, "0123456789abcdef") == strlen(id);
}

/* Without force: a running container belongs to a call. */
static void sweep(struct life *l)
{
    static const char list[] =
        API "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22" TC_ENGINE_LABEL "%22%5D%7D";
    struct tc_engine_http_answer a = TC_ENGINE_HTTP_NO_ANSWER;
    const char *why = "", *id = NULL;
    unsigned gone = 0;
    if (tc_engine_http_ask(l->http, ASK(1, .method = "GET", .path = list), &a, &why) ==
            TC_ENGINE_HTTP_ANSWERED &&
        a.status == 200) {
        json_t *all = json_loadb(a.body.data ? a.body.data : "", a.body.len, 0, NULL);
        for (size_t i = 0; i < json_array_size(all) && i < SWEEP_MAX; i++) {
            if (!is_left(l, json_array_get(all, i), &id))
                continue;
            _autofree_ char *path = tc_format(API "/containers/%s?v=1", id);
            struct tc_engine_http_answer one = TC_ENGINE_HTTP_NO_ANSWER;
            bool told =
                path && tc_engine_http_ask(l->http, ASK(1, .method = "DELETE", .path = path), &one,
                                           &why) == TC_ENGINE_HTTP_ANSWERED;
            gone += told && (one.status == 204 || one.status == 200);
            tc_engine_http_answer_done(&one);
            if (!told)
                break;
        }
        json_decref(all);
    }
    tc_engine_http_answer_done(&a);
    _autofree_ char *text = tc_format("%u", gone);
    tc_engine_say(TC_ENGINE_SWEPT, text ? text : "");
}

static bool tell_about(struct life *l)
{
    struct tc_engine_http_answer a = TC_ENGINE_HTTP_NO_ANSWER;
    bool good = ask_engine(l, "reading the engine's version",
                           ASK(1, .method = "GET", .path = API "/version"), &a);
    _autofree_ char *text = good ? describe_engine(a.body.data ? a.body.data : "") : NULL;
    if (text)
        tc_engine_say(TC_ENGINE_ABOUT, text);
    tc_engine_http_answer_done(&a);
    return good;
}

/* Attaches before the start, so that no output is lost. */
static bool attach(struct life *l, int *ret)
{
    const char *why = "";
    if (l->config->port < 0)
        return true;
    l->doing = "attaching to the container";
    *ret = tc_engine_attach(l->config, &why);
    return *ret >= 0 || fail_engine(l, why);
}

void tc_engine_live(struct tc_engine_http *http, const struct tc_engine_config *config)
{
    struct life l = {.http = http, .config = config, .doing = ""};
    _autofd_ int streams = -1;
    if ((!config->about || tell_about(&l)) && create(&l) && attach(&l, &streams) &&
        start_container(&l)) {
        if (config->sweep)
            sweep(&l);
        if (streams >= 0)
            tc_engine_relay(streams, config);
        else
            (void)wait_for_end(&l);
    }
    if (l.made)
        remove_container(&l);
}
