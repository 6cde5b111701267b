/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the host's side and the first program of a virtual machine have agreed on. */
#ifndef TC_PLAN_GUEST_H
#define TC_PLAN_GUEST_H

/* In the initrd: the program is /init, the modules stand in MODULES, named so that their order is
 * that of loading. */
#define TC_GUEST_MODULES "/modules"
/* The first serial port beside the consoles, by which it is spoken to; or, where there is none, the
 * modules for sockets to the host, the host's port that it calls, and its argument then. */
#define TC_GUEST_PORT "/dev/vport0p1"
#define TC_GUEST_SOCKET_MODULES TC_GUEST_MODULES "/vsock"
#define TC_GUEST_CALLING "call"
enum { TC_GUEST_CALLS = 1024, TC_GUEST_NET_CALLS };
/* The second serial port, or second port of the host's, for the connections of a tool with a
 * network; and where the engine looks for the proxy's program, which in here is the relay. */
#define TC_GUEST_NET_PORT "/dev/vport0p2"
#define TC_GUEST_RELAY "/toolcage-egress"
/* The disk, whose root is the tools'. */
#define TC_GUEST_DISK "/dev/vda"
#define TC_GUEST_FILE_SYSTEM "erofs"
/* A container runtime in the initrd: where it is, calls are containers. Then the engine stays in
 * that first root, with the runtime and what that is linked with, and the disk stands in IMAGE. */
#define TC_GUEST_RUNTIME "/usr/bin/crun"
#define TC_GUEST_IMAGE "/image"
/* What runs modules, in the initrd, where a cage shows it: where it is, a call needs no disk, and
 * the image is that first root. */
#define TC_GUEST_WORKER "/etc/toolcage/toolcage-wasm"
#define TC_GUEST_ENGINE "/etc/toolcage/engine.so"
/* In memory: the granted trees, each by its number, and whom they belong to. */
#define TC_GUEST_GRANTS "/run/grants"
#define TC_GUEST_ID 60000
/* Its name as the first program of a container, around which a runtime has put a machine; then
 * IMAGE is the directory where the container has the parts of the root. */
#define TC_GUEST_CONTAINED "/.toolcage/engine-init"
/* Before a last word on the console, from which on there is nothing more to expect. */
#define TC_GUEST_LAST_WORD "toolcage-guest: "
/* Its argument where there is no call and it shall only say, by a last word, that it runs. */
#define TC_GUEST_TRY "try"
#define TC_GUEST_RUNS "it runs"

#endif
