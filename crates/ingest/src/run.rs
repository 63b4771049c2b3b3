//! One run over files: the stages, running concurrently, and the report.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::thread::{self, ScopedJoinHandle};

use ken_corpus::{EmbedderIdentity, Settings, Sharding, Writer};
use ken_documents::{Documents, ReadError};
use ken_index::DenseLayout;
use ken_language::Embedder;

use crate::merge::layout;
use crate::report::Report;
use crate::split::Split;
use crate::stages::{self, BATCH_PASSAGES, Embedded, PUBLISH_PASSAGES, Progress, Publisher};
use crate::sync::Origins;
use crate::{Cut, IngestError};

/// Documents read ahead: few, since a document can have any length.
const READ_AHEAD: usize = 4;

/// Batches cut ahead.
const CUT_AHEAD: usize = 1;

/// Batches that may wait to be written: as many as are embedded while a segment is published.
const WRITE_BEHIND: usize = PUBLISH_PASSAGES / BATCH_PASSAGES;

/// The documents to ingest, and the settings.
pub struct Ingest<'a> {
    /// The documents, none of them read yet.
    pub documents: Documents,
    /// The corpus folder; created if missing.
    pub corpus: &'a Path,
    /// How documents are cut.
    pub cut: Cut,
    /// Embeds the passages.
    pub embedder: &'a dyn Embedder,
    /// The embedder's name, by which searches find it to embed queries.
    pub embedder_reference: &'a str,
    /// How documents are split; `None` for the corpus's sharding, or one shard if it is new.
    pub sharding: Option<Sharding>,
    /// How vectors are stored and searched; `None` for the corpus's layout, or `auto` if it is new.
    pub dense: Option<DenseLayout>,
    /// Ingests the documents of this shard only, counted from 0. Runs for the other shards have to
    /// read the same documents in the same order, each into a corpus of its own.
    pub only_shard: Option<u32>,
    /// Folders and files whose documents are deleted from the corpus if they were not read again; none are deleted if
    /// anything could not be read. Documents that only moved keep their vectors.
    pub sync: &'a [PathBuf],
    /// Called with the error of each document that cannot be read, which is skipped; `None` to end
    /// the run at the first.
    pub on_broken: Option<&'a (dyn Fn(&ReadError) + Sync)>,
}

impl<'a> Ingest<'a> {
    /// Documents for a corpus: cut as usual, with nothing deleted, and ended by the first document that cannot be read.
    pub fn new(documents: Documents, corpus: &'a Path, embedder: &'a dyn Embedder) -> Self {
        Self {
            documents,
            corpus,
            cut: Cut::Auto,
            embedder,
            embedder_reference: embedder.fingerprint(),
            sharding: None,
            dense: None,
            only_shard: None,
            sync: &[],
            on_broken: None,
        }
    }
}

/// Ingests the documents that are new or changed. `progress` is called after each batch of
/// passages, on the calling thread; `cancel` is checked between documents and between batches,
/// while a long document is cut, while segments are merged, and while documents are read if it is
/// also their stop flag.
///
/// # Errors
/// The first document that cannot be read, cut, embedded or written ends the run; generations
/// published before stay.
///
/// # Panics
/// If the embedder panics; no thread is left running.
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
        only_shard,
        on_broken,
        sync,
        ..
    } = run;
    let (known, dimensions) = (writer.known(), embedder.dimensions());
    let origins = Origins::of(sync);
    let moves = origins.movable(&known)?;
    let unreadable = documents.has_unreadable();
    let published = known.clone();
    thread::scope(|scope| {
        let (read, to_cut) = sync_channel(READ_AHEAD);
        let (ready, to_embed) = sync_channel(CUT_AHEAD);
        let (done, to_publish) = sync_channel(WRITE_BEHIND);
        let reader = scope
            .spawn(move || stages::read(documents, &known, split, moves, on_broken, cancel, &read));
        let cutter =
            scope.spawn(move || stages::cut(to_cut, cut, embedder, &published, cancel, &ready));
        let publisher = Publisher::new(writer, dimensions, layout, cancel);
        let publisher = scope.spawn(move || publisher.run(to_publish));

        let stopped = stages::embed(to_embed, embedder, cancel, &done, progress);
        let cutting_stopped = joined(cutter);
        let (seen, ids) = joined(reader);
        if stopped.is_ok() {
            // If the receiver is gone, the publisher has an error to report.
            let _ = done.send(Embedded::End);
        }
        drop(done);
        // Documents that are being written were read before those being embedded, so their errors come first.
        let (written, mut writer) = joined(publisher)?;
        let mut report = Report {
            unchanged: seen.unchanged,
            broken: seen.broken,
            other_shards: seen.other_shards,
            interrupted: stopped? || cutting_stopped || seen.interrupted,
            ..written
        };
        let is_read = !unreadable && report.broken == 0 && !ids.has_vanished();
        let is_whole = !report.interrupted && is_read;
        if is_whole {
            let missing = origins.missing(&writer.known(), &ids)?;
            if !missing.is_empty() {
                report.deleted = missing.len().saturating_sub(report.moved);
                report.generation = writer.delete(&missing)?;
            }
        }
        if only_shard.is_some() && !report.interrupted {
            // A shard without documents is a part to join, too.
            report.generation = writer.publish_empty()?;
        }
        report.not_synced = !sync.is_empty() && !is_whole;
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
        embedder: EmbedderIdentity::new(
            run.embedder_reference,
            run.embedder.fingerprint(),
            run.embedder.dimensions(),
        ),
        segmentation: run.cut.to_string(),
    };
    Ok(Writer::create(run.corpus, settings)?)
}

/// The result of a stage; resumes its panic.
fn joined<T>(stage: ScopedJoinHandle<'_, T>) -> T {
    stage.join().unwrap_or_else(|panic| resume_unwind(panic))
}
