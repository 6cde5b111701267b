/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Container templates, and prestarted containers: created and started before their calls, up to the
 * point where PID 1 (toolcage's) waits for orders. A call takes a prestarted container only if the
 * containers' fixed parts are equal. Everything else (paths, command, variables, streams, limits,
 * filter) is sent with the orders, from the call's own grant. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/oci/bundle.h"
#include "backend/oci/own.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strv.h"
#include "linux/mounts.h"
#include "policy/settings.h"

int tc_oci_identify(int dirfd, const char *path, struct tc_oci_identity *ret)
{
    const unsigned wanted = STATX_INO | STATX_SIZE | STATX_CTIME | STATX_MNT_ID;
    struct statx st;
    if (statx(dirfd, path, AT_EMPTY_PATH, wanted, &st) < 0)
        return -1;
    *ret = (struct tc_oci_identity){.device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
                                    .inode = st.stx_ino,
                                    .mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0,
                                    .size = S_ISDIR(st.stx_mode) ? 0 : st.stx_size,
                                    .changed_ns = S_ISDIR(st.stx_mode)
                                                      ? 0
                                                      : st.stx_ctime.tv_sec * 1000000000 +
                                                            (int64_t)st.stx_ctime.tv_nsec};
    return 0;
}

bool tc_oci_identical(const struct tc_oci_identity *a, const struct tc_oci_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->mount == b->mount &&
           a->size == b->size && a->changed_ns == b->changed_ns;
}

static int fail_step(const char *what, const char **ret_what)
{
    *ret_what = what;
    return -1;
}

/* Only the report socket connects to PID 1; the runtime's standard streams are /dev/null. */
int tc_oci_template_fill(struct tc_oci_template *b, const struct tc_process_host *host, uid_t id,
                         struct tc_init_config *init, const char **ret_what)
{
    if ((b->init = tc_oci_self()) < 0)
        return fail_step("PID 1", ret_what);
    if ((b->bundle = tc_oci_bundle(id, b->config)) < 0)
        return fail_step("bundle", ret_what);
    if ((b->null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
        return fail_step("streams", ret_what);
    if (b->image >= 0 &&
        (b->tree = tc_tree_open(b->image, &(struct tc_tree){.userns = -1}, NULL)) < 0)
        return fail_step("image", ret_what);
    b->mount = (struct tc_init_mount){.fd = b->init, .layers = -1, .path = &TC_OCI_INIT[1]};
    tc_oci_command(b->runtime, b->path, b->argv);
    tc_oci_root_ids(host, id, init);
    init->stages = &tc_oci_stages;
    init->own = b;
    init->image = b->tree;
    init->mounts = &b->mount;
    init->mount_count = 1;
    init->in = init->out = init->err = b->null;
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void tc_oci_template_started(struct tc_oci_template *b)
{
    b->made_us = b->made_us ? b->made_us : tc_now_us();
    close_fd(&b->init);
    close_fd(&b->tree);
    close_fd(&b->null);
}

void tc_oci_template_done(struct tc_oci_template *b)
{
    tc_oci_template_started(b);
    close_fd(&b->image);
    close_fd(&b->bundle);
    free(b->path);
    free(b->config);
    *b = TC_OCI_NO_BLANK;
}

struct tc_oci_template *tc_oci_template_copy(const struct tc_oci_template *b)
{
    struct tc_oci_template *copy = malloc(sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = TC_OCI_NO_BLANK;
    copy->runtime = b->runtime;
    copy->program = b->program;
    copy->root = b->root;
    copy->path = strdup(b->path);
    copy->config = strdup(b->config);
    copy->image = b->image < 0 ? -1 : fcntl(b->image, F_DUPFD_CLOEXEC, 0);
    if (copy->path && copy->config && (b->image < 0) == (copy->image < 0))
        return copy;
    tc_oci_template_done(copy);
    free(copy);
    return NULL;
}

void tc_oci_template_key(const struct tc_oci_template *b, struct tc_buf *key)
{
    tc_buf_add(key, &b->runtime, sizeof(b->runtime));
    tc_buf_add(key, &b->program, sizeof(b->program));
    tc_buf_add(key, b->path, strlen(b->path) + 1);
    tc_buf_add(key, b->config, strlen(b->config) + 1);
}

/* ---- prestarted for the next call ---- */

enum { USUALLY = 1 };

static void write_key(const struct tc_process_cage *p, struct tc_buf *key)
{
    tc_oci_template_key(&tc_oci_own(p)->template, key);
}

/* Whether both have the same image, or none. */
static bool alike(const void *own, const void *other)
{
    const struct tc_oci_template *a = own, *b = other;
    return tc_oci_identical(&a->root, &b->root);
}

/* Called after the image was looked up for this call: if its directory changed, the container is
 * not for this call. */
static bool serves(void *own, struct tc_process_cage *p, int report)
{
    struct tc_oci_template *theirs = own, *ours = &tc_oci_own(p)->template;
    if (!tc_oci_identical(&theirs->root, &ours->root) || tc_oci_tell(p, report) < 0)
        return false;
    ours->bundle = TAKE_FD(theirs->bundle);
    tc_oci_own(p)->waited_us = tc_now_us() - theirs->made_us;
    return true;
}

static bool fill_config(void *own, const struct tc_process_host *host, uid_t id,
                        struct tc_init_config *init)
{
    const char *what;
    return tc_oci_template_fill(own, host, id, init, &what) == 0;
}

static void cloned(void *own)
{
    tc_oci_template_started(own);
}

static void done(void *own)
{
    tc_oci_template_done(own);
    free(own);
}

static const struct tc_spare_kind kind = {.write_key = write_key,
                                          .alike = alike,
                                          .serves = serves,
                                          .fill = fill_config,
                                          .cloned = cloned,
                                          .done = done};

/* A tool with a network needs its proxy before the runtime starts, so it gets no prestarted
 * container. The doctor's probe has no grant and gets none either. */
void tc_oci_ready_ask(struct tc_oci *o, const struct tc_plan *plan)
{
    const char *said = tc_setting(&plan->settings, "ready");
    o->ready = said ? strtoul(said, NULL, 10) : USUALLY;
    bool can = plan->grant && !plan->net_count && !plan->asks_network;
    o->ops.ready = can && o->ready ? &kind : NULL;
}

/* Whether a call was made before: a helper for only one call prestarts no second container. */
static bool again;

void tc_oci_ready_next(struct tc_process_cage *p, const struct tc_plan *plan)
{
    struct tc_oci *o = tc_oci_own(p);
    struct tc_oci_template *template = p->ops->ready ? tc_oci_template_copy(&o->template) : NULL;
    if (!template)
        return;
    p->next = tc_spare_like(p, plan->tool, template, o->ready);
    if (again)
        tc_pool_want(TAKE(p->next), false);
    again = true;
}
