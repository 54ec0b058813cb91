"""What a child gives up before it reads a document: a Landlock domain and a filter of system calls within the launcher's.

Both are the kernel's, asked for directly: landlock(7), seccomp(2). The launcher has refused everything dangerous already; what is refused here is
what the server needs and one conversion does not.
"""

import ctypes
import os
import platform
import struct

from settings import INSTALLATION

# Fonts, filters, their data, and libraries that are loaded late.
READS = (
    *("/usr/lib", "/usr/share", "/lib", "/lib64", "/etc/fonts", "/etc/libreoffice", "/var/lib/libreoffice", "/var/cache/fontconfig"),
    *("/etc/ld.so.cache", "/dev/urandom", "/dev/null"),
)

# linux/landlock.h
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = (1 << bit for bit in (0, 1, 2, 3, 4, 5, 7, 8))
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
# What each version governs; newer ones than these are used as the last of these.
FILES = {1: REFER - 1, 2: TRUNCATE - 1, 3: IOCTL_DEV - 1, 4: IOCTL_DEV - 1, 5: (IOCTL_DEV << 1) - 1, 6: (IOCTL_DEV << 1) - 1}
TCP, ABSTRACT_SOCKETS_AND_SIGNALS = 3, 3
TO_WRITE = WRITE_FILE | READ_FILE | READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
NO_LANDLOCK = (38, 95)  # ENOSYS, EOPNOTSUPP: the launcher was told to do without
PR_SET_NAME, PR_SET_NO_NEW_PRIVS = 15, 38

# Numbers of system calls on x86_64 and on aarch64, where that has them.
SECCOMP = {"x86_64": 317, "aarch64": 277}
REFUSED = {
    "x86_64": (322, 200, 129, 41, 42, 49, 50, 43, 288, 317),
    "aarch64": (281, 130, 138, 198, 203, 200, 201, 202, 242, 277),
}  # execveat, tkill, rt_sigqueueinfo, socket, connect, bind, listen, accept, accept4, seccomp
# fork, vfork; execve, socketpair
TO_START_A_PROGRAM = {"x86_64": (57, 58, 59, 53), "aarch64": (221, 199)}
REFUSED_EVERYWHERE = (LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF, 424, 434)  # pidfd_send_signal, pidfd_open
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}, 435
TO_ITSELF = {"x86_64": (62, 234, 297), "aarch64": (129, 131, 240)}  # kill, tgkill, rt_tgsigqueueinfo
CLONE_THREAD = 0x10000
EPERM, ENOSYS = 1, 38

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def confine(folder, source):
    """From here on this process writes nowhere but below `folder`, starts no other, and reaches none. @raise OSError"""
    # LibreOffice reads PDF by a separate program, xpdfimport, which is as confined and ends with the others of its group.
    starts_program = source == "pdf"
    restrict_files(folder, READ_FILE | READ_DIR | (EXECUTE if starts_program else 0))
    restrict_calls(starts_program)


def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number} fails")
    return result


def restrict_files(folder, to_read):
    no_new_privileges()
    try:
        version = call(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError as error:
        if error.errno in NO_LANDLOCK:
            return
        raise
    governed = FILES[min(version, max(FILES))]
    every = struct.pack("=QQQ", governed, TCP, ABSTRACT_SOCKETS_AND_SIGNALS)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = call(LANDLOCK_CREATE_RULESET, every, ctypes.c_size_t(len(every)), ctypes.c_uint(0))
    allow(rules, folder, TO_WRITE & governed)
    for place in (INSTALLATION, *READS):
        allow(rules, place, to_read & governed)
    call(LANDLOCK_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint(0))
    os.close(rules)


def allow(rules, place, rights):
    try:
        opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(place):
        rights &= OF_A_FILE
    call(LANDLOCK_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(1), struct.pack("=Qi", rights, opened), ctypes.c_uint(0))
    os.close(opened)


def no_new_privileges():
    libc.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


def name_process(name):
    """Sets the name that lists of processes show."""
    libc.prctl(PR_SET_NAME, ctypes.c_char_p(name.encode()))


# linux/bpf_common.h, linux/seccomp.h
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NUMBER, FIRST_ARGUMENT = 0, 16


def restrict_calls(starts_program):
    """Threads may be started, processes may not unless one is needed; signals go to itself; no sockets; and nothing more can be given up."""
    machine = platform.machine()
    code = [(LOAD, 0, 0, NUMBER)]
    for number in (*REFUSED[machine], *REFUSED_EVERYWHERE, *(() if starts_program else TO_START_A_PROGRAM[machine])):
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL | EPERM)]
    code += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, FAIL | ENOSYS)]
    if not starts_program:
        code += [(EQUAL, 0, 4, CLONE[machine]), (LOAD, 0, 0, FIRST_ARGUMENT), (ANY_BIT, 1, 0, CLONE_THREAD), (RETURN, 0, 0, FAIL | EPERM), (RETURN, 0, 0, ALLOW)]
    for number in TO_ITSELF[machine]:
        code += [(EQUAL, 0, 4, number), (LOAD, 0, 0, FIRST_ARGUMENT), (EQUAL, 1, 0, os.getpid()), (RETURN, 0, 0, FAIL | EPERM), (RETURN, 0, 0, ALLOW)]
    code += [(RETURN, 0, 0, ALLOW)]
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(instructions)))
    call(SECCOMP[machine], ctypes.c_uint(1), ctypes.c_uint(0), program)
