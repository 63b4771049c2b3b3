"""ken answers questions over your documents, measures what the model already knows, and retrieves only where
that helps.

    import ken

    corpus = ken.Corpus("notes.ken")
    corpus.ingest("notes/")
    for hit in corpus.search("oil change interval", k=3):
        print(hit.score, hit.title, hit.text)

    pipeline = ken.Pipeline(corpus=corpus)
    print(pipeline.ask("When is the next oil change?"))

Keywords that a function does not name itself are settings: those of `ken.toml`, with the same names and values.
"""

from ._errors import KenError
from ._ken import VERSION as __version__
from .corpus import Corpus
from .measures import calibrate, card, compare, label_mastery, probe, prune, prune_report, study, tune
from .model import Embedder, Model
from .pipeline import Pipeline
from .report import Report
from .results import Answer, Citation, Document, Generation, Hit, Known, Retrieved, Score

__all__ = [
    "Answer",
    "Citation",
    "Corpus",
    "Document",
    "Embedder",
    "Generation",
    "Hit",
    "KenError",
    "Known",
    "Model",
    "Pipeline",
    "Report",
    "Retrieved",
    "Score",
    "__version__",
    "calibrate",
    "card",
    "compare",
    "label_mastery",
    "probe",
    "prune",
    "prune_report",
    "study",
    "tune",
]
