//! Measuring what signals need of the model: its own judgment of a question, the greedy answer, sampled
//! answers, their hidden states, what was trained to tell; and what each costs.

use std::collections::BTreeSet;
use std::time::Instant;

use ken_model::embedder::Embedder;
use ken_model::language::{LanguageModel, Prompt};
use ken_probe::{
    DrawRequest, Drawn, SampleOptions, draw, eigenscores, judge_need, seed_of, types_by_string,
};

use super::{ChosenSource, Cost, Measurements, Signal, Step, share};
use crate::assessor::Assessor;
use crate::datastore::Datastore;
use crate::error::AnswerError;
use crate::prompt::{self, Indicator, QuestionPrompt};
use crate::router::{Representation, Router, represent};

/// What measuring takes.
#[derive(Clone, Copy)]
pub(crate) struct Measuring<'a> {
    pub(crate) model: &'a dyn LanguageModel,
    pub(crate) options: SampleOptions,
    pub(crate) seed: u64,
    /// The router and the embedder of its vectors, where there are any.
    pub(crate) router: Option<&'a Router>,
    pub(crate) embedder: Option<&'a dyn Embedder>,
    /// What says whether the model knows, where there is any.
    pub(crate) assessor: Option<&'a Assessor>,
    /// Votes on the source that the model chooses, where there is any.
    pub(crate) datastore: Option<&'a Datastore>,
}

/// What was measured so far; `None` of a question on which the model was stopped.
type SoFar = [Option<Measurements>];

impl Measuring<'_> {
    /// Measures of every question what the signals need, and nothing else: of the model's judgment the
    /// questions themselves, of all others the prompts that they are asked by. A step that was paid
    /// before is not measured again. `None` for a question on which the model was stopped.
    ///
    /// # Shapes
    /// `questions`, `prompts` and `before`: `[questions]`. Returns the same.
    ///
    /// # Errors
    /// A prompt that does not fit, a model that cannot tell how likely a word is or that fails.
    pub(crate) fn measure(
        &self,
        signals: &[Signal],
        questions: &[&str],
        prompts: &[Prompt],
        before: Vec<Measurements>,
    ) -> Result<Vec<Option<Measurements>>, AnswerError> {
        let mut all: Vec<Option<Measurements>> = before.into_iter().map(Some).collect();
        let steps: BTreeSet<Step> = signals.iter().flat_map(|one| one.steps).copied().collect();
        for step in steps {
            let unpaid = |measured: &Measurements| !measured.costs.contains_key(&step);
            let open: Vec<usize> = (0..all.len())
                .filter(|&index| all[index].as_ref().is_some_and(unpaid))
                .collect();
            match step {
                Step::Judge => self.judge(questions, &open, &mut all)?,
                Step::Draft => {
                    let asked = open.iter().map(|&index| {
                        DrawRequest::greedy(&prompts[index], self.options.max_tokens)
                    });
                    let asked: Vec<_> = asked.collect();
                    self.draw(step, &asked, &open, &mut all, |measured, drawn| {
                        measured.draft = drawn.samples.into_iter().next();
                    })?;
                }
                Step::Sample => {
                    let asked = open.iter().map(|&index| {
                        let seed = seed_of(self.seed, questions[index]);
                        DrawRequest::for_samples(&prompts[index], self.options, seed)
                    });
                    let asked: Vec<_> = asked.collect();
                    self.draw(step, &asked, &open, &mut all, |measured, drawn| {
                        let samples = drawn.samples.iter();
                        let texts: Vec<&str> = samples.map(|one| one.text.as_str()).collect();
                        measured.types = types_by_string(&texts);
                        measured.samples = drawn.samples;
                    })?;
                }
                Step::Inspect => self.inspect(prompts, &open, &mut all)?,
                Step::Represent => self.represent(questions, prompts, &open, &mut all)?,
                Step::AssessMastery | Step::AssessCertainty => {
                    self.assess(step, questions, prompts, &open, &mut all)?;
                }
                Step::ChooseSource => self.choose_source(questions, &open, &mut all)?,
            }
        }
        Ok(all)
    }

    fn judge(
        &self,
        questions: &[&str],
        open: &[usize],
        all: &mut SoFar,
    ) -> Result<(), AnswerError> {
        let questions: Vec<&str> = open.iter().map(|&index| questions[index]).collect();
        let judged = judge(self.model, &questions)?;
        for (&index, (judgment, cost)) in open.iter().zip(judged) {
            if let Some(measured) = &mut all[index] {
                measured.judgment = Some(judgment);
                measured.costs.insert(Step::Judge, cost);
            }
        }
        Ok(())
    }

    /// Draws answers for a step and has them kept.
    fn draw(
        &self,
        step: Step,
        asked: &[DrawRequest<'_>],
        open: &[usize],
        all: &mut SoFar,
        keep: impl Fn(&mut Measurements, Drawn),
    ) -> Result<(), AnswerError> {
        for (&index, drawn) in open.iter().zip(draw_answers(self.model, asked)?) {
            match (&mut all[index], drawn) {
                (Some(measured), Some((drawn, cost))) => {
                    measured.costs.insert(step, cost);
                    keep(measured, drawn);
                }
                (slot, _) => *slot = None,
            }
        }
        Ok(())
    }

    fn represent(
        &self,
        questions: &[&str],
        prompts: &[Prompt],
        open: &[usize],
        all: &mut SoFar,
    ) -> Result<(), AnswerError> {
        let router = self.router.ok_or(AnswerError::NoRouter)?;
        let started = Instant::now();
        let by = Representation::of(router.head.input, self.model, self.embedder, self.assessor)?;
        let questions: Vec<&str> = open.iter().map(|&index| questions[index]).collect();
        let vectors = represent(by, &questions)?;
        let ms = share(started.elapsed(), open.len());
        for ((&index, vector), question) in open.iter().zip(vectors).zip(questions) {
            let cost = match by {
                Representation::Embedding(_) => Cost::of_model(0, 0, 0, ms),
                Representation::HiddenState { model, .. } => {
                    Cost::of_model(1, model.count_prompt_tokens(&prompts[index])?, 0, ms)
                }
                Representation::FirstToken(model) => {
                    Cost::of_model(1, model.count_prompt_tokens(&prompts[index])?, 1, ms)
                }
                Representation::FirstTokenAndMastery { model, assessor } => {
                    let asked = &prompts[index];
                    let assessed = assessor.prompt_tokens(question, asked, Indicator::Mastery)?;
                    Cost::of_model(2, model.count_prompt_tokens(asked)? + assessed, 1, ms)
                }
            };
            if let Some(measured) = &mut all[index] {
                measured.routed = Some(router.route(&vector));
                measured.costs.insert(Step::Represent, cost);
            }
        }
        Ok(())
    }

    fn assess(
        &self,
        step: Step,
        questions: &[&str],
        prompts: &[Prompt],
        open: &[usize],
        all: &mut SoFar,
    ) -> Result<(), AnswerError> {
        let assessor = self.assessor.ok_or(AnswerError::NoAssessor)?;
        let started = Instant::now();
        let indicator = match step {
            Step::AssessCertainty => Indicator::Certainty,
            _ => Indicator::Mastery,
        };
        let questions: Vec<&str> = open.iter().map(|&index| questions[index]).collect();
        let prompts: Vec<&Prompt> = open.iter().map(|&index| &prompts[index]).collect();
        let assessed = assessor.assess(&questions, &prompts, indicator)?;
        let ms = share(started.elapsed(), open.len());
        for (&index, assessed) in open.iter().zip(assessed) {
            if let Some(measured) = &mut all[index] {
                let verdicts = &mut measured.assessed;
                assessor.fingerprint().clone_into(&mut verdicts.by);
                match indicator {
                    Indicator::Mastery => verdicts.mastery = Some(assessed.need),
                    Indicator::Certainty => verdicts.certainty = Some(assessed.need),
                }
                measured
                    .costs
                    .insert(step, Cost::of_model(1, assessed.prompt_tokens, 0, ms));
            }
        }
        Ok(())
    }

    fn choose_source(
        &self,
        questions: &[&str],
        open: &[usize],
        all: &mut SoFar,
    ) -> Result<(), AnswerError> {
        let started = Instant::now();
        let prompts = open
            .iter()
            .map(|&index| QuestionPrompt::open(questions[index]));
        let prompts: Vec<Prompt> = prompts.map(prompt::choose_source).collect();
        let corpora = self.model.corpora();
        let layer = self.datastore.map_or(0, |store| store.keyed_by().layer);
        let asked: Vec<&Prompt> = prompts.iter().collect();
        let choices = self.model.choose_sources(&asked, layer)?;
        let mut chosen = Vec::with_capacity(open.len());
        for choice in &choices {
            let votes = self.datastore.map(|store| store.shares(&choice.state));
            chosen.push(chosen_of(
                &choice.shares,
                votes.transpose()?.as_deref(),
                &corpora,
            ));
        }
        let ms = share(started.elapsed(), open.len());
        for ((&index, prompt), (need, corpus)) in open.iter().zip(&prompts).zip(chosen) {
            let read = self.model.count_prompt_tokens(prompt)?;
            if let Some(measured) = &mut all[index] {
                measured.chosen = Some(ChosenSource {
                    datastore: self.datastore.map(|store| store.fingerprint().to_owned()),
                    need,
                    corpus: corpus.to_owned(),
                });
                measured
                    .costs
                    .insert(Step::ChooseSource, Cost::of_model(1, read, 0, ms));
            }
        }
        Ok(())
    }

    fn inspect(
        &self,
        prompts: &[Prompt],
        open: &[usize],
        all: &mut SoFar,
    ) -> Result<(), AnswerError> {
        let (open, answers): (Vec<usize>, Vec<Vec<&str>>) = open
            .iter()
            .filter_map(|&index| {
                let samples = all[index].as_ref()?.samples.iter();
                Some((index, samples.map(|sample| sample.text.as_str()).collect()))
            })
            .unzip();
        let prompts: Vec<&Prompt> = open.iter().map(|&index| &prompts[index]).collect();
        let inspected = inspect_answers(self.model, &prompts, &answers)?;
        for (index, (eigenscore, cost)) in open.into_iter().zip(inspected) {
            if let Some(measured) = &mut all[index] {
                measured.eigenscore = eigenscore;
                measured.costs.insert(Step::Inspect, cost);
            }
        }
        Ok(())
    }
}

/// The model's own judgment of each question, and what it cost.
///
/// # Errors
/// A model that fails or gives no scores.
pub fn judge(
    model: &dyn LanguageModel,
    questions: &[&str],
) -> Result<Vec<(f64, Cost)>, AnswerError> {
    let started = Instant::now();
    let judged = judge_need(model, questions)?;
    let ms = share(started.elapsed(), questions.len());
    let cost = |read| Cost::of_model(1, read, 0, ms);
    let judged = judged.into_iter();
    Ok(judged
        .map(|one| (one.need, cost(one.prompt_tokens)))
        .collect())
}

/// The answers to each prompt, and what they cost; `None` where the model was stopped.
///
/// # Errors
/// A prompt that does not fit, a model that fails.
pub fn draw_answers(
    model: &dyn LanguageModel,
    asked: &[DrawRequest<'_>],
) -> Result<Vec<Option<(Drawn, Cost)>>, AnswerError> {
    let started = Instant::now();
    let drawn = draw(model, asked)?;
    let ms = share(started.elapsed(), asked.len());
    let paid = |drawn: Drawn| {
        let (calls, written) = (drawn.samples.len(), drawn.written_tokens());
        let cost = Cost::of_model(calls, drawn.prompt_tokens, written, ms);
        (drawn, cost)
    };
    Ok(drawn.into_iter().map(|drawn| drawn.map(paid)).collect())
}

/// The eigenscore of the answers to each prompt, and what it cost.
///
/// # Shapes
/// `answers`: `[prompts][answers]`. Returns `[prompts]`.
///
/// # Errors
/// A model that fails or does not show its hidden states.
pub fn inspect_answers(
    model: &dyn LanguageModel,
    prompts: &[&Prompt],
    answers: &[Vec<&str>],
) -> Result<Vec<(Option<f64>, Cost)>, AnswerError> {
    let started = Instant::now();
    let scores = eigenscores(model, prompts, answers)?;
    let ms = share(started.elapsed(), prompts.len());
    let each = scores.into_iter().zip(prompts).zip(answers);
    each.map(|((score, prompt), answers)| {
        let distinct = answers.iter().collect::<BTreeSet<_>>().len();
        let read = distinct * model.count_prompt_tokens(prompt)?;
        Ok((score, Cost::of_model(distinct, read, 0, ms)))
    })
    .collect()
}

/// The sum over corpora of the model's share times the votes', and the corpus with the largest
/// product (SR-RAG, Eq. 7). Without votes, by the model alone.
///
/// # Shapes
/// `shares`, `votes`: `[sources]`, the model itself first; `corpora`: `[sources - 1]`.
fn chosen_of<'c>(shares: &[f64], votes: Option<&[f64]>, corpora: &[&'c str]) -> (f64, &'c str) {
    let mut sum = 0.0;
    let mut best = (f64::NEG_INFINITY, "");
    for (place, name) in corpora.iter().enumerate() {
        let of = |all: &[f64]| all.get(place + 1).copied().unwrap_or_default();
        let product = of(shares) * votes.map_or(1.0, of);
        sum += product;
        if product > best.0 {
            best = (product, name);
        }
    }
    // Rounding may take a sum of shares past 1, where no threshold could follow it.
    (sum.clamp(0.0, 1.0), best.1)
}
