/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Records requests and what their clients receive: after secrets are masked, and before they are
 * injected. What the record cannot hold makes it unusable as a whole, and recording stops. */
#include "egress/proxy/kept.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "egress/proxy/flow.h"
#include "egress/read/stats.h"

/* ---- the file ---- */

/* Neither a later truncation nor, in a replay, a later write can change what is mapped. */
static bool has_seals(int fd, int wanted)
{
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & wanted) == wanted;
}

static bool open_record(struct tc_egress_proxy *p, int fd, size_t size)
{
    void *at = size == sizeof(*p->keeper.file) && has_seals(fd, F_SEAL_SHRINK)
                   ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                   : MAP_FAILED;
    p->keeper.file = at == MAP_FAILED ? NULL : at;
    return p->keeper.file != NULL;
}

static bool open_replay(struct tc_egress_proxy *p, int fd, size_t size)
{
    if (!has_seals(fd, F_SEAL_SHRINK | F_SEAL_WRITE))
        return false;
    void *at = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : NULL;
    p->keeper.again = at == MAP_FAILED ? NULL : tc_egress_recorded_read(at, size);
    return p->keeper.again != NULL;
}

bool tc_egress_kept_open(struct tc_egress_proxy *p)
{
    struct stat st;
    if (p->config.exchanges < 0)
        return !p->config.replays;
    _autofd_ int fd = TAKE_FD(p->config.exchanges);
    return fstat(fd, &st) == 0 && (p->config.replays ? open_replay(p, fd, (size_t)st.st_size)
                                                     : open_record(p, fd, (size_t)st.st_size));
}

bool tc_egress_replays(const struct tc_egress_proxy *p)
{
    return p->config.replays;
}

/* ---- recording ---- */

static bool records(const struct tc_egress_proxy *p)
{
    return p->keeper.file && !atomic_load(&p->keeper.file->lost);
}

static void lose(struct tc_egress_proxy *p, const char *host, unsigned port,
                 enum tc_exchange_lost why)
{
    if (!records(p))
        return;
    tc_egress_target(host && host[0] ? host : "", port, p->keeper.file->subject);
    atomic_store(&p->keeper.file->lost, why);
}

void tc_egress_kept_lost(struct tc_egress_proxy *p, const struct tc_egress_flow *f,
                         enum tc_exchange_lost why)
{
    lose(p, f ? f->to.name : NULL, f ? f->to.port : 0, why);
}

static void write_frame(struct tc_egress_proxy *p, const struct tc_egress_flow *f,
                        const struct tc_buf *frame)
{
    struct tc_exchange_file *file = p->keeper.file;
    uint64_t used = atomic_load(&file->used);
    if (frame->failed || frame->len > sizeof(file->frames) - used) {
        tc_egress_kept_lost(p, f, TC_EXCHANGE_LARGE);
        return;
    }
    memcpy(file->frames + used, frame->data, frame->len);
    atomic_store(&file->used, used + frame->len);
}

static void record(struct tc_egress_proxy *p, struct tc_egress_flow *f, enum tc_exchange_kind kind,
                   const void *bytes, size_t len)
{
    _autobuf_ struct tc_buf frame = TC_BUF_INIT;
    if (!records(p))
        return;
    tc_exchange_put(&frame, kind, f->kept.number, bytes, len);
    write_frame(p, f, &frame);
}

static void record_request(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                           const struct tc_egress_http_head *head)
{
    _autobuf_ struct tc_buf frame = TC_BUF_INIT;
    _autofree_ char *method = strndup(head->method.at, head->method.len);
    _autofree_ char *path = strndup(head->path.at, head->path.len);
    if (p->keeper.count >= TC_EXCHANGES_MAX) {
        tc_egress_kept_lost(p, f, TC_EXCHANGE_MANY);
        return;
    }
    f->kept.number = p->keeper.count++;
    frame.failed = !method || !path;
    if (!frame.failed)
        tc_exchange_put_request(
            &frame, f->kept.number,
            &(struct tc_exchange_request){method, f->to.name, path, f->to.port});
    write_frame(p, f, &frame);
}

void tc_egress_kept_request(struct tc_egress_proxy *p, struct tc_egress_flow *f,
                            const struct tc_egress_http_head *head)
{
    char target[TC_EGRESS_TARGET_MAX];
    f->kept.open = records(p) || p->keeper.again;
    if (!f->kept.open)
        return;
    SHA256Init(&f->kept.hash);
    tc_egress_http_rest_start(&f->kept.rest, head);
    if (!p->keeper.again) {
        record_request(p, f, head);
        return;
    }
    tc_egress_target(f->to.name, f->to.port, target);
    free(f->kept.request);
    f->kept.request = tc_format("%.*s %s %.*s", (int)head->method.len, head->method.at, target,
                                (int)head->path.len, head->path.at);
    f->kept.found = false;
    f->kept.left = 0;
}

void tc_egress_kept_body(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                         size_t len)
{
    struct tc_egress_http_text piece;
    const char *at = bytes;
    (void)p;
    while (f->kept.open && tc_egress_http_rest_piece(&f->kept.rest, &at, bytes + len, &piece))
        SHA256Update(&f->kept.hash, (const uint8_t *)piece.at, piece.len);
}

void tc_egress_kept_reply(struct tc_egress_proxy *p, struct tc_egress_flow *f, const char *bytes,
                          size_t len)
{
    if (f->kept.open && !p->keeper.again && len)
        record(p, f, TC_EXCHANGE_REPLY, bytes, len);
}

void tc_egress_kept_end(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool keeps)
{
    struct tc_exchange_end end = {.keeps = keeps};
    if (!f->kept.open)
        return;
    f->kept.open = false;
    if (p->keeper.again)
        return;
    if (!f->kept.rest.done) { /* the server answered early: how much it read is not known */
        tc_egress_kept_lost(p, f, TC_EXCHANGE_BROKEN);
        return;
    }
    tc_digest_finish(&f->kept.hash, end.body);
    record(p, f, TC_EXCHANGE_END, &end, sizeof(end));
}

void tc_egress_kept_close(struct tc_egress_proxy *p, struct tc_egress_flow *f, bool whole)
{
    if (!f->kept.open)
        return;
    if (whole) {
        tc_egress_kept_end(p, f, false);
        return;
    }
    f->kept.open = false;
    tc_egress_kept_lost(p, f, TC_EXCHANGE_BROKEN);
}

void tc_egress_kept_exit(struct tc_egress_proxy *p, bool whole)
{
    if (!whole)
        tc_egress_kept_lost(p, NULL, TC_EXCHANGE_UNDONE);
    if (p->keeper.file)
        atomic_store(&p->keeper.file->ended, 1);
}
