/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "mcp/reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mcp/log.h"
#include "text/shell.h"
#include "trust/trusted.h"

enum {
    LOOK_MS = 2000,     /* between two looks without a request */
    REPORTS_MAX = 10,   /* in a minute */
    LINE_LENGTH = 4000, /* a pipe that is ready takes it without blocking */
    SHARE = 10,         /* at most this part of the time is spent on reading changed policies */
};

/* Identifies a file and its state; all zero: it cannot be inspected. */
struct stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec written, changed;
};

struct tc_mcp_reload {
    const char *path;    /* as it was named; borrowed */
    char *real;          /* the file's canonical path at the start */
    char *record;        /* of trust; NULL: none */
    struct stamp own[2]; /* of the file, and of the record: their paths may be any bytes */
    json_t *files;       /* the paths that are watched besides */
    struct stamp *stamps;
    int64_t look_ms, pause_ms;
    int64_t retry_ms; /* when the file is read again though nothing watched has changed; 0: never */
    char *said;       /* the last report; NULL: none */
    bool taken;       /* a changed policy, at this look */
    bool trusted;     /* the policy in use, when it was read last */
    int64_t minute_ms;
    unsigned reports; /* since minute_ms */
};

/* ---- the watched files ---- */

static struct stamp stamp_of(const char *path)
{
    struct stat st;
    struct stamp stamp;
    memset(&stamp, 0, sizeof(stamp)); /* padding is compared */
    if (!path || stat(path, &st) < 0)
        return stamp;
    stamp.dev = st.st_dev;
    stamp.ino = st.st_ino;
    stamp.size = st.st_size;
    stamp.written = st.st_mtim;
    stamp.changed = st.st_ctim;
    return stamp;
}

static bool has_changed(const char *path, struct stamp *stamp)
{
    struct stamp now = stamp_of(path);
    bool changed = memcmp(&now, stamp, sizeof(now)) != 0;
    *stamp = now;
    return changed;
}

/* Has one changed since the last look? */
static bool look(struct tc_mcp_reload *reload)
{
    bool changed = has_changed(reload->path, &reload->own[0]);
    size_t i;
    json_t *path;
    changed |= has_changed(reload->record, &reload->own[1]);
    json_array_foreach(reload->files, i, path)
    {
        changed |= has_changed(json_string_value(path), &reload->stamps[i]);
    }
    return changed;
}

/* From before the policy was read: a file that has changed since is read again. All zero: the file
 * was not watched. */
static struct stamp known_stamp(const struct tc_mcp_reload *reload, const json_t *file)
{
    size_t i;
    json_t *path;
    json_array_foreach(reload->files, i, path)
    {
        if (json_equal(path, file))
            return reload->stamps[i];
    }
    return stamp_of(NULL);
}

/* Watches the files of this policy from now on. */
static int watch(struct tc_mcp_reload *reload, const struct toolcage_policy *policy,
                 struct toolcage_error **err)
{
    char *text = NULL;
    int rc = toolcage_policy_files_json(policy, &text, err);
    json_t *files = rc < 0 ? NULL : json_loads(text, JSON_ALLOW_NUL, NULL);
    struct stamp *stamps = files ? calloc(json_array_size(files) + 1, sizeof(*stamps)) : NULL;
    toolcage_free(text);
    for (size_t i = 0; stamps && i < json_array_size(files); i++)
        stamps[i] = known_stamp(reload, json_array_get(files, i));
    if (!stamps) {
        json_decref(files);
        return rc < 0 ? rc : TOOLCAGE_EMEMORY;
    }
    json_decref(reload->files);
    free(reload->stamps);
    reload->files = files;
    reload->stamps = stamps;
    return 0;
}

int tc_mcp_reload_begin(struct tc_mcp *server, struct toolcage_error **err)
{
    if (!server->what->path)
        return 0;
    struct tc_mcp_reload *reload = server->reload = calloc(1, sizeof(*reload));
    if (!reload || !(reload->real = realpath(server->what->path, NULL)))
        return TOOLCAGE_EMEMORY;
    reload->path = server->what->path;
    reload->record = tc_trusted_place();
    /* the stamps are zero: the first look compares the file with the policy that was read */
    return watch(reload, server->policy, err);
}

void tc_mcp_reload_done(struct tc_mcp *server)
{
    struct tc_mcp_reload *reload = server->reload;
    server->reload = NULL;
    if (!reload)
        return;
    free(reload->real);
    free(reload->record);
    json_decref(reload->files);
    free(reload->stamps);
    free(reload->said);
    free(reload);
}

/* ---- reports ---- */

/* `text` is for the operator (NULL: out of memory), `news` for clients, which learn nothing about
 * the host by it. */
static void report(struct tc_mcp *server, enum tc_mcp_level level, const char *text,
                   const char *news)
{
    /* it may quote the policy's text, which anyone may have written */
    char *line = text ? tc_mcp_escape(text, strlen(text)) : NULL;
    server->failed |= !line;
    if (line)
        line[strnlen(line, LINE_LENGTH)] = '\0';
    if (line && server->what->say)
        server->what->say(server->what->userdata, line);
    free(line);
    server->news = news;
    server->news_level = level;
    server->news_count++;
}

/* How many reports there are in this minute, with one more. */
static unsigned count_report(struct tc_mcp_reload *reload)
{
    int64_t now = tc_mcp_now_ms();
    if (!reload->reports || now - reload->minute_ms > 60000) {
        reload->minute_ms = now;
        reload->reports = 0;
    }
    return ++reload->reports;
}

static void forget_report(struct tc_mcp_reload *reload)
{
    free(reload->said);
    reload->said = NULL;
}

/* Takes ownership of `text`. One report too many is made later, if it is still true then. */
static void report_refusal(struct tc_mcp *server, char *text)
{
    static const char often[] = "the policy changes often: for a minute that is no longer reported";
    static const char news[] = "the policy has changed and is not used: the server's operator can "
                               "read why. The earlier policy stays";
    struct tc_mcp_reload *reload = server->reload;
    if (text && reload->said && strcmp(reload->said, text) == 0) {
        free(text);
        return;
    }
    unsigned count = count_report(reload);
    forget_report(reload);
    if (count <= REPORTS_MAX) {
        report(server, TC_MCP_ERROR, text, news);
        reload->said = text;
        return;
    }
    free(text);
    if (count == REPORTS_MAX + 1)
        report(server, TC_MCP_ERROR, often, often);
}

static void refuse(struct tc_mcp *server, const char *why, const char *hint)
{
    char *text = NULL;
    server->reload->retry_ms = tc_mcp_now_ms() + LOOK_MS; /* what it lacks may be in a file that is
                                                      not watched */
    if (asprintf(&text,
                 "the policy %s has changed and is not used: %s%s%s. The earlier policy stays",
                 server->what->path, why, *hint ? "; " : "", hint) < 0)
        text = NULL;
    report_refusal(server, text);
}

/* ---- the changed policy ---- */

/* Takes ownership of `policy`. Running calls hold the old one. */
static void take(struct tc_mcp *server, struct toolcage_policy *policy, json_t *tools)
{
    char *text = NULL;
    bool differs = !json_equal(server->tools, tools);
    struct toolcage_policy *old = server->policy;
    server->policy = policy;
    json_decref(server->tools);
    server->tools = tools;
    (void)toolcage_policy_unref(old);
    if (server->what->reloaded)
        server->what->reloaded(server->what->userdata, policy);
    server->reload->taken = true;
    server->list_count += differs;
    if (asprintf(&text, "the policy %s has changed and is used: %s", server->what->path,
                 toolcage_policy_digest(policy)) < 0)
        text = NULL;
    report(server, TC_MCP_NOTICE, text, "the policy has changed and is used");
    free(text);
}

static void refuse_untrusted(struct tc_mcp *server, const struct toolcage_policy *policy)
{
    char *hint = NULL, *word = tc_shell_quote(server->reload->real);
    if (!word || asprintf(&hint, "read it, then: toolcage policy trust %s --digest %s", word,
                          toolcage_policy_digest(policy)) < 0)
        hint = NULL;
    free(word);
    refuse(server, "it is not trusted", hint ? hint : "");
    free(hint);
}

/* Where the path leads must not have changed, because the operator has named that file. */
static bool leads_elsewhere(const struct tc_mcp *server)
{
    char *real = realpath(server->what->path, NULL);
    bool elsewhere = !real || strcmp(real, server->reload->real) != 0;
    free(real);
    return elsewhere;
}

/* True: it is the one in use from now on, or was already. */
static bool is_used(struct tc_mcp *server, struct toolcage_policy *policy)
{
    struct toolcage_error *err = NULL;
    json_t *tools = NULL;
    if (strcmp(toolcage_policy_digest(policy), toolcage_policy_digest(server->policy)) == 0)
        return true;
    if (leads_elsewhere(server)) {
        refuse(server, "its path leads to another file now", "start the server again");
    } else if (!tc_trusted(server->reload->real, toolcage_policy_digest(policy))) {
        refuse_untrusted(server, policy);
    } else if (tc_mcp_load_tools(server, policy, &tools, &err) < 0) {
        refuse(server, err ? toolcage_error_message(err) : "out of memory", "");
    } else {
        take(server, toolcage_policy_ref(policy), tools);
        return true;
    }
    toolcage_error_free(err);
    return false;
}

/* The user has no other sign that a server still uses a policy whose trust was removed. */
static void look_for_trust(struct tc_mcp *server)
{
    struct tc_mcp_reload *reload = server->reload;
    bool before = reload->trusted;
    char *text = NULL;
    reload->trusted = tc_trusted(reload->real, toolcage_policy_digest(server->policy));
    if (!before || reload->trusted)
        return;
    if (asprintf(&text,
                 "the policy %s is no longer trusted, but stays in use: stop the server, or trust "
                 "another policy in the file",
                 server->what->path) < 0)
        text = NULL;
    report(server, TC_MCP_WARNING, text, "the policy in use is no longer trusted, but stays");
    free(text);
}

/* `policy` is compiled from the text that was read once: the policy that is checked is also the one
 * that is used. */
static void judge(struct tc_mcp *server, struct toolcage_policy *policy)
{
    struct toolcage_error *err = NULL;
    if (!is_used(server, policy))
        return;
    forget_report(server->reload); /* a later change is another one */
    look_for_trust(server);
    (void)watch(server->reload, policy, &err);
    toolcage_error_free(err);
}

bool tc_mcp_reload_look(struct tc_mcp *server, bool due)
{
    struct tc_mcp_reload *reload = server->reload;
    struct toolcage_policy *policy = NULL;
    struct toolcage_error *err = NULL;
    int64_t began = tc_mcp_now_ms();
    if (!reload || (due && began < reload->look_ms))
        return false;
    reload->taken = false;
    reload->look_ms = tc_mcp_now_ms() + LOOK_MS;
    if (began < reload->pause_ms)
        return false;
    bool again = reload->retry_ms && began >= reload->retry_ms;
    if (!look(reload) && !again)
        return false;
    reload->retry_ms = 0;
    if (leads_elsewhere(server)) {
        refuse(server,
               access(server->what->path, F_OK) ? "the file is missing"
                                                : "its path leads to another file now",
               "");
    } else if (toolcage_policy_load_file(server->what->path, &policy, &err) < 0) {
        refuse(server, err ? toolcage_error_message(err) : "out of memory",
               err ? toolcage_error_hint(err) : "");
    } else {
        judge(server, policy);
    }
    reload->pause_ms = tc_mcp_now_ms() + SHARE * (tc_mcp_now_ms() - began);
    toolcage_error_free(err);
    (void)toolcage_policy_unref(policy);
    return reload->taken;
}

int tc_mcp_reload_ms(const struct tc_mcp *server)
{
    int64_t left = server->reload ? server->reload->look_ms - tc_mcp_now_ms() : 0;
    return !server->reload ? -1 : left > 0 ? (int)left : 0;
}
