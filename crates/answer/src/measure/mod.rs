//! Taking the steps that signals need: the model's own judgment of a question, its greedy answer, sampled
//! answers, their hidden states, and the outputs of routing models; each with its cost.

pub(crate) mod assessor;
pub mod datastore;
pub(crate) mod gate;
pub(crate) mod mismatch;
pub(crate) mod passage_features;
pub(crate) mod question_states;
pub(crate) mod questions;
pub(crate) mod router;
pub(crate) mod routing_head;
pub(crate) mod routing_models;
pub(crate) mod score;

use std::collections::BTreeSet;
use std::time::Instant;

use ken_language::{LanguageModel, Prompt, ScoreRequest};
use ken_policy::{
    Calls, ChosenSource, Cost, Gated, Measurements, Rating, Routed, Signal, Step, share,
};
use ken_probe::{
    DrawRequest, Drawn, Sample, SampleOptions, answers, draw, eigenscores, judge_need, seed_of,
};

use crate::error::AnswerError;
use crate::measure::gate::{reads_answer, weigh};
use crate::measure::router::{Representation, represent, route};
use crate::pipeline::Pipeline;
use crate::prompt::{self, Indicator, QuestionPrompt};
use crate::retrieve::Retriever;

/// The temperature that leaves the model's distribution as it is.
const AS_IT_IS: f32 = 1.0;

/// The questions for which a step is still open, with their prompts.
struct Open<'a> {
    /// Their indices among all.
    places: Vec<usize>,
    questions: Vec<QuestionPrompt<'a>>,
    prompts: Vec<&'a Prompt>,
}

impl<'a> Open<'a> {
    /// The questions without their choices.
    fn texts(&self) -> Vec<&'a str> {
        self.questions.iter().map(|q| q.question).collect()
    }
}

/// The result and the cost of a step, for each open question.
type Taken<T> = Result<Vec<(T, Cost)>, AnswerError>;

impl Pipeline {
    /// Takes for every question the steps that the signals need, and no others: those before there is evidence or, given
    /// the measurements without it, those of their review. The judgment and the rating read the questions themselves, all
    /// other steps the prompts. A step whose cost is recorded in `all` is not taken again.
    ///
    /// # Shapes
    /// `questions`, `prompts`, `all` and `without`: `[questions]`. Returns the same.
    ///
    /// # Errors
    /// A prompt that does not fit, a model that does not score, fails, or is stopped.
    fn measure_by(
        &self,
        signals: &[Signal],
        questions: &[QuestionPrompt<'_>],
        prompts: &[Prompt],
        mut all: Vec<Measurements>,
        without: Option<&[Measurements]>,
    ) -> Result<Vec<Measurements>, AnswerError> {
        let steps = signals.iter().flat_map(|signal| match without {
            Some(_) => signal.steps_of_review(),
            None => signal.steps,
        });
        let mut steps: BTreeSet<Step> = steps.copied().collect();
        let gate = self.routing.gate.as_ref();
        if steps.contains(&Step::Gate) && gate.is_some_and(|gate| reads_answer(gate)) {
            steps.insert(Step::Greedy);
        }
        for step in steps {
            let is_open = |&place: &usize| !all[place].costs.contains_key(&step);
            let places: Vec<usize> = (0..all.len()).filter(is_open).collect();
            if places.is_empty() {
                continue;
            }
            let open = Open {
                questions: places.iter().map(|&place| questions[place]).collect(),
                prompts: places.iter().map(|&place| &prompts[place]).collect(),
                places,
            };
            let mut slots = Slots {
                step,
                open: &open,
                all: &mut all,
            };
            self.take(&mut slots, without.unwrap_or_default())?;
        }
        Ok(all)
    }

    /// Takes a step of the questions for which it is open.
    fn take(&self, slots: &mut Slots<'_>, without: &[Measurements]) -> Result<(), AnswerError> {
        let (step, open) = (slots.step, slots.open);
        match step {
            Step::Judge => {
                let judged = judge(self.model.as_ref(), &open.texts())?;
                slots.fill(judged, |all, judgment| all.judgment = judgment);
            }
            Step::Greedy => slots.fill(self.greedy(open)?, |all, drawn| {
                all.greedy = drawn.samples.into_iter().next();
            }),
            Step::Refuse => slots.fill(self.refuse(open)?, |all, refusal| all.refusal = refusal),
            Step::Sample => {
                let drawn = self.sample(open)?.into_iter().zip(&open.questions);
                let typed = drawn.map(|((drawn, cost), question)| {
                    let samples = drawn.samples.iter();
                    let texts: Vec<&str> = samples.map(|sample| sample.text.as_str()).collect();
                    ((question.types(&texts), drawn.samples), cost)
                });
                slots.fill(typed.collect(), |all, (types, samples)| {
                    all.types = types;
                    all.samples = samples;
                });
            }
            Step::Inspect => {
                let inspected = self.inspect(open, slots.all)?;
                slots.fill(inspected, |all, score| all.eigenscore = score);
            }
            Step::Represent => slots.fill(self.represent(open)?, |all, routed| {
                all.routed = Some(routed);
            }),
            Step::AssessMastery => {
                let verdicts = self.assess(Indicator::Mastery, open)?;
                slots.fill(verdicts, |all, (by, need)| {
                    (all.assessed.by, all.assessed.not_mastered) = (by, need);
                });
            }
            Step::AssessCertainty => {
                let verdicts = self.assess(Indicator::Certainty, open)?;
                slots.fill(verdicts, |all, (by, need)| {
                    (all.assessed.by, all.assessed.not_certain) = (by, need);
                });
            }
            Step::ChooseSource => slots.fill(self.choose_source(open)?, |all, chosen| {
                all.chosen = Some(chosen);
            }),
            Step::Rate => {
                let retriever = self.retriever().ok_or(AnswerError::NoCorpus)?;
                let ratings = rate(retriever, &open.texts())?;
                slots.fill(ratings, |all, rating| all.rating = rating);
            }
            Step::Gate => {
                let gated = self.weigh(open, without, slots.all)?;
                slots.fill(gated, |all, gated| all.gated = Some(gated));
            }
        }
        Ok(())
    }

    fn greedy(&self, open: &Open<'_>) -> Taken<Drawn> {
        let prompts = open.prompts.iter();
        let requests = prompts.map(|prompt| DrawRequest::greedy(prompt, self.settings.max_tokens));
        all_drawn(self.model.as_ref(), &requests.collect::<Vec<_>>())
    }

    /// The log odds of saying that no passage answers; none of models that do not score, and of prompts that do not let a
    /// model say so.
    fn refuse(&self, open: &Open<'_>) -> Taken<Option<f64>> {
        let started = Instant::now();
        let texts = open.texts().into_iter();
        let texts: Vec<[&str; 1]> = texts.map(|text| [prompt::nothing_said(text)]).collect();
        let can_score = self.model.capabilities().score;
        let may_refuse = |(prompt, [text]): &(&Prompt, &[&str; 1])| {
            can_score && prompt.instruction.contains(text)
        };
        let asked = open.prompts.iter().copied().zip(&texts);
        let requests = asked
            .clone()
            .filter(may_refuse)
            .map(|(prompt, text)| ScoreRequest {
                exact: false,
                ..ScoreRequest::new(prompt, text)
            });
        let requests: Vec<_> = requests.collect();
        let mut scores = match requests.as_slice() {
            [] => Vec::new(),
            requests => self.model.score(requests)?,
        }
        .into_iter()
        .flatten();
        let ms = share(started.elapsed(), texts.len());
        let each = asked.map(|asked| match may_refuse(&asked) {
            // What stands before the text was read for the answer.
            true => {
                let read = self.model.count_tokens(asked.1[0])?;
                let refusal = scores.next().map(|score| log_odds(score.sum()));
                Ok((refusal, Cost::of_model(1, read, 0, ms)))
            }
            false => Ok((None, Cost::default())),
        });
        each.collect()
    }

    fn sample(&self, open: &Open<'_>) -> Taken<Drawn> {
        let options = SampleOptions {
            samples: self.settings.samples,
            temperature: AS_IT_IS,
            max_tokens: self.settings.max_tokens,
        };
        let each = open.prompts.iter().zip(&open.questions);
        let requests = each.map(|(prompt, question)| {
            let seed = seed_of(self.settings.seed, question.question);
            DrawRequest::for_samples(prompt, options, seed)
        });
        all_drawn(self.model.as_ref(), &requests.collect::<Vec<_>>())
    }

    fn inspect(&self, open: &Open<'_>, all: &[Measurements]) -> Taken<Option<f64>> {
        let samples = open.places.iter().map(|&place| &all[place].samples);
        let samples: Vec<&[Sample]> = samples.map(Vec::as_slice).collect();
        inspect_answers(self.model.as_ref(), &open.prompts, &samples)
    }

    fn represent(&self, open: &Open<'_>) -> Taken<Routed> {
        let router = self.routing.router.as_ref().ok_or(AnswerError::NoRouter)?;
        let started = Instant::now();
        let model = self.model.as_ref();
        let embedder = self.retriever().map(Retriever::embedder);
        let assessor = self.routing.assessor.as_deref();
        let by = Representation::for_head(&router.head, model, embedder, assessor)?;
        let vectors = represent(by, &open.questions)?;
        let ms = share(started.elapsed(), open.places.len());
        let each = vectors.iter().zip(&open.prompts).zip(&open.questions);
        each.map(|((vector, prompt), question)| {
            let read = || self.model.count_prompt_tokens(prompt);
            let cost = match by {
                Representation::Words(_) | Representation::Embedding(_) => {
                    Cost::of_model(0, 0, 0, ms)
                }
                Representation::HiddenState { .. } => Cost::of_model(1, read()?, 0, ms),
                Representation::FirstToken(_) => Cost::of_model(1, read()?, 1, ms),
                Representation::FirstTokenAndMastery { assessor, .. } => {
                    let assessed =
                        assessor.prompt_tokens(question.question, prompt, Indicator::Mastery)?;
                    Cost::of_model(2, read()? + assessed, 1, ms)
                }
            };
            Ok((route(router, by, vector), cost))
        })
        .collect()
    }

    /// The assessor's fingerprint with each verdict.
    fn assess(&self, indicator: Indicator, open: &Open<'_>) -> Taken<(String, Option<f64>)> {
        let assessor = self.routing.assessor.as_deref();
        let assessor = assessor.ok_or(AnswerError::NoAssessor)?;
        let started = Instant::now();
        let assessed = assessor.assess(&open.texts(), &open.prompts, indicator)?;
        let ms = share(started.elapsed(), open.places.len());
        let verdicts = assessed.into_iter().map(|verdict| {
            let cost = Cost::of_model(1, verdict.prompt_tokens, 0, ms);
            ((assessor.fingerprint().to_owned(), verdict.need), cost)
        });
        Ok(verdicts.collect())
    }

    /// The gate's prediction from the measurements without and with the evidence.
    fn weigh(
        &self,
        open: &Open<'_>,
        without: &[Measurements],
        with: &[Measurements],
    ) -> Taken<Gated> {
        let gate = self.routing.gate.as_ref().ok_or(AnswerError::NoGate)?;
        let each = open.places.iter().map(|&place| {
            let started = Instant::now();
            let nothing = Measurements::default();
            let gated = weigh(gate, without.get(place).unwrap_or(&nothing), &with[place])?;
            Ok((gated, Cost::of_model(0, 0, 0, share(started.elapsed(), 1))))
        });
        each.collect()
    }

    fn choose_source(&self, open: &Open<'_>) -> Taken<ChosenSource> {
        let started = Instant::now();
        let questions = open.questions.iter().copied();
        let prompts: Vec<Prompt> = questions.map(prompt::choose_source).collect();
        let chooser = self.model.source_chooser()?;
        let corpora = chooser.corpora();
        let datastore = self.routing.datastore.as_deref();
        let layer = datastore.map_or(0, |store| store.keyed_by().layer);
        let choices = chooser.choose_sources(&prompts.iter().collect::<Vec<_>>(), layer)?;
        let mut chosen = Vec::with_capacity(prompts.len());
        for choice in &choices {
            let votes = datastore.map(|store| store.shares(&choice.state));
            let votes = votes.transpose()?;
            chosen.push(chosen_of(&choice.probabilities, votes.as_deref(), &corpora));
        }
        let ms = share(started.elapsed(), open.places.len());
        let each = prompts.iter().zip(chosen).map(|(prompt, (need, corpus))| {
            let chosen = ChosenSource {
                datastore: datastore.map(|store| store.fingerprint().to_owned()),
                need,
                corpus: corpus.to_owned(),
            };
            let read = self.model.count_prompt_tokens(prompt)?;
            Ok((chosen, Cost::of_model(1, read, 0, ms)))
        });
        each.collect()
    }
}

/// The measurements of the questions for which a step is open.
struct Slots<'a> {
    step: Step,
    open: &'a Open<'a>,
    all: &'a mut [Measurements],
}

impl Slots<'_> {
    /// Keeps the result of a step for each of them, and its cost.
    fn fill<T>(&mut self, taken: Vec<(T, Cost)>, keep: impl Fn(&mut Measurements, T)) {
        for (&place, (value, cost)) in self.open.places.iter().zip(taken) {
            keep(&mut self.all[place], value);
            self.all[place].costs.insert(self.step, cost);
        }
    }
}

/// The log odds of a text with a log probability. What is less likely than -10 counts as that.
fn log_odds(log_probability: f64) -> f64 {
    let log_probability = log_probability.clamp(-10.0, -f64::EPSILON);
    log_probability - (-log_probability.exp_m1()).ln()
}

/// As [`draw_answers`], but a stopped model is an error.
fn all_drawn(model: &dyn LanguageModel, requests: &[DrawRequest<'_>]) -> Taken<Drawn> {
    let drawn: Option<Vec<_>> = draw_answers(model, requests)?.into_iter().collect();
    drawn.ok_or(AnswerError::Interrupted)
}

/// The model's own judgment of each question, `None` if it gives no number, with its cost.
///
/// # Errors
/// A model that fails or gives no scores.
pub fn judge(
    model: &dyn LanguageModel,
    questions: &[&str],
) -> Result<Vec<(Option<f64>, Cost)>, AnswerError> {
    let started = Instant::now();
    let judged = judge_need(model, questions)?;
    let ms = share(started.elapsed(), questions.len());
    let cost = |read| Cost::of_model(1, read, 0, ms);
    let judged = judged.into_iter();
    Ok(judged
        .map(|(need, read)| (Some(need).filter(|need| need.is_finite()), cost(read)))
        .collect())
}

/// How well passages fit each question, `None` if one of the numbers is not finite, with the cost.
///
/// # Errors
/// As [`Retriever::rate`].
pub fn rate(
    retriever: &Retriever,
    questions: &[&str],
) -> Result<Vec<(Option<Rating>, Cost)>, AnswerError> {
    /// One search by vectors, and one by words.
    const SEARCHES: usize = 2;
    let started = Instant::now();
    let ratings = retriever.rate(questions)?;
    let cost = Cost {
        calls: Calls {
            model: 0,
            retriever: SEARCHES,
        },
        ms: share(started.elapsed(), questions.len()),
        ..Cost::default()
    };
    let ratings = ratings.into_iter();
    Ok(ratings
        .map(|rating| (Some(rating).filter(Rating::is_finite), cost))
        .collect())
}

/// The answers to each prompt, with their cost; `None` if the model was stopped.
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

/// The eigenscore of the sampled answers to each prompt, with its cost. If they are too few, or the model exposes no
/// hidden states, the model reads nothing.
///
/// # Shapes
/// `samples`: `[prompts][samples]`. Returns `[prompts]`.
///
/// # Errors
/// A model that fails.
pub fn inspect_answers(
    model: &dyn LanguageModel,
    prompts: &[&Prompt],
    samples: &[&[Sample]],
) -> Result<Vec<(Option<f64>, Cost)>, AnswerError> {
    let started = Instant::now();
    let shows_states = model.capabilities().hidden_layers.is_some();
    let each = samples.iter().map(|samples| {
        let answers = answers(samples, &vec![0; samples.len()]).filter(|_| shows_states);
        let answers = answers.into_iter().flat_map(|(answers, _)| answers);
        answers.map(|answer| answer.text.as_str()).collect()
    });
    let answers: Vec<Vec<&str>> = each.collect();
    let scores = eigenscores(model, prompts, &answers)?;
    let ms = share(started.elapsed(), prompts.len());
    let each = scores.into_iter().zip(prompts).zip(&answers);
    each.map(|((score, prompt), answers)| {
        let distinct = answers.iter().collect::<BTreeSet<_>>().len();
        let read = distinct * model.count_prompt_tokens(prompt)?;
        Ok((score, Cost::of_model(distinct, read, 0, ms)))
    })
    .collect()
}

/// The sum over corpora of the model's share times the votes', and the corpus with the largest
/// product (SR-RAG, Eq. 7); no sum, and the first corpus, if a share is not finite. Without votes, the model's
/// shares alone count.
///
/// # Shapes
/// `shares`, `votes`: `[sources]`, the model itself first; `corpora`: `[sources - 1]`.
fn chosen_of<'c>(
    shares: &[f64],
    votes: Option<&[f64]>,
    corpora: &[&'c str],
) -> (Option<f64>, &'c str) {
    let mut sum = 0.0;
    let mut best = (
        f64::NEG_INFINITY,
        corpora.first().copied().unwrap_or_default(),
    );
    for (place, name) in corpora.iter().enumerate() {
        let of = |all: &[f64]| all.get(place + 1).copied();
        // A corpus that the datastore does not know has no votes.
        let voted = votes.map_or(1.0, |votes| of(votes).unwrap_or_default());
        let product = of(shares).unwrap_or(f64::NAN) * voted;
        sum += product;
        if product > best.0 {
            best = (product, name);
        }
    }
    // Rounding may take a sum of shares past 1, the largest threshold.
    let sum = Some(sum).filter(|sum| sum.is_finite());
    (sum.map(|sum| sum.clamp(0.0, 1.0)), best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_odds_are_finite() {
        assert!(log_odds(0.5_f64.ln()).abs() < 1e-12);
        assert!((log_odds(0.25_f64.ln()) - (1.0_f64 / 3.0).ln()).abs() < 1e-12);
        assert!(log_odds(0.0) > 30.0 && log_odds(0.0).is_finite());
        assert!((log_odds(f64::NEG_INFINITY) + 10.0).abs() < 1e-3);
    }
}
