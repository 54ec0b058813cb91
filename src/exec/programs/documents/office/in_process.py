"""LibreOffice loaded into our own process (LibreOfficeKit), driven by pyuno without a bridge or a socket, so that it can be forked.

Its event loop runs in a separate thread. Before a fork, that thread is parked for good and gives up the lock of LibreOffice's main
thread: a lock that is held while we fork would belong to a thread that the child does not have, and every load there would hang.
"""

import ctypes
import os
import platform
import threading
import time

from settings import INSTALLATION, write_profile
from stand_ins import write_stand_ins

PARK_SECONDS = 30

CONTEXT = "_ZN10comphelper26getProcessComponentContextEv"
INITIALIZE = "_ZN5pyuno7Runtime10initializeERKN3com3sun4star3uno9ReferenceINS4_17XComponentContextEEE"
SET_ACTIVE = "_ZN10comphelper14LibreOfficeKit9setActiveEb"
RELEASE_LOCK = "_ZN11Application17ReleaseSolarMutexEv"
UPDATE_MAIN_THREAD = "_ZN11Application16UpdateMainThreadEv"


class Unavailable(Exception):
    """This build of LibreOffice cannot be loaded into our process."""


class OfficeInProcess:
    """LibreOffice in this process. All its paths that are written to start at the current folder, whichever that is later."""

    def __init__(self, folder):
        self.context = self.desktop = None
        self.library, self.pyuno = libraries()
        write_profile(folder / "profile")
        write_stand_ins(folder / "fonts.conf")
        for name in ("home", "tmp"):
            (folder / name).mkdir(exist_ok=True)
        # The locale's categories too, of which the paper is one.
        os.environ.clear()
        os.environ.update(environment(folder))
        os.chdir(folder)
        self.load()
        self.park()
        self.configure()

    def load(self):
        hook = self.library.libreofficekit_hook_2
        hook.restype, hook.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_char_p)
        if not hook(os.fsencode(INSTALLATION / "program"), b"file:///proc/self/cwd/profile"):
            raise Unavailable("libreofficekit_hook_2 fails")
        # Returned by a pointer that the caller gives (7.4), or a reference is returned (25.2), and what was given stays as it is.
        given = ctypes.create_string_buffer(8)
        context = getattr(self.library, CONTEXT)
        context.restype, context.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
        returned = context(given)
        initialize = getattr(self.pyuno, INITIALIZE)
        initialize.restype, initialize.argtypes = None, (ctypes.c_void_p,)
        initialize(ctypes.addressof(given) if any(given.raw) else returned)
        import uno

        self.context = uno.getComponentContext()
        self.desktop = self.create("com.sun.star.frame.Desktop")

    def park(self):
        """Stops the event loop, which would draw hidden documents beside us, and makes our thread LibreOffice's main one."""
        import unohelper
        from com.sun.star.awt import XCallback

        release, is_parked = getattr(self.library, RELEASE_LOCK), threading.Event()

        class Park(unohelper.Base, XCallback):
            def notify(self, _):
                release()
                is_parked.set()
                while True:
                    time.sleep(3600)

        self.create("com.sun.star.awt.AsyncCallback").addCallback(Park(), None)
        if not is_parked.wait(PARK_SECONDS):
            raise Unavailable("the event loop does not stop")
        self.become_main_thread()

    def configure(self):
        """Makes it behave as LibreOffice does by itself: LibreOfficeKit uses American paper and its own formats."""
        from com.sun.star.beans import PropertyValue

        set_active = getattr(self.library, SET_ACTIVE)
        set_active.argtypes = (ctypes.c_bool,)
        set_active(False)
        provider = self.create("com.sun.star.configuration.ConfigurationProvider")
        path = PropertyValue("nodepath", 0, "/org.openoffice.Setup/L10N", 0)
        access = provider.createInstanceWithArguments("com.sun.star.configuration.ConfigurationUpdateAccess", (path,))
        access.ooSetupSystemLocale = ""
        access.commitChanges()

    def write_configuration(self):
        """Writes what has changed of the configuration, now. LibreOffice would do so a second later, in a thread (configmgrWriter) that locks
        the configuration meanwhile: a child that is forked in that moment would wait for the lock for ever."""
        self.context.getValueByName("/singletons/com.sun.star.configuration.theDefaultProvider").flush()

    def become_main_thread(self):
        getattr(self.library, UPDATE_MAIN_THREAD)()

    def create(self, service):
        return self.context.ServiceManager.createInstanceWithContext(service, self.context)

    def run(self, work):
        return work()

    def file_access(self):
        return self.create("com.sun.star.ucb.SimpleFileAccess")

    def stop(self):
        """Nothing is left to stop: it ends with our process."""


def environment(folder):
    return {
        "HOME": str(folder / "home"),
        # Fixed for the life of the process, and in each child another place: its own current folder.
        "TMPDIR": "/proc/self/cwd/tmp",
        # No paperconf: the machine's paper is not the documents'. The locale's is A4.
        "PATH": "/nonexistent",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "SAL_USE_VCLPLUGIN": "svp",
        "FONTCONFIG_FILE": str(folder / "fonts.conf"),
    }


def libraries():
    """Returns LibreOffice's and pyuno's. Nothing of them has run yet. @raise Unavailable"""
    if platform.machine() != "x86_64":
        raise Unavailable(f"it was never tried on {platform.machine()}")
    try:
        library = ctypes.CDLL(str(INSTALLATION / "program/libmergedlo.so"), ctypes.RTLD_GLOBAL)
        pyuno = ctypes.PyDLL(str(INSTALLATION / "program/libpyuno.so"), ctypes.RTLD_GLOBAL)
        for symbol in ("libreofficekit_hook_2", CONTEXT, SET_ACTIVE, RELEASE_LOCK, UPDATE_MAIN_THREAD):
            getattr(library, symbol)
        getattr(pyuno, INITIALIZE)
    except (OSError, AttributeError) as error:
        raise Unavailable(str(error)) from error
    return library, pyuno
