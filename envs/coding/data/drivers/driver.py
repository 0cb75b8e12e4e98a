"""The Python interpreter of a session: reads programs from fd 3, runs them, answers on fd 4.

Frames are a length of four bytes and JSON. The first names the limits; each of the others is a program with a random
id that the answer repeats, so that no answer can be written before its question. What the program printed is closed by
the same id on both output pipes.
"""

import sys

_main = type(sys)("__main__")


def close_all_but(os, wanted):
    """Also what the server's own parent left open, which programs must not inherit."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        numbers = range(4096)
    for fd in numbers:
        if fd not in wanted:
            try:
                os.close(fd)
            except OSError:
                pass


def _drive():
    import builtins
    import json
    import linecache
    import os
    import resource
    import signal
    import struct
    import time
    import traceback

    # Out of the range that programs count through first, and not inherited by what they start.
    def keep(fd, number):
        os.dup2(fd, number, inheritable=False)
        return number

    questions, answers, out, err = keep(3, 240), keep(4, 241), keep(1, 242), keep(2, 243)
    close_all_but(os, (0, 1, 2, questions, answers, out, err))
    read, write, getpid, _exit, kill, waitpid = os.read, os.write, os.getpid, os._exit, os.kill, os.waitpid
    nap = time.sleep
    dumps, loads, pack, unpack = json.dumps, json.loads, struct.pack, struct.unpack
    format_exception, format_only = traceback.format_exception, traceback.format_exception_only
    base_exception, code_of_compile, run, open_file, dup2 = BaseException, compile, exec, open, os.dup2

    def receive(count):
        parts = []
        while count > 0:
            part = read(questions, count)
            if not part:
                _exit(0)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def send_all(fd, data):
        while data:
            data = data[write(fd, data):]

    def ask():
        return loads(receive(unpack(">I", receive(4))[0]))

    def answer(value):
        data = dumps(value).encode()
        send_all(answers, pack(">I", len(data)) + data)

    start = ask()
    os.umask(0o077)
    os.nice(start["nice"])

    def limit(name, value):
        try:
            resource.setrlimit(getattr(resource, name), (value, value))
        except (AttributeError, ValueError, OSError):
            if start["strict"]:
                raise

    limit("RLIMIT_CORE", 0)
    limit("RLIMIT_AS", start["memory_bytes"])
    limit("RLIMIT_FSIZE", start["file_bytes"])
    limit("RLIMIT_NOFILE", 256)
    if start["processes"] is not None:
        limit("RLIMIT_NPROC", start["processes"])
    own = getpid()
    # Only in a separate pid namespace, where it is first or second: elsewhere this would reach processes of others.
    alone = own in (1, 2) and start["alone"]

    def end_others():
        if not alone:
            return
        try:
            while True:  # until it fails, because no process is left
                kill(-1, 9)
                reap()
                nap(0.0005)
        except OSError:
            pass

    def reap():
        try:
            while True:
                waitpid(-1, 0)
        except OSError:
            pass

    def report(error, fallback):
        try:
            trace = error.__traceback__
            while trace and trace.tb_frame.f_code is run_program.__code__:
                trace = trace.tb_next
            text = "".join(format_exception(type(error), error, trace))
        except base_exception:
            try:
                text = "".join(format_only(type(error), None))
            except base_exception:
                text = fallback
        try:
            send_all(err, text.encode("utf-8", "backslashreplace"))
        except OSError:
            pass

    def exit_code(value):
        if value is None:
            return 0
        if isinstance(value, int):
            return int(value) & 0xFF
        report_text(value)
        return 1

    def report_text(value):
        try:
            text = str(value) + "\n"
        except base_exception:
            text = "the value of SystemExit has no text\n"
        send_all(err, text.encode("utf-8", "backslashreplace"))

    def run_program(source, name):
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        try:
            program = code_of_compile(source, name, "exec", dont_inherit=True)
            unshield()
            run(program, _main.__dict__)
            code = 0
        except SystemExit as end:
            code = exit_code(end.code)
        except base_exception as error:
            code = 1
            report(error, "the error could not be shown\n")
        return code

    numbers = [number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]
    get_handler, set_handler, ignore = signal.getsignal, signal.signal, signal.SIG_IGN
    handlers = {}

    def shield():
        """What a program hooked in must not run in between two of them, where an error of it would lose the next."""
        while True:
            try:
                sys.settrace(None)
                sys.setprofile(None)
                for number in numbers:
                    handler = get_handler(number)
                    if callable(handler) and handler is not ignore:
                        handlers[number] = handler
                        set_handler(number, ignore)
                return
            except base_exception:
                pass

    def unshield():
        while handlers:
            set_handler(*handlers.popitem())

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except base_exception:  # closed or replaced by a program
                pass

    def leave():
        flush()
        _exit(0)

    def restore():
        """A program may have closed or lost its output; the next one finds it as it was at first."""
        for name, fd, source in (("stdout", 1, out), ("stderr", 2, err)):
            dup2(source, fd)
            if getattr(getattr(sys, name, None), "closed", True):
                stream = open_file(fd, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
                setattr(sys, name, stream)

    # Lines leave at once, so that what was printed before a time limit is seen.
    sys.stdout.close()
    sys.stderr.close()
    restore()
    sys.modules["__main__"] = _main
    _main.__dict__["__builtins__"] = builtins
    sys.argv = [""]
    shield()
    answer({"ready": True})
    step = 0
    while True:
        question = ask()
        step += 1
        restore()
        code = 1
        try:
            code = run_program(question["code"], "<step %d>" % step)
        except base_exception as error:  # a signal's handler, just when the program had ended
            report(error, "the error could not be shown\n")
        shield()
        if getpid() != own:  # a child that a program forked has run to the program's end
            leave()
        flush()
        end_others()
        mark = question["id"].encode()
        send_all(out, mark)
        send_all(err, mark)
        answer({"id": question["id"], "exit_code": code})


_drive()
