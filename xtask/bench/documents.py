"""Compares ken's readers of documents with others, one process for each file and reader.

usage: documents.py FOLDER TEXT FILE.csv

FOLDER holds PDFs. TEXT is a program that prints the text of a file, as the example `text` of ken-documents
does. The words of poppler's pdftotext are the reference for PDFs; for Office files it is the words that this script
puts into them. Prints a table and leaves a row for each file and reader in FILE.csv.
"""

import collections
import csv
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unicodedata

import office

# A file on which a reader takes longer has no text by it.
MOST_SECONDS = 60
# The categories of characters that mean nothing: private, undefined, control.
UNKNOWN = {"Co", "Cn", "Cc"}
# Files in which poppler finds fewer words say little about a reader.
FEWEST_WORDS = 5

FIELDS = "file reader words found missing invented pairs pairs_found seconds peak_mb failed told".split()

# Starts a program and writes what it took into a file. The peak memory of a process counts that of the one that starts
# it, so this one is small: about 10 MB, below which peaks are not told apart.
LAUNCH = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]),) * 2)
process = os.posix_spawnp(sys.argv[3], sys.argv[3:], os.environ)
_, status, used = os.wait4(process, 0)
with open(sys.argv[1], "w") as file:
    print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=file)
"""


def by_pypdf(file):
    import pypdf

    return lambda: "\n".join(page.extract_text() for page in pypdf.PdfReader(file).pages)


def by_pdf_oxide(file):
    import pdf_oxide

    def read():
        pdf = pdf_oxide.PdfDocument(file)
        return "\n".join(pdf.extract_text(page) for page in range(pdf.page_count()))

    return read


def by_markitdown(file):
    import markitdown

    reader = markitdown.MarkItDown()
    return lambda: reader.convert(file).text_content


PACKAGES = {"pypdf": by_pypdf, "pdf_oxide": by_pdf_oxide, "markitdown": by_markitdown}


def read_by_package(name, file):
    """Prints the seconds that reading took, without those of starting and importing, then the text."""
    read = PACKAGES[name](file)
    started = time.process_time()
    text = read()
    seconds = time.process_time() - started
    sys.stdout.buffer.write(f"{seconds}\n{text}".encode("utf-8", "replace"))


def command(reader, text_program, file):
    match reader:
        case "ken":
            return [text_program, file]
        case "pdftotext":
            return ["pdftotext", "-q", "-enc", "UTF-8", file, "-"]
        case package:
            return [sys.executable, __file__, "--read", package, file]


def run(reader, text_program, file):
    """The text that a reader finds, its seconds of processor time, its peak memory in MB, whether it failed, and what it
    told."""
    with tempfile.TemporaryDirectory() as folder:
        took = pathlib.Path(folder, "took")
        launch = [sys.executable, "-ISc", LAUNCH, str(took), str(MOST_SECONDS)]
        done = subprocess.run(launch + command(reader, text_program, file), capture_output=True, check=True)
        status, seconds, peak = took.read_text().split()
    text = done.stdout.decode("utf-8", "replace")
    if reader in PACKAGES and status == "0":
        seconds, text = text.split("\n", 1)
    told = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    told = "".join(told)[:200].replace(file, os.path.basename(file))
    return text, float(seconds), float(peak), status != "0", told


def words(text):
    """The words of a text, without characters that draw nothing.

    Private and undefined characters are codes that a reader did not understand, and so is a word that has one.
    """
    text = unicodedata.normalize("NFKC", text)
    drawn = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return [word for word in drawn.split() if all(unicodedata.category(character) not in UNKNOWN for character in word)]


def common(some, others):
    return sum((collections.Counter(some) & collections.Counter(others)).values())


def compare(file, reader, reference, found, measured):
    """A row: the words of a text beside those of the reference, each as often as it occurs in both."""
    pairs = list(zip(reference, reference[1:]))
    both = common(reference, found)
    _, seconds, peak, failed, told = measured
    return {
        "file": file.name,
        "reader": reader,
        "words": len(reference),
        "found": both,
        "missing": len(reference) - both,
        "invented": len(found) - both,
        "pairs": len(pairs),
        "pairs_found": common(pairs, zip(found, found[1:])),
        "seconds": round(seconds, 3),
        "peak_mb": round(peak, 1),
        "failed": failed,
        "told": told,
    }


def pdfs(folder, text_program):
    """The rows of all PDFs in which poppler finds words; it finds none in those that need a password."""
    for file in sorted(folder.glob("*.pdf")):
        measured = run("pdftotext", text_program, str(file))
        reference = words(measured[0])
        if len(reference) < FEWEST_WORDS:
            continue
        yield compare(file, "pdftotext", reference, reference, measured)
        for reader in ["ken", "pypdf", "pdf_oxide"]:
            measured = run(reader, text_program, str(file))
            yield compare(file, reader, reference, words(measured[0]), measured)


def offices(text_program):
    """The rows of Office files. Their words consist of letters, so that signs of markup do not part them."""
    with tempfile.TemporaryDirectory() as folder:
        for file, put_in in office.make(pathlib.Path(folder)):
            for reader in ["ken", "markitdown"]:
                measured = run(reader, text_program, str(file))
                yield compare(file, reader, put_in, office.words(measured[0]), measured)


def share(rows, part, of):
    return 100 * sum(row[part] for row in rows) / max(1, sum(row[of] for row in rows))


def print_table(rows, versions):
    print(
        f"{'':<34}{'files':>7}{'failed':>8}{'words':>9}{'found %':>9}{'pairs %':>9}{'invented %':>12}{'seconds':>10}{'peak MB':>9}"
    )
    groups = collections.defaultdict(list)
    for row in rows:
        groups[pathlib.Path(row["file"]).suffix, row["reader"]].append(row)
    for (kind, reader), of in groups.items():
        name = f"{kind[1:]} {reader} {versions.get(reader, '')}"
        print(
            f"{name:<34}{len(of):>7}{sum(row['failed'] for row in of):>8}{sum(row['words'] for row in of):>9}"
            f"{share(of, 'found', 'words'):>9.2f}{share(of, 'pairs_found', 'pairs'):>9.2f}{share(of, 'invented', 'words'):>12.2f}"
            f"{sum(row['seconds'] for row in of):>10.2f}{max(row['peak_mb'] for row in of):>9.0f}"
        )


def main(folder, text_program, out):
    versions = {name: importlib.metadata.version(name.replace("_", "-")) for name in PACKAGES}
    told = subprocess.run(["pdftotext", "-v"], capture_output=True, text=True, check=False).stderr
    versions["pdftotext"] = told.split("\n", 1)[0].split(" ")[-1]
    rows = [*pdfs(pathlib.Path(folder), text_program), *offices(text_program)]
    with open(out, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, FIELDS)
        table.writeheader()
        table.writerows(rows)
    print_table(rows, versions)


if __name__ == "__main__":
    if sys.argv[1] == "--read":
        read_by_package(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
