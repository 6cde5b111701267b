/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/digest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void tc_digest_finish(SHA2_CTX *ctx, char out[TC_DIGEST_SIZE])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t sum[SHA256_DIGEST_LENGTH];
    SHA256Final(sum, ctx);
    memcpy(out, "sha256:", 7);
    for (size_t i = 0; i < sizeof(sum); i++) {
        out[7 + 2 * i] = hex[sum[i] >> 4];
        out[8 + 2 * i] = hex[sum[i] & 15];
    }
    out[TC_DIGEST_SIZE - 1] = '\0';
}

void tc_digest(const void *bytes, size_t len, char out[TC_DIGEST_SIZE])
{
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    SHA256Update(&ctx, bytes, len);
    tc_digest_finish(&ctx, out);
}

bool tc_digest_valid(const char *text)
{
    static const char kind[] = "sha256:";
    enum { PREFIX = sizeof(kind) - 1, HEX = TC_DIGEST_SIZE - sizeof(kind) };
    return strncmp(text, kind, PREFIX) == 0 && strlen(text) == PREFIX + HEX &&
           strspn(text + PREFIX, "0123456789abcdef") == HEX;
}
