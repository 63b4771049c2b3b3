//! One run over files: the stages, side by side, and what came of them.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::thread::{self, ScopedJoinHandle};

use ken_corpus::{EmbedderIdentity, Settings, Sharding, Writer};
use ken_documents::{Documents, ReadError};
use ken_index::DenseLayout;
use ken_language::Embedder;

use crate::merge::layout;
use crate::split::Split;
use crate::stages::{self, BATCH_PASSAGES, Handed, PUBLISH_PASSAGES, Progress, Shelf};
use crate::{Cut, IngestError};

/// Documents read ahead. Few, since a document can be of any length.
const READ_AHEAD: usize = 4;

/// Batches cut ahead.
const CUT_AHEAD: usize = 1;

/// Batches that may wait to be written: as many as are embedded while a segment is published.
const WRITE_BEHIND: usize = PUBLISH_PASSAGES / BATCH_PASSAGES;

/// What to take in, and how.
pub struct Ingest<'a> {
    /// The documents, of which none was read yet.
    pub documents: Documents,
    /// The corpus folder; made where there is none.
    pub corpus: &'a Path,
    /// How documents are cut.
    pub cut: Cut,
    /// Embeds the passages.
    pub embedder: &'a dyn Embedder,
    /// What the embedder is called, so that it can be found again to embed queries.
    pub embedder_reference: &'a str,
    /// How documents are split; `None` for what the corpus has, or one shard where it is new.
    pub sharding: Option<Sharding>,
    /// How vectors are stored and searched; `None` for what the corpus has, or by size where it is
    /// new.
    pub dense: Option<DenseLayout>,
    /// Takes in the documents of this shard only, counted from 0. Runs for the other shards have to
    /// read the same documents in the same order, each into a corpus of its own.
    pub only_shard: Option<u32>,
    /// Is told of each document that cannot be read, which is left out; `None` where the first of
    /// them is to end the run.
    pub on_broken: Option<&'a (dyn Fn(&ReadError) + Sync)>,
}

/// What a run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Documents that were not known.
    pub added: usize,
    /// Documents whose passages were replaced.
    pub replaced: usize,
    /// Documents that were there as they are.
    pub unchanged: usize,
    /// Documents that could not be read and were left out.
    pub broken: usize,
    /// Documents that belong into shards that are not taken in.
    pub other_shards: usize,
    /// Passages written.
    pub passages: usize,
    /// Those of them that had a vector already, since their text did not change.
    pub reused: usize,
    /// Passages longer than the embedder reads, so that their end does not count in dense search.
    pub longer_than_embedder: usize,
    /// The generation published last; 0 where there is none.
    pub generation: u64,
    /// Whether the run was broken off. Running it again takes in the rest.
    pub interrupted: bool,
}

/// Takes in the documents that are new or changed. `progress` is called after each batch of
/// passages, on the calling thread; `cancel` is looked at between documents and between batches, while
/// a long document is cut, while segments are merged, and by the reading of documents where it is
/// also their flag.
///
/// # Errors
/// The first document that cannot be read, cut, embedded or written ends the run; what was
/// published before stays.
///
/// # Panics
/// Where the embedder does; nothing is left running.
pub fn ingest(
    run: Ingest<'_>,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Report, IngestError> {
    let writer = open(&run)?;
    let split = Split::new(&writer, run.only_shard)?;
    let layout = layout(&writer)?;
    let Ingest {
        documents,
        cut,
        embedder,
        on_broken,
        ..
    } = run;
    let (known, dimensions) = (writer.known(), embedder.dimensions());
    let published = known.clone();
    thread::scope(|scope| {
        let (found, to_cut) = sync_channel(READ_AHEAD);
        let (ready, to_embed) = sync_channel(CUT_AHEAD);
        let (done, to_publish) = sync_channel(WRITE_BEHIND);
        let reader =
            scope.spawn(move || stages::read(documents, &known, split, on_broken, cancel, &found));
        let cutter =
            scope.spawn(move || stages::cut(to_cut, cut, embedder, &published, cancel, &ready));
        let shelf = Shelf::new(writer, dimensions, layout, cancel);
        let publisher = scope.spawn(move || shelf.fill(to_publish));

        let stopped = stages::embed(to_embed, embedder, cancel, &done, progress);
        let cutting_stopped = joined(cutter);
        let seen = joined(reader);
        if stopped.is_ok() {
            // Where nobody listens, the publisher has an error to tell.
            let _ = done.send(Handed::End);
        }
        drop(done);
        // What is written was read earlier than what is embedded, and so are the errors.
        let written = joined(publisher)?;
        let report = Report {
            added: written.added,
            replaced: written.replaced,
            unchanged: seen.unchanged,
            broken: seen.broken,
            other_shards: seen.other_shards,
            passages: written.passages,
            reused: written.reused,
            longer_than_embedder: written.longer,
            generation: written.generation,
            interrupted: stopped? || cutting_stopped || seen.interrupted,
        };
        progress(Progress {
            read: seen.read,
            documents: seen.documents,
            passages: report.passages,
        });
        Ok(report)
    })
}

fn open(run: &Ingest<'_>) -> Result<Writer, IngestError> {
    let known = Settings::of(run.corpus)?;
    let known = known.map(|known| (known.sharding, known.dense));
    let (sharding, dense) = known.unwrap_or_else(|| {
        let dense = DenseLayout::default();
        (Sharding::default(), dense.to_string())
    });
    let settings = Settings {
        sharding: run.sharding.unwrap_or(sharding),
        dense: run.dense.map_or(dense, |dense| dense.to_string()),
        embedder: EmbedderIdentity {
            reference: run.embedder_reference.to_owned(),
            fingerprint: run.embedder.fingerprint().to_owned(),
            dimensions: run.embedder.dimensions(),
        },
        segmentation: run.cut.to_string(),
    };
    Ok(Writer::create(run.corpus, settings)?)
}

/// What a stage returned; its panic goes on here.
fn joined<T>(stage: ScopedJoinHandle<'_, T>) -> T {
    stage.join().unwrap_or_else(|panic| resume_unwind(panic))
}
