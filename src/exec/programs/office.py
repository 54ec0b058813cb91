"""Runs LibreOffice: each line of JSON on stdin requests one conversion, and one line of JSON on stdout answers it.

  office.py             serves requests until stdin ends; prints {"ready":true} first
  office.py --once      answers one request and exits: 0 done, 1 failed
  office.py --version   prints "LibreOffice 7.4"

It writes only to the current folder, which also holds LibreOffice's profile and socket.

Request: input (path), source (format id, detected by our own sniffing), output (path of an empty folder), target (format id),
family ("text", "sheet" or "slides": what the source becomes once it is loaded), and optional passwordFile (path), pages ([[first, last], ...]),
quality (1 to 100, of JPEG in a PDF), csvTypes ("auto": numbers of a CSV are read as such however they are written). Answer: {"ok": true, "warnings": []} or {"ok": false, "reason", "words", "details"?}.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from xml.sax.saxutils import quoteattr

INSTALLATION = Path(os.environ.get("OFFICE_INSTALLATION", "/usr/lib/libreoffice"))
PIPE = "f"
MOST_PAGES = 2000
MOST_SHEETS = 500
# Cells of one sheet from A1 to the last one in use: each of them is written, empty or not.
MOST_CELLS = 100_000_000
# Bounds of a package, by the sizes in its directory; LibreOffice itself refuses parts that turn out longer.
MOST_PARTS = 20_000
MOST_UNPACKED = 2 * 1024 * 1024 * 1024
START_SECONDS = 60
# 107 bytes for "<folder>/OSL_PIPE_f" (unix(7)).
LONGEST_FOLDER = 96

# The import filter of each source (LibreOffice's filter/source/config/fragments/filters): no other decoder is tried.
READS = {
    "docx": "MS Word 2007 XML",
    "doc": "MS Word 97",
    "odt": "writer8",
    "fodt": "OpenDocument Text Flat XML",
    "rtf": "Rich Text Format",
    "html": "HTML (StarWriter)",
    "txt": "Text (encoded)",
    "pdf": "writer_pdf_import",
    "xlsx": "Calc MS Excel 2007 XML",
    "xls": "MS Excel 97",
    "ods": "calc8",
    "fods": "OpenDocument Spreadsheet Flat XML",
    "csv": "Text - txt - csv (StarCalc)",
    "tsv": "Text - txt - csv (StarCalc)",
    "pptx": "Impress MS PowerPoint 2007 XML",
    "ppt": "MS PowerPoint 97",
    "odp": "impress8",
    "fodp": "OpenDocument Presentation Flat XML",
}
WRITES = {
    "text": {
        **{target: READS[target] for target in ("docx", "doc", "odt", "fodt", "rtf", "html", "txt")},
        "pdf": "writer_pdf_Export",
    },
    "sheet": {
        **{target: READS[target] for target in ("xlsx", "xls", "ods", "fods", "csv")},
        "html": "HTML (StarCalc)",
        "pdf": "calc_pdf_Export",
    },
    "slides": {**{target: READS[target] for target in ("pptx", "ppt", "odp", "fodp")}, "pdf": "impress_pdf_Export"},
}

# Turns off what a hostile document could trigger, and what would make one job differ from the next.
SETTINGS = (
    ("Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Common/Security/Scripting", "DisableMacrosExecution", "true"),
    ("Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("Common/Security/Scripting", "CheckDocumentEvents", "true"),
    ("Calc/Content/Update", "Link", "2"),
    ("Writer/Content/Update", "Link", "2"),
    ("Writer/Content/Update", "Field", "false"),
    ("Writer/Content/Update", "Chart", "false"),
    ("Recovery/AutoSave", "Enabled", "false"),
    ("Recovery/RecoveryInfo", "Enabled", "false"),
    ("Common/History", "PickListSize", "0"),
    ("Common/Misc", "FirstRun", "false"),
    ("Common/Misc", "UseLocking", "false"),
    ("Common/Misc", "CrashReport", "false"),
    ("Common/VCL", "DisableOpenGL", "true"),
    ("Java/VirtualMachine", "Enable", "false"),
    ("Jobs/Jobs/org.openoffice.Office.Jobs:Job['UpdateCheck']/Arguments", "AutoCheckEnabled", "false"),
)
SETUP = (("L10N", "ooLocale", "en-US"), ("Office", "ooSetupInstCompleted", "true"), ("Office", "MigrationCompleted", "true"))


class Refusal(Exception):
    """A failed conversion, with the reason that the API reports."""

    def __init__(self, reason, words, details=None, misfit=None):
        super().__init__(words)
        self.answer = {"ok": False, "reason": reason, "words": words, **({"details": details} if details else {}), **({"misfit": misfit} if misfit else {})}


def bound(limit, most, received):
    if received > most:
        raise Refusal("input_limit", f"{limit} {received}, at most {most}", {"limit": limit, "max": most, "received": received})


# ---- LibreOffice as a child of ours ----


class Office:
    """A running soffice, and our end of its pipe."""

    def __init__(self, folder):
        self.folder = folder
        self.process = self.context = self.desktop = None
        write_profile(folder / "profile")
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
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "SAL_USE_VCLPLUGIN": "svp",
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

    def on_main_thread(self, work):
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

    def file_access(self):
        return self.context.ServiceManager.createInstanceWithContext("com.sun.star.ucb.SimpleFileAccess", self.context)

    def stop(self):
        self.process.kill()
        self.process.wait()


def die_with_parent():
    """Ends soffice when we are killed: without confinement nothing else would (prctl(2), PR_SET_PDEATHSIG)."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def write_profile(profile):
    """Writes a profile that LibreOffice takes for one that it has already set up."""
    user = profile / "user"
    (user / "extensions").mkdir(parents=True, exist_ok=True)
    build = re.search(r"^buildid=(.*)$", (INSTALLATION / "program/versionrc").read_text(), re.M)
    (user / "extensions/buildid").write_text(build.group(1) if build else "")
    rows = [(f"/org.openoffice.Setup/{path}", name, value) for path, name, value in SETUP]
    rows += [(f"/org.openoffice.Office.{path}", name, value) for path, name, value in SETTINGS]
    items = "".join(
        f'<item oor:path={quoteattr(path)}><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>\n' for path, name, value in rows
    )
    namespaces = 'xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    (user / "registrymodifications.xcu").write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n<oor:items {namespaces}>\n{items}</oor:items>\n')


# ---- one conversion ----


def convert(office, request):
    return office.on_main_thread(lambda: convert_now(office, request))


def convert_now(office, request):
    warnings = []
    document = load(office, request, warnings)
    try:
        warnings += keep_to_itself(document, request["family"])
        warnings += lost_formulas(document, request)
        save(document, request)
        return warnings
    finally:
        dispose(document)


def load(office, request, warnings):
    import unohelper
    from com.sun.star.lang import IllegalArgumentException
    from com.sun.star.task import XInteractionHandler

    source, password_file = request["source"], request.get("passwordFile")
    password = Path(password_file).read_text("utf-8") if password_file else None
    asked = []

    class Handler(unohelper.Base, XInteractionHandler):
        """Answers LibreOffice's dialogs."""

        def handle(self, question):
            # The question cannot be read, since Python's bridge fails on exceptions that are values. The possible answers tell enough.
            choices = {type.typeName.rsplit(".", 1)[-1]: choice for choice in question.getContinuations() for type in choice.getTypes()}
            asked.append(sorted(choices))
            entry = choices.get("XInteractionPassword2") or choices.get("XInteractionPassword")
            if entry is None:
                # Declines to repair the document, and approves everything else.
                order = ("XInteractionDisapprove", "XInteractionApprove", "XInteractionAbort")
            elif password is not None and passwords_asked(asked) == 1:
                entry.setPassword(password)
                order = ("XInteractionPassword2", "XInteractionPassword")
            else:
                order = ("XInteractionAbort",)
            chosen = next((choices[name] for name in order if name in choices), None)
            if chosen is not None:
                chosen.select()

    properties = {
        "Hidden": True,
        "ReadOnly": True,
        "FilterName": READS[source],
        "InteractionHandler": Handler(),
        "MacroExecutionMode": 0,  # com.sun.star.document.MacroExecMode.NEVER_EXECUTE
        "UpdateDocMode": 0,  # com.sun.star.document.UpdateDocMode.NO_UPDATE
        **reading_options(request, warnings),
    }
    look_into_package(Path(request["input"]))
    failure = ""
    try:
        # Loaded from a stream, under a made-up address: fields and formulas would reveal the file's path.
        # Not "private:stream": LibreOffice would trust its links, follow them, and lose their cached contents.
        properties["InputStream"] = office.file_access().openFileRead(Path(request["input"]).as_uri())
        address = f"vnd.filemill:/document{Path(request['input']).suffix}"
        document = office.desktop.loadComponentFromURL(address, "_blank", 0, as_properties(properties))
    except IllegalArgumentException as error:
        document, failure = None, str(error)
    if document is None:
        if passwords_asked(asked) > 0:
            raise Refusal("password_required" if password is None else "wrong_password", "the document asks for a password")
        raise Refusal("corrupt_input", f"LibreOffice does not load it: {failure or asked}")
    used = {each.Name: each.Value for each in document.getArgs()}.get("FilterName")
    if used != READS[source]:
        dispose(document)
        raise Refusal("corrupt_input", f"named {source}, loaded as {used}")
    return document


def keep_to_itself(document, family):
    """Removes what would reveal this machine: its installed fonts, and what the function INFO returns about its kernel."""
    settings = document.createInstance("com.sun.star.document.Settings")
    if settings.PropertySetInfo.hasPropertyByName("EmbedFonts"):
        settings.EmbedFonts = False
    if family != "sheet":
        return []
    changed = 0
    for name in document.NamedRanges.ElementNames:
        named = document.NamedRanges.getByName(name)
        if (after := without_info(named.Content)) != named.Content:
            named.Content = after
            changed += 1
    for sheet in document.Sheets:
        for cell in [*cells_found(sheet, "INFO("), *hidden_formulas(sheet)]:
            changed += take_out_info(sheet, cell)
    message = "Formulas with the function INFO, which reveals the machine that it runs on, return its argument instead."
    return [{"code": "info_removed", "message": message}] if changed else []


def lost_formulas(document, request):
    """Returns a warning if the document has formulas, and the target has values alone."""
    if request["family"] != "sheet" or request["target"] not in ("csv", "html"):
        return []
    if not any(sheet.queryContentCells(16).Count for sheet in document.Sheets):  # com.sun.star.sheet.CellFlags.FORMULA
        return []
    return [{"code": "lossy", "message": f"This conversion from {request['source']} does not keep: formulas."}]


def without_info(formula):
    return re.sub(r"\bINFO\(", "T(", formula, flags=re.I)


def cells_found(sheet, words):
    """Yields the cells whose formula or text contains these words."""
    wanted = sheet.createSearchDescriptor()
    wanted.SearchString, wanted.SearchType = words, 0
    found = sheet.findAll(wanted)
    for address in found.RangeAddresses if found else ():
        yield from cells_in(sheet, address)


def hidden_formulas(sheet):
    """Yields the cells with a formula in rows that a filter hides: searching skips them."""
    shown = sorted((area.StartRow, area.EndRow) for area in sheet.queryVisibleCells().RangeAddresses)
    cursor = sheet.createCursor()
    cursor.gotoEndOfUsedArea(False)
    last = cursor.RangeAddress
    row = 0
    for first, end in [*shown, (last.EndRow + 1, last.EndRow + 1)]:
        if row < min(first, last.EndRow + 1):
            hidden = sheet.getCellRangeByPosition(0, row, last.EndColumn, min(first, last.EndRow + 1) - 1)
            for address in hidden.queryContentCells(16).RangeAddresses:  # com.sun.star.sheet.CellFlags.FORMULA
                yield from cells_in(sheet, address)
        row = max(row, end + 1)


def cells_in(sheet, area):
    for row in range(area.StartRow, area.EndRow + 1):
        for column in range(area.StartColumn, area.EndColumn + 1):
            yield sheet.getCellByPosition(column, row)


def take_out_info(sheet, cell):
    from com.sun.star.table.CellContentType import FORMULA

    before = cell.Formula
    after = without_info(before)
    if cell.Type != FORMULA or after == before:
        return 0
    # An array formula cannot be changed as a whole here: each cell gets its own formula.
    array = sheet.createCursorByRange(cell)
    if before.startswith("{"):
        array.collapseToCurrentArray()
    for each in cells_in(sheet, array.RangeAddress):
        each.Formula = after[1:-1] if before.startswith("{") else after
    return 1


def look_into_package(path):
    """Refuses a package that would unpack to far more than its size. LibreOffice decides about files that are no package."""
    from zipfile import BadZipFile, ZipFile

    with path.open("rb") as file:
        if file.read(4) != b"PK\3\4":
            return
    try:
        with ZipFile(path) as package:
            parts = package.infolist()
    except (BadZipFile, NotImplementedError, ValueError, OSError, EOFError, IndexError):
        return
    bound("parts", MOST_PARTS, len(parts))
    bound("unpacked_bytes", MOST_UNPACKED, sum(part.file_size for part in parts))


def passwords_asked(asked):
    return sum("XInteractionPassword" in choices or "XInteractionPassword2" in choices for choices in asked)


def reading_options(request, warnings):
    """Returns import options for formats that do not describe themselves, and adds to the warnings."""
    source = request["source"]
    if source in ("csv", "tsv"):
        head = Path(request["input"]).read_bytes()
        separator = "\t" if source == "tsv" else separator_of(head)
        texts = columns_of_text(Path(request["input"]), separator, {76: "utf-8-sig", 65535: "utf-16"}.get(charset(head)[0], "cp1252"))
        is_guessed = request.get("csvTypes") == "auto"
        warnings += types_warning(texts, is_guessed)
        columns = "" if is_guessed else "/".join(f"{column + 1}/2" for column in texts)
        # Separator, quote, charset, first line, columns (2: text), language (en-US), all quoted is text, no guessed dates, ..., no formulas.
        return {"FilterOptions": f"{ord(separator)},34,{charset(head)[0]},1,{columns},1033,false,false,false,false,false,0,false"}
    if source == "txt":
        return {"FilterOptions": f"{charset(Path(request['input']).read_bytes())[1]},LF,,,"}
    return {}


# A number that a cell shows as it was written: no leading or trailing zeros, no separators, at most 15 digits (IEEE 754 keeps them).
PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,14}[1-9])?")
# What LibreOffice takes for a number or a date where it is to guess nothing else.
NUMBER_LIKE = re.compile(r"[-+]?[.,]?[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
LONGEST_NUMBER = 64
# Columns of a sheet; LibreOffice drops the others.
MOST_COLUMNS = 16_384


def columns_of_text(path, separator, encoding):
    """Returns the columns, from 0 on, with a value that would look different as a number: 007, 1e5, 1,234.50."""
    import csv
    from itertools import islice

    csv.field_size_limit(sys.maxsize)
    found = set()
    with path.open(encoding=encoding, errors="replace", newline="") as lines:
        try:
            for row in csv.reader(lines, delimiter=separator):
                found.update(column for column, value in enumerate(islice(row, MOST_COLUMNS)) if column not in found and is_changed_as_number(value))
        except (csv.Error, MemoryError):
            # Not as regular as it should be: what was seen so far tells enough.
            pass
    return sorted(found)


def is_changed_as_number(value):
    text = value.strip(" ")
    if not text or len(text) > LONGEST_NUMBER or NUMBER_LIKE.fullmatch(text) is None:
        return False
    return text != value or PLAIN_NUMBER.fullmatch(text) is None or sum(map(str.isdigit, text)) > 15


def types_warning(texts, is_guessed):
    """Returns warnings about columns whose values look like numbers, and are kept as text or are not."""
    if not texts:
        return []
    columns = "One column has" if len(texts) == 1 else f"{len(texts)} columns have"
    if is_guessed:
        return [{"code": "csv_types_guessed", "message": f"{columns} values such as 007 or 1,234.50 that were read as numbers and may look different."}]
    return [{"code": "csv_kept_as_text", "message": f"{columns} values such as 007 or 1,234.50, kept as text as they were written; csv_types=auto reads them as numbers."}]


def charset(content):
    """Returns LibreOffice's number and name of the encoding (rtl/textenc.h): UTF-8 if the content is valid, else a Windows encoding."""
    try:
        content.decode("utf-8")
        return 76, "UTF8"
    except UnicodeDecodeError:
        return (65535, "UNICODE") if content[:2] in (b"\xff\xfe", b"\xfe\xff") else (1, "MS_1252")


def separator_of(content):
    """Returns the usual separator that splits the first lines most evenly; a comma if none does."""
    lines = [re.sub(rb'"[^"]*"', b"", line) for line in content[:65536].splitlines()[:20] if line]
    counts = {mark: min((line.count(mark.encode()) for line in lines), default=0) for mark in ",;\t|"}
    return max(counts, key=counts.get)


def save(document, request):
    target, family, folder = request["target"], request["family"], Path(request["output"])
    filter_name, options = WRITES[family][target], {}
    if family == "sheet" and target in ("csv", "html", "pdf"):
        bound_cells(document)
    if target == "pdf":
        options = {"FilterData": pdf_options(document, request)}
    elif target == "txt":
        options = {"FilterOptions": "UTF8,LF,,,"}
    elif target == "html" and family == "text":
        options = {"FilterOptions": "EmbedImages"}
    if target == "csv":
        save_sheets(document, folder)
    else:
        store(document, folder / f"result.{target}", {"FilterName": filter_name, **options})


def bound_cells(document):
    """Bounds the cells to write: a single cell in the last corner makes 17 billion of them."""
    for sheet in document.Sheets:
        cursor = sheet.createCursor()
        cursor.gotoEndOfUsedArea(False)
        last = cursor.RangeAddress
        bound("cells", MOST_CELLS, (last.EndRow + 1) * (last.EndColumn + 1))


def save_sheets(document, folder):
    """Writes one file per sheet, named after the sheet if there are several."""
    names = document.Sheets.ElementNames
    bound("sheets", MOST_SHEETS, len(names))
    for number, name in enumerate(names, 1):
        part = folder / "part"
        part.mkdir()
        # Separator, quote, UTF-8, first line, columns, language, quote all text, as shown, not formulas, ..., sheet by number.
        options = f"44,34,76,1,,0,false,true,false,false,false,{number if len(names) > 1 else 0}"
        store(document, part / "sheet.csv", {"FilterName": WRITES["sheet"]["csv"], "FilterOptions": options})
        written = list(part.iterdir())
        if len(written) != 1:
            raise Refusal("output_invalid", f"{len(written)} files for one sheet")
        written[0].rename(folder / ("result.csv" if len(names) == 1 else f"{number:03} {clean(name)}.csv"))
        part.rmdir()
        if len(names) > 1:
            say({"progress": number / len(names)})


def clean(name):
    """Returns a sheet's name as part of a file name."""
    kept = "".join(letter for letter in name if letter.isprintable() and letter not in '/\\:*?"<>|').strip(". ")
    return kept.encode()[:100].decode(errors="ignore") or "sheet"


def pdf_options(document, request):
    count = page_count(document)
    bound("pages", MOST_PAGES, count)
    options = {}
    if request.get("pages"):
        ranges = [(first, min(last, count)) for first, last in request["pages"] if first <= count]
        if not ranges:
            raise no_such_pages(request["pages"], count)
        options["PageRange"] = ",".join(f"{first}-{last}" for first, last in ranges)
    if request.get("quality"):
        options |= {"UseLosslessCompression": False, "Quality": request["quality"]}
    return options


def no_such_pages(asked, count):
    """The refusal of a selection with none of the document's pages: the client's mistake, not the document's."""
    says = f"The file has {'one page' if count == 1 else f'{count} pages'}; the first page asked for is {min(first for first, _ in asked)}."
    received = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in asked)[:100]
    return Refusal("invalid_option", says, misfit={"option": "pages", "received": received, "allowed": f"pages from 1 to {count}", "says": says})


def page_count(document):
    if document.supportsService("com.sun.star.text.TextDocument"):
        return document.CurrentController.PageCount
    if document.supportsService("com.sun.star.sheet.SpreadsheetDocument"):
        return document.getRendererCount(document, as_properties({"IsOnlySelectedContent": False}))
    return document.DrawPages.Count


def store(document, path, properties):
    import uno
    from com.sun.star.io import IOException

    if "FilterData" in properties:
        properties["FilterData"] = uno.Any("[]com.sun.star.beans.PropertyValue", as_properties(properties["FilterData"]))
    try:
        document.storeToURL(path.as_uri(), as_properties(properties))
    except IOException as error:
        raise Refusal("output_invalid", f"LibreOffice does not save it: {error}") from error


def dispose(document):
    from com.sun.star.util import CloseVetoException

    try:
        document.close(True)
    except CloseVetoException:
        document.dispose()


def as_properties(values):
    from com.sun.star.beans import PropertyValue

    return tuple(PropertyValue(name, 0, value, 0) for name, value in values.items())


# ---- the wire ----


def say(words):
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def answer(office, line):
    try:
        return {"ok": True, "warnings": convert(office, json.loads(line))}
    except Refusal as refusal:
        return refusal.answer


def main(mode):
    if mode == "--version":
        text = (INSTALLATION / "program/bootstraprc").read_text()
        print(re.search(r"^ProductKey=(LibreOffice [\d.]+)", text, re.M).group(1))
        return 0
    office = Office(Path.cwd())
    try:
        if mode == "--once":
            told = answer(office, sys.stdin.readline())
            say(told)
            return 0 if told["ok"] else 1
        say({"ready": True})
        for line in sys.stdin:
            say(answer(office, line))
        return 0
    finally:
        office.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
