//! Making a policy datastore from labeled questions (SR-RAG, section 3.4): its keys are a tuned model's states at the
//! end of the questions. The layer of the keys and the number of neighbors that vote are those that tell the sources
//! of other questions best. Questions that the model was taught, or labels of another model, say nothing about new
//! questions and are refused.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_answer::datastore::{By, Entry, KeyedBy, SELF, id_of, mean_of, shares_of_votes};
use ken_answer::prompt::{self, QuestionPrompt};
use ken_answer::{AnswerError, Datastore, DatastoreError, question_states};
use ken_diagnostic::{Action, Remedy};
use ken_eval::discrimination::auroc;
use ken_eval::json_line;
use ken_eval::run::in_memory;
use ken_eval::split::{AboutSubject, is_held_out, place_in_split, untaught};
use ken_eval::statistics::number;
use ken_language::{LanguageModel, Prompt, SourceChooser};
use ken_policy::is_among;
use ken_storage::StorageError;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::examples::{ExamplesError, LabelRule};
use crate::label::SourceRecord;

/// Questions whose states are computed in one batch.
const BATCH: usize = 64;

/// The share of the questions that validate layers and numbers of neighbors.
const VALIDATION: f64 = 0.25;

/// Most questions that validate them.
const JUDGED: usize = 2000;

/// How well votes predict the sources of questions that do not vote.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedVotes {
    /// The layer after which keys are taken.
    pub layer: usize,
    /// How many neighbors vote.
    pub neighbors: usize,
    /// The area under the ROC curve of the corpora's share of the votes, for questions that a corpus answers best.
    /// `None` if all have one source.
    pub auroc: Option<f64>,
}

/// How to make a datastore.
#[derive(Debug, Clone, Copy)]
pub struct MakeOptions<'a> {
    /// The rule by which a label gives a question's source.
    pub rule: LabelRule,
    /// Whether votes are split by the sources' shares of the sum of likelihoods.
    pub soft: bool,
    /// The layers to choose from.
    pub layers: &'a [usize],
    /// The numbers of neighbors to choose from.
    pub neighbors: &'a [usize],
    /// The share of all questions that is held out for evaluation.
    pub held_out: f64,
    /// The digests of the questions that the model was taught, ascending.
    pub taught: &'a [u64],
}

/// The result of making a datastore.
#[derive(Debug, Serialize)]
pub struct MadeDatastore {
    /// Entries.
    pub entries: usize,
    /// Entries by source.
    pub sources: BTreeMap<String, usize>,
    /// Labeled questions that are held out, or on subjects that the model was taught.
    pub left_out: usize,
    /// The layer of its keys.
    pub layer: usize,
    /// How many neighbors vote.
    pub neighbors: usize,
    /// The combinations that were tried.
    pub tried: Vec<JudgedVotes>,
}

/// Why a datastore cannot be made.
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
    #[error("the model was taught all {questions} labeled questions, or they are held out")]
    #[diagnostic(
        remedy = "label questions that its training held out, and hold out fewer here: <LabelSources>, <held_out>; or train with a larger <held_out>: <TrainSelfRoute>"
    )]
    AllTaught { questions: usize },
    #[error(
        "the sources were labeled with another model: its fingerprint is {expected}, and that of the one that chooses {received}"
    )]
    #[diagnostic(
        remedy = "training changes what a model knows, so label with the trained one, named by <model> or <adapter>: <LabelSources>"
    )]
    OtherModel { expected: String, received: String },
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

/// A line in a person's file of entries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GivenEntry {
    /// Its id; derived from the question by default.
    #[serde(default)]
    pub id: Option<String>,
    /// The question.
    pub question: String,
    /// The source that answers it.
    pub source: String,
}

impl GivenEntry {
    fn id(&self) -> String {
        self.id.clone().unwrap_or_else(|| id_of(&self.question))
    }

    fn entry(&self) -> Entry {
        Entry::new(&self.id(), &self.question, &self.source, By::Person)
    }
}

/// The changes that given entries make to a datastore.
#[derive(Debug, Default)]
pub struct EntryChanges {
    /// Entries that are new.
    pub new: Vec<Entry>,
    /// The new source of existing entries, by id.
    pub edited: BTreeMap<String, String>,
}

impl EntryChanges {
    /// The change of one new entry.
    ///
    /// # Errors
    /// An empty question, or an id that exists.
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

    /// The changes of given entries: one with the id and question of an existing entry sets its source, all others
    /// are new.
    pub fn import(datastore: &Datastore, given: &[GivenEntry]) -> Self {
        let entries = datastore.entries().iter();
        let known: HashMap<&str, &Entry> =
            entries.map(|entry| (entry.id.as_str(), entry)).collect();
        let mut changes = Self::default();
        for entry in given {
            match known.get(entry.id().as_str()) {
                Some(existing) if existing.question == entry.question => {
                    if existing.source != entry.source {
                        changes
                            .edited
                            .insert(existing.id.clone(), entry.source.clone());
                    }
                }
                _ => changes.new.push(entry.entry()),
            }
        }
        changes
    }

    /// Applies the changes. `model` is only called if there are new entries, which need keys. `progress` receives how
    /// many keys are done, and the total.
    ///
    /// # Errors
    /// A model other than that of the existing keys, a model that fails, [`MakeError::Stopped`], a datastore that
    /// cannot be written.
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
/// A file that cannot be read, a line that is not an entry.
pub fn read_entries(path: &Path) -> Result<Vec<GivenEntry>, MakeError> {
    json_line::read("read the entries in", path, |line, _| {
        MakeError::NotAnEntry {
            path: path.to_owned(),
            line,
        }
    })
}

/// The model's states for the questions of entries, as in the datastore's keys.
fn states(
    datastore: &Datastore,
    entries: &[Entry],
    model: &dyn LanguageModel,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Vec<Vec<f32>>, MakeError> {
    let states = in_memory(entries, BATCH, progress, cancel, |batch| {
        let questions = batch.iter().map(|entry| entry.question.as_str());
        let states = question_states(datastore, &questions.collect::<Vec<_>>(), model);
        states.map_err(MakeError::from)
    })?;
    states.ok_or(MakeError::Stopped)
}

/// A labeled question that may vote.
struct Labeled<'r> {
    record: &'r SourceRecord,
    source: &'r str,
    /// The shares of its vote, `[sources]`, the model first.
    vote: Vec<f64>,
    /// Whether it validates layers and numbers of neighbors.
    validates: bool,
}

impl Labeled<'_> {
    fn place(&self) -> f64 {
        place_in_split(self.record.subject())
    }

    /// The prompt that asks the model for its source.
    fn prompt(&self) -> Prompt {
        prompt::choose_source(QuestionPrompt::new(
            &self.record.question,
            &self.record.choices,
        ))
    }

    /// An entry; with `is_divided`, it has the shares of its vote by source.
    fn entry(&self, names: &[&str], is_divided: bool) -> Entry {
        let shares = names.iter().zip(&self.vote);
        let shares = shares.map(|(name, share)| ((*name).to_owned(), *share));
        Entry {
            id: self.record.id.clone(),
            question: self.record.question.clone(),
            source: self.source.to_owned(),
            shares: is_divided.then(|| shares.collect()),
            by: By::Measured,
        }
    }
}

/// The names of the sources, the model first.
fn sources<'c>(corpora: &[&'c str]) -> Vec<&'c str> {
    std::iter::once(SELF)
        .chain(corpora.iter().copied())
        .collect()
}

/// The model's states for questions after a layer: `[prompts]`; `None` if `go_on` stopped it.
fn states_after(
    layer: usize,
    prompts: &[Prompt],
    chooser: &dyn SourceChooser,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Vec<Vec<f32>>>, MakeError> {
    let mut states = Vec::with_capacity(prompts.len());
    for batch in prompts.chunks(BATCH) {
        if !go_on(states.len()) {
            return Ok(None);
        }
        let batch: Vec<&Prompt> = batch.iter().collect();
        let choices = chooser
            .choose_sources(&batch, layer)
            .map_err(AnswerError::from)?;
        states.extend(choices.into_iter().map(|choice| choice.state));
    }
    Ok(Some(states))
}

/// Makes a datastore in a folder from labeled questions that the model was not taught; questions without a label are
/// left out. It chooses the layer and the number of neighbors that predict the sources of a quarter of the questions
/// best from the votes of the others; then all of them vote. `progress` receives the number of questions done and in
/// total, over all layers, and returns whether to continue.
///
/// # Errors
/// Labels that are missing, of another model, or of taught questions only; a model that was not trained to choose; a
/// layer that it does not have; a folder that is not empty. `None` if `progress` stopped it.
pub fn make_datastore(
    folder: &Path,
    records: &[SourceRecord],
    model: &dyn LanguageModel,
    options: MakeOptions<'_>,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<MadeDatastore>, MakeError> {
    let chooser = model.source_chooser().map_err(AnswerError::from)?;
    let corpora = chooser.corpora();
    let (labeled, left_out) = labeled(records, &corpora, model.fingerprint(), options)?;
    let prompts: Vec<Prompt> = labeled.iter().map(Labeled::prompt).collect();
    let mut best: Option<(JudgedVotes, KeyedBy, Vec<Vec<f32>>)> = None;
    let mut tried = Vec::new();
    let total = options.layers.len() * prompts.len();
    for (number, &layer) in options.layers.iter().enumerate() {
        let mut go_on = |done| progress(number * prompts.len() + done, total);
        let Some(states) = states_after(layer, &prompts, chooser, &mut go_on)? else {
            return Ok(None);
        };
        let keyed_by = KeyedBy {
            model: model.fingerprint().to_owned(),
            prompt: prompt::fingerprint(),
            layer,
            center: mean_of(&states),
        };
        let keys: Vec<Vec<f32>> = states.iter().map(|state| keyed_by.key(state)).collect();
        for &neighbors in options.neighbors {
            let judged = JudgedVotes {
                layer,
                neighbors,
                auroc: judge(&keys, &labeled, neighbors),
            };
            tried.push(judged.clone());
            let highest = best.as_ref().map(|(other, ..)| other.auroc);
            if highest.is_none_or(|highest| judged.auroc > highest) {
                best = Some((judged, keyed_by.clone(), states.clone()));
            }
        }
    }
    let Some((judged, keyed_by, states)) = best else {
        return Ok(None);
    };
    let names = sources(&corpora);
    let mut by_source = BTreeMap::new();
    for labeled in &labeled {
        *by_source.entry(labeled.source.to_owned()).or_insert(0) += 1;
    }
    let entries = labeled.iter();
    let entries = entries.map(|labeled| labeled.entry(&names, options.soft));
    let (entries, neighbors) = (entries.collect(), judged.neighbors);
    Datastore::create(folder, keyed_by, neighbors, &corpora, entries, &states)?;
    Ok(Some(MadeDatastore {
        entries: labeled.len(),
        sources: by_source,
        left_out,
        layer: judged.layer,
        neighbors,
        tried,
    }))
}

/// Marks a share of the questions as validating, by subject.
fn choose_validating(usable: &mut [Labeled<'_>]) {
    let mut places: Vec<f64> = usable.iter().map(Labeled::place).collect();
    places.sort_by(f64::total_cmp);
    let border = places.get((places.len() as f64 * VALIDATION) as usize);
    let border = border.copied().unwrap_or_default();
    for labeled in usable {
        labeled.validates = labeled.place() < border;
    }
}

/// The questions that may vote, and how many labeled ones may not.
fn labeled<'r>(
    records: &'r [SourceRecord],
    corpora: &[&str],
    model: &str,
    options: MakeOptions<'_>,
) -> Result<(Vec<Labeled<'r>>, usize), MakeError> {
    let with_label: Vec<(&SourceRecord, &str)> = records
        .iter()
        .filter_map(|record| Some((record, record.preferred_by(options.rule)?)))
        .collect();
    if with_label.is_empty() {
        return Err(MakeError::Labels(ExamplesError::NothingToLearn {
            records: records.len(),
            labeled_by: Action::LabelSources,
        }));
    }
    let other = with_label
        .iter()
        .find(|(record, _)| record.fingerprint.model != model);
    if let Some((record, _)) = other {
        return Err(MakeError::OtherModel {
            expected: record.fingerprint.model.clone(),
            received: model.to_owned(),
        });
    }
    let names = sources(corpora);
    let untaught = untaught(
        &with_label,
        |(record, _)| record.subject(),
        |(record, _)| is_among(options.taught, &record.question),
    );
    let usable = with_label.iter().zip(untaught);
    let usable = usable.filter_map(|(&(record, source), is_new)| {
        let shares = record.shares();
        let vote = names.iter().map(|name| match options.soft {
            true => shares.get(*name).copied().unwrap_or_default(),
            false => number(*name == source),
        });
        let votes = is_new && !is_held_out(record, options.held_out);
        votes.then(|| Labeled {
            record,
            source,
            vote: vote.collect(),
            validates: false,
        })
    });
    let mut usable: Vec<Labeled<'_>> = usable.collect();
    choose_validating(&mut usable);
    if usable.is_empty() {
        Err(MakeError::AllTaught {
            questions: with_label.len(),
        })
    } else {
        let left_out = with_label.len() - usable.len();
        Ok((usable, left_out))
    }
}

/// How well the votes of the nearest questions predict, for the validating questions, whether a corpus answers best.
///
/// # Shapes
/// `keys`: `[labeled][hidden]`.
fn judge(keys: &[Vec<f32>], labeled: &[Labeled<'_>], neighbors: usize) -> Option<f64> {
    let validates = |place: &usize| labeled[*place].validates;
    let (judged, voting): (Vec<usize>, Vec<usize>) = (0..labeled.len()).partition(validates);
    let every = judged.len().div_ceil(JUDGED).max(1);
    let judged: Vec<usize> = judged.into_iter().step_by(every).collect();
    let predictions: Vec<(f64, bool)> = judged
        .into_par_iter()
        .map(|place| {
            let mut near: Vec<(f32, usize)> = voting
                .iter()
                .map(|&other| {
                    let both = keys[other].iter().zip(&keys[place]);
                    (both.map(|(x, y)| x * y).sum(), other)
                })
                .collect();
            let wanted = neighbors.min(near.len());
            if wanted < near.len() {
                near.select_nth_unstable_by(wanted, |a, b| b.0.total_cmp(&a.0));
            }
            let votes = near[..wanted].iter();
            let votes = votes.map(|(cosine, other)| (*cosine, labeled[*other].vote.as_slice()));
            let shares = shares_of_votes(&votes.collect::<Vec<_>>(), labeled[place].vote.len());
            let own = shares.first().copied().unwrap_or_default();
            (1.0 - own, labeled[place].source != SELF)
        })
        .collect();
    auroc(&predictions)
}
