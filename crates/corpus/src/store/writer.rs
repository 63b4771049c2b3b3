//! The one writer of a corpus. Every change becomes a new generation here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::admission::{check_settings, lock, publish_interrupted, refuse_foreign_folder};
use super::collect::{collect, remove_unpublished};
use super::error::CorpusError;
use super::layout;
use super::manifest::{self, Change, FORMAT, Manifest, SegmentManifest};
use super::marks::{Marks, PrunedMark};
use super::prune_mark::{PlaceMark, PruneMark};
use super::published_documents::{Known, Place};
use super::scores::Scores;
use super::segment::Segment;
use super::settings::Settings;
use super::staged_segment::StagedSegment;
use super::verify;
use crate::passage::PassageId;

/// A segment of another corpus, whose files are in the staging folder.
#[derive(Debug)]
pub(super) struct Adopted {
    pub(super) dir: PathBuf,
    pub(super) described: SegmentManifest,
    pub(super) marks: Marks,
    pub(super) scores: Scores,
}

/// A segment to publish beside the current ones.
enum Incoming {
    Staged(StagedSegment),
    Adopted(Adopted),
}

/// Exclusive write access to a corpus, until it is dropped.
#[derive(Debug)]
pub struct Writer {
    pub(super) dir: PathBuf,
    pub(super) settings: Settings,
    /// The number of the published generation; 0, with no segments, before the first.
    pub(super) number: u64,
    /// The number of the generation that was published when this writer started.
    pub(super) base: u64,
    pub(super) segments: Vec<SegmentManifest>,
    /// The same segments, opened.
    pub(super) known: Known,
    pub(super) stages: u64,
    /// Whether the published generation cannot be read and is to be superseded.
    pub(super) is_recovering: bool,
    /// Whether the last publication is on the disk.
    pub(super) is_durable: bool,
    /// Holds the lock of the corpus.
    pub(super) _lock: File,
}

impl Writer {
    /// Opens a corpus for writing, creates the folder if it is missing, and removes the leftovers of a killed
    /// writer. If that writer had sealed the first generation, this publishes it.
    ///
    /// # Errors
    /// [`CorpusError::Locked`] if another writer is at work; [`CorpusError::OtherSettings`]
    /// if the corpus was made with other settings; [`CorpusError::FolderInUse`] if the folder
    /// holds something else; [`CorpusError::CurrentLost`] if it holds generations but nothing tells
    /// which is published; and the errors of [`crate::Corpus::open`].
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
        Self::new(dir, settings, 0, lock).swept()
    }

    /// A writer after generation `number` that has opened nothing.
    pub(super) fn new(dir: &Path, settings: Settings, number: u64, lock: File) -> Self {
        Self {
            dir: dir.to_owned(),
            settings,
            number,
            base: number,
            segments: Vec::new(),
            known: Known::default(),
            stages: 0,
            is_recovering: false,
            is_durable: true,
            _lock: lock,
        }
    }

    /// Opens an existing corpus, with its settings.
    ///
    /// # Errors
    /// [`CorpusError::NotACorpus`], [`CorpusError::Locked`], [`CorpusError::CurrentLost`], and the errors of
    /// [`crate::Corpus::open`].
    pub fn open(dir: &Path) -> Result<Self, CorpusError> {
        // Checked before locking creates a file.
        manifest::published(dir)?;
        let lock = lock(dir)?;
        let manifest = manifest::read_current(dir, &manifest::published(dir)?)?;
        Self::resume(dir, manifest, lock)
    }

    /// Continues from the current generation.
    fn resume(dir: &Path, manifest: Manifest, lock: File) -> Result<Self, CorpusError> {
        manifest::refuse_newer(dir, manifest.number)?;
        let open = |segment| Segment::open(dir, segment).map(Arc::new);
        let known = Known::default();
        known.replace(
            manifest
                .segments
                .iter()
                .map(open)
                .collect::<Result<_, _>>()?,
        );
        Self {
            segments: manifest.segments,
            known,
            ..Self::new(dir, manifest.settings, manifest.number, lock)
        }
        .swept()
    }

    pub(super) fn swept(self) -> Result<Self, CorpusError> {
        // A killed writer may not have synced, and the next steps remove files.
        ken_storage::sync_dir(&self.dir)?;
        for folder in layout::generational(&self.dir) {
            ken_storage::create_dir_all(&folder)?;
        }
        ken_storage::remove(&layout::staging(&self.dir))?;
        remove_unpublished(&self.dir, self.number)?;
        Ok(self)
    }

    /// The number of the published generation; 0 before the first.
    pub fn generation(&self) -> u64 {
        self.number
    }

    /// What all segments have in common.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The published documents, also after later publications.
    pub fn known(&self) -> Known {
        self.known.clone()
    }

    /// Starts a new segment of a shard.
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

    /// Publishes segments of other corpora beside the current ones.
    pub(super) fn adopt(&mut self, adopted: Vec<Adopted>) -> Result<u64, CorpusError> {
        let incoming = adopted.into_iter().map(Incoming::Adopted).collect();
        let (segments, marks) = (self.segments.clone(), BTreeMap::new());
        self.commit(Change::Ingest, segments, marks, incoming)
    }

    /// Publishes segments, of different shards, as a new generation and returns its number. Their
    /// documents replace published ones of the same ids, and those that moved keep their marks and
    /// scores. Empty stages change nothing.
    ///
    /// # Errors
    /// [`CorpusError::Io`]; the generation published before is then still current.
    pub fn publish(&mut self, mut staged: Vec<StagedSegment>) -> Result<u64, CorpusError> {
        for moved in &mut staged {
            moved.keep_marks(&self.known)?;
        }
        let mut dead = Vec::new();
        for id in staged.iter().flat_map(StagedSegment::ids) {
            if let Some(place) = self.known.place_of(id)? {
                dead.push((place.segment, place.ordinal as u32));
            }
        }
        let marks = self.marked(dead, Marks::kill)?;
        let incoming = full_stages(staged)?;
        self.commit(Change::Ingest, self.segments.clone(), marks, incoming)
    }

    /// Publishes a first generation without documents, unless there is a generation.
    ///
    /// # Errors
    /// [`CorpusError::Io`].
    pub fn publish_empty(&mut self) -> Result<u64, CorpusError> {
        if self.number > 0 {
            return Ok(self.number);
        }
        let number = self.begin()?;
        self.finish(Change::Ingest, number, Vec::new())
    }

    /// Deletes documents.
    ///
    /// # Errors
    /// [`CorpusError::UnknownDocument`] if one does not exist, before anything is changed;
    /// [`CorpusError::Io`].
    pub fn delete(&mut self, ids: &[String]) -> Result<u64, CorpusError> {
        let mut dead = Vec::new();
        for id in ids {
            let place = self.known.place_of(id)?;
            let place = place.ok_or_else(|| CorpusError::UnknownDocument { id: id.clone() })?;
            dead.push((place.segment, place.ordinal as u32));
        }
        let marks = self.marked(dead, Marks::kill)?;
        self.commit(Change::Delete, self.segments.clone(), marks, Vec::new())
    }

    /// Marks passages as pruned. They stay in the files and are left out of every result.
    ///
    /// # Errors
    /// [`CorpusError::UnknownPassage`] if one does not exist, before anything is changed;
    /// [`CorpusError::Io`].
    pub fn prune(&mut self, marks: Vec<PruneMark>) -> Result<u64, CorpusError> {
        let mut pruned = Vec::new();
        for mark in marks {
            let place = self.place_of_passage(&mark.passage_id)?;
            let mark = PrunedMark {
                ordinal: place.ordinal as u32,
                score: mark.score,
                reason: mark.reason,
            };
            pruned.push((place.segment, mark));
        }
        let marks = self.marked(pruned, Marks::prune)?;
        self.commit(Change::Prune, self.segments.clone(), marks, Vec::new())
    }

    /// Marks passages as pruned for a reason, in place of all earlier marks whose reason starts
    /// with `reason_start`, in one generation. Other marks stay.
    ///
    /// # Errors
    /// [`CorpusError::Io`], and if marks cannot be read; the generation that was published before
    /// is then still current.
    pub fn replace_pruned(
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
        let changed = self.remarked(|number, marks| {
            let own = &mut marks.pruned;
            own.retain(|mark| !mark.reason.starts_with(reason_start));
            marks.prune(
                by_segment
                    .get_mut(number)
                    .map(std::mem::take)
                    .unwrap_or_default(),
            );
        })?;
        self.commit(Change::Prune, self.segments.clone(), changed, Vec::new())
    }

    /// Restores pruned passages given by id, whatever the reason, and all passages pruned for one of the given
    /// reasons, in one generation. Passages that are not pruned stay as they are.
    ///
    /// # Errors
    /// [`CorpusError::UnknownPassage`] if one does not exist, and [`CorpusError::NothingPruned`] if
    /// no passage is pruned for a reason, before anything is changed; [`CorpusError::Io`].
    pub fn restore(
        &mut self,
        passages: &[PassageId],
        reasons: &[String],
    ) -> Result<u64, CorpusError> {
        let mut chosen = BTreeSet::new();
        for id in passages {
            let place = self.place_of_passage(id)?;
            chosen.insert((place.segment, place.ordinal));
        }
        let mut missing: BTreeSet<&String> = reasons.iter().collect();
        let changed = self.remarked(|number, marks| {
            marks.pruned.retain(|mark| {
                missing.remove(&mark.reason);
                !reasons.contains(&mark.reason)
                    && !chosen.contains(&(number, mark.ordinal as usize))
            });
        })?;
        if let Some(reason) = missing.pop_first() {
            return Err(CorpusError::NothingPruned {
                reason: reason.clone(),
            });
        }
        self.commit(Change::Prune, self.segments.clone(), changed, Vec::new())
    }

    /// The place of the passage of a live document, pruned or not.
    pub(super) fn place_of_passage(&self, id: &PassageId) -> Result<Place, CorpusError> {
        let place = self.known.passage_place(id)?;
        place.ok_or_else(|| CorpusError::UnknownPassage { id: id.to_string() })
    }

    /// Checks the contents of published segments, given by their ids. Call it before rewriting
    /// them: copied damage gets a hash of its own, and no later check finds it.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`], [`CorpusError::MissingFile`], [`CorpusError::Io`].
    pub fn check_segments(&self, ids: &[String]) -> Result<(), CorpusError> {
        let chosen = self
            .segments
            .iter()
            .filter(|segment| ids.contains(&segment.id));
        for (path, file) in chosen.flat_map(|segment| manifest::files_of(&self.dir, segment)) {
            verify::check(&path, &file)?;
        }
        Ok(())
    }

    /// Replaces published segments, given by their ids, by staged ones that hold the same
    /// documents. Call [`Writer::check_segments`] before copying.
    ///
    /// # Errors
    /// [`CorpusError::Io`]; the generation published before is then still current.
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

    /// Makes every rollback impossible, and returns the number of the current generation.
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

    /// The new marks of the segments that change, by index, after `mark` has added the given ones.
    fn marked<T>(
        &self,
        added: Vec<(usize, T)>,
        mark: impl Fn(&mut Marks, Vec<T>),
    ) -> Result<BTreeMap<usize, Marks>, CorpusError> {
        let mut by_segment: BTreeMap<usize, Vec<T>> = BTreeMap::new();
        for (segment, new) in added {
            by_segment.entry(segment).or_default().push(new);
        }
        let segments = self.known.segments();
        by_segment
            .into_iter()
            .map(|(segment, new)| {
                let before = segments[segment].marks()?;
                let mut after = before.clone();
                mark(&mut after, new);
                Ok((after != before).then_some((segment, after)))
            })
            .filter_map(Result::transpose)
            .collect()
    }

    /// The new marks of the segments whose marks `change` changes, by index.
    fn remarked(
        &self,
        mut change: impl FnMut(usize, &mut Marks),
    ) -> Result<BTreeMap<usize, Marks>, CorpusError> {
        let mut changed = BTreeMap::new();
        for (number, segment) in self.known.segments().iter().enumerate() {
            let before = segment.marks()?;
            let mut after = before.clone();
            change(number, &mut after);
            if after != before {
                changed.insert(number, after);
            }
        }
        Ok(changed)
    }

    /// Publishes a generation of existing segments, unchanged.
    pub(super) fn commit_segments(
        &mut self,
        change: Change,
        segments: Vec<SegmentManifest>,
    ) -> Result<u64, CorpusError> {
        self.commit(change, segments, BTreeMap::new(), Vec::new())
    }

    /// Publishes a generation of published segments, some with new marks, and of staged ones.
    /// Without any change there is no new generation.
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
        let number = self.begin()?;
        for (index, marks) in marks {
            segments[index].marks = marks.write(&self.dir, number, &segments[index].id)?;
        }
        for incoming in incoming {
            segments.push(self.place(incoming, number)?);
        }
        self.finish(change, number, segments)
    }

    /// The number of the next generation, whose files may be written now.
    pub(super) fn begin(&mut self) -> Result<u64, CorpusError> {
        self.check_current()?;
        // A failed publication may have left its files.
        remove_unpublished(&self.dir, self.number)?;
        Ok(self.number + 1)
    }

    /// Publishes the generation that [`Writer::begin`] numbered, whose files are in their places.
    pub(super) fn finish(
        &mut self,
        change: Change,
        number: u64,
        mut segments: Vec<SegmentManifest>,
    ) -> Result<u64, CorpusError> {
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

        // From here on readers may see the new generation, whatever fails next.
        self.number = number;
        self.known.replace(opened);
        self.is_recovering = false;
        self.is_durable = false;
        self.segments.clone_from(&manifest.segments);
        self.make_durable()?;
        // The next publication removes any file that cannot be removed now.
        let _ = collect(&self.dir, &manifest);
        Ok(number)
    }

    /// Syncs the last publication. No older generation may be removed before.
    fn make_durable(&mut self) -> Result<(), CorpusError> {
        if !self.is_durable {
            ken_storage::sync_dir(&self.dir)?;
            self.is_durable = true;
        }
        Ok(())
    }

    /// Checks that the published generation is the one that this writer published last, and is on the disk.
    fn check_current(&mut self) -> Result<(), CorpusError> {
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

    /// Moves a segment to its place and describes it.
    fn place(&self, incoming: Incoming, number: u64) -> Result<SegmentManifest, CorpusError> {
        let (dir, mut described, marks, scores) = match incoming {
            Incoming::Staged(staged) => staged.describe()?,
            Incoming::Adopted(adopted) => {
                ken_storage::sync_tree(&adopted.dir)?;
                (
                    adopted.dir,
                    adopted.described,
                    adopted.marks,
                    adopted.scores,
                )
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
        described.marks = marks.write(&self.dir, number, &described.id)?;
        described.scores = scores.write(&self.dir, number, &described.id)?;
        fs::rename(&dir, &target).map_err(CorpusError::io("create", &target))?;
        Ok(described)
    }

    /// Opens the segments of the next generation and counts their live documents and passages. Unchanged segments
    /// stay open.
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

/// The non-empty stages; the others are removed.
fn full_stages(staged: Vec<StagedSegment>) -> Result<Vec<Incoming>, CorpusError> {
    let (full, empty): (Vec<_>, Vec<_>) = staged
        .into_iter()
        .partition(|staged| staged.document_count() > 0);
    for staged in empty {
        ken_storage::remove(staged.dir())?;
    }
    Ok(full.into_iter().map(Incoming::Staged).collect())
}
