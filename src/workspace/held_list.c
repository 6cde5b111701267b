/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The list of a call's staged changes on disk. Another build may read it: the format's name must
 * change with anything below. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "workspace/copy.h"
#include "workspace/held.h"

static const char format[] = "toolcage held changes 4";
enum { TREES_MAX = 2048, ROWS_MAX = 2000000 };

#define TREE_TEXTS(t)                                                   \
    {                                                                   \
        &(t)->path, &(t)->from, &(t)->root, &(t)->name, &(t)->host_name \
    }
#define ROW_TEXTS(r)                           \
    {                                          \
        &(r)->relative, &(r)->kind, &(r)->held \
    }

static void visit_tree(struct tc_wire *w, struct tc_held_tree *t)
{
    char **const texts[] = TREE_TEXTS(t);
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        tc_wire_str(w, texts[i]);
    tc_wire_i64(w, &t->inode);
    tc_wire_i64(w, &t->uid);
    tc_wire_i64(w, &t->gid);
    if (!t->path || !t->from || !t->root || !t->name != !t->host_name)
        w->failed = true;
}

static void visit_row(struct tc_wire *w, struct tc_held_row *r)
{
    char **const texts[] = ROW_TEXTS(r);
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        tc_wire_str(w, texts[i]);
    tc_wire_i64(w, &r->tree);
    tc_wire_i64(w, &r->mode);
    tc_wire_i64(w, &r->cache);
    TC_WIRE_INT(w, r->checked);
    TC_WIRE_INT(w, r->was);
    tc_version_visit(w, &r->host);
    if (!r->relative || r->cache < 0)
        w->failed = true;
}

void tc_held_visit(struct tc_wire *w, struct tc_held_list *list)
{
    tc_wire_format(w, format);
    tc_wire_str(w, &list->call);
    tc_wire_str(w, &list->tool);
    tc_wire_i64(w, &list->at);
    TC_WIRE_EACH(w, list->trees, list->tree_count, TREES_MAX, visit_tree);
    TC_WIRE_EACH(w, list->rows, list->row_count, ROWS_MAX, visit_row);
    tc_wire_strv(w, &list->denies);
    tc_wire_strv(w, &list->named);
    tc_wire_strv(w, &list->steering.add);
    tc_wire_strv(w, &list->steering.remove);
    TC_WIRE_INT(w, list->steering.listed);
    for (size_t i = 0; i < list->row_count && !w->failed; i++)
        if (list->rows[i].tree < 0 || (size_t)list->rows[i].tree >= list->tree_count)
            w->failed = true;
}

void tc_held_list_done(struct tc_held_list *list)
{
    for (size_t i = 0; i < list->tree_count; i++) {
        char **const texts[] = TREE_TEXTS(&list->trees[i]);
        for (size_t k = 0; k < TC_COUNT(texts); k++)
            free(*texts[k]);
    }
    for (size_t i = 0; i < list->row_count; i++) {
        char **const texts[] = ROW_TEXTS(&list->rows[i]);
        for (size_t k = 0; k < TC_COUNT(texts); k++)
            free(*texts[k]);
    }
    free(list->trees);
    free(list->rows);
    free(list->call);
    free(list->tool);
    tc_strv_done(&list->denies);
    tc_strv_done(&list->named);
    tc_steering_done(&list->steering);
    *list = (struct tc_held_list){0};
}

int tc_held_order(const void *a, const void *b)
{
    const struct tc_held_row *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return strcmp(x->relative, y->relative);
}

char *tc_held_path(const struct tc_held_tree *tree, const struct tc_held_row *row)
{
    return tree->name ? strdup(tree->path) : tc_path_join(tree->path, row->relative);
}
