"""Counts what makes a small document large work, before LibreOffice loads it: a kilobyte can hold a thousand tables within one another.

It reads tags and resolves nothing; what it cannot read is left to LibreOffice, which says what is wrong with it. As `count.ts` does for Pandoc.
"""

import re
import zlib
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from refusal import bound

# 80 tables within one another take LibreOffice half a minute; bounds of files that people make lie far below.
MOST = {"tables within one another": 50, "table cells": 100_000, "inserted documents": 100, "bookmarks": 50_000}
DOCUMENTS = ("docx", "odt", "fodt", "rtf", "html", "pptx", "odp", "fodp", "sxw", "sxi", "abw", "odg", "fodg")
MOST_TEXT = 256 << 20
# A document inserted into another may have one inserted itself.
MOST_NESTING = 3
PIECE = 1 << 18
# A tag that is longer is cut: only its first attributes are looked at.
LONGEST_TAG = 4_096
LONGEST_WORD = 20
# No sum goes further: repeated rows may be nested.
MOST_CELLS = 10**12

TABLES, ROWS = (b"tbl", b"table", b"sub-table"), (b"tr", b"table-row")
CELLS, BOOKMARKS = (b"tc", b"td", b"th", b"table-cell", b"covered-table-cell"), (b"bookmarkstart", b"bookmark", b"bookmark-start")
NAMES = b"|".join((*TABLES, *ROWS, *CELLS, *BOOKMARKS, b"altchunk"))
# What stands in a tag up to the first `>`: no quoted value of these elements has one.
TAG = re.compile(rb"<(/?)(?:[A-Za-z_][\w.-]{0,63}:)?(" + NAMES + rb")(?![\w.-])([^<>]*)>", re.IGNORECASE)
REPEATED = re.compile(rb"-repeated\s{0,9}=\s{0,9}[\"'](\d{1,18})")
# Control words of Rich Text Format 1.9.1: \itap is the depth of a paragraph's table.
WORD = re.compile(rb"\\(itap|cell|nestcell|bkmkstart)(\d{0,9})(?![a-z])")
# What cannot have markup, by the names that office programs give it: a part of another name is read, whatever it is called.
MEDIA = re.compile(r"\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svm|webp|mp[34]|wav|ttf|otf|odttf|bin|rdf)$", re.IGNORECASE)
PACKAGE = re.compile(r"\.(?:docx|odt|pptx|odp|docm|dotx|sxw|sxi)$", re.IGNORECASE)
DAMAGED = (BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, EOFError, IndexError, zlib.error)


def look_for_repetition(path, source):
    """Refuses a document with more of something than LibreOffice can load in time."""
    if source not in DOCUMENTS:
        return
    counts = Counts()
    with Path(path).open("rb") as file:
        if file.read(4) == b"PK\3\4":
            counts.add_package(file, 0)
        else:
            file.seek(0)
            counts.add_text(file, WordCounter() if source == "rtf" else TagCounter())
    for limit, received in zip(MOST, (counts.depth, counts.cells, counts.chunks, counts.bookmarks)):
        bound(limit, MOST[limit], received)


class Counts:
    """Sum over all parts; tables nest within one part only."""

    def __init__(self):
        self.depth = self.cells = self.chunks = self.bookmarks = 0
        self.left = MOST_TEXT

    def add_package(self, file, nesting):
        try:
            with ZipFile(file) as package:
                for part in package.infolist():
                    if self.left <= 0:
                        return
                    if MEDIA.search(part.filename):
                        continue
                    with package.open(part) as opened:
                        if PACKAGE.search(part.filename) and nesting < MOST_NESTING:
                            # As a whole: a ZIP is read by its end, and going back in a compressed part begins from its start.
                            inner = BytesIO(opened.read(self.left))
                            self.left -= len(inner.getbuffer())
                            self.add_package(inner, nesting + 1)
                        else:
                            self.add_text(opened, TagCounter())
        except DAMAGED:
            pass  # What was read of it counts.

    def add_text(self, file, counter):
        encoding = None
        try:
            while self.left > 0 and (piece := file.read(PIECE)):
                encoding = encoding or {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(piece[:2], "latin-1")
                self.left -= len(piece)
                counter.add(piece if encoding == "latin-1" else piece.decode(encoding, "replace").encode("latin-1", "replace"))
        except DAMAGED:
            pass  # As above.
        self.depth = max(self.depth, counter.depth)
        self.cells += counter.cells
        self.chunks += counter.chunks
        self.bookmarks += counter.bookmarks


class TagCounter:
    """In markup, by the names of tags, whatever their prefix: WordprocessingML, DrawingML, OpenDocument, HTML."""

    def __init__(self):
        self.rest = b""
        self.depth = self.cells = self.chunks = self.bookmarks = self.open = 0
        # For each open row: the cells before it, and how often it is repeated.
        self.rows = []

    def add(self, piece):
        text = self.rest + piece
        for closing, name, attributes in TAG.findall(text):
            name = name.lower()
            if closing:
                self.close_tag(name)
            else:
                self.open_tag(name, attributes)
        last = text.rfind(b"<")
        # One that is closed was counted.
        is_whole = last < 0 or text.find(b">", last) >= 0
        self.rest = b"" if is_whole else text[last : last + LONGEST_TAG]

    def open_tag(self, name, attributes):
        is_empty = attributes.endswith(b"/")
        if name in CELLS:
            self.cells = min(self.cells + times_in(attributes), MOST_CELLS)
        elif name in TABLES and not is_empty:
            self.open += 1
            self.depth = max(self.depth, self.open)
        # Rows of HTML need no closing tags: no more are kept than tables are open.
        elif name in ROWS and not is_empty and len(self.rows) < self.open:
            self.rows.append((self.cells, times_in(attributes)))
        elif name in BOOKMARKS:
            self.bookmarks += 1
        elif name == b"altchunk":
            self.chunks += 1

    def close_tag(self, name):
        if name in TABLES:
            self.open = max(0, self.open - 1)
            del self.rows[self.open :]
        elif name in ROWS and self.rows:
            before, times = self.rows.pop()
            self.cells = min(before + (self.cells - before) * times, MOST_CELLS)


def times_in(attributes):
    found = REPEATED.search(attributes)
    return int(found.group(1)) if found else 1


class WordCounter:
    """In Rich Text Format."""

    chunks = 0

    def __init__(self):
        self.rest = b""
        self.depth = self.cells = self.bookmarks = 0

    def add(self, piece):
        text = self.rest + piece
        # A word at the end may go on in the next piece.
        last = text.rfind(b"\\")
        cut = len(text) if last < 0 or len(text) - last > LONGEST_WORD else last
        for word, number in WORD.findall(text[:cut]):
            if word == b"itap":
                self.depth = max(self.depth, int(number or 0))
            elif word == b"bkmkstart":
                self.bookmarks += 1
            else:
                self.cells += 1
        self.rest = text[cut:]
