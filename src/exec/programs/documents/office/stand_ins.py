"""Which installed fonts stand in for usual ones that are not free, as a configuration of fontconfig.

Debian's own knows those with the same widths (30-metric-aliases.conf) and the kinds of some others; most it replaces by a sans serif, whatever they are.
"""

import re
from pathlib import Path
from xml.sax.saxutils import escape

# "serif", "sans-serif" and "monospace" are fontconfig's, which knows the best that is installed. Names in other scripts are as those editions of Word write them.
STAND_INS = {
    "serif": "Baskerville, Baskerville Old Face, Bodoni MT, Book Antiqua, Bookman Old Style, Calisto MT, Century, Century Schoolbook, Charter, Didot, "
    "Goudy Old Style, High Tower Text, Hoefler Text, Lucida Bright, Minion Pro, Palatino, Palatino Linotype, Perpetua, Rockwell, Sitka Text, Sylfaen",
    # Debian has symbols stand in for Impact, and handwriting for Comic Sans MS.
    "sans-serif": "Comic Sans MS, Impact",
    "monospace": "Cascadia Code, Cascadia Mono, Lucida Console, Lucida Sans Typewriter, Menlo, Monaco, SF Mono",
    "DejaVu Sans": "Lucida Grande, Lucida Sans, Lucida Sans Unicode, Verdana",
    "Carlito": "Calibri Light",
    "URW Gothic": "Century Gothic",
    "Noto Sans Mono CJK JP": "MS Gothic, ＭＳ ゴシック",
    "Noto Sans CJK JP": "Hiragino Kaku Gothic Pro, Hiragino Kaku Gothic ProN, Hiragino Sans, Meiryo, Meiryo UI, MS PGothic, MS UI Gothic, Yu Gothic, "
    "Yu Gothic Light, Yu Gothic UI, ＭＳ Ｐゴシック, メイリオ, 游ゴシック, 游ゴシック Light",
    "Noto Serif CJK JP": "Hiragino Mincho Pro, Hiragino Mincho ProN, MS Mincho, MS PMincho, Yu Mincho, ＭＳ 明朝, ＭＳ Ｐ明朝, 游明朝",
    "Noto Sans CJK SC": "DengXian, Heiti SC, Microsoft YaHei, Microsoft YaHei UI, PingFang SC, SimHei, STHeiti, STXihei, 微软雅黑, 等线, 黑体",
    "Noto Serif CJK SC": "FangSong, KaiTi, NSimSun, SimSun, Songti SC, STFangsong, STKaiti, STSong, 仿宋, 宋体, 新宋体, 楷体",
    "Noto Sans CJK TC": "Heiti TC, Microsoft JhengHei, Microsoft JhengHei UI, PingFang TC, 微軟正黑體",
    "Noto Serif CJK TC": "DFKai-SB, MingLiU, PMingLiU, Songti TC, 新細明體, 標楷體, 細明體",
    "Noto Sans CJK KR": "Apple SD Gothic Neo, Dotum, Gulim, Malgun Gothic, 굴림, 돋움, 맑은 고딕",
    "Noto Serif CJK KR": "AppleMyungjo, Batang, Gungsuh, 궁서, 바탕",
}


def write_stand_ins(path):
    """Writes what fontconfig is to read: these rules first, since what follows takes a family without a kind for a sans serif."""
    rules = "".join(
        f'<alias binding="same"><family>{escape(family)}</family><accept><family>{escape(stand_in)}</family></accept></alias>\n'
        for stand_in, families in STAND_INS.items()
        for family in families.split(", ")
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">\n'
    path.write_text(f"{head}<fontconfig>\n{rules}{without_colours()}<include>/etc/fonts/fonts.conf</include>\n</fontconfig>\n", "utf-8")


# LibreOffice 7 writes the colours of this family as nothing at all; the outlines of another one show.
COLOURED = "Noto Color Emoji"
OUTLINES = Path("/usr/share/fonts/truetype/ancient-scripts/Symbola_hint.ttf")
VERSION = Path("/usr/lib/libreoffice/program/versionrc")
LAST_WITHOUT_COLOURS = 7


def without_colours():
    """Returns a rule that leaves out a font whose letters would be blank, where another one has them."""
    try:
        version = re.search(r"^UpdateID=LibreOffice_(\d+)", VERSION.read_text("utf-8"), re.MULTILINE)
    except OSError:
        return ""
    if version is None or int(version[1]) > LAST_WITHOUT_COLOURS or not OUTLINES.exists():
        return ""
    return f"<selectfont><rejectfont><pattern><patelt name=\"family\"><string>{COLOURED}</string></patelt></pattern></rejectfont></selectfont>\n"
