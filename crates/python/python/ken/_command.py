"""The program `ken`, which is in the extension."""

import sys
from typing import NoReturn

from . import _ken


def main() -> NoReturn:
    """Runs the program with the arguments of this process, and ends with its exit code."""
    sys.exit(_ken.main(["ken", *sys.argv[1:]]))
