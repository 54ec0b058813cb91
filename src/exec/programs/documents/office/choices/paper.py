"""Pages of a PDF that was loaded as a text: LibreOffice places what they show on numbered pages, and makes neither those nor their sizes."""

# 1/100 mm for each point, 72 to an inch.
HUNDREDTHS = 2540 / 72
# A style of Writer is at most 300 cm wide and high, and 0.2 cm is the least.
LEAST, MOST = 200, 300_000


def lay_out(document, sizes):
    """@param sizes width and height of each page as shown, points"""
    from com.sun.star.text.ControlCharacter import PARAGRAPH_BREAK

    styles = document.StyleFamilies.getByName("PageStyles")
    names = {}
    text = document.Text
    cursor = text.createTextCursorByRange(text.End)
    for number, size in enumerate(sizes):
        name = names.get(tuple(size))
        if name is None:
            name = names[tuple(size)] = add_style(document, styles, f"PDF {len(names) + 1}", size)
        if number > 0:
            cursor.gotoEnd(False)
            text.insertControlCharacter(cursor, PARAGRAPH_BREAK, False)
        cursor.gotoEnd(False)
        cursor.PageDescName = name


def add_style(document, styles, name, size):
    from com.sun.star.awt import Size

    width, height = (min(MOST, max(LEAST, round(side * HUNDREDTHS))) for side in size)
    style = document.createInstance("com.sun.star.style.PageStyle")
    styles.insertByName(name, style)
    margin = min(2000, width // 8, height // 8)
    for side in ("Left", "Right", "Top", "Bottom"):
        style.setPropertyValue(f"{side}Margin", margin)
    style.IsLandscape = width > height
    style.Size = Size(width, height)
    return name
