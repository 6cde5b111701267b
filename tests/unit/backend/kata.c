/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What an engine is asked for where the container's runtime has a kernel of its own: the whole of
 * it, so that nothing is added unseen. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "backend/kata/create.h"
#include "test.h"

#define CALL "01J\"}"

static char *shown[] = {(char *)"/usr", (char *)"/lib"};
static const struct tc_strv shown_paths = {.items = shown, .count = 2};

static struct tc_kata_container some_container(void)
{
    return (struct tc_kata_container){.image = "localhost/toolcage-guest:0",
                                      .runtime = "kata-qemu",
                                      .call = CALL,
                                      .tool = "x\", \"Privileged\": true",
                                      .boot = "8f4a",
                                      .root = "/srv/a \"b\", \"c",
                                      .system = &shown_paths,
                                      .mib = 256,
                                      .cpus_milli = 1500,
                                      .pids = 40,
                                      .directory = "/run/toolcage/engine-root",
                                      .program = "/opt/toolcage-guest"};
}

static json_t *load(char *text)
{
    json_t *got = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(got);
    free(text);
    return got;
}

static void assert_is(json_t *got, const char *text)
{
    json_t *wanted = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(wanted);
    if (!json_equal(got, wanted))
        fail_msg("%s", json_dumps(got, JSON_SORT_KEYS | JSON_INDENT(1)));
    json_decref(wanted);
    json_decref(got);
}

#define RIGHTS(p)                                                                          \
    "[\"" p "SYS_ADMIN\",\"" p "SYS_CHROOT\",\"" p "SETUID\",\"" p "SETGID\",\"" p         \
    "SETPCAP\",\"" p "SETFCAP\",\"" p "CHOWN\",\"" p "DAC_OVERRIDE\",\"" p "FOWNER\",\"" p \
    "FSETID\",\"" p "KILL\"]"

static const char in_docker[] =
    "{\"Image\":\"localhost/toolcage-guest:0\",\"Entrypoint\":[\"/.toolcage/engine-init\"],"
    "\"Cmd\":[\"8f4a\"],\"Env\":[],\"WorkingDir\":\"/\",\"Hostname\":\"cage\",\"User\":\"0:0\","
    "\"Tty\":false,\"OpenStdin\":true,\"StdinOnce\":true,\"AttachStdin\":true,"
    "\"AttachStdout\":true,\"AttachStderr\":true,\"NetworkDisabled\":true,"
    "\"Labels\":{\"toolcage.call\":\"01J\\\"}\","
    "\"toolcage.tool\":\"x\\\", \\\"Privileged\\\": true\"},"
    "\"HostConfig\":{\"AutoRemove\":true,\"NetworkMode\":\"none\",\"ReadonlyRootfs\":true,"
    "\"Privileged\":false,\"CapDrop\":[\"ALL\"],\"CapAdd\":" RIGHTS(
        "") ","
            "\"IpcMode\":\"private\",\"CgroupnsMode\":\"private\",\"LogConfig\":{\"Type\":\"none\"}"
            ","
            "\"RestartPolicy\":{\"Name\":\"no\"},\"SecurityOpt\":[\"no-new-privileges\","
            "\"seccomp=unconfined\",\"apparmor=unconfined\",\"label=disable\"],\"MaskedPaths\":[],"
            "\"ReadonlyPaths\":[],\"Runtime\":\"kata-qemu\",\"Memory\":268435456,"
            "\"MemorySwap\":268435456,\"NanoCpus\":1500000000,\"PidsLimit\":40,"
            "\"Binds\":[\"/srv/a \\\"b\\\", \\\"c:/image:ro\"]}}";

static void docker_is_asked_for_this(void **state)
{
    (void)state;
    struct tc_kata_container c = some_container();
    assert_is(load(tc_kata_create(&c)), in_docker);
}

#define READ_ONLY "\"options\":[\"rbind\",\"rprivate\",\"nosuid\",\"nodev\",\"ro\"]}"

static const char in_containerd[] =
    "{\"ociVersion\":\"1.0.2\",\"hostname\":\"cage\","
    "\"root\":{\"path\":\"/run/toolcage/engine-root\",\"readonly\":true},"
    "\"process\":{\"terminal\":false,\"user\":{\"uid\":0,\"gid\":0},"
    "\"args\":[\"/.toolcage/engine-init\",\"8f4a\"],\"env\":[],\"cwd\":\"/\","
    "\"noNewPrivileges\":true,\"capabilities\":{\"bounding\":" RIGHTS(
        "CAP_") ","
                "\"effective\":" RIGHTS("CAP_") ",\"permitted\":" RIGHTS(
                    "CAP_") ","
                            "\"inheritable\":[],\"ambient\":[]}},"
                            "\"mounts\":[{\"destination\":\"/"
                            "proc\",\"type\":\"proc\",\"source\":\"proc\","
                            "\"options\":[\"nosuid\",\"noexec\",\"nodev\"]},"
                            "{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\","
                            "\"options\":[\"nosuid\",\"noexec\",\"mode=755\",\"size=64k\"]},"
                            "{\"destination\":\"/image\",\"type\":\"tmpfs\",\"source\":\"tmpfs\","
                            "\"options\":[\"nosuid\",\"nodev\",\"mode=755\",\"size=64k\"]},"
                            "{\"destination\":\"/.toolcage/engine-init\",\"type\":\"bind\","
                            "\"source\":\"/opt/toolcage-guest\"," READ_ONLY ","
                            "{\"destination\":\"/image/usr\",\"type\":\"bind\",\"source\":\"/"
                            "usr\"," READ_ONLY ","
                            "{\"destination\":\"/image/lib\",\"type\":\"bind\",\"source\":\"/"
                            "lib\"," READ_ONLY "],"
                            "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"mount\"},{"
                            "\"type\":\"network\"},"
                            "{\"type\":\"ipc\"},{\"type\":\"uts\"},{\"type\":\"cgroup\"}],"
                            "\"maskedPaths\":[],"
                            "\"readonlyPaths\":[],\"resources\":{\"devices\":[{\"allow\":false,"
                            "\"access\":\"rwm\"}],"
                            "\"memory\":{\"limit\":268435456},\"cpu\":{\"quota\":150000,\"period\":"
                            "100000},"
                            "\"pids\":{\"limit\":40}}}}";

/* Here the tool's root are the host's system directories. */
static void containerd_is_asked_for_this(void **state)
{
    (void)state;
    struct tc_kata_container c = some_container();
    c.root = NULL;
    assert_is(load(tc_kata_spec(&c)), in_containerd);
}

static void absent_limits_are_omitted(void **state)
{
    struct tc_kata_container c = some_container();
    (void)state;
    c.cpus_milli = c.pids = 0;
    c.tool = NULL;
    json_t *docker = load(tc_kata_create(&c)), *containerd = load(tc_kata_spec(&c));
    const json_t *host = json_object_get(docker, "HostConfig"),
                 *resources = json_object_get(json_object_get(containerd, "linux"), "resources");
    assert_null(json_object_get(host, "NanoCpus"));
    assert_null(json_object_get(host, "PidsLimit"));
    assert_int_equal(json_object_size(json_object_get(docker, "Labels")), 1);
    assert_int_equal(json_object_size(resources), 2);
    json_decref(docker);
    json_decref(containerd);
}

/* The image alone, in the place where the first program makes a root of it. */
static void an_image_is_the_only_directory(void **state)
{
    struct tc_kata_container c = some_container();
    (void)state;
    json_t *containerd = load(tc_kata_spec(&c));
    const json_t *mounts = json_object_get(containerd, "mounts"), *last = json_array_get(mounts, 4);
    assert_int_equal(json_array_size(mounts), 5);
    assert_string_equal(json_string_value(json_object_get(last, "source")), c.root);
    assert_string_equal(json_string_value(json_object_get(last, "destination")), "/image");
    json_decref(containerd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docker_is_asked_for_this),
        cmocka_unit_test(containerd_is_asked_for_this),
        cmocka_unit_test(absent_limits_are_omitted),
        cmocka_unit_test(an_image_is_the_only_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
