/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Containers that are kept ready: made and started ahead of the calls that they are for, up to
 * where our PID 1 waits for orders. A claim compares what is in them already; all else (paths,
 * command, variables, streams, limits, filter) comes with the orders, from the grant of the call
 * itself. */
#include <stdlib.h>

#include "backend/oci/own.h"
#include "base/clock.h"
#include "policy/settings.h"

enum { USUALLY = 1 };

static void write_key(const struct tc_process_cage *p, struct tc_buf *key)
{
    tc_oci_blank_key(&tc_oci_own(p)->blank, key);
}

/* In the same image, if in any. */
static bool alike(const void *own, const void *other)
{
    const struct tc_oci_blank *a = own, *b = other;
    return tc_oci_identical(&a->root, &b->root);
}

/* The image was looked up for this call by now: it is the directory that was, or it is another
 * container's. */
static bool serves(void *own, struct tc_process_cage *p, int report)
{
    struct tc_oci_blank *theirs = own, *ours = &tc_oci_own(p)->blank;
    if (!tc_oci_identical(&theirs->root, &ours->root) || tc_oci_tell(p, report) < 0)
        return false;
    ours->bundle = TAKE_FD(theirs->bundle);
    tc_oci_own(p)->waited_us = tc_now_us() - theirs->made_us;
    return true;
}

static bool fill(void *own, const struct tc_process_host *host, uid_t id, struct tc_box *box)
{
    const char *what;
    return tc_oci_blank_fill(own, host, id, box, &what) == 0;
}

static void born(void *own)
{
    tc_oci_blank_born(own);
}

static void done(void *own)
{
    tc_oci_blank_done(own);
    free(own);
}

static const struct tc_spare_kind kind = {.write_key = write_key,
                                          .alike = alike,
                                          .serves = serves,
                                          .fill = fill,
                                          .born = born,
                                          .done = done};

/* With a network its way out is made before the runtime starts. The doctor's trial is no call. */
void tc_oci_ready_ask(struct tc_oci *o, const struct tc_plan *plan)
{
    const char *said = tc_setting(&plan->settings, "ready");
    o->ready = said ? strtoul(said, NULL, 10) : USUALLY;
    bool can = plan->grant && !plan->net_count && !plan->asks_network;
    o->form.ready = can && o->ready ? &kind : NULL;
}

/* Has a call been? Who makes one call and ends makes no container for a second. */
static bool again;

void tc_oci_ready_next(struct tc_process_cage *p, const struct tc_plan *plan)
{
    struct tc_oci *o = tc_oci_own(p);
    struct tc_oci_blank *blank = p->form->ready ? tc_oci_blank_copy(&o->blank) : NULL;
    if (!blank)
        return;
    p->next = tc_spare_like(p, plan->tool, blank, o->ready);
    if (again)
        tc_pool_want(TAKE(p->next), false);
    again = true;
}
