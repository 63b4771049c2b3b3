//! The signals of policies, measured once per question and recorded: a later run with other policies measures only
//! what is missing.

use std::collections::HashMap;
use std::path::Path;

use ken_answer::{
    Abstention, Cost, Measurements, Pipeline, Policy, QuestionPrompt, Retrieved, Signal, Step,
    Tokens, prompt, signals_of_abstention,
};
use ken_probe::Sample;
use serde::{Deserialize, Serialize};

use crate::calibration::{recorded, recorded_with_evidence};
use crate::dataset::Question;
use crate::probe::ProbeRecord;
use crate::record::{Failure, Record};
use crate::record_of_question;
use crate::results::ResultsFile;
use crate::run::{Outcome, Records, Run, RunError, Work, record_of};

/// The record of one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Signals {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// Its choices, if it is multiple-choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// What was measured without evidence.
    pub without: Measurements,
    /// What was measured with the evidence that the question retrieves.
    pub with: Measurements,
    /// Why measuring failed.
    pub error: Option<Failure>,
}

record_of_question!(Signals, Signals by Study, [question, choices]);

impl Signals {
    /// The question with its choices, for prompts.
    fn prompt(&self) -> QuestionPrompt<'_> {
        QuestionPrompt::new(self.question.trim(), &self.choices)
    }

    /// The record without the outputs of routing models other than the pipeline's.
    fn by_those_of(self, pipeline: &Pipeline) -> Self {
        let fingerprint = |model| pipeline.routing.fingerprint(model);
        Self {
            without: self.without.by(fingerprint),
            with: self.with.by(fingerprint),
            ..self
        }
    }

    /// The greedy answers without and with evidence.
    fn greedy(&self) -> impl Iterator<Item = &Sample> {
        [&self.without.greedy, &self.with.greedy]
            .into_iter()
            .flatten()
    }

    fn lacks(&self, required: &RequiredSignals) -> bool {
        let lacks = |measured: &Measurements, step: &Step| !measured.costs.contains_key(step);
        let mut before = required.without.iter().flat_map(|signal| signal.steps);
        let mut review = required
            .with
            .iter()
            .flat_map(|signal| signal.steps_of_review());
        self.error.is_none()
            && (before.any(|step| lacks(&self.without, step))
                || review.any(|step| lacks(&self.with, step)))
    }
}

/// The signals that policies need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequiredSignals {
    /// Signals with steps before there is evidence.
    pub without: Vec<Signal>,
    /// Signals that review evidence.
    pub with: Vec<Signal>,
}

impl RequiredSignals {
    /// The signals that policies, and withholding answers, need. For a pipeline without a gate, they include the
    /// inputs of gates instead of the gate.
    pub fn by(policies: &[Policy], abstain: Option<Abstention>, pipeline: &Pipeline) -> Self {
        let doubts = abstain.map(signals_of_abstention).into_iter().flatten();
        let searching = policies.iter().flat_map(|policy| policy.signals());
        let reviewing = policies.iter().filter_map(|policy| policy.reviews_by());
        let mut required = Self {
            without: searching.chain(doubts.clone()).collect(),
            with: reviewing.chain(doubts).collect(),
        };
        if policies_need_gate(policies) && pipeline.routing.gate.is_none() {
            for signals in [&mut required.without, &mut required.with] {
                signals.retain(|signal| *signal != Signal::EVIDENCE_GATE);
                signals.extend([Signal::EVIDENCE_COSINE, Signal::EVIDENCE_GAIN]);
            }
        }
        required
    }

    /// Refuses a file of answers without their openings if a signal reads these.
    ///
    /// # Errors
    /// [`RunError::WithoutOpenings`].
    pub(super) fn check_openings<'a>(
        &self,
        path: &Path,
        mut answers: impl Iterator<Item = &'a Sample>,
    ) -> Result<(), RunError> {
        match self.reading_openings() {
            Some(signal) if answers.any(Sample::lacks_opening) => Err(RunError::WithoutOpenings {
                path: path.to_owned(),
                signal,
            }),
            _ => Ok(()),
        }
    }

    fn reading_openings(&self) -> Option<Signal> {
        let mut signals = self.with.iter().copied();
        signals.find(|signal| signal.reads_opening())
    }
}

/// Whether any policy decides by a gate.
pub fn policies_need_gate(policies: &[Policy]) -> bool {
    let mut signals = policies.iter().flat_map(|policy| policy.signals());
    signals.any(|signal| signal == Signal::EVIDENCE_GATE)
}

/// A question and its choices.
type Asked = (String, Vec<String>);

/// What was already measured with this model and these prompts.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// From probing: without evidence, and with evidence of this corpus.
    probed: HashMap<Asked, [Measurements; 2]>,
    /// From answering: the greedy answers without and with evidence, with their costs.
    answered: HashMap<Asked, [Option<(Sample, Cost)>; 2]>,
}

impl Known {
    /// The measurements in probe records, with at most `samples` samples.
    ///
    /// # Errors
    /// A record of another model or other prompts than the pipeline's.
    pub fn of(
        records: &[ProbeRecord],
        samples: usize,
        pipeline: &Pipeline,
    ) -> Result<Self, RunError> {
        let model = pipeline.model.fingerprint();
        let prompt = prompt::fingerprint();
        let corpus = pipeline.retriever().map(|r| r.back_end().fingerprint());
        let probed = records.iter().filter(|record| record.error.is_none());
        let mut known = HashMap::new();
        for record in probed {
            if record.fingerprint.model != model || record.fingerprint.prompt != prompt {
                return Err(RunError::OtherModel {
                    id: record.id.clone(),
                });
            }
            let measured = recorded(record, samples);
            let with = match record.fingerprint.corpus == corpus {
                true => recorded_with_evidence(record),
                false => Measurements::default(),
            };
            let asked = (record.question.trim().to_owned(), record.choices.clone());
            known.insert(asked, [measured, with]);
        }
        Ok(Self {
            probed: known,
            answered: HashMap::new(),
        })
    }

    /// Refuses probed answers without their openings if a signal reads these.
    ///
    /// # Errors
    /// [`RunError::ProbedWithoutOpenings`].
    pub(super) fn check_openings(&self, required: &RequiredSignals) -> Result<(), RunError> {
        let lacks_opening = |measured: &Measurements| {
            let greedy = measured.greedy.as_ref();
            greedy.is_some_and(Sample::lacks_opening)
        };
        let mut probed = self.probed.iter();
        let old = probed.find(|(_, measured)| measured.iter().any(lacks_opening));
        match required.reading_openings().zip(old) {
            Some((signal, ((question, _), _))) => Err(RunError::ProbedWithoutOpenings {
                question: question.clone(),
                signal,
            }),
            None => Ok(()),
        }
    }

    /// Adds the answers to questions without and with evidence: `[questions]` each.
    #[must_use]
    pub fn and_answered(mut self, never: &[Record], always: &[Record]) -> Self {
        let drafts = never.iter().zip(always).map(|(never, always)| {
            let asked = (never.question.trim().to_owned(), never.choices.clone());
            (asked, [draft_of(never), draft_of(always)])
        });
        self.answered.extend(drafts);
        self
    }

    /// All that is known about a question, including what the file kept of it.
    fn complete(&self, kept: Option<Signals>, question: &Question) -> Signals {
        let asked = (
            question.question.trim().to_owned(),
            question.choices.clone(),
        );
        let mut signals = kept.unwrap_or_else(|| {
            let [without, with] = self.probed.get(&asked).cloned().unwrap_or_default();
            Signals {
                without,
                with,
                ..Signals::of(question)
            }
        });
        let measured = [&mut signals.without, &mut signals.with];
        let drafts = self.answered.get(&asked).into_iter().flatten();
        for (measured, draft) in measured.into_iter().zip(drafts) {
            let (Some((draft, cost)), false) = (draft, measured.costs.contains_key(&Step::Greedy))
            else {
                continue;
            };
            measured.greedy = Some(draft.clone());
            measured.costs.insert(Step::Greedy, *cost);
        }
        signals
    }
}

/// The greedy answer in a record, if there is one, with its cost.
fn draft_of(record: &Record) -> Option<(Sample, Cost)> {
    let times = ["read", "write"].map(|stage| record.timing_ms.get(stage));
    let ms = times.into_iter().flatten().sum();
    let Tokens { prompt, completion } = record.tokens;
    let cost = Cost::of_model(record.calls.model, prompt, completion, ms);
    Some((record.greedy.clone()?, cost))
}

/// The models and signals to measure with.
#[derive(Clone, Copy)]
pub struct SignalWork<'a> {
    /// The pipeline that answers.
    pub pipeline: &'a Pipeline,
    /// The signals to measure.
    pub required: &'a RequiredSignals,
    /// Measurements of earlier runs, which are not taken again.
    pub known: &'a Known,
}

/// Measures for every question the required signals that are neither known nor in the file, and appends them as soon
/// as they exist. A question that is itself at fault gets a record of failure.
///
/// # Errors
/// Those of a [`Run`], and [`RunError::WithoutOpenings`].
pub fn measure_signals(
    work: SignalWork<'_>,
    questions: &[Question],
    file: &mut ResultsFile<Signals>,
    mut run: Run<'_>,
) -> Result<Outcome<Signals>, RunError> {
    let recorded = questions
        .iter()
        .filter_map(|question| file.get(&question.id));
    let answers = recorded.flat_map(Signals::greedy);
    work.required.check_openings(file.path(), answers)?;
    let by_these = |signals: &Signals| signals.clone().by_those_of(work.pipeline);
    let is_complete = |signals: &Signals| !by_these(signals).lacks(work.required);
    let mut begun = HashMap::new();
    for question in questions {
        if let Some(signals) = record_of(question, file)?.filter(|signals| !is_complete(signals)) {
            begun.insert(&question.id, by_these(signals));
        }
    }
    let begin = |question: &Question| {
        work.known
            .complete(begun.get(&question.id).cloned(), question)
    };
    let batch = Work {
        batch: &mut |questions| measure(work, questions.iter().copied().map(begin).collect()),
        failed: &|question, error| Signals {
            error: Some(Failure::of(error)),
            ..Signals::of(question)
        },
        is_complete: &is_complete,
    };
    run.keep(questions, file, batch)
}

fn measure(work: SignalWork<'_>, mut all: Vec<Signals>) -> Records<Signals> {
    let (pipeline, required) = (work.pipeline, work.required);
    let without = all.iter_mut().map(|s| std::mem::take(&mut s.without));
    let without: Vec<Measurements> = without.collect();
    let with = all.iter_mut().map(|s| std::mem::take(&mut s.with));
    let mut with: Vec<Measurements> = with.collect();
    let asked: Vec<QuestionPrompt<'_>> = all.iter().map(Signals::prompt).collect();
    let without = pipeline.measure(&required.without, &asked, without)?;
    if !required.with.is_empty() {
        let evidence: Vec<Vec<Retrieved>> = pipeline.evidence(&asked)?;
        with = pipeline.measure_review(&required.with, &asked, with, &evidence, &without)?;
    }
    for ((signals, without), with) in all.iter_mut().zip(without).zip(with) {
        signals.without = without;
        signals.with = with;
    }
    Ok(all.into_iter().map(Ok).collect())
}
