/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A cache of what an engine found out about modules, so that later calls do not read and digest the
 * same files again. An entry is valid as long as the stamps of all its files are unchanged. */
#include "backend/wasm/modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/strv.h"
#include "policy/settings.h"
#include "state/stamp.h"

enum { KNOWN_MAX = 64 };
enum { MODULE, WORKER, ENGINE, CODE, FILES };

struct tc_known_module {
    struct tc_known_module *next;
    size_t number; /* number of entries after this one */
    bool deterministic;
    char *asked, *pin, *state; /* the key */
    char *module, *digest;     /* the result, as in the grant */
    struct tc_strv located;
    char stamps[FILES][TC_STAMP_SIZE];
};

static void let_go(struct tc_known_module *k)
{
    char *const texts[] = {k->asked, k->pin, k->state, k->module, k->digest};
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        free(texts[i]);
    tc_strv_done(&k->located);
    free(k);
}

static void discard(struct tc_known_module **k)
{
    if (*k)
        let_go(*k);
}

/* NULL: the entry has no such file. */
static const char *path_of(const struct tc_known_module *k, size_t file)
{
    static const char *const names[] = {[WORKER] = "worker", [ENGINE] = "engine", [CODE] = "code"};
    return file == MODULE ? k->module : tc_setting(&k->located, names[file]);
}

static bool is_asked(const struct tc_known_module *k, const struct tc_module_question *asked)
{
    return k->deterministic == asked->deterministic && tc_streq(k->asked, asked->module) &&
           tc_streq(k->pin, asked->pin) && tc_streq(k->state, asked->state);
}

static bool known_holds(const struct tc_known_module *k)
{
    char now[TC_STAMP_SIZE];
    for (size_t i = 0; i < FILES; i++)
        if (!tc_stamp_path(path_of(k, i), now) || strcmp(now, k->stamps[i]) != 0)
            return false;
    return true;
}

static const struct tc_known_module *find_known(const struct tc_modules_known *known,
                                                const struct tc_module_question *asked)
{
    const struct tc_known_module *k = atomic_load(&known->first);
    while (k && !(is_asked(k, asked) && known_holds(k)))
        k = k->next;
    return k;
}

bool tc_modules_hold(const struct tc_modules_known *known, const struct tc_known_module *module)
{
    const struct tc_module_question asked = {.module = module->asked,
                                             .pin = module->pin,
                                             .state = module->state,
                                             .deterministic = module->deterministic};
    return find_known(known, &asked) == module;
}

static bool says(const struct tc_known_module *k, const struct tc_grant *grant)
{
    return k->deterministic == grant->deterministic && tc_streq(k->module, grant->module) &&
           tc_streq(k->digest, grant->module_digest) && tc_strv_same(&k->located, &grant->located);
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
    const struct tc_known_module *k = find_known(known, asked);
    _autofree_ char *module = k ? strdup(k->module) : NULL, *digest = k ? strdup(k->digest) : NULL;
    _autostrv_ struct tc_strv located = {0};
    if (!module || !digest || !tc_strv_copy(&located, &k->located))
        return false; /* find_files() finds the same again, or reports the lack of memory */
    free(grant->module);
    free(grant->module_digest);
    grant->module = TAKE(module);
    grant->module_digest = TAKE(digest);
    grant->located = located;
    located = (struct tc_strv){0};
    return true;
}

/* Takes the stamp of a file, unless the file changed so recently that another write could leave the
 * same mark. */
static bool stamp(const char *path, char out[TC_STAMP_SIZE])
{
    struct stat st;
    if (!path || stat(path, &st) < 0 || !tc_stamp_settled(&st))
        return false;
    tc_stamp(&st, out);
    return true;
}

static bool fill_known(struct tc_known_module *k, const struct tc_module_question *asked,
                       const struct tc_grant *grant)
{
    const char *code_stamp = tc_setting(&grant->located, "code-stamp");
    k->deterministic = asked->deterministic;
    bool fine = (k->asked = strdup(asked->module)) && (k->state = strdup(asked->state)) &&
                (!asked->pin || (k->pin = strdup(asked->pin))) &&
                (k->module = strdup(grant->module)) && grant->module_digest &&
                (k->digest = strdup(grant->module_digest)) &&
                tc_strv_copy(&k->located, &grant->located);
    for (size_t i = 0; fine && i < FILES; i++)
        fine = stamp(path_of(k, i), k->stamps[i]);
    return fine && code_stamp && code_stamp[0];
}

/* Checks again who may write the file, which runs as native code. */
static bool is_safe(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !tc_program_unsafe(&st);
}

/* Whether the stamps belong to the files that were found, not to replacements. The content of a
 * fetched module is not read: its digest is fixed in toolcage. */
static bool is_found(const struct tc_known_module *k)
{
    char digest[TC_DIGEST_SIZE];
    bool read = !tc_fetched_find(k->asked);
    return strcmp(k->stamps[CODE], tc_setting(&k->located, "code-stamp")) == 0 &&
           is_safe(path_of(k, WORKER)) && is_safe(path_of(k, ENGINE)) &&
           (!read || (tc_module_digest(k->module, digest) && strcmp(digest, k->digest) == 0)) &&
           known_holds(k);
}

void tc_modules_remember(struct tc_modules_known *known, const struct tc_module_question *asked,
                         const struct tc_grant *grant)
{
    _auto_(discard) struct tc_known_module *k = calloc(1, sizeof(*k));
    if (!k || !fill_known(k, asked, grant) || !is_found(k))
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
