//! What policies decide by, measured of each question once and kept: a later run with other policies
//! measures only what is missing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::{
    AnswerError, Measurements, Pipeline, Policy, QuestionPrompt, Retrieved, Signal, Step, prompt,
};
use ken_probe::judgment_tokens;
use serde::{Deserialize, Serialize};

use crate::calibration::recorded;
use crate::dataset::Question;
use crate::probe::ProbeRecord;
use crate::record::Failure;
use crate::results::{Line, ResultsError, ResultsFile};

/// The line kept for one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signals {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// What was measured without evidence.
    pub without: Measurements,
    /// What was measured with the evidence that the question retrieves.
    pub with: Measurements,
    /// Why nothing could be measured.
    pub error: Option<Failure>,
}

impl Line for Signals {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Signals {
    fn of(question: &Question) -> Self {
        Self {
            id: question.id.clone(),
            question: question.question.clone(),
            without: Measurements::default(),
            with: Measurements::default(),
            error: None,
        }
    }

    /// The same without what other routing models than the pipeline's told.
    fn by_those_of(self, pipeline: &Pipeline) -> Self {
        Self {
            without: self.without.by(pipeline.routing_models()),
            with: self.with.by(pipeline.routing_models()),
            ..self
        }
    }

    fn lacks(&self, required: &RequiredSignals) -> bool {
        let lacks = |measured: &Measurements, signals: &[Signal]| {
            let mut steps = signals.iter().flat_map(|signal| signal.steps);
            steps.any(|step| !measured.costs.contains_key(step))
        };
        self.error.is_none()
            && (lacks(&self.without, &required.without) || lacks(&self.with, &required.with))
    }
}

/// The signals that policies decide by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequiredSignals {
    /// Without evidence.
    pub without: Vec<Signal>,
    /// With evidence, by policies that judge twice.
    pub with: Vec<Signal>,
}

impl RequiredSignals {
    /// What some policies need.
    pub fn by(policies: &[Policy]) -> Self {
        let signals = |policy: &Policy| policy.signal();
        let twice = policies.iter().filter(|policy| policy.judges_twice());
        Self {
            without: policies.iter().filter_map(signals).collect(),
            with: twice.filter_map(signals).collect(),
        }
    }
}

/// Why signals could not be measured. Those measured before are in the file.
#[derive(Debug, thiserror::Error)]
pub enum SignalsError {
    /// Nothing can be measured any more.
    #[error("cannot take what the policies need of the question {id:?}: {source}")]
    Take {
        /// The question at which that was found out.
        id: String,
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The file holds another question of this id.
    #[error("the file of signals has another question under the id {id:?}: {recorded:?}")]
    OtherQuestion {
        /// The shared id.
        id: String,
        /// The question in the file.
        recorded: String,
    },
    /// Probe records of another model, or of other prompts.
    #[error("the question {id:?} was probed with another model or other prompts")]
    OtherModel {
        /// The question.
        id: String,
    },
    /// A line could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl SignalsError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Take { source, .. } => source.kind(),
            Self::OtherQuestion { .. } => "other_question",
            Self::OtherModel { .. } => "other_model",
            Self::Results(error) => error.kind(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Take { source, .. } => source.hint(),
            Self::OtherQuestion { .. } => {
                Some("use the question file of that run, or name a new folder by --out".to_owned())
            }
            Self::OtherModel { .. } => Some(
                "leave the records out, or probe again: `ken probe QUESTIONS --corpus DIR`"
                    .to_owned(),
            ),
            Self::Results(error) => error.hint(),
        }
    }
}

/// What probing has paid for already, by question: of records of this model and these prompts.
#[derive(Debug, Clone, Default)]
pub struct Known(HashMap<String, Measurements>);

impl Known {
    /// What the records hold, with no more than so many samples.
    ///
    /// # Errors
    /// A record of another model or other prompts than the pipeline's; a model that cannot count
    /// the tokens of prompts.
    pub fn of(
        records: &[ProbeRecord],
        samples: usize,
        pipeline: &Pipeline,
    ) -> Result<Self, SignalsError> {
        let model = pipeline.model().fingerprint();
        let prompt = prompt::fingerprint();
        // Questions with choices were asked with them, and policies ask without.
        let as_asked = |record: &&ProbeRecord| record.error.is_none() && record.choices.is_empty();
        let probed = records.iter().filter(as_asked);
        let mut known = HashMap::new();
        for record in probed {
            let same_model = ken_model::same_model(&record.fingerprint.model, model);
            if !same_model || record.fingerprint.prompt != prompt {
                return Err(SignalsError::OtherModel {
                    id: record.id.clone(),
                });
            }
            let mut measured = recorded(record, samples);
            if record.costs.is_empty() {
                let counted = count_prompts(&mut measured, record.question.trim(), pipeline);
                counted.map_err(|source| SignalsError::Take {
                    id: record.id.clone(),
                    source: Box::new(source),
                })?;
            }
            known.insert(record.question.trim().to_owned(), measured);
        }
        Ok(Self(known))
    }
}

/// Counts the tokens of prompts where the record of probing does not tell them.
fn count_prompts(
    measured: &mut Measurements,
    question: &str,
    pipeline: &Pipeline,
) -> Result<(), AnswerError> {
    let model = pipeline.model();
    let read = model.count_prompt_tokens(&prompt::from_memory(QuestionPrompt::open(question)))?;
    for (step, cost) in &mut measured.costs {
        cost.tokens.prompt = match step {
            Step::Judge => judgment_tokens(model, question)?,
            // Once for each of the answers behind which states were looked at.
            Step::Inspect => read * cost.calls.model,
            _ => read,
        };
    }
    Ok(())
}

/// What signals are measured with, and which.
#[derive(Clone, Copy)]
pub struct SignalWork<'a> {
    /// What questions would be answered with.
    pub pipeline: &'a Pipeline,
    /// What policies decide by.
    pub required: &'a RequiredSignals,
    /// What is known already.
    pub known: &'a Known,
}

/// Measures of every question what is required and neither known nor in the file, `batch` questions at a time, and keeps
/// it as soon as there is something. A question that itself is at fault is kept as failed.
/// `progress` is given how many questions are done, at the start and after each batch; `cancel` is
/// looked at before each.
///
/// # Shapes
/// Returns `[questions]`, in their order; `None` where it was cancelled before the last.
///
/// # Errors
/// The first failure that other questions would meet as well, or the first line that cannot be kept.
pub fn measure_signals(
    work: SignalWork<'_>,
    questions: &[Question],
    file: &mut ResultsFile<Signals>,
    batch: usize,
    progress: &mut dyn FnMut(usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<Signals>>, SignalsError> {
    let mut open = Vec::new();
    for question in questions {
        match file.get(&question.id) {
            Some(known) if known.question != question.question => {
                return Err(SignalsError::OtherQuestion {
                    id: question.id.clone(),
                    recorded: known.question.clone(),
                });
            }
            Some(known)
                if !known
                    .clone()
                    .by_those_of(work.pipeline)
                    .lacks(work.required) => {}
            _ => open.push(question),
        }
    }
    let mut done = questions.len() - open.len();
    progress(done);
    for questions in open.chunks(batch.max(1)) {
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let kept = measure_each(work, questions, file);
        file.sync()?;
        match kept {
            Err(SignalsError::Take { .. }) if cancel.load(Ordering::Relaxed) => return Ok(None),
            kept => kept?,
        }
        done += questions.len();
        progress(done);
    }
    let measured = questions.iter().map(|q| file.get(&q.id).cloned());
    Ok(measured.collect())
}

/// Measures questions at once, or one by one where one of them is at fault.
fn measure_each(
    work: SignalWork<'_>,
    questions: &[&Question],
    file: &mut ResultsFile<Signals>,
) -> Result<(), SignalsError> {
    let Some(first) = questions.first() else {
        return Ok(());
    };
    let before = questions.iter().map(|question| {
        let begun = file.get(&question.id).cloned();
        let begun = begun.map(|begun| begun.by_those_of(work.pipeline));
        begun.unwrap_or_else(|| Signals {
            without: work
                .known
                .0
                .get(question.question.trim())
                .cloned()
                .unwrap_or_default(),
            ..Signals::of(question)
        })
    });
    match measure(work, before.collect()) {
        Ok(all) => {
            for signals in all {
                file.append(signals)?;
            }
            Ok(())
        }
        Err(error) if error.concerns_question() && questions.len() > 1 => questions
            .iter()
            .try_for_each(|question| measure_each(work, &[question], file)),
        Err(error) if error.concerns_question() => {
            let error = Some(Failure::of(&error));
            let failed = Signals {
                error,
                ..Signals::of(first)
            };
            Ok(file.append(failed)?)
        }
        Err(error) => Err(SignalsError::Take {
            id: first.id.clone(),
            source: Box::new(error),
        }),
    }
}

fn measure(work: SignalWork<'_>, mut all: Vec<Signals>) -> Result<Vec<Signals>, AnswerError> {
    let SignalWork {
        pipeline, required, ..
    } = work;
    let texts: Vec<String> = all
        .iter()
        .map(|one| one.question.trim().to_owned())
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let without = all.iter_mut().map(|one| std::mem::take(&mut one.without));
    let without = pipeline.measure(&required.without, &texts, without.collect(), None)?;
    let with = all.iter_mut().map(|one| std::mem::take(&mut one.with));
    let mut with: Vec<Measurements> = with.collect();
    if !required.with.is_empty() {
        let question_prompts: Vec<QuestionPrompt<'_>> =
            texts.iter().copied().map(QuestionPrompt::open).collect();
        let evidence: Vec<Vec<Retrieved>> = pipeline.evidence(&question_prompts)?;
        with = pipeline.measure(&required.with, &texts, with, Some(&evidence))?;
    }
    for ((signals, without), with) in all.iter_mut().zip(without).zip(with) {
        signals.without = without;
        signals.with = with;
    }
    Ok(all)
}
