/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * SHA-256 (FIPS 180-4) of files. */
#include "tool.h"

#include <errno.h>

enum { BLOCK = 64 };

struct state {
    uint32_t h[8];
    uint64_t bytes;
    uint8_t block[BLOCK];
};

static const uint32_t begin[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
static const uint32_t rounds[BLOCK] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void mix(struct state *s)
{
    uint32_t w[BLOCK], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
               (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (int i = 16; i < BLOCK; i++)
        w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, s->h, sizeof(v));
    for (int i = 0; i < BLOCK; i++) {
        uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + rounds[i] + w[i];
        uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        s->h[i] += v[i];
}

static void add(struct state *s, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->block[s->bytes++ % BLOCK] = bytes[i];
        if (s->bytes % BLOCK == 0)
            mix(s);
    }
}

static void finish(struct state *s)
{
    uint64_t bits = s->bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    add(s, (const uint8_t *)"\x80", 1);
    while (s->bytes % BLOCK != BLOCK - 8)
        add(s, (const uint8_t *)"", 1);
    add(s, length, sizeof(length));
}

static void hash(const char *path)
{
    struct state s = {.bytes = 0};
    static uint8_t piece[65536];
    size_t n;
    FILE *in = fopen(path, "rb");
    if (!in)
        fail("%s cannot be opened: %s", path, strerror(errno));
    memcpy(s.h, begin, sizeof(begin));
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
        add(&s, piece, n);
    if (ferror(in))
        fail("%s cannot be read: %s", path, strerror(errno));
    (void)fclose(in);
    unsigned long long size = s.bytes;
    finish(&s);
    for (int i = 0; i < 8; i++)
        printf("%08x", (unsigned)s.h[i]);
    printf("  %llu  %s\n", size, path);
}

int main(void)
{
    read_arguments();
    const struct json *paths = argument_list("paths");
    for (size_t i = 0; i < paths->count; i++)
        hash(paths->items[i].text.at);
    return 0;
}
