/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/kata/create.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsontext.h"
#include "engine/engine.h"
#include "plan/guest.h"

/* The process cage in the guest has the tool's filter. The engine's profiles would refuse what that
 * cage consists of. Nothing in /proc is masked: it is the guest's. */
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

/* ---- containerd: the same container as an OCI configuration ---- */

static void add_process(struct tc_buf *out, const struct tc_kata_container *c)
{
    static const char *const sets[] = {"bounding", "effective", "permitted"};
    tc_buf_adds(out, "\"process\":{\"terminal\":false,\"user\":{\"uid\":0,\"gid\":0},"
                     "\"args\":[\"" TC_GUEST_CONTAINED "\",");
    add_text(out, c->boot);
    tc_buf_adds(out, "],\"env\":[],\"cwd\":\"/\",\"noNewPrivileges\":true,\"capabilities\":{");
    for (size_t i = 0; i < TC_COUNT(sets); i++) {
        tc_buf_addf(out, "\"%s\":", sets[i]);
        tc_kata_rights(out, "CAP_");
        tc_buf_addc(out, ',');
    }
    tc_buf_adds(out, "\"inheritable\":[],\"ambient\":[]}}");
}

static void add_mount(struct tc_buf *out, const char *from, const char *below, const char *to)
{
    tc_buf_addf(out, ",{\"destination\":\"%s%s\",\"type\":\"bind\",\"source\":", below, to);
    add_text(out, from);
    tc_buf_adds(out, ",\"options\":[\"rbind\",\"rprivate\",\"nosuid\",\"nodev\",\"ro\"]}");
}

static void add_mounts(struct tc_buf *out, const struct tc_kata_container *c)
{
    tc_buf_adds(out, "\"mounts\":["
                     "{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\","
                     "\"options\":[\"nosuid\",\"noexec\",\"nodev\"]},"
                     "{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\","
                     "\"options\":[\"nosuid\",\"noexec\",\"mode=755\",\"size=64k\"]},"
                     "{\"destination\":\"" TC_GUEST_IMAGE "\",\"type\":\"tmpfs\","
                     "\"source\":\"tmpfs\",\"options\":[\"nosuid\",\"nodev\",\"mode=755\","
                     "\"size=64k\"]}");
    add_mount(out, c->program, "", TC_GUEST_CONTAINED);
    if (c->root)
        add_mount(out, c->root, "", TC_GUEST_IMAGE);
    for (size_t i = 0; !c->root && i < c->system->count; i++)
        add_mount(out, c->system->items[i], TC_GUEST_IMAGE, c->system->items[i]);
    tc_buf_addc(out, ']');
}

static void add_linux(struct tc_buf *out, const struct tc_kata_container *c)
{
    enum { PERIOD_US = 100000 };
    tc_buf_addf(out,
                "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"mount\"},"
                "{\"type\":\"network\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},"
                "{\"type\":\"cgroup\"}],\"maskedPaths\":[],\"readonlyPaths\":[],"
                "\"resources\":{\"devices\":[{\"allow\":false,\"access\":\"rwm\"}],"
                "\"memory\":{\"limit\":%" PRId64 "}",
                c->mib << 20);
    if (c->cpus_milli)
        tc_buf_addf(out, ",\"cpu\":{\"quota\":%" PRId64 ",\"period\":%d}",
                    c->cpus_milli * (PERIOD_US / 1000), PERIOD_US);
    if (c->pids)
        tc_buf_addf(out, ",\"pids\":{\"limit\":%" PRId64 "}", c->pids);
    tc_buf_adds(out, "}}");
}

char *tc_kata_spec(const struct tc_kata_container *c)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"ociVersion\":\"1.0.2\",\"hostname\":\"cage\",\"root\":{\"path\":");
    add_text(&out, c->directory);
    tc_buf_adds(&out, ",\"readonly\":true},");
    add_process(&out, c);
    tc_buf_addc(&out, ',');
    add_mounts(&out, c);
    tc_buf_addc(&out, ',');
    add_linux(&out, c);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}
