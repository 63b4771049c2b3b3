//! The policy datastore (SR-RAG, section 3.4): questions with the source that answers them best, keyed by a tuned model's
//! hidden states. People may read it, correct it and add to it; the next question uses the change.

mod error;
mod files;
mod votes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use ken_index::VectorSet;
use serde::{Deserialize, Serialize};

use crate::measure::mismatch::Mismatch;
use crate::prompt;
pub use error::DatastoreError;
use files::Header;
pub use votes::shares_of_votes;

/// The neighbors that vote by default (SR-RAG, section 4.1).
pub const NEIGHBORS: usize = 30;

/// The most attempts to open a datastore whose files are being replaced.
const ATTEMPTS: usize = 1000;

/// The model itself as a source.
pub const SELF: &str = "self";

/// The letters of an id that is derived from the question.
const ID_LETTERS: usize = 12;

/// The id of a person's entry without one of its own, derived from the question.
pub fn id_of(question: &str) -> String {
    let digest = ken_language::fingerprint_of_texts(&[question]);
    digest.chars().take(ID_LETTERS).collect()
}

/// A question and the source that answers it best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Unique among the entries.
    pub id: String,
    /// The question.
    pub question: String,
    /// `self`, or the name of a corpus.
    pub source: String,
    /// The shares of the sources in its vote, if it is not all for that one; missing sources have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<BTreeMap<String, f64>>,
    /// The origin of the source.
    pub by: By,
}

impl Entry {
    /// An entry whose vote is all for its source.
    pub fn new(id: &str, question: &str, source: &str, by: By) -> Self {
        Self {
            id: id.to_owned(),
            question: question.to_owned(),
            source: source.to_owned(),
            shares: None,
            by,
        }
    }
}

/// The origin of an entry's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// It was measured.
    Measured,
    /// A person.
    Person,
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// The model, prompts and layer of the keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyedBy {
    /// The fingerprint of the model.
    pub model: String,
    /// The fingerprint of the prompts.
    pub prompt: String,
    /// Keys are its residual streams after this many layers.
    pub layer: usize,
    /// The mean of the streams, which is subtracted from each: `[hidden]`.
    pub center: Vec<f32>,
}

impl KeyedBy {
    /// A residual stream as a key: less the mean, since the states of one model have much in common, and at length 1.
    ///
    /// # Shapes
    /// `[hidden]`; returns the same.
    pub fn key(&self, state: &[f32]) -> Vec<f32> {
        let centered = state.iter().zip(&self.center).map(|(x, mean)| x - mean);
        let centered: Vec<f32> = centered.collect();
        let square: f64 = centered.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        if square == 0.0 {
            return centered;
        }
        let scale = 1.0 / square.sqrt();
        let scaled = centered.iter().map(|x| (f64::from(*x) * scale) as f32);
        scaled.collect()
    }
}

/// A datastore on disk, opened.
pub struct Datastore {
    folder: PathBuf,
    header: Header,
    /// In the order of their keys.
    entries: Vec<Entry>,
    /// The vote of each key, its share for the model and for the corpora; `None` for keys whose entry is removed:
    /// `[keys][sources]`.
    votes: Vec<Option<Vec<f64>>>,
    keys: VectorSet,
    fingerprint: String,
}

impl std::fmt::Debug for Datastore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (folder, count) = (self.folder.display(), self.entries.len());
        write!(f, "Datastore({folder}, {count} entries)")
    }
}

impl Datastore {
    /// Writes a new datastore into a folder, which must be missing or empty. `neighbors`: how many vote on a question.
    ///
    /// # Shapes
    /// `states`: `[entries][hidden]`, the residual streams at the end of the questions.
    ///
    /// # Errors
    /// A folder that is not empty, or cannot be written; entries of unknown sources, or that share an id.
    pub fn create(
        folder: &Path,
        keyed_by: KeyedBy,
        neighbors: usize,
        corpora: &[&str],
        entries: Vec<Entry>,
        states: &[Vec<f32>],
    ) -> Result<Self, DatastoreError> {
        files::prepare(folder)?;
        let mut header = Header::new(keyed_by, neighbors, corpora);
        check(&header, &entries)?;
        header.add_part(folder, states)?;
        let rows = 0..entries.len();
        let rows = entries.into_iter().zip(rows).collect::<Vec<_>>();
        header.commit(folder, &rows)?;
        Self::open(folder)
    }

    /// Opens a datastore, in the state before or after a concurrent change.
    ///
    /// # Errors
    /// A file that is missing, damaged or of another version.
    pub fn open(folder: &Path) -> Result<Self, DatastoreError> {
        for _ in 0..ATTEMPTS {
            let header = Header::read(folder)?;
            let generation = header.generation;
            let opened = Self::open_as(folder, header);
            // Files are removed only after the header names others.
            if opened.is_ok() || Header::read(folder)?.generation == generation {
                return opened;
            }
        }
        Err(DatastoreError::Locked {
            path: folder.to_path_buf(),
        })
    }

    fn open_as(folder: &Path, header: Header) -> Result<Self, DatastoreError> {
        // The header's counts are checked against file sizes before memory is allocated for them.
        let keys = header.open_keys(folder)?;
        let rows = header.entries(folder)?;
        let mut votes = vec![None; header.keys()];
        let by = &header.keyed_by;
        let (layer, center) = (by.layer.to_string(), bits_of(&by.center));
        let neighbors = header.neighbors.to_string();
        let mut texts = vec![by.model.as_str(), &by.prompt, &layer, &center, &neighbors];
        texts.extend(header.sources());
        let divided = rows.iter().map(|(entry, _)| match &entry.shares {
            Some(shares) => serde_json::to_string(shares).unwrap_or_default(),
            None => String::new(),
        });
        let divided: Vec<String> = divided.collect();
        for ((entry, row), divided) in rows.iter().zip(&divided) {
            let vote = votes.get_mut(*row).zip(header.vote(entry));
            let (vote, shares) = vote.ok_or_else(|| DatastoreError::Damaged {
                path: folder.to_path_buf(),
                reason: format!("the entry {:?} has no key, or an unknown source", entry.id),
            })?;
            *vote = Some(shares);
            // The question and the texts above determine the key.
            texts.extend([entry.id.as_str(), &entry.question, &entry.source, divided]);
        }
        let fingerprint = ken_language::fingerprint_of_texts(&texts);
        Ok(Self {
            folder: folder.to_path_buf(),
            keys: keys.with_live(votes.iter().map(Option::is_some).collect()),
            votes,
            fingerprint,
            entries: rows.into_iter().map(|(entry, _)| entry).collect(),
            header,
        })
    }

    /// Checks that its keys were taken with this model, by its fingerprint, and the current prompts.
    ///
    /// # Errors
    /// [`DatastoreError::OtherModel`].
    pub fn check(&self, model: &str) -> Result<(), DatastoreError> {
        let made_with = [&*self.keyed_by().model, &self.keyed_by().prompt];
        let mismatch = Mismatch::of_model(made_with, [model, &prompt::fingerprint()]);
        mismatch.map_or(Ok(()), |other| Err(DatastoreError::OtherModel(other)))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its entries, in the order in which they were added.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The names of the corpora that entries may name.
    pub fn corpora(&self) -> &[String] {
        &self.header.corpora
    }

    /// The model, prompts and layer of its keys.
    pub fn keyed_by(&self) -> &KeyedBy {
        &self.header.keyed_by
    }

    /// Identifies its entries, their sources, and the model, prompts and layer of their keys.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The number of neighbors that vote.
    pub fn neighbors(&self) -> usize {
        self.header.neighbors
    }

    /// The share of each source in the votes of the nearest entries, the model itself first: p_D (SR-RAG,
    /// Eq. 7), as in [`shares_of_votes`]. Even shares without entries; NaN if the state has no direction or is not
    /// finite, and so has no nearest entries.
    ///
    /// # Shapes
    /// `state`: `[hidden]`, the residual stream at the end of the question.
    ///
    /// # Errors
    /// Keys that cannot be read.
    pub fn shares(&self, state: &[f32]) -> Result<Vec<f64>, DatastoreError> {
        let sources = 1 + self.header.corpora.len();
        let Some(nearest) = self.nearest_keys(state)? else {
            return Ok(vec![f64::NAN; sources]);
        };
        let votes = nearest.iter().filter_map(|(number, cosine)| {
            let vote = self.votes.get(*number)?.as_deref()?;
            Some((*cosine, vote))
        });
        Ok(shares_of_votes(&votes.collect::<Vec<_>>(), sources))
    }

    /// The entries that vote on a question, each with the cosine of its key, nearest first.
    ///
    /// # Shapes
    /// `state`: `[hidden]`, as of [`Datastore::shares`].
    ///
    /// # Errors
    /// Keys that cannot be read.
    pub fn nearest(&self, state: &[f32]) -> Result<Vec<(&Entry, f32)>, DatastoreError> {
        let live = self.votes.iter().enumerate();
        let live = live.filter_map(|(number, vote)| vote.as_ref().map(|_| number));
        let by_key: HashMap<usize, &Entry> = live.zip(&self.entries).collect();
        let nearest = self.nearest_keys(state)?.into_iter().flatten();
        let voting = nearest.filter_map(|(number, cosine)| Some((*by_key.get(&number)?, cosine)));
        Ok(voting.collect())
    }

    /// The keys that vote on a question, by number, each with its cosine, nearest first; `None` for a state that
    /// has no direction or is not finite.
    fn nearest_keys(&self, state: &[f32]) -> Result<Option<Vec<(usize, f32)>>, DatastoreError> {
        let key = self.header.keyed_by.key(state);
        let square: f32 = key.iter().map(|number| number * number).sum();
        match square.is_normal() {
            true => Ok(Some(self.keys.nearest(&key, self.header.neighbors)?)),
            false => Ok(None),
        }
    }

    /// Sets the source of a question on a person's word, in its entry if it has one, else in a new one. Returns the entry's
    /// id.
    ///
    /// # Shapes
    /// `state`: `[hidden]`, the residual stream at the end of the question.
    ///
    /// # Errors
    /// As [`Datastore::change`].
    pub fn correct(
        &mut self,
        question: &str,
        source: &str,
        state: &[f32],
    ) -> Result<String, DatastoreError> {
        let own = self.entries.iter().find(|entry| entry.question == question);
        if let Some(id) = own.map(|entry| entry.id.clone()) {
            self.change(&BTreeMap::from([(id.as_str(), source)]), Vec::new(), &[])?;
            return Ok(id);
        }
        let id = id_of(question);
        let entry = Entry::new(&id, question, source, By::Person);
        self.change(&BTreeMap::new(), vec![entry], &[state.to_vec()])?;
        Ok(id)
    }

    /// Changes the sources of entries on a person's word, and adds new ones, all at once. A new entry
    /// replaces one with the same id.
    ///
    /// # Shapes
    /// `sources`: by id. `states`: `[new][hidden]`, the residual streams at the end of the new questions.
    ///
    /// # Errors
    /// An unknown id or source, two new entries of one id; a datastore that another process changes, or has changed
    /// since it was opened; files that cannot be written. Then nothing is changed.
    pub fn change(
        &mut self,
        sources: &BTreeMap<&str, &str>,
        new: Vec<Entry>,
        states: &[Vec<f32>],
    ) -> Result<(), DatastoreError> {
        let _lock = self.header.lock(&self.folder)?;
        self.known(sources.keys().copied())?;
        let mut header = self.header.clone();
        check(&header, &new)?;
        let replaced = new.iter().map(|entry| entry.id.as_str()).collect();
        let changed = self.rows_without(&replaced).map(|(mut entry, row)| {
            if let Some(source) = sources.get(entry.id.as_str()) {
                (*source).clone_into(&mut entry.source);
                entry.shares = None;
                entry.by = By::Person;
            }
            (entry, row)
        });
        let mut rows: Vec<(Entry, usize)> = changed.collect();
        check(&header, rows.iter().map(|(entry, _)| entry))?;
        let first = header.keys();
        if !new.is_empty() {
            header.add_part(&self.folder, states)?;
        }
        rows.extend(new.into_iter().zip(first..));
        header.commit(&self.folder, &rows)?;
        *self = Self::open(&self.folder)?;
        Ok(())
    }

    /// Removes entries.
    ///
    /// # Errors
    /// An unknown id; a datastore that another process changes, or has changed since it was opened; files that cannot be
    /// written. Then nothing is removed.
    pub fn remove(&mut self, ids: &[&str]) -> Result<(), DatastoreError> {
        let _lock = self.header.lock(&self.folder)?;
        self.known(ids.iter().copied())?;
        let rows: Vec<_> = self.rows_without(&ids.iter().copied().collect()).collect();
        self.header.clone().commit(&self.folder, &rows)?;
        *self = Self::open(&self.folder)?;
        Ok(())
    }

    /// The entries with the numbers of their keys, without those with these ids.
    fn rows_without(&self, ids: &HashSet<&str>) -> impl Iterator<Item = (Entry, usize)> {
        let live = self.votes.iter().enumerate();
        let live = live.filter(|(_, vote)| vote.is_some());
        let rows = self.entries.iter().cloned().zip(live.map(|(row, _)| row));
        rows.filter(|(entry, _)| !ids.contains(entry.id.as_str()))
    }

    fn known<'i>(&self, mut ids: impl Iterator<Item = &'i str>) -> Result<(), DatastoreError> {
        let there: HashSet<&str> = self.entries.iter().map(|entry| entry.id.as_str()).collect();
        match ids.find(|id| !there.contains(id)) {
            Some(id) => Err(DatastoreError::NoSuchEntry { id: id.to_owned() }),
            None => Ok(()),
        }
    }
}

/// The mean of vectors; empty if there are none.
///
/// # Shapes
/// `vectors`: `[vectors][dimensions]`; returns `[dimensions]`.
pub fn mean_of(vectors: &[Vec<f32>]) -> Vec<f32> {
    let mut sums = vec![0.0_f64; vectors.first().map_or(0, Vec::len)];
    for vector in vectors {
        for (sum, number) in sums.iter_mut().zip(vector) {
            *sum += f64::from(*number);
        }
    }
    let count = vectors.len().max(1) as f64;
    sums.into_iter().map(|sum| (sum / count) as f32).collect()
}

/// The bits of numbers as hexadecimal text.
fn bits_of(numbers: &[f32]) -> String {
    let bits = numbers.iter().map(|number| number.to_bits());
    bits.map(|bits| format!("{bits:08x}")).collect()
}

/// Refuses entries of unknown sources, with bad shares, or with the id of another.
fn check<'a>(
    header: &Header,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<(), DatastoreError> {
    let mut ids = HashSet::new();
    for entry in entries {
        if !header.sources().any(|source| source == entry.source) {
            return Err(DatastoreError::NoSuchSource {
                name: entry.source.clone(),
                known: header.sources().map(str::to_owned).collect(),
            });
        }
        if header.vote(entry).is_none() {
            return Err(DatastoreError::BadShares {
                id: entry.id.clone(),
            });
        }
        if !ids.insert(entry.id.as_str()) {
            return Err(DatastoreError::SameId {
                id: entry.id.clone(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
