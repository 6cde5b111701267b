/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "backend/engine/create.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsontext.h"
#include "engine/engine.h"
#include "policy/names/system_paths.h"
#include "policy/settings.h"

/* ---- Docker's API, also spoken by Podman ---- */

/* toolcage's own filter is installed before the tool. The engine's seccomp profile would refuse PID
 * 1 the namespaces and mounts that the cage consists of; so would AppArmor and SELinux profiles. */
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

/* Separated by ":", which no path of toolcage contains. */
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
    /* mapping id 0 requires it, and in a rootless engine id 0 is the caller */
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

/* ---- containerd: the same container as an OCI configuration ---- */

static void add_text(struct tc_buf *out, const char *text)
{
    tc_json_string(out, text, strlen(text));
}

/* Mapping id 0 requires SETFCAP, and in a rootless engine id 0 is the caller. */
static void add_process(struct tc_buf *out, const struct tc_engine_container *c)
{
    const char *rights = c->uid == 0 ? "\"CAP_SETFCAP\"" : "";
    tc_buf_addf(out,
                "\"process\":{\"terminal\":false,\"user\":{\"uid\":%u,\"gid\":%u},"
                "\"args\":[\"" TC_ENGINE_INIT "\"],\"env\":[],\"cwd\":\"/\",\"capabilities\":{"
                "\"bounding\":[%s],\"effective\":[%s],\"inheritable\":[],\"permitted\":[%s],"
                "\"ambient\":[]},\"noNewPrivileges\":true,\"oomScoreAdj\":1000,\"rlimits\":["
                "{\"type\":\"RLIMIT_NOFILE\",\"soft\":%" PRId64 ",\"hard\":%" PRId64 "},"
                "{\"type\":\"RLIMIT_NPROC\",\"soft\":%" PRId64 ",\"hard\":%" PRId64 "}]}",
                (unsigned)c->uid, (unsigned)c->gid, rights, rights, rights, c->files, c->files,
                c->processes, c->processes);
}

static void add_mount(struct tc_buf *out, const char *to, const char *from, const char *options)
{
    tc_buf_addf(out, ",{\"destination\":\"%s\",\"type\":\"bind\",\"source\":", to);
    add_text(out, from);
    tc_buf_addf(out, ",\"options\":[\"bind\",\"nosuid\",\"nodev\",%s]}", options);
}

static void add_mounts(struct tc_buf *out, const struct tc_engine_container *c)
{
    tc_buf_adds(out,
                "\"mounts\":["
                "{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\",\"options\":"
                "[\"nosuid\",\"noexec\",\"nodev\"]},"
                "{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":"
                "[\"nosuid\",\"noexec\",\"mode=755\",\"size=64k\"]}");
    add_mount(out, TC_ENGINE_INIT, c->program, "\"ro\"");
    add_mount(out, TC_ENGINE_TALK, c->talk, "\"rw\",\"noexec\"");
    tc_buf_addc(out, ']');
}

static void add_linux(struct tc_buf *out)
{
    tc_buf_adds(out, "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"mount\"},"
                     "{\"type\":\"network\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},"
                     "{\"type\":\"cgroup\"}],\"maskedPaths\":[");
    for (const struct tc_masked_proc *m = tc_masked_proc; m->path; m++) {
        tc_buf_adds(out, m == tc_masked_proc ? "" : ",");
        add_text(out, m->path);
    }
    tc_buf_adds(out, "],\"readonlyPaths\":[\"/proc/bus\",\"/proc/fs\",\"/proc/irq\",\"/proc/sys\","
                     "\"/proc/sysrq-trigger\"],"
                     "\"resources\":{\"devices\":[{\"allow\":false,\"access\":\"rwm\"}]}}");
}

char *tc_engine_spec(const struct tc_engine_container *c)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    tc_buf_adds(&out, "{\"ociVersion\":\"1.0.2\",\"hostname\":\"cage\",\"root\":{\"path\":");
    add_text(&out, c->root);
    tc_buf_adds(&out, ",\"readonly\":true},");
    add_process(&out, c);
    tc_buf_addc(&out, ',');
    add_mounts(&out, c);
    tc_buf_addc(&out, ',');
    add_linux(&out);
    tc_buf_addc(&out, '}');
    return tc_buf_steal(&out);
}
