//! Drawing answers, the greedy one and random samples, with their log probabilities. Other modules write the prompts
//! and score the answers.

use std::ops::ControlFlow;

use ken_language::{
    Finish, FirstLine, GenerateOptions, GenerateRequest, Generation, LanguageModel, ModelError,
    Progress, Prompt, Sampling, total,
};
use serde::{Deserialize, Serialize};

use crate::absence::{Lack, has_words};

/// One drawn answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The answer; empty if the model wrote none.
    pub text: String,
    /// Natural-log probability at temperature 1 of the answer and its end, if the model reports it.
    pub logprob: Option<f64>,
    /// The number of those tokens; without log probabilities, of the answer's tokens.
    pub tokens: usize,
    /// The entropy of the tokens' distributions, if the model reports it.
    pub entropy: Option<TokenEntropy>,
    /// Only for a greedy answer: the probability of the most likely token minus that of the second most likely,
    /// averaged over the first `MARGIN_TOKENS` tokens, if the model reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The mean of those log probabilities over the first `OPENING_TOKENS` tokens. What follows them in a long answer is
    /// often copied, and then likely whatever was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<f64>,
    /// Why it is not an answer, or not all of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lack: Option<Lack>,
}

/// The tokens of a greedy answer over which its margin is averaged: a short draft is as informative as all of it
/// (TARG, Wang and others 2025, draft tens of tokens).
const MARGIN_TOKENS: usize = 20;

/// The tokens of an answer that tell how sure the model is of it (`results/2026-12-01-opening`).
const OPENING_TOKENS: usize = 8;

/// Entropies, in nats, of the distributions that an answer's tokens come from, at temperature 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TokenEntropy {
    /// The mean over tokens.
    pub mean: f64,
    /// The greatest.
    pub max: f64,
}

impl Sample {
    /// The answer in a model's output; `None` if the model was stopped before the answer ended.
    pub fn of(written: &Generation, line: &FirstLine) -> Option<Self> {
        let stopped = written.finish == Finish::Cancelled && !line.has_ended();
        let are_reported =
            |values: &&[f32]| !values.is_empty() && values.iter().all(|value| value.is_finite());
        let logprobs = written.logprobs.as_deref().filter(are_reported);
        let entropies = written.entropies.as_deref().filter(are_reported);
        let margins = written.margins.as_deref().filter(are_reported);
        (!stopped).then(|| Self {
            text: line.answer().to_owned(),
            logprob: logprobs.map(total),
            tokens: logprobs.map_or(written.tokens, <[f32]>::len),
            entropy: entropies.map(token_entropy),
            margin: margins.and_then(|margins| mean_of_first(MARGIN_TOKENS, margins)),
            opening: logprobs.and_then(|logprobs| mean_of_first(OPENING_TOKENS, logprobs)),
            lack: Lack::of(written, line.answer(), line.has_ended()),
        })
    }

    /// Whether it is a complete answer with content.
    pub fn is_answer(&self) -> bool {
        self.lack.is_none() && has_words(&self.text)
    }

    /// Whether it has content: a complete answer, or the beginning of one that was cut off.
    pub fn says_something(&self) -> bool {
        matches!(self.lack, None | Some(Lack::CutOff)) && has_words(&self.text)
    }

    /// Whether it was recorded by a version that kept no `opening`.
    pub fn lacks_opening(&self) -> bool {
        self.logprob.is_some() && self.opening.is_none()
    }
}

/// How answers are sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleOptions {
    /// How many answers to each prompt; at least 1.
    pub samples: usize,
    /// Positive; 1 samples from the model's own distribution.
    pub temperature: f32,
    /// Most tokens of an answer.
    pub max_tokens: usize,
}

/// A prompt, and how its answers are drawn.
#[derive(Debug, Clone, Copy)]
pub struct DrawRequest<'a> {
    /// What the model reads.
    pub prompt: &'a Prompt,
    sampling: Sampling,
    samples: usize,
    max_tokens: usize,
}

impl<'a> DrawRequest<'a> {
    /// One greedy answer, the same in every run.
    pub fn greedy(prompt: &'a Prompt, max_tokens: usize) -> Self {
        Self {
            prompt,
            sampling: Sampling::Greedy,
            samples: 1,
            max_tokens,
        }
    }

    /// Random samples, determined by the seed.
    pub fn for_samples(prompt: &'a Prompt, options: SampleOptions, seed: u64) -> Self {
        Self {
            prompt,
            sampling: Sampling::at(options.temperature, seed),
            samples: options.samples,
            max_tokens: options.max_tokens,
        }
    }
}

/// The answers drawn for a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The answers.
    pub samples: Vec<Sample>,
    /// Tokens in the prompt.
    pub prompt_tokens: usize,
    /// Tokens of each answer, without its end: `[samples]`.
    pub written: Vec<usize>,
}

impl Drawn {
    /// Tokens of all answers, without their ends.
    pub fn written_tokens(&self) -> usize {
        self.written.iter().sum()
    }

    /// The text of the first answer.
    pub fn into_text(self) -> String {
        let first = self.samples.into_iter().next();
        first.map(|sample| sample.text).unwrap_or_default()
    }
}

/// Draws answers to prompts in one batch; the model reads a prompt that comes twice in a row once. An answer is the
/// first line that is not blank.
///
/// # Shapes
/// Returns `[requests]`; `None` for a request that was stopped from outside before all its answers were complete.
///
/// # Errors
/// A prompt that does not fit, a request for no samples, a model that fails.
pub fn draw(
    model: &dyn LanguageModel,
    requests: &[DrawRequest<'_>],
) -> Result<Vec<Option<Drawn>>, ModelError> {
    draw_watched(model, requests, &mut |_, _| ControlFlow::Continue(()))
}

/// As [`draw`]. `watch` receives the index of the request and each piece of its answers, or an empty piece while the
/// model reads its prompt, and may cancel the request.
///
/// # Shapes
/// As [`draw`]; `None` also for a request that was cancelled.
///
/// # Errors
/// As [`draw`].
pub fn draw_watched(
    model: &dyn LanguageModel,
    asked: &[DrawRequest<'_>],
    watch: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
) -> Result<Vec<Option<Drawn>>, ModelError> {
    let options: Vec<GenerateOptions> = asked
        .iter()
        .map(|asked| GenerateOptions::new(asked.sampling, asked.max_tokens))
        .collect();
    let requests: Vec<_> = asked
        .iter()
        .zip(&options)
        .map(|(asked, options)| GenerateRequest::new(asked.prompt, asked.samples, options))
        .collect();
    let mut lines: Vec<Vec<FirstLine>> = asked
        .iter()
        .map(|asked| (0..asked.samples).map(|_| FirstLine::default()).collect())
        .collect();
    let mut cancelled = vec![false; asked.len()];
    let written = model.generate(&requests, &mut |progress| {
        let (request, part, ended) = match progress {
            Progress::Reading { request, .. } => (request, Some(""), false),
            Progress::Text(piece) => {
                let line = &mut lines[piece.request][piece.sample];
                let part = Some(line.take(piece.text)).filter(|part| !part.is_empty());
                (piece.request, part, line.has_ended())
            }
        };
        if part.is_some_and(|part| watch(request, part).is_break()) {
            cancelled[request] = true;
            return ControlFlow::Break(());
        }
        ken_language::break_if(ended)
    })?;
    Ok(asked
        .iter()
        .zip(&written)
        .zip(&lines)
        .zip(cancelled)
        .map(|(((asked, written), lines), cancelled)| {
            let samples = written.iter().zip(lines).filter(|_| !cancelled);
            let samples: Vec<Sample> = samples
                .map(|(written, line)| Sample::of(written, line))
                .collect::<Option<_>>()?;
            Some(Drawn {
                prompt_tokens: written.first()?.prompt_tokens,
                written: written.iter().map(|written| written.tokens).collect(),
                samples,
            })
            .filter(|drawn| drawn.samples.len() == asked.samples)
        })
        .collect())
}

/// The greedy answer to each prompt, all in one batch.
///
/// # Shapes
/// Returns `[prompts]`: empty if the model wrote nothing; `None` for a prompt that was stopped from outside.
///
/// # Errors
/// A prompt that does not fit, a model that fails.
pub fn greedy_lines(
    model: &dyn LanguageModel,
    prompts: &[Prompt],
    max_tokens: usize,
) -> Result<Vec<Option<String>>, ModelError> {
    let requests: Vec<DrawRequest<'_>> = prompts
        .iter()
        .map(|prompt| DrawRequest::greedy(prompt, max_tokens))
        .collect();
    let drawn = draw(model, &requests)?.into_iter();
    Ok(drawn.map(|drawn| drawn.map(Drawn::into_text)).collect())
}

/// The mean of the values of the first `tokens` tokens; `None` without tokens.
fn mean_of_first(tokens: usize, values: &[f32]) -> Option<f64> {
    let first = &values[..values.len().min(tokens)];
    (!first.is_empty()).then(|| total(first) / first.len() as f64)
}

fn token_entropy(entropies: &[f32]) -> TokenEntropy {
    TokenEntropy {
        mean: total(entropies) / entropies.len().max(1) as f64,
        max: entropies.iter().copied().fold(0.0, f32::max).into(),
    }
}

/// The seed of a question's samples: unrelated to those of other questions, and determined by `seed`.
pub fn seed_of(seed: u64, question_id: &str) -> u64 {
    // FNV-1a, then a final mix so that every bit of the text changes every bit of the seed.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
    for byte in question_id.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    ken_random::mixed(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indicators::{certainty, confidence};
    use crate::{Correctness, Golden, are_right, types_by_string};
    use ken_language::Examples;
    use ken_testing::{Fact, TableModel, with};
    use proptest::prelude::*;

    const OPTIONS: SampleOptions = SampleOptions {
        samples: 30,
        temperature: 1.0,
        max_tokens: 8,
    };

    fn facts(known: f64) -> Vec<Fact> {
        (0..200)
            .map(|number| {
                with!(Fact::default(), question: format!("what is number {number}?"),
                    answer: "right".to_owned(), wrong: vec!["left".to_owned(), "middle".to_owned()],
                    known: known)
            })
            .collect()
    }

    fn prompt(instruction: &'static str, input: String) -> Prompt {
        Prompt::new(instruction, Examples::Fixed(&[]), input)
    }

    fn prompts(facts: &[Fact]) -> Vec<Prompt> {
        let inputs = facts
            .iter()
            .map(|fact| format!("Question: {}\nAnswer:", fact.question));
        inputs.map(|input| prompt("Answer.", input)).collect()
    }

    fn sampled(known: f64, options: SampleOptions) -> Vec<Vec<Sample>> {
        let facts = facts(known);
        let table = TableModel::new(facts.clone()).unwrap();
        let prompts = prompts(&facts);
        let asked: Vec<DrawRequest<'_>> = prompts
            .iter()
            .zip(&facts)
            .map(|(prompt, fact)| {
                DrawRequest::for_samples(prompt, options, seed_of(5, &fact.question))
            })
            .collect();
        let drawn = draw(&table, &asked).unwrap();
        assert_eq!(drawn, draw(&table, &asked).unwrap());
        drawn
            .into_iter()
            .map(|drawn| drawn.unwrap().samples)
            .collect()
    }

    #[test]
    fn estimates_lie_around_the_set_probabilities() {
        let golden = ["right".to_owned()];
        for known in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let table = TableModel::new(facts(known)).unwrap();
            let mut confidences = Vec::new();
            let mut certainties = Vec::new();
            for samples in sampled(known, OPTIONS) {
                assert_eq!(samples.len(), OPTIONS.samples);
                let answers: Vec<_> = samples
                    .iter()
                    .map(|sample| {
                        let golden = Golden {
                            answers: &golden,
                            choices: &[],
                        };
                        (sample.text.as_str(), golden)
                    })
                    .collect();
                let right = are_right(Correctness::Exact, &answers, &table).unwrap();
                confidences.push(confidence(&right).unwrap());
                let texts: Vec<&str> = answers.iter().map(|(text, _)| *text).collect();
                certainties.push(certainty(&types_by_string(&texts)).unwrap());
            }
            // 6000 draws of a binomial: five standard deviations.
            let mean = confidences.iter().sum::<f64>() / 200.0;
            let bound = 5.0 * (known * (1.0 - known) / 6000.0).sqrt() + 1e-12;
            assert!((mean - known).abs() <= bound, "{known}: {mean}");
            // Each question by itself: its 30 draws leave five deviations in none of 200.
            let bound = 5.0 * (known * (1.0 - known) / 30.0).sqrt() + 1e-12;
            for confidence in &confidences {
                assert!((confidence - known).abs() <= bound, "{known}: {confidence}");
            }
            // The entropy of the set probabilities; that of 30 draws is a little lower.
            let wrong = (1.0 - known) / 2.0;
            let term = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
            let truth = 1.0 - (term(known) + 2.0 * term(wrong)) / 30.0_f64.ln();
            let mean = certainties.iter().sum::<f64>() / 200.0;
            assert!((mean - truth).abs() < 0.03, "{known}: {mean} not {truth}");
        }
    }

    #[test]
    fn log_probabilities_are_those_of_the_answers() {
        for samples in sampled(0.25, OPTIONS) {
            for sample in samples {
                let probability = if sample.text == "right" {
                    0.25
                } else {
                    0.375_f64
                };
                assert!((sample.logprob.unwrap() - probability.ln()).abs() < 1e-6);
                assert_eq!(sample.tokens, 1);
            }
        }
    }

    #[test]
    fn the_greedy_answer_and_how_open_it_was_are_the_tables() {
        let table = TableModel::new(facts(0.5)).unwrap();
        let prompts = prompts(&facts(0.5));
        let drawn = draw(&table, &[DrawRequest::greedy(&prompts[3], 8)]).unwrap();
        let answer = &drawn[0].as_ref().unwrap().samples[0];
        assert_eq!(answer.text, "right");
        // A half, and two quarters.
        let entropy = answer.entropy.unwrap();
        assert!((entropy.mean - 1.5 * 2.0_f64.ln()).abs() < 1e-6);
        assert_eq!(entropy.mean, entropy.max);
        assert!((answer.margin.unwrap() - 0.25).abs() < 1e-6);
        assert!(
            answer.tokens <= OPENING_TOKENS,
            "all tokens are its opening"
        );
        let mean = answer.logprob.unwrap() / answer.tokens as f64;
        assert!((answer.opening.unwrap() - mean).abs() < 1e-9);
    }

    #[test]
    fn an_opening_is_the_first_tokens() {
        let opening = |logprobs: &[f32]| mean_of_first(OPENING_TOKENS, logprobs);
        let long = [
            -1.0, -0.5, -0.75, -0.75, -1.0, -0.5, -0.75, -0.75, -9.0, -9.0,
        ];
        assert_eq!(opening(&long), Some(-0.75));
        assert_eq!(opening(&[-1.0, -0.5]), Some(-0.75));
        assert_eq!(opening(&[]), None);
    }

    proptest! {
        #[test]
        fn the_margin_is_the_plain_one_of_a_short_draft(
            logits in proptest::collection::vec(proptest::collection::vec(-9.0..9.0_f64, 2..9), 0..40),
        ) {
            // The two greatest of a softmax, at each of the first tokens.
            let gap = |logits: &Vec<f64>| {
                let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
                let mut likely: Vec<f64> = logits.iter().map(|logit| logit.exp() / total).collect();
                likely.sort_by(f64::total_cmp);
                likely[likely.len() - 1] - likely[likely.len() - 2]
            };
            let gaps: Vec<f64> = logits.iter().map(gap).collect();
            let told: Vec<f32> = gaps.iter().map(|&gap| gap as f32).collect();
            let drafted = &gaps[..gaps.len().min(MARGIN_TOKENS)];
            let plain = drafted.iter().sum::<f64>() / drafted.len() as f64;
            match mean_of_first(MARGIN_TOKENS, &told) {
                Some(margin) => prop_assert!((margin - plain).abs() < 1e-6),
                None => prop_assert!(gaps.is_empty()),
            }
        }
    }

    #[test]
    fn answers_recorded_without_a_margin_open() {
        let old = r#"{"text": "red", "logprob": -0.5, "tokens": 2, "entropy": null}"#;
        let answer: Sample = serde_json::from_str(old).unwrap();
        assert_eq!((answer.tokens, answer.margin), (2, None));
        assert!(!serde_json::to_string(&answer).unwrap().contains("margin"));
    }

    #[test]
    fn questions_have_seeds_of_their_own() {
        let all = sampled(0.5, OPTIONS);
        assert_ne!(all[0], all[1]);
        assert_ne!(seed_of(1, "q"), seed_of(2, "q"));
        assert_ne!(seed_of(1, "q1"), seed_of(1, "q2"));
        assert_eq!(seed_of(1, "q"), seed_of(1, "q"));
    }

    #[test]
    fn lower_temperatures_sharpen() {
        let cold = with!(OPTIONS, temperature: 0.2);
        let right = sampled(0.5, cold)
            .iter()
            .flatten()
            .filter(|sample| sample.text == "right")
            .count();
        // 0.5^5 against twice 0.25^5: 16 of 17.
        let share = right as f64 / 6000.0;
        assert!((share - 16.0 / 17.0).abs() < 0.02, "{share}");
    }

    #[test]
    fn a_model_that_says_nothing_is_certain_of_it() {
        let table = TableModel::new(Vec::new()).unwrap();
        let prompts = prompts(&facts(0.5)[..1]);
        let asked = [DrawRequest::for_samples(&prompts[0], OPTIONS, 0)];
        let drawn = draw(&table, &asked).unwrap();
        let samples = &drawn[0].as_ref().unwrap().samples;
        assert!(samples.iter().all(|sample| sample.text.is_empty()));
        let texts: Vec<&str> = samples.iter().map(|sample| sample.text.as_str()).collect();
        assert_eq!(certainty(&types_by_string(&texts)), Some(1.0));
    }

    const INSTRUCTION: &str = "Write.";

    fn table() -> TableModel {
        let fact = |question: &str, answer: &str| {
            with!(Fact::default(), question: question.to_owned(),
                answer: answer.to_owned(), known: 1.0)
        };
        let facts = vec![
            fact("who rows?", "Ida\nand more"),
            fact("who sings?", "Per"),
        ];
        TableModel::new(facts)
            .unwrap()
            .writing_texts(&[INSTRUCTION])
    }

    fn watched(
        questions: &[&str],
        max_tokens: usize,
        watch: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
    ) -> Vec<Option<Drawn>> {
        let inputs = questions
            .iter()
            .map(|question| format!("Question: {question}\nBackground:"));
        let prompts: Vec<Prompt> = inputs.map(|input| prompt(INSTRUCTION, input)).collect();
        let requests: Vec<DrawRequest<'_>> = prompts
            .iter()
            .map(|prompt| DrawRequest::greedy(prompt, max_tokens))
            .collect();
        draw_watched(&table(), &requests, watch).unwrap()
    }

    fn texts(written: &[Option<Drawn>]) -> Vec<Option<&str>> {
        let each = written.iter();
        each.map(|written| Some(written.as_ref()?.samples[0].text.as_str()))
            .collect()
    }

    #[test]
    fn a_text_is_one_line() {
        let written = watched(&["who rows?", "who sings?", "who?"], 9, &mut |_, _| {
            ControlFlow::Continue(())
        });
        assert_eq!(
            texts(&written),
            [
                Some("What is known of it: Ida"),
                Some("What is known of it: Per."),
                Some("")
            ]
        );
    }

    #[test]
    fn one_that_is_broken_off_is_none_and_harms_no_other() {
        let written = watched(&["who rows?", "who sings?"], 9, &mut |text, _| {
            ken_language::break_if(text == 0)
        });
        assert_eq!(texts(&written), [None, Some("What is known of it: Per.")]);
    }

    #[test]
    fn without_room_nothing_is_written() {
        let written = watched(&["who sings?"], 0, &mut |_, _| ControlFlow::Continue(()));
        assert_eq!(texts(&written), [Some("")]);
    }
}
