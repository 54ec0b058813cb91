"""One conversion, from the request to its warnings."""

from contextlib import nullcontext
from pathlib import Path

from choices.paper import lay_out
from choices.selection import choose
from fonts import replaced_fonts
from privacy import keep_to_itself
from reading import dispose, load
from refusal import Refusal
from saving import save
from sheets.pictures import add_pictures, take_pictures


# In these formats we draw the letters; other formats keep the names of fonts, and the reader draws.
DRAWN = ("pdf", "png")


def convert(office, request):
    warnings = []
    document = load(office, request, warnings)
    try:
        if request["source"] in PICTURES:
            fit_page(document)
        if request.get("pageSizes"):
            lay_out(document, request["pageSizes"])
        warnings += keep_to_itself(document, request["family"])
        warnings += choose(document, request)
        warnings += lost_formulas(document, request)
        pictures, more = drawings_of_sheets(office, document, request)
        warnings += more
        with replaced_fonts(office, warnings) if request["target"] in DRAWN else nullcontext():
            save(document, request)
        add_pictures(Path(request["output"]) / "result.html", pictures)
        return warnings
    finally:
        dispose(document)


# These files have no page. LibreOffice creates one, larger than the picture.
PICTURES = ("emf", "wmf")


def fit_page(document):
    """Makes the page as large as the picture on it."""
    from com.sun.star.awt import Point

    page = document.DrawPages.getByIndex(0)
    if page.Count == 0:
        raise Refusal("corrupt_input", "the file has no picture")
    picture = page.getByIndex(0)
    for side in ("Left", "Right", "Top", "Bottom"):
        page.setPropertyValue(f"Border{side}", 0)
    page.Width, page.Height = picture.Size.Width, picture.Size.Height
    picture.setPosition(Point(0, 0))


# Sheets as text have no room for what is drawn on them.
UNDRAWN = ("csv", "tsv", "rows", "dif", "slk")


def drawings_of_sheets(office, document, request):
    """Returns pictures for a page in HTML, and a warning about drawings that the result does not have."""
    if request["family"] != "sheet" or request["target"] not in (*UNDRAWN, "html"):
        return [], []
    if request["target"] == "html":
        pictures, lost = take_pictures(office, document, Path(request["output"]))
    else:
        pictures, lost = [], sum(sheet.DrawPage.Count for sheet in document.Sheets)
    if lost == 0:
        return pictures, []
    what = "one picture, chart or drawing" if lost == 1 else f"{lost} pictures, charts and drawings"
    return pictures, [{"code": "lossy", "message": f"This conversion does not keep what is drawn on the sheets: {what}."}]


def lost_formulas(document, request):
    """Returns a warning if the document has formulas, and the target has values alone."""
    if request["family"] != "sheet" or request["target"] not in ("csv", "tsv", "rows", "html", "dif"):
        return []
    if not any(sheet.queryContentCells(16).Count for sheet in document.Sheets):  # com.sun.star.sheet.CellFlags.FORMULA
        return []
    return [{"code": "lossy", "message": f"This conversion from {request['source']} does not keep: formulas."}]
