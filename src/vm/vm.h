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

/* fds that the VMM inherits: its ends of the guest's serial port and of the control socket, the
 * snapshot, the configuration file, and its end of the port for the tool's connections; -1: none.
 */
struct tc_vm_lines {
    int port, control, from, config, net;
};

/* The ends of a port; or only a listening socket that the guest connects to, with `theirs` -1. */
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
    /* Creates the VMM's configuration file, to be inherited; -1 with errno. NULL: its command has
     * all. */
    int (*config)(const struct tc_vm_options *options);
    /* The VMM has an API socket and writes snapshots to memory files, after which the guest
     * connects again. Else it inherits a control socket. */
    bool serves;
    /* False: out of memory. */
    bool (*command)(const struct tc_vm_options *options, const struct tc_vm_lines *lines,
                    struct tc_strv *ret);
    /* Takes a snapshot of the VM, and resumes it. False: the snapshot is not complete. */
    bool (*keep)(const struct tc_vm_options *options, const struct tc_vm *vm);
    /* Restores a VM from its snapshot; *ret_why is owned, and may stay NULL. NULL: the VMM's
     * command does. */
    bool (*go_on)(const struct tc_vm_options *options, const struct tc_vm *vm, char **ret_why);
};
extern const struct tc_vm_driver tc_vm_qemu, tc_vm_firecracker, tc_vm_kata;

/* Hint for a guest built by toolcage. */
#define TC_VM_REMEDY "toolcage image build guest builds the kernel and the guest program again"

/* The VMM's process (0: not started here), our end of the guest's port, and the console; -1 with
 * errno. */
struct tc_vm {
    pid_t pid;
    int port, console;
    int control;       /* the VMM's control socket; -1: none */
    int net;           /* our end of the port for the tool's connections; -1: none */
    bool calls;        /* the ports listen: the guest connects after booting */
    int again;         /* copy of the listening port, for the time after a snapshot; -1 */
    int told;          /* the VMM's configuration file; -1: none */
    int state, memory; /* memory files for a snapshot; -1: none */
};
int tc_vm_start(const struct tc_vm_options *options, struct tc_vm *ret);

/* Whether the VMM has ended, which closes its console. */
bool tc_vm_has_ended(const struct tc_vm *vm, int patience_ms);

/* task.c: receives the orders (base/task.h). False: they are invalid. */
bool tc_vm_begin(struct tc_vm_options *options);
/* Waits, with a restored VM, for the call: its streams, and a root to which its paths are relative,
 * beginning with a dot. False: there will be no call. */
bool tc_vm_await(struct tc_vm_options *options, struct tc_vm *vm);

/* A socket pair, of which only `theirs` is inherited; -1 with errno. */
int tc_vm_line(struct tc_vm_port *ret);
/* Replaces the listening port by the guest's connection, so that no other can follow. 0, 1: no
 * connection yet, or -1 with errno. */
int tc_vm_accept(int port);

/* image.c: a snapshot in one file: the memory, then the VMM's remaining state, then the state's
 * length. */
bool tc_vm_image_write(const struct tc_vm_options *options, int state, int memory);
/* The VMM's state from the snapshot, to be inherited; -1 with errno. */
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
/* Whether the VMM stopped the CPU because of a KVM error. A guest can print the same text, and then
 * only ends its own call. */
bool tc_vm_console_stuck(const struct tc_vm_console *console);
/* The guest program's last line, or the last non-empty line, made printable. Owned; NULL: out of
 * memory. */
char *tc_vm_console_tail(const struct tc_vm_console *console);

/* Waits until a guest without a call has booted. Fills *ret (zeroed): success, or a failure with
 * the reason. */
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
