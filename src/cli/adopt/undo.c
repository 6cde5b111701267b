/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "cli/adopt/undo.h"

#include <stdio.h>
#include <string.h>

#include "cli/adopt/record.h"
#include "cli/adopt/show.h"
#include "cli/show/say.h"

/* `toolcage`, "wrap", "--policy", FILE, "--server", NAME, "--" (not for a URL) */
enum { POLICY = 3, WORDS = 7, REMOTE_WORDS = 6 };

/* One backup, and the text that the settings get. */
struct undo {
    struct tc_adopt_record record;
    struct tc_adopt_file file;
    char *text, *diff;
    size_t length;
    bool gone; /* the settings were removed */
};

static void undo_done(struct undo *u)
{
    tc_adopt_record_done(&u->record);
    tc_adopt_close(&u->file);
    free(u->text);
    free(u->diff);
}

static int no_memory(struct tc_failure *failure)
{
    return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
}

static bool same_words(const struct tc_adopt_words *a, const struct tc_adopt_words *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = !strcmp(a->items[i], b->items[i]);
    return same;
}

static bool same_variable(const struct tc_adopt_variable *a, const struct tc_adopt_variable *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->value, b->value);
}

/* ---- settings that have changed since: server by server ---- */

/* Was the server put behind toolcage by this adoption? *ret is its earlier form. */
static bool was_adopted(const struct tc_adopt_settings *before, const struct tc_adopt_server *after,
                        const struct tc_adopt_server **ret)
{
    *ret = tc_adopt_find(before, after);
    if (after->kind != TC_ADOPT_WRAPPED || !*ret)
        return false;
    if ((*ret)->kind == TC_ADOPT_REMOTE)
        return (*ret)->url && after->argv.count == REMOTE_WORDS;
    return (*ret)->kind == TC_ADOPT_STDIO && after->argv.count == (*ret)->argv.count + WORDS;
}

static int refuse(const struct undo *u, const char *name, struct tc_failure *failure)
{
    _autofree_ char *hint =
        tc_cli_format("edit it by hand, with the settings before in %s/before; then remove %s",
                      u->record.directory, u->record.directory);
    return tc_failure_set(failure, TOOLCAGE_EPATH, hint,
                          "%s has changed: the server %.100s is no longer as it was written, and "
                          "nothing was taken back",
                          u->record.path, name);
}

static bool is_restored(enum tc_adopt_format format, const char *text, size_t length,
                        const struct tc_adopt_server *old)
{
    struct tc_adopt_settings settings;
    struct tc_adopt_fault fault;
    bool fine = !tc_adopt_read(format, text, length, &settings, &fault);
    const struct tc_adopt_server *now = fine ? tc_adopt_find(&settings, old) : NULL;
    fine = now && same_words(&now->argv, &old->argv) &&
           (!old->url || (now->url && !strcmp(now->url, old->url)));
    for (size_t i = 0; fine && i < old->variable_count; i++) {
        bool found = false;
        for (size_t k = 0; k < now->variable_count; k++)
            found |= same_variable(&now->variables[k], &old->variables[i]);
        fine = found;
    }
    tc_adopt_settings_done(&settings);
    return fine;
}

static bool has_variable(const struct tc_adopt_server *server, const struct tc_adopt_variable *like)
{
    for (size_t i = 0; server && i < server->variable_count; i++)
        if (same_variable(&server->variables[i], like))
            return true;
    return false;
}

/* Has the record the only copy of a secret of this server? `now`: the settings; NULL: none. */
static bool would_lose(const struct tc_adopt_settings *now, const struct tc_adopt_server *after,
                       const struct tc_adopt_server *old)
{
    for (size_t i = 0; i < old->variable_count; i++) {
        const struct tc_adopt_variable *v = &old->variables[i];
        bool found = has_variable(after, v) || !tc_adopt_is_secret(v->name, v->value);
        for (size_t k = 0; now && !found && k < now->server_count; k++)
            found = has_variable(&now->servers[k], v);
        if (!found)
            return true;
    }
    return false;
}

/* Would a server of these settings miss the policy? */
static bool is_in_use(const struct tc_adopt_settings *now, const char *text, const char *policy)
{
    bool used = strstr(text, policy);
    for (size_t i = 0; i < now->server_count; i++)
        for (size_t k = 0; k < now->servers[i].argv.count; k++)
            used |= strstr(now->servers[i].argv.items[k], policy) != NULL;
    return used;
}

/* Adds the edits that take back one server, if it is as it was written. */
static bool unwrap(const struct undo *u, const struct tc_adopt_settings *settings,
                   const struct tc_adopt_server *now, const struct tc_adopt_settings *before,
                   const struct tc_adopt_server *after, const struct tc_adopt_server *old,
                   struct tc_adopt_edits *edits)
{
    size_t length = after->body.end - after->body.at;
    if (old->kind != TC_ADOPT_REMOTE)
        return tc_adopt_unwrap(settings, now, before, old, WORDS, edits);
    if (now->body.end - now->body.at != length ||
        memcmp(u->text + now->body.at, u->record.after + after->body.at, length) != 0)
        return false;
    tc_adopt_restore(settings, now, before, old, edits);
    return true;
}

/* Takes the edits of one server out of u->text. */
static int take_back(struct undo *u, const struct tc_adopt_settings *before,
                     const struct tc_adopt_server *after, const struct tc_adopt_server *old,
                     struct tc_failure *failure)
{
    struct tc_adopt_settings settings;
    struct tc_adopt_fault fault;
    struct tc_adopt_edits edits = {0};
    size_t length = 0;
    char *text = NULL;
    if (tc_adopt_read(before->format, u->text, u->length, &settings, &fault)) {
        tc_adopt_settings_done(&settings);
        return refuse(u, after->name, failure);
    }
    const struct tc_adopt_server *now = tc_adopt_find(&settings, after);
    bool wrapped = now && now->kind == TC_ADOPT_WRAPPED;
    bool fine = wrapped && same_words(&now->argv, &after->argv) &&
                unwrap(u, &settings, now, before, after, old, &edits);
    if (fine)
        text = tc_adopt_apply(u->text, u->length, &edits, &length);
    fine = text && is_restored(before->format, text, length, old);
    /* it was removed, renamed, or unwrapped by hand */
    bool gone = !wrapped && !would_lose(&settings, after, old) &&
                !is_in_use(&settings, u->text, after->argv.items[POLICY]);
    tc_adopt_edits_done(&edits);
    tc_adopt_settings_done(&settings);
    if (gone)
        return 0;
    if (!fine) {
        free(text);
        return refuse(u, after->name, failure);
    }
    free(u->text);
    u->text = text;
    u->length = length;
    return 0;
}

static int take_all_back(struct undo *u, struct tc_failure *failure)
{
    struct tc_adopt_settings before = {0}, after = {0};
    struct tc_adopt_fault fault;
    enum tc_adopt_format format;
    (void)tc_adopt_format_of(u->record.path, &format);
    int rc = tc_adopt_read(format, u->record.before, u->record.before_length, &before, &fault) ||
                     tc_adopt_read(format, u->record.after, u->record.after_length, &after, &fault)
                 ? refuse(u, "in the backup", failure)
                 : 0;
    for (size_t i = 0; !rc && i < after.server_count; i++) {
        const struct tc_adopt_server *old;
        bool adopted = was_adopted(&before, &after.servers[i], &old);
        if (!adopted && (!old || same_words(&old->argv, &after.servers[i].argv)))
            continue;
        if (!adopted) /* an earlier toolcage adopted what this one leaves alone */
            rc = refuse(u, after.servers[i].name, failure);
        else if (!u->gone)
            rc = take_back(u, &before, &after.servers[i], old, failure);
        else if (would_lose(NULL, &after.servers[i], old))
            rc = refuse(u, after.servers[i].name, failure);
    }
    tc_adopt_settings_done(&before);
    tc_adopt_settings_done(&after);
    return rc;
}

/* ---- one backup ---- */

static bool copy(struct undo *u, const char *text, size_t length)
{
    u->text = malloc(length + 1);
    u->length = length;
    if (u->text) {
        memcpy(u->text, text, length);
        u->text[length] = '\0';
    }
    return u->text;
}

static int prepare(struct undo *u, struct tc_failure *failure)
{
    const struct tc_adopt_edits none = {0};
    /* the path had no links when it was adopted */
    if (tc_adopt_open(u->record.path, false, &u->file, failure))
        return -1;
    u->gone = !u->file.text;
    if (u->gone)
        return take_all_back(u, failure);
    bool same = u->file.length == u->record.after_length &&
                !memcmp(u->file.text, u->record.after, u->file.length);
    if (!copy(u, same ? u->record.before : u->file.text,
              same ? u->record.before_length : u->file.length))
        return no_memory(failure);
    if (!same && take_all_back(u, failure))
        return -1;
    u->diff = tc_adopt_show(u->file.path, u->file.text, u->file.length, u->text, u->length, &none);
    return u->diff ? 0 : no_memory(failure);
}

static int apply(const struct undo *u, struct tc_failure *failure)
{
    bool same =
        u->gone || (u->file.length == u->length && !memcmp(u->file.text, u->text, u->length));
    const struct tc_adopt_record *record = &u->record;
    const char *old = record->temporary;
    if (old && !tc_adopt_sweep(&u->file, old, record->after, record->after_length) &&
        !tc_adopt_sweep(&u->file, old, record->before, record->before_length) &&
        !tc_adopt_sweep(&u->file, old, u->text ? u->text : "", u->length))
        tc_cli_say("%s is next to %s and stays: it is not known whose it is", old, record->path);
    _autofree_ char *note = tc_adopt_record_note(record->directory);
    int rc = !note  ? no_memory(failure)
             : same ? 0
                    : tc_adopt_replace(&u->file, u->text, u->length, note, failure);
    if (!rc)
        tc_adopt_record_remove(&u->record);
    return rc;
}

/* 0, 1 if the answer is no, or -1 with the failure. */
static int undo_one(struct undo *u, enum tc_adopt_answer answer, struct tc_failure *failure)
{
    if (u->record.unfinished) {
        if (answer != TC_ADOPT_DRY)
            tc_adopt_record_remove(&u->record);
        return 0;
    }
    if (prepare(u, failure))
        return -1;
    if (u->gone)
        tc_cli_say("%s does not exist any longer; its policies are removed", u->record.path);
    else if (tc_cli_print_painted(TC_PAINT_DIFF, u->diff))
        return 1;
    if (answer == TC_ADOPT_DRY)
        return 0;
    int yes = answer == TC_ADOPT_YES ? 1 : tc_adopt_confirm("take this back? y: yes, n: no");
    if (yes < 0)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "--yes, or --dry-run to see it only",
                              "there is no terminal to ask at, and nothing was changed");
    return yes ? apply(u, failure) : 1;
}

static int undo_all(char *const *records, const struct tc_args *args, enum tc_adopt_answer answer,
                    size_t *ret_count)
{
    const char *file = tc_args_value(args, "file");
    int code = 0;
    _autofree_ char *wanted = file ? realpath(file, NULL) : NULL;
    for (size_t i = 0; records[i]; i++) {
        _autofailure_ struct tc_failure failure = {0};
        struct undo u = {.file.directory = -1};
        int rc = tc_adopt_record_read(records[i], &u.record, &failure);
        bool meant =
            !file || (!rc && u.record.path && !strcmp(u.record.path, wanted ? wanted : file));
        if (meant) {
            rc = rc ? rc : undo_one(&u, answer, &failure);
            code = rc < 0 ? tc_failure_tell(&failure, args, NULL) : rc ? rc : code;
            if (!rc && answer != TC_ADOPT_DRY && u.record.path)
                tc_cli_say("%s: the adoption was taken back", u.record.path);
            *ret_count += rc < 0 || u.record.path;
        }
        undo_done(&u);
    }
    return code;
}

int tc_adopt_undo(const struct tc_args *args, enum tc_adopt_answer answer)
{
    const char *file = tc_args_value(args, "file");
    _autofailure_ struct tc_failure failure = {0};
    _autofd_ int lock = answer == TC_ADOPT_DRY ? -1 : tc_adopt_lock(&failure);
    char **records = lock >= 0 || answer == TC_ADOPT_DRY ? tc_adopt_records(&failure) : NULL;
    size_t count = 0;
    if (!records)
        return tc_failure_tell(&failure, args, NULL);
    int code = undo_all(records, args, answer, &count);
    for (size_t i = 0; records[i]; i++)
        free(records[i]);
    free(records);
    if (!count)
        tc_cli_say("nothing was adopted%s%s", file ? " in " : "", file ? file : "");
    return code;
}
