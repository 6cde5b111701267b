/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/kata/create.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsontext.h"
#include "engine/engine.h"
#include "plan/guest.h"

/* The process cage inside has the tool's filter; what the engine's would forbid is what that cage
 * is made of. Nothing of /proc is hidden: it is the guest's. */
#define OPEN                                                                                \
    "\"SecurityOpt\":[\"no-new-privileges\",\"seccomp=unconfined\",\"apparmor=unconfined\"" \
    ",\"label=disable\"],\"MaskedPaths\":[],\"ReadonlyPaths\":[],"

void tc_kata_rights(struct tc_buf *out, const char *prefix)
{
    static const char *const rights[] = {"SYS_ADMIN", "SYS_CHROOT", "SETUID", "SETGID",
                                         "SETPCAP",   "SETFCAP",    "CHOWN",  "DAC_OVERRIDE",
                                         "FOWNER",    "FSETID",     "KILL"};
    for (size_t i = 0; i < TC_COUNT(rights); i++)
        tc_buf_addf(out, "%s\"%s%s\"", i ? "," : "[", prefix, rights[i]);
    tc_buf_addc(out, ']');
}

static void add_text(struct tc_buf *out, const char *text)
{
    tc_json_string(out, text, strlen(text));
}

static void add_bind(struct tc_buf *out, const char *from, const char *to, bool first)
{
    _autofree_ char *bind = tc_format("%s:" TC_GUEST_IMAGE "%s:ro", from, to);
    tc_buf_adds(out, first ? "" : ",");
    add_text(out, bind ? bind : "");
    out->failed = out->failed || !bind;
}

static void add_binds(struct tc_buf *out, const struct tc_kata_container *c)
{
    tc_buf_adds(out, "\"Binds\":[");
    if (c->root)
        add_bind(out, c->root, "", true);
    for (size_t i = 0; !c->root && i < c->system->count; i++)
        add_bind(out, c->system->items[i], c->system->items[i], i == 0);
    tc_buf_adds(out, "]");
}

static void add_host(struct tc_buf *out, const struct tc_kata_container *c)
{
    tc_buf_adds(out, "\"HostConfig\":{\"AutoRemove\":true,\"NetworkMode\":\"none\","
                     "\"ReadonlyRootfs\":true,\"Privileged\":false,\"CapDrop\":[\"ALL\"],"
                     "\"CapAdd\":");
    tc_kata_rights(out, "");
    tc_buf_adds(out, ",\"IpcMode\":\"private\",\"CgroupnsMode\":\"private\","
                     "\"LogConfig\":{\"Type\":\"none\"},\"RestartPolicy\":{\"Name\":\"no\"}," OPEN
                     "\"Runtime\":");
    add_text(out, c->runtime);
    tc_buf_addf(out, ",\"Memory\":%" PRId64 ",\"MemorySwap\":%" PRId64 ",", c->mib << 20,
                c->mib << 20);
    if (c->cpus_milli)
        tc_buf_addf(out, "\"NanoCpus\":%" PRId64 ",", c->cpus_milli * 1000000);
    if (c->pids)
        tc_buf_addf(out, "\"PidsLimit\":%" PRId64 ",", c->pids);
    add_binds(out, c);
    tc_buf_addc(out, '}');
}

char *tc_kata_create(const struct tc_kata_container *c)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"Image\":");
    add_text(&out, c->image);
    tc_buf_adds(&out, ",\"Entrypoint\":[\"" TC_GUEST_CONTAINED "\"],\"Cmd\":[");
    add_text(&out, c->boot);
    tc_buf_adds(&out, "],\"Env\":[],\"WorkingDir\":\"/\",\"Hostname\":\"cage\",\"User\":\"0:0\","
                      "\"Tty\":false,\"OpenStdin\":true,\"StdinOnce\":true,\"AttachStdin\":true,"
                      "\"AttachStdout\":true,\"AttachStderr\":true,\"NetworkDisabled\":true,"
                      "\"Labels\":{");
    tc_json_member(&out, TC_ENGINE_LABEL, c->call);
    if (c->tool)
        tc_json_member(&out, "toolcage.tool", c->tool);
    tc_buf_adds(&out, "},");
    add_host(&out, c);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}
