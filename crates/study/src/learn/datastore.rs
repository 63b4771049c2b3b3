//! Making a policy datastore from labeled questions (SR-RAG, section 3.4): a tuned model's states
//! at the end of the questions as keys, and the layer whose keys separate the sources best.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_answer::datastore::{By, Entry, KeyedBy, NEIGHBORS, SELF, mean_of};
use ken_answer::prompt::{self, QuestionPrompt};
use ken_answer::{AnswerError, Datastore, DatastoreError};
use ken_diagnostic::{Action, Remedy};
use ken_language::{LanguageModel, Prompt, fingerprint_of_texts};
use ken_storage::StorageError;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::discrimination::auroc;
use crate::json_line;
use crate::label::SourceRecord;
use crate::run::in_memory;
use crate::training_examples::{ExamplesError, LabelRule};

/// Questions whose states are taken together.
const BATCH: usize = 64;

/// Letters of an id that follows from the question.
const ID_LETTERS: usize = 12;

/// Questions that a layer is judged by at most.
const JUDGED: usize = 2000;

/// How well the nearest other entries separate the sources, by the layer of the keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedLayer {
    /// After this many layers.
    pub layer: usize,
    /// The area under the curve of the corpora's share among the neighbors, as a sign that a corpus
    /// answers best; each question leaves itself out. `None` where all have one source.
    pub auroc: Option<f64>,
}

/// What came of making a datastore.
#[derive(Debug, Serialize)]
pub struct MadeDatastore {
    /// Entries.
    pub entries: usize,
    /// Entries by source.
    pub sources: BTreeMap<String, usize>,
    /// The layer of its keys.
    pub layer: usize,
    /// The layers that were tried.
    pub tried: Vec<JudgedLayer>,
}

/// Why no datastore can be made.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum MakeError {
    #[error(transparent)]
    Labels(#[from] ExamplesError),
    #[error(transparent)]
    Entries(#[from] StorageError),
    #[error("{path}, line {line}: not an entry")]
    #[diagnostic(remedy = Remedy::from(
        "each line is {\"question\", \"source\"}, and may have an \"id\""
    ))]
    NotAnEntry { path: PathBuf, line: usize },
    #[error("there is an entry {id:?} already")]
    #[diagnostic(remedy = "give it another source by <EditDatastore>, or name another <id>")]
    SameId { id: String },
    #[error("stopped before the last question; nothing was written")]
    #[diagnostic(kind = "interrupted", remedy = "run the same command again")]
    Stopped,
    #[error(transparent)]
    Model(#[from] AnswerError),
    #[error(transparent)]
    Datastore(#[from] DatastoreError),
}

/// A line of a file of entries that a person wrote.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GivenEntry {
    /// Its id; by default it follows from the question.
    #[serde(default)]
    pub id: Option<String>,
    /// The question.
    pub question: String,
    /// The source that answers it.
    pub source: String,
}

impl GivenEntry {
    fn id(&self) -> String {
        let of_question = || {
            let digest = fingerprint_of_texts(&[&self.question]);
            digest.chars().take(ID_LETTERS).collect()
        };
        self.id.clone().unwrap_or_else(of_question)
    }

    fn entry(&self) -> Entry {
        Entry {
            id: self.id(),
            question: self.question.clone(),
            source: self.source.clone(),
            by: By::Person,
        }
    }
}

/// What given entries change in a datastore.
#[derive(Debug, Default)]
pub struct EntryChanges {
    /// Entries that are new.
    pub new: Vec<Entry>,
    /// Entries by id whose source changes, with the new one.
    pub edited: BTreeMap<String, String>,
}

impl EntryChanges {
    /// What a new entry changes.
    ///
    /// # Errors
    /// An empty question, or an id that is there already.
    pub fn add(datastore: &Datastore, given: &GivenEntry) -> Result<Self, MakeError> {
        if given.question.is_empty() {
            return Err(AnswerError::EmptyQuestion.into());
        }
        let entry = given.entry();
        match datastore.entries().iter().any(|other| other.id == entry.id) {
            true => Err(MakeError::SameId { id: entry.id }),
            false => Ok(Self {
                new: vec![entry],
                ..Self::default()
            }),
        }
    }

    /// What given entries change: those of a question that is there under the same id change its
    /// source, all others are new.
    #[must_use]
    pub fn import(datastore: &Datastore, given: &[GivenEntry]) -> Self {
        let entries = datastore.entries().iter();
        let known: HashMap<&str, &Entry> =
            entries.map(|entry| (entry.id.as_str(), entry)).collect();
        let mut changes = Self::default();
        for one in given {
            match known.get(one.id().as_str()) {
                Some(entry) if entry.question == one.question => {
                    if entry.source != one.source {
                        changes.edited.insert(entry.id.clone(), one.source.clone());
                    }
                }
                _ => changes.new.push(one.entry()),
            }
        }
        changes
    }

    /// Makes the changes; the model, which is asked for only if entries are new, gives their keys.
    /// `progress` is given how many keys there are, and all.
    ///
    /// # Errors
    /// Another model than that of the other keys, a model that fails, [`MakeError::Stopped`], a
    /// datastore that cannot be written.
    pub fn apply<E: From<MakeError>>(
        self,
        datastore: &mut Datastore,
        model: impl FnOnce() -> Result<Arc<dyn LanguageModel>, E>,
        progress: &mut dyn FnMut(usize, usize),
        cancel: &AtomicBool,
    ) -> Result<(), E> {
        let states = match self.new.is_empty() {
            true => Vec::new(),
            false => states(datastore, &self.new, model()?.as_ref(), progress, cancel)?,
        };
        let edited = self
            .edited
            .iter()
            .map(|(id, source)| (id.as_str(), source.as_str()));
        datastore
            .change(&edited.collect(), self.new, &states)
            .map_err(MakeError::from)?;
        Ok(())
    }
}

/// Reads a file of entries.
///
/// # Errors
/// A file that cannot be read, a line that is no entry.
pub fn read_entries(path: &Path) -> Result<Vec<GivenEntry>, MakeError> {
    json_line::read("read the entries in", path, |line, _| {
        MakeError::NotAnEntry {
            path: path.to_owned(),
            line,
        }
    })
}

/// What the model makes of the questions of entries, as the keys of a datastore are taken.
fn states(
    datastore: &Datastore,
    entries: &[Entry],
    model: &dyn LanguageModel,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Vec<Vec<f32>>, MakeError> {
    datastore.check(model.fingerprint())?;
    let layer = datastore.keyed_by().layer;
    let states = in_memory(entries, BATCH, progress, cancel, |batch| {
        let prompts = batch
            .iter()
            .map(|entry| prompt::choose_source(QuestionPrompt::open(&entry.question)));
        let prompts: Vec<Prompt> = prompts.collect();
        let chooser = model.source_chooser().map_err(AnswerError::from)?;
        let choices = chooser.choose_sources(&prompts.iter().collect::<Vec<_>>(), layer);
        let choices = choices.map_err(AnswerError::from)?;
        Ok::<_, MakeError>(choices.into_iter().map(|choice| choice.state).collect())
    })?;
    states.ok_or(MakeError::Stopped)
}

/// Makes a datastore in a folder from labeled questions; those without a label are left out. Of
/// `layers` the one is chosen whose keys separate the sources best. `progress` is given the number of
/// questions done and in all, over all layers; it returns whether to continue.
///
/// # Errors
/// No labels, a model that was not trained to choose, a layer that it does not have, a folder that
/// holds something. `None` where it was told to stop.
pub fn make_datastore(
    folder: &Path,
    records: &[SourceRecord],
    rule: LabelRule,
    model: &dyn LanguageModel,
    layers: &[usize],
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<MadeDatastore>, MakeError> {
    let labeled: Vec<(&SourceRecord, &str)> = records
        .iter()
        .filter_map(|record| Some((record, record.preferred_by(rule)?)))
        .collect();
    if labeled.is_empty() {
        return Err(MakeError::Labels(ExamplesError::NoLabels {
            records: records.len(),
            labeled_by: Action::LabelSources,
        }));
    }
    let chooser = model.source_chooser().map_err(AnswerError::from)?;
    let corpora = chooser.corpora();
    let prompts: Vec<Prompt> = labeled
        .iter()
        .map(|(record, _)| {
            prompt::choose_source(QuestionPrompt {
                question: &record.question,
                choices: &record.choices,
            })
        })
        .collect();
    let is_outside: Vec<bool> = labeled.iter().map(|(_, source)| *source != SELF).collect();
    let mut best: Option<(JudgedLayer, KeyedBy, Vec<Vec<f32>>)> = None;
    let mut tried = Vec::new();
    let total = layers.len() * prompts.len();
    for (number, &layer) in layers.iter().enumerate() {
        let mut states = Vec::with_capacity(prompts.len());
        for batch in prompts.chunks(BATCH) {
            if !progress(number * prompts.len() + states.len(), total) {
                return Ok(None);
            }
            let batch: Vec<&Prompt> = batch.iter().collect();
            let choices = chooser
                .choose_sources(&batch, layer)
                .map_err(AnswerError::from)?;
            states.extend(choices.into_iter().map(|choice| choice.state));
        }
        let keyed_by = KeyedBy {
            model: model.fingerprint().to_owned(),
            prompt: prompt::fingerprint(),
            layer,
            center: mean_of(&states),
        };
        let judged = JudgedLayer {
            layer,
            auroc: judge(&keyed_by, &states, &is_outside),
        };
        tried.push(judged.clone());
        if best
            .as_ref()
            .is_none_or(|(other, ..)| judged.auroc > other.auroc)
        {
            best = Some((judged, keyed_by, states));
        }
    }
    let Some((judged, keyed_by, states)) = best else {
        return Ok(None);
    };
    let entries: Vec<Entry> = labeled
        .iter()
        .map(|(record, source)| Entry {
            id: record.id.clone(),
            question: record.question.clone(),
            source: (*source).to_owned(),
            by: By::Measured,
        })
        .collect();
    let mut sources = BTreeMap::new();
    for entry in &entries {
        *sources.entry(entry.source.clone()).or_insert(0) += 1;
    }
    let count = entries.len();
    Datastore::create(folder, keyed_by, &corpora, entries, &states)?;
    Ok(Some(MadeDatastore {
        entries: count,
        sources,
        layer: judged.layer,
        tried,
    }))
}

/// How well the nearest neighbors predict which questions a corpus answers best.
fn judge(keyed_by: &KeyedBy, states: &[Vec<f32>], is_outside: &[bool]) -> Option<f64> {
    let keys: Vec<Vec<f32>> = states.iter().map(|state| keyed_by.key(state)).collect();
    let every = keys.len().div_ceil(JUDGED).max(1);
    let judged: Vec<usize> = (0..keys.len()).step_by(every).collect();
    let predictions: Vec<(f64, bool)> = judged
        .into_par_iter()
        .map(|place| {
            let mut near: Vec<(f32, usize)> = keys
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != place)
                .map(|(other, key)| {
                    let product: f32 = key.iter().zip(&keys[place]).map(|(x, y)| x * y).sum();
                    (product, other)
                })
                .collect();
            let wanted = NEIGHBORS.min(near.len());
            if wanted < near.len() {
                near.select_nth_unstable_by(wanted, |one, other| other.0.total_cmp(&one.0));
            }
            let outside = near[..wanted]
                .iter()
                .filter(|(_, other)| is_outside[*other]);
            let share = outside.count() as f64 / wanted.max(1) as f64;
            (share, is_outside[place])
        })
        .collect();
    auroc(&predictions)
}
