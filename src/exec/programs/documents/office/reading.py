"""Loads a document by the filter of its format, and answers what LibreOffice asks meanwhile."""

import re
import sys
from pathlib import Path

from formats import READS
from refusal import Refusal, bound
from sources.amended import amended
from sources.repetition import look_for_repetition

# Bounds of a package, by the sizes in its directory; LibreOffice itself refuses parts that turn out longer.
MOST_PARTS = 20_000
MOST_UNPACKED = 2 * 1024 * 1024 * 1024


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
        # Commands change nothing in what is only read.
        "ReadOnly": request.get("trackedChanges", "as_set") == "as_set",
        "FilterName": READS[source],
        "InteractionHandler": Handler(),
        "MacroExecutionMode": 0,  # com.sun.star.document.MacroExecMode.NEVER_EXECUTE
        "UpdateDocMode": 0,  # com.sun.star.document.UpdateDocMode.NO_UPDATE
        **reading_options(request, warnings),
    }
    look_into_package(Path(request["input"]))
    look_for_repetition(request["input"], source)
    failure = ""
    # In the current folder: LibreOffice may write nowhere else.
    copy = Path("amended")
    try:
        # Loaded from a stream, under a made-up address: fields and formulas would reveal the file's path.
        # Not "private:stream": LibreOffice would trust its links, follow them, and lose their cached contents.
        properties["InputStream"] = office.file_access().openFileRead(amended(Path(request["input"]), source, request["target"], warnings, copy).absolute().as_uri())
        address = f"vnd.filemill:/document{Path(request['input']).suffix}"
        document = office.desktop.loadComponentFromURL(address, "_blank", 0, as_properties(properties))
    except IllegalArgumentException as error:
        document, failure = None, str(error)
    finally:
        copy.unlink(missing_ok=True)
    if document is None:
        if passwords_asked(asked) > 0:
            raise Refusal("password_required" if password is None else "wrong_password", "the document asks for a password")
        raise Refusal("corrupt_input", f"LibreOffice does not load it: {failure or asked}")
    used = {each.Name: each.Value for each in document.getArgs()}.get("FilterName")
    if used != READS[source]:
        dispose(document)
        raise Refusal("corrupt_input", f"named {source}, loaded as {used}")
    return document


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
        texts, open_line = columns_of_text(Path(request["input"]), separator, "utf-8-sig")
        if open_line is not None and head.count(b'"') % 2 == 1:
            warnings.append({"code": "lossy", "message": f"A quotation mark in line {open_line} of the table has no end, or text behind it."})
        is_guessed = request.get("csvTypes") == "auto"
        warnings += types_warning(texts, is_guessed)
        columns = "" if is_guessed else "/".join(f"{column + 1}/2" for column in texts)
        # Texts of other encodings were made UTF-8 before (readsUtf8). Separator, quote, charset (rtl/textenc.h), first line, columns (2: text), language (en-US), all quoted is text, no guessed dates, ..., no formulas.
        return {"FilterOptions": f"{ord(separator)},34,76,1,{columns},1033,false,false,false,false,false,0,false"}
    if source == "dif":
        return {"FilterOptions": "76"}
    if source == "txt":
        return {"FilterOptions": "UTF8,LF,,,"}
    return {}


# A number that a cell shows as it was written: no leading or trailing zeros, no separators, at most 15 digits (IEEE 754 keeps them).
PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,14}[1-9])?")
# What LibreOffice takes for a number or a date where it is to guess nothing else.
NUMBER_LIKE = re.compile(r"[-+]?[.,]?[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
LONGEST_NUMBER = 64
# Columns of a sheet; LibreOffice drops the others.
MOST_COLUMNS = 16_384


def columns_of_text(path, separator, encoding):
    """Returns the columns, from 0 on, with a value that would look different as a number: 007, 1e5, 1,234.50; and the line that the last value begins in, if
    it goes on in others: the end of its quotation may be missing."""
    import csv
    from itertools import islice

    csv.field_size_limit(sys.maxsize)
    found, begins, last = set(), 1, None
    with path.open(encoding=encoding, errors="replace", newline="") as lines:
        try:
            reader = csv.reader(lines, delimiter=separator)
            for row in reader:
                found.update(column for column, value in enumerate(islice(row, MOST_COLUMNS)) if column not in found and is_changed_as_number(value))
                last = begins + sum(value.count("\n") for value in row[:-1]) if row and "\n" in row[-1] else None
                begins = reader.line_num + 1
        except (csv.Error, MemoryError):
            # Not as regular as it should be: what was seen so far tells enough.
            pass
    return sorted(found), last


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


def separator_of(content):
    """Returns the usual separator that splits the first lines most evenly; a comma if none does."""
    lines = [re.sub(rb'"[^"]*"', b"", line) for line in content[:65536].splitlines()[:20] if line]
    counts = {mark: min((line.count(mark.encode()) for line in lines), default=0) for mark in ",;\t|"}
    return max(counts, key=counts.get)


def dispose(document):
    from com.sun.star.util import CloseVetoException

    try:
        document.close(True)
    except CloseVetoException:
        document.dispose()


def as_properties(values):
    from com.sun.star.beans import PropertyValue

    return tuple(PropertyValue(name, 0, value, 0) for name, value in values.items())
