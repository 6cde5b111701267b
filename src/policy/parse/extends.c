/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/parse/extends.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsontext.h"
#include "base/path.h"
#include "policy/diag.h"
#include "policy/parse/parse.h"
#include "policy/pathrule.h"

static const char profile[] = "profile:";

struct merge {
    struct toolcage_policy *policy;
    struct tc_diag *diag;
    const struct tc_policy_source *source;
    size_t bytes;
    struct toolcage_error **err;
};

const char *tc_profile_text(const char *name)
{
    for (const struct tc_profile *row = tc_profiles; row->name; row++)
        if (tc_streq(row->name, name))
            return row->text;
    return NULL;
}

/* Adds a finding; report_merge() makes the error of all of them. */
static int refuse_merge(struct merge *m, uint32_t by, const char *hint, const char *fmt, ...)
    TC_PRINTF(4, 5);
static int refuse_merge(struct merge *m, uint32_t by, const char *hint, const char *fmt, ...)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vaddf(&out, fmt, ap);
    va_end(ap);
    if (out.failed || !out.data)
        return tc_fail_memory(m->err);
    tc_diag_add(m->diag, (struct tc_location){by, 1, 1}, "extends", hint, "%s", out.data);
    return TOOLCAGE_EPOLICY;
}

static int report_merge(struct merge *m, int rc)
{
    return rc == TOOLCAGE_EPOLICY ? tc_diag_result(m->diag, m->err) : rc;
}

static const char *nearest_profile(const char *name)
{
    const char *best = NULL;
    struct tc_near nearest = tc_near_to(name);
    for (const struct tc_profile *row = tc_profiles; row->name; row++)
        if (tc_near_is(&nearest, row->name))
            best = row->name;
    return best;
}

static int read_profile(struct merge *m, const char *text, uint32_t by, struct tc_policy_file *file)
{
    const char *name = text + strlen(profile), *found = tc_profile_text(name);
    _autobuf_ struct tc_buf hint = TC_BUF_INIT;
    const char *nearest = found ? NULL : nearest_profile(name);
    if (nearest)
        tc_buf_addf(&hint, "did you mean %s? ", nearest);
    tc_buf_adds(&hint, "the profiles are");
    for (const struct tc_profile *row = tc_profiles; row->name; row++)
        tc_buf_addf(&hint, " %s", row->name);
    if (hint.failed)
        return tc_fail_memory(m->err);
    if (!found)
        return refuse_merge(m, by, hint.data, "there is no profile \"%.60s\"", name);
    file->name = strdup(text);
    file->text = strdup(found);
    file->len = strlen(found);
    file->reader = tc_document_read_toml;
    return file->name && file->text ? 0 : tc_fail_memory(m->err);
}

/* The directory of the file `text`, named by a file in directory `said`; see tc_policy_file.said.
 */
static char *said_directory(const char *said, const char *text)
{
    const char *slash = strrchr(text, '/');
    if (!slash)
        return strdup(said);
    if (text[0] == '/' || text[0] == '~' || !said[0])
        return strndup(text, (size_t)(slash - text) + (slash == text));
    return tc_format("%s/%.*s", said, (int)(slash - text), text);
}

static int read_other(struct merge *m, const char *text, uint32_t by, struct tc_policy_file *file)
{
    struct tc_complaint c;
    const struct tc_policy_file *from = &m->policy->files[TC_LINE_FILE(by)];
    _autofree_ char *path = NULL;
    if (!m->source->read || !from->dir)
        return refuse_merge(m, by, "load the policy from a file, or extend profile:NAME",
                            "a policy that is not a file cannot name \"%.200s\"", text);
    int rc = tc_path_expand(text, from->dir, m->policy->home, &path, &c);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_fail_memory(m->err);
    if (rc)
        return refuse_merge(m, by, c.hint, "%s", c.what);
    if (!tc_endswith(path, ".toml") && !tc_endswith(path, ".yaml") && !tc_endswith(path, ".yml"))
        return refuse_merge(m, by, "call it NAME.toml, NAME.yaml or NAME.yml",
                            "\"%.200s\" does not have a policy's file name", text);
    _autoerror_ struct toolcage_error *why = NULL;
    struct tc_policy_found found = {0};
    rc = m->source->read(m->source->context, path, &found, &why);
    if (rc == TOOLCAGE_EMEMORY)
        return tc_fail_memory(m->err);
    if (rc)
        return refuse_merge(m, by, tc_error_hint(why), "%s", tc_error_message(why));
    file->real = found.real;
    file->text = found.text;
    file->len = found.length;
    file->reader = found.reader;
    file->dir = tc_path_parent(path);
    file->said = said_directory(from->said, text);
    file->name = strdup(path);
    file->path = TAKE(path);
    return file->name && file->dir && file->said ? 0 : tc_fail_memory(m->err);
}

static int read_named(struct merge *m, const char *text, uint32_t by, struct tc_policy_file *file)
{
    return tc_startswith(text, profile) ? read_profile(m, text, by, file)
                                        : read_other(m, text, by, file);
}

int tc_extends_read(struct toolcage_policy *policy, struct tc_diag *diag,
                    const struct tc_policy_source *source, const char *text, uint32_t by,
                    struct tc_policy_file *ret, struct toolcage_error **err)
{
    struct merge m = {.policy = policy, .diag = diag, .source = source, .err = err};
    return report_merge(&m, read_named(&m, text, by, ret));
}

/* Does the file extend itself, directly or indirectly? */
static bool cycles(const struct toolcage_policy *policy, const struct tc_policy_file *file)
{
    const struct tc_policy_file *above;
    for (uint32_t by = file->by; by; by = above->by) {
        above = &policy->files[TC_LINE_FILE(by)];
        if (file->real ? tc_streq(above->real, file->real) : tc_streq(above->name, file->name))
            return true;
    }
    return false;
}

static void place_tree(struct tc_node *node, uint32_t file)
{
    node->at.line |= file << TC_LINE_BITS;
    node->key_at.line |= file << TC_LINE_BITS;
    for (size_t i = 0; i < node->count; i++)
        place_tree(&node->items[i], file);
}

/* Moves the node into the table. False: out of memory. */
static bool adopt(struct tc_node *table, struct tc_node *node)
{
    struct tc_node *to = TC_PUSH(table->items, table->count);
    if (!to)
        return false;
    *to = *node;
    *node = (struct tc_node){.kind = TC_NODE_BOOL};
    return true;
}

static bool merge_list(struct tc_node *over, struct tc_node *under)
{
    for (size_t i = 0; i < under->count; i++)
        if (!adopt(over, &under->items[i]))
            return false;
    return true;
}

/* Denials are inherited even if `over` replaces the rest of `filesystem`. */
static bool merge_denied(struct tc_node *over, struct tc_node *under)
{
    if (under->kind != TC_NODE_TABLE)
        return true;
    struct tc_node *old = tc_node_get(under, "denied");
    if (!old || old->kind != TC_NODE_ARRAY)
        return true;
    if (over->kind == TC_NODE_STRING && tc_streq(over->text, "none"))
        tc_node_become_empty(over, TC_NODE_TABLE);
    if (over->kind != TC_NODE_TABLE)
        return true;
    struct tc_node *now = tc_node_get(over, "denied");
    return now ? now->kind != TC_NODE_ARRAY || merge_list(now, old) : adopt(over, old);
}

typedef bool merge_member(struct tc_node *over, struct tc_node *under);

/* The index of a member; pointers to items become invalid when the table grows. */
struct place {
    const char *key;
    size_t at;
};

static int by_key(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    return strcmp(left->key, right->key);
}

/* The members sorted by key, because a linear search is too slow for many files with thousands of
 * tools. NULL: out of memory. */
static struct place *index_table(const struct tc_node *table)
{
    struct place *places = calloc(table->count + 1, sizeof(*places));
    for (size_t i = 0; places && i < table->count; i++)
        places[i] = (struct place){table->items[i].key, i};
    if (places)
        qsort(places, table->count, sizeof(*places), by_key);
    return places;
}

/* Adds `under`'s members to `over`. `both` merges members that both tables have. */
static bool merge_table(struct tc_node *over, struct tc_node *under, merge_member *both)
{
    if (over->kind != TC_NODE_TABLE || under->kind != TC_NODE_TABLE)
        return true;
    _autofree_ struct place *places = index_table(over);
    size_t count = over->count; /* `under` has no duplicate keys */
    bool fine = places != NULL;
    for (size_t i = 0; fine && i < under->count; i++) {
        const struct place key = {.key = under->items[i].key};
        const struct place *mine = bsearch(&key, places, count, sizeof(*places), by_key);
        fine =
            mine ? both(&over->items[mine->at], &under->items[i]) : adopt(over, &under->items[i]);
    }
    return fine;
}

static bool replace(struct tc_node *over, struct tc_node *under)
{
    (void)over;
    (void)under;
    return true;
}

/* A key of a tool or of [defaults] replaces the inherited one completely, except for denials. */
static bool merge_key(struct tc_node *over, struct tc_node *under)
{
    return !tc_streq(over->key, "filesystem") || merge_denied(over, under);
}

static bool merge_tool(struct tc_node *over, struct tc_node *under)
{
    return merge_table(over, under, merge_key);
}

static bool merge_server_key(struct tc_node *over, struct tc_node *under)
{
    return tc_streq(over->key, "tool") ? merge_table(over, under, merge_tool)
                                       : merge_key(over, under);
}

static bool merge_server(struct tc_node *over, struct tc_node *under)
{
    return merge_table(over, under, merge_server_key);
}

/* Merges the keys of one [tier.x], [risk.x] or [backend.x]. */
static bool merge_row(struct tc_node *over, struct tc_node *under)
{
    return merge_table(over, under, replace);
}

static bool merge_tests(struct tc_node *over, struct tc_node *under)
{
    bool lists = over->kind == TC_NODE_ARRAY && under->kind == TC_NODE_ARRAY;
    return !lists || merge_list(over, under);
}

static bool merge_part(struct tc_node *over, struct tc_node *under)
{
    const char *key = over->key;
    if (tc_streq(key, "tool"))
        return merge_table(over, under, merge_tool);
    if (tc_streq(key, "server"))
        return merge_table(over, under, merge_server);
    if (tc_streq(key, "defaults"))
        return merge_tool(over, under);
    /* [egress] is replaced completely: credentials of one file must not go to another's proxy */
    if (tc_streq(key, "egress"))
        return true;
    if (tc_streq(key, "audit"))
        return merge_table(over, under, replace);
    return tc_streq(key, "test") ? merge_tests(over, under) : merge_table(over, under, merge_row);
}

static int merge_entries(struct merge *m, struct tc_node *root, size_t index);

static int parse_file(struct merge *m, size_t index, struct tc_document *document)
{
    const struct tc_policy_file *file = &m->policy->files[index];
    bool binary = memchr(file->text, '\0', file->len) != NULL;
    m->bytes += file->len;
    if (m->bytes > TC_DOCUMENT_BYTES_MAX)
        return refuse_merge(m, file->by, "extend less",
                            "the files of this policy have more than 4 MiB");
    if (!binary && file->reader(document, file->text, file->len)) {
        place_tree(&document->root, (uint32_t)index);
        return 0;
    }
    if (!binary && (document->memory || !document->error))
        return tc_fail_memory(m->err);
    return refuse_merge(m, document->error_at.line | (uint32_t)index << TC_LINE_BITS,
                        binary ? tc_document_binary_hint(file->text, file->len) : document->hint,
                        "%s", binary ? "the file contains a NUL byte" : document->error);
}

static int merge_other(struct merge *m, struct tc_node *root, const struct tc_node *entry)
{
    struct toolcage_policy *policy = m->policy;
    _auto_(tc_document_done) struct tc_document document = {0};
    uint32_t by = entry->at.line;
    size_t index = policy->file_count, depth = policy->files[TC_LINE_FILE(by)].depth + 1;
    if (entry->kind != TC_NODE_STRING || !entry->len)
        return refuse_merge(m, by, "write extends = [\"profile:team\", \"../base.toml\"]",
                            "extends names files and profiles");
    if (depth > TC_EXTENDS_DEPTH_MAX || index == TC_FILES_MAX)
        return refuse_merge(m, by, "extend fewer files",
                            "a policy has at most %d files in %d levels", TC_FILES_MAX,
                            TC_EXTENDS_DEPTH_MAX);
    struct tc_policy_file *file = &policy->files[policy->file_count++];
    *file = (struct tc_policy_file){.by = by, .depth = depth};
    int rc = read_named(m, entry->text, by, file);
    if (!rc && cycles(policy, file))
        rc = refuse_merge(m, by, "remove it from one of them", "\"%.200s\" extends itself",
                          entry->text);
    if (!rc)
        rc = parse_file(m, index, &document);
    if (!rc)
        rc = merge_entries(m, &document.root, index);
    if (!rc && !merge_table(root, &document.root, merge_part))
        rc = tc_fail_memory(m->err);
    return rc;
}

static void drop_member(struct tc_node *table, struct tc_node *member)
{
    tc_node_become_empty(member, TC_NODE_BOOL);
    free(member->key);
    *member = table->items[--table->count];
}

/* The last entry takes precedence over the others, so it is merged first. */
static int merge_entries(struct merge *m, struct tc_node *root, size_t index)
{
    struct tc_node *said = tc_node_get(root, "extends");
    int rc = 0;
    if (!said)
        return 0;
    struct tc_node list = *said;
    bool array = list.kind == TC_NODE_ARRAY;
    if (array && !list.count)
        return refuse_merge(m, list.at.line, "name a file or a profile", "extends is empty");
    said->items = NULL; /* `list` now owns the entries: the table's items move as it grows */
    said->text = NULL;
    said->count = 0;
    drop_member(root, said);
    list.key = NULL;
    for (size_t i = array ? list.count : 1; (!rc || rc == TOOLCAGE_EPOLICY) && i > 0; i--) {
        int one = merge_other(m, root, array ? &list.items[i - 1] : &list);
        rc = one ? one : rc;
    }
    tc_node_become_empty(&list, TC_NODE_BOOL);
    return rc;
}

int tc_extends_merge(struct toolcage_policy *policy, struct tc_document *document,
                     struct tc_diag *diag, const struct tc_policy_source *source,
                     struct toolcage_error **err)
{
    struct merge m = {
        .policy = policy, .diag = diag, .source = source, .bytes = source->length, .err = err};
    int rc = report_merge(&m, merge_entries(&m, &document->root, 0));
    if (!rc && policy->file_count > 1)
        tc_node_sort(&document->root);
    return rc;
}

/* ---- the ceiling ---- */

static int refuse_ceiling(struct tc_diag *diag, struct tc_location at, const char *hint,
                          const char *what, struct toolcage_error **err)
{
    tc_diag_add(diag, at, "within", hint, "%s", what);
    return tc_diag_result(diag, err);
}

static int compile_ceiling(struct toolcage_policy *policy, const struct tc_policy_file *file,
                           const struct tc_policy_source *source, struct toolcage_error **err)
{
    const char *first = policy->files[0].real ? policy->files[0].real : "";
    const struct tc_policy_source ceiling = {.text = file->text,
                                             .length = file->len,
                                             .name = file->name,
                                             .path = file->path,
                                             .real = file->real,
                                             .said = file->said,
                                             .reader = file->reader,
                                             .read = source->read,
                                             .context = source->context,
                                             .beside = source->beside ? source->beside : first,
                                             .depth = source->depth + 1};
    return tc_policy_compile_source(&ceiling, file->dir ? file->dir : "/", policy->home,
                                    &policy->ceiling, err);
}

void tc_set_within(struct tc_parse *p, const struct tc_key *key, struct tc_node *node, void *into)
{
    (void)tc_parse_is(p, node, TC_NODE_STRING); /* now the ceiling's digest */
}

int tc_within_compile(struct toolcage_policy *policy, struct tc_document *document,
                      struct tc_diag *diag, const struct tc_policy_source *source,
                      struct toolcage_error **err)
{
    struct tc_node *said = tc_node_get(&document->root, "within");
    struct tc_policy_file file = {0};
    if (!said)
        return 0;
    if (said->kind != TC_NODE_STRING || !said->len)
        return refuse_ceiling(diag, said->at,
                              "write within = \"profile:team\" or within = \"../team.toml\"",
                              "within names one file or profile", err);
    if (source->depth == TC_WITHIN_DEPTH_MAX)
        return refuse_ceiling(diag, said->at, "remove it from one of them",
                              "a policy is within at most 8 others, and never within itself", err);
    int rc = tc_extends_read(policy, diag, source, said->text, said->at.line, &file, err);
    if (!rc)
        rc = compile_ceiling(policy, &file, source, err);
    tc_policy_file_done(&file);
    if (rc)
        return rc;
    policy->within = said->at.line;
    return tc_node_become_string(said, policy->ceiling->digest) ? 0 : tc_fail_memory(err);
}

/* ---- lines and files ---- */

void tc_line_json(struct tc_buf *out, const struct toolcage_policy *policy, const char *key,
                  uint32_t line)
{
    tc_json_number(out, key, TC_LINE_NUMBER(line));
    if (TC_LINE_FILE(line))
        tc_json_member(out, tc_streq(key, "key_line") ? "key_file" : "file",
                       tc_policy_file(policy, line));
}

/* The path of the index-th file of the policy and its ceilings. */
static const char *path_of(const struct toolcage_policy *policy, size_t index)
{
    for (; policy; policy = policy->ceiling)
        for (size_t i = 0; i < policy->file_count; i++)
            if (policy->files[i].path && index-- == 0)
                return policy->files[i].path;
    return NULL;
}

int tc_policy_files_json(const struct toolcage_policy *policy, char **ret,
                         struct toolcage_error **err)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    const char *path;
    tc_buf_addc(&out, '[');
    for (size_t i = 0; (path = path_of(policy, i)); i++) {
        if (i)
            tc_buf_addc(&out, ',');
        tc_json_string(&out, path, strlen(path));
    }
    tc_buf_addc(&out, ']');
    *ret = tc_buf_steal(&out);
    return *ret ? 0 : tc_fail_memory(err);
}

const char *tc_grant_policy_path(const struct tc_grant *grant, size_t index)
{
    const struct toolcage_policy *policy = grant->policy;
    bool none = !policy || !policy->file_count || !policy->files[0].path;
    return none && !index ? (policy ? "" : NULL) : path_of(policy, index - none);
}
