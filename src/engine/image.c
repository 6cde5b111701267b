/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The image of toolcage's containers as a tar: one program, and mount points for the engine. */
#include "engine/life.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"

enum { BLOCK = 512, PROGRAM_MAX = 256 << 20 };

/* The ustar header of POSIX. */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[6],
        version[2], owner[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static const char *const directories[] = {"dev/", "etc/",       "proc/",
                                          "sys/", ".toolcage/", ".toolcage/talk/"};

struct image {
    char *head; /* all headers; the program's is the last */
    size_t head_len, size;
    int program;
};

static void add_header(struct image *m, const char *name, char type, size_t size, unsigned mode)
{
    struct header *h = (struct header *)(m->head + m->head_len);
    unsigned sum = 0;
    *h = (struct header){.type = type, .magic = "ustar", .version = {'0', '0'}};
    (void)snprintf(h->name, sizeof(h->name), "%s", name);
    (void)snprintf(h->mode, sizeof(h->mode), "%07o", mode);
    (void)snprintf(h->uid, sizeof(h->uid), "%07o", 0);
    (void)snprintf(h->gid, sizeof(h->gid), "%07o", 0);
    (void)snprintf(h->size, sizeof(h->size), "%011llo", (unsigned long long)size);
    (void)snprintf(h->mtime, sizeof(h->mtime), "%011o", 0);
    memset(h->sum, ' ', sizeof(h->sum));
    for (size_t i = 0; i < BLOCK; i++)
        sum += ((const unsigned char *)h)[i];
    (void)snprintf(h->sum, sizeof(h->sum) - 1, "%06o", sum);
    m->head_len += BLOCK;
}

/* The headers, the program, and zeros: padding to a full block, and two more blocks. */
static long give(void *userdata, size_t at, char *to, size_t room)
{
    const struct image *m = userdata;
    size_t left;
    if (at < m->head_len) {
        left = m->head_len - at;
        room = room < left ? room : left;
        memcpy(to, m->head + at, room);
        return (long)room;
    }
    if (at < m->head_len + m->size) {
        left = m->head_len + m->size - at;
        ssize_t n = pread(m->program, to, room < left ? room : left, (off_t)(at - m->head_len));
        return n > 0 ? (long)n : -1; /* the file was truncated: abort */
    }
    memset(to, 0, room);
    return (long)room;
}

static size_t padded(size_t size)
{
    return (size + BLOCK - 1) / BLOCK * BLOCK;
}

bool tc_engine_image(int program, struct tc_engine_http_source *ret)
{
    struct stat st;
    if (fstat(program, &st) < 0)
        return false;
    errno = EFBIG;
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > PROGRAM_MAX)
        return false;
    struct image *m = calloc(1, sizeof(*m));
    char *head = calloc(TC_COUNT(directories) + 1, BLOCK);
    if (!m || !head) {
        free(m);
        free(head);
        errno = ENOMEM;
        return false;
    }
    *m = (struct image){.head = head, .size = (size_t)st.st_size, .program = program};
    for (size_t i = 0; i < TC_COUNT(directories); i++)
        add_header(m, directories[i], '5', 0, 0755);
    add_header(m, &TC_ENGINE_INIT[1], '0', m->size, 0755);
    *ret = (struct tc_engine_http_source){
        .read = give, .userdata = m, .len = m->head_len + padded(m->size) + 2 * (size_t)BLOCK};
    return true;
}

void tc_engine_image_done(struct tc_engine_http_source *source)
{
    struct image *m = source->userdata;
    if (!m)
        return;
    free(m->head);
    free(m);
    source->userdata = NULL;
}
