//! Bringing a collection to the state of a corpus's generation.
//!
//! A push first deletes what the corpus no longer holds, then sends what is new or changed, segment by segment. The
//! collection records which segments it holds in full, and in what state, so that an interrupted push resumes and a
//! later one sends the changes only. The push withdraws an entry before it touches anything that the entry covers.
//! For a segment without an entry, it asks the server what it has.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ken_corpus::{Corpus, Part, Segment, Setting};
use ken_index::{RowBuffer, SegmentVectors};
use milvus::v2::prelude::{ConsistencyLevel, QueryRequest};

use super::collection::load;
use super::connection::{Connection, PUSH_ATTEMPTS, text};
use super::create::{complete_parts, create};
use super::identity::{Identity, resolved, state};
use super::literal::id_in;
use super::part_marks::mark_done;
use super::row::{Pruning, Row, digest};
use super::schema::{DIGEST, ID, partition};
use super::sweep::{of_shard, sweep};
use super::transfer::{count, flush, send};
use crate::error::MilvusError;
use crate::push_job::{Progress, PushJob, Pushed};

/// How many passages are compared at once with those on the server. Parts have every N-th batch of so many.
const COMPARED_AT_ONCE: usize = 256;

/// How often the record of complete segments is written.
const RECORDED_EVERY: Duration = Duration::from_secs(30);

/// Brings the collection to the state of the corpus. A missing collection is created, with the requested index.
/// Setting `stop` ends the push after its current batch; the next push resumes there. Of jobs that push parts, the one
/// that ends last completes the collection; a part that is pushed again resumes by comparing its passages.
///
/// # Errors
/// A server that does not answer, goes away or refuses; a collection that is not ken's, holds
/// another corpus or has another index; a passage that is too large; a damaged corpus;
/// [`MilvusError::PushOvertaken`]. The next push resumes where it failed.
pub fn push(
    job: PushJob<'_>,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    let connection = resolved(Connection::open(job.address, job.token, PUSH_ATTEMPTS)?)?;
    push_to(connection, job, None, progress, stop)
}

/// As [`fn@push`], by a connection. A collection that takes turns behind an alias has to have been made for that.
pub(crate) fn push_to(
    connection: Connection,
    job: PushJob<'_>,
    alias: Option<&str>,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    let (identity, before) = begin(&connection, job, alias)?;
    let mut push = Push {
        connection,
        corpus: job.corpus,
        part: job.part,
        pushed: Pushed {
            info: identity.info.clone(),
            sent: 0,
            deleted: 0,
            kept: 0,
            interrupted: false,
            missing: Vec::new(),
        },
        identity,
        before,
        total: 0,
        recorded: Instant::now(),
        progress,
        stop,
    };
    let segments = job.corpus.segments().iter().enumerate();
    push.total = segments
        .map(|(number, segment)| push.share(number, segment))
        .sum();
    push.pushed.interrupted = push.run()?;
    Ok(push.pushed)
}

/// The collection's record, which the push brings it to, and the one that it had; `None` if it was created just now.
fn begin(
    connection: &Connection,
    job: PushJob<'_>,
    alias: Option<&str>,
) -> Result<(Identity, Option<Identity>), MilvusError> {
    let existing = match Identity::read(connection)? {
        Some(existing) => existing,
        None => match create(connection, job.corpus, job.index.unwrap_or_default(), alias) {
            Ok(new) => return Ok((new, None)),
            // The job of another part may have created it meanwhile.
            Err(error) if job.part.is_some() => Identity::read(connection)?.ok_or(error)?,
            Err(error) => return Err(error),
        },
    };
    check(&existing, job, connection, alias)?;
    complete_parts(connection, &existing)?;
    load(connection)?;
    let identity = revised(existing.clone(), job.corpus)?;
    Ok((identity, Some(existing)))
}

/// Refuses a collection that holds another corpus, or is not the alias's.
pub(crate) fn check(
    existing: &Identity,
    job: PushJob<'_>,
    connection: &Connection,
    alias: Option<&str>,
) -> Result<(), MilvusError> {
    let address = &connection.address;
    if alias.is_some() && existing.alias.as_deref() != alias {
        return Err(MilvusError::CollectionInTheWay {
            address: address.to_string(),
            collection: connection.collection().to_owned(),
        });
    }
    let corpus = job.corpus;
    let difference = existing.settings.difference(corpus.settings());
    // A collection has an index of its own.
    if let Some((what, collection, own)) = difference.filter(|(what, ..)| *what != Setting::Dense) {
        return Err(MilvusError::OtherCorpus {
            address: address.to_string(),
            corpus_dir: corpus.dir().display().to_string(),
            what,
            collection,
            corpus: own,
        });
    }
    match job.index {
        Some(requested) if requested != existing.index => Err(MilvusError::OtherIndex {
            address: address.to_string(),
            found: existing.index,
            requested,
        }),
        _ => Ok(()),
    }
}

/// The record of a collection that holds one state of the corpus while it is brought to another: it
/// keeps the unchanged segments, and marks every shard where passages may be gone for sweeping.
fn revised(existing: Identity, corpus: &Corpus) -> Result<Identity, MilvusError> {
    let states: BTreeMap<&str, (u32, String)> = (corpus.segments().iter())
        .map(|segment| Ok((segment.id(), (segment.shard(), state(segment)?))))
        .collect::<Result<_, MilvusError>>()?;
    let all = || 0..corpus.settings().sharding.count;
    let mut unswept: BTreeSet<u32> = existing.unswept.iter().copied().collect();
    // Rows sent on the way to an abandoned state are not recorded.
    if !existing.complete && existing.fingerprint != corpus.fingerprint() {
        unswept.extend(all());
    }
    let mut segments = BTreeMap::new();
    for (id, recorded) in existing.segments {
        match states.get(id.as_str()) {
            Some((_, now)) if *now == recorded => {
                segments.insert(id, recorded);
            }
            Some((shard, _)) => {
                unswept.insert(*shard);
            }
            // Its passages may be in any shard.
            None => unswept.extend(all()),
        }
    }
    let is_other = existing.fingerprint != corpus.fingerprint();
    Ok(Identity {
        segments,
        unswept: unswept.into_iter().collect(),
        round: existing.round + u64::from(is_other),
        alias: existing.alias,
        ..Identity::new(corpus, existing.index, existing.lexical)
    })
}

/// How many passages of a segment a complete collection holds: those of its live documents, pruned or not.
fn whole(segment: &Segment) -> u64 {
    (segment.live_passage_count() + segment.pruned_count()) as u64
}

/// A push in progress.
struct Push<'a> {
    connection: Connection,
    corpus: &'a Corpus,
    /// None for all passages.
    part: Option<Part>,
    identity: Identity,
    /// The record that the collection had; `None` if it was just created, so that there is nothing to compare with.
    before: Option<Identity>,
    /// All passages that it pushes.
    total: u64,
    pushed: Pushed,
    /// When the record was last written.
    recorded: Instant,
    progress: &'a mut dyn FnMut(Progress),
    stop: &'a AtomicBool,
}

impl Push<'_> {
    /// Returns whether `stop` ended it early.
    fn run(&mut self) -> Result<bool, MilvusError> {
        self.identity.complete = self.is_up_to_date();
        if self.before.as_ref() != Some(&self.identity) {
            self.identity.write(&self.connection)?;
        }
        if self.identity.complete {
            self.pushed.kept = self.total;
            self.report();
            return Ok(false);
        }
        if !self.sweep()? || !self.send()? {
            self.record()?;
            return Ok(true);
        }
        if let Some(part) = self.part {
            self.pushed.missing = mark_done(part, &self.identity, &self.connection)?;
            if !self.pushed.missing.is_empty() {
                return Ok(false);
            }
            self.identity.hold_all(self.corpus)?;
        }
        self.flush_and_count()?;
        self.identity.complete = true;
        self.identity.write(&self.connection)?;
        Ok(false)
    }

    /// Whether the collection already holds all of the corpus and nothing else.
    fn is_up_to_date(&self) -> bool {
        let recorded = &self.identity.segments;
        let mut segments = self.corpus.segments().iter();
        self.before.as_ref().is_some_and(|before| before.complete)
            && self.identity.unswept.is_empty()
            && segments.all(|segment| recorded.contains_key(segment.id()))
    }

    /// Records what was done. A part leaves the record as it is, since jobs of others go by it: it compares again.
    fn record(&self) -> Result<(), MilvusError> {
        match self.part {
            None => self.identity.write(&self.connection),
            Some(_) => Ok(()),
        }
    }

    /// Whether the push has this one of all shards or batches.
    fn has(&self, index: usize) -> bool {
        self.part.is_none_or(|part| part.has(index))
    }

    /// How many passages of a segment the push has, by the segment's number. Segments begin with different parts, so
    /// that small ones are shared evenly.
    fn share(&self, number: usize, segment: &Segment) -> u64 {
        let passages = whole(segment);
        let batches = (0..passages).step_by(COMPARED_AT_ONCE).enumerate();
        let own = batches.filter(|(batch, _)| self.has(number + batch));
        let sizes = own.map(|(_, first)| (passages - first).min(COMPARED_AT_ONCE as u64));
        sizes.sum()
    }

    /// Deletes what is gone; false if `stop` ended it early.
    fn sweep(&mut self) -> Result<bool, MilvusError> {
        for shard in self.identity.unswept.clone() {
            if !self.has(shard as usize) {
                continue;
            }
            let (deleted, stopped) = sweep(&self.connection, self.corpus, shard, self.stop)?;
            self.pushed.deleted += deleted;
            if stopped {
                return Ok(false);
            }
            self.identity.unswept.retain(|unswept| *unswept != shard);
            self.record()?;
        }
        Ok(true)
    }

    /// Sends what is new or changed; false if `stop` ended it early.
    fn send(&mut self) -> Result<bool, MilvusError> {
        let corpus = self.corpus;
        for (number, segment) in corpus.segments().iter().enumerate() {
            if self.identity.segments.contains_key(segment.id()) {
                self.pushed.kept += self.share(number, segment);
                self.report();
                continue;
            }
            if !self.send_segment(number, segment)? {
                return Ok(false);
            }
            if self.part.is_some() {
                continue;
            }
            let segments = &mut self.identity.segments;
            segments.insert(segment.id().to_owned(), state(segment)?);
            if self.recorded.elapsed() >= RECORDED_EVERY {
                self.record()?;
                self.recorded = Instant::now();
            }
        }
        Ok(true)
    }

    fn send_segment(&mut self, number: usize, segment: &Segment) -> Result<bool, MilvusError> {
        let dimensions = self.corpus.embedder().dimensions;
        let vectors = SegmentVectors::open(segment.files(), segment.passage_count(), dimensions)?;
        let mut ordinals = Vec::new();
        for document in segment.live_documents() {
            ordinals.extend(segment.passages_of(document)?);
        }
        for (batch, ordinals) in ordinals.chunks(COMPARED_AT_ONCE).enumerate() {
            if !self.has(number + batch) {
                continue;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            self.send_batch(segment, &vectors, ordinals)?;
            self.report();
        }
        Ok(true)
    }

    fn send_batch(
        &mut self,
        segment: &Segment,
        vectors: &SegmentVectors,
        ordinals: &[usize],
    ) -> Result<(), MilvusError> {
        let partition = partition(segment.shard());
        let passages = ordinals.iter().map(|&ordinal| segment.passage(ordinal));
        let passages = passages.collect::<Result<Vec<_>, _>>()?;
        let existing = if self.before.is_none() {
            HashMap::new()
        } else {
            let ids = passages.iter().map(|passage| passage.id.as_str());
            self.existing(&partition, id_in(ids), passages.len())?
        };
        let mut buffer = RowBuffer::default();
        let mut added = Vec::new();
        let mut changed = Vec::new();
        for (&ordinal, passage) in ordinals.iter().zip(passages) {
            let vector = vectors.row(ordinal, &mut buffer)?;
            let pruning = match segment.is_live(ordinal) {
                true => Pruning::Live,
                false => Pruning::Listed,
            };
            let digest = digest(&passage, vector, pruning);
            let rows = match existing.get(passage.id.as_str()) {
                Some(existing_digest) if *existing_digest == digest => {
                    self.pushed.kept += 1;
                    continue;
                }
                Some(_) => &mut changed,
                None => &mut added,
            };
            rows.push(Row::of(
                passage,
                vector,
                pruning,
                digest,
                self.identity.lexical,
            )?);
        }
        for (rows, replace) in [(added, false), (changed, true)] {
            let numbers = self.identity.index.numbers;
            self.pushed.sent += send(&self.connection, &partition, rows, numbers, replace)?;
        }
        Ok(())
    }

    /// The digests that the server has of some passages, by id.
    fn existing(
        &self,
        partition: &str,
        filter: String,
        passages: usize,
    ) -> Result<HashMap<String, String>, MilvusError> {
        let request = QueryRequest::builder()
            .partition_names([partition])
            .filter(filter)
            .output_fields([ID, DIGEST])
            .limit(passages as i64)
            .consistency_level(ConsistencyLevel::Strong);
        self.connection.rows("compare passages", request, |row| {
            Ok((text(row, ID)?, text(row, DIGEST)?))
        })
    }

    fn report(&mut self) {
        (self.progress)(Progress {
            passages: self.pushed.kept + self.pushed.sent,
            passages_total: self.total,
        });
    }

    /// Makes the server index the rows that it was sent, and checks by count that it has all of them.
    fn flush_and_count(&mut self) -> Result<(), MilvusError> {
        flush(&self.connection)?;
        for shard in 0..self.corpus.settings().sharding.count {
            let segments = of_shard(self.corpus, shard);
            let (live, pruned) = segments.fold((0, 0), |(live, pruned), segment| {
                let more = (segment.live_passage_count(), segment.pruned_count());
                (live + more.0 as u64, pruned + more.1 as u64)
            });
            for (pruned, expected) in [(false, live), (true, pruned)] {
                let found = count(&self.connection, shard, pruned)?;
                if found != expected {
                    return Err(self.lost_rows(shard, expected, found)?);
                }
            }
        }
        Ok(())
    }

    /// Forgets the entries of a shard in which the server lost rows or has too many, so that the next push compares
    /// all of it.
    fn lost_rows(
        &mut self,
        shard: u32,
        expected: u64,
        found: u64,
    ) -> Result<MilvusError, MilvusError> {
        for segment in of_shard(self.corpus, shard) {
            self.identity.segments.remove(segment.id());
        }
        self.identity.unswept.push(shard);
        self.identity.round += 1;
        self.identity.write(&self.connection)?;
        Ok(MilvusError::RowsDiffer {
            address: self.connection.address.to_string(),
            partition: partition(shard),
            expected,
            found,
        })
    }
}
