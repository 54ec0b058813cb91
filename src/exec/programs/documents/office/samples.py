"""Converts one small document of each format, so that the filters, the fonts and LibreOffice's caches are loaded before it is forked."""

import shutil

from conversion import convert

NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in {"office": "office", "text": "text", "table": "table", "draw": "drawing", "svg": "svg-compatible", "style": "style"}.items()
)
PARAGRAPH = "<text:p>A sample with words, 1234 and letters.</text:p>"
BODIES = {
    "text": PARAGRAPH + f"<table:table><table:table-column/><table:table-row><table:table-cell>{PARAGRAPH}</table:table-cell></table:table-row></table:table>",
    "spreadsheet": '<table:table table:name="a"><table:table-row><table:table-cell office:value-type="float" office:value="1"/>'
    '<table:table-cell table:formula="of:=[.A1]+SUM([.A1])"/></table:table-row></table:table>',
    "presentation": '<draw:page><draw:frame svg:width="9cm" svg:height="2cm" svg:x="1cm" svg:y="1cm"><draw:text-box>' + PARAGRAPH + "</draw:text-box></draw:frame></draw:page>",
}
# Family, kind of document, flat format, and the others that are read from a package.
KINDS = (
    ("text", "text", "fodt", ("docx", "odt", "doc")),
    ("sheet", "spreadsheet", "fods", ("xlsx", "ods", "xls")),
    ("slides", "presentation", "fodp", ("pptx", "odp", "ppt")),
)


def warm_up(office, folder):
    place = folder / "samples"
    for family, kind, flat, formats in KINDS:
        first = write(place / flat / f"result.{flat}", kind)
        for target in formats:
            converted = convert_sample(office, place, family, first, target)
            convert_sample(office, place, family, converted, "pdf")
    shutil.rmtree(place)


def write(path, kind):
    path.parent.mkdir(parents=True)
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?><office:document {NAMESPACES} office:version="1.2" '
        f'office:mimetype="application/vnd.oasis.opendocument.{kind}"><office:body><office:{kind}>{BODIES[kind]}</office:{kind}></office:body></office:document>'
    )
    return path


def convert_sample(office, place, family, source, target):
    output = place / f"{source.parent.name}-{target}"
    output.mkdir()
    convert(office, {"input": str(source), "source": source.suffix[1:], "output": str(output), "target": target, "family": family})
    return output / f"result.{target}"
