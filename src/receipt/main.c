/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program toolcage-receipt: signs and verifies for the command line (protocol.h). */
#include <openssl/crypto.h>
#include <string.h>

#include "base/fd.h"
#include "base/frame.h"
#include "receipt/receipt.h"

enum { KEY_BYTES_MAX = 16 << 10 };

static struct tc_signing_key key;

static void answer(struct tc_buf *out, enum tc_receipt_kind kind, const char *text)
{
    tc_frame_put(out, kind, text, strlen(text));
}

/* Reads the key at the first request. NULL, or what is wrong. */
static const char *load_key(bool secret)
{
    _autobuf_ struct tc_buf pem = {.max = KEY_BYTES_MAX};
    if (key.pkey)
        return NULL;
    if (tc_read_all(TC_RECEIPT_KEY, &pem) < 0 || !pem.len)
        return "is empty, too large, or cannot be read";
    const char *wrong = tc_key_read(&key, pem.data, pem.len, secret);
    OPENSSL_cleanse(pem.data, pem.len);
    return wrong;
}

/* Appends the public key to `out`. NULL, or what is wrong. */
static const char *make_key(struct tc_buf *out)
{
    static const char failed[] = "cannot be made";
    _autobuf_ struct tc_buf pem = TC_BUF_INIT;
    if (key.pkey)
        return failed;
    bool fine = tc_key_make(&key, &pem) && tc_write_all(TC_RECEIPT_KEY, pem.data, pem.len) == 0 &&
                tc_key_show(&key, out);
    if (pem.data)
        OPENSSL_cleanse(pem.data, pem.len);
    return fine ? NULL : failed;
}

static const char *show_key(struct tc_buf *out)
{
    const char *wrong = load_key(true);
    return wrong ? wrong : tc_key_show(&key, out) ? NULL : "cannot be written as PEM";
}

/* False: the peer broke the protocol. */
static bool serve(const struct tc_frame *request, struct tc_buf *out)
{
    _autobuf_ struct tc_buf done = TC_BUF_INIT;
    const char *wrong_key = NULL, *wrong = NULL;
    switch (request->kind) {
    case TC_RECEIPT_SIGN:
        wrong_key = load_key(true);
        wrong = wrong_key ? NULL : tc_envelope_seal(&key, request->bytes, request->len, &done);
        break;
    case TC_RECEIPT_CHECK:
        wrong_key = load_key(false);
        wrong = wrong_key ? NULL : tc_envelope_open(&key, request->bytes, request->len, &done);
        break;
    case TC_RECEIPT_MAKE:
        wrong_key = make_key(&done);
        break;
    case TC_RECEIPT_SHOW:
        wrong_key = show_key(&done);
        break;
    default:
        return false;
    }
    if (wrong_key)
        answer(out, TC_RECEIPT_WRONG_KEY, wrong_key);
    else if (wrong)
        answer(out, TC_RECEIPT_WRONG, wrong);
    else
        tc_frame_put(out, TC_RECEIPT_DONE, done.data, done.len);
    return !out->failed;
}

static bool serve_all(void)
{
    static const size_t most[] = {[TC_RECEIPT_SIGN] = TC_RECEIPT_STATEMENT_MAX,
                                  [TC_RECEIPT_CHECK] = TC_RECEIPT_ENVELOPE_MAX,
                                  [TC_RECEIPT_MAKE] = 0,
                                  [TC_RECEIPT_SHOW] = 0};
    struct tc_frames frames = tc_frames_of(most, TC_COUNT(most));
    struct tc_frame request;
    bool fine = true;
    while (fine && tc_frames_read(&frames, TC_RECEIPT_SOCKET) > 0) {
        int next;
        while (fine && (next = tc_frames_next(&frames, &request)) > 0) {
            _autobuf_ struct tc_buf out = TC_BUF_INIT;
            fine = serve(&request, &out) && tc_write_all(TC_RECEIPT_SOCKET, out.data, out.len) == 0;
        }
        fine = fine && next == 0;
    }
    tc_frames_done(&frames);
    return fine;
}

int main(void)
{
    if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) ||
        !tc_receipt_confine())
        _exit(1);
    bool fine = serve_all();
    tc_key_done(&key);
    _exit(fine ? 0 : 1);
}
