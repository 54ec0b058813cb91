"""One conversion, from the request to its warnings."""

from contextlib import nullcontext

from fonts import replaced_fonts
from privacy import keep_to_itself
from reading import dispose, load
from refusal import Refusal
from saving import save


# In these formats we draw the letters; other formats keep the names of fonts, and the reader draws.
DRAWN = ("pdf", "png")


def convert(office, request):
    warnings = []
    document = load(office, request, warnings)
    try:
        if request["source"] in PICTURES:
            fit_page(document)
        warnings += keep_to_itself(document, request["family"])
        warnings += lost_formulas(document, request)
        with replaced_fonts(office, warnings) if request["target"] in DRAWN else nullcontext():
            save(document, request)
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


def lost_formulas(document, request):
    """Returns a warning if the document has formulas, and the target has values alone."""
    if request["family"] != "sheet" or request["target"] not in ("csv", "html", "dif"):
        return []
    if not any(sheet.queryContentCells(16).Count for sheet in document.Sheets):  # com.sun.star.sheet.CellFlags.FORMULA
        return []
    return [{"code": "lossy", "message": f"This conversion from {request['source']} does not keep: formulas."}]
