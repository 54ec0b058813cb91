"""Takes out of a loaded document what would reveal the machine that it is converted on."""

import re


def keep_to_itself(document, family):
    """Removes what would reveal this machine: its installed fonts, and what the function INFO returns about its kernel."""
    settings = document.createInstance("com.sun.star.document.Settings")
    if settings.PropertySetInfo.hasPropertyByName("EmbedFonts"):
        settings.EmbedFonts = False
    if family != "sheet":
        return []
    # A name may be of the whole document, or of one sheet.
    names = [document.NamedRanges, *(sheet.NamedRanges for sheet in document.Sheets)]
    changed = sum(take_out_of_names(each) for each in names)
    for sheet in document.Sheets:
        for cell in [*cells_found(sheet, "INFO("), *hidden_formulas(sheet)]:
            changed += take_out_info(sheet, cell)
    message = "Formulas with the function INFO, which reveals the machine that it runs on, return its argument instead."
    return [{"code": "info_removed", "message": message}] if changed else []


def take_out_of_names(names):
    changed = 0
    for name in names.ElementNames:
        named = names.getByName(name)
        if (after := without_info(named.Content)) != named.Content:
            named.Content = after
            changed += 1
    return changed


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
