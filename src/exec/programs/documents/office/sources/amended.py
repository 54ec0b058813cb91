"""A copy of a document, changed where LibreOffice would lose some of it, or would not load it."""

import re
import zlib
from zipfile import BadZipFile, ZipFile

# Bytes of a part, or of an RTF, that is looked into.
MOST_HEADER = 16 * 1024 * 1024
MOST_TEXT = 64 * 1024 * 1024

# A comment's places in a header or footer, where LibreOffice takes them for damage.
HEADER = re.compile(r"word/(?:header|footer)\d*\.xml")
COMMENT = re.compile(rb"<\w{1,20}:comment(?:RangeStart|RangeEnd|Reference)\b[^<>]*/>")

# Where links stand. LibreOffice gives those whose letters have no style of their own the default one, and its PDF has no link with that (SwEditShell::GetINetAttrs).
LINKED = re.compile(r"word/(?:document|footnotes|endnotes|header\d*|footer\d*)\.xml")
STYLES = "word/styles.xml"
STYLE = b"FilemillLink"
SCHEMAS = b"http://schemas.openxmlformats.org"
STYLES_TYPE = b"application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"
DEFINED = b'<w:style w:type="character" w:customStyle="1" w:styleId="' + STYLE + b'"><w:name w:val="' + STYLE + b'"/></w:style>'
REFERENCE = b'<w:rStyle w:val="' + STYLE + b'"/>'
STYLE_ID = re.compile(rb'\bw:styleId="([^"<>]{1,255})"')
PIECE = re.compile(rb"<(/?)w:(hyperlink|fldSimple|r|rPr|rStyle|fldChar|instrText)\b([^<>]*)>")
VALUE = re.compile(rb'\bw:val="([^"]*)"')
# An instruction may stand in several pieces; the first of them that is not blank has its name.
LINK = re.compile(rb"\s{0,100}HYPERLINK\b")
BLANK = re.compile(rb"\s{0,100}<")

# Fields within one another: a text with more of them stays as it is.
DEEPEST_FIELD = 1_000

# The same in RTF (specification 1.9.1, "Fields" and "Style Sheet").
RTF_RESULT = re.compile(rb"HYPERLINK|\\fldrslt(?![a-z])")
RTF_STYLES = re.compile(rb"\{\\stylesheet(?![a-z])")
# Styles of letters, paragraphs, sections and tables share their numbers in LibreOffice.
RTF_NUMBER = re.compile(rb"\\[cdt]?s(\d{1,5})")
RTF_BEGINNING = re.compile(rb"\{\\rtf\d{0,2}")


def amended(path, source, target, warnings, copy):
    """Returns the path of the document, or `copy`, where a changed one was written."""
    if source == "rtf" and target == "pdf":
        return amended_rtf(path, copy)
    if source != "docx":
        return path
    try:
        with ZipFile(path) as package:
            changed = without_comments(package)
            has_lost = bool(changed)
            if target == "pdf":
                changed |= with_styled_links(package, changed)
            if not changed:
                return path
            with ZipFile(copy, "w") as written:
                for part in package.infolist():
                    written.writestr(part, changed.pop(part.filename, None) or package.read(part))
                for name, content in changed.items():
                    written.writestr(name, content)
    except (BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, OSError, EOFError, LookupError):
        return path
    if has_lost:
        warnings.append({"code": "lossy", "message": "Comments in headers and footers are left out."})
    return copy


def without_comments(package):
    found = {part.filename: package.read(part) for part in package.infolist() if HEADER.fullmatch(part.filename) and part.file_size < MOST_HEADER}
    return {name: COMMENT.sub(b"", content) for name, content in found.items() if COMMENT.search(content)}


def with_styled_links(package, changed):
    """Gives links without a style one that changes no letter."""
    sizes = {part.filename: part.file_size for part in package.infolist()}
    if sizes.get(STYLES, 0) > MOST_HEADER:
        return {}
    styles = package.read(STYLES) if STYLES in sizes else None
    known = {found[1] for found in STYLE_ID.finditer(styles or b"")}
    amended_parts = {}
    for name, size in sizes.items():
        if LINKED.fullmatch(name) is None or size > MOST_TEXT:
            continue
        content = changed.get(name) or package.read(name)
        if b"<w:hyperlink" in content or b"HYPERLINK" in content:
            after = styled(content, known)
            if after is not content:
                amended_parts[name] = after
    if not amended_parts:
        return {}
    defined = {STYLES: before_end(styles, b"</w:styles>", DEFINED)} if styles is not None else new_styles(package, sizes)
    return {} if None in defined.values() else {**amended_parts, **defined}


def new_styles(package, sizes):
    """Returns the parts that a document without styles needs to have one."""
    types, relations = "[Content_Types].xml", "word/_rels/document.xml.rels"
    if sizes.get(types, 0) > MOST_HEADER or sizes.get(relations, 0) > MOST_HEADER:
        return {types: None}
    known = package.read(relations) if relations in sizes else b'<Relationships xmlns="%s/package/2006/relationships"></Relationships>' % SCHEMAS
    return {
        STYLES: b'<w:styles xmlns:w="%s/wordprocessingml/2006/main">%s</w:styles>' % (SCHEMAS, DEFINED),
        types: before_end(package.read(types), b"</Types>", b'<Override PartName="/word/styles.xml" ContentType="%s"/>' % STYLES_TYPE),
        relations: before_end(known, b"</Relationships>", b'<Relationship Id="%s" Type="%s/officeDocument/2006/relationships/styles" Target="styles.xml"/>' % (STYLE, SCHEMAS)),
    }


def before_end(content, end, added):
    """Returns the part with something before its end, or None where it does not end so."""
    at = content.rfind(end)
    return content[:at] + added + content[at:] if at >= 0 else None


def styled(content, known):
    """@param known the ids of styles that the document defines"""
    pieces, copied = [], 0
    links = 0
    # Of the fields around a place: whether each is a link, undefined before its instruction is read; and how many are.
    fields, open_links = [], 0
    # Where the style of the run would stand, behind what, and before what.
    run = None

    def put(at, until, text):
        nonlocal copied
        pieces.extend((content[copied:at], text))
        copied = until

    for piece in PIECE.finditer(content):
        closes, name, rest = piece.groups()
        is_empty = rest.endswith(b"/")
        if run is not None and not (name == b"rPr" and not closes):
            put(run, run, b"<w:rPr>" + REFERENCE + b"</w:rPr>")
        if name == b"hyperlink" and not is_empty:
            links += -1 if closes else 1
        elif name == b"fldSimple" and not is_empty:
            if closes and fields:
                open_links -= fields.pop() is True
            elif not closes:
                fields.append(b"HYPERLINK" in rest)
                open_links += fields[-1]
        elif name == b"fldChar":
            if b'"begin"' in rest:
                fields.append(None)
            elif b'"end"' in rest and fields:
                open_links -= fields.pop() is True
        elif name == b"instrText" and not closes and not is_empty and fields and fields[-1] is None and BLANK.match(content, piece.end()) is None:
            fields[-1] = LINK.match(content, piece.end()) is not None
            open_links += fields[-1]
        if len(fields) > DEEPEST_FIELD:
            return content
        is_linked = links > 0 or open_links > 0
        if name == b"rPr" and not closes and run is not None:
            if is_empty:
                put(piece.start(), piece.end(), b"<w:rPr>" + REFERENCE + b"</w:rPr>")
            elif content.startswith(b"<w:rStyle ", piece.end()):
                end = content.find(b">", piece.end()) + 1
                value = VALUE.search(content, piece.end(), end)
                if value is None or value[1] not in known:
                    put(piece.end(), end, REFERENCE)
            else:
                put(piece.end(), piece.end(), REFERENCE)
        run = piece.end() if name == b"r" and not closes and not is_empty and is_linked else None
    return b"".join((*pieces, content[copied:])) if pieces else content


def amended_rtf(path, copy):
    if path.stat().st_size > MOST_TEXT:
        return path
    content = path.read_bytes()
    beginning = RTF_BEGINNING.match(content)
    used = (int(found[1]) for found in RTF_NUMBER.finditer(content))
    if beginning is None or b"HYPERLINK" not in content or (style := max(used, default=0) + 1) > 32_000:
        return path
    entry = b"{\\*\\cs%d %s;}" % (style, STYLE)
    linked = False

    def mark(found):
        nonlocal linked
        if found[0] == b"HYPERLINK":
            linked = True
            return found[0]
        linked, was = False, linked
        return found[0] + (b"\\cs%d" % style if was else b"")

    content = RTF_RESULT.sub(mark, content)
    if (sheet := RTF_STYLES.search(content)) is not None:
        content = content[: sheet.end()] + entry + content[sheet.end() :]
    else:
        content = content[: beginning.end()] + b"{\\stylesheet" + entry + b"}" + content[beginning.end() :]
    copy.write_bytes(content)
    return copy
