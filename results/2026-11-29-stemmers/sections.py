"""Sections of manuals in five languages as a corpus, and their headings as questions. Writes LANGUAGE.corpus.jsonl and
LANGUAGE.questions.jsonl, and all.* of all languages together.
Usage: sections.py PACKAGES OUT, where PACKAGES holds the unpacked Debian packages debian-reference-{de,fr,es,it,pt} 2.100 and
developers-reference-{de,fr} 12.18, each in a folder x_NAME. Needs beautifulsoup4."""
import glob, json, pathlib, re, sys

from bs4 import BeautifulSoup

packages, out = sys.argv[1], pathlib.Path(sys.argv[2])
HEADINGS = ["h1", "h2", "h3", "h4"]


def sections(language):
    pages = sorted(glob.glob(f"{packages}/x_debian-reference-{language}/usr/share/debian-reference/*.{language}.html"))
    pages += sorted(glob.glob(f"{packages}/x_developers-reference-{language}/**/*.html", recursive=True))
    found = {}
    for page in pages:
        soup = BeautifulSoup(open(page, encoding="utf8", errors="ignore"), "html.parser")
        for heading in soup.find_all(HEADINGS):
            title = re.sub(r"^[\d\.\s]+", "", heading.get_text(" ", strip=True)).strip("¶ ")
            words = []
            for part in heading.find_all_next(["p", "pre", "td", "li", *HEADINGS]):
                if part.name in HEADINGS or len(words) > 100:
                    break
                words += part.get_text(" ", strip=True).split()
            if len(title.split()) >= 2 and len(words) >= 40:
                found.setdefault(title, " ".join(words[:120]))
    return found


everything = {"corpus": [], "questions": []}
for language in ["de", "fr", "es", "it", "pt"]:
    lines = {"corpus": [], "questions": []}
    for number, (title, text) in enumerate(sections(language).items()):
        name = f"{language}-{number}"
        lines["corpus"].append(json.dumps({"id": name, "contents": text}))
        lines["questions"].append(json.dumps({"question": title, "metadata": {"gold_passage": name}}))
    for kind, written in lines.items():
        (out / f"{language}.{kind}.jsonl").write_text("\n".join(written) + "\n")
        everything[kind] += written
for kind, written in everything.items():
    (out / f"all.{kind}.jsonl").write_text("\n".join(written) + "\n")
