/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The program toolcage-vm: starts the machine monitor, or is handed the lines to a machine of
 * others, takes one call to the engine in the guest and brings back what it says. It runs inside a
 * process cage, with the monitor, and believes nothing of what comes out of the machine. */
#ifndef TC_VM_VM_H
#define TC_VM_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "carry/carry.h"
#include "mux/endpoints.h"
#include "plan/outcome.h"
#include "vm/options.h"

/* What the monitor inherits: its end of the guest's serial port and of its own control, a machine
 * to go on from, what it is told in a file, and its end of the port for the tool's connections; -1:
 * none. */
struct tc_vm_lines {
    int port, control, from, config, net;
};

/* The ends of a port; or ours alone, a listening socket that the guest calls, with `theirs` -1. */
struct tc_vm_port {
    int ours, theirs;
};

struct tc_vm;

/* What one monitor has of its own. */
struct tc_vm_driver {
    const char *name;
    bool given;         /* the machine is started by others: it has none of what follows */
    const char *remedy; /* of a guest that does not boot */
    /* The guest's port, and that for the tool's connections; -1 with errno. */
    int (*port)(const struct tc_vm_options *options, struct tc_vm_port *ret);
    int (*net)(const struct tc_vm_options *options, struct tc_vm_port *ret);
    /* The file that tells it what the machine is, to inherit; -1 with errno. NULL: its command
     * does. */
    int (*config)(const struct tc_vm_options *options);
    /* It is asked by a socket of its own, and writes a machine to files in memory: with all that
     * the guest has, and that guest calls again afterwards. Else its control is inherited. */
    bool serves;
    /* False: out of memory. */
    bool (*command)(const struct tc_vm_options *options, const struct tc_vm_lines *lines,
                    struct tc_strv *ret);
    /* Writes the machine as it stands, and has it go on. False: it is not whole. */
    bool (*keep)(const struct tc_vm_options *options, const struct tc_vm *vm);
    /* Has one go on from its file; *ret_why is owned, and may stay NULL. NULL: it does by itself.
     */
    bool (*go_on)(const struct tc_vm_options *options, const struct tc_vm *vm, char **ret_why);
};
extern const struct tc_vm_driver tc_vm_qemu, tc_vm_firecracker, tc_vm_kata;

/* Of a guest that we have made ourselves. */
#define TC_VM_REMEDY "toolcage image build guest makes kernel and first program anew"

/* Its process (0: it is not ours), our end of the guest's port, and what comes on the console; -1
 * with errno. */
struct tc_vm {
    pid_t pid;
    int port, console;
    int control;       /* the monitor's own; -1: nobody asks it for anything */
    int net;           /* our end of the port for the tool's connections; -1: it has none */
    bool calls;        /* the ports listen: the guest calls us when it has booted */
    int again;         /* the port that listens, once more: it calls again when it was kept; -1 */
    int told;          /* what the monitor was told in a file; -1: nothing */
    int state, memory; /* what it writes to when it is kept; -1: nothing */
};
int tc_vm_start(const struct tc_vm_options *options, struct tc_vm *ret);

/* Has the monitor ended? Then it has hung up its console. */
bool tc_vm_has_ended(const struct tc_vm *vm, int patience_ms);

/* task.c: what we are told (base/task.h). False: it makes no sense. */
bool tc_vm_begin(struct tc_vm_options *options);
/* Waits, with a machine that waits as well, until its call comes: with its streams, and a root in
 * which its paths begin with a dot. False: nobody needs us. */
bool tc_vm_await(struct tc_vm_options *options, struct tc_vm *vm);

/* A pair of ends, of which ours is not inherited; -1 with errno. */
int tc_vm_line(struct tc_vm_port *ret);
/* Puts a guest's call in the place of the port that listened for it: nobody else can call. 0, 1:
 * there is none yet, or -1 with errno. */
int tc_vm_accept(int port);

/* image.c: a machine in one file, which is what is kept: its memory, then what else the monitor
 * has of it, then how long that is. */
bool tc_vm_image_write(const struct tc_vm_options *options, int state, int memory);
/* What the monitor has of it, to inherit; -1 with errno. */
int tc_vm_image_state(const struct tc_vm_options *options);

/* console.c: the end of what comes on a machine's console, words of its monitor and of its guest.
 */
enum { TC_CONSOLE_BYTES = 4096 };

struct tc_vm_console {
    char bytes[TC_CONSOLE_BYTES];
    size_t len;
    bool ended;
};

void tc_vm_console_read(struct tc_vm_console *console, int fd);
bool tc_vm_console_has(const struct tc_vm_console *console, const char *text);
/* The monitor has stopped the processor: by emulation that cannot be. A guest can print the same
 * words, and ends its own call by that. */
bool tc_vm_console_stuck(const struct tc_vm_console *console);
/* What the guest's first program said last, or the last line that means something; cut to what can
 * be shown. Owned; NULL: out of memory. */
char *tc_vm_console_tail(const struct tc_vm_console *console);

/* Waits until a guest without a call has booted. Fills *ret (zeroed): an end without a fault, or a
 * failure that says what stood in the way. */
void tc_vm_try(const struct tc_vm_options *options, const struct tc_vm *vm, struct tc_outcome *ret);

/* files.c: the granted trees there, and what is changed of them back. */
struct tc_vm_files {
    struct tc_pack there;
    struct tc_unpack back;
    int *parents;
    bool any, writable;
    long mib; /* how much of the machine's memory they take */
    char *subject;
    const char *problem, *hint; /* why they cannot go; errno says more, unless it is 0 */
};
/* Looks at all of them. 0, or -1: see problem. */
int tc_vm_files_open(struct tc_vm_files *files, const struct tc_vm_options *options);
void tc_vm_files_done(struct tc_vm_files *files);

/* net.c: the tool's connections. NULL: it has none, or memory is out. */
struct tc_vm_net {
    struct tc_mux_endpoints lines; /* first */
    const char *authority;
};
struct tc_vm_net *tc_vm_net_open(const struct tc_vm_options *options, int port);
void tc_vm_net_close(struct tc_vm_net *net);

/* Has the guest run a call that is nobody's, and goes by no word of it. False: the guest does not
 * serve calls. */
bool tc_vm_rehearse(const struct tc_vm_options *options, const struct tc_vm *vm);

/* Takes the call to its end. Fills *ret (zeroed): what the guest says, or a failure; *ret_kept: the
 * file is whole. Closes options->keep before the guest hears of the call. */
void tc_vm_call(const struct tc_vm_options *options, const struct tc_vm *vm,
                struct tc_vm_files *files, struct tc_outcome *ret, bool *ret_kept);

#endif
