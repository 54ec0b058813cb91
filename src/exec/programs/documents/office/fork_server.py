"""Serves each request by a child that was forked ahead, with LibreOffice loaded: it reads one document, answers, and ends.

The server itself reads no document, and of what a child says nothing but where a line ends. Who asks ends what a child may have left, and then
asks for the next one by {"next": number}, answered {"ready": true, "next": number}, or {"crashed": why, "next": number}.
"""

import json
import os
import stat
import sys
import traceback
import warnings
from pathlib import Path

from confinement import confine, name_process
from wire import say

LONGEST_LINE = 64 * 1024
# As an answer begins; all other lines are progress.
ANSWER = b'{"ok"'
NOT_READY = "a forked process ended before it was ready"


def serve(office, answer):
    # Python warns of forking with threads: of these the child's is the only one that matters.
    warnings.simplefilter("ignore", DeprecationWarning)
    temporary = [str(path) for path in Path("tmp").rglob("*") if path.is_dir()]
    child = Child(office, answer, temporary)
    if not child.is_ready:
        raise RuntimeError(NOT_READY)
    say({"ready": True, "fresh": "fork"})
    for line in sys.stdin:
        if number := json.loads(line).get("next"):
            child = Child(office, answer, temporary)
            say({**({"ready": True} if child.is_ready else {"crashed": NOT_READY}), "next": number})
        elif (words := child.ask(line)) is not None:
            say({"crashed": words})


class Child:
    """A forked process, with a pipe to it and one from it."""

    def __init__(self, office, answer, temporary):
        reap()
        request, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        inherited = descriptors(but=(request, answers))
        if os.fork() == 0:
            try:
                run(office, answer, temporary, Pipes(request, answers), inherited)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(request)
        os.close(answers)
        self.lines = Lines(self.answers)
        self.is_ready = self.lines.copy_to(None) is not None

    def ask(self, line):
        """Copies what it answers to standard output. @return None, or why there is no answer"""
        try:
            os.write(self.requests, line.encode())
            while (copied := self.lines.copy_to(sys.stdout.fileno())) is not None:
                if copied:
                    return None
            return f"the conversion ended without an answer: {reap() or 'it has not ended'}"
        except BrokenPipeError:
            return "the process ended before it was asked"
        finally:
            self.lines.forget()
            os.close(self.requests)
            os.close(self.answers)


class Lines:
    """Copies lines without a trace: the next child has a copy of our memory."""

    def __init__(self, source):
        self.source, self.room, self.held = source, bytearray(LONGEST_LINE), 0

    def copy_to(self, target):
        """Copies a line. @return whether it is an answer; None if there is no further line"""
        with memoryview(self.room) as room:
            while (end := self.room.find(b"\n", 0, self.held)) < 0:
                count = os.readv(self.source, [room[self.held :]]) if self.held < LONGEST_LINE else 0
                if count == 0:
                    return None
                self.held += count
            written = 0
            while target is not None and written <= end:
                written += os.write(target, room[written : end + 1])
            is_answer = self.room.startswith(ANSWER)
            self.held -= end + 1
            room[: self.held] = bytes(room[end + 1 : end + 1 + self.held])
            return is_answer

    def forget(self):
        self.room[:] = bytes(LONGEST_LINE)


def reap():
    """Takes note of children that have ended. @return how, of the last one"""
    how = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
            code = os.waitstatus_to_exitcode(ended[1])
            how = f"signal {-code}" if code < 0 else f"code {code}"
    except ChildProcessError:
        pass
    return how


# ---- in the child ----


class Pipes:
    def __init__(self, request, answers):
        self.request, self.answers = request, answers


def run(office, answer, temporary, pipes, inherited):
    os.dup2(pipes.answers, 1)
    os.close(pipes.answers)
    for number, path in inherited:
        replace(number, path)
    office.become_main_thread()
    # Takes LibreOffice's lock: where that is held for ever, we hang before anybody waits for us.
    office.desktop.getFrames().getCount()
    name_process("python3-ready")
    say({"ready": True})
    with open(pipes.request, encoding="utf-8") as requests:
        line = requests.readline()
    if line:
        request = json.loads(line)
        enter(Path(request["output"]).parent, request["source"], temporary)
        say(answer(office, line))


def enter(folder, source, temporary):
    """Makes the job's folder the place of LibreOffice's profile and temporary files, and the only one."""
    os.chdir(folder)
    for name in ("profile/user", "tmp", *temporary):
        os.makedirs(name, mode=0o700, exist_ok=True)
    confine(folder, source)


def descriptors(but):
    """Those that a child inherits, each with its path, or None for pipes and for what the samples left."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number in (1, 2, *but):
            continue
        try:
            status = os.fstat(number)
            is_kept = stat.S_ISREG(status.st_mode) and status.st_nlink > 0
            found.append((number, os.readlink(f"/proc/self/fd/{name}") if is_kept else None))
        except OSError:
            # The one that listed them.
            pass
    return found


def replace(number, path):
    """Puts another open file in the place of one that the server has too: places to read at, and what lies in a pipe, would be shared."""
    if path is not None:
        own = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    else:
        own = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    os.dup2(own, number, inheritable=number == 0)
    os.close(own)
