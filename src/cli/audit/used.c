/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The minimal policy for what recorded calls used. It extends the policy that it is learned under,
 * and replaces the lists that the log can judge. Everything in it was granted and used. */
#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "cli/audit/past.h"
#include "cli/show/say.h"

enum { FACTS_MAX = 20000, SIBLINGS = 3 };
enum used_how { USED_WRITE, USED_READ, USED_CONNECT, USED_HOWS };

/* Something that calls of a tool used. */
struct fact {
    char *subject, *call; /* owned; the first call that used it */
    size_t calls, last;   /* how many did, and the number of the last one */
    enum used_how how;
    bool refused; /* the policy does not grant it */
};

struct tool {
    char *name, *grant; /* owned: the grant of the last call, as JSON */
    struct fact *facts;
    size_t fact_count, calls, listed, cut, refused, unknown;
    char *why; /* why a call is refused now; owned, NULL: none is */
};

struct tc_used {
    struct toolcage_engine *engine;
    struct toolcage_policy *policy;
    char *file;
    struct tool *tools;
    size_t count, bare;
    bool failed; /* memory is exhausted, or there are too many facts */
};

struct tc_used *tc_used_new(struct toolcage_policy *policy, const char *file,
                            struct toolcage_error **err)
{
    struct tc_used *u = calloc(1, sizeof(*u));
    if (!u || !(u->file = strdup(file)) || toolcage_engine_new(&u->engine, err)) {
        free(u ? u->file : NULL);
        free(u);
        return NULL;
    }
    u->policy = policy;
    return u;
}

void tc_used_free(struct tc_used *u)
{
    if (!u)
        return;
    for (size_t i = 0; i < u->count; i++) {
        struct tool *t = &u->tools[i];
        for (size_t k = 0; k < t->fact_count; k++) {
            free(t->facts[k].subject);
            free(t->facts[k].call);
        }
        free(t->facts);
        free(t->name);
        free(t->grant);
        free(t->why);
    }
    free(u->tools);
    free(u->file);
    (void)toolcage_engine_unref(u->engine);
    free(u);
}

size_t tc_used_calls(const struct tc_used *u)
{
    size_t calls = 0;
    for (size_t i = 0; i < u->count; i++)
        calls += u->tools[i].calls;
    return calls;
}

/* ---- facts ---- */

/* Room for one more item, at powers of two. */
static bool grow(void **items, size_t count, size_t size)
{
    if (count & (count - 1))
        return true;
    void *more = realloc(*items, (count ? 2 * count : 1) * size);
    if (more)
        *items = more;
    return more != NULL;
}

static struct tool *tool_of(struct tc_used *u, const char *name)
{
    for (size_t i = 0; i < u->count; i++)
        if (!strcmp(u->tools[i].name, name))
            return &u->tools[i];
    u->failed |= !grow((void **)&u->tools, u->count, sizeof(*u->tools));
    if (u->failed)
        return NULL;
    struct tool *t = &u->tools[u->count];
    *t = (struct tool){.name = strdup(name)};
    u->failed |= !t->name;
    u->count += t->name != NULL;
    return t->name ? t : NULL;
}

static void add_fact(struct tc_used *u, struct tool *t, enum used_how how, const char *subject,
                     const char *call, bool refused)
{
    for (size_t i = 0; i < t->fact_count; i++) {
        struct fact *f = &t->facts[i];
        if (f->how == how && !strcmp(f->subject, subject)) {
            f->calls += f->last != t->calls;
            f->last = t->calls;
            f->refused = refused;
            return;
        }
    }
    u->failed |=
        t->fact_count == FACTS_MAX || !grow((void **)&t->facts, t->fact_count, sizeof(*t->facts));
    if (u->failed)
        return;
    struct fact *f = &t->facts[t->fact_count++];
    *f = (struct fact){.subject = strdup(subject),
                       .call = strdup(call),
                       .calls = 1,
                       .last = t->calls,
                       .how = how,
                       .refused = refused};
    u->failed |= !f->subject || !f->call;
}

/* ---- a call ---- */

/* Does the policy grant it to this call? */
static bool is_granted(struct toolcage_call *call, enum used_how how, const char *subject)
{
    static const char *const verbs[USED_HOWS] = {"write", "read", "connect"};
    _autofree_ char *access = tc_cli_format("%s %s", verbs[how], subject);
    char *json = NULL;
    if (!access || toolcage_call_explain_json(call, access, &json, NULL))
        return false;
    bool allowed = tc_json_true(tc_json_get(tc_json_get(tc_json_of(json), "verdict"), "allowed"));
    toolcage_free(json);
    return allowed;
}

static void take(struct tc_used *u, struct tool *t, struct toolcage_call *call, const char *id,
                 enum used_how how, const char *subject)
{
    add_fact(u, t, how, subject, id, !is_granted(call, how, subject));
}

static bool is_within(const char *directory, const char *path)
{
    size_t length = strlen(directory);
    return !strncmp(directory, path, length) &&
           (!path[length] || path[length] == '/' || !strcmp(directory, "/"));
}

/* The entry of the grant for this path that a policy file has; absent: a system path, or one that
 * toolcage adds. */
static struct tc_slice entry_of(struct tc_slice grant, const char *path)
{
    struct tc_slice list = tc_json_get(grant, "filesystem"), found = {0};
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each)) {
        _autofree_ char *at = tc_json_text(tc_json_get(each.value, "path"));
        if (at && is_within(at, path) && !tc_json_true(tc_json_get(each.value, "built_in")) &&
            !tc_scan_is(tc_json_get(each.value, "access"), "deny"))
            found = each.value;
    }
    return found;
}

static char *entry_path(struct tc_slice grant, const char *path)
{
    return tc_json_text(tc_json_get(entry_of(grant, path), "path"));
}

/* Was the entry made by this call, so that it is not there before the next one? */
static bool is_added(struct tc_slice changes, const char *path)
{
    struct tc_scan_each each = tc_scan_walk(changes);
    while (tc_scan_is_array(changes) && tc_scan_next(&each)) {
        _autofree_ char *at = tc_json_raw_path(each.value);
        if (at && !strcmp(at, path))
            return tc_scan_is(tc_json_get(each.value, "kind"), "added");
    }
    return false;
}

/* Only plain names are written to a policy; others are granted with their directory. */
static bool is_plain(const char *path)
{
    for (const char *c = path; *c; c++)
        if (*c < ' ' || *c > '~' || strchr("\"\\{}*?[]", *c))
            return false;
    return true;
}

static bool is_endpoint(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-._:*[]/", *c))
            return false;
    return true;
}

/* Shortens the path to its directory. False: it has none. */
static bool shorten(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

/* What must be writable for this change: an existing file, or the directory of a new one. A policy
 * that names a steering file lifts its protection: a held one is left out, another one stays
 * granted by the policy's own entry. */
static void take_change(struct tc_used *u, struct tool *t, struct toolcage_call *call,
                        const char *id, struct tc_slice changes, struct tc_slice change)
{
    _autofree_ char *path = tc_json_raw_path(change);
    bool modified = tc_scan_is(tc_json_get(change, "kind"), "modified");
    if (!path || path[0] != '/' || (!modified && !shorten(path)))
        return;
    if (tc_scan_is(tc_json_get(change, "held"), TOOLCAGE_HELD_STEERING))
        return;
    while ((is_added(changes, path) || !is_plain(path)) && shorten(path))
        ;
    _autofree_ char *entry = tc_json_true(tc_json_get(change, "steers_host"))
                                 ? entry_path(tc_json_of(t->grant), path)
                                 : NULL;
    take(u, t, call, id, USED_WRITE, entry ? entry : path);
}

static void take_access(struct tc_used *u, struct tool *t, struct toolcage_call *call,
                        const char *id, struct tc_slice grant, struct tc_slice access)
{
    struct tc_slice operation = tc_json_get(access, "operation");
    _autofree_ char *path = tc_json_text(tc_json_get(access, "target"));
    bool reads = tc_scan_is(operation, "read") || tc_scan_is(operation, "exec");
    if (!reads || !path || path[0] != '/' || !entry_of(grant, path).at)
        return;
    while (!is_plain(path) && shorten(path))
        ;
    take(u, t, call, id, USED_READ, path);
}

static void take_facts(struct tc_used *u, struct tool *t, struct toolcage_call *call,
                       const struct tc_past_call *past, const char *id)
{
    struct tc_slice changes = tc_json_get(past->result, "changes");
    struct tc_slice accesses = tc_json_get(past->result, "accesses");
    struct tc_slice reached = tc_json_get(tc_json_get(past->result, "usage"), "destinations");
    struct tc_scan_each each = tc_scan_walk(changes);
    while (tc_scan_is_array(changes) && tc_scan_next(&each))
        take_change(u, t, call, id, changes, each.value);
    each = tc_scan_walk(accesses);
    while (tc_scan_is_array(accesses) && tc_scan_next(&each))
        take_access(u, t, call, id, tc_json_of(t->grant), each.value);
    each = tc_scan_walk(reached);
    while (tc_scan_is_array(reached) && tc_scan_next(&each)) {
        _autofree_ char *to = tc_json_text(tc_json_get(each.value, "target"));
        if (to)
            add_fact(u, t, USED_CONNECT, to, id,
                     !is_endpoint(to) || !is_granted(call, USED_CONNECT, to));
    }
    struct tc_slice omitted = tc_json_get(past->result, "omitted");
    t->listed += tc_scan_is_array(accesses) && !tc_json_int(tc_json_get(omitted, "accesses"), 0);
    t->cut += tc_json_get(past->result, "changes_left_out").at ||
              tc_json_int(tc_json_get(omitted, "changes"), 0);
}

static void take_call(struct tc_used *u, struct tool *t, const struct tc_past_call *past)
{
    _autoerror_ struct toolcage_error *err = NULL;
    _autofree_ char *id = tc_json_text(tc_json_get(past->decision, "call"));
    struct toolcage_call *call = NULL;
    char *json = NULL;
    t->calls++;
    if (!id || !tc_past_known(past)) {
        t->unknown++;
    } else if (tc_past_again(u->engine, u->policy, past, NULL, &call, &err) ||
               toolcage_call_explain_json(call, NULL, &json, &err)) {
        t->refused++;
        free(t->why);
        t->why = strdup(toolcage_error_message(err));
    } else {
        free(t->grant);
        t->grant = strdup(json);
        u->failed |= !t->grant;
        if (t->grant)
            take_facts(u, t, call, past, id);
    }
    toolcage_free(json);
    (void)toolcage_call_unref(call);
}

bool tc_used_take(void *context, const struct tc_past_call *past)
{
    struct tc_used *u = context;
    _autofree_ char *name = tc_json_text(tc_json_get(past->decision, "tool"));
    if (!tc_scan_is(tc_json_get(past->decision, "kind"), "run") || !past->result.at ||
        tc_past_replays(past))
        return true;
    u->bare += !name || strchr(name, '.');
    struct tool *t = name && !strchr(name, '.') ? tool_of(u, name) : NULL;
    if (t)
        take_call(u, t, past);
    return !u->failed;
}

/* ---- the text ---- */

static void put_comment(FILE *out, const char *text)
{
    (void)fputs("# ", out);
    for (const char *c = text; *c; c++)
        (void)fputc(*c < ' ' || *c > '~' ? '?' : *c, out);
    (void)fputc('\n', out);
}

static void put_reason(FILE *out, const struct fact *f)
{
    (void)fprintf(out, " # %s", f->call);
    if (f->calls > 1)
        (void)fprintf(out, ", and %zu more", f->calls - 1);
    (void)fputc('\n', out);
}

static int compare_facts(const void *x, const void *y)
{
    const struct fact *a = x, *b = y;
    return a->how != b->how ? (a->how < b->how ? -1 : 1) : strcmp(a->subject, b->subject);
}

/* Is the path below another one of the list, or granted for writing? */
static bool is_covered(const struct tool *t, const struct fact *f)
{
    for (size_t i = 0; i < t->fact_count; i++) {
        const struct fact *o = &t->facts[i];
        bool counts = !o->refused && (o->how == f->how || o->how == USED_WRITE) && o != f;
        if (counts && is_within(o->subject, f->subject) &&
            (strcmp(o->subject, f->subject) != 0 || o->how < f->how))
            return true;
    }
    return false;
}

/* Many files of one directory become that directory, where the policy grants all of it. */
static void join_siblings(struct tool *t)
{
    struct tc_slice grant = tc_json_of(t->grant);
    for (size_t i = 0; i < t->fact_count; i++) {
        struct fact *f = &t->facts[i];
        _autofree_ char *parent = strdup(f->subject);
        if (!parent || f->refused || f->how == USED_CONNECT || !shorten(parent))
            continue;
        struct tc_slice entry = entry_of(grant, parent);
        if (!entry.at ||
            (f->how == USED_WRITE && !tc_scan_is(tc_json_get(entry, "access"), "write")))
            continue;
        size_t beside = 0, length = strlen(parent);
        for (size_t k = 0; k < t->fact_count; k++)
            beside += t->facts[k].how == f->how && !t->facts[k].refused &&
                      is_within(parent, t->facts[k].subject) && t->facts[k].subject[length] &&
                      !strchr(t->facts[k].subject + length + 1, '/');
        if (beside > SIBLINGS)
            f->subject[length] = '\0';
    }
}

static void put_path(FILE *out, const char *path)
{
    (void)fputs("  ", out);
    tc_cli_json_string(out, path);
    (void)fputc(',', out);
}

static void put_used_paths(FILE *out, const struct tool *t, enum used_how how)
{
    const char *last = "";
    for (size_t i = 0; i < t->fact_count; i++) {
        const struct fact *f = &t->facts[i];
        if (f->how != how || f->refused || is_covered(t, f) || !strcmp(last, f->subject))
            continue;
        last = f->subject;
        put_path(out, f->subject);
        put_reason(out, f);
    }
}

/* Do entries of this key depend on a call's arguments? Then it stays as the policy has it. */
static bool has_arguments(struct tc_slice grant, bool network)
{
    struct tc_slice list = tc_json_get(grant, "filesystem");
    struct tc_slice named = tc_json_get(grant, "arguments");
    if (network)
        return tc_json_find(named, "access", "connect").at;
    if (tc_json_find(named, "access", "read").at || tc_json_find(named, "access", "write").at)
        return true;
    struct tc_scan_each each = tc_scan_walk(list);
    while (tc_scan_is_array(list) && tc_scan_next(&each))
        if (tc_json_true(tc_json_get(each.value, "argument")))
            return true;
    return false;
}

/* An entry of the policy that stays, as a path that may be read. */
static void put_kept(FILE *out, struct tc_slice entry)
{
    _autofree_ char *path = tc_json_text(tc_json_get(entry, "path"));
    _autofree_ char *from = tc_json_text(tc_json_get(entry, "from"));
    bool deny = tc_scan_is(tc_json_get(entry, "access"), "deny");
    if (!path || !from || deny || tc_json_true(tc_json_get(entry, "built_in")) || !is_plain(path))
        return;
    if (is_within("/workspace", path) || !strcmp(path, from)) {
        put_path(out, path);
    } else {
        (void)fputs("  { path = ", out);
        tc_cli_json_string(out, path);
        (void)fputs(", from = ", out);
        tc_cli_json_string(out, from);
        (void)fputs(" },", out);
    }
    (void)fputs(" # as in the policy: reads are not in the log\n", out);
}

static void put_paths(FILE *out, const struct tool *t, struct tc_slice grant)
{
    struct tc_slice list = tc_json_get(grant, "filesystem");
    if (has_arguments(grant, false) || t->cut) {
        put_comment(out, t->cut ? "filesystem: as in the policy, because the log does not list all "
                                  "changes"
                                : "filesystem: as in the policy, because it depends on arguments");
        return;
    }
    (void)fputs("filesystem.writable = [\n", out);
    put_used_paths(out, t, USED_WRITE);
    (void)fputs("]\n", out);
    (void)fputs("filesystem.readable = [\n", out);
    struct tc_scan_each each = tc_scan_walk(list);
    if (t->listed < t->calls)
        while (tc_scan_is_array(list) && tc_scan_next(&each))
            put_kept(out, each.value);
    else
        put_used_paths(out, t, USED_READ);
    (void)fputs("]\n", out);
}

/* ---- the network ---- */

/* Of "host:port", "[v6]:port" or "udp:host:port", and of a secret's host without a port. */
struct endpoint {
    char *host; /* owned */
    const char *port;
    bool udp;
};

static struct endpoint endpoint_of(const char *text)
{
    struct endpoint e = {.port = "443", .udp = !strncmp(text, "udp:", 4)};
    const char *to = text + (e.udp ? 4 : 0), *end = to[0] == '[' ? strchr(to, ']') : NULL;
    const char *colon = strrchr(end ? end : to, ':');
    if (colon)
        e.port = colon + 1;
    if (end)
        to++;
    e.host = strndup(to, end ? (size_t)(end - to) : colon ? (size_t)(colon - to) : strlen(to));
    return e;
}

/* An address, with mapped IPv4: "10.0.0.1" is "::ffff:10.0.0.1". Its bits, 0: not an address. */
static int read_address(const char *text, unsigned char ret[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    memcpy(ret, mapped, sizeof(mapped));
    return inet_pton(AF_INET, text, ret + sizeof(mapped)) == 1 ? 32
           : inet_pton(AF_INET6, text, ret) == 1               ? 128
                                                               : 0;
}

static bool in_range(const char *range, const char *host)
{
    const char *slash = strchr(range, '/');
    _autofree_ char *from = slash ? strndup(range, (size_t)(slash - range)) : NULL;
    unsigned char a[16], b[16];
    int bits = from ? read_address(from, a) : 0;
    if (!bits || read_address(host, b) != bits)
        return false;
    int same = 128 - bits + (int)strtol(slash + 1, NULL, 10), whole = same / 8, rest = same % 8;
    return same <= 128 && !memcmp(a, b, (size_t)whole) &&
           (!rest || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

static bool is_local(const char *entry, const char *host)
{
    unsigned char address[16];
    int bits = strcmp(entry, "localhost") != 0 ? 0 : read_address(host, address);
    return (bits == 32 && address[12] == 127) || (bits && !strcmp(host, "::1"));
}

static bool is_under(const char *pattern, const char *host)
{
    const char *dot = strchr(host, '.');
    return dot && !strncmp(pattern, "*.", 2) && !strcmp(pattern + 1, dot);
}

/* How exactly does an entry of the grant name this endpoint? 0: not at all. */
static int rank_of(struct tc_slice entry, const struct endpoint *to)
{
    _autofree_ char *host = tc_json_text(tc_json_get(entry, "host"));
    struct tc_slice port = tc_json_get(entry, "port");
    bool any = tc_scan_is(port, "any"), udp = tc_scan_is(tc_json_get(entry, "transport"), "udp");
    if (!host || udp != to->udp || !(any || tc_json_int(port, 0) == strtol(to->port, NULL, 10)))
        return 0;
    int rank = !strcmp(host, to->host) ? 3
               : is_under(host, to->host) || in_range(host, to->host) || is_local(host, to->host)
                   ? 2
                   : !strcmp(host, "*");
    return rank ? 2 * rank + !any : 0;
}

static void put_words(FILE *out, const char *key, struct tc_slice list)
{
    struct tc_scan_each each = tc_scan_walk(list);
    if (tc_scan_is_array(list) && tc_scan_next(&each))
        (void)fprintf(out, ", %s = %.*s", key, (int)list.length, list.at);
}

static void put_entry(FILE *out, struct tc_slice entry, const struct endpoint *to,
                      const struct fact *f)
{
    struct tc_slice methods = tc_json_get(entry, "methods"), paths = tc_json_get(entry, "paths");
    struct tc_scan_each method = tc_scan_walk(methods), path = tc_scan_walk(paths);
    if (!tc_scan_next(&method) && !tc_scan_next(&path)) {
        put_path(out, f->subject);
    } else {
        (void)fprintf(out, "  { host = \"%s\", port = %s", to->host, to->port);
        put_words(out, "methods", methods);
        put_words(out, "paths", paths);
        (void)fputs(" },", out);
    }
    put_reason(out, f);
}

/* The endpoint with the methods and paths of the policy's entries that name it most exactly. */
static void put_endpoint(FILE *out, struct tc_slice grant, const struct fact *f)
{
    struct tc_slice list = tc_json_get(grant, "network");
    struct endpoint to = endpoint_of(f->subject);
    struct tc_scan_each each = tc_scan_walk(list);
    int best = 0;
    while (to.host && tc_scan_is_array(list) && tc_scan_next(&each)) {
        int rank = rank_of(each.value, &to);
        best = rank > best ? rank : best;
    }
    each = tc_scan_walk(list);
    while (best && tc_scan_next(&each))
        if (rank_of(each.value, &to) == best)
            put_entry(out, each.value, &to, f);
    if (!best) {
        (void)fputs("# no single entry of the policy grants this, and so it is not here: ", out);
        put_comment(out, f->subject);
    }
    free(to.host);
}

/* A secret needs the hosts that it goes to. */
static void put_secret_hosts(FILE *out, struct tc_slice grant, const struct tool *t)
{
    struct tc_slice secrets = tc_json_get(grant, "secrets");
    struct tc_scan_each each = tc_scan_walk(secrets);
    while (tc_scan_is_array(secrets) && tc_scan_next(&each)) {
        struct tc_slice hosts = tc_json_get(each.value, "hosts");
        struct tc_scan_each one = tc_scan_walk(hosts);
        while (tc_scan_is_array(hosts) && tc_scan_next(&one)) {
            _autofree_ char *text = tc_json_text(one.value);
            const char *to = text && strstr(text, "://") ? strstr(text, "://") + 3 : text;
            struct fact f = {.subject = (char *)(uintptr_t)to, .calls = 1};
            f.call = (char *)(uintptr_t) "unused, but a secret names it";
            bool known = !to || !is_endpoint(to);
            for (size_t i = 0; !known && i < t->fact_count; i++)
                known = t->facts[i].how == USED_CONNECT && !strcmp(t->facts[i].subject, to);
            if (!known)
                put_endpoint(out, grant, &f);
        }
    }
}

static void put_network(FILE *out, const struct tool *t, struct tc_slice grant)
{
    if (has_arguments(grant, true)) {
        put_comment(out, "network: as in the policy, because it depends on arguments");
        return;
    }
    (void)fputs("network = [\n", out);
    for (size_t i = 0; i < t->fact_count; i++) {
        const struct fact *f = &t->facts[i];
        if (f->how == USED_CONNECT && !f->refused)
            put_endpoint(out, grant, f);
    }
    put_secret_hosts(out, grant, t);
    (void)fputs("]\n", out);
}

/* ---- a tool ---- */

static void put_gaps(FILE *out, const struct tool *t)
{
    static const char *const verbs[USED_HOWS] = {"wrote", "read", "reached"};
    if (t->listed < t->calls)
        (void)fprintf(
            out,
            "# not in the log: what %zu of them read and executed (denials = \"accesses\" "
            "records it)\n",
            t->calls - t->listed);
    if (t->unknown)
        (void)fprintf(out, "# not considered: %zu calls, of which the log has digests only\n",
                      t->unknown);
    if (t->refused) {
        (void)fprintf(out, "# not considered: %zu calls that the policy refuses now: ", t->refused);
        put_comment(out, t->why ? t->why : "");
    }
    for (size_t i = 0; i < t->fact_count; i++)
        if (t->facts[i].refused) {
            (void)fprintf(out, "# not granted by the policy, and so not here: %s %s ",
                          t->facts[i].call, verbs[t->facts[i].how]);
            put_comment(out, t->facts[i].subject);
        }
}

static void put_tool(FILE *out, struct tool *t)
{
    if (!t->grant) {
        (void)fprintf(out, "\n# [tool.%s]: left as it is\n", t->name);
        put_gaps(out, t);
        return;
    }
    struct tc_slice grant = tc_json_of(t->grant);
    join_siblings(t);
    if (t->fact_count)
        qsort(t->facts, t->fact_count, sizeof(*t->facts), compare_facts);
    (void)fprintf(out, "\n[tool.%s]\n# %zu recorded calls\n", t->name, t->calls);
    put_gaps(out, t);
    put_paths(out, t, grant);
    put_network(out, t, grant);
}

char *tc_used_write(struct tc_used *u)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = u->failed ? NULL : open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fputs(
        "# Learned from recorded calls. Read each line before you trust it: it grants what "
        "they used,\n# which is not always what the tool needs or should do. The comment of "
        "a line names the first call\n# that used it.\n",
        out);
    if (u->bare)
        (void)fprintf(out, "# not considered: %zu calls of servers, or without a tool\n", u->bare);
    (void)fputs("extends = ", out);
    tc_cli_json_string(out, u->file);
    (void)fputc('\n', out);
    for (size_t i = 0; i < u->count; i++)
        put_tool(out, &u->tools[i]);
    return tc_cli_text(out, &text);
}
