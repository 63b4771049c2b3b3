#!/usr/bin/env python3
"""One table or figure of the four papers, measured beside the paper's own numbers.

    paper.py TABLE --ken KEN --model [NAME=]MODEL... --embedder FOLDER --out FOLDER [--ground GROUND] [--questions FILE...] [--limit N]

Builds a ground, runs the commands of `ken` (which it shows) and prints the table, which is kept as a file too. Run it again to go on after an
interruption. The grounds are `places` (countries and cities), `hops` (the same, of one and two hops), `fanout` (questions of several
hops) and, with --questions, `vital` (summaries of Wikipedia's vital articles, and those of these questions that they cover).
"""
import argparse
import pathlib

import kbm
import less_llm
import sr_rag
import zero_rag
from run import GROUNDS, Run

# What measures each, and on which ground.
TABLES = {
    "zero-rag-1": (zero_rag.table_1, "places"),
    "zero-rag-2": (zero_rag.table_2, "places"),
    "zero-rag-3": (zero_rag.table_3, "places"),
    "kbm-1": (kbm.table_1, "places"),
    "kbm-3": (kbm.table_3, "fanout"),
    "kbm-fig-1": (kbm.figure_1, "places"),
    "kbm-fig-6": (kbm.figure_6, "places"),
    "sr-rag-1": (sr_rag.table_1, "places"),
    "less-llm": (less_llm.table, "places"),
    "less-llm-reranked": (less_llm.reranked, "places"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    for name in ("ken", "embedder", "out"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--model", action="append", required=True, help="a model; several, as NAME=MODEL, for less-llm and kbm-fig-1")
    parser.add_argument("--ground", choices=GROUNDS, help="another ground than the table's own")
    parser.add_argument("--questions", type=pathlib.Path, nargs="+", default=[], help="for the ground vital: JSON Lines, plain or .gz")
    parser.add_argument("--limit", type=int, help="only so many questions of each part, for a quick look")
    options = parser.parse_args()
    measure, ground = TABLES[options.table]
    measure(Run(options, ground))


if __name__ == "__main__":
    main()
