/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A result as MCP content. The text comes first. Images and sounds that models accept are blocks of
 * their kind, other files are embedded resources. Each text is in one place: several clients show a
 * model either `content` or `structuredContent`, so there is no `structuredContent`, and the rest
 * of the result, for programs, is in `_meta`. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/resources.h"
#include "text/base64.h"

#define STDOUT_URI "toolcage:stdout"

/* ---- blocks ---- */

static bool is_one_of(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* The block's type for such a file; NULL: a resource. Model servers refuse other images. */
static const char *media_type(const char *mime)
{
    static const char *const images[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
    if (is_one_of(images, sizeof(images) / sizeof(images[0]), mime))
        return "image";
    return strncmp(mime, "audio/", 6) == 0 ? "audio" : NULL;
}

static int add_resource(json_t *content, const char *uri, const char *mime, const char *member,
                        json_t *value)
{
    return json_array_append_new(content, json_pack("{s:s, s:{s:s, s:s, s:O}}", "type", "resource",
                                                    "resource", "uri", uri, "mimeType", mime,
                                                    member, value));
}

static int add_bytes(json_t *content, const char *uri, const char *mime, json_t *base64)
{
    const char *type = media_type(mime);
    if (!type)
        return add_resource(content, uri, mime, "blob", base64);
    return json_array_append_new(
        content, json_pack("{s:s, s:O, s:s}", "type", type, "data", base64, "mimeType", mime));
}

/* ---- files ---- */

/* "file:///workspace/a%20b.png"; owned. */
static char *file_uri(const char *path, size_t length)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    static const char scheme[] = "file://", hex[] = "0123456789ABCDEF";
    char *uri = malloc(sizeof(scheme) + 3 * length), *to = uri;
    if (!uri)
        return NULL;
    to = stpcpy(to, scheme);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)path[i];
        if (c && strchr(plain, c)) {
            *to++ = (char)c;
        } else {
            *to++ = '%';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        }
    }
    *to = '\0';
    return uri;
}

/* The bytes of canonical base64; owned. */
static char *decode(const char *text, size_t *ret_length)
{
    size_t length = strlen(text), n = 0;
    char *bytes = malloc(length / 4 * 3 + 1);
    for (size_t i = 0; bytes && i + 4 <= length; i += 4) {
        unsigned long bits = 0;
        for (size_t k = 0; k < 4; k++)
            bits =
                bits << 6 | (text[i + k] == '=' ? 0 : (unsigned long)tc_base64_value(text[i + k]));
        for (int k = 0; k < 3 && (k == 0 || text[i + (size_t)k + 1] != '='); k++)
            bytes[n++] = (char)(bits >> (16 - 8 * k) & 0xff);
    }
    *ret_length = n;
    return bytes;
}

/* The file's path in the cage, as a URI; owned. */
static char *uri_of(const json_t *file)
{
    const json_t *path = json_object_get(file, "path");
    const char *coded = json_string_value(json_object_get(file, "path_base64"));
    size_t length = 0;
    char *bytes = coded ? decode(coded, &length) : NULL;
    char *uri = path    ? file_uri(json_string_value(path), json_string_length(path))
                : bytes ? file_uri(bytes, length)
                        : NULL;
    free(bytes);
    return uri;
}

/* Moves the content of a file out of the result. */
static int move_file(const struct tc_mcp_request *request, json_t *content, json_t *file,
                     size_t *linked)
{
    const char *mime = json_string_value(json_object_get(file, "mime"));
    json_t *text = json_object_get(file, "text"), *base64 = json_object_get(file, "base64");
    char *uri = text || base64 ? uri_of(file) : NULL;
    int rc = 0;
    if (!text && !base64)
        return 0;
    if (!uri)
        return -1;
    mime = mime ? mime : "application/octet-stream";
    if (text || !media_type(mime))
        rc = tc_mcp_resources_add(request, content, file, text ? "text" : "blob",
                                  text ? text : base64, linked);
    if (rc == 0)
        rc = text ? add_resource(content, uri, mime, "text", text)
                  : add_bytes(content, uri, mime, base64);
    free(uri);
    (void)json_object_del(file, "text");
    (void)json_object_del(file, "base64");
    return rc < 0 ? rc : 0;
}

/* ---- standard output ---- */

/* By the first bytes: there is no name. */
static const char *mime_of(const char *base64)
{
    static const struct {
        const char *start, *mime;
    } known[] = {{"iVBORw0KGgo", "image/png"},
                 {"/9j/", "image/jpeg"},
                 {"R0lGOD", "image/gif"},
                 {"UklGR", NULL}}; /* RIFF; the kind follows the length */
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strncmp(base64, known[i].start, strlen(known[i].start)) != 0)
            continue;
        if (known[i].mime)
            return known[i].mime;
        if (strlen(base64) >= 16)
            return strncmp(base64 + 11, "XRUJQ", 5) == 0   ? "image/webp"
                   : strncmp(base64 + 11, "XQVZF", 5) == 0 ? "audio/wav"
                                                           : "application/octet-stream";
    }
    return "application/octet-stream";
}

/* Text is in the message. A cut image is none. */
static int move_stdout(json_t *content, json_t *stream)
{
    json_t *base64 = json_object_get(stream, "base64");
    const char *bytes = json_string_value(base64);
    bool cut = json_is_true(json_object_get(stream, "truncated"));
    int rc = bytes ? add_bytes(content, STDOUT_URI,
                               cut ? "application/octet-stream" : mime_of(bytes), base64)
                   : 0;
    (void)json_object_del(stream, "text");
    (void)json_object_del(stream, "base64");
    return rc;
}

json_t *tc_mcp_content(const struct tc_mcp_request *request, const char *text, json_t *whole)
{
    json_t *content = json_pack("[{s:s, s:s}]", "type", "text", "text", text), *file;
    json_t *error = json_object_get(whole, "stderr");
    size_t i, linked = 0;
    int rc = content ? move_stdout(content, json_object_get(whole, "stdout")) : -1;
    json_array_foreach(json_object_get(whole, "files"), i, file)
    {
        rc |= content ? move_file(request, content, file, &linked) : -1;
    }
    (void)json_object_del(whole, "message");
    (void)json_object_del(error, "text");
    if (rc == 0)
        return content;
    json_decref(content);
    return NULL;
}
