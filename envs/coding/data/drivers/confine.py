"""Takes from a process what programs must not have, then becomes the command that follows.

The first argument is JSON: `scratch` are the file systems to mount, as pairs of a path and options of tmpfs; `uid`
is the user to become; `filter` is a program for seccomp in base64. Each may be null or empty. It runs inside of
bubblewrap, which can neither count files nor mount after a filter, and without it.
"""

import ctypes
import json
import os
import signal
import sys
from base64 import b64decode

CLONE_NEWNS = 0x20000
MS_NOSUID, MS_NODEV = 2, 4
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION = 0x20080522
INSTRUCTION_BYTES = 8

libc = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def control(option, value, address=0):
    return libc.prctl(option, *(ctypes.c_ulong(number) for number in (value, address, 0, 0)))


def check(result, what):
    if result != 0:
        sys.exit("%s failed: %s" % (what, os.strerror(ctypes.get_errno())))


def mount_scratch(mounts):
    check(libc.unshare(CLONE_NEWNS), "a mount namespace for temporary files")
    for path, options in mounts:
        flags = MS_NOSUID | MS_NODEV
        check(libc.mount(b"tmpfs", path.encode(), b"tmpfs", flags, options.encode()), "mounting " + path)
    # What was mounted over it is still the working directory.
    os.chdir(os.getcwd())


def change_user(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def drop_capabilities():
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    check(libc.capset(header, (ctypes.c_uint32 * 6)()), "dropping capabilities")


def install(program):
    code = b64decode(program)
    described = Program(len(code) // INSTRUCTION_BYTES, code)
    check(control(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(described)), "the filter of system calls")


def main():
    wanted = json.loads(sys.argv[1])
    if wanted["scratch"]:
        mount_scratch(wanted["scratch"])
    if wanted["uid"] is not None:
        change_user(wanted["uid"])
    if sys.platform == "linux":
        drop_capabilities()
        # After the change of user, which would undo it.
        check(control(PR_SET_PDEATHSIG, signal.SIGKILL), "ending with the server")
        check(control(PR_SET_NO_NEW_PRIVS, 1), "no new privileges")
    if wanted["filter"] is not None:
        install(wanted["filter"])
    # Python ignores these signals, and the program that replaces it would too.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])


main()
