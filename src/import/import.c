/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads untrusted JSON, and writes the policy. */
#include "import/import.h"

#include <string.h>

#include "base/jsonc.h"
#include "base/jsontext.h"
#include "base/path.h"
#include "import/state.h"
#include "text/utf8.h"

enum { BYTES_MAX = 1 << 20, DEPTH_MAX = 32, LEFT_MAX = 500 };

void tc_import_leave(struct tc_settings_import *im, const char *fmt, ...)
{
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < 0x20 || text.data[i] > 0x7e)
            text.data[i] = '?';
    if (im->left.count == LEFT_MAX)
        tc_buf_adds(&text, " (and more, which is not listed)");
    if (im->left.count <= LEFT_MAX && !tc_strv_take(&im->left, tc_buf_steal(&text)) && !im->rc)
        im->rc = TOOLCAGE_EMEMORY;
}

/* The first failure is reported. */
static void fail_import(struct tc_settings_import *im, int code, const char *hint, const char *fmt,
                        ...) TC_PRINTF(4, 5);
static void fail_import(struct tc_settings_import *im, int code, const char *hint, const char *fmt,
                        ...)
{
    if (im->rc)
        return;
    va_list ap;
    va_start(ap, fmt);
    im->rc = code;
    im->fault->hint = hint;
    (void)vsnprintf(im->fault->text, sizeof(im->fault->text), fmt, ap);
    va_end(ap);
}

void tc_import_refuse(struct tc_settings_import *im, const char *place, const char *what)
{
    fail_import(im, TOOLCAGE_EPOLICY, "fix the file, or remove this from it", "%.80s %s", place,
                what);
}

void tc_import_leave_others(struct tc_settings_import *im, const char *place, const char *table,
                            const json_t *object, const char *const known[])
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool handled = json_is_false(value); /* in these settings, false never grants anything */
        for (size_t i = 0; known[i]; i++)
            handled |= !strcmp(known[i], key);
        if (!handled)
            tc_import_leave(im, "%s%s%.80s: a policy has no such setting", place, table, key);
    }
}

void tc_import_text(struct tc_settings_import *im, const char *text)
{
    uint32_t c;
    tc_buf_addc(&im->body, '"');
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        n = tc_utf8_decode(text, left, &c);
        n = n ? n : 1; /* U+0000, which is invalid in a policy */
        if (c == '"' || c == '\\')
            tc_buf_addf(&im->body, "\\%c", (char)c);
        else if (c >= 0x20 && c < 0x7f)
            tc_buf_addc(&im->body, (char)c);
        else
            tc_buf_addf(&im->body, "\\U%08X", c);
    }
    tc_buf_addc(&im->body, '"');
}

static json_t *read_json(struct tc_settings_import *im, const char *text, size_t length,
                         bool comments)
{
    json_error_t error;
    _autofree_ char *copy = malloc(length + 1);
    if (length > BYTES_MAX) {
        tc_import_refuse(im, "the file", "has more than 1 MiB");
        return NULL;
    }
    if (!copy) {
        im->rc = TOOLCAGE_EMEMORY;
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (!tc_jsonc_blank(copy, length, DEPTH_MAX, comments ? TC_JSONC_STRICT : TC_JSONC_KEEP)) {
        tc_import_refuse(im, "the file", "is nested too deeply");
        return NULL;
    }
    json_t *root = json_loadb(copy, length, JSON_REJECT_DUPLICATES, &error);
    if (!root || !json_is_object(root)) {
        _autofree_ char *what =
            root ? strdup("is not a JSON object")
                 : tc_format("cannot be read: %.100s, line %d", error.text, error.line);
        tc_import_refuse(im, "the file", what ? what : "is not JSON");
        json_decref(root);
        return NULL;
    }
    return root;
}

static void import_srt(struct tc_settings_import *im, const json_t *root)
{
    static const char *const known[] = {"filesystem", "network", NULL};
    tc_import_leave_others(im, "", "", root, known);
    tc_buf_adds(&im->body, "\n[defaults]\n");
    tc_import_box(im, "", json_object_get(root, "filesystem"), json_object_get(root, "network"));
}

static void write_left(const struct tc_settings_import *im, struct tc_buf *json,
                       struct tc_buf *text)
{
    tc_buf_addc(json, '[');
    for (size_t i = 0; i < im->left.count; i++) {
        tc_buf_adds(json, i ? "," : "");
        tc_json_string(json, im->left.items[i], strlen(im->left.items[i]));
        tc_buf_addf(text, "%s#   %s\n", i ? "" : "#\n# Left out:\n", im->left.items[i]);
    }
    tc_buf_addc(json, ']');
}

static int finish_import(struct tc_settings_import *im, const char *what, char **ret_text,
                         char **ret_left)
{
    _autobuf_ struct tc_buf json = TC_BUF_INIT;
    _autobuf_ struct tc_buf text = TC_BUF_INIT;
    tc_buf_addf(&text,
                "# Made by toolcage policy import %s. Whatever is not granted here is denied.\n",
                what);
    write_left(im, &json, &text);
    tc_buf_add(&text, im->body.data ? im->body.data : "", im->body.len);
    text.failed |= im->body.failed;
    _autofree_ char *all = tc_buf_steal(&text), *left = tc_buf_steal(&json);
    if (!all || !left)
        return TOOLCAGE_EMEMORY;
    *ret_text = TAKE(all);
    *ret_left = TAKE(left);
    return 0;
}

static void read_settings(struct tc_settings_import *im, const char *format, const char *text,
                          size_t length)
{
    bool vscode = tc_streq(format, "vscode");
    if (!vscode && !tc_streq(format, "srt")) {
        fail_import(im, TOOLCAGE_EUSAGE, "the formats are srt and vscode",
                    "there is no format \"%.40s\"", format);
        return;
    }
    json_t *root = read_json(im, text, length, vscode);
    if (root && vscode)
        tc_import_vscode(im, root);
    else if (root)
        import_srt(im, root);
    json_decref(root);
}

int tc_import_settings(const char *format, const char *text, size_t length,
                       const struct tc_import_facts *facts, char **ret_text, char **ret_left,
                       struct tc_import_fault *fault)
{
    _autofree_ char *home = tc_path_absolute("/", facts->home ? facts->home : "/");
    struct tc_settings_import im = {
        .cwd = facts->cwd, .home = home, .fault = fault, .body = TC_BUF_INIT};
    *fault = (struct tc_import_fault){0};
    if (!home)
        return TOOLCAGE_EMEMORY;
    read_settings(&im, format, text, length);
    int rc = im.rc ? im.rc : finish_import(&im, format, ret_text, ret_left);
    tc_strv_done(&im.left);
    tc_buf_done(&im.body);
    return rc;
}
