/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The image verbs are implemented by a separate program, which unpacks archives and changes the
 * store. It is installed next to the helper and replaces this process. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/call/secret.h"
#include "cli/call/sibling.h"
#include "cli/show/failure.h"
#include "cli/show/opts.h"

/* clang-format off */
#define LIMITS                                                                                      \
    {"max-size", 0, "SIZE", NULL, "maximum unpacked size (default: 16GiB)"},        \
    {"max-files", 0, "NUMBER", NULL, "maximum number of files (default: 1000000)"}
/* clang-format on */

static const struct tc_option plain_options[] = {TC_OPTION_JSON, TC_OPTION_HELP, {0}};
static const struct tc_option import_options[] = {LIMITS, TC_OPTION_JSON, TC_OPTION_HELP, {0}};
static const struct tc_option build_options[] = {
    {"suite", 0, "NAME", NULL,
     "the suite of Debian (default: the most stable one whose Node.js runs TypeScript)"},
    {"package", 0, "NAME", NULL, "one more package; can be repeated"},
    {"minimal", 0, NULL, NULL, "without Python, Node.js and the others named below"},
    {"mirror", 0, "ADDRESS", NULL,
     "the package mirror (default: the one that this host's apt uses)"},
    {"keyring", 0, "FILE", NULL, "the keys that the mirror's suites are signed with"},
    {"kernel", 0, "DIRECTORY", NULL,
     "for guest: directory of an unpacked kernel package (default: the installed ones)"},
    {"apt-option", 0, "NAME=VALUE", NULL, "an apt setting for this build"},
    LIMITS,
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

/* ---- the program ---- */

/* Arguments in a fixed order: options, "--", the rest. */
static char **make_argv(const struct tc_args *args)
{
    static char name[] = "toolcage-image", end[] = "--";
    char **argv = calloc(2 * args->given_count + args->operand_count + 4, sizeof(*argv));
    size_t count = 0;
    if (!argv)
        return NULL;
    argv[count++] = name;
    argv[count++] = (char *)strchr(args->verb->name, ' ') + 1;
    for (size_t i = 0; i < args->given_count; i++) {
        char *option = tc_cli_format("--%s", args->given[i].option->name);
        if (!option)
            return NULL; /* the process exits */
        argv[count++] = option;
        if (args->given[i].value)
            argv[count++] = (char *)(uintptr_t)args->given[i].value;
    }
    argv[count++] = end;
    for (size_t i = 0; i < args->operand_count; i++)
        argv[count++] = args->operands[i];
    return argv;
}

/* A keyring verifies packages, and the kernel runs every VM, so no tool may have written them. */
static int check_files(const struct tc_args *args, struct tc_failure *failure)
{
    static const char *const named[] = {"keyring", "kernel"};
    for (size_t i = 0; i < TC_COUNT(named); i++) {
        const char *path = tc_args_value(args, named[i]);
        if (path && tc_secret_check(path, (struct tc_writers){0}, failure))
            return -1;
    }
    return 0;
}

static int run_image(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    if (check_files(args, &failure))
        return tc_failure_tell(&failure, args, NULL);
    _autofd_ int program = tc_sibling_find("toolcage-image");
    char **argv = make_argv(args);
    if (program >= 0 && argv)
        (void)fexecve(program, argv, environ);
    (void)tc_failure_set(&failure, TOOLCAGE_EHELPER,
                         "install toolcage whole, with files that only root or you may write",
                         "toolcage-image, which does this, cannot be started from the "
                         "directory of this program (%s)",
                         program < 0 ? "it is not there, or not safe" : strerror(errno));
    return tc_failure_tell(&failure, args, NULL);
}

/* ---- the verbs ---- */

const struct tc_verb tc_verb_image_build = {
    .name = "image build",
    .operands = "NAME [IMAGE]",
    .summary = "an image with Python, Node.js, git and curl, from Debian's packages",
    .text =
        "The image \"default\" is for policies with backend = \"oci\" and no image. mmdebstrap "
        "installs\n"
        "packages from this host's apt mirror. The build first prints the "
        "versions that "
        "each suite\n"
        "has. The same packages give the same digest on every host. Always included, unless "
        "--minimal is\n"
        "set: python3, python3-pip, nodejs, npm, node-typescript, git, curl, "
        "ca-certificates. The name\n"
        "\"guest\" builds the kernel and initramfs of VMs, from a Debian kernel; with IMAGE also "
        "the disk of\n"
        "that image, which backend = \"qemu\" needs.\n"
        "\n"
        "examples:\n"
        "  toolcage image build default\n"
        "  toolcage image build science --package python3-numpy --package jq\n"
        "  toolcage image build small --minimal --suite stable --package python3\n"
        "  toolcage image build guest science\n",
    .options = build_options,
    .least = 1,
    .most = 2,
    .run = run_image,
};

const struct tc_verb tc_verb_image_import = {
    .name = "image import",
    .operands = "SOURCE [NAME]",
    .summary = "an image from a file, a directory, podman, docker or a registry",
    .text = "SOURCE is a file or a directory, whose kind is detected: an archive of docker or of "
            "an OCI\n"
            "layout, such a layout, or a root file system. To name the kind: docker-archive:FILE, "
            "oci-archive:FILE,\n"
            "oci:DIRECTORY, directory:DIRECTORY. By skopeo: docker://IMAGE, "
            "docker-daemon:IMAGE:TAG,\n"
            "containers-storage:IMAGE. Everything is checked by its digests and unpacked by a "
            "process that can\n"
            "reach nothing but the new root. Owners, set-id bits and devices are not kept.\n"
            "\n"
            "examples:\n"
            "  toolcage image import python.tar python:3.14\n"
            "  toolcage image import ./rootfs mine\n"
            "  toolcage image import docker-daemon:mine:latest mine\n",
    .options = import_options,
    .least = 1,
    .most = 2,
    .run = run_image,
};

const struct tc_verb tc_verb_image_list = {
    .name = "image list",
    .operands = "",
    .summary = "list the images and their sizes",
    .text = "An older image may have lost its name to a newer one; NAME@sha256:… still finds "
            "it.\n"
            "\"guest\" is what virtual machines boot, with the version of its kernel.\n",
    .options = plain_options,
    .most = 0,
    .run = run_image,
};

const struct tc_verb tc_verb_image_inspect = {
    .name = "image inspect",
    .operands = "NAME[@DIGEST]",
    .summary = "an image's digest, root and layers, and how to pin it",
    .text = "example:\n"
            "  toolcage image inspect default\n",
    .options = plain_options,
    .least = 1,
    .most = 1,
    .run = run_image,
};

const struct tc_verb tc_verb_image_remove = {
    .name = "image remove",
    .operands = "NAME[@DIGEST]",
    .summary = "remove an image and its older versions, or one version by digest",
    .text = "An image that a call is using is not removed. Layers that no other image needs are "
            "removed, too.\n"
            "The name \"guest\" removes what virtual machines boot; the disks of images stay.\n"
            "\n"
            "examples:\n"
            "  toolcage image remove mine\n"
            "  toolcage image remove guest\n",
    .options = plain_options,
    .least = 1,
    .most = 1,
    .run = run_image,
};
