/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * How the command line and toolcage-receipt talk: frames {kind, length, bytes}, two 32-bit
 * little-endian numbers (base/frame.h). The program answers each request before it reads the next.
 */
#ifndef TC_RECEIPT_PROTOCOL_H
#define TC_RECEIPT_PROTOCOL_H

/* Its fds: a stream socket, and the file of the key. */
enum { TC_RECEIPT_SOCKET = 0, TC_RECEIPT_KEY = 3 };

enum tc_receipt_kind {
    /* requests */
    TC_RECEIPT_SIGN, /* a statement; the key's file has the private key. The answer: the envelope */
    TC_RECEIPT_CHECK, /* an envelope; it has the public key. The answer: the statement */
    TC_RECEIPT_MAKE, /* nothing; a new private key is written to the file. The answer is as for … */
    TC_RECEIPT_SHOW, /* nothing; it has the private key. The answer: the public key in PEM */
    /* answers */
    TC_RECEIPT_DONE,
    TC_RECEIPT_WRONG,     /* the request is refused: a text says why */
    TC_RECEIPT_WRONG_KEY, /* the key cannot be used, for any request: a text says why */
    TC_RECEIPT_KINDS,
};

/* Two records of the log fit in a statement, and its base64 in an envelope. */
enum { TC_RECEIPT_STATEMENT_MAX = 4 << 20, TC_RECEIPT_ENVELOPE_MAX = 6 << 20 };

#define TC_RECEIPT_PREDICATE "urn:toolcage:receipt:v1"

#endif
