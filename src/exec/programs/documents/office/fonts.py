"""Fonts that a document asks for, that are neither installed nor in it, and what LibreOffice draws in their place."""

from contextlib import contextmanager

MOST_NAMED = 10
# Windows' own names are no longer (LOGFONT).
LONGEST_NAME = 31
# Bytes of a warning that the service takes (residents/messages.ts).
LONGEST_MESSAGE = 600
# Families whose letters have the same widths (fontconfig's 30-metric-aliases.conf), and symbols that LibreOffice finds in its own font: nothing moves.
TWINS = (
    {"arial", "helvetica", "liberation sans", "nimbus sans"},
    {"arial narrow", "helvetica narrow", "liberation sans narrow", "nimbus sans narrow"},
    {"times new roman", "times", "liberation serif", "nimbus roman"},
    {"courier new", "courier", "liberation mono", "nimbus mono ps"},
    {"calibri", "carlito"},
    {"cambria", "caladea"},
    {"palatino", "palatino linotype", "p052"},
    {"bookman", "bookman old style", "urw bookman"},
    {"century schoolbook", "new century schoolbook", "c059"},
    {"itc avant garde gothic", "century gothic", "urw gothic"},
    {"symbol", "standard symbols ps", "webdings", "wingdings", "wingdings 2", "wingdings 3", "starsymbol", "opensymbol"},
)


@contextmanager
def replaced_fonts(office, warnings):
    """Adds a warning of the fonts that are replaced in what is drawn meanwhile."""
    toolkit = office.create("com.sun.star.awt.Toolkit")
    toolkit.startTrackingFontMappingUse()
    try:
        yield
    finally:
        drawn = toolkit.finishTrackingFontMappingUse()
    lacking = stand_ins_of(drawn)
    # Letters that a font lacks come from another one: whether it is there shows only in the list of all.
    if lacking:
        there = {font.Name.lower() for font in toolkit.createScreenCompatibleDevice(1, 1).getFontDescriptors()}
        lacking = {asked: stand_in for asked, stand_in in lacking.items() if there.isdisjoint(as_good_as(asked))}
    if lacking:
        warnings.append({"code": "font_substituted", "message": message_of(lacking)})


def stand_ins_of(drawn):
    """@param drawn how often text that asks for a font was drawn with others: the first for most of it, the rest for letters that this one lacks
    @return stand-ins by the fonts asked for, those of most text first"""
    lacking, kept = {}, set()
    for item in sorted(drawn, key=lambda item: -item.count):
        asked = item.originalFont.partition("/")[0]
        used = [font.partition("/")[0] for font in item.usedFonts]
        if not used or used[0].lower() in as_good_as(asked):
            kept.add(asked)
        else:
            lacking.setdefault(asked, used[0])
    return {asked: stand_in for asked, stand_in in lacking.items() if asked not in kept}


def choices(asked):
    """A document may name several; the first that is installed counts. A leading @ means vertical text."""
    return [name.strip().removeprefix("@") for name in asked.split(";")]


def as_good_as(asked):
    names = {name.lower() for name in choices(asked)}
    return names.union(*(twins for twins in TWINS if not names.isdisjoint(twins)))


def message_of(lacking):
    """Names as many as there is room for."""
    for named in range(min(len(lacking), MOST_NAMED), 0, -1):
        by_stand_in = {}
        for asked, stand_in in list(lacking.items())[:named]:
            by_stand_in.setdefault(clean(stand_in), []).append(f'"{clean(choices(asked)[0])}"')
        replaced = [f"{', '.join(fonts)} by {stand_in}" for stand_in, fonts in by_stand_in.items()]
        if named < len(lacking):
            replaced.append(f"and {len(lacking) - named} more")
        message = f"Fonts that are neither installed nor in the document were replaced, so lines may break elsewhere: {'; '.join(replaced)}."
        if len(message.encode()) <= LONGEST_MESSAGE:
            break
    return message


def clean(name):
    """Returns a font's name, which the document may have chosen, as part of a sentence: no marks that change how its neighbours are read."""
    kept = "".join(letter for letter in name[:LONGEST_NAME] if letter.isalnum() or (" " <= letter <= "~" and letter != '"'))
    return " ".join(kept.split()) or "(no name)"
