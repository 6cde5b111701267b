/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "call/modules_known.h"

#include <stdlib.h>
#include <string.h>

#include "base/root.h"
#include "base/strv.h"
#include "call/modules.h"
#include "state/mark.h"

enum { KNOWN_MAX = 64 };
enum { MODULE, WORKER, ENGINE, CODE, FILES };
enum { PIN = FILES, STATE, ASKED, DIGEST, CODE_DIGEST, CODE_MARK, TEXTS };

struct tc_known_module {
    struct tc_known_module *next;
    size_t number; /* of those behind it */
    bool deterministic;
    char *texts[TEXTS];
    char marks[FILES][TC_MARK_SIZE]; /* of the files at the first texts */
};

static void let_go(struct tc_known_module *k)
{
    for (size_t i = 0; i < TEXTS; i++)
        free(k->texts[i]);
    free(k);
}

static void discard(struct tc_known_module **k)
{
    if (*k)
        let_go(*k);
}

static bool is_asked(const struct tc_known_module *k, const struct tc_module_question *asked)
{
    return k->deterministic == asked->deterministic && tc_streq(k->texts[ASKED], asked->module) &&
           tc_streq(k->texts[PIN], asked->pin ? asked->pin : "") &&
           tc_streq(k->texts[STATE], asked->state);
}

static bool holds(const struct tc_known_module *k)
{
    char now[TC_MARK_SIZE];
    for (size_t i = 0; i < FILES; i++)
        if (!tc_mark_path(k->texts[i], now) || strcmp(now, k->marks[i]) != 0)
            return false;
    return true;
}

static const struct tc_known_module *find(const struct tc_modules_known *known,
                                          const struct tc_module_question *asked)
{
    const struct tc_known_module *k = atomic_load(&known->first);
    while (k && !(is_asked(k, asked) && holds(k)))
        k = k->next;
    return k;
}

bool tc_modules_hold(const struct tc_modules_known *known, const struct tc_known_module *module)
{
    const struct tc_module_question asked = {.module = module->texts[ASKED],
                                             .pin = module->texts[PIN],
                                             .state = module->texts[STATE],
                                             .deterministic = module->deterministic};
    return find(known, &asked) == module;
}

static bool says(const struct tc_known_module *k, const struct tc_grant *grant)
{
    const char *const fields[TEXTS] = {[MODULE] = grant->module,
                                       [WORKER] = grant->module_worker,
                                       [ENGINE] = grant->module_engine,
                                       [CODE] = grant->module_code,
                                       [DIGEST] = grant->module_digest,
                                       [CODE_DIGEST] = grant->module_code_digest,
                                       [CODE_MARK] = grant->module_code_mark};
    bool same = k->deterministic == grant->deterministic;
    for (size_t i = 0; i < TEXTS && same; i++)
        same = i == PIN || i == STATE || i == ASKED || tc_streq(k->texts[i], fields[i]);
    return same;
}

const struct tc_known_module *tc_modules_known_as(const struct tc_modules_known *known,
                                                  const struct tc_grant *grant)
{
    const struct tc_known_module *k = atomic_load(&known->first);
    while (k && !says(k, grant))
        k = k->next;
    return k;
}

bool tc_modules_recall(const struct tc_modules_known *known, const struct tc_module_question *asked,
                       struct tc_grant *grant)
{
    const struct tc_known_module *k = find(known, asked);
    if (!k)
        return false;
    char **const fields[TEXTS] = {[MODULE] = &grant->module,
                                  [WORKER] = &grant->module_worker,
                                  [ENGINE] = &grant->module_engine,
                                  [CODE] = &grant->module_code,
                                  [DIGEST] = &grant->module_digest,
                                  [CODE_DIGEST] = &grant->module_code_digest,
                                  [CODE_MARK] = &grant->module_code_mark};
    for (size_t i = 0; i < TEXTS; i++) {
        char *copy = fields[i] ? strdup(k->texts[i]) : NULL;
        if (fields[i] && !copy)
            return false; /* the long way finds the same, or says that there is no memory */
        if (fields[i]) {
            free(*fields[i]);
            *fields[i] = copy;
        }
    }
    return true;
}

/* Could a write to it now leave the same mark? */
static bool mark(const char *path, char out[TC_MARK_SIZE])
{
    struct stat st;
    if (stat(path, &st) < 0 || !tc_mark_settled(&st))
        return false;
    tc_mark(&st, out);
    return true;
}

static bool fill(struct tc_known_module *k, const struct tc_module_question *asked,
                 const struct tc_grant *grant)
{
    const char *const texts[TEXTS] = {[MODULE] = grant->module,
                                      [WORKER] = grant->module_worker,
                                      [ENGINE] = grant->module_engine,
                                      [CODE] = grant->module_code,
                                      [PIN] = asked->pin ? asked->pin : "",
                                      [STATE] = asked->state,
                                      [ASKED] = asked->module,
                                      [DIGEST] = grant->module_digest,
                                      [CODE_DIGEST] = grant->module_code_digest,
                                      [CODE_MARK] = grant->module_code_mark};
    for (size_t i = 0; i < TEXTS; i++)
        if (!texts[i] || !(k->texts[i] = strdup(texts[i])))
            return false;
    for (size_t i = 0; i < FILES; i++)
        if (!mark(k->texts[i], k->marks[i]))
            return false;
    k->deterministic = asked->deterministic;
    return grant->module_code_mark[0] != '\0';
}

/* Whoever may write to what runs as our own does is looked at as when it was found. */
static bool is_safe(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !tc_program_unsafe(&st);
}

/* Are the marks those of the files that were found, and not of what took their places meanwhile?
 * Nobody reads a fetched module: its digest is ours. */
static bool is_found(const struct tc_known_module *k)
{
    char digest[TC_DIGEST_SIZE];
    bool read = !tc_fetched_find(k->texts[ASKED]);
    return strcmp(k->marks[CODE], k->texts[CODE_MARK]) == 0 && is_safe(k->texts[WORKER]) &&
           is_safe(k->texts[ENGINE]) &&
           (!read || (tc_module_digest(k->texts[MODULE], digest) &&
                      strcmp(digest, k->texts[DIGEST]) == 0)) &&
           holds(k);
}

void tc_modules_remember(struct tc_modules_known *known, const struct tc_module_question *asked,
                         const struct tc_grant *grant)
{
    _auto_(discard) struct tc_known_module *k = calloc(1, sizeof(*k));
    if (!k || !fill(k, asked, grant) || !is_found(k))
        return;
    k->next = atomic_load(&known->first);
    do {
        k->number = k->next ? k->next->number + 1 : 0;
        if (k->number >= KNOWN_MAX)
            return;
    } while (!atomic_compare_exchange_weak(&known->first, &k->next, k));
    k = NULL;
}

void tc_modules_forget(struct tc_modules_known *known)
{
    struct tc_known_module *k = atomic_exchange(&known->first, NULL);
    while (k) {
        struct tc_known_module *next = k->next;
        let_go(k);
        k = next;
    }
}
