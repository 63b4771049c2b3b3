//! The one writer of a corpus. Whatever changes a corpus becomes a new generation here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::admission::{check_settings, lock, publish_interrupted, refuse_foreign_folder};
use super::collect::{collect, remove_unpublished};
use super::error::CorpusError;
use super::known::Known;
use super::layout;
use super::manifest::{self, Change, FORMAT, Manifest, SegmentManifest, Settings};
use super::marks::{Marks, PrunedMark};
use super::segment::Segment;
use super::staged::StagedSegment;
use super::verify;
use crate::passage::PassageId;

/// A passage that is to be pruned, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneMark {
    /// The passage.
    pub passage_id: PassageId,
    /// What it was judged by.
    pub score: f64,
    /// Why.
    pub reason: String,
}

/// A passage that is to be pruned by its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlaceMark {
    /// The number of the segment among those of the published generation, from 0.
    pub segment: usize,
    /// The passage in it.
    pub ordinal: usize,
    /// What it was judged by.
    pub score: f64,
}

/// A segment of another corpus, whose files stand in the staging folder.
#[derive(Debug)]
pub(super) struct Adopted {
    pub(super) dir: PathBuf,
    pub(super) described: SegmentManifest,
    pub(super) marks: Marks,
}

/// What comes to the published segments.
enum Incoming {
    Staged(StagedSegment),
    Adopted(Adopted),
}

/// Exclusive access to write a corpus; dropping it gives the access back.
#[derive(Debug)]
pub struct Writer {
    pub(super) dir: PathBuf,
    pub(super) settings: Settings,
    /// The published generation; number 0 and no segments before the first.
    pub(super) number: u64,
    /// The published generation when this writer began.
    pub(super) base: u64,
    pub(super) segments: Vec<SegmentManifest>,
    /// The same segments, opened.
    pub(super) known: Known,
    pub(super) stages: u64,
    /// What is published cannot be read, and is left behind.
    pub(super) is_recovering: bool,
    /// Whether the last publication is known to be on the disk.
    pub(super) is_durable: bool,
    /// Locked as long as it is open.
    pub(super) _lock: File,
}

impl Writer {
    /// Opens a corpus for writing, creating the folder where there is none, and sweeps away what
    /// a killed writer left. A first generation that was sealed when its writer was killed is
    /// published.
    ///
    /// # Errors
    /// [`CorpusError::Locked`] where another writer is at work; [`CorpusError::OtherEmbedder`],
    /// [`CorpusError::OtherSegmentation`], [`CorpusError::OtherSharding`] or
    /// [`CorpusError::OtherDense`] where the corpus was made with other settings;
    /// [`CorpusError::FolderInUse`] where the folder holds something else;
    /// [`CorpusError::CurrentLost`] where it holds generations but no sign of which is published;
    /// and what [`crate::Corpus::open`] may return.
    pub fn create(dir: &Path, settings: Settings) -> Result<Self, CorpusError> {
        ken_storage::create_dir_all(dir)?;
        refuse_foreign_folder(dir)?;
        let lock = lock(dir)?;
        let current = match manifest::current(dir)? {
            None => publish_interrupted(dir)?,
            current => current,
        };
        if let Some(current) = current {
            let manifest = manifest::read_current(dir, &current)?;
            check_settings(dir, &manifest.settings, &settings)?;
            return Self::resume(dir, manifest, lock);
        }
        Self {
            dir: dir.to_owned(),
            settings,
            number: 0,
            base: 0,
            segments: Vec::new(),
            known: Known::default(),
            stages: 0,
            is_recovering: false,
            is_durable: true,
            _lock: lock,
        }
        .swept()
    }

    /// Opens a corpus that is there, with the settings that it has.
    ///
    /// # Errors
    /// [`CorpusError::NotACorpus`], [`CorpusError::Locked`], [`CorpusError::CurrentLost`], and what
    /// [`crate::Corpus::open`] may return.
    pub fn open(dir: &Path) -> Result<Self, CorpusError> {
        // Before the lock makes a file.
        manifest::published(dir)?;
        let lock = lock(dir)?;
        let manifest = manifest::read_current(dir, &manifest::published(dir)?)?;
        Self::resume(dir, manifest, lock)
    }

    /// Goes on from the current generation.
    fn resume(dir: &Path, manifest: Manifest, lock: File) -> Result<Self, CorpusError> {
        manifest::refuse_newer(dir, manifest.number)?;
        let segments = manifest
            .segments
            .iter()
            .map(|segment| Segment::open(dir, segment).map(Arc::new))
            .collect::<Result<_, _>>()?;
        let known = Known::default();
        known.replace(segments);
        Self {
            dir: dir.to_owned(),
            settings: manifest.settings,
            number: manifest.number,
            base: manifest.number,
            segments: manifest.segments,
            known,
            stages: 0,
            is_recovering: false,
            is_durable: true,
            _lock: lock,
        }
        .swept()
    }

    pub(super) fn swept(self) -> Result<Self, CorpusError> {
        // A writer that was killed may not have come to this, and what follows removes files.
        ken_storage::sync_dir(&self.dir)?;
        for folder in layout::generational(&self.dir) {
            ken_storage::create_dir_all(&folder)?;
        }
        ken_storage::remove(&layout::staging(&self.dir))?;
        remove_unpublished(&self.dir, self.number)?;
        Ok(self)
    }

    /// The number of the published generation; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.number
    }

    /// What all segments have in common.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is published; it follows every publication.
    #[must_use]
    pub fn known(&self) -> Known {
        self.known.clone()
    }

    /// Begins a new segment of a shard.
    ///
    /// # Errors
    /// [`CorpusError::Io`].
    pub fn stage(&mut self, shard: u32) -> Result<StagedSegment, CorpusError> {
        StagedSegment::create(self.staging_dir()?, shard)
    }

    /// A new folder for files that are not published yet.
    pub(super) fn staging_dir(&mut self) -> Result<PathBuf, CorpusError> {
        self.stages += 1;
        let dir = layout::staging(&self.dir).join(format!("{:08}", self.stages));
        ken_storage::create_dir_all(&dir)?;
        Ok(dir)
    }

    /// Publishes segments of other corpora beside those that are there.
    pub(super) fn adopt(&mut self, adopted: Vec<Adopted>) -> Result<u64, CorpusError> {
        let incoming = adopted.into_iter().map(Incoming::Adopted).collect();
        self.commit(
            Change::Ingest,
            self.segments.clone(),
            BTreeMap::new(),
            incoming,
        )
    }

    /// Publishes segments, of different shards, as a new generation and returns its number. Their
    /// documents replace published ones of the same ids. Empty stages change nothing.
    ///
    /// # Errors
    /// [`CorpusError::Io`]; the generation that was published before then still stands.
    pub fn publish(&mut self, staged: Vec<StagedSegment>) -> Result<u64, CorpusError> {
        let mut dead: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for id in staged.iter().flat_map(StagedSegment::ids) {
            if let Some(place) = self.known.place_of(id)? {
                dead.entry(place.segment)
                    .or_default()
                    .push(place.ordinal as u32);
            }
        }
        let marks = self.killed(dead)?;
        let incoming = full_stages(staged)?;
        self.commit(Change::Ingest, self.segments.clone(), marks, incoming)
    }

    /// Deletes documents.
    ///
    /// # Errors
    /// [`CorpusError::UnknownDocument`] where one is not there, before anything is changed;
    /// [`CorpusError::Io`].
    pub fn delete(&mut self, ids: &[String]) -> Result<u64, CorpusError> {
        let mut dead: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for id in ids {
            let place = self.known.place_of(id)?;
            let place = place.ok_or_else(|| CorpusError::UnknownDocument { id: id.clone() })?;
            dead.entry(place.segment)
                .or_default()
                .push(place.ordinal as u32);
        }
        let marks = self.killed(dead)?;
        self.commit(Change::Delete, self.segments.clone(), marks, Vec::new())
    }

    /// Marks passages as pruned. They stay where they are and are left out of every result.
    ///
    /// # Errors
    /// [`CorpusError::UnknownPassage`] where one is not there, before anything is changed;
    /// [`CorpusError::Io`].
    pub fn prune(&mut self, marks: Vec<PruneMark>) -> Result<u64, CorpusError> {
        let mut by_segment: BTreeMap<usize, Vec<PrunedMark>> = BTreeMap::new();
        for mark in marks {
            let place = self.known.passage_place(&mark.passage_id)?;
            let place = place.ok_or_else(|| CorpusError::UnknownPassage {
                id: mark.passage_id.to_string(),
            })?;
            by_segment
                .entry(place.segment)
                .or_default()
                .push(PrunedMark {
                    ordinal: place.ordinal as u32,
                    score: mark.score,
                    reason: mark.reason,
                });
        }
        let segments = self.known.segments();
        let marks = by_segment
            .into_iter()
            .map(|(segment, new)| {
                let mut marks = segments[segment].marks()?;
                marks.prune(new);
                Ok((segment, marks))
            })
            .collect::<Result<_, CorpusError>>()?;
        self.commit(Change::Prune, self.segments.clone(), marks, Vec::new())
    }

    /// Marks passages as pruned for a reason, and takes back every earlier mark whose reason begins
    /// as `reason_start` says, all in one generation. Other marks stay.
    ///
    /// # Errors
    /// [`CorpusError::Io`], and marks that cannot be read; the generation that was published before
    /// then still stands.
    pub fn prune_anew(
        &mut self,
        reason_start: &str,
        reason: &str,
        marks: &[PlaceMark],
    ) -> Result<u64, CorpusError> {
        let segments = self.known.segments();
        let mut by_segment: Vec<Vec<PrunedMark>> = vec![Vec::new(); segments.len()];
        for mark in marks {
            if let Some(own) = by_segment.get_mut(mark.segment) {
                own.push(PrunedMark {
                    ordinal: mark.ordinal as u32,
                    score: mark.score,
                    reason: reason.to_owned(),
                });
            }
        }
        let mut changed = BTreeMap::new();
        for ((number, segment), new) in segments.iter().enumerate().zip(by_segment) {
            let before = segment.marks()?;
            let mut after = before.clone();
            after
                .pruned
                .retain(|mark| !mark.reason.starts_with(reason_start));
            after.prune(new);
            if after != before {
                changed.insert(number, after);
            }
        }
        self.commit(Change::Prune, self.segments.clone(), changed, Vec::new())
    }

    /// Checks that published segments, given by their ids, hold what was published. Whoever writes
    /// them anew calls this first: damage that is copied gets a hash of its own, and is damage no
    /// more to any later check.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`], [`CorpusError::MissingFile`], [`CorpusError::Io`].
    pub fn check_segments(&self, ids: &[String]) -> Result<(), CorpusError> {
        let chosen = self.segments.iter().filter(|one| ids.contains(&one.id));
        for (path, file) in chosen.flat_map(|segment| manifest::files_of(&self.dir, segment)) {
            verify::check(&path, &file)?;
        }
        Ok(())
    }

    /// Puts staged segments, which hold the same documents, in the place of published ones, given
    /// by their ids. `change` says what for. [`Writer::check_segments`] comes before the copying.
    ///
    /// # Errors
    /// [`CorpusError::Io`]; the generation that was published before then still stands.
    pub fn replace(
        &mut self,
        change: Change,
        replaced: &[String],
        staged: Vec<StagedSegment>,
    ) -> Result<u64, CorpusError> {
        let mut segments = self.segments.clone();
        segments.retain(|segment| !replaced.contains(&segment.id));
        self.commit(change, segments, BTreeMap::new(), full_stages(staged)?)
    }

    /// Makes sure that no earlier generation can be returned to, and returns the current one.
    ///
    /// # Errors
    /// [`CorpusError::Io`].
    pub fn forget_history(&mut self) -> Result<u64, CorpusError> {
        let kept = manifest::numbers(&self.dir, self.number)?;
        if kept.iter().all(|&number| number == self.number) {
            return Ok(self.number);
        }
        let manifest = manifest::read(&self.dir, self.number)?;
        match manifest.change {
            Change::Compact => collect(&self.dir, &manifest).map(|()| self.number),
            _ => self.commit_segments(Change::Compact, self.segments.clone()),
        }
    }

    /// The marks of segments some of whose documents die.
    fn killed(
        &self,
        dead: BTreeMap<usize, Vec<u32>>,
    ) -> Result<BTreeMap<usize, Marks>, CorpusError> {
        let segments = self.known.segments();
        dead.into_iter()
            .map(|(segment, documents)| {
                let mut marks = segments[segment].marks()?;
                marks.kill(documents);
                Ok((segment, marks))
            })
            .collect()
    }

    /// Publishes a generation of segments that are there, as they are.
    pub(super) fn commit_segments(
        &mut self,
        change: Change,
        segments: Vec<SegmentManifest>,
    ) -> Result<u64, CorpusError> {
        self.commit(change, segments, BTreeMap::new(), Vec::new())
    }

    /// Publishes a generation of published segments, some with other marks than before, and of
    /// staged ones. Without any change there is no new generation.
    fn commit(
        &mut self,
        change: Change,
        mut segments: Vec<SegmentManifest>,
        marks: BTreeMap<usize, Marks>,
        incoming: Vec<Incoming>,
    ) -> Result<u64, CorpusError> {
        let unchanged = incoming.is_empty() && marks.is_empty() && segments == self.segments;
        if unchanged && change != Change::Compact {
            return Ok(self.number);
        }
        self.check_standing()?;
        let number = self.number + 1;
        // A publication that failed half-way may have left its files.
        remove_unpublished(&self.dir, self.number)?;
        for (at, marks) in marks {
            let name = layout::marks_name(number, &segments[at].id);
            segments[at].marks = match marks.is_empty() {
                true => None,
                false => Some(marks.write(&self.dir, &name)?),
            };
        }
        for incoming in incoming {
            segments.push(self.place(incoming, number)?);
        }
        ken_storage::sync_dir(&layout::segments(&self.dir))?;
        let opened = self.open_all(&mut segments)?;
        let manifest = Manifest {
            format: FORMAT,
            number,
            base: self.base,
            change,
            created_unix_s: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            settings: self.settings.clone(),
            segments,
        };
        let current = manifest::write(&self.dir, &manifest)?;
        manifest::publish(&self.dir, &current)?;

        // Readers may see the new generation from here on, whatever fails next.
        self.number = number;
        self.known.replace(opened);
        self.is_recovering = false;
        self.is_durable = false;
        self.segments.clone_from(&manifest.segments);
        self.make_durable()?;
        // What cannot be removed now is removed after the next publication.
        let _ = collect(&self.dir, &manifest);
        Ok(number)
    }

    /// Brings the last publication to the disk, without which nothing older may go.
    fn make_durable(&mut self) -> Result<(), CorpusError> {
        if !self.is_durable {
            ken_storage::sync_dir(&self.dir)?;
            self.is_durable = true;
        }
        Ok(())
    }

    /// Makes sure that what is published is what this writer published last, and is on the disk.
    fn check_standing(&mut self) -> Result<(), CorpusError> {
        self.make_durable()?;
        if self.is_recovering {
            return Ok(());
        }
        let found = manifest::current(&self.dir)?.map_or(0, |current| current.number);
        match found == self.number {
            true => Ok(()),
            false => Err(CorpusError::Overtaken {
                path: self.dir.clone(),
                expected: self.number,
                found,
            }),
        }
    }

    /// Brings a segment to its place and describes it.
    fn place(&self, incoming: Incoming, number: u64) -> Result<SegmentManifest, CorpusError> {
        let (dir, mut described, marks) = match incoming {
            Incoming::Staged(staged) => staged.describe()?,
            Incoming::Adopted(adopted) => {
                ken_storage::sync_tree(&adopted.dir)?;
                (adopted.dir, adopted.described, adopted.marks)
            }
        };
        let mut target = PathBuf::new();
        for part in 0.. {
            described.id = layout::segment_id(number, described.shard, part);
            target = layout::segment(&self.dir, &described.id);
            let exists = target.try_exists();
            if !exists.map_err(CorpusError::io("look at", &target))? {
                break;
            }
        }
        described.marks = match marks.is_empty() {
            true => None,
            false => {
                let name = layout::marks_name(number, &described.id);
                Some(marks.write(&self.dir, &name)?)
            }
        };
        fs::rename(&dir, &target).map_err(CorpusError::io("create", &target))?;
        Ok(described)
    }

    /// Opens the segments of the next generation and counts what lives in them. Those that stay as
    /// they are stay open.
    fn open_all(&self, segments: &mut [SegmentManifest]) -> Result<Vec<Arc<Segment>>, CorpusError> {
        let known = self.known.segments();
        let open = |segment: &mut SegmentManifest| {
            let same = known.iter().find(|known| known.id() == segment.id);
            if let Some(same) = same
                && self.segments.contains(segment)
            {
                return Ok(Arc::clone(same));
            }
            let opened = Segment::open(&self.dir, segment)?;
            segment.live_documents = opened.live_document_count() as u32;
            segment.live_passages = opened.live_passage_count() as u64;
            segment.pruned_passages = opened.pruned_count() as u64;
            Ok(Arc::new(opened))
        };
        segments.iter_mut().map(open).collect()
    }
}

/// The stages that hold something; the others are removed.
fn full_stages(staged: Vec<StagedSegment>) -> Result<Vec<Incoming>, CorpusError> {
    let (full, empty): (Vec<_>, Vec<_>) = staged
        .into_iter()
        .partition(|staged| staged.document_count() > 0);
    for staged in empty {
        ken_storage::remove(staged.dir())?;
    }
    let full = full.into_iter().map(Incoming::Staged);
    Ok(full.collect())
}
