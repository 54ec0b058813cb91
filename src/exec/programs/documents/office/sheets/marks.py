"""Links and notes of cells, which CSV does not have: a file beside that of the sheet."""

import json

from privacy import cells_in

# com.sun.star.sheet.CellFlags
STRING = 4
# Cells with a text that are looked at, and marks of one sheet.
MOST_CELLS, MOST_MARKS = 50_000, 5_000
LONGEST = 2_000


def save_marks(sheet, path):
    """@param path of the sheet's CSV"""
    links, notes = [], []
    more = sheet.Annotations.Count > MOST_MARKS
    for looked, cell in enumerate(texts_in(sheet)):
        if looked >= MOST_CELLS or len(links) >= MOST_MARKS:
            more = True
            break
        links += links_of(cell)
    for at in range(min(sheet.Annotations.Count, MOST_MARKS)):
        note = sheet.Annotations.getByIndex(at)
        notes.append([note.Position.Row, note.Position.Column, note.String[:LONGEST]])
    if links or notes or more:
        path.with_suffix(".marks").write_text(json.dumps({"links": links, "notes": notes, "more": more}), "utf-8")


def texts_in(sheet):
    for area in sheet.queryContentCells(STRING).RangeAddresses:
        yield from cells_in(sheet, area)


def links_of(cell):
    fields = cell.TextFields.createEnumeration()
    found = []
    while fields.hasMoreElements():
        field = fields.nextElement()
        # In a sheet, a field does not say which service it is.
        if field.PropertySetInfo.hasPropertyByName("URL"):
            place = cell.CellAddress
            found.append([place.Row, place.Column, field.Representation[:LONGEST], field.URL[:LONGEST]])
    return found
