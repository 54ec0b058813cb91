"""Stores a loaded document in the format asked for, within bounds."""

import re
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path

from formats import READS, WRITES
from reading import as_properties
from refusal import Refusal, bound
from sheets.marks import save_marks
from sheets.rows import save_rows
from wire import say

MAX_PAGES = 2000
MOST_SHEETS = 500
# Cells of one sheet from A1 to the last one in use: each of them is written, empty or not.
MOST_CELLS = 100_000_000


def save(document, request):
    target, family, folder = request["target"], request["family"], Path(request["output"])
    filter_name, options = WRITES[family].get(target), {}
    if family == "sheet" and target in ("csv", "tsv", "rows", "html", "pdf", "slk", "dif"):
        bound_cells(document)
    if target == "png":
        options = {"FilterData": png_options(document)}
    elif target == "pdf":
        options = {"FilterData": pdf_options(document, request)}
    elif target == "txt":
        options = {"FilterOptions": "UTF8,LF,,,"}
    elif target == "dif":
        # As for CSV: charset 76 is UTF-8 (rtl/textenc.h).
        options = {"FilterOptions": ",34,76"}
    elif target == "html" and family == "text":
        options = {"FilterOptions": "EmbedImages"}
    if target in ("csv", "tsv"):
        save_sheets(document, folder, target, partial(save_as_text, SEPARATORS[target]), request.get("only"), request.get("marks"))
    elif target == "rows":
        save_sheets(document, folder, "rows", save_rows, request.get("only"))
    else:
        store(document, folder / f"result.{target}", {"FilterName": filter_name, **options})
    if request.get("pdfa"):
        refuse_what_no_archive_holds(folder / f"result.{target}", request["pdfa"])


def bound_cells(document):
    """Bounds the cells to write: a single cell in the last corner makes 17 billion of them."""
    for sheet in document.Sheets:
        cursor = sheet.createCursor()
        cursor.gotoEndOfUsedArea(False)
        last = cursor.RangeAddress
        bound("cells", MOST_CELLS, (last.EndRow + 1) * (last.EndColumn + 1))


def save_sheets(document, folder, extension, save_sheet, only=None, marks=False):
    """Writes one file per sheet, named after the sheet if there are several.
    @param only the number of the only sheet that is asked for, from 1 on
    @param marks whether links and notes of cells are written beside each
    """
    names = document.Sheets.ElementNames
    bound("sheets", MOST_SHEETS, len(names))
    for number, name in enumerate(names, 1):
        if only not in (None, number):
            continue
        path = folder / (f"result.{extension}" if len(names) == 1 or only else f"{number:03} {clean(name)}.{extension}")
        save_sheet(document, number, len(names), path)
        if marks:
            save_marks(document.Sheets.getByIndex(number - 1), path)
        if len(names) > 1:
            say({"progress": number / len(names)})


SEPARATORS = {"csv": 44, "tsv": 9}


def save_as_text(separator, document, number, count, path):
    part = path.parent / "part"
    part.mkdir()
    # Separator, quote, UTF-8, first line, columns, language, quote all text, as shown, not formulas, ..., sheet by number.
    options = f"{separator},34,76,1,,0,false,true,false,false,false,{number if count > 1 else 0}"
    store(document, part / "sheet.csv", {"FilterName": WRITES["sheet"]["csv"], "FilterOptions": options})
    written = list(part.iterdir())
    if len(written) != 1:
        raise Refusal("output_invalid", f"{len(written)} files for one sheet")
    written[0].rename(path)
    part.rmdir()


def clean(name):
    """Returns a sheet's name as part of a file name."""
    kept = "".join(letter for letter in name if letter.isprintable() and letter not in '/\\:*?"<>|').strip(". ")
    return kept.encode()[:100].decode(errors="ignore") or "sheet"


def pdf_options(document, request):
    count = page_count(document)
    bound("pages", MAX_PAGES, count)
    options = {}
    if request.get("pages"):
        ranges = [(first, min(last, count)) for first, last in request["pages"] if first <= count]
        if not ranges:
            raise no_such_pages(request["pages"], count)
        options["PageRange"] = ",".join(f"{first}-{last}" for first, last in ranges)
    if request.get("quality"):
        options |= {"UseLosslessCompression": False, "Quality": request["quality"]}
    if request.get("notes") and request["family"] == "slides":
        options["ExportNotesPages"] = True
    if request.get("hiddenSlides"):
        options["ExportHiddenSlides"] = True
    if request["family"] == "text":
        options |= COMMENTS[request.get("comments") or "annotations"]
    if request.get("pdfa"):
        options |= PDFA
    return options


COMMENTS = {"annotations": {"ExportNotes": True}, "none": {"ExportNotes": False}}

# PDF/A-2b. LibreOffice gives comments no appearance, which ISO 19005-2 requires (6.3.3); fields of forms are drawn as they are.
PDFA = {"SelectPdfVersion": 2, "ExportFormFields": False, "ExportNotes": False}
# What LibreOffice puts into a PDF/A nevertheless: annotations that are no links, for sound and video; pages of another PDF as they are there, whatever fonts and colours
# these have. Its own objects are written without these spaces. Both are looked
# for where an object begins, outside of texts: a title or an address may hold the same words.
ANNOTATION = re.compile(rb"\d 0 obj\s{0,2}<<\s{0,2}/Type ?/Annot\b[^>(]{0,200}?/Subtype ?/(\w+)")
COPIED_PAGE = re.compile(rb"\d 0 obj\s{0,2}<<[^>(]{0,200}?/Type /XObject /Subtype /Form\b")


def refuse_what_no_archive_holds(path, asked):
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        if any(found[1] != b"Link" for found in ANNOTATION.finditer(content)):
            held = "sound or video"
        elif COPIED_PAGE.search(content):
            held = "a PDF as a picture"
        else:
            return
    says = f"The document contains {held}, which cannot become part of a PDF/A."
    raise Refusal("invalid_option", says, misfit={"option": "pdfa", "received": asked, "allowed": "documents without sound, video and PDFs in them", "says": says})


# Pixels for each hundredth of a millimetre: 192 for an inch, and fewer where a side would be longer than this.
PIXELS, LONGEST_SIDE = 192 / 2540, 4_000


def png_options(document):
    page = document.DrawPages.getByIndex(0)
    scale = min(PIXELS, LONGEST_SIDE / max(page.Width, page.Height, 1))
    return {"PixelWidth": max(1, round(page.Width * scale)), "PixelHeight": max(1, round(page.Height * scale))}


def no_such_pages(asked, count):
    """The refusal of a selection with none of the document's pages: the client's mistake, not the document's."""
    says = f"The file has {'one page' if count == 1 else f'{count} pages'}; the first requested page is {min(first for first, _ in asked)}."
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
