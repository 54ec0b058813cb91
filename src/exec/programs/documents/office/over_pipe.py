"""LibreOffice as a process below ours, asked over a pipe: for builds that cannot be loaded into our own process."""

import os
import signal
import subprocess
import sys
import threading
import time

from settings import INSTALLATION, write_profile
from stand_ins import write_stand_ins

PIPE = "f"
START_SECONDS = 60
# 107 bytes for "<folder>/OSL_PIPE_f" (unix(7)).
LONGEST_FOLDER = 96


class OfficeOverPipe:
    """A running soffice, and our end of its pipe."""

    def __init__(self, folder):
        self.folder = folder
        self.process = self.context = self.desktop = None
        write_profile(folder / "profile")
        write_stand_ins(folder / "fonts.conf")
        for name in ("home", "tmp"):
            (folder / name).mkdir(exist_ok=True)
        # The socket is in our own folder. We use its full path: the launcher connects for us, and only to full paths.
        if len(os.fsencode(folder)) > LONGEST_FOLDER:
            raise RuntimeError(f"the folder's path is longer than {LONGEST_FOLDER} bytes, so no socket in it can be named")
        os.environ["OSL_SOCKET_PATH"] = str(folder)
        self.start()

    def start(self):
        end = time.monotonic() + START_SECONDS
        while self.desktop is None:
            self.process = subprocess.Popen(self.command(), env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=sys.stderr, preexec_fn=die_with_parent)
            self.desktop = self.connect(end)
            # Exit code 81 asks for a restart, after setting up a new profile.
            if self.desktop is None and self.process.wait() != 81:
                raise RuntimeError(f"soffice ended with {self.process.returncode}")

    def command(self):
        switches = ("headless", "norestore", "nologo", "nodefault", "nolockcheck", "nofirststartwizard", f"accept=pipe,name={PIPE};urp")
        profile = (self.folder / "profile").as_uri()
        return [INSTALLATION / "program/soffice.bin", f"-env:UserInstallation={profile}", *(f"--{switch}" for switch in switches)]

    def environment(self):
        return {
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            # Relative: soffice makes a second socket with a name so long that the folder's path often does not fit before it (107 bytes).
            "OSL_SOCKET_PATH": ".",
            # No paperconf: the machine’s paper is not the documents’.
            "PATH": "/nonexistent",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "SAL_USE_VCLPLUGIN": "svp",
            "FONTCONFIG_FILE": str(self.folder / "fonts.conf"),
        }

    def connect(self, end):
        """Returns the desktop, or None if soffice ended instead of answering."""
        import uno
        from com.sun.star.connection import NoConnectException

        local = uno.getComponentContext()
        resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
        while self.process.poll() is None:
            try:
                context = resolver.resolve(f"uno:pipe,name={PIPE};urp;StarOffice.ComponentContext")
                self.context = context
                return context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
            except NoConnectException:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        return None

    def run(self, work):
        """Runs `work` while LibreOffice's main thread waits for it, so that the calls it makes run there (a UNO request carries its thread along).

        Otherwise the event loop would run in parallel and draw the hidden document: comments in its margin need parts of the user interface that
        server packages lack, and LibreOffice would crash.
        """
        import unohelper
        from com.sun.star.awt import XCallback

        done, results, failures = threading.Event(), [], []

        class Callback(unohelper.Base, XCallback):
            def notify(self, _):
                try:
                    results.append(work())
                except BaseException as error:  # Handed to the thread that waits.
                    failures.append(error)
                done.set()

        self.context.ServiceManager.createInstanceWithContext("com.sun.star.awt.AsyncCallback", self.context).addCallback(Callback(), None)
        while not done.wait(0.2):
            if self.process.poll() is not None and not done.is_set():
                raise RuntimeError(f"soffice ended with {self.process.returncode}")
        if failures:
            raise failures[0]
        return results[0]

    def create(self, service):
        return self.context.ServiceManager.createInstanceWithContext(service, self.context)

    def file_access(self):
        return self.create("com.sun.star.ucb.SimpleFileAccess")

    def stop(self):
        self.process.kill()
        self.process.wait()


def die_with_parent():
    """Ends soffice when we are killed: without confinement nothing else would (prctl(2), PR_SET_PDEATHSIG)."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
