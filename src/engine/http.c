/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "engine/http.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct tc_engine_http {
    char socket[32]; /* a /proc path to the opened socket, independent of what its name refers to
                        now */
    int hangup;
    CURLM *multi;
    char server[TC_ENGINE_HTTP_SERVER_MAX];
    char why[160 + CURL_ERROR_SIZE];
};

/* One request, for libcurl's callbacks. */
struct exchange {
    struct tc_engine_http *http;
    const struct tc_engine_http_ask *ask;
    struct tc_engine_http_answer *answer;
    size_t sent, headers;
    bool too_large;
    char error[CURL_ERROR_SIZE];
};

struct tc_engine_http *tc_engine_http_new(int socket, int hangup)
{
    struct tc_engine_http *http = calloc(1, sizeof(*http));
    if (!http)
        return NULL;
    (void)snprintf(http->socket, sizeof(http->socket), "/proc/self/fd/%d", socket);
    http->hangup = hangup;
    http->multi = curl_multi_init();
    if (http->multi)
        return http;
    tc_engine_http_free(http);
    return NULL;
}

void tc_engine_http_free(struct tc_engine_http *http)
{
    if (!http)
        return;
    if (http->multi)
        (void)curl_multi_cleanup(http->multi);
    free(http);
}

const char *tc_engine_http_server(const struct tc_engine_http *http)
{
    return http->server;
}

void tc_engine_http_answer_done(struct tc_engine_http_answer *answer)
{
    tc_buf_done(&answer->body);
}

/* ---- libcurl's callbacks ---- */

static void keep_server(struct tc_engine_http *http, const char *value, size_t len)
{
    size_t n = 0;
    while (len && *value == ' ') {
        value++;
        len--;
    }
    for (; n < len && n + 1 < sizeof(http->server) && value[n] >= ' ' && value[n] <= '~'; n++)
        http->server[n] = value[n];
    http->server[n] = '\0';
}

static size_t take_header(char *bytes, size_t size, size_t count, void *userdata)
{
    static const char name[] = "server:";
    struct exchange *x = userdata;
    size_t len = size * count, n = sizeof(name) - 1;
    x->headers += len;
    x->too_large = x->too_large || x->headers > TC_ENGINE_HTTP_HEADERS_MAX;
    if (len > n && strncasecmp(bytes, name, n) == 0)
        keep_server(x->http, bytes + n, len - n);
    return x->too_large ? 0 : len;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *userdata)
{
    struct exchange *x = userdata;
    size_t len = size * count;
    x->too_large = x->too_large || x->answer->body.len + len > TC_ENGINE_HTTP_BODY_MAX;
    if (x->too_large)
        return 0;
    tc_buf_add(&x->answer->body, bytes, len);
    return x->answer->body.failed ? 0 : len;
}

static size_t give_body(char *to, size_t size, size_t count, void *userdata)
{
    struct exchange *x = userdata;
    size_t left = x->ask->source->len - x->sent, room = size * count;
    long n = x->ask->source->read(x->ask->source->userdata, x->sent, to, room < left ? room : left);
    if (n < 0)
        return CURL_READFUNC_ABORT;
    x->sent += (size_t)n;
    return (size_t)n;
}

/* ---- one request ---- */

static struct curl_slist *list_headers(const struct tc_engine_http_ask *ask)
{
    struct curl_slist *list = NULL;
    const char *type = ask->source ? "Content-Type: application/x-tar"
                       : ask->json ? "Content-Type: application/json"
                                   : NULL;
    const char *const all[] = {"Expect:", type};
    for (size_t i = 0; i < TC_COUNT(all); i++) {
        struct curl_slist *more = all[i] ? curl_slist_append(list, all[i]) : list;
        if (!more) {
            curl_slist_free_all(list);
            return NULL;
        }
        list = more;
    }
    return list;
}

#define SET(option, value) (rc = rc ? rc : curl_easy_setopt(easy, option, value))

/* Ignores the environment, other protocols, proxies and redirects. */
static CURLcode set_up(CURL *easy, struct exchange *x, struct curl_slist *headers, const char *url)
{
    CURLcode rc = CURLE_OK;
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PROTOCOLS_STR, "http");
    SET(CURLOPT_UNIX_SOCKET_PATH, x->http->socket);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_CUSTOMREQUEST, x->ask->method);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, (void *)x);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, (void *)x);
    SET(CURLOPT_ERRORBUFFER, x->error);
    if (x->ask->source) {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_READFUNCTION, give_body);
        SET(CURLOPT_READDATA, (void *)x);
        SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)x->ask->source->len);
    } else if (x->ask->json) {
        SET(CURLOPT_POSTFIELDS, x->ask->json);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(x->ask->json));
    }
    return rc;
}

static enum tc_engine_http_end end_exchange(struct tc_engine_http *http, const char **ret_why,
                                            enum tc_engine_http_end end, const char *fmt, ...)
    TC_PRINTF(4, 5);

static enum tc_engine_http_end end_exchange(struct tc_engine_http *http, const char **ret_why,
                                            enum tc_engine_http_end end, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(http->why, sizeof(http->why), fmt, ap);
    va_end(ap);
    *ret_why = http->why;
    return end;
}

static bool hung_up(const struct tc_engine_http *http)
{
    struct pollfd p = {.fd = http->hangup, .events = POLLIN};
    return http->hangup >= 0 && poll(&p, 1, 0) > 0;
}

/* Runs until the request has ended: TC_ENGINE_HTTP_ANSWERED and libcurl's result code. */
static enum tc_engine_http_end drive(struct tc_engine_http *http,
                                     const struct tc_engine_http_ask *ask, CURLcode *ret)
{
    int64_t until = ask->patience_ms ? tc_now_us() + (int64_t)ask->patience_ms * 1000 : INT64_MAX;
    struct curl_waitfd extra = {.fd = http->hangup, .events = CURL_WAIT_POLLIN};
    bool listens = http->hangup >= 0;
    for (int running = 1, left;;) {
        if (curl_multi_perform(http->multi, &running) != CURLM_OK)
            return TC_ENGINE_HTTP_MEMORY;
        const CURLMsg *m = curl_multi_info_read(http->multi, &left);
        if (m && m->msg == CURLMSG_DONE) {
            *ret = m->data.result;
            return TC_ENGINE_HTTP_ANSWERED;
        }
        int64_t now = tc_now_us(), rest = until == INT64_MAX ? 1000 : (until - now + 999) / 1000;
        if (rest <= 0)
            return TC_ENGINE_HTTP_SILENT;
        if (curl_multi_poll(http->multi, &extra, listens, rest > 1000 ? 1000 : (int)rest, NULL) !=
            CURLM_OK)
            return TC_ENGINE_HTTP_MEMORY;
        if (!listens || !hung_up(http))
            continue;
        if (!ask->afterwards_ms)
            return TC_ENGINE_HTTP_HUNG_UP;
        int64_t last = tc_now_us() + (int64_t)ask->afterwards_ms * 1000;
        until = until < last ? until : last;
        listens = false;
    }
}

static enum tc_engine_http_end judge_exchange(struct tc_engine_http *http, struct exchange *x,
                                              CURLcode code, const char **ret_why)
{
    const char *text = x->error[0] ? x->error : curl_easy_strerror(code);
    if (x->too_large)
        return end_exchange(http, ret_why, TC_ENGINE_HTTP_BROKEN, "its response is too large");
    if (code == CURLE_OUT_OF_MEMORY || x->answer->body.failed)
        return end_exchange(http, ret_why, TC_ENGINE_HTTP_MEMORY, "out of memory");
    if (code == CURLE_OK && x->answer->status >= 200 && x->answer->status < 600)
        return TC_ENGINE_HTTP_ANSWERED;
    if (code == CURLE_OK)
        return end_exchange(http, ret_why, TC_ENGINE_HTTP_BROKEN, "its response has status %ld",
                            x->answer->status);
    return end_exchange(http, ret_why, TC_ENGINE_HTTP_BROKEN, "%s", text);
}

static enum tc_engine_http_end run_exchange(struct tc_engine_http *http, CURL *easy,
                                            struct exchange *x, const char **ret_why)
{
    CURLcode code = CURLE_OK;
    if (curl_multi_add_handle(http->multi, easy) != CURLM_OK)
        return end_exchange(http, ret_why, TC_ENGINE_HTTP_MEMORY, "out of memory");
    enum tc_engine_http_end end = drive(http, x->ask, &code);
    if (end == TC_ENGINE_HTTP_ANSWERED) {
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &x->answer->status);
        end = judge_exchange(http, x, code, ret_why);
    } else if (end == TC_ENGINE_HTTP_SILENT) {
        (void)end_exchange(http, ret_why, end, "it did not respond within %d ms",
                           x->ask->patience_ms);
    } else {
        (void)end_exchange(http, ret_why, end,
                           end == TC_ENGINE_HTTP_HUNG_UP ? "the call has ended" : "out of memory");
    }
    (void)curl_multi_remove_handle(http->multi, easy);
    return end;
}

enum tc_engine_http_end tc_engine_http_ask(struct tc_engine_http *http,
                                           const struct tc_engine_http_ask *ask,
                                           struct tc_engine_http_answer *ret, const char **ret_why)
{
    struct exchange x = {.http = http, .ask = ask, .answer = ret};
    _autobuf_ struct tc_buf url = TC_BUF_INIT;
    if (!ask->afterwards_ms && hung_up(http))
        return end_exchange(http, ret_why, TC_ENGINE_HTTP_HUNG_UP, "the call has ended");
    tc_buf_addf(&url, "http://localhost%s", ask->path);
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = list_headers(ask);
    enum tc_engine_http_end end =
        easy && headers && !url.failed && set_up(easy, &x, headers, url.data) == CURLE_OK
            ? run_exchange(http, easy, &x, ret_why)
            : end_exchange(http, ret_why, TC_ENGINE_HTTP_MEMORY, "out of memory");
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    return end;
}
