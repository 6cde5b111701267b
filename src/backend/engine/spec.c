/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What containerd is asked for: the same container as of every engine (create.h), in the words of
 * the OCI runtime specification, which containerd passes on as they are. Pure. */
#include "backend/engine/create.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsontext.h"
#include "engine/engine.h"
#include "policy/names/system_paths.h"

static void add_text(struct tc_buf *out, const char *text)
{
    tc_json_string(out, text, strlen(text));
}

/* The kernel wants SETFCAP of whoever maps a root's id, and a rootless engine's root is the caller.
 */
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

static void add_bind(struct tc_buf *out, const char *to, const char *from, const char *options)
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
    add_bind(out, TC_ENGINE_INIT, c->program, "\"ro\"");
    add_bind(out, TC_ENGINE_TALK, c->talk, "\"rw\",\"noexec\"");
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
