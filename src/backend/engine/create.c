/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/engine/create.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsontext.h"
#include "engine/engine.h"
#include "policy/settings.h"

/* Our own filter stands before the tool; an engine's would forbid the first program the namespaces
 * and mounts that the cage is made of. The same goes for profiles of AppArmor and SELinux. */
#define OPEN                                                                                \
    "\"SecurityOpt\":[\"no-new-privileges\",\"seccomp=unconfined\",\"apparmor=unconfined\"" \
    ",\"label=disable\"]"

static void add_labels(struct tc_buf *out, const struct tc_plan *plan,
                       const struct tc_engine_container *c)
{
    tc_buf_adds(out, "\"Labels\":{");
    tc_json_member(out, TC_ENGINE_LABEL, c->call);
    if (plan->tool)
        tc_json_member(out, "toolcage.tool", plan->tool);
    tc_buf_adds(out, "}");
}

/* With ":" between them, which no path of ours has. */
static void add_bind(struct tc_buf *out, const char *from, const char *to)
{
    _autobuf_ struct tc_buf bind = TC_BUF_INIT;
    tc_buf_addf(&bind, "%s:%s:rw", from, to);
    tc_buf_adds(out, "\"Binds\":[");
    tc_json_string(out, bind.data ? bind.data : "", bind.len);
    tc_buf_adds(out, "]");
    out->failed = out->failed || bind.failed;
}

static void add_host(struct tc_buf *out, const struct tc_plan *plan,
                     const struct tc_engine_container *c)
{
    const char *runtime = tc_setting(&plan->settings, "runtime");
    tc_buf_adds(out,
                "\"HostConfig\":{\"AutoRemove\":true,\"NetworkMode\":\"none\","
                "\"ReadonlyRootfs\":true,\"Privileged\":false,\"CapDrop\":[\"ALL\"],"
                "\"IpcMode\":\"private\",\"CgroupnsMode\":\"private\",\"OomScoreAdj\":1000,"
                "\"LogConfig\":{\"Type\":\"none\"},\"RestartPolicy\":{\"Name\":\"no\"}," OPEN ",");
    /* the kernel wants it of whoever maps a root's id, and a rootless engine's root is the caller
     */
    if (c->uid == 0)
        tc_buf_adds(out, "\"CapAdd\":[\"SETFCAP\"],");
    if (runtime) {
        tc_buf_adds(out, "\"Runtime\":");
        tc_json_string(out, runtime, strlen(runtime));
        tc_buf_addc(out, ',');
    }
    tc_buf_addf(out,
                "\"Ulimits\":[{\"Name\":\"nofile\",\"Soft\":%" PRId64 ",\"Hard\":%" PRId64 "},"
                "{\"Name\":\"nproc\",\"Soft\":%" PRId64 ",\"Hard\":%" PRId64 "}],",
                c->files, c->files, c->processes, c->processes);
    add_bind(out, c->talk, TC_ENGINE_TALK);
    tc_buf_addc(out, '}');
}

char *tc_engine_create(const struct tc_plan *plan, const struct tc_engine_container *c)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"Image\":");
    tc_json_string(&out, c->image, strlen(c->image));
    tc_buf_addf(&out,
                ",\"Entrypoint\":[\"" TC_ENGINE_INIT "\"],\"Cmd\":[],\"Env\":[],"
                "\"WorkingDir\":\"/\",\"Hostname\":\"cage\",\"User\":\"%u:%u\","
                "\"Tty\":false,\"OpenStdin\":false,\"AttachStdin\":false,\"AttachStdout\":false,"
                "\"AttachStderr\":false,\"NetworkDisabled\":true,",
                (unsigned)c->uid, (unsigned)c->gid);
    add_labels(&out, plan, c);
    tc_buf_addc(&out, ',');
    add_host(&out, plan, c);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}
