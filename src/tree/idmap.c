/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The user for whom paths are mounted, and the id maps of a root caller's mounts: one record for
 * each helper. It is written before a second thread exists; the id maps change later, under a lock.
 * No file system operation blocks under the lock. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/strv.h"
#include "linux/userns.h"
#include "tree/tree.h"

enum { IDMAPS_MAX = 128 }; /* each holds an fd */

struct tc_idmap {
    uid_t file_uid, cage_uid;
    gid_t file_gid, cage_gid;
    int fd;
    struct tc_userns_holder holder;
};

struct tc_tree_host tc_tree_host = {.mask_file = -1, .mask_dir = -1};

static pthread_mutex_t idmap_lock = PTHREAD_MUTEX_INITIALIZER;

void tc_tree_reap_holders(struct tc_tree_host *h)
{
    (void)pthread_mutex_lock(&idmap_lock);
    for (size_t i = 0; i < h->idmap_count; i++)
        tc_userns_holder_reap(&h->idmaps[i].holder);
    (void)pthread_mutex_unlock(&idmap_lock);
}

static struct tc_idmap *find_idmap(struct tc_tree_host *h, const struct tc_idmap *like)
{
    for (size_t i = 0; i < h->idmap_count; i++) {
        struct tc_idmap *m = &h->idmaps[i];
        if (m->file_uid == like->file_uid && m->file_gid == like->file_gid &&
            m->cage_uid == like->cage_uid)
            return m;
    }
    return NULL;
}

static struct tc_idmap *make_idmap(struct tc_tree_host *h, const struct tc_idmap *like)
{
    if (h->idmap_count == IDMAPS_MAX) { /* mounts made with the namespace keep it alive */
        tc_userns_holder_reap(&h->idmaps[0].holder);
        (void)close(h->idmaps[0].fd);
        memmove(&h->idmaps[0], &h->idmaps[1], --h->idmap_count * sizeof(*h->idmaps));
    }
    struct tc_idmap *m = TC_PUSH(h->idmaps, h->idmap_count);
    if (!m) {
        errno = ENOMEM;
        return NULL;
    }
    *m = *like;
    m->fd = tc_idmap_userns(m->file_uid, m->file_gid, m->cage_uid, m->cage_gid, &m->holder);
    if (m->fd >= 0)
        return m;
    int saved = errno;
    tc_userns_holder_reap(&m->holder);
    h->idmap_count--;
    errno = saved;
    return NULL;
}

int tc_tree_idmap(struct tc_tree_host *h, uid_t file_uid, gid_t file_gid, uid_t cage_id)
{
    const struct tc_idmap like = {.file_uid = file_uid,
                                  .cage_uid = cage_id,
                                  .file_gid = file_gid,
                                  .cage_gid = (gid_t)cage_id,
                                  .fd = -1};
    (void)pthread_mutex_lock(&idmap_lock);
    struct tc_idmap *m = find_idmap(h, &like);
    if (!m)
        m = make_idmap(h, &like);
    int fd = m ? fcntl(m->fd, F_DUPFD_CLOEXEC, 3) : -1, saved = errno;
    (void)pthread_mutex_unlock(&idmap_lock);
    errno = saved;
    return fd;
}
