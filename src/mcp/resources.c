/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/resources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_INLINE_MAX = 64 << 10, /* bytes of a text that is in the result itself */
    BLOB_INLINE_MAX = 4 << 10,  /* characters of base64 that are */
    FILES_MAX = 16,             /* of a session; further ones replace the oldest */
    BYTES_MAX = 4 << 20,        /* of a session */
    ALL_BYTES_MAX = 32 << 20,   /* of all sessions; above it files are in results */
};

static const char scheme[] = "toolcage:collected/";

struct tc_mcp_resources {
    json_t *list;     /* links, the oldest first */
    json_t *contents; /* of resources/read, in the same order */
    size_t bytes;
};

/* ---- the store ---- */

static size_t size_of(const json_t *contents)
{
    const json_t *text = json_object_get(contents, "text");
    return json_string_length(text ? text : json_object_get(contents, "blob"));
}

static void drop_oldest(struct tc_mcp_session *session)
{
    struct tc_mcp_resources *r = session->resources;
    size_t size = size_of(json_array_get(r->contents, 0));
    r->bytes -= size;
    session->server->resource_bytes -= size;
    (void)json_array_remove(r->contents, 0);
    (void)json_array_remove(r->list, 0);
}

void tc_mcp_resources_done(struct tc_mcp_session *session)
{
    struct tc_mcp_resources *r = session->resources;
    if (!r)
        return;
    session->server->resource_bytes -= r->bytes;
    json_decref(r->list);
    json_decref(r->contents);
    free(r);
    session->resources = NULL;
}

static struct tc_mcp_resources *open_store(struct tc_mcp_session *session)
{
    if (session->resources)
        return session->resources;
    struct tc_mcp_resources *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    session->resources = r;
    r->list = json_array();
    r->contents = json_array();
    if (r->list && r->contents)
        return r;
    tc_mcp_resources_done(session);
    return NULL;
}

/* Takes ownership of `link` and `contents`. */
static bool store(struct tc_mcp_session *session, json_t *link, json_t *contents)
{
    struct tc_mcp_resources *r = session->resources;
    size_t size = size_of(contents);
    while (json_array_size(r->list) &&
           (json_array_size(r->list) >= FILES_MAX || r->bytes + size > BYTES_MAX))
        drop_oldest(session);
    if (json_array_append_new(r->contents, contents) < 0) {
        json_decref(link);
        return false;
    }
    r->bytes += size;
    session->server->resource_bytes += size;
    if (json_array_append_new(r->list, link) == 0)
        return true;
    tc_mcp_resources_done(session);
    return false;
}

/* ---- links ---- */

/* Are the files of this request kept? Links exist since 2025-06-18. */
static bool is_kept(const struct tc_mcp_request *request)
{
    const struct tc_mcp_session *session = request->session;
    return session->keeps && session->version && strcmp(session->version, "2025-06-18") >= 0 &&
           strcmp(request->version, TC_MCP_STATELESS) != 0;
}

/* The file's name for a person; owned. */
static char *name_of(const json_t *file)
{
    const char *path = json_string_value(json_object_get(file, "path"));
    const char *slash = path ? strrchr(path, '/') : NULL;
    path = slash ? slash + 1 : path ? path : "file";
    return tc_mcp_escape(path, strlen(path));
}

int tc_mcp_resources_add(const struct tc_mcp_request *request, json_t *content, const json_t *file,
                         const char *member, json_t *value, size_t *linked)
{
    struct tc_mcp_session *session = request->session;
    size_t size = json_string_length(value), most = TEXT_INLINE_MAX;
    char state[TC_MCP_STATE_SIZE], uri[sizeof(scheme) + TC_MCP_STATE_SIZE];
    const char *mime = json_string_value(json_object_get(file, "mime"));
    mime = mime ? mime : "application/octet-stream";
    if (strcmp(member, "blob") == 0)
        most = BLOB_INLINE_MAX;
    if (!is_kept(request) || size <= most || size > BYTES_MAX / 2 || *linked == FILES_MAX ||
        session->server->resource_bytes + size > ALL_BYTES_MAX)
        return 0;
    if (!open_store(session) || !tc_mcp_make_state(state))
        return -1;
    (void)snprintf(uri, sizeof(uri), "%s%s", scheme, state);
    char *name = name_of(file);
    json_t *contents = json_pack("{s:s, s:s, s:O}", "uri", uri, "mimeType", mime, member, value);
    json_t *link = name ? json_pack("{s:s, s:s, s:s, s:O*}", "uri", uri, "name", name, "mimeType",
                                    mime, "size", json_object_get(file, "bytes"))
                        : NULL;
    json_t *block = link ? json_copy(link) : NULL;
    free(name);
    bool fine =
        contents && block && json_object_set_new(block, "type", json_string("resource_link")) == 0;
    if (!fine) {
        json_decref(contents);
        json_decref(link);
    } else {
        fine = store(session, link, contents);
    }
    if (!fine || json_array_append(content, block) < 0) {
        json_decref(block);
        return -1;
    }
    json_decref(block);
    ++*linked;
    return 1;
}

/* ---- methods ---- */

static bool is_one_page(struct tc_mcp_request *request, const json_t *params)
{
    if (!json_object_get(params, "cursor"))
        return true;
    tc_mcp_refuse(request, TC_RPC_PARAMS, "unknown cursor: the list is one page", NULL);
    return false;
}

void tc_mcp_resources_list(struct tc_mcp_request *request, const json_t *params)
{
    const struct tc_mcp_resources *r = request->session->resources;
    if (is_one_page(request, params))
        tc_mcp_answer(request,
                      json_pack("{s:o}", "resources", r ? json_incref(r->list) : json_array()));
}

void tc_mcp_resources_templates(struct tc_mcp_request *request, const json_t *params)
{
    if (is_one_page(request, params))
        tc_mcp_answer(request, json_pack("{s:[]}", "resourceTemplates"));
}

void tc_mcp_resources_read(struct tc_mcp_request *request, const json_t *params)
{
    enum { NOT_FOUND = -32002 };
    const struct tc_mcp_resources *r = request->session->resources;
    const char *uri = json_string_value(json_object_get(params, "uri"));
    json_t *contents;
    size_t i;
    json_array_foreach(r ? r->contents : NULL, i, contents)
    {
        const char *its = json_string_value(json_object_get(contents, "uri"));
        if (uri && its && strcmp(uri, its) == 0) {
            tc_mcp_answer(request, json_pack("{s:[O]}", "contents", contents));
            return;
        }
    }
    tc_mcp_refuse(request, uri ? NOT_FOUND : TC_RPC_PARAMS,
                  "this session has no such file: newer files have replaced it, or it was another "
                  "session's; run the tool again",
                  NULL);
}
