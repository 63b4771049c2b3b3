#!/usr/bin/env python3
"""Rebuild the set of manuals from Debian packages: python3 manuals.py OUT [WORK].

Downloads each package in PACKAGES with `apt-get download` into WORK (default: a temporary
folder; a package already there is not downloaded again), unpacks it with `dpkg-deb -x`,
decompresses documents that end in .gz, and copies the chosen files to OUT/<package>/...,
keeping their path below the package's documentation folder. Prints the version of every
package. Needs Debian bookworm or later, with lists fetched by `apt-get update`.
"""
import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GIT_PAGES = """add am apply archive bisect blame branch bundle cherry-pick clean clone
commit config credential-cache daemon describe fast-import fetch filter-branch
format-patch gc grep init maintenance merge mergetool notes pull push rebase reflog
remote rerere reset revert rm send-email shortlog stash status submodule switch tag
worktree""".split()
GIT_GUIDES = """attributes credentials diffcore everyday faq glossary hooks ignore mailmap
modules namespaces repository-layout revisions workflows""".split()
NODE_PAGES = """addons assert async_context buffer child_process cli cluster console
corepack debugger dgram diagnostics_channel dns domain errors esm events fs globals http
https modules net os packages path permissions policy process querystring readline repl
stream string_decoder test timers tls tty url util v8 vm worker_threads zlib""".split()

# package: (documentation folder, file patterns below it)
PACKAGES = {
    "borgbackup-doc": ("usr/share/doc/borgbackup/html", [
        "faq.html", "installation.html", "introduction.html", "quickstart.html",
        "deployment/*.html", "internals/*.html", "usage/*.html"]),
    "debian-policy": ("usr/share/doc/debian-policy", [
        "policy.pdf*", "fhs/fhs-3.0.txt*", "autopkgtest.txt*", "copyright-format-1.0.txt*",
        "debconf_specification.txt*", "menu-policy.txt*", "perl-policy.txt*"]),
    "developers-reference": ("usr/share/developers-reference", ["developers-reference.pdf*"]),
    "git-doc": ("usr/share/doc/git-doc", [
        *(f"git-{page}.html" for page in GIT_PAGES), *(f"git{page}.html" for page in GIT_GUIDES),
        "user-manual.html", "SubmittingPatches.txt*", "MyFirstContribution.txt*",
        "howto/*.txt*", "technical/*.txt*"]),
    "gnuplot-doc": ("usr/share/doc/gnuplot", ["gnuplot.pdf*"]),
    "mutt": ("usr/share/doc/mutt", ["manual.txt*"]),
    "nodejs-doc": ("usr/share/doc/nodejs/api", [f"{page}.md*" for page in NODE_PAGES]),
    "sudo": ("usr/share/doc/sudo", ["*.md*"]),
}


def main(out, work):
    work.mkdir(parents=True, exist_ok=True)
    for package, (folder, patterns) in PACKAGES.items():
        if not list(work.glob(f"{package}_*.deb")):
            subprocess.run(["apt-get", "download", package], cwd=work, check=True)
        deb = max(work.glob(f"{package}_*.deb"), key=lambda path: path.stat().st_mtime)
        version = subprocess.check_output(["dpkg-deb", "-f", deb, "Version"], text=True)
        (tree := work / "tree" / package).mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "-x", deb, tree], check=True)
        copied = 0
        for pattern in patterns:
            found = sorted((tree / folder).glob(pattern))
            if not found:
                sys.exit(f"{package}: nothing matches {pattern}")
            for source in found:
                target = out / package / source.relative_to(tree / folder)
                opener = open
                if source.suffix == ".gz":
                    opener, target = gzip.open, target.with_suffix("")
                target.parent.mkdir(parents=True, exist_ok=True)
                with opener(source, "rb") as reader, target.open("wb") as writer:
                    shutil.copyfileobj(reader, writer)
                copied += 1
        print(f"{package} {version.strip()}: {copied} files")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) == 3 else scratch))
