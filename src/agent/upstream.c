/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * One request to the model server, limited in time and size. Redirects are not followed. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"

enum { HEADS_MAX = 256 << 10, CONNECT_MS = 10000, SLACK_MS = 20 };

struct answer {
    char *text;
    size_t length, size, heads;
    bool too_large, no_memory;
};

static size_t take_bytes(char *bytes, size_t one, size_t count, void *userdata)
{
    struct answer *a = userdata;
    size_t length = one * count, want = a->size ? a->size : 65536;
    if (length > TC_AGENT_BODY_MAX - a->length) {
        a->too_large = true;
        return 0;
    }
    while (want < a->length + length + 1)
        want *= 2;
    char *grown = want == a->size ? a->text : realloc(a->text, want);
    if (!grown) {
        a->no_memory = true;
        return 0;
    }
    a->text = grown;
    a->size = want;
    memcpy(grown + a->length, bytes, length);
    a->length += length;
    grown[a->length] = '\0';
    return length;
}

static size_t take_head(char *bytes, size_t one, size_t count, void *userdata)
{
    struct answer *a = userdata;
    (void)bytes;
    a->heads += one * count;
    a->too_large |= a->heads > HEADS_MAX;
    return a->too_large ? 0 : one * count;
}

static char *write_request(const struct tc_agent *agent)
{
    json_t *body = json_pack("{s:O, s:b}", "messages", agent->messages, "stream", 0);
    int rc = body ? 0 : -1;
    if (!rc && agent->config.model)
        rc = json_object_set_new(body, "model", json_string(agent->config.model));
    if (!rc && json_array_size(agent->tools))
        rc = json_object_set(body, "tools", agent->tools);
    char *text = rc ? NULL : json_dumps(body, JSON_COMPACT);
    json_decref(body);
    return text;
}

static struct curl_slist *make_heads(const struct tc_agent *agent)
{
    struct curl_slist *heads = curl_slist_append(NULL, "Content-Type: application/json");
    struct curl_slist *more = heads ? curl_slist_append(heads, "Expect:") : NULL;
    char *line = NULL;
    if (more && agent->config.key &&
        asprintf(&line, "Authorization: Bearer %s", agent->config.key) >= 0)
        more = curl_slist_append(heads, line);
    if (line)
        explicit_bzero(line, strlen(line));
    free(line);
    if (more)
        return heads;
    curl_slist_free_all(heads);
    return NULL;
}

static bool judge_response(struct tc_agent *agent, CURLcode rc, long status, const struct answer *a)
{
    static const char look[] = "check the model server's log";
    const char *url = agent->config.url;
    if (a->no_memory)
        return tc_agent_fail(agent, TC_AGENT_MEMORY, "free memory on this machine",
                             "out of memory");
    if (a->too_large)
        return tc_agent_fail(agent, TC_AGENT_LARGE, look, "a response of %s is larger than 8 MiB",
                             url);
    if (rc == CURLE_OPERATION_TIMEDOUT && tc_agent_left_ms(agent) <= 0)
        return tc_agent_fail(agent, TC_AGENT_TIME, "allow more with --max-time",
                             "the time limit was reached before %s answered", url);
    if (rc == CURLE_PARTIAL_FILE || rc == CURLE_GOT_NOTHING || rc == CURLE_RECV_ERROR)
        return tc_agent_fail(agent, TC_AGENT_CUT, look,
                             "%s closed the connection during a response", url);
    if (rc != CURLE_OK)
        return tc_agent_fail(agent, TC_AGENT_CONNECT, "start the model server, or name another URL",
                             "the request to %s failed: %s", url, curl_easy_strerror(rc));
    if (status != 200)
        return tc_agent_fail(agent, TC_AGENT_STATUS, look, "%s answered with status %ld: %.200s",
                             url, status, a->text ? a->text : "");
    return a->text ||
           tc_agent_fail(agent, TC_AGENT_MALFORMED, look, "%s sent an empty response", url);
}

/* Sets the request's options and limits. Every text in them comes from the operator. */
static void set_up(const struct tc_agent *agent, CURL *curl, struct curl_slist *heads,
                   const char *body, struct answer *a)
{
    int64_t left = tc_agent_left_ms(agent);
    curl_easy_setopt(curl, CURLOPT_URL, agent->config.url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, heads);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    /* slightly more than the time left, so that a timeout is also past the limit by our clock */
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(left > 0 ? left : 0) + SLACK_MS);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, a);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, a);
}

bool tc_agent_ask(struct tc_agent *agent, char **ret, size_t *ret_length)
{
    struct answer a = {0};
    CURL *curl = curl_easy_init();
    struct curl_slist *heads = make_heads(agent);
    char *body = write_request(agent);
    long status = 0;
    CURLcode rc = CURLE_OK;
    a.no_memory = !curl || !heads || !body;
    if (!a.no_memory) {
        set_up(agent, curl, heads, body, &a);
        rc = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    }
    bool good = judge_response(agent, rc, status, &a);
    curl_slist_free_all(heads);
    curl_easy_cleanup(curl);
    free(body);
    if (!good) {
        free(a.text);
        return false;
    }
    *ret = a.text;
    *ret_length = a.length;
    return true;
}
