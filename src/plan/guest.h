/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Constants that the host and PID 1 of a VM share. */
#ifndef TC_PLAN_GUEST_H
#define TC_PLAN_GUEST_H

/* In the initrd: the program is /init; the modules are in MODULES, and are loaded in the order of
 * their names. */
#define TC_GUEST_MODULES "/modules"
/* The channel to the host is the first virtio serial port after the consoles. Without serial ports
 * it is vsock: these are its modules, the argument for PID 1, and the host's ports that the guest
 * connects to. */
#define TC_GUEST_PORT "/dev/vport0p1"
#define TC_GUEST_SOCKET_MODULES TC_GUEST_MODULES "/vsock"
#define TC_GUEST_CALLING "call"
enum { TC_GUEST_CALLS = 1024, TC_GUEST_NET_CALLS };
/* The second serial port, or the second vsock port, carries the connections of tools with a
 * network. The engine starts the egress proxy from RELAY; in the guest, that program is the relay.
 */
#define TC_GUEST_NET_PORT "/dev/vport0p2"
#define TC_GUEST_RELAY "/toolcage-egress"
/* The disk with the root file system for tools. */
#define TC_GUEST_DISK "/dev/vda"
#define TC_GUEST_FILE_SYSTEM "erofs"
/* A container runtime in the initrd. If it exists, calls are containers: the engine stays in the
 * initrd's root with the runtime and its libraries, and the disk is mounted at IMAGE. */
#define TC_GUEST_RUNTIME "/usr/bin/crun"
#define TC_GUEST_IMAGE "/image"
/* The worker for modules in the initrd, at its path in cages. If it exists, a call needs no disk,
 * and the image is the initrd's root. */
#define TC_GUEST_WORKER "/etc/toolcage/toolcage-wasm"
#define TC_GUEST_ENGINE "/etc/toolcage/engine.so"
/* On a tmpfs: the granted trees, named by number, and the owner of all their files. */
#define TC_GUEST_GRANTS "/run/grants"
#define TC_GUEST_ID 60000
/* argv[0] as PID 1 of a container that a runtime (Kata) runs in a VM. There, IMAGE is the
 * container's directory with the parts of the root. */
#define TC_GUEST_CONTAINED "/.toolcage/engine-init"
/* Prefix of a message on the console after which the guest ends: why it cannot serve calls. */
#define TC_GUEST_LAST_WORD "toolcage-guest: "
/* Argument for a test boot without a call: PID 1 reports with a final message that it runs. */
#define TC_GUEST_TRY "try"
#define TC_GUEST_RUNS "it runs"

#endif
