//! The query router (Zero-RAG, section 3.2 and Eq. 5): it predicts from a vector of a question the probability that
//! the model answers it wrong from memory, or is unsure of it ([`Target`]).
//!
//! A question counts as mastered if the greedy answer from memory, which is the answer without retrieval, is right.
//! Whatever its target, a router is evaluated by that if there are golden answers.

use std::borrow::Cow;

use ken_answer::{QuestionPrompt, all_words};
use ken_eval::bootstrap::interval;
use ken_eval::discrimination::{Prediction, auroc, average_precision, expected_calibration_error};
use ken_eval::probe::ProbeRecord;
use ken_eval::split::{AboutSubject, untaught};
use ken_eval::statistics::{number, share};
use ken_policy::{Head, Input, MeasuredOn, Purpose, Vocabulary, is_among};
use ken_train::heads::{HeadError, Watch, classify};
use serde::Serialize;

use super::head::{HeadReport, HeadTask, Judged, learn};
use super::target::{Target, best_split};
use super::{LearnError, LearnOptions, same_model};

/// Bins of the calibration error.
const BINS: usize = 10;

/// Resamples of the interval.
const DRAWS: usize = 2000;

/// A question with the target of a router.
#[derive(Debug, Clone, PartialEq)]
pub struct RouterLabel {
    /// The question.
    pub question: String,
    /// Its subject.
    pub subject: String,
    /// Its choices, if it is multiple-choice.
    pub choices: Vec<String>,
    /// The target; higher means more need of retrieval.
    pub need: f64,
    /// Whether the greedy answer from memory is right; `None` without golden answers.
    pub mastered: Option<bool>,
}

impl RouterLabel {
    /// The question with its choices, for prompts.
    pub fn prompt(&self) -> QuestionPrompt<'_> {
        QuestionPrompt::new(&self.question, &self.choices)
    }
}

/// The labels of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct RouterLabels {
    /// The target.
    pub target: Target,
    /// One for each question whose target is known.
    pub labels: Vec<RouterLabel>,
    /// The model's fingerprint.
    pub model: String,
    /// The fingerprint of the prompts.
    pub prompt: String,
    /// Questions without a label, or that the router's assessor was trained on.
    pub left_out: usize,
}

impl RouterLabels {
    /// Leaves out questions on subjects that the assessor, whose verdicts the router reads, was trained on: it knows
    /// these by heart. `taught` are the digests of its questions, ascending.
    ///
    /// # Errors
    /// [`LearnError::AllTaught`].
    pub fn leave_out_taught(&mut self, taught: &[u64]) -> Result<(), LearnError> {
        let all = self.labels.len();
        let is_taught = |label: &RouterLabel| is_among(taught, &label.question);
        let mut untaught = untaught(&self.labels, |label| &label.subject, is_taught).into_iter();
        self.labels.retain(|_| untaught.next().unwrap_or(true));
        self.left_out += all - self.labels.len();
        match self.labels.is_empty() {
            true => Err(LearnError::AllTaught { questions: all }),
            false => Ok(()),
        }
    }

    /// The labels that are not held out.
    pub fn learned(&self, options: LearnOptions) -> impl Iterator<Item = &RouterLabel> {
        let is_learned = move |label: &&RouterLabel| !options.held_out.holds_out(&label.subject);
        self.labels.iter().filter(is_learned)
    }

    /// The questions with their choices, for prompts.
    pub fn questions(&self) -> Vec<QuestionPrompt<'_>> {
        self.labels.iter().map(RouterLabel::prompt).collect()
    }

    /// The words of the questions that are not held out.
    pub fn vocabulary(&self, options: LearnOptions) -> Vocabulary {
        let learned = self.learned(options);
        let texts: Vec<String> = learned.map(|label| all_words(label.prompt())).collect();
        Vocabulary::of(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Vectors that a router could take.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Their source.
    pub input: Input,
    /// The words that they count, for vectors of words.
    pub vocabulary: Option<Vocabulary>,
    /// One for each label: `[labels][dimensions]`.
    pub vectors: Vec<Vec<f32>>,
}

/// The report of a router, by questions.
pub type RouterReport = HeadReport<RouterMeasures>;

/// How good a router is on held-out questions. Values are `None` if these are all of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RouterMeasures {
    /// Its target.
    pub predicts: Target,
    /// The border of the target: higher numbers were trained as ones.
    pub border: f64,
    /// The area under the ROC curve for its target.
    pub target_auroc: Option<f64>,
    /// The share of held-out questions that the model answers right from memory. This and the following count the
    /// questions with golden answers.
    pub mastered: Option<f64>,
    /// The area under the ROC curve for these right answers.
    pub auroc: Option<f64>,
    /// Its 95 % bootstrap interval over questions.
    pub auroc_interval: Option<[f64; 2]>,
    /// The area under the precision-recall curve for them.
    pub auprc: Option<f64>,
    /// The expected calibration error of its probabilities.
    pub ece: Option<f64>,
}

/// The labels for a target in probe records.
///
/// # Errors
/// Records without labels, or of several models.
pub fn router_labels(records: &[ProbeRecord], target: Target) -> Result<RouterLabels, LearnError> {
    let mut labels = Vec::new();
    let mut of = None;
    for record in records {
        let Some(need) = target.of(record).filter(|need| need.is_finite()) else {
            continue;
        };
        let greedy = record.greedy.from_self.as_ref();
        of = Some(same_model(of, record)?);
        labels.push(RouterLabel {
            question: record.question.trim().to_owned(),
            subject: record.subject().to_owned(),
            choices: record.choices.clone(),
            need,
            mastered: greedy.and_then(|answer| answer.correct),
        });
    }
    let Some((model, prompt)) = of else {
        let records = records.len();
        return Err(match target.takes_golden_answers() {
            true => LearnError::NoLabels {
                purpose: Purpose::Router,
                records,
            },
            false => LearnError::NoSamples { records },
        });
    };
    Ok(RouterLabels {
        target,
        left_out: records.len() - labels.len(),
        model: model.to_owned(),
        prompt: prompt.to_owned(),
        labels,
    })
}

/// Trains a router on the labels that are not held out, with the candidate that fits best, and evaluates it on the
/// held-out labels. The split is by subject. `beside` names what else the candidates were measured with, besides the
/// labels' model and prompts.
///
/// # Errors
/// Too few labels, or of one class only; vectors of the wrong shape; cancellation by `watch`.
pub fn learn_router<'c>(
    labels: &RouterLabels,
    candidates: &'c [Candidate],
    beside: MeasuredOn,
    options: LearnOptions,
    watch: Watch<'_>,
) -> Result<(Head, RouterReport), LearnError> {
    let needs: Vec<f64> = labels.learned(options).map(|label| label.need).collect();
    let border = border(labels.target, &needs)?;
    let labeled = &labels.labels;
    let task = HeadTask {
        purpose: Purpose::Router,
        fit: |vectors, needs, options, watch| {
            let needy: Vec<bool> = needs.iter().map(|need| *need > 0.5).collect();
            classify(vectors, &needy, options, watch)
        },
        targets: labeled
            .iter()
            .map(|label| number(label.need > border))
            .collect(),
        subjects: labeled.iter().map(|label| &label.subject[..]).collect(),
        texts: labeled.iter().map(|label| &label.question[..]).collect(),
        digests: &[],
        left_out: labels.left_out,
        measured_on: MeasuredOn {
            model: labels.model.clone(),
            prompt: Some(labels.prompt.clone()),
            ..beside
        },
    };
    let vectors_of = |candidate: &'c Candidate, _: Watch<'_>| {
        Ok((candidate.input, Cow::from(&candidate.vectors)))
    };
    let measure = |judged: Judged<'_>| {
        let predicted = || {
            let predicted = judged.predicted.iter();
            predicted.map(|&(label, need)| (1.0 - need, &labeled[label]))
        };
        let of_target: Vec<Prediction> = predicted()
            .map(|(sure, label)| (sure, label.need <= border))
            .collect();
        let predictions: Vec<Prediction> = predicted()
            .filter_map(|(sure, label)| Some((sure, label.mastered?)))
            .collect();
        RouterMeasures {
            predicts: labels.target,
            border,
            target_auroc: auroc(&of_target),
            mastered: share(predictions.iter().map(|prediction| prediction.1)),
            auroc: auroc(&predictions),
            auroc_interval: interval(&predictions, DRAWS, options.head.seed, auroc),
            auprc: average_precision(&predictions),
            ece: expected_calibration_error(&predictions, BINS),
        }
    };
    let (head, chosen, report) = learn(task, candidates, vectors_of, measure, options, watch)?;
    Ok((head.with_vocabulary(chosen.vocabulary.clone()), report))
}

/// The number above which a target is trained as a one.
fn border(target: Target, needs: &[f64]) -> Result<f64, LearnError> {
    if target.takes_golden_answers() {
        return Ok(0.5);
    }
    best_split(needs).ok_or_else(|| {
        let examples = needs.len();
        LearnError::of_head(Purpose::Router, HeadError::OneValue { examples })
    })
}

/// A head over other features with the same labels and split: what a router achieves without looking into the model
/// that it predicts for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Control {
    /// Its features.
    pub reads: String,
    /// Its report.
    #[serde(flatten)]
    pub report: RouterReport,
    /// The share of the router's lead over chance, in AUROC, that it reaches; `None` if the router has no lead.
    pub reaches: Option<f64>,
}

impl Control {
    /// Compares a head over other features with a router.
    pub fn new(reads: String, report: RouterReport, router: &RouterReport) -> Self {
        let lead = |report: &RouterReport| Some(report.measured.auroc? - 0.5);
        let leads = lead(&report).zip(lead(router)).filter(|(_, of)| *of > 0.0);
        Self {
            reads,
            reaches: leads.map(|(own, of)| own / of),
            report,
        }
    }
}
