//! Syncing a corpus with folders: the documents that it has from them, and those that are gone.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use ken_corpus::{CorpusError, Document, Known, ListedDocument};
use ken_documents::{ReadError, ReadIds, is_origin_gone, origin_of};

/// The folders and files that a corpus is synced with.
pub(crate) struct Origins(Vec<PathBuf>);

impl Origins {
    pub(crate) fn of(paths: &[PathBuf]) -> Self {
        let origins = paths.iter().filter_map(|path| origin_of(path));
        Self(origins.map(PathBuf::from).collect())
    }

    /// The published documents that were read from them and are kept: few, since all of a corpus could fill the memory.
    fn documents(
        &self,
        known: &Known,
        is_kept: impl Fn(&ListedDocument) -> bool,
    ) -> Result<Vec<ListedDocument>, CorpusError> {
        let mut documents = Vec::new();
        if self.0.is_empty() {
            return Ok(documents);
        }
        for segment in known.segments() {
            for document in segment.live_documents() {
                let document = segment.listed(document)?;
                let is_kept = self.hold(&document) && is_kept(&document);
                documents.extend(is_kept.then_some(document));
            }
        }
        Ok(documents)
    }

    /// Whether a document was read from them.
    pub(crate) fn hold(&self, document: &ListedDocument) -> bool {
        let origin = document.origin.as_deref().map(Path::new);
        origin.is_some_and(|origin| self.0.iter().any(|root| origin.starts_with(root)))
    }

    /// What may have moved of the published documents.
    pub(crate) fn movable(&self, known: &Known) -> Result<Moves, CorpusError> {
        Ok(self.moves(&self.documents(known, is_gone)?))
    }

    /// What may have moved of these documents: a new one with the contents of one whose file is gone.
    pub(crate) fn moves<'d>(
        &self,
        documents: impl IntoIterator<Item = &'d ListedDocument>,
    ) -> Moves {
        let gone = documents
            .into_iter()
            .filter(|document| self.hold(document) && is_gone(document));
        let mut former: HashMap<String, BTreeSet<String>> = HashMap::new();
        for ListedDocument { digest, id, .. } in gone {
            former.entry(digest.clone()).or_default().insert(id.clone());
        }
        Moves {
            former,
            syncs: !self.0.is_empty(),
        }
    }

    /// The ids of the documents that are gone.
    pub(crate) fn missing(
        &self,
        known: &Known,
        read: &ReadIds,
    ) -> Result<Vec<String>, CorpusError> {
        let missing = self.documents(known, |document| is_missing(document, read))?;
        Ok(missing.into_iter().map(|document| document.id).collect())
    }
}

/// Whether a document is gone: it was not read again, and its file is gone, was left out, or was read and no longer has it.
/// Files that this run does not read, such as those of a format that needed a command, keep their documents.
pub(crate) fn is_missing(document: &ListedDocument, read: &ReadIds) -> bool {
    let is_out = |origin: &String| read.has_read(origin) || read.has_excluded(origin);
    !read.contains(&document.id)
        && (is_gone(document) || document.origin.as_ref().is_some_and(is_out))
}

/// The error for a document that would replace one of another file that still exists, since two folders hold files with the
/// same name. Other records have ids of their own.
pub(crate) fn other_file(document: &Document, published: Option<&str>) -> Option<ReadError> {
    let (path, other) = document.origin.as_deref().zip(published)?;
    let is_named_by_file = !document.record || is_numbered(&document.id, path);
    let is_other = is_named_by_file && path != other && !is_origin_gone(other);
    is_other.then(|| ReadError::OtherFile {
        path: path.into(),
        other: other.into(),
        id: document.id.clone(),
    })
}

/// Whether a record of the file `origin` has its number there as the id, such as `products.csv:3`.
fn is_numbered(id: &str, origin: &str) -> bool {
    let Some((file, number)) = id.rsplit_once(':') else {
        return false;
    };
    // The file may be in an archive.
    let mut paths = Path::new(file).ancestors();
    let is_origin = |path: &Path| path != Path::new("") && Path::new(origin).ends_with(path);
    number.parse::<u64>().is_ok() && paths.any(is_origin)
}

/// Whether the file of a document is gone.
pub(crate) fn is_gone(document: &ListedDocument) -> bool {
    document.origin.as_deref().is_some_and(is_origin_gone)
}

/// What a run knows of documents that may have moved.
pub(crate) struct Moves {
    /// The ids of documents whose files are gone, by the digests of their contents, which several may share.
    former: HashMap<String, BTreeSet<String>>,
    /// Whether the run is a sync.
    syncs: bool,
}

impl Moves {
    /// The former id of a new document with this digest. Each is given once.
    pub(crate) fn take(&mut self, digest: impl FnOnce() -> String) -> Option<String> {
        match self.former.is_empty() {
            true => None,
            false => self.former.get_mut(&digest())?.pop_first(),
        }
    }

    /// Whether an unchanged document of the same id is written again for its new file, since the `published` one is gone,
    /// as after its folder was renamed. Otherwise no later sync would know that it belongs to this folder.
    pub(crate) fn follow(
        &self,
        document: &Document,
        published: impl FnOnce() -> Result<Option<String>, CorpusError>,
    ) -> Result<bool, CorpusError> {
        let Some(path) = document.origin.as_deref().filter(|_| self.syncs) else {
            return Ok(false);
        };
        let former = published()?;
        Ok(former.is_some_and(|former| former != path && is_origin_gone(&former)))
    }
}
