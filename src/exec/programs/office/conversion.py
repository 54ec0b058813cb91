"""One conversion, from the request to its warnings."""

from privacy import keep_to_itself
from reading import dispose, load
from saving import save


def convert(office, request):
    warnings = []
    document = load(office, request, warnings)
    try:
        warnings += keep_to_itself(document, request["family"])
        warnings += lost_formulas(document, request)
        save(document, request)
        return warnings
    finally:
        dispose(document)


def lost_formulas(document, request):
    """Returns a warning if the document has formulas, and the target has values alone."""
    if request["family"] != "sheet" or request["target"] not in ("csv", "html", "dif"):
        return []
    if not any(sheet.queryContentCells(16).Count for sheet in document.Sheets):  # com.sun.star.sheet.CellFlags.FORMULA
        return []
    return [{"code": "lossy", "message": f"This conversion from {request['source']} does not keep: formulas."}]
