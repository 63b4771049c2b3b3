//! The changes that a run would make, without embedding or writing anything.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Corpus, ListedDocument};
use ken_documents::{Documents, ReadError, ReadIds};

use crate::IngestError;
use crate::sync::{Origins, is_missing, other_file};

/// The ids of the documents that a run would change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Those that would be added.
    pub added: Vec<String>,
    /// Those that would be replaced.
    pub replaced: Vec<String>,
    /// Those that were moved: the old id, the new one.
    pub moved: Vec<(String, String)>,
    /// Those that would be deleted.
    pub deleted: Vec<String>,
    /// How many would stay unchanged.
    pub unchanged: usize,
    /// How many could not be read; then none would be deleted.
    pub broken: usize,
    /// Whether it was stopped; then it is not complete.
    pub interrupted: bool,
}

/// The changes that [`ingest`](crate::ingest()) would make in the corpus folder, which need not exist. `sync` and
/// `on_broken` are as in [`Ingest`](crate::Ingest).
///
/// # Errors
/// A damaged corpus; the first document that cannot be read, unless `on_broken` takes it.
pub fn preview(
    mut documents: Documents,
    corpus: &Path,
    sync: &[PathBuf],
    on_broken: Option<&(dyn Fn(&ReadError) + Sync)>,
    cancel: &AtomicBool,
) -> Result<Preview, IngestError> {
    let published = published_documents(corpus)?;
    let origins = Origins::of(sync);
    let mut moves = origins.moves(published.values());
    let unreadable = documents.has_unreadable();
    let mut preview = Preview::default();
    loop {
        if cancel.load(Ordering::Relaxed) {
            preview.interrupted = true;
            break;
        }
        let read = match documents.next() {
            None => break,
            Some(Err(ReadError::Stopped)) => {
                preview.interrupted = true;
                break;
            }
            Some(read) => read,
        };
        let read = read.and_then(|document| {
            let known = published.get(&document.id);
            let changed = known.filter(|known| known.digest != document.digest_text());
            let origin = changed.and_then(|known| known.origin.as_deref());
            other_file(&document, origin).map_or(Ok(document), Err)
        });
        let document = match read {
            Ok(document) => document,
            Err(error) => match on_broken {
                None => return Err(error.into()),
                Some(report) => {
                    report(&error);
                    preview.broken += 1;
                    continue;
                }
            },
        };
        match published.get(&document.id) {
            Some(known)
                if known.digest == document.digest_text()
                    && !moves.follow(&document, || Ok(known.origin.clone()))? =>
            {
                preview.unchanged += 1;
            }
            Some(_) => preview.replaced.push(document.id),
            None => match moves.take(|| document.digest_text()) {
                Some(old) => preview.moved.push((old, document.id)),
                None => preview.added.push(document.id),
            },
        }
    }
    let ids = documents.into_ids();
    let is_read = !unreadable && preview.broken == 0 && !ids.has_vanished();
    if !preview.interrupted && is_read {
        preview.deleted = deleted(published, &origins, &ids, &preview.moved);
    }
    Ok(preview)
}

/// The documents of the corpus in a folder by their ids, if there is one.
fn published_documents(corpus: &Path) -> Result<HashMap<String, ListedDocument>, IngestError> {
    let mut published = HashMap::new();
    if Corpus::exists(corpus) {
        for document in Corpus::open(corpus)?.documents(None, false) {
            let document = document?;
            published.insert(document.id.clone(), document);
        }
    }
    Ok(published)
}

/// The ids of the documents of `origins` that are missing among those read and were not moved, in order.
fn deleted(
    published: HashMap<String, ListedDocument>,
    origins: &Origins,
    read: &ReadIds,
    moved: &[(String, String)],
) -> Vec<String> {
    let moved: HashSet<&str> = moved.iter().map(|(old, _)| old.as_str()).collect();
    let mut deleted: Vec<String> = published
        .into_values()
        .filter(|document| origins.hold(document) && is_missing(document, read))
        .map(|document| document.id)
        .filter(|id| !moved.contains(id.as_str()))
        .collect();
    deleted.sort_unstable();
    deleted
}
