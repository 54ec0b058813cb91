"""The values of a sheet with their types: a line of JSON for each row, a list with an entry for each cell."""

import json
from bisect import bisect_left, bisect_right
from datetime import datetime, timedelta
from heapq import heappop, heappush

# Cells that are held at once.
BLOCK = 50_000
# com.sun.star.util.NumberFormat; a format of numbers or of text says nothing that the value does not.
DATE, TIME, LOGICAL = 2, 4, 1024
# com.sun.star.sheet.CellFlags
FORMULA = 16
DAY = 86_400
# Dates that datetime can hold, days from the one that a document counts from.
MOST_DAYS = 2_900_000


def save_rows(document, number, _, path):
    """@param number of the sheet, from 1 on"""
    sheet = document.Sheets.getByIndex(number - 1)
    cursor = sheet.createCursor()
    cursor.gotoEndOfUsedArea(False)
    last = cursor.RangeAddress
    columns = last.EndColumn + 1
    height = max(1, BLOCK // columns)
    null = document.NullDate
    zero = datetime(null.Year, null.Month, null.Day)
    formats = by_row(format_areas(document, sheet))
    formulas = by_row([places(area, "formula") for area in sheet.queryContentCells(FORMULA).RangeAddresses])
    with path.open("w", encoding="utf-8") as out:
        for top in range(0, last.EndRow + 1, height):
            bottom = min(last.EndRow, top + height - 1)
            for at, row in enumerate(sheet.getCellRangeByPosition(0, top, last.EndColumn, bottom).getDataArray(), top):
                kinds, calculated = formats(at), formulas(at)
                values = [value_of(value, kinds.get(column), zero) for column, value in enumerate(row)]
                for column, value in enumerate(row):
                    # An error, which has words and no value.
                    if not isinstance(value, (str, float)):
                        values[column] = sheet.getCellByPosition(column, at).String
                    # Excel's own values of truth are formulas to LibreOffice.
                    elif value in (0.0, 1.0) and calculated.get(column) and is_truth(sheet.getCellByPosition(column, at)):
                        values[column] = value == 1.0
                out.write(json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n")


def value_of(value, kind, zero):
    if not isinstance(value, float):
        return value if value else None
    if kind == "logical":
        return value != 0
    if kind == "duration" or (kind == "time" and not 0 <= value < 1):
        return duration(value)
    if kind == "time":
        return clock(round(value * DAY * 1000))
    if kind in ("date", "datetime") and abs(value) < MOST_DAYS:
        return moment(value, kind, zero)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def moment(value, kind, zero):
    try:
        found = zero + timedelta(milliseconds=round(value * DAY * 1000))
    except OverflowError:
        return value
    if kind == "date" and value.is_integer():
        return found.date().isoformat()
    return found.isoformat(timespec="milliseconds" if found.microsecond else "seconds")


def clock(milliseconds):
    seconds, rest = divmod(milliseconds % (DAY * 1000), 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" + (f".{rest:03}" if rest else "")


def duration(days):
    """Returns it as ISO 8601 has it: PT36H15M."""
    seconds = round(abs(days) * DAY, 3)
    whole = int(seconds)
    parts = [f"{whole // 3600}H" if whole >= 3600 else "", f"{whole // 60 % 60}M" if whole // 60 % 60 else ""]
    rest = round(seconds - whole // 60 * 60, 3)
    parts.append(f"{rest:g}S" if rest or whole < 60 else "")
    return ("-" if days < 0 else "") + "PT" + "".join(parts)


def is_truth(cell):
    return cell.Formula in ("=TRUE()", "=FALSE()") or cell.String in ("TRUE", "FALSE")


def format_areas(document, sheet):
    areas = []
    for ranges in sheet.UniqueCellFormatRanges:
        kind = kind_of(document.NumberFormats.getByKey(ranges.NumberFormat)) if ranges.NumberFormat else None
        if kind is not None:
            areas += [places(area, kind) for area in ranges.RangeAddresses]
    return areas


def places(area, kind):
    return (area.StartRow, area.EndRow, area.StartColumn, area.EndColumn, kind)


def by_row(areas):
    """Returns a function that takes a row and returns what the areas say of its columns. Call it in the order of the rows: each result is valid until the next call."""
    areas = sorted(areas)
    open_areas, columns, following = [], Columns(), 0

    def of_row(row):
        nonlocal following
        while open_areas and open_areas[0][0] < row:
            columns.remove(heappop(open_areas)[1:])
        while following < len(areas) and areas[following][0] <= row:
            _, end, *span = areas[following]
            following += 1
            if end >= row:
                heappush(open_areas, (end, *span))
                columns.add(tuple(span))
        return columns

    return of_row


class Columns:
    """What the columns of a row are, as (first, last, kind). A format may cover all of a sheet's columns: none is listed."""

    def __init__(self):
        self.spans, self.starts = [], []

    def add(self, span):
        at = bisect_right(self.spans, span)
        self.spans.insert(at, span)
        self.starts.insert(at, span[0])

    def remove(self, span):
        at = bisect_left(self.spans, span)
        del self.spans[at], self.starts[at]

    def get(self, column):
        at = bisect_right(self.starts, column) - 1
        if at < 0:
            return None
        _, last, kind = self.spans[at]
        return kind if column <= last else None


def kind_of(format):
    type, code = format.Type, format.FormatString.upper()
    # The second is what LibreOffice writes into XLS for it.
    if type & LOGICAL or code == '"TRUE";"TRUE";"FALSE"':
        return "logical"
    if type & TIME and any(mark in code for mark in ("[H", "[M", "[S")):
        return "duration"
    if type & DATE:
        return "datetime" if type & TIME else "date"
    return "time" if type & TIME else None
