/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reads TOML or YAML from standard input as a policy is read, and prints the tree as the official
 * test suite writes trees: each value with its type. Exit code 1, and the finding, where there is
 * one. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsontext.h"
#include "base/strv.h"
#include "document/document.h"
#include "document/yaml/yaml.h"

static void write_node(struct tc_buf *out, const struct tc_node *node);

static void write_value(struct tc_buf *out, const char *type, const char *text, size_t len)
{
    tc_buf_addf(out, "{\"type\":\"%s\",\"value\":", type);
    tc_json_string(out, text, len);
    tc_buf_addc(out, '}');
}

static const char *date_type(const char *text)
{
    if (text[2] == ':')
        return "time-local";
    if (strlen(text) <= strlen("2001-01-01"))
        return "date-local";
    return strpbrk(text + strlen("2001-01-01"), "zZ+-") ? "datetime" : "datetime-local";
}

static void write_number(struct tc_buf *out, double number)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%.17g", number);
    write_value(out, "float", text, strlen(text));
}

static void write_members(struct tc_buf *out, const struct tc_node *node)
{
    bool table = node->kind == TC_NODE_TABLE;
    tc_buf_addc(out, table ? '{' : '[');
    for (size_t i = 0; i < node->count; i++) {
        if (i)
            tc_buf_addc(out, ',');
        if (table) {
            tc_json_string(out, node->items[i].key, strlen(node->items[i].key));
            tc_buf_addc(out, ':');
        }
        write_node(out, &node->items[i]);
    }
    tc_buf_addc(out, table ? '}' : ']');
}

static void write_node(struct tc_buf *out, const struct tc_node *node)
{
    char text[32];
    switch (node->kind) {
    case TC_NODE_TABLE:
    case TC_NODE_ARRAY:
        write_members(out, node);
        break;
    case TC_NODE_STRING:
        write_value(out, "string", node->text, node->len);
        break;
    case TC_NODE_NULL: /* TOML has none */
    case TC_NODE_DATETIME:
        write_value(out, date_type(node->text), node->text, node->len);
        break;
    case TC_NODE_FLOAT:
        write_number(out, node->number);
        break;
    case TC_NODE_BOOL:
        write_value(out, "bool", node->integer ? "true" : "false", node->integer ? 4 : 5);
        break;
    case TC_NODE_INTEGER:
        (void)snprintf(text, sizeof(text), "%lld", (long long)node->integer);
        write_value(out, "integer", text, strlen(text));
        break;
    }
}

int main(int argc, char **argv)
{
    tc_document_reader *reader = argc != 2                   ? NULL
                                 : tc_streq(argv[1], "toml") ? tc_document_read_toml
                                 : tc_streq(argv[1], "yaml") ? tc_yaml_read
                                                             : NULL;
    _auto_(tc_document_done) struct tc_document document = {0};
    _autobuf_ struct tc_buf text = TC_BUF_INIT, out = TC_BUF_INIT;
    if (!reader || tc_read_all(STDIN_FILENO, &text) < 0)
        return 2;
    if (!reader(&document, text.data ? text.data : "", text.len)) {
        (void)fprintf(stderr, "%u:%u: %s\n", document.error_at.line, document.error_at.column,
                      document.error ? document.error : "out of memory");
        return document.memory ? 2 : 1;
    }
    write_node(&out, &document.root);
    return out.failed || puts(out.data) == EOF ? 2 : 0;
}
