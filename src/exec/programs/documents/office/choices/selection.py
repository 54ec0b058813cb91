"""What of a document its result has: one of its sheets, hidden slides, notes, tracked changes; and how sheets fit pages."""

from privacy import cells_in
from refusal import Refusal

# com.sun.star.sheet.CellFlags
FORMULA = 16
# com.sun.star.sheet.FormulaResult
VALUE = 1


def choose(document, request):
    """Applies what was asked. Returns warnings about what the result lacks."""
    if request["family"] == "sheet":
        if request.get("worksheet"):
            request["only"] = choose_sheet(document, request["worksheet"], request["target"])
        if request.get("sheetFit", "as_set") != "as_set" and request["target"] == "pdf":
            fit_pages(document, request["sheetFit"])
        return []
    if request["family"] == "text" and request.get("trackedChanges", "as_set") != "as_set":
        return settle_changes(document, request["trackedChanges"])
    if request["family"] == "slides" and request["target"] == "pdf":
        return left_out(document, request)
    return []


def choose_sheet(document, asked, target):
    """Returns the number of the sheet, from 1 on. What is written as a whole has no other then."""
    names = document.Sheets.ElementNames
    number = names.index(asked) + 1 if asked in names else int(asked) if asked.isdecimal() and len(asked) < 5 else 0
    if not 1 <= number <= len(names):
        says = f"The document has {'one sheet' if len(names) == 1 else f'{len(names)} sheets'}; there is no sheet {asked[:100]}."
        known = ", ".join(names)[:400]
        raise Refusal("invalid_option", says, misfit={"option": "worksheet", "received": asked[:100], "allowed": f"1 to {len(names)}, or a name: {known}", "says": says})
    if target in ("pdf", "html"):
        keep_alone(document, names, number)
    return number


def keep_alone(document, names, number):
    """Formulas may need other sheets: what they have calculated takes their place."""
    sheet = document.Sheets.getByIndex(number - 1)
    sheet.IsVisible = True
    for area in sheet.queryContentCells(FORMULA).RangeAddresses:
        for cell in cells_in(sheet, area):
            # An error has words, and no value.
            if cell.FormulaResultType2 == VALUE and not cell.getError():
                cell.Value = cell.Value
            else:
                cell.String = cell.String
    for name in names:
        if name != names[number - 1]:
            document.Sheets.removeByName(name)


def fit_pages(document, asked):
    """Makes each sheet as wide as a page, or as large as one."""
    styles = document.StyleFamilies.getByName("PageStyles")
    for name in {sheet.PageStyle for sheet in document.Sheets}:
        style = styles.getByName(name)
        if asked == "page":
            style.ScaleToPages = 1
        else:
            style.ScaleToPages, style.ScaleToPagesX, style.ScaleToPagesY = 0, 1, 0


SETTLED = {"accept": "AcceptAllTrackedChanges", "reject": "RejectAllTrackedChanges"}


def settle_changes(document, asked):
    """Accepts or rejects all of them, as the command of the menu does: the interface for programs knows none."""
    from com.sun.star.beans import PropertyValue
    from com.sun.star.util import URL

    command = URL()
    command.Complete = command.Main = f".uno:{SETTLED[asked]}"
    command.Protocol, command.Path = ".uno:", SETTLED[asked]
    dispatch = document.CurrentController.Frame.queryDispatch(command, "", 0)
    if dispatch is not None:
        dispatch.dispatch(command, (PropertyValue("SynchronMode", 0, True, 0),))
    if not document.Redlines.createEnumeration().hasMoreElements():
        return []
    return [{"code": "lossy", "message": "Some tracked changes are as they were, since the document protects them."}]


def left_out(document, request):
    slides = list(document.DrawPages)
    hidden = 0 if request.get("hiddenSlides") else sum(not slide.Visible for slide in slides)
    noted = 0 if request.get("notes") else sum(bool(notes_of(slide)) for slide in slides)
    warnings = []
    if hidden:
        warnings.append({"code": "slides_hidden", "message": f"Hidden slides are left out, {hidden} in all: hidden_slides=true prints hidden slides."})
    if noted:
        warnings.append({"code": "notes_dropped", "message": f"The notes below slides are left out, {noted} in all: notes=true prints notes."})
    return warnings


def notes_of(slide):
    """Returns what is written below a slide, without the fields of the page."""
    return "".join(shape.String for shape in slide.NotesPage if shape.ShapeType in WRITTEN).strip()


WRITTEN = ("com.sun.star.presentation.NotesShape", "com.sun.star.drawing.TextShape")
