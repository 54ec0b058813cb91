"""Whether a file has what its source had, read by other programs than the service's: zipfile, pdfinfo, pdftotext, pdfimages, qpdf, ffprobe, ImageMagick, ExifTool, fontTools.

    properties.py PROPERTY FILE

Prints yes or no. The properties are those of test/kit/fixtures/documents/full.ts and of the sources in matrix.ts.
"""

import html
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ADDRESS, TITLE = "https://example.org/over-there", "A title of old"
PAGES = {"slides": 1, "pages": 2}
WORDS = "Beginning words pieces elsewhere Doubtful inserted Ending".split()


def run(*command):
    return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")


def parts(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def markup(path):
    """All markup of a document: of a package, of a PDF as objects, of a page."""
    kind = path.suffix[1:]
    if kind == "pdf":
        return run("qpdf", "--json", "--json-key=qpdf", str(path)) if qpdf_knows() else run("qpdf", "--qdf", "--object-streams=disable", str(path), "-")
    if kind in ("docx", "odt", "xlsx", "ods", "pptx", "odp", "epub", "3mf"):
        return "\n".join(content.decode("utf-8", "replace") for name, content in parts(path).items() if re.search(r"\.(xml|rels|x?html|opf|model)$", name))
    return path.read_text("utf-8", "replace")


def qpdf_knows():
    return "version 11" in run("qpdf", "--version") or "version 12" in run("qpdf", "--version")


def text(path):
    if path.suffix == ".pdf":
        return run("pdftotext", str(path), "-")
    plain = re.sub(r"<(script|style|head)\b.*?</\1>", " ", markup(path), flags=re.S)
    return html.unescape(re.sub(r"</?(?:w:p|text:p|text:h|p|div|h1|br|w:tab)\b[^>]*>", " ", plain)).replace("\\", "")


def stripped(path):
    return re.sub(r"<[^>]*>", "", text(path))


def info(path, name):
    found = re.search(rf"^{name}:\s*(.*)$", run("pdfinfo", str(path)), re.M)
    return found[1] if found else ""


def probe(path):
    return json.loads(run("ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_format", "-show_chapters", str(path)))


def identify(path, what):
    return run("identify", "-format", f"{what}\\n", str(path)).split("\n")[0].strip()


def tags_in(path):
    found = probe(path)
    tags = dict(found["format"].get("tags", {}))
    for stream in found["streams"]:
        tags.update(stream.get("tags", {}))
    return {name.lower(): value for name, value in tags.items()}


def by(pattern):
    return lambda path: re.search(pattern, markup(path)) is not None


def hidden(path):
    return re.findall(r'<p:sld [^>]*show="0"|presentation:visibility="hidden"', markup(path))


def entries(path):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return [(item.filename, item.external_attr >> 16, "-".join(map(str, item.date_time[:3]))) for item in archive.infolist() if not item.is_dir()]
    with tarfile.open(path) as archive:
        import time

        return [(item.name, item.mode, "-".join(map(str, time.gmtime(item.mtime)[:3]))) for item in archive if item.isfile()]


def font(path):
    from fontTools.ttLib import TTFont

    return TTFont(path)


def model(path):
    kind, content = path.suffix[1:], path.read_bytes()
    if kind == "stl":
        return int.from_bytes(content[80:84], "little")
    if kind == "obj":
        return sum(line.startswith(b"f ") for line in content.split(b"\n"))
    if kind == "ply":
        return int(re.search(rb"element face (\d+)", content)[1])
    return sum(map(int, re.findall(r"<triangles[^>]*count=\"(\d+)\"", content.decode()))) + sum(len(found.split()) for found in re.findall(r"<vcount>([^<]*)", content.decode()))


# One page of A5, or near it: 148 × 210 mm.
def is_a5(path):
    if path.suffix == ".pdf":
        return [round(float(side)) for side in re.findall(r"[\d.]+", info(path, "Page size"))[:2]] == [420, 595]
    return re.search(r'w:w="839\d"|page-width="(?:14\.8\d*cm|5\.82\d*in|148mm)"', markup(path)) is not None


HAS = {
    "text": lambda path: all(word in stripped(path) for word in WORDS),
    "links": lambda path: ADDRESS in markup(path),
    "title": lambda path: info(path, "Title") == TITLE if path.suffix == ".pdf" else re.search(rf"title>{TITLE}<", markup(path)) is not None,
    "language": by(r'(?:w:lang w:val|fo:language|lang)="de[-"]|dc:language[^>]*>de|/Lang["\s:(]*(?:u:)?\(?(?:<feff0064|de)'),
    "outline": lambda path: len(re.findall(r"w:outlineLvl|<text:h\b|<h1\b|^# ", markup(path), re.M)) > 1 or (path.suffix == ".pdf" and "/Outlines" in markup(path)),
    "footnotes": by(r"<w:footnoteReference|<text:note\b|footnote-ref|noteref|\[\^1\]"),
    "comments": by(r"<w:comment\b|<office:annotation\b|/Subtype\"?:? ?\"?/Text\b"),
    "tracked_changes": by(r"<w:ins\b|<text:changed-region"),
    "form_fields": lambda path: info(path, "Form") == "AcroForm" if path.suffix == ".pdf" else re.search(r"<w:ffData|<form:checkbox|<field:fieldmark|w14:checkbox|<input", markup(path)) is not None,
    "page_size": is_a5,
    "pictures": lambda path: len(run("pdfimages", "-list", str(path)).strip().split("\n")) > 2
    if path.suffix == ".pdf"
    else ("data:image/png" in markup(path) if path.suffix in (".html", ".md", ".txt") else any(name.endswith(".png") for name in parts(path))),
    "hidden_sheets": by(r'state="hidden"|table:display="false"'),
    "formulas": by(r"<f\b|table:formula"),
    "merged_cells": by(r"<mergeCell |number-columns-spanned=\"2\"|colspan=\"?2"),
    "dates": by(r'office:value-type="date"'),
    # LibreOffice 7.4 writes some as formulas.
    "true_false": by(r'office:value-type="boolean"|t="b"|table:formula="of:=(?:TRUE|FALSE)\(\)"'),
    "cell_notes": lambda path: path.suffix == ".ods" and "<office:annotation" in markup(path),
    "headers": lambda path: all(word in stripped(path) for word in ("anna@example.org", "bert@example.net", "Greetings")),
    "attached_files": lambda path: path.suffix == ".zip" and "notes.txt" in zipfile.ZipFile(path).namelist(),
    "inline_pictures": lambda path: any(name.endswith(".png") for name in parts(path)) if path.suffix == ".zip" else "data:image/png" in path.read_text("latin1"),
    "pages": lambda path: (int(info(path, "Pages")) if path.suffix == ".pdf" else len(re.findall(r"<p:sld |<draw:page ", markup(path))) - len(hidden(path))) == PAGES[path.stem.split("-")[0]],
    "hidden_slides": lambda path: path.suffix != ".pdf" and len(hidden(path)) == 1,
    "speaker_notes": lambda path: path.suffix != ".pdf" and "Say it slowly" in stripped(path),
    "files": lambda path: sorted(Path(name).name for name, _, _ in entries(path)) == ["a.txt", "run.sh"],
    "permissions": lambda path: any(name.endswith("run.sh") and mode & 0o100 for name, mode, _ in entries(path)),
    "times": lambda path: all(day == "2023-11-14" for _, _, day in entries(path)),
    "glyphs": lambda path: font(path)["maxp"].numGlyphs >= 27,
    "font_family": lambda path: font(path)["name"].getDebugName(1).startswith("Quarter Willow"),
    "triangles": lambda path: model(path) >= 18,
    "size": lambda path: identify(path, "%w %h") == "40 30",
    "alpha": lambda path: run("convert", str(path), "-alpha", "extract", "-format", "%[fx:minima<0.9]", "info:").startswith("1"),
    "depth": lambda path: identify(path, "%z") == "16",
    "density": lambda path: round(float(identify(path, "%x").split()[0]) * (2.54 if "Centi" in identify(path, "%U") else 1)) == 300,
    "exif": lambda path: "Anna" in run("exiftool", "-LensModel", str(path)),
    "profile": lambda path: "icc" in identify(path, "%[profiles]") or identify(path, "%[profile:icc]") != "",
    "tags": lambda path: tags_in(path).get("title") == TITLE,
    "chapters": lambda path: len(probe(path)["chapters"]) == 2,
    "channels": lambda path: next(s for s in probe(path)["streams"] if s["codec_type"] == "audio")["channels"] == 6,
    "sample_rate": lambda path: next(s for s in probe(path)["streams"] if s["codec_type"] == "audio")["sample_rate"] == "96000",
    "length": lambda path: abs(float(probe(path)["format"]["duration"]) - 2) < 0.3,
    "picture_size": lambda path: next((s["width"], s["height"]) for s in probe(path)["streams"] if s["codec_type"] == "video") == (64, 48),
    "sound_tracks": lambda path: sum(s["codec_type"] == "audio" for s in probe(path)["streams"]) == 2,
    "subtitles": lambda path: any(s["codec_type"] == "subtitle" for s in probe(path)["streams"]),
}

name, file = sys.argv[1:]
print("yes" if HAS[name](Path(file)) else "no")
