/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "live/inside/order.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"

enum { LISTS = 4 };

/* The file: this head, room for the pointers of all lists with their NULLs, and the strings in the
 * same order. The receiver's private mapping fills the room. */
struct head {
    uint32_t counts[LISTS];
    struct tc_live_extras extras;
};

static size_t pointers_of(const struct head *head)
{
    size_t all = 0;
    for (size_t i = 0; i < LISTS; i++)
        all += (size_t)head->counts[i] + 1;
    return all;
}

int tc_live_order_make(const struct tc_live_lists *lists)
{
    const char *const *const each[LISTS] = {lists->argv, lists->envp, lists->programs,
                                            lists->directories};
    static const char *const none = NULL;
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    struct head head = {.extras = lists->extras};
    out.max = TC_LIVE_ORDER_MAX;
    for (size_t i = 0; i < LISTS; i++)
        while (each[i] && each[i][head.counts[i]])
            head.counts[i]++;
    tc_buf_add(&out, &head, sizeof(head));
    for (size_t i = pointers_of(&head); i > 0 && !out.failed; i--)
        tc_buf_add(&out, &none, sizeof(none));
    for (size_t i = 0; i < LISTS; i++)
        for (size_t n = 0; n < head.counts[i]; n++)
            tc_buf_add(&out, each[i][n], strlen(each[i][n]) + 1);
    errno = E2BIG;
    return out.failed ? -1 : tc_memfd("order", out.data, out.len);
}

/* Sets the pointers of all lists; false: the strings are not exactly these lists. */
static bool place(const struct head *head, char *base, size_t size, const char **ret[LISTS])
{
    size_t room = pointers_of(head), at = sizeof(*head) + room * sizeof(char *);
    const char **next = (const char **)(void *)(base + sizeof(*head));
    if (at > size)
        return false;
    for (size_t i = 0; i < LISTS; i++) {
        ret[i] = next;
        for (uint32_t n = 0; n < head->counts[i]; n++) {
            const char *end = at < size ? memchr(base + at, 0, size - at) : NULL;
            if (!end)
                return false;
            *next++ = base + at;
            at = (size_t)(end - base) + 1;
        }
        *next++ = NULL;
    }
    return at == size;
}

bool tc_live_order_open(int fd, struct tc_live_lists *ret, void **ret_map, size_t *ret_size)
{
    struct stat st;
    struct head head;
    const char **lists[LISTS];
    if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(head) || st.st_size > TC_LIVE_ORDER_MAX)
        return false;
    size_t size = (size_t)st.st_size;
    char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED)
        return false;
    memcpy(&head, base, sizeof(head));
    if (!place(&head, base, size, lists) || !head.counts[0] || !head.counts[2] || !head.counts[3]) {
        (void)munmap(base, size);
        return false;
    }
    *ret = (struct tc_live_lists){lists[0], lists[1], lists[2], lists[3], head.extras};
    *ret_map = base;
    *ret_size = size;
    return true;
}
