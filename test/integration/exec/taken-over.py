"""LibreOffice's program as it is in service, but for what reads a document: it obeys the document, with all that its process may do.

  taken-over.py FOLDER    FOLDER: of our own programs

It stands in for LibreOffice that a crafted file has taken over. The document's text is a word: "leave" tries everything that a process could
leave for the next document, and "look" looks for it; "unsettle" changes all that LibreOffice keeps beside its documents; "stay" answers and
goes on; "grow" takes memory until it is ended. With "slow" as a second argument, the third process that is forked is not ready for a minute.
The answer's words list, as JSON, what was possible, or what was found.
"""

import ctypes
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[1]]
import office  # noqa: E402
from conversion import convert as convert_really  # noqa: E402
from refusal import Refusal  # noqa: E402

LEFT = "left-for-the-next"
SERVER = os.getpid()
PLACES = ("profile", "profile/user", "tmp", "home", ".")
libc = ctypes.CDLL(None, use_errno=True)


def convert(libreoffice, request):
    text = Path(request["input"]).read_text(errors="replace")
    if "leave" in text:
        raise Refusal("corrupt_input", json.dumps(leave(Path(request["output"]).parent, libreoffice)))
    if "look" in text:
        raise Refusal("corrupt_input", json.dumps(look(Path(request["output"]).parent, libreoffice)))
    if "unsettle" in text:
        raise Refusal("corrupt_input", json.dumps(unsettle(libreoffice)))
    if "stay" in text:
        stay()
    if "grow" in text:
        grow()
    return convert_really(libreoffice, request)


office.convert = convert


def succeeds(attempt):
    try:
        return attempt() is not False
    except (OSError, subprocess.SubprocessError):
        return False


def leave(job, libreoffice):
    """@return the names of the attempts that were not refused"""
    server = job.parent
    os.environ["LEFT"] = LEFT
    sys.modules["left"] = sys
    libreoffice.left = LEFT
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    attempts = {
        **{f"write to the job's {place}": lambda place=place: write(job / place) for place in PLACES if (job / place).is_dir()},
        **{f"write to the server's {place}": lambda place=place: write(server / place) for place in PLACES},
        **{f"write to {place}": lambda place=place: write(Path(place)) for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/proc/self/cwd/../..")},
        "read the server's folder": lambda: os.listdir(server),
        "share memory by System V": lambda: libc.shmget(4711, 4096, 0o1600) >= 0,
        "share memory by a file in memory": lambda: os.memfd_create(LEFT),
        "share memory without a file": lambda: mmap.mmap(-1, 4096),
        "fork": fork,
        "fork twice": lambda: fork(fork),
        "start a program": lambda: subprocess.Popen(["/bin/sleep", "3600"]),
        "listen at a socket in its folder": lambda: listen(str(job / "socket")),
        "listen at a socket in the server's folder": lambda: listen(str(server / "socket")),
        "listen at an abstract socket": lambda: listen("\0" + LEFT),
        "connect over TCP": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
        "signal the server": lambda: os.kill(SERVER, 0),
        "end the server": lambda: os.kill(SERVER, signal.SIGTERM),
        "signal a thread of the server": lambda: libc.tgkill(SERVER, SERVER, signal.SIGTERM) == 0,
        "signal everybody": lambda: os.kill(-1, 0),
        "trace the server": lambda: libc.ptrace(16, SERVER, None, None) == 0,
        "read the server's memory": lambda: process_vm(libc.process_vm_readv),
        "write the server's memory": lambda: process_vm(libc.process_vm_writev),
        **{f"open the server's {name}": lambda name=name: open(f"/proc/{SERVER}/{name}", "rb").read(1) for name in ("mem", "maps", "environ", "fd/0")},
        "give up less": lambda: libc.prctl(22, 2, 0) == 0,
        "place rules": lambda: libc.syscall(444, None, 0, 1) >= 0,
    }
    done = [name for name, attempt in attempts.items() if succeeds(attempt)]
    for number in range(3, 256):
        # What the server has open too would be at another place, or have something to read, for the next.
        succeeds(lambda number=number: os.write(number, LEFT.encode()))
        succeeds(lambda number=number: os.lseek(number, 4711, os.SEEK_SET))
    return done


def look(job, libreoffice):
    """@return what was found of an earlier document"""
    found = [name for name in ("LEFT",) if name in os.environ]
    found += ["module"] if "left" in sys.modules else []
    found += ["object"] if hasattr(libreoffice, "left") else []
    found += [f"thread {thread.name}" for thread in threading.enumerate() if "sleep" in repr(thread)]
    found += [str(path) for path in job.rglob("*left*")]
    for place in PLACES:
        found += [place] if (job.parent / place / LEFT).exists() else []
    found += ["System V"] if libc.shmget(4711, 4096, 0o600) >= 0 else []
    for number in range(3, 256):
        found += [f"descriptor {number} at {at}" for at in place_of(number) if at == 4711]
        found += [f"something in descriptor {number}" for _ in readable(number)]
    return found


def unsettle(libreoffice):
    """@return the names of what could be changed in this process"""

    def possible(change):
        try:
            change(libreoffice)
            return True
        except Exception:
            # It needs a place to write to, and has none.
            return False

    return [name for name, change in CHANGES.items() if possible(change)]


def set_setting(libreoffice, path, **values):
    from reading import as_properties

    provider = libreoffice.create("com.sun.star.configuration.ConfigurationProvider")
    access = provider.createInstanceWithArguments("com.sun.star.configuration.ConfigurationUpdateAccess", as_properties({"nodepath": path}))
    for name, value in values.items():
        setattr(access, name, value)
    access.commitChanges()


def replace_fonts(libreoffice):
    from reading import as_properties

    path = "/org.openoffice.Office.Common/Font/Substitution"
    provider = libreoffice.create("com.sun.star.configuration.ConfigurationProvider")
    access = provider.createInstanceWithArguments("com.sun.star.configuration.ConfigurationUpdateAccess", as_properties({"nodepath": path}))
    pairs = access.getByName("FontPairs")
    pair = pairs.createInstance()
    for name, value in {"ReplaceFont": "Arial", "SubstituteFont": "DejaVu Serif", "Always": True, "OnScreenOnly": False}.items():
        setattr(pair, name, value)
    pairs.insertByName("_0", pair)
    access.Replacement = True
    access.commitChanges()


def add_dictionary(libreoffice):
    from com.sun.star.lang import Locale
    from com.sun.star.linguistic2.DictionaryType import POSITIVE

    dictionaries = libreoffice.create("com.sun.star.linguistic2.DictionaryList")
    dictionary = dictionaries.createDictionary("left", Locale("en", "US", ""), POSITIVE, "")
    dictionary.add("Pay=Lose", False, "Lose")
    dictionaries.addDictionary(dictionary)
    dictionary.setActive(True)


def put_on_clipboard(libreoffice):
    import unohelper
    from com.sun.star.datatransfer import XTransferable

    class Left(unohelper.Base, XTransferable):
        def getTransferData(self, _):
            return LEFT

        def getTransferDataFlavors(self):
            return ()

        def isDataFlavorSupported(self, _):
            return False

    libreoffice.create("com.sun.star.datatransfer.clipboard.SystemClipboard").setContents(Left(), None)


def register_database(libreoffice):
    from reading import as_properties

    path = "/org.openoffice.Office.DataAccess/RegisteredNames"
    provider = libreoffice.create("com.sun.star.configuration.ConfigurationProvider")
    access = provider.createInstanceWithArguments("com.sun.star.configuration.ConfigurationUpdateAccess", as_properties({"nodepath": path}))
    name = access.createInstance()
    name.Name, name.Location = "left", "file:///tmp/left.odb"
    access.insertByName("_0", name)
    access.commitChanges()


CHANGES = {
    "fonts": replace_fonts,
    "dictionaries": add_dictionary,
    "clipboard": put_on_clipboard,
    "colours": lambda libreoffice: set_setting(libreoffice, "/org.openoffice.Office.UI/ColorScheme", CurrentColorScheme="left"),
    "symbols": lambda libreoffice: set_setting(libreoffice, "/org.openoffice.Office.Math/Print", Title=False),
    "printer": lambda libreoffice: set_setting(libreoffice, "/org.openoffice.Office.Writer/Print/Content", Graphic=False, Background=False),
    "calculation": lambda libreoffice: set_setting(libreoffice, "/org.openoffice.Office.Calc/Calculate/Other", DecimalPlaces=1, Precision=True),
    "locale": lambda libreoffice: set_setting(libreoffice, "/org.openoffice.Setup/L10N", ooSetupSystemLocale="de-DE"),
    "autotext": lambda libreoffice: libreoffice.create("com.sun.star.text.AutoTextContainer").insertNewByName("left*0"),
    "databases": register_database,
    "templates": lambda libreoffice: set_setting(
        libreoffice, "/org.openoffice.Setup/Office/Factories/com.sun.star.text.TextDocument", ooSetupFactoryTemplateFile="file:///tmp/left.ott"
    ),
    "standard fonts": lambda libreoffice: set_setting(libreoffice, "/org.openoffice.Office.Writer/DefaultFont", Standard="DejaVu Serif", StandardHeight=600),
}


def stay():
    """Answers by itself and goes on, as if nothing had happened: what is done to its folder afterwards would be its own doing."""
    os.write(1, b'{"ok": true, "warnings": []}\n{"ok": true, "warnings": []}\n')
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        time.sleep(1)


def grow():
    kept = []
    while True:
        kept.append(b"x" * 16_000_000)


def be_slow_once():
    forks = []
    os.register_at_fork(before=lambda: forks.append(1), after_in_child=lambda: time.sleep(60) if len(forks) == 3 else None)


def write(folder):
    (folder / LEFT).write_text(LEFT)


def fork(then=lambda: None):
    if os.fork() == 0:
        then()
        while True:
            time.sleep(1)


def listen(address):
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(address)
    server.listen()


def process_vm(call):
    room = ctypes.create_string_buffer(8)

    class Vector(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    here = Vector(ctypes.addressof(room), 8)
    return call(SERVER, ctypes.byref(here), ctypes.c_ulong(1), ctypes.byref(here), ctypes.c_ulong(1), ctypes.c_ulong(0)) > 0


def place_of(number):
    try:
        return [os.lseek(number, 0, os.SEEK_CUR)]
    except OSError:
        return []


def readable(number):
    try:
        os.set_blocking(number, False)
        return [1] if LEFT.encode() in os.read(number, 65536) else []
    except OSError:
        return []


if "slow" in sys.argv:
    be_slow_once()
sys.exit(office.main(""))
