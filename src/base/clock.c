/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int tc_ulid(char out[TC_ULID_SIZE])
{
    static const char digits[] = TC_ULID_DIGITS;
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    uint64_t ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
    for (int i = 9; i >= 0; i--, ms >>= 5)
        out[i] = digits[ms & 31];
    unsigned char random[16];
    ssize_t n;
    do
        n = getrandom(random, sizeof(random), 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(random))
        return -1;
    for (int i = 0; i < 16; i++)
        out[10 + i] = digits[random[i] & 31];
    out[26] = '\0';
    return 0;
}

bool tc_ulid_named(const char *name, const char *ending, char ret[TC_ULID_SIZE])
{
    const size_t length = TC_ULID_SIZE - 1;
    if (strnlen(name, length) < length || strspn(name, TC_ULID_DIGITS) < length ||
        strcmp(name + length, ending) != 0)
        return false;
    memcpy(ret, name, length);
    ret[length] = '\0';
    return true;
}
