"""Makes Office files of known words, each with the parts that such files have: headings, paragraphs, tables, lists, notes."""

import email.message
import json
import random
import re
import zipfile

SEED = 1
SYLLABLES = "ba de fi go lu mer nas pol que rit sun tar vex wim zo äl ñu øs".split()
PARAGRAPHS = 40
PARAGRAPH_WORDS = 60


def words(text):
    """The words of a text: runs of letters."""
    return re.findall(r"[^\W\d_]+", text)


class Source:
    """Gives words, and remembers which it gave."""

    def __init__(self):
        self.random = random.Random(SEED)
        self.given = []

    def text(self, count):
        made = ["".join(self.random.choices(SYLLABLES, k=self.random.randint(2, 4))) for _ in range(count)]
        self.given += made
        return " ".join(made)

    def table(self, rows=6, columns=3):
        return [[self.text(2) for _ in range(columns)] for _ in range(rows)]


def docx(source, path):
    import docx

    document = docx.Document()
    for at in range(PARAGRAPHS):
        if at % 8 == 0:
            document.add_heading(source.text(4), level=1 + at % 3)
        document.add_paragraph(source.text(PARAGRAPH_WORDS))
        document.add_paragraph(source.text(5), style="List Bullet")
        if at % 10 == 0:
            cells = source.table()
            table = document.add_table(len(cells), len(cells[0]))
            for row, texts in zip(table.rows, cells):
                for cell, text in zip(row.cells, texts):
                    cell.text = text
    document.save(path)


def pptx(source, path):
    import pptx
    from pptx.util import Inches

    slides = pptx.Presentation()
    for at in range(PARAGRAPHS):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = source.text(5)
        slide.placeholders[1].text = "\n".join(source.text(8) for _ in range(4))
        if at % 4 == 0:
            cells = source.table(3)
            table = slide.shapes.add_table(3, 3, Inches(1), Inches(4), Inches(6), Inches(2)).table
            for row, texts in enumerate(cells):
                for column, text in enumerate(texts):
                    table.cell(row, column).text = text
        slide.notes_slide.notes_text_frame.text = source.text(20)
    slides.save(path)


def xlsx(source, path):
    import openpyxl

    book = openpyxl.Workbook()
    for sheet in range(3):
        page = book.active if sheet == 0 else book.create_sheet()
        page.title = source.text(2)
        for row in source.table(60, 4):
            page.append(row)
    book.save(path)


def odt(source, path):
    from odf import table, text
    from odf.opendocument import OpenDocumentText

    document = OpenDocumentText()
    for at in range(PARAGRAPHS):
        if at % 8 == 0:
            document.text.addElement(text.H(outlinelevel=1 + at % 3, text=source.text(4)))
        document.text.addElement(text.P(text=source.text(PARAGRAPH_WORDS)))
        items = text.List()
        for _ in range(2):
            item = text.ListItem()
            item.addElement(text.P(text=source.text(5)))
            items.addElement(item)
        document.text.addElement(items)
        if at % 10 == 0:
            cells = table.Table()
            for texts in source.table():
                row = table.TableRow()
                for of_cell in texts:
                    cell = table.TableCell()
                    cell.addElement(text.P(text=of_cell))
                    row.addElement(cell)
                cells.addElement(row)
            document.text.addElement(cells)
    document.save(path)


def rtf(source, path):
    def escaped(text):
        return "".join(character if ord(character) < 128 else f"\\u{ord(character)}?" for character in text)

    parts = [r"{\rtf1\ansi\deff0{\fonttbl{\f0 Times;}}"]
    for _ in range(PARAGRAPHS):
        parts.append(rf"\pard\b {escaped(source.text(4))}\b0\par")
        parts.append(rf"\pard {escaped(source.text(PARAGRAPH_WORDS))}\par")
        cells = "".join(rf"\intbl {escaped(source.text(2))}\cell " for _ in range(2))
        parts.append(rf"\trowd\cellx3000\cellx6000 {cells}\row")
    path.write_text("\n".join(parts) + "}", encoding="ascii")


def html(source):
    paragraphs = "".join(f"<h2>{source.text(4)}</h2><p>{source.text(PARAGRAPH_WORDS)}</p>" for _ in range(8))
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in source.table())
    head = "<head><title>-</title></head>"
    return f'<html xmlns="http://www.w3.org/1999/xhtml">{head}<body>{paragraphs}<table>{rows}</table></body></html>'


def epub(source, path):
    container = (
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    names = [f"{number}.xhtml" for number in range(5)]
    items = "".join(f'<item id="c{name[0]}" href="{name}" media-type="application/xhtml+xml"/>' for name in names)
    order = "".join(f'<itemref idref="c{name[0]}"/>' for name in names)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>-</dc:title></metadata><manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", container)
        book.writestr("book.opf", package)
        for name in names:
            book.writestr(name, html(source))


def ipynb(source, path):
    def cell(kind, text, **others):
        return {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True), **others}

    cells = []
    for _ in range(PARAGRAPHS):
        cells.append(cell("markdown", f"# {source.text(4)}\n\n{source.text(PARAGRAPH_WORDS)}"))
        code = " = ".join(source.text(1) for _ in range(3))
        cells.append(cell("code", code, execution_count=None, outputs=[]))
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8")


def eml(source, path):
    message = email.message.EmailMessage()
    message["Subject"] = source.text(6)
    message.set_content("\n\n".join(source.text(PARAGRAPH_WORDS) for _ in range(PARAGRAPHS)))
    path.write_bytes(message.as_bytes())


KINDS = {"docx": docx, "pptx": pptx, "xlsx": xlsx, "odt": odt, "rtf": rtf, "epub": epub, "ipynb": ipynb, "eml": eml}


def make(folder):
    """Makes a file of each kind. Returns their paths, each with the words that were put in, in their order."""
    for kind, write in KINDS.items():
        source = Source()
        path = folder / f"made.{kind}"
        write(source, path)
        yield path, source.given
