//! What a policy decides by, taken from the model: its own judgment of a question, the likeliest
//! answer, sampled answers, their hidden states; and what each costs. The choice that follows is in
//! `ken_route`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ken_model::embedder::Embedder;
use ken_model::language::{LanguageModel, Prompt};
use ken_probe::{
    Asked, Drawn, Sample, SampleOptions, certainty, draw, eigenscores, judge_need,
    lexical_similarity, perplexity, seed_of, semantic_entropy, types_by_string,
};
use ken_route::Measure;
use serde::{Deserialize, Serialize};

use crate::answer::{Calls, Tokens};
use crate::assessor::Assessor;
use crate::datastore::Datastore;
use crate::error::AnswerError;
use crate::prompt::{self, Indicator, Posed};
use crate::router::{Representation, Routed, Router, represent};

/// What is asked of the model for a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Whether it needs to look the question up.
    Judge,
    /// Its likeliest answer.
    Draft,
    /// Sampled answers.
    Sample,
    /// Its hidden states behind the samples.
    Inspect,
    /// The vector of the question that a router takes.
    Represent,
    /// Whether the answer is mastered, asked of a model that was trained on that.
    AssessMastery,
    /// Whether answers agree, asked of the same.
    AssessCertainty,
    /// Which source a model takes that was trained to choose.
    ChooseSource,
}

impl Step {
    /// As the step is called among the times of a trace.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Draft => "draft",
            Self::Sample => "sample",
            Self::Inspect => "inspect",
            Self::Represent => "represent",
            Self::AssessMastery => "assess mastery",
            Self::AssessCertainty => "assess certainty",
            Self::ChooseSource => "choose source",
        }
    }
}

/// The steps that a measure takes.
#[must_use]
pub fn steps(measure: Measure) -> &'static [Step] {
    match measure {
        Measure::Judgment => &[Step::Judge],
        Measure::Perplexity | Measure::MeanTokenEntropy | Measure::MaxTokenEntropy => {
            &[Step::Draft]
        }
        Measure::Certainty | Measure::SemanticEntropy | Measure::LexicalSimilarity => {
            &[Step::Sample]
        }
        Measure::Eigenscore => &[Step::Sample, Step::Inspect],
        Measure::Router => &[Step::Represent],
        Measure::Mastery => &[Step::AssessMastery],
        Measure::Certitude => &[Step::AssessCertainty],
        Measure::SelfRoute => &[Step::ChooseSource],
    }
}

/// What a step costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Calls.
    pub calls: Calls,
    /// Tokens.
    pub tokens: Tokens,
    /// Milliseconds; where many questions were asked at once, its share. `None` where nobody took
    /// the time.
    #[serde(default, deserialize_with = "taken_time")]
    pub ms: Option<f64>,
}

impl Cost {
    /// What calls of the model cost.
    #[must_use]
    pub fn of_model(calls: usize, read: usize, written: usize, ms: f64) -> Self {
        Self {
            calls: Calls {
                model: calls,
                retriever: 0,
            },
            tokens: Tokens {
                prompt: read,
                completion: written,
            },
            ms: Some(ms),
        }
    }
}

/// Nothing takes no time: where that was written, it was not taken.
fn taken_time<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let ms: Option<f64> = Option::deserialize(from)?;
    Ok(ms.filter(|ms| *ms > 0.0))
}

/// What was taken of one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// Probability in `[0, 1]` with which the model says that it must look the question up.
    pub judgment: Option<f64>,
    /// The likeliest answer.
    pub draft: Option<Sample>,
    /// Sampled answers.
    pub samples: Vec<Sample>,
    /// The answer type of each: those of one type say the same.
    pub types: Vec<usize>,
    /// The eigenscore of the samples.
    pub eigenscore: Option<f64>,
    /// What a router holds.
    pub routed: Option<Routed>,
    /// What a model that was trained on the boundary denies.
    #[serde(default)]
    pub assessed: Verdicts,
    /// What a model chose that was trained to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ChosenSource>,
    /// What was paid, by step.
    pub costs: BTreeMap<Step, Cost>,
}

impl Taken {
    /// The measure, the larger the more the question needs retrieval; `None` where it was not taken
    /// or the model does not tell what it takes.
    #[must_use]
    pub fn need(&self, measure: Measure) -> Option<f64> {
        let texts = || -> Vec<&str> { self.samples.iter().map(|s| s.text.as_str()).collect() };
        match measure {
            Measure::Judgment => self.judgment,
            Measure::Certainty => certainty(&self.types).map(|certainty| 1.0 - certainty),
            Measure::Perplexity => perplexity(self.draft.as_ref()?),
            Measure::MeanTokenEntropy => Some(self.draft.as_ref()?.entropy?.mean),
            Measure::MaxTokenEntropy => Some(self.draft.as_ref()?.entropy?.max),
            Measure::SemanticEntropy => semantic_entropy(&self.samples, &self.types),
            Measure::LexicalSimilarity => lexical_similarity(&texts()).map(|alike| 1.0 - alike),
            Measure::Eigenscore => self.eigenscore,
            Measure::Router => self.routed.as_ref().map(|routed| routed.need),
            Measure::Mastery => self.assessed.mastery,
            Measure::Certitude => self.assessed.certainty,
            Measure::SelfRoute => self.chosen.as_ref().map(|chosen| chosen.need),
        }
    }

    /// The same without what others held than those that decide now.
    #[must_use]
    pub fn by(mut self, deciders: Deciders<'_>) -> Self {
        let Deciders {
            router,
            assessor,
            datastore,
        } = deciders;
        let other = |chosen: &mut ChosenSource| chosen.datastore.as_deref() != datastore;
        if self.chosen.take_if(other).is_some() {
            self.costs.remove(&Step::ChooseSource);
        }
        let other = |routed: &mut Routed| Some(routed.router.as_str()) != router;
        if self.routed.take_if(other).is_some() {
            self.costs.remove(&Step::Represent);
        }
        if Some(self.assessed.by.as_str()) != assessor {
            self.assessed = Verdicts::default();
            self.costs.remove(&Step::AssessMastery);
            self.costs.remove(&Step::AssessCertainty);
        }
        self
    }
}

/// What decides beside the model that answers, by fingerprints; `None` where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deciders<'a> {
    /// The router.
    pub router: Option<&'a str>,
    /// The model that was trained on a boundary.
    pub assessor: Option<&'a str>,
    /// The policy datastore.
    pub datastore: Option<&'a str>,
}

/// What a model chose that was trained to choose its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChosenSource {
    /// The fingerprint of the datastore that voted, where there is one.
    pub datastore: Option<String>,
    /// The sum over corpora of p_M times p_D, in `[0, 1]`.
    pub need: f64,
    /// The corpus with the largest product.
    pub corpus: String,
}

/// What a model that was trained on what another knows says of a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// The fingerprint of the model that says it.
    pub by: String,
    /// The probability that the answer is not mastered.
    pub mastery: Option<f64>,
    /// The probability that answers do not agree.
    pub certainty: Option<f64>,
}

/// How needs are taken.
#[derive(Clone, Copy)]
pub(crate) struct Taking<'a> {
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

/// What was taken so far; `None` of a question on which the model was stopped.
type SoFar = [Option<Taken>];

impl Taking<'_> {
    /// Takes of every question what the measures need, and nothing else: of the model's judgment the
    /// questions themselves, of all others the prompts that they are asked by. A step that was paid
    /// before is not taken again. `None` for a question on which the model was stopped.
    ///
    /// # Shapes
    /// `questions`, `prompts` and `before`: `[questions]`. Returns the same.
    ///
    /// # Errors
    /// A prompt that does not fit, a model that cannot tell how likely a word is or that fails.
    pub(crate) fn take(
        &self,
        measures: &[Measure],
        questions: &[&str],
        prompts: &[Prompt],
        before: Vec<Taken>,
    ) -> Result<Vec<Option<Taken>>, AnswerError> {
        let mut all: Vec<Option<Taken>> = before.into_iter().map(Some).collect();
        for step in [
            Step::Judge,
            Step::Draft,
            Step::Sample,
            Step::Inspect,
            Step::Represent,
            Step::AssessMastery,
            Step::AssessCertainty,
            Step::ChooseSource,
        ] {
            if !measures.iter().any(|&one| steps(one).contains(&step)) {
                continue;
            }
            let unpaid = |taken: &Taken| !taken.costs.contains_key(&step);
            let open: Vec<usize> = (0..all.len())
                .filter(|&index| all[index].as_ref().is_some_and(unpaid))
                .collect();
            match step {
                Step::Judge => self.judge(questions, &open, &mut all)?,
                Step::Draft => {
                    let asked = open.iter().map(|&index| {
                        Asked::for_likeliest(&prompts[index], self.options.max_tokens)
                    });
                    let asked: Vec<_> = asked.collect();
                    self.draw(step, &asked, &open, &mut all, |taken, drawn| {
                        taken.draft = drawn.samples.into_iter().next();
                    })?;
                }
                Step::Sample => {
                    let asked = open.iter().map(|&index| {
                        let seed = seed_of(self.seed, questions[index]);
                        Asked::for_samples(&prompts[index], self.options, seed)
                    });
                    let asked: Vec<_> = asked.collect();
                    self.draw(step, &asked, &open, &mut all, |taken, drawn| {
                        let samples = drawn.samples.iter();
                        let texts: Vec<&str> = samples.map(|one| one.text.as_str()).collect();
                        taken.types = types_by_string(&texts);
                        taken.samples = drawn.samples;
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
        let started = Instant::now();
        let questions: Vec<&str> = open.iter().map(|&index| questions[index]).collect();
        let judged = judge_need(self.model, &questions)?;
        let ms = share(started.elapsed(), open.len());
        for (&index, judged) in open.iter().zip(judged) {
            if let Some(taken) = &mut all[index] {
                taken.judgment = Some(judged.need);
                let cost = Cost::of_model(1, judged.prompt_tokens, 0, ms);
                taken.costs.insert(Step::Judge, cost);
            }
        }
        Ok(())
    }

    /// Draws answers for a step and has them kept.
    fn draw(
        &self,
        step: Step,
        asked: &[Asked<'_>],
        open: &[usize],
        all: &mut SoFar,
        keep: impl Fn(&mut Taken, Drawn),
    ) -> Result<(), AnswerError> {
        let started = Instant::now();
        let drawn = draw(self.model, asked)?;
        let ms = share(started.elapsed(), open.len());
        for (&index, drawn) in open.iter().zip(drawn) {
            match (&mut all[index], drawn) {
                (Some(taken), Some(drawn)) => {
                    let Drawn { prompt_tokens, .. } = drawn;
                    let written = drawn.written_tokens();
                    let cost = Cost::of_model(drawn.samples.len(), prompt_tokens, written, ms);
                    taken.costs.insert(step, cost);
                    keep(taken, drawn);
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
            if let Some(taken) = &mut all[index] {
                taken.routed = Some(router.route(&vector));
                taken.costs.insert(Step::Represent, cost);
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
            if let Some(taken) = &mut all[index] {
                let verdicts = &mut taken.assessed;
                assessor.fingerprint().clone_into(&mut verdicts.by);
                match indicator {
                    Indicator::Mastery => verdicts.mastery = Some(assessed.need),
                    Indicator::Certainty => verdicts.certainty = Some(assessed.need),
                }
                taken
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
        let prompts = open.iter().map(|&index| Posed::open(questions[index]));
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
            if let Some(taken) = &mut all[index] {
                taken.chosen = Some(ChosenSource {
                    datastore: self.datastore.map(|store| store.fingerprint().to_owned()),
                    need,
                    corpus: corpus.to_owned(),
                });
                taken
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
        let started = Instant::now();
        let (open, answers): (Vec<usize>, Vec<Vec<&str>>) = open
            .iter()
            .filter_map(|&index| {
                let samples = all[index].as_ref()?.samples.iter();
                Some((index, samples.map(|sample| sample.text.as_str()).collect()))
            })
            .unzip();
        let prompts: Vec<&Prompt> = open.iter().map(|&index| &prompts[index]).collect();
        let scores = eigenscores(self.model, &prompts, &answers)?;
        let ms = share(started.elapsed(), open.len());
        let mut costs = Vec::with_capacity(open.len());
        for (prompt, answers) in prompts.iter().zip(&answers) {
            let distinct = answers.iter().collect::<BTreeSet<_>>().len();
            let read = distinct * self.model.count_prompt_tokens(prompt)?;
            costs.push(Cost::of_model(distinct, read, 0, ms));
        }
        for ((index, score), cost) in open.into_iter().zip(scores).zip(costs) {
            if let Some(taken) = &mut all[index] {
                taken.eigenscore = score;
                taken.costs.insert(Step::Inspect, cost);
            }
        }
        Ok(())
    }
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

/// The milliseconds of one of so many questions that were worked on together: each has the same
/// share, long or short.
#[must_use]
pub fn share(time: Duration, questions: usize) -> f64 {
    time.as_secs_f64() * 1000.0 / questions.max(1) as f64
}
