/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Why a file cannot be executed: its kind, its mode, its file system, its format. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/display.h"
#include "base/path.h"
#include "call/exec/exec_error.h"

enum { HEAD_BYTES = 512 };

struct file {
    const char *name; /* quoted for a shell */
    struct stat st;
    unsigned char head[HEAD_BYTES];
    size_t length;
};

static char *fault(char **ret_hint, char *hint, char *message)
{
    *ret_hint = hint;
    return message;
}

/* The program that runs such a file; NULL: unknown. */
static const char *runner_of(const struct file *file)
{
    static const char *const rows[][2] = {{".py", "python3"}, {".sh", "sh"},   {".js", "node"},
                                          {".pl", "perl"},    {".rb", "ruby"}, {".mjs", "node"}};
    const char *head = (const char *)file->head, *dot = strrchr(file->name, '.');
    for (size_t i = 0; dot && i < TC_COUNT(rows); i++)
        if (strncmp(dot, rows[i][0], strlen(rows[i][0])) == 0)
            return rows[i][1];
    return file->length > 2 && memcmp(head, "#!", 2) == 0 && memmem(head, file->length, "/sh\n", 4)
               ? "sh"
               : NULL;
}

/* ---- EACCES ---- */

static char *explain_refusal(const char *host, const struct file *file, char **ret_hint)
{
    const char *runner = runner_of(file);
    struct statvfs fs;
    if (S_ISDIR(file->st.st_mode))
        return fault(ret_hint, strdup("name a program in it"), strdup("is a directory"));
    if (!S_ISREG(file->st.st_mode))
        return fault(ret_hint, strdup("name a program"), strdup("is not a regular file"));
    if (!(file->st.st_mode & 0111))
        return fault(ret_hint,
                     runner
                         ? tc_format("chmod +x %s, or name its interpreter: %s %s", file->name,
                                     runner, file->name)
                         : tc_format("chmod +x %s, or name its interpreter before it", file->name),
                     tc_format("is not executable (its mode is %04o)", file->st.st_mode & 07777));
    if (statvfs(host, &fs) == 0 && fs.f_flag & ST_NOEXEC)
        return fault(ret_hint, strdup("copy it to another file system"),
                     strdup("is on a file system that is mounted with noexec"));
    return NULL;
}

/* ---- ENOEXEC ---- */

static const char *machine_name(unsigned machine, unsigned class)
{
    static const struct {
        unsigned machine;
        const char *name;
    } rows[] = {{EM_X86_64, "x86_64"},  {EM_AARCH64, "aarch64"}, {EM_386, "32-bit x86"},
                {EM_ARM, "32-bit ARM"}, {EM_RISCV, "RISC-V"},    {EM_PPC64, "ppc64"},
                {EM_S390, "s390x"}};
    if (machine == EM_X86_64 && class == ELFCLASS32)
        return "x32";
    for (size_t i = 0; i < TC_COUNT(rows); i++)
        if (rows[i].machine == machine)
            return rows[i].name;
    return "another CPU";
}

static char *explain_elf(const struct file *file, char **ret_hint)
{
    struct utsname here;
    Elf32_Half machine = 0;
    if (file->length < sizeof(Elf32_Ehdr) || uname(&here) < 0)
        return fault(ret_hint, strdup("build or download it again"), strdup("is cut off"));
    memcpy(&machine, file->head + offsetof(Elf32_Ehdr, e_machine), sizeof(machine));
    const char *name = machine_name(machine, file->head[EI_CLASS]);
    if (strcmp(name, here.machine) == 0)
        return fault(ret_hint, strdup("build or download it again"), strdup("is damaged"));
    return fault(ret_hint,
                 tc_format("this is another architecture: use a build for %s", here.machine),
                 tc_format("is built for %s, and this machine is %s", name, here.machine));
}

static bool begins(const struct file *file, const char *bytes, size_t count)
{
    return file->length >= count && memcmp(file->head, bytes, count) == 0;
}

static char *explain_format(const struct file *file, char **ret_hint)
{
    const char *runner = runner_of(file);
    if (!file->length)
        return fault(ret_hint, strdup("write it again"), strdup("is empty"));
    if (begins(file, ELFMAG, SELFMAG))
        return explain_elf(file, ret_hint);
    if (begins(file, "MZ", 2))
        return fault(ret_hint, strdup("use a build for Linux"), strdup("is a Windows program"));
    if (begins(file, "\xcf\xfa\xed\xfe", 4) || begins(file, "\xca\xfe\xba\xbe", 4))
        return fault(ret_hint, strdup("use a build for Linux"), strdup("is a macOS program"));
    if (begins(file, "\0asm", 4))
        return fault(ret_hint, strdup("name it in `module` of a policy's tool"),
                     strdup("is a WebAssembly module"));
    if (memchr(file->head, '\0', file->length))
        return NULL;
    return fault(ret_hint,
                 tc_format("begin it with its interpreter, as in #!/bin/sh, or name that: %s %s",
                           runner ? runner : "sh", file->name),
                 strdup("is a script without a #! line"));
}

/* Opens nothing that could block, such as a FIFO or a device. */
static bool read_file(const char *host, struct file *ret)
{
    if (stat(host, &ret->st) < 0)
        return false;
    _autofd_ int fd =
        S_ISREG(ret->st.st_mode) ? open(host, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? -1 : pread(fd, ret->head, sizeof(ret->head) - 1, 0);
    ret->length = n > 0 ? (size_t)n : 0;
    return n >= 0 || !S_ISREG(ret->st.st_mode) || !(ret->st.st_mode & 0111);
}

char *tc_file_fault(const char *host, const char *name, int errnum, char **ret_hint)
{
    _autofree_ char *word = tc_shell_quote(name);
    struct file file = {.name = word};
    if (!word || !read_file(host, &file))
        return NULL;
    if (errnum == EACCES)
        return explain_refusal(host, &file, ret_hint);
    if (errnum == ETXTBSY)
        return fault(ret_hint, strdup("close it first"), strdup("is open for writing"));
    return errnum == ENOEXEC ? explain_format(&file, ret_hint) : NULL;
}
