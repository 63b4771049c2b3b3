"""A corpus: ingests documents, and finds passages."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _ken
from ._async import in_thread
from ._errors import KenError
from ._progress import Progress, callback
from ._optional import matrix
from ._records import records
from .results import Document, Hit

if TYPE_CHECKING:
    import numpy

PathLike = Union[str, "os.PathLike[str]"]

#: How many documents a page of the listing has.
_PAGE = 1000


class Corpus:
    """A corpus: passages with their index, in a folder. The first ingest creates the folder.

    Threads may share it. A search sees the generation that was current when this object opened or changed the
    corpus; `refresh` switches to what other processes have published since.

    Args:
        path: The folder, or `milvus://HOST:PORT/COLLECTION`, which can only be searched.
        config: A settings file to read instead of `ken.toml`.
        **settings: Settings of `ken.toml`, such as `embedder`, `segment`, `mode`, `k`, `rerank`, `recall`.
    """

    def __init__(self, path: PathLike, *, config: PathLike | None = None, **settings: Any) -> None:
        self._corpus = _ken.Corpus({"corpus": path, **settings}, config)

    @classmethod
    def open(cls, path: PathLike, **settings: Any) -> Corpus:
        """Opens an existing corpus."""
        corpus = cls(path, **settings)
        if not corpus.exists():
            corpus.info()  # which says what is wrong
        return corpus

    @classmethod
    def create(cls, path: PathLike, **settings: Any) -> Corpus:
        """A corpus that does not exist yet."""
        corpus = cls(path, **settings)
        if corpus.exists():
            raise KenError(f"there is a corpus at {corpus.address}", "exists", "open it, or name another folder")
        return corpus

    @property
    def address(self) -> str:
        """The folder, or the address elsewhere."""
        return self._corpus.address

    def exists(self) -> bool:
        """Whether the corpus exists: whether documents were ingested."""
        return self._corpus.exists()

    def info(self) -> dict[str, Any]:
        """Its counts: `generation`, `documents`, `passages`, `pruned`, `shards`, `bytes`, `embedder`, …"""
        return _object(self._corpus.info())

    def ingest(
        self,
        source: Any,
        *,
        fields: Mapping[str, str] | None = None,
        format: str | None = None,
        encoding: str | None = None,
        html: str | None = None,
        base_url: str | None = None,
        follow_links: bool = False,
        exclude: Sequence[str] = (),
        sync: bool = False,
        skip_broken: bool = False,
        dense: str | None = None,
        shards: int | None = None,
        shard_seed: int = 0,
        only_shard: int | None = None,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Ingests new and changed documents. Published documents stay, whatever happens later.

        Args:
            source: A file or folder, a list of these; or records: an iterable of mappings or of (id, text) pairs,
                a data frame of pandas or polars, an Arrow table or anything with Arrow's interface, a data set of
                Hugging Face. A record has an `id`, a `text` or `contents`, and maybe a `title`; everything else
                becomes metadata.
            fields: Other names of these: `{"text": "body"}`. `{"id": ""}` numbers the records.
            format: The format of the files, instead of that of their extensions.
            encoding: The encoding of all text; without it, that of each file is detected.
            html: The part of HTML pages to read: `main` or `all`.
            base_url: Where a folder's files are on the web.
            follow_links: Follows links in folders, wherever they lead.
            exclude: Patterns of files and folders to leave out, as in a `.gitignore` file, which holds as well.
            sync: Deletes documents whose files are gone from these paths.
            skip_broken: Logs documents that cannot be read and goes on, instead of raising an error.
            dense: How vectors are stored and searched, such as `flat`, `hnsw` or `disk`; of a new corpus.
            shards: The number of shards of a new corpus, split by `shard_seed`. `only_shard` ingests one of them.
            progress: True for a bar by tqdm, or a function of the work's name, the amount done, and the total.

        Returns:
            The counts of documents: `added`, `replaced`, `unchanged`, `deleted`, `broken`, `passages`,
            `generation`, …
        """
        paths, rows = _split(source)
        reading = {
            "format": format,
            "encoding": encoding,
            "fields": [f"{role}={name}" for role, name in (fields or {}).items()],
            "html": html,
            "base_url": base_url,
            "follow_links": follow_links,
            "exclude": list(exclude),
        }
        taking = {
            "dense": dense,
            "shards": shards,
            "shard_seed": shard_seed,
            "only_shard": only_shard,
            "sync": sync,
            "skip_broken": skip_broken,
        }
        return _object(self._corpus.ingest(paths, rows, reading, taking, callback(progress)))

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        mode: str | None = None,
        filter: str | Sequence[str] | None = None,
    ) -> list[Hit]:
        """The passages that fit a query, best first.

        Args:
            query: The query.
            k: How many passages; by default as in the settings, or 10.
            mode: `dense` (by meaning), `lexical` (by words) or `hybrid` (both, the default).
            filter: A condition on the documents' metadata, such as `year >= 2020 AND lang IN (de, fr)`; if
                there are several, all have to hold.
        """
        return self._search([query], k, mode, filter)[0]

    def search_many(
        self,
        queries: Iterable[str],
        k: int | None = None,
        *,
        mode: str | None = None,
        filter: str | Sequence[str] | None = None,
    ) -> list[list[Hit]]:
        """As `search`, for many queries, which are embedded at once: `[queries][hits]`."""
        if isinstance(queries, str):
            raise TypeError("search_many() takes several queries; search() takes one")
        return self._search(list(queries), k, mode, filter)

    async def asearch(self, query: str, k: int | None = None, **options: Any) -> list[Hit]:
        """As `search`, without blocking the event loop."""
        return (await self.asearch_many([query], k, **options))[0]

    async def asearch_many(
        self,
        queries: Iterable[str],
        k: int | None = None,
        *,
        mode: str | None = None,
        filter: str | Sequence[str] | None = None,
    ) -> list[list[Hit]]:
        """As `search_many`, without blocking the event loop."""
        return await in_thread(self._search, list(queries), k, mode, filter)

    def documents(self) -> Iterator[Document]:
        """The documents, in the order in which they were ingested."""
        after = None
        while page := json.loads(self._corpus.documents(after, _PAGE)):
            yield from map(Document.of, page)
            after = page[-1]["id"]

    def delete(self, ids: str | Iterable[str]) -> dict[str, Any]:
        """Deletes documents by their ids. Returns the counts."""
        return _object(self._corpus.delete([ids] if isinstance(ids, str) else list(ids)))

    def history(self) -> list[dict[str, Any]]:
        """The stored generations, oldest first: `generation`, `created_unix_s`, `change`, …"""
        past: list[dict[str, Any]] = json.loads(self._corpus.history())
        return past

    def rollback(self, generation: int) -> dict[str, Any]:
        """Publishes an earlier generation again. Returns the counts."""
        return _object(self._corpus.rollback(generation))

    def refresh(self) -> None:
        """Switches to the current generation."""
        self._corpus.refresh()

    def vectors(self) -> tuple[list[str], numpy.ndarray]:
        """The ids of all passages that are searched, and their vectors: 32-bit floats of shape
        `(passages, dimensions)`, of length 1."""
        ids, data, dimensions = self._corpus.vectors()
        return ids, matrix(data, dimensions)

    def __len__(self) -> int:
        """How many passages are searched; 0 before documents are ingested."""
        return self.info()["passages"] if self.exists() else 0

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        if not self.exists():
            return f"ken.Corpus({self.address!r}, new)"
        info = self.info()
        return (
            f"ken.Corpus({self.address!r}, {info['documents']} documents, {info['passages']} passages, "
            f"generation {info['generation']})"
        )

    def _search(
        self,
        queries: list[str],
        k: int | None,
        mode: str | None,
        filter: str | Sequence[str] | None,
        stop: _ken.Stop | None = None,
    ) -> list[list[Hit]]:
        filters = [filter] if isinstance(filter, str) else list(filter or ())
        results = self._corpus.search(queries, k, mode, filters, None, stop)
        return [[Hit.of(hit) for hit in hits] for hits in json.loads(results)]


def _split(source: Any) -> tuple[list[PathLike], Iterator[str] | None]:
    """Splits a source into paths and records, of which it has one kind."""
    if isinstance(source, (str, os.PathLike)):
        return [source], None
    if isinstance(source, (list, tuple)) and source and all(isinstance(path, (str, os.PathLike)) for path in source):
        return list(source), None
    return [], records(source)


def _object(text: str) -> dict[str, Any]:
    """Parses a JSON object."""
    value: dict[str, Any] = json.loads(text)
    return value
