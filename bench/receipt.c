/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What receipts cost: toolcage-receipt signs and verifies statements of the usual size, one request
 * at a time. usage: receipt PROGRAM COUNT */
#include "receipt/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"
#include "bench.h"

enum { STATEMENT = 3500 };

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define RECORD "{\"seq\":1,\"hash\":\"sha256:" HASH "\"}"

struct signer {
    int socket;
    pid_t pid;
    struct tc_frames frames;
};

static struct signer start(const char *program, int key)
{
    static const size_t most[TC_RECEIPT_KINDS] = {[TC_RECEIPT_DONE] = TC_RECEIPT_ENVELOPE_MAX,
                                                  [TC_RECEIPT_WRONG] = 256,
                                                  [TC_RECEIPT_WRONG_KEY] = 256};
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
        die("no socket");
    struct signer s = {.socket = sockets[0], .frames = tc_frames_of(most, TC_COUNT(most))};
    s.pid = fork();
    if (s.pid == 0) {
        if (dup2(sockets[1], TC_RECEIPT_SOCKET) >= 0 && dup2(key, TC_RECEIPT_KEY) >= 0)
            (void)execl(program, program, (char *)NULL);
        _exit(127);
    }
    (void)close(sockets[1]);
    return s;
}

/* The answer is valid until the next request. */
static struct tc_frame ask(struct signer *s, enum tc_receipt_kind kind, const char *bytes,
                           size_t length)
{
    struct tc_frame answer = {.kind = TC_RECEIPT_WRONG};
    _autobuf_ struct tc_buf request = TC_BUF_INIT;
    tc_frame_put(&request, kind, bytes, length);
    if (tc_write_all(s->socket, request.data, request.len) < 0)
        die("the signer has ended");
    while (tc_frames_next(&s->frames, &answer) == 0)
        if (tc_frames_read(&s->frames, s->socket) <= 0)
            die("the signer has ended");
    if (answer.kind != TC_RECEIPT_DONE)
        die("%.*s", (int)answer.len, answer.bytes);
    return answer;
}

static void end(struct signer *s)
{
    (void)close(s->socket);
    (void)waitpid(s->pid, NULL, 0);
    tc_frames_done(&s->frames);
}

static void write_statement(struct tc_buf *out)
{
    tc_buf_adds(out, "{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[{\"name\":\"x\","
                     "\"digest\":{\"sha256\":\"" HASH "\"}}],"
                     "\"predicateType\":\"" TC_RECEIPT_PREDICATE "\",\"predicate\":{"
                     "\"call\":\"01JD8XKQ7PZ3T5V9WYB2C4D6E8\",\"log\":{\"decision\":" RECORD
                     ",\"result\":" RECORD "},\"requested\":{},\"granted\":{},\"enforced\":{},"
                     "\"observed\":{\"status\":\"");
    while (out->len < STATEMENT)
        tc_buf_addc(out, 'x');
    tc_buf_adds(out, "\"}}}");
}

static void measure(struct signer *s, const char *name, enum tc_receipt_kind kind,
                    const struct tc_buf *request, long count)
{
    struct samples one = {.name = name};
    for (long i = 0; i < count; i++) {
        double start_us = clock_us();
        (void)ask(s, kind, request->data, request->len);
        samples_add(&one, clock_us() - start_us);
    }
    double median = samples_at(&one, 0.5);
    printf("receipt %-9s %9.1f us   p95 %9.1f us   %8.0f a second\n", name, median,
           samples_at(&one, 0.95), 1e6 / median);
    free(one.us);
}

int main(int argc, char *argv[])
{
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (count < 1)
        die("usage: receipt PROGRAM COUNT");
    struct tc_buf statement = TC_BUF_INIT, envelope = TC_BUF_INIT;
    int secret = memfd_create("secret", 0), public = memfd_create("public", 0);
    struct signer signer = start(argv[1], secret);
    struct tc_frame key = ask(&signer, TC_RECEIPT_MAKE, "", 0);
    if (tc_write_all(public, key.bytes, key.len) < 0 || lseek(public, 0, SEEK_SET) < 0)
        die("no memory file");
    write_statement(&statement);
    measure(&signer, "signed", TC_RECEIPT_SIGN, &statement, count);
    struct tc_frame sealed = ask(&signer, TC_RECEIPT_SIGN, statement.data, statement.len);
    tc_buf_add(&envelope, sealed.bytes, sealed.len);
    end(&signer);
    struct signer verifier = start(argv[1], public);
    measure(&verifier, "verified", TC_RECEIPT_CHECK, &envelope, count);
    end(&verifier);
    tc_buf_done(&statement);
    tc_buf_done(&envelope);
    return 0;
}
