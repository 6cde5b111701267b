/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Sends toolcage-egress at its start the messages that a supervisor would send: this proxy has
 * no supervisor. */
#include "call/policy_check.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "call/call.h"
#include "call/host/facts.h"
#include "egress/egress.h"

static int fail_sidecar(struct toolcage_error **err, int code, const char *tool, const char *hint,
                        const char *what)
{
    return tc_fail(err,
                   TC_WHY_ERRNO(code, "egress", tool ? tool : "defaults",
                                code == TOOLCAGE_ESYSTEM ? errno : 0, hint),
                   "the proxy for %s cannot be started: %s", tool ? tool : "[defaults]", what);
}

/* Hosts that the tool may reach in every call: hosts in arguments belong to one call. */
static int resolve(const struct toolcage_policy *policy, const char *tool, struct tc_grant *ret,
                   struct toolcage_error **err)
{
    _autosurroundings_ struct tc_surroundings here = {0};
    const struct tc_request request = {.tool = tool, .explain = true};
    int r = tc_surroundings_gather(&here, err);
    if (r == 0)
        r = tc_policy_resolve(policy, &request, &here.facts, ret, err);
    if (r < 0)
        return r;
    if (!ret->net_count)
        return fail_sidecar(err, TOOLCAGE_EUSAGE, tool, "name a tool whose network is not \"none\"",
                            "it has no network");
    return 0;
}

static bool send_config(int to, const struct tc_grant *grant, int values, const int *listeners,
                        size_t count)
{
    struct tc_egress_config config = {.net = grant->net,
                                      .net_count = grant->net_count,
                                      .upstream = grant->upstream,
                                      .secrets = grant->secrets,
                                      .secret_count = grant->secret_count,
                                      .values_file = values,
                                      .exchanges = -1,
                                      .sockets = -1,
                                      .tool = grant->tool,
                                      .connections = grant->limits.connections,
                                      .transfer = grant->limits.transfer,
                                      .bandwidth = grant->limits.bandwidth};
    struct tc_egress_message then = {.kind = TC_EGRESS_LISTEN, .count = (int32_t)count};
    for (size_t i = 0; i < count; i++)
        then.role[i] = TC_EGRESS_PROXY;
    return tc_egress_config_fine(&config) &&
           tc_task_send(to, &tc_egress_config_fields, &config) == 0 &&
           tc_send(to, &then, sizeof(then), listeners, count) == 0;
}

int tc_sidecar(const struct toolcage_policy *policy, const char *tool, const int *listeners,
               size_t count, int *ret, struct toolcage_error **err)
{
    struct tc_grant grant = {0};
    int pair[2], secrets = -1, r = resolve(policy, tool, &grant, err);
    if (r == 0)
        r = tc_secrets_read(policy, &grant, &secrets, err);
    _autofd_ int values = secrets;
    if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        r = fail_sidecar(err, TOOLCAGE_ESYSTEM, tool, "raise this process's limit of open files",
                         "a socket cannot be made");
    if (r == 0) {
        _autofd_ int ours = pair[0], theirs = pair[1];
        if (send_config(ours, &grant, values, listeners, count))
            *ret = TAKE_FD(theirs);
        else
            r = fail_sidecar(err, TOOLCAGE_ESYSTEM, tool, "free memory on this host",
                             "the policy's entries cannot be sent to it");
    }
    tc_grant_done(&grant);
    return r;
}
