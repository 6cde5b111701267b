/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The root file system that a policy uses instead of the host's system directories. */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cage/cage.h"
#include "linux/mounts.h"

static int refuse_image(struct tc_cage *cage, const char *message, const char *hint)
{
    return tc_cage_fail(cage, TC_WHY_ERRNO(TOOLCAGE_EPATH, "image", cage->plan->image, errno, hint),
                        TC_CLAUSE_FS_READ, "the image %s %s", cage->plan->image, message);
}

/* Resolves the image to an fd, like every granted path: a user who can write a parent directory
 * cannot replace the image afterwards. Returns the fd, or -1 with the failure recorded. */
int tc_image_find(struct tc_cage *cage)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    char where[PATH_MAX];
    struct stat st;
    errno = EINVAL;
    _autofd_ int fd = cage->plan->image[0] != '/'
                          ? -1
                          : tc_resolve(&p->trees.provenance.resolver, cage->plan->image, where);
    if (fd < 0)
        return refuse_image(cage, "cannot be opened",
                            "name a directory that exists, by its real path");
    errno = ENOTDIR;
    if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
        return refuse_image(cage, "is not a directory", "unpack it, and name the directory");
    return TAKE_FD(fd);
}

int tc_image_unmounted(struct tc_cage *cage)
{
    return refuse_image(cage, "cannot be mounted", "copy it to a local file system");
}

int tc_image_open(struct tc_cage *cage, int *ret)
{
    struct tc_process_cage *p = TC_PRIV(cage);
    _autofd_ int fd = tc_image_find(cage);
    if (fd < 0)
        return -1;
    *ret = tc_tree_keep(&p->trees, tc_tree_open(fd, &(struct tc_tree){.userns = -1}, NULL));
    return *ret < 0 ? tc_image_unmounted(cage) : 0;
}
