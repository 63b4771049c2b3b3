"""`python -m ken`: the program `ken`."""

from ._command import main

if __name__ == "__main__":
    main()
