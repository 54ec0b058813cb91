"""The filters of LibreOffice that read and write each format (its filter/source/config/fragments/filters): no other decoder is tried."""

READS = {
    "docx": "MS Word 2007 XML",
    "doc": "MS Word 97",
    "odt": "writer8",
    "fodt": "OpenDocument Text Flat XML",
    "rtf": "Rich Text Format",
    "html": "HTML (StarWriter)",
    "txt": "Text (encoded)",
    "pdf": "writer_pdf_import",
    "sxw": "StarOffice XML (Writer)",
    "abw": "AbiWord",
    "wpd": "WordPerfect",
    "wps": "MS_Works",
    "xlsx": "Calc MS Excel 2007 XML",
    "xls": "MS Excel 97",
    "ods": "calc8",
    "fods": "OpenDocument Spreadsheet Flat XML",
    "csv": "Text - txt - csv (StarCalc)",
    "tsv": "Text - txt - csv (StarCalc)",
    "xlsb": "Calc MS Excel 2007 Binary",
    "slk": "SYLK",
    "dif": "DIF",
    "sxc": "StarOffice XML (Calc)",
    "pptx": "Impress MS PowerPoint 2007 XML",
    "ppt": "MS PowerPoint 97",
    "odp": "impress8",
    "fodp": "OpenDocument Presentation Flat XML",
    "sxi": "StarOffice XML (Impress)",
    "odg": "draw8",
    "fodg": "OpenDocument Drawing Flat XML",
    "svg": "SVG - Scalable Vector Graphics Draw",
    "vsdx": "Visio Document",
    "vsd": "Visio Document",
    "pub": "Publisher Document",
    "emf": "EMF - MS Windows Metafile",
    "wmf": "WMF - MS Windows Metafile",
}
WRITES = {
    "text": {
        **{target: READS[target] for target in ("docx", "doc", "odt", "fodt", "rtf", "html", "txt")},
        "pdf": "writer_pdf_Export",
    },
    "sheet": {
        **{target: READS[target] for target in ("xlsx", "xls", "ods", "fods", "csv", "slk", "dif")},
        "html": "HTML (StarCalc)",
        "pdf": "calc_pdf_Export",
    },
    "drawing": {
        target: f"draw_{target}_Export" for target in ("pdf", "png", "svg", "emf", "wmf")
    },
    "slides": {**{target: READS[target] for target in ("pptx", "ppt", "odp", "fodp")}, "pdf": "impress_pdf_Export"},
}
