"""Says what a font shows, by fontTools and not by what wrote it: fonts.py FORMAT PATH .

Prints {"family": …, "letters": {"A": {"width": …, "cells": [16 of 0 or 1]}, …}} in units of 1000 to the em; of bitmap fonts in pixels of theirs.
"""

import io
import json
import re
import struct
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from fontTools import t1Lib
from fontTools.cffLib import CFFFontSet
from fontTools.pens.recordingPen import DecomposingRecordingPen, RecordingPen
from fontTools.svgLib.path import parse_path
from fontTools.ttLib import TTFont
from fontTools.ufoLib import UFOReader

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def polygons(recorded):
    found, current = [], []
    for operator, points in recorded.value:
        if operator == "moveTo":
            current = [points[0]]
        elif operator in ("lineTo", "curveTo", "qCurveTo"):
            current.append(points[-1])
        if operator in ("closePath", "endPath"):
            found.append(current)
    return found


def winding(polygon, x, y):
    turns = 0
    for (x1, y1), (x2, y2) in zip(polygon, polygon[1:] + polygon[:1]):
        if (y1 <= y) != (y2 <= y) and x1 + (y - y1) * (x2 - x1) / (y2 - y1) > x:
            turns += 1 if y2 > y1 else -1
    return turns


def cells(recorded, scale=1.0):
    shapes = polygons(recorded)
    centres = ((200 + 200 * (index % 4), 100 + 200 * (index // 4)) for index in range(16))
    return [int(sum(winding(shape, x / scale, y / scale) for shape in shapes) != 0) for x, y in centres]


def of_glyphs(glyphs, names, scale=1.0):
    letters = {}
    for letter in LETTERS:
        if names.get(letter) is None:
            continue
        pen = DecomposingRecordingPen(glyphs)
        glyph = glyphs[names[letter]]
        glyph.draw(pen)
        letters[letter] = {"width": round(glyph.width * scale), "cells": cells(pen, scale)}
    return letters


def sfnt(data, face):
    font = TTFont(io.BytesIO(data), fontNumber=face if data[:4] == b"ttcf" else -1)
    for tag in font.keys():
        font[tag]
    scale = 1000 / font["head"].unitsPerEm
    names = {chr(code): name for code, name in font.getBestCmap().items()}
    return {"family": font["name"].getBestFamilyName(), "letters": of_glyphs(font.getGlyphSet(), names, scale)}


def eot(data):
    size, length, version, flags = struct.unpack("<4I", data[:16])
    assert size == len(data) and version == 0x20001 and flags == 0 and data[34:36] == b"LP", "its header is wrong"
    told = sfnt(data[-length:], -1)
    (bytes_of_name,) = struct.unpack("<H", data[82:84])
    assert data[84 : 84 + bytes_of_name].decode("utf-16-le") == told["family"], "its header has another name"
    return told


def cff(data):
    fonts = CFFFontSet()
    fonts.decompile(io.BytesIO(data), None)
    top = fonts[0]
    letters = {}
    for letter in LETTERS:
        pen = RecordingPen()
        glyph = top.CharStrings[letter]
        glyph.draw(pen)
        letters[letter] = {"width": glyph.width, "cells": cells(pen)}
    return {"family": getattr(top, "FamilyName", fonts.fontNames[0]), "letters": letters}


def type1(path, kind):
    data = Path(path).read_bytes()
    assert data.startswith(b"\x80\x01" if kind == "pfb" else b"%!"), "it is the other kind of Type 1"
    font = t1Lib.T1Font(path, kind={"pfb": "PFB", "pfa": "OTHER"}[kind])
    glyphs = font.getGlyphSet()
    letters = {}
    for letter in LETTERS:
        pen = RecordingPen()
        glyphs[letter].draw(pen)
        letters[letter] = {"width": glyphs[letter].width, "cells": cells(pen)}
    return {"family": font.font["FontInfo"]["FamilyName"], "letters": letters}


def svg(data):
    space = "{http://www.w3.org/2000/svg}"
    font = next(ElementTree.fromstring(data).iter(f"{space}font"))
    letters = {}
    for glyph in font.iter(f"{space}glyph"):
        if glyph.get("unicode") in tuple(LETTERS):
            pen = RecordingPen()
            parse_path(glyph.get("d", ""), pen)
            letters[glyph.get("unicode")] = {"width": int(glyph.get("horiz-adv-x", font.get("horiz-adv-x"))), "cells": cells(pen)}
    face = next(font.iter(f"{space}font-face"))
    return {"family": face.get("font-family"), "letters": letters}


def ufo(path):
    with UFOReader(path) as reader:
        class Info:
            pass

        info = Info()
        reader.readInfo(info)
        glyphs = reader.getGlyphSet()
        names = {chr(codes[0]): name for name, codes in glyphs.getUnicodes().items() if codes}
        return {"family": info.familyName, "letters": of_glyphs(glyphs, names)}


def pixels(rows, width, left, bottom, size):
    """@param rows of 0 and 1, from the top @param size of an em: px"""
    scale = 1000 / size

    def at(x, y):
        row, column = len(rows) - 1 - (int(y / scale) - bottom), int(x / scale) - left
        return int(0 <= row < len(rows) and 0 <= column < len(rows[row]) and rows[row][column])

    found = [at(200 + 200 * (index % 4), 100 + 200 * (index // 4)) for index in range(16)]
    return {"width": round(width * scale), "cells": found}


def bdf(text):
    family = re.search(r'^FAMILY_NAME "(.*)"', text, re.M)
    size = int(re.search(r"^SIZE (\d+)", text, re.M).group(1))
    ascent, descent = (int(re.search(rf"^FONT_{name} (-?\d+)", text, re.M).group(1)) for name in ("ASCENT", "DESCENT"))
    letters = {}
    for part in text.split("STARTCHAR ")[1:]:
        code = int(re.search(r"^ENCODING (-?\d+)", part, re.M).group(1))
        width, height, left, bottom = map(int, re.search(r"^BBX (\S+) (\S+) (\S+) (\S+)", part, re.M).groups())
        lines = re.search(r"^BITMAP\n(.*?)^ENDCHAR", part, re.M | re.S).group(1).split()
        rows = [[int(bit) for bit in format(int(line, 16), f"0{4 * len(line)}b")[:width]] for line in lines]
        assert len(rows) == height
        if 65 <= code <= 90:
            advance = int(re.search(r"^DWIDTH (\d+)", part, re.M).group(1))
            letters[chr(code)] = pixels(rows, advance, left, bottom, ascent + descent)
    assert size > 0
    return {"family": family and family.group(1), "letters": letters}


def otb(data):
    font = TTFont(io.BytesIO(data))
    strike, index = font["EBDT"].strikeData[0], font["EBLC"].strikes[0]
    line = index.bitmapSizeTable.hori
    letters = {}
    for code, name in font.getBestCmap().items():
        if not 65 <= code <= 90:
            continue
        glyph = strike[name]
        metrics = getattr(glyph, "metrics", None) or next(t.metrics for t in index.indexSubTables if name in t.names)
        width, height = metrics.width, metrics.height
        advance = getattr(metrics, "Advance", None) or metrics.horiAdvance
        left = metrics.BearingX if hasattr(metrics, "BearingX") else metrics.horiBearingX
        top = metrics.BearingY if hasattr(metrics, "BearingY") else metrics.horiBearingY
        bits = "".join(format(byte, "08b") for byte in glyph.imageData)
        # Of these formats each row begins with a byte of its own.
        stride = (width + 7) // 8 * 8 if type(glyph).__name__[-1] in "16" else width
        rows = [[int(bit) for bit in bits[row * stride : row * stride + width]] for row in range(height)]
        letters[chr(code)] = pixels(rows, advance, left, top - height, line.ascender - line.descender)
    return {"family": font["name"].getBestFamilyName(), "letters": letters}


def describe(kind, path, face=0):
    if kind == "ufoz":
        return ufo(path)
    if kind in ("pfa", "pfb"):
        return type1(path, kind)
    data = Path(path).read_bytes()
    begins = {"ttf": b"\0\1\0\0", "otf": b"OTTO", "woff": b"wOFF", "woff2": b"wOF2"}.get(kind)
    if begins is not None:
        assert data.startswith(begins), f"it begins with {data[:4]}"
        return sfnt(data, face)
    return {"eot": eot, "cff": cff, "svgf": svg, "otb": otb, "bdf": lambda found: bdf(found.decode("latin1"))}[kind](data)


if __name__ == "__main__":
    print(json.dumps(describe(sys.argv[1], sys.argv[2])))
