//! The corpus pruner (Zero-RAG, Eq. 4 and A.1): it predicts the model's mastery of a passage from a vector of the
//! passage.
//!
//! The label of a passage is the mean mastery of its sentences; in a corpus cut by sentence, that of its sentence.
//! The vectors are those that the corpus is searched by, or that a model computes from the passage.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ken_answer::{BackEnd, passage_features};
use ken_corpus::{Passage, PassageId};
use ken_eval::bootstrap::interval;
use ken_eval::statistics::{mean, ranks};
use ken_policy::{Head, MeasuredOn, Purpose, digest_of};
use ken_probe::correlation;
use ken_train::heads::{HeadError, Watch, regress};
use serde::Serialize;

use super::head::{HeadReport, HeadTask, Judged, learn};
use super::{LearnError, LearnOptions};
use crate::mastery::MasteryRecord;
use crate::pruning::{PassageVectors, PruningError, READ_TOGETHER, StoredPassages};

/// Resamples of the interval.
const DRAWS: usize = 2000;

/// With fewer documents, single passages are held out instead of whole documents.
const MANY_DOCUMENTS: usize = 20;

/// A passage with the model's mastery of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PrunerLabel {
    /// The passage.
    pub passage_id: PassageId,
    /// In `[0, 1]`.
    pub mastery: f64,
}

/// The labels of one model in one corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct PrunerLabels {
    /// One for each passage with a measured sentence.
    pub labels: Vec<PrunerLabel>,
    /// The labeled texts, each with its id and its passage's.
    sentences: Vec<(String, PassageId, String)>,
    /// The digests of the questions that measured mastery, ascending.
    questions: Vec<u64>,
    /// The model's fingerprint.
    pub model: String,
    /// Sentences without a mastery.
    pub left_out: usize,
}

impl PrunerLabels {
    /// Whether mastery was measured by this question.
    #[must_use]
    pub fn knows(&self, question: &str) -> bool {
        self.questions.binary_search(&digest_of(question)).is_ok()
    }
}

/// The report of a pruner, by passages; those left out are sentences.
pub type PrunerReport = HeadReport<PrunerMeasures>;

/// How good a pruner is on held-out passages. Values are `None` if these are too few or all alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrunerMeasures {
    /// Sentences with a mastery.
    pub sentences: usize,
    /// Their mean mastery.
    pub mastery: Option<f64>,
    /// Spearman's rank correlation of predicted and measured mastery.
    pub rank_correlation: Option<f64>,
    /// Its 95 % bootstrap interval over passages.
    pub rank_correlation_interval: Option<[f64; 2]>,
    /// Mean squared error.
    pub squared_error: Option<f64>,
    /// The mean squared error of always predicting the mean of the training passages.
    pub squared_error_of_mean: Option<f64>,
}

/// The labels in mastery records.
///
/// # Errors
/// Records without labels, or of several models.
pub fn pruner_labels(records: &[MasteryRecord]) -> Result<PrunerLabels, LearnError> {
    let mut by_passage: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut sentences = Vec::new();
    let mut questions = Vec::new();
    let mut model: Option<&str> = None;
    for record in records {
        let Some(mastery) = record.mastery else {
            continue;
        };
        let by = record.fingerprint.model.as_str();
        if *model.get_or_insert(by) != by {
            return Err(LearnError::SeveralModels {
                id: record.id.clone(),
            });
        }
        by_passage
            .entry(&record.passage_id)
            .or_default()
            .push(mastery);
        questions.extend(record.pairs.iter().map(|pair| digest_of(&pair.question)));
        let passage = PassageId(record.passage_id.clone());
        sentences.push((record.id.clone(), passage, record.sentence.clone()));
    }
    let Some(model) = model else {
        return Err(LearnError::NoLabels {
            purpose: Purpose::Pruner,
            records: records.len(),
        });
    };
    let labels = by_passage.into_iter().filter_map(|(id, masteries)| {
        Some(PrunerLabel {
            passage_id: PassageId(id.to_owned()),
            mastery: mean(&masteries)?,
        })
    });
    questions.sort_unstable();
    questions.dedup();
    Ok(PrunerLabels {
        questions,
        labels: labels.collect(),
        left_out: records.len() - sentences.len(),
        sentences,
        model: model.to_owned(),
    })
}

/// Trains a pruner on the labels that are not held out, with the vectors that fit best, and evaluates it on the
/// held-out labels: whole documents, if there are many.
///
/// # Errors
/// A label whose sentence is not in the corpus, too few labels or all equal, no vectors, a corpus that cannot be
/// read or is behind a search service, cancellation by `watch`.
pub fn learn_pruner(
    labels: &PrunerLabels,
    corpus: &BackEnd,
    vectors: &[PassageVectors<'_>],
    options: LearnOptions,
    watch: Watch<'_>,
) -> Result<(Head, PrunerReport), LearnError> {
    let labeled = &labels.labels;
    let passages = LabeledPassages::open(labels, corpus)?;
    // Labels of another corpus are told before a model reads anything.
    for some in labeled.chunks(READ_TOGETHER) {
        passages.read(some)?;
    }
    let texts: Vec<&str> = labeled
        .iter()
        .map(|label| label.passage_id.as_str())
        .collect();
    let task = HeadTask {
        purpose: Purpose::Pruner,
        fit: regress,
        targets: labeled.iter().map(|label| label.mastery).collect(),
        subjects: subjects(labeled),
        texts,
        digests: &labels.questions,
        left_out: labels.left_out,
        measured_on: MeasuredOn {
            model: labels.model.clone(),
            corpus: Some(corpus.content()),
            ..MeasuredOn::default()
        },
    };
    let vectors_of = |candidate: &PassageVectors<'_>, watch: Watch<'_>| {
        let mut vectors = Vec::with_capacity(labeled.len());
        for some in labeled.chunks(READ_TOGETHER) {
            if watch(vectors.len(), labeled.len()).is_break() {
                return Err(LearnError::of_head(Purpose::Pruner, HeadError::Interrupted));
            }
            let read = passages.read(some)?;
            match *candidate {
                PassageVectors::Stored => {
                    vectors.extend(read.into_iter().map(|(_, vector)| vector));
                }
                PassageVectors::Read { model, view } => {
                    let texts = read.iter().map(|(passage, _)| passage.text.as_str());
                    vectors.extend(passage_features(model, view, &texts.collect::<Vec<_>>())?);
                }
            }
        }
        Ok((candidate.input(), Cow::Owned(vectors)))
    };
    let measure = |judged: Judged<'_>| measures(labels, &judged, options.head.seed);
    let (mut head, source, report) = learn(task, vectors, vectors_of, measure, options, watch)?;
    match source.reader() {
        Some(reader) => head.measured_on.reader = Some(reader.to_owned()),
        None => head.measured_on.embedder = Some(corpus.embedder().fingerprint.clone()),
    }
    Ok((head, report))
}

fn measures(labels: &PrunerLabels, judged: &Judged<'_>, seed: u64) -> PrunerMeasures {
    let predictions: Vec<(f64, f64)> = judged
        .predicted
        .iter()
        .map(|&(label, predicted)| (predicted, labels.labels[label].mastery))
        .collect();
    let middle = mean(judged.trained).unwrap_or_default();
    let of_each = |measure: &dyn Fn(f64, f64) -> f64| {
        let predictions = predictions.iter();
        mean(
            &predictions
                .map(|&(predicted, mastery)| measure(predicted, mastery))
                .collect::<Vec<_>>(),
        )
    };
    PrunerMeasures {
        sentences: labels.sentences.len(),
        mastery: of_each(&|_, mastery| mastery),
        rank_correlation: rank_correlation(&predictions),
        rank_correlation_interval: interval(&predictions, DRAWS, seed, rank_correlation),
        squared_error: of_each(&|predicted, mastery| (predicted - mastery).powi(2)),
        squared_error_of_mean: of_each(&|_, mastery| (mastery - middle).powi(2)),
    }
}

/// Spearman's rank correlation; equal values share their mean rank. `None` if one side is constant.
fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let pairs: Vec<(f64, f64)> = ranks(&a).into_iter().zip(ranks(&b)).collect();
    correlation(&pairs)
}

/// What labels are split by: whole documents, if there are many.
fn subjects(labels: &[PrunerLabel]) -> Vec<&str> {
    let ids = labels.iter().map(|label| &label.passage_id);
    let documents: Vec<&str> = ids
        .clone()
        .map(|id| id.split().map_or("", |(document, _)| document))
        .collect();
    let count = documents.iter().collect::<BTreeSet<_>>().len();
    if count < MANY_DOCUMENTS {
        ids.map(PassageId::as_str).collect()
    } else {
        documents
    }
}

/// The labeled passages of a corpus.
struct LabeledPassages<'a> {
    stored: StoredPassages<'a>,
    /// By passage, the ids and texts of the labeled sentences.
    sentences: BTreeMap<&'a PassageId, Vec<(&'a str, &'a str)>>,
}

impl<'a> LabeledPassages<'a> {
    fn open(labels: &'a PrunerLabels, corpus: &'a BackEnd) -> Result<Self, LearnError> {
        let mut sentences: BTreeMap<&PassageId, Vec<(&str, &str)>> = BTreeMap::new();
        for (id, passage, words) in &labels.sentences {
            sentences
                .entry(passage)
                .or_default()
                .push((id.as_str(), words.as_str()));
        }
        let stored = StoredPassages::open(corpus).map_err(PruningError::from)?;
        Ok(Self { stored, sentences })
    }

    /// The passages of some labels, pruned or not, with their vectors: `[labels]`. Checks that every labeled sentence is
    /// in its passage.
    fn read(&self, labels: &[PrunerLabel]) -> Result<Vec<(Passage, Vec<f32>)>, LearnError> {
        let ids: Vec<PassageId> = labels
            .iter()
            .map(|label| label.passage_id.clone())
            .collect();
        let stored = self.stored.of(&ids)?.into_iter().zip(&ids);
        let checked = stored.map(|(stored, id)| {
            let sentences = self.sentences.get(id).map_or(&[][..], Vec::as_slice);
            let text = stored.as_ref().map(|(passage, _)| passage.text.as_str());
            let is_missing = |words: &str| text.is_none_or(|text| !text.contains(words));
            let missing = sentences.iter().find(|(_, words)| is_missing(words));
            match (stored, missing) {
                (Some(stored), None) => Ok(stored),
                (_, missing) => Err(LearnError::OtherCorpus {
                    id: missing
                        .map_or(id.as_str(), |(sentence, _)| sentence)
                        .to_owned(),
                }),
            }
        });
        checked.collect()
    }
}
