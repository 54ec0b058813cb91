"""Pictures and charts of sheets in HTML: LibreOffice writes them as files beside the page, in place of the cells that they cover."""

from base64 import b64encode

from reading import as_properties
from refusal import bound

MOST_PICTURES = 200
# Bytes of all pictures as PNG.
MOST_TOGETHER = 64 * 1024 * 1024
DRAWN = ("com.sun.star.drawing.GraphicObjectShape", "com.sun.star.drawing.OLE2Shape")
# Pixels of a side at most.
LONGEST_SIDE = 2_000
# Hundredths of a millimetre to an inch, and pixels to an inch.
UNITS, DPI = 2540, 144
END = b"</body>"


def take_pictures(office, document, folder):
    """Removes all that is drawn on sheets. Returns pictures as PNG, in the order of the sheets, and how many other drawings there were."""
    pages = [sheet.DrawPage for sheet in document.Sheets]
    shapes = [[page.getByIndex(at) for at in range(page.Count)] for page in pages]
    shown = [shape for page in shapes for shape in page if shape.ShapeType in DRAWN]
    bound("pictures", MOST_PICTURES, len(shown))
    pictures = []
    for shape in shown:
        pictures.append(as_png(office, shape, folder / "picture.png"))
        bound("bytes of pictures", MOST_TOGETHER, sum(map(len, pictures)))
    others = sum(map(len, shapes)) - len(shown)
    for page, each in zip(pages, shapes):
        for shape in each:
            page.remove(shape)
    return [picture for picture in pictures if picture], others


def as_png(office, shape, path):
    scale = min(DPI / UNITS, LONGEST_SIDE / max(shape.Size.Width, shape.Size.Height, 1))
    width, height = max(1, round(shape.Size.Width * scale)), max(1, round(shape.Size.Height * scale))
    exporter = office.create("com.sun.star.drawing.GraphicExportFilter")
    exporter.setSourceDocument(shape)
    import uno

    size = uno.Any("[]com.sun.star.beans.PropertyValue", as_properties({"PixelWidth": width, "PixelHeight": height}))
    exporter.filter(as_properties({"URL": path.as_uri(), "MediaType": "image/png", "FilterData": size}))
    if not path.exists():
        return b""
    picture = path.read_bytes()
    path.unlink()
    return picture


def add_pictures(path, pictures):
    """Adds them to the end of a page."""
    if not pictures:
        return
    with path.open("r+b") as page:
        page.seek(max(0, path.stat().st_size - 4096))
        start, tail = page.tell(), page.read()
        end = tail.lower().rfind(END)
        if end < 0:
            end = len(tail)
        page.seek(start + end)
        for picture in pictures:
            page.write(b'<p><img alt="" src="data:image/png;base64,' + b64encode(picture) + b'"></p>\n')
        page.write(tail[end:])
