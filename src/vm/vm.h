/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program toolcage-vm. It starts the VMM, or receives the streams of a VM started by another
 * program; it passes one call to the engine in the guest and returns the guest's report. It runs in
 * a process cage, together with the VMM, and trusts no data from the VM. */
#ifndef TC_VM_VM_H
#define TC_VM_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "carry/carry.h"
#include "mux/endpoints.h"
#include "plan/outcome.h"
#include "vm/options.h"

/* The fds that the VMM inherits; -1: none. `port`: its end of the guest's serial port; `control`:
 * its end of the control socket; `from`: the snapshot; `config`: the configuration file; `net`: its
 * end of the port for the tool's connections. */
struct tc_vm_lines {
    int port, control, from, config, net;
};

/* The two ends of a port: toolcage-vm's and the VMM's. With vsock, `ours` is a listening socket
 * that the guest connects to, and `theirs` is -1. */
struct tc_vm_port {
    int ours, theirs;
};

struct tc_vm;

/* Operations that depend on the VMM. */
struct tc_vm_driver {
    const char *name;
    bool given;         /* another program starts the VM: no operation below is set */
    const char *remedy; /* hint for a guest that does not boot */
    /* Create the guest's port, and the port for the tool's connections; -1 with errno. */
    int (*port)(const struct tc_vm_options *options, struct tc_vm_port *ret);
    int (*net)(const struct tc_vm_options *options, struct tc_vm_port *ret);
    /* Creates the VMM's configuration file, as an fd that the VMM inherits; -1 with errno. NULL:
     * the VMM is configured by its command line alone. */
    int (*config)(const struct tc_vm_options *options);
    /* True: the VMM has an API socket and writes snapshots to memory files, after which the guest
     * connects again. False: the VMM inherits a control socket. */
    bool serves;
    /* Makes the VMM's command line. False: out of memory. */
    bool (*command)(const struct tc_vm_options *options, const struct tc_vm_lines *lines,
                    struct tc_strv *ret);
    /* Takes a snapshot of the VM, and resumes it. False: the snapshot is not complete. */
    bool (*keep)(const struct tc_vm_options *options, const struct tc_vm *vm);
    /* Restores the VM from its snapshot. False: *ret_why is the reason, owned; it may stay NULL.
     * NULL: the VMM's command line restores it. */
    bool (*go_on)(const struct tc_vm_options *options, const struct tc_vm *vm, char **ret_why);
};
extern const struct tc_vm_driver tc_vm_qemu, tc_vm_firecracker, tc_vm_kata;

/* Hint for a guest built by toolcage. */
#define TC_VM_REMEDY "toolcage image build guest builds the kernel and the guest program again"

/* A running VM. */
struct tc_vm {
    pid_t pid;         /* of the VMM; 0: another program started it */
    int port, console; /* toolcage-vm's ends of the guest's port and of the console */
    int control;       /* the VMM's control socket; -1: none */
    int net;           /* our end of the port for the tool's connections; -1: none */
    bool calls;        /* the ports listen: the guest connects after booting */
    int again;         /* copy of the listening port, for the time after a snapshot; -1 */
    int told;          /* the VMM's configuration file; -1: none */
    int state, memory; /* memory files for a snapshot; -1: none */
};
int tc_vm_start(const struct tc_vm_options *options, struct tc_vm *ret);

/* Has the VMM ended, which closes its console? Waits for at most patience_ms. */
bool tc_vm_has_ended(const struct tc_vm *vm, int patience_ms);

/* task.c: receives the task (base/task.h). False: the task is invalid. */
bool tc_vm_begin(struct tc_vm_options *options);
/* Waits, with a restored VM, for the call. It comes with its streams, and with a root to which its
 * paths
 * ("./…") are relative. False: there will be no call. */
bool tc_vm_await(struct tc_vm_options *options, struct tc_vm *vm);

/* Makes a socket pair, of which the VMM inherits only `theirs`; -1 with errno. */
int tc_vm_line(struct tc_vm_port *ret);
/* Replaces the listening port by the guest's connection, so that no further connection is possible.
 * 0: connected, 1: no connection yet, or -1 with errno. */
int tc_vm_accept(int port);

/* image.c: a snapshot in one file: the memory, then the VMM's remaining state, then the state's
 * length. */
bool tc_vm_image_write(const struct tc_vm_options *options, int state, int memory);
/* The VMM's state from the snapshot, as a memory file that the VMM inherits; -1 with errno. */
int tc_vm_image_state(const struct tc_vm_options *options);

/* console.c: the end of the console's output, from the VMM and the guest. */
enum { TC_CONSOLE_BYTES = 4096 };

struct tc_vm_console {
    char bytes[TC_CONSOLE_BYTES];
    size_t len;
    bool ended;
};

void tc_vm_console_read(struct tc_vm_console *console, int fd);
bool tc_vm_console_has(const struct tc_vm_console *console, const char *text);
/* Did the VMM stop the CPU because of a KVM error, as the console says? A guest can print the same
 * text, but that only ends its own call. */
bool tc_vm_console_stuck(const struct tc_vm_console *console);
/* The guest program's last line, or the last non-empty line, made printable. Owned; NULL: out of
 * memory. */
char *tc_vm_console_tail(const struct tc_vm_console *console);

/* A test boot: waits until a guest without a call has booted. Fills *ret (zeroed): success, or a
 * failure with the reason. */
void tc_vm_try(const struct tc_vm_options *options, const struct tc_vm *vm, struct tc_outcome *ret);

/* files.c: sends the granted trees, and receives their changes. */
struct tc_vm_files {
    struct tc_pack there;
    struct tc_unpack back;
    int *parents;
    bool any, writable;
    long mib; /* memory of the VM that the files take */
    char *subject;
    const char *problem, *hint; /* why the files cannot be sent; with errno, unless 0 */
};
/* Examines all granted trees. 0, or -1: see problem. */
int tc_vm_files_open(struct tc_vm_files *files, const struct tc_vm_options *options);
void tc_vm_files_done(struct tc_vm_files *files);

/* net.c: the tool's connections. NULL: no network, or out of memory. */
struct tc_vm_net {
    struct tc_mux_endpoints lines; /* first */
    const char *authority;
};
struct tc_vm_net *tc_vm_net_open(const struct tc_vm_options *options, int port);
void tc_vm_net_close(struct tc_vm_net *net);

/* Has the guest run the rehearsal, whose result is ignored. False: the guest does not serve calls.
 */
bool tc_vm_rehearse(const struct tc_vm_options *options, const struct tc_vm *vm);

/* Runs the call. Fills *ret (zeroed): the guest's report, or a failure; *ret_kept: the snapshot is
 * complete. Closes options->keep before the call is sent to the guest. */
void tc_vm_call(const struct tc_vm_options *options, const struct tc_vm *vm,
                struct tc_vm_files *files, struct tc_outcome *ret, bool *ret_kept);

#endif
