/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A record of requests is a directory object. Its file "index" has a JSON line for each request, in
 * their order, "heads" has the heads of the responses one after the other, and a file for each body
 * keeps that from being swept. */
#include "call/exchanges.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsontext.h"
#include "call/inputs.h"
#include "egress/exchanges.h"
#include "inputs/reader.h"

enum { INDEX_MAX = 32 << 20 };
static const char index_name[] = "index", heads_name[] = "heads";

/* ---- the file to record in ---- */

/* Its size is fixed, and pages that are not used take no memory. */
static int make_file(void)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && sizeof(struct tc_exchange_file) > most.rlim_cur)
        return -1;
    _autofd_ int fd = memfd_create("toolcage-exchanges", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, sizeof(struct tc_exchange_file)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return -1;
    return TAKE_FD(fd);
}

static int begin_record(struct toolcage_call *call, int *ret_fd)
{
    if (!call->inputs_kept || !call->grant.net_count)
        return 0;
    call->exchanges = make_file(); /* without one, the record of the call says so */
    *ret_fd = call->exchanges < 0 ? -1 : fcntl(call->exchanges, F_DUPFD_CLOEXEC, 0);
    if (*ret_fd < 0 && call->exchanges >= 0)
        (void)close(TAKE_FD(call->exchanges));
    return 0;
}

/* ---- what the proxy has recorded ---- */

/* An exchange of the file, copied out of it. */
struct exchange {
    struct tc_buf request, reply; /* the content of REQUEST, and of all REPLY frames */
    struct tc_exchange_end end;
    bool asked, ended;
};

struct record {
    struct exchange *items;
    size_t count;
};

static void forget(struct record *r)
{
    for (size_t i = 0; i < r->count; i++) {
        tc_buf_done(&r->items[i].request);
        tc_buf_done(&r->items[i].reply);
    }
    free(r->items);
}

static const char *describe_lost(uint32_t lost)
{
    static const char *const why[TC_EXCHANGE_LOSSES] = {
        [TC_EXCHANGE_OTHER] = "it used a connection that is not inspected (an entry with methods "
                              "or paths inspects TLS)",
        [TC_EXCHANGE_UDP] = "it used UDP",
        [TC_EXCHANGE_BROKEN] = "a connection ended within a request or its response",
        [TC_EXCHANGE_FAILED] = "a host could not be reached",
        [TC_EXCHANGE_LARGE] = "its responses have more than 64 MiB",
        [TC_EXCHANGE_MANY] = "it made more than 10000 requests",
        [TC_EXCHANGE_UNDONE] = "it ended before its last data was sent",
    };
    return lost < TC_EXCHANGE_LOSSES && why[lost] ? why[lost] : "its requests were not recorded";
}

/* Frames of one exchange follow each other, those of several may be interleaved. */
static bool take_frame(struct record *r, const struct tc_exchange_head *head, const char *bytes)
{
    bool request = head->kind == TC_EXCHANGE_REQUEST;
    if (request && head->number == r->count) {
        struct exchange *fresh = TC_PUSH(r->items, r->count);
        if (!fresh)
            return false;
        *fresh = (struct exchange){.request = TC_BUF_INIT, .reply = TC_BUF_INIT};
    }
    struct exchange *e = head->number < r->count ? &r->items[head->number] : NULL;
    if (!e || e->asked == request || e->ended)
        return false;
    e->asked = true;
    if (request)
        tc_buf_add(&e->request, bytes, head->length);
    else if (head->kind == TC_EXCHANGE_REPLY)
        tc_buf_add(&e->reply, bytes, head->length);
    else
        e->ended = tc_exchange_read_end(bytes, head->length, &e->end);
    return !e->request.failed && !e->reply.failed && (head->kind != TC_EXCHANGE_END || e->ended);
}

/* The proxy sends a tool's last data after the tool has ended. It rarely needs this long. */
static void await_end(const struct tc_exchange_file *file)
{
    enum { PATIENCE = 100, PAUSE_US = 1000 };
    for (int i = 0; i < PATIENCE && !atomic_load(&file->lost) && !atomic_load(&file->ended); i++)
        (void)usleep(PAUSE_US);
}

/* NULL, or why the file has no complete record. */
static const char *read_file(const struct tc_exchange_file *file, struct record *r)
{
    struct tc_exchange_head head;
    const char *bytes;
    size_t at = 0;
    await_end(file);
    uint32_t ended = atomic_load(&file->ended), lost = atomic_load(&file->lost);
    uint64_t used = atomic_load(&file->used);
    if (!lost && !ended)
        lost = TC_EXCHANGE_UNDONE;
    if (lost || used > sizeof(file->frames))
        return describe_lost(lost);
    int got;
    while ((got = tc_exchange_next(file->frames, used, &at, &head, &bytes)) > 0)
        if (!take_frame(r, &head, bytes))
            return "its requests cannot be read";
    for (size_t i = 0; i < r->count; i++)
        if (!r->items[i].ended)
            return describe_lost(TC_EXCHANGE_BROKEN);
    return got < 0 ? "its requests cannot be read" : NULL;
}

/* ---- storing ---- */

/* The bytes of the heads, informational ones included, and the status; all bytes, and 0, if that is
 * not certain. */
static size_t find_body(const struct tc_buf *reply, int64_t *ret_status)
{
    enum { CODE = 9, DIGITS = 3, FINAL = 200 };
    const char *at = reply->data, *end = at + reply->len, *next;
    *ret_status = 0;
    while (at && end - at > CODE + DIGITS && memcmp(at, "HTTP/1.", 7) == 0 &&
           (next = memmem(at, (size_t)(end - at), "\r\n\r\n", 4))) {
        int64_t code = 0;
        for (int i = 0; i < DIGITS; i++)
            code = code * 10 + (at[CODE + i] & 0xf);
        at = next + 4;
        if (code < FINAL)
            continue;
        *ret_status = code;
        return (size_t)(at - reply->data);
    }
    return reply->len;
}

static bool add_line(struct tc_buf *index, const struct exchange *e, size_t head, int64_t status,
                     const char *body)
{
    struct tc_exchange_request request;
    if (!tc_exchange_read_request(e->request.data, e->request.len, &request))
        return false;
    tc_buf_addc(index, '{');
    tc_json_member(index, "method", request.method);
    tc_json_member(index, "host", request.host);
    tc_json_number(index, "port", request.port);
    tc_json_member(index, "path", request.path);
    tc_json_member(index, "sent", e->end.body);
    tc_json_number(index, "status", status);
    tc_json_bool(index, "keeps", e->end.keeps);
    tc_json_number(index, "head", (int64_t)head);
    tc_json_member(index, "received", body);
    tc_buf_adds(index, "}\n");
    return !index->failed;
}

static bool add_entry(struct tc_buf *directory, const char *name, const char *digest)
{
    struct tc_inputs_entry entry = {
        .name = name, .name_length = strlen(name), .type = 'f', .mode = 0400};
    tc_strcopy(entry.digest, sizeof(entry.digest), digest);
    _autofree_ char *text = tc_inputs_entry_text(&entry);
    if (text)
        tc_buf_add(directory, text, strlen(text) + 1);
    return text && !directory->failed;
}

struct storing {
    struct tc_inputs *store;
    struct tc_buf index, heads, directory;
};

/* Bodies are objects, so that equal ones are stored once; heads differ in their dates, so that all
 * are one object. */
static int store_exchange(struct storing *s, const struct exchange *e, size_t number)
{
    char name[24], body[TC_DIGEST_SIZE];
    int64_t status;
    size_t head = find_body(&e->reply, &status), rest = e->reply.len - head;
    (void)snprintf(name, sizeof(name), "%05zu", number);
    if (tc_inputs_put(s->store, rest ? e->reply.data + head : "", rest, body) < 0)
        return -1;
    tc_buf_add(&s->heads, e->reply.data, head);
    errno = EBADMSG;
    return add_line(&s->index, e, head, status, body) && add_entry(&s->directory, name, body) ? 0
                                                                                              : -1;
}

static int store_text(struct storing *s, const char *name, const struct tc_buf *text)
{
    char digest[TC_DIGEST_SIZE];
    errno = ENOMEM;
    return !text->failed &&
                   tc_inputs_put(s->store, text->len ? text->data : "", text->len, digest) == 0 &&
                   add_entry(&s->directory, name, digest)
               ? 0
               : -1;
}

static int store_all(struct tc_inputs *store, const struct record *r, char digest[TC_DIGEST_SIZE])
{
    struct storing s = {store, TC_BUF_INIT, TC_BUF_INIT, TC_BUF_INIT};
    int rc = 0;
    for (size_t i = 0; i < r->count && rc == 0; i++)
        rc = store_exchange(&s, &r->items[i], i);
    if (rc == 0)
        rc = store_text(&s, heads_name, &s.heads);
    if (rc == 0)
        rc = store_text(&s, index_name, &s.index);
    if (rc == 0)
        rc = tc_inputs_put(store, s.directory.data, s.directory.len, digest);
    tc_buf_done(&s.index);
    tc_buf_done(&s.heads);
    tc_buf_done(&s.directory);
    return rc;
}

/* NULL, or why nothing is stored. */
static const char *keep(const struct toolcage_call *call, struct tc_inputs *store, struct record *r,
                        char digest[TC_DIGEST_SIZE])
{
    if (call->exchanges < 0)
        return "this process may not make the file that its requests are recorded in";
    void *at =
        mmap(NULL, sizeof(struct tc_exchange_file), PROT_READ, MAP_SHARED, call->exchanges, 0);
    if (at == MAP_FAILED)
        return "its requests cannot be read";
    const char *why = read_file(at, r);
    (void)munmap(at, sizeof(struct tc_exchange_file));
    if (why || store->dir < 0)
        return why ? why : "the store of inputs cannot be written";
    if (store_all(store, r, digest) == 0)
        return NULL;
    return errno == EDQUOT ? "the store of inputs is full (toolcage audit prune)"
                           : "its requests cannot be stored";
}

void tc_exchanges_keep(const struct toolcage_call *call, struct tc_inputs *store,
                       struct tc_buf *out)
{
    struct record r = {0};
    char digest[TC_DIGEST_SIZE] = "";
    int64_t bytes = 0;
    if (!call->grant.net_count)
        return;
    const char *why = keep(call, store, &r, digest);
    for (size_t i = 0; i < r.count; i++)
        bytes += (int64_t)r.items[i].reply.len;
    tc_json_key(out, "exchanges");
    tc_buf_addc(out, '{');
    if (why) {
        tc_json_member(out, "left_out", why);
    } else {
        tc_json_member(out, "directory", digest);
        tc_json_number(out, "requests", (int64_t)r.count);
        tc_json_number(out, "bytes", bytes);
    }
    tc_buf_addc(out, '}');
    forget(&r);
}

/* ---- a replay ---- */

static int fail_replay(const char *digest, const char *what, struct toolcage_error **err)
{
    return tc_fail(err,
                   TC_WHY(TOOLCAGE_ENOT_FOUND, "exchanges", digest,
                          "record the call again: a replay answers from the record alone"),
                   "the recorded requests of the call %s", what);
}

/* The digest of the object that the directory has under this name. */
static bool find_entry(const char *directory, size_t length, const char *name,
                       char ret[TC_DIGEST_SIZE])
{
    const struct tc_buf object = {.data = (char *)(uintptr_t)directory, .len = length};
    struct tc_inputs_entry entry;
    size_t at = 0;
    while (tc_inputs_entry_next(&object, &at, &entry) > 0)
        if (entry.name_length == strlen(name) && memcmp(entry.name, name, entry.name_length) == 0) {
            tc_strcopy(ret, TC_DIGEST_SIZE, entry.digest);
            return true;
        }
    return false;
}

/* What is read of a stored record. */
struct reading {
    int store;
    struct tc_buf *frames;
    const char *heads; /* those that are left */
    size_t heads_left;
    uint32_t number;
};

static bool add_reply(struct reading *r, size_t head, const char *body, size_t length)
{
    _autobuf_ struct tc_buf reply = {.max = SIZE_MAX / 2};
    if (head > r->heads_left || head + length > TC_EXCHANGES_BYTES_MAX)
        return false;
    tc_buf_add(&reply, r->heads, head);
    tc_buf_add(&reply, body, length);
    r->heads += head;
    r->heads_left -= head;
    r->frames->failed |= reply.failed;
    tc_exchange_put(r->frames, TC_EXCHANGE_REPLY, r->number, reply.data, reply.len);
    return true;
}

static bool add_exchange(struct reading *r, const json_t *line)
{
    struct tc_exchange_request request;
    struct tc_exchange_end end = {0};
    const char *sent, *received;
    int port, keeps;
    json_int_t head;
    size_t length = 0;
    if (json_unpack((json_t *)(uintptr_t)line, "{s:s,s:s,s:i,s:s,s:s,s:b,s:I,s:s}", "method",
                    &request.method, "host", &request.host, "port", &port, "path", &request.path,
                    "sent", &sent, "keeps", &keeps, "head", &head, "received", &received) != 0 ||
        strlen(sent) >= sizeof(end.body) || head < 0)
        return false;
    _autofree_ char *body = tc_stored_bytes(r->store, received, &length);
    request.port = (uint32_t)port;
    end.keeps = (uint32_t)keeps;
    tc_strcopy(end.body, sizeof(end.body), sent);
    tc_exchange_put_request(r->frames, r->number, &request);
    if (!body || !add_reply(r, (size_t)head, body, length))
        return false;
    tc_exchange_put(r->frames, TC_EXCHANGE_END, r->number++, &end, sizeof(end));
    return !r->frames->failed;
}

static bool add_exchanges(struct reading *r, const char *lines)
{
    bool fine = true;
    for (const char *at = lines, *end; fine && *at; at = end + 1) {
        end = strchr(at, '\n');
        json_t *line = end && r->number < TC_EXCHANGES_MAX
                           ? json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL)
                           : NULL;
        fine = line && add_exchange(r, line);
        json_decref(line);
        if (!end)
            break;
    }
    return fine && !r->heads_left;
}

/* Every object is checked against its digest, and the first digest is in the audit log. */
static bool read_stored(int store, const char *digest, struct tc_buf *frames)
{
    char index[TC_DIGEST_SIZE], heads[TC_DIGEST_SIZE];
    struct reading r = {.store = store, .frames = frames};
    size_t length = 0;
    _autofree_ char *directory = tc_stored_bytes(store, digest, &length);
    if (!directory || !find_entry(directory, length, index_name, index) ||
        !find_entry(directory, length, heads_name, heads))
        return false;
    _autofree_ char *lines = tc_stored_bytes(store, index, &length);
    _autofree_ char *all = tc_stored_bytes(store, heads, &r.heads_left);
    r.heads = all;
    return lines && all && length <= INDEX_MAX && add_exchanges(&r, lines);
}

static int begin_replay(const char *digest, int *ret_fd, struct toolcage_error **err)
{
    /* room for all requests in addition to the responses */
    struct tc_buf frames = {.max = (size_t)TC_EXCHANGES_BYTES_MAX + INDEX_MAX};
    int store = tc_stored_open(false);
    bool fine = store >= 0 && read_stored(store, digest, &frames);
    bool missing = errno == ENOENT;
    tc_stored_close(store);
    int r =
        fine ? 0 : fail_replay(digest, missing ? "are no longer stored" : "cannot be read", err);
    if (fine &&
        (*ret_fd = tc_memfd("toolcage-exchanges", frames.data ? frames.data : "", frames.len)) < 0)
        r = fail_replay(digest, "cannot be given to the proxy: no memory file can be made", err);
    tc_buf_done(&frames);
    return r;
}

int tc_exchanges_begin(struct toolcage_call *call, int *ret_fd, struct toolcage_error **err)
{
    const char *digest = NULL;
    for (size_t i = 0; i < call->narrow_count; i++)
        if (tc_streq(call->narrow[i].key, "exchanges"))
            digest = call->narrow[i].value;
    *ret_fd = -1;
    if (!tc_call_is_replay(call))
        return begin_record(call, ret_fd);
    return digest && call->grant.net_count ? begin_replay(digest, ret_fd, err) : 0;
}
