//! A language model that answers from a table with given probabilities, so that tests can compare estimates of what a
//! model knows with the truth. It has no weights. Of prompts it reads only the question, whether an answer precedes
//! it, and whether they request a text about it.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ken_language::{
    Capabilities, DoesNotChoose, Finish, GenerateOptions, GenerateRequest, Generation,
    LanguageModel, ModelError, Piece, Progress, Prompt, Sampling, Score, ScoreRequest,
    SourceChoice, SourceChooser, fingerprint_of_texts, softmax,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// What replaces a masked answer in evidence.
const MASK: &str = "MASK";

/// The default context of a table: more than any test needs.
const CONTEXT_TOKENS: usize = 1 << 20;

/// One question and its possible answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fact {
    /// The question, as prompts contain it.
    pub question: String,
    /// The right answer.
    pub answer: String,
    /// The other answers, all equally likely; if empty, the model answers nothing instead.
    pub wrong: Vec<String>,
    /// The probability of the right answer without evidence.
    pub known: f64,
    /// The probability of copying the right answer from evidence that contains it. Otherwise the model answers as
    /// without evidence.
    pub copied: f64,
    /// The probability that evidence without the right answer misleads: the model then gives a wrong answer, or
    /// `MASK` if the evidence contains that. Otherwise it answers as without evidence.
    pub misled: f64,
}

impl Fact {
    /// Every answer with its probability, given the text before the question.
    fn answers(&self, evidence: &str) -> Vec<(&str, f64)> {
        let (copied, misled) = if evidence.trim().is_empty() {
            (0.0, 0.0)
        } else if holds(evidence, &self.answer) {
            (self.copied, 0.0)
        } else {
            (0.0, self.misled)
        };
        let from_memory = 1.0 - copied - misled;
        let mut answers = Vec::new();
        let mut add =
            |answer, probability: f64| match answers.iter_mut().find(|(known, _)| *known == answer)
            {
                Some((_, sum)) => *sum += probability,
                None => answers.push((answer, probability)),
            };
        add(self.answer.as_str(), copied + from_memory * self.known);
        let (masked, wrong) = if evidence.contains(MASK) {
            (misled, from_memory * (1.0 - self.known))
        } else {
            (0.0, misled + from_memory * (1.0 - self.known))
        };
        add(MASK, masked);
        if self.wrong.is_empty() {
            add("", wrong);
        }
        for answer in &self.wrong {
            add(answer, wrong / self.wrong.len() as f64);
        }
        answers.retain(|(_, probability)| *probability > 0.0);
        answers
    }
}

fn holds(evidence: &str, answer: &str) -> bool {
    evidence.to_lowercase().contains(&answer.to_lowercase())
}

/// What a table cannot do.
#[derive(Debug, Clone, PartialEq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TableError {
    #[error("the probability `{name}` of {question:?} is {received}, and not between 0 and 1")]
    NotAProbability {
        question: String,
        name: &'static str,
        received: f64,
    },
    #[error("an empty continuation has no probability")]
    EmptyContinuation,
    #[error("a request for no sample")]
    NoSamples,
    #[error("a table has no hidden states")]
    #[diagnostic(kind = "cannot_show_hidden", remedy = "use a model on this machine")]
    NoHidden,
}

impl From<TableError> for ModelError {
    fn from(error: TableError) -> Self {
        Self::new(error)
    }
}

/// A call of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// To generate.
    Generate {
        /// How many requests.
        requests: usize,
        /// How many texts, over all requests.
        texts: usize,
    },
    /// To score, or to choose by scores.
    Score {
        /// How many requests.
        requests: usize,
    },
}

/// A function to call before each answer.
#[derive(Clone)]
struct OnCall(Arc<dyn Fn(Call) + Send + Sync>);

impl fmt::Debug for OnCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OnCall")
    }
}

/// A model that answers from a table.
///
/// A prompt is about the fact with the longest question in its input; the lines before the question are the evidence.
/// A prompt about no fact gets an empty answer. An answer is one token, whose log probability is exact; at
/// temperatures other than 1, answers are sampled as tokens are. If the prompt requests a text about the question,
/// the text states the answer that the model would give without evidence, and is as likely as that answer.
#[derive(Debug, Clone)]
pub struct TableModel {
    facts: Vec<Fact>,
    /// The instructions of prompts that request a text.
    text_instructions: Vec<String>,
    context_tokens: usize,
    scores: bool,
    on_call: OnCall,
    fingerprint: String,
}

impl TableModel {
    /// A model that knows these facts.
    ///
    /// # Errors
    /// A probability outside of `[0, 1]`.
    pub fn new(facts: Vec<Fact>) -> Result<Self, TableError> {
        let mut texts = vec!["table".to_owned()];
        for fact in &facts {
            for (name, received) in [
                ("known", fact.known),
                ("copied", fact.copied),
                ("misled", fact.misled),
            ] {
                if !(0.0..=1.0).contains(&received) {
                    return Err(TableError::NotAProbability {
                        question: fact.question.clone(),
                        name,
                        received,
                    });
                }
                texts.push(received.to_string());
            }
            texts.extend([fact.question.clone(), fact.answer.clone()]);
            texts.extend(fact.wrong.iter().cloned());
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        Ok(Self {
            fingerprint: fingerprint_of_texts(&texts),
            facts,
            text_instructions: Vec::new(),
            context_tokens: CONTEXT_TOKENS,
            scores: true,
            on_call: OnCall(Arc::new(|_| {})),
        })
    }

    /// Writes a text about the question to prompts with these instructions, and reports that it was trained to do so
    /// before it answers.
    #[must_use]
    pub fn writing_texts(self, instructions: &[&str]) -> Self {
        Self {
            text_instructions: instructions.iter().map(|&text| text.to_owned()).collect(),
            ..self
        }
    }

    /// Sets the context, in tokens.
    #[must_use]
    pub fn context(self, context_tokens: usize) -> Self {
        Self {
            context_tokens,
            ..self
        }
    }

    /// Sets whether the model reports that it can score.
    #[must_use]
    pub fn scoring(self, scores: bool) -> Self {
        Self { scores, ..self }
    }

    /// Sets a function to call before each answer.
    #[must_use]
    pub fn on_call(self, on_call: impl Fn(Call) + Send + Sync + 'static) -> Self {
        Self {
            on_call: OnCall(Arc::new(on_call)),
            ..self
        }
    }

    /// Every answer to a prompt with its probability.
    pub fn answers(&self, prompt: &Prompt) -> Vec<(&str, f64)> {
        let longest_match = self
            .facts
            .iter()
            .filter_map(|fact| Some((fact, prompt.input.rfind(&fact.question)?)))
            .max_by_key(|(fact, _)| fact.question.len());
        let Some((fact, offset)) = longest_match else {
            return vec![("", 1.0)];
        };
        let line = prompt.input[..offset].rfind('\n').unwrap_or(0);
        fact.answers(&prompt.input[..line])
    }

    fn probability(&self, prompt: &Prompt, continuation: &str) -> f64 {
        let answers = self.answers(prompt);
        let matching = answers
            .iter()
            .find(|(answer, _)| *answer == continuation.trim());
        matching.map_or(0.0, |(_, probability)| *probability)
    }

    fn write(&self, prompt: &Prompt, options: &GenerateOptions, sample: usize) -> Generation {
        let mut answers = self.answers(prompt);
        // The most likely answer first: it is drawn if the probabilities add up to less than 1.
        answers.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let mut drawn = answers.first().copied();
        if let Sampling::Random {
            temperature, seed, ..
        } = options.sampling
        {
            let seed = seed.wrapping_add(ken_random::STEP.wrapping_mul(sample as u64));
            let mut left = StdRng::seed_from_u64(seed).random::<f64>();
            let logs: Vec<f64> = answers
                .iter()
                .map(|(_, probability)| probability.ln() / f64::from(temperature))
                .collect();
            let chosen = softmax(&logs).into_iter().position(|probability| {
                left -= probability;
                left < 0.0
            });
            drawn = chosen.map(|index| answers[index]).or(drawn);
        }
        let terms = answers
            .iter()
            .map(|(_, probability)| probability * probability.ln());
        let entropy = -terms.sum::<f64>();
        let runner_up = answers.get(1).map_or(0.0, |(_, probability)| *probability);
        let (answer, probability) = drawn.unwrap_or(("", 1.0));
        let text = if answer.is_empty()
            || !self
                .text_instructions
                .iter()
                .any(|instruction| *instruction == prompt.instruction)
        {
            answer.to_owned()
        } else {
            format!("What is known of it: {answer}.")
        };
        let fits = options.max_tokens > 0;
        let tokens = usize::from(fits && !text.is_empty());
        Generation {
            text: if tokens > 0 {
                format!(" {text}")
            } else {
                String::new()
            },
            refusal: None,
            tokens,
            logprobs: Some(vec![probability.ln() as f32; tokens]),
            entropies: Some(vec![entropy as f32; tokens]),
            margins: (options.sampling == Sampling::Greedy)
                .then(|| vec![(probability - runner_up) as f32; tokens]),
            finish: if fits { Finish::End } else { Finish::Length },
            prompt_tokens: words(&prompt.input),
            prompt_time: Duration::ZERO,
            write_time: Duration::ZERO,
        }
    }
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// A table knows no corpora.
impl SourceChooser for TableModel {
    fn corpora(&self) -> Vec<&str> {
        Vec::new()
    }

    fn verbalizes(&self) -> bool {
        true
    }

    fn threshold(&self) -> Option<f64> {
        None
    }

    fn choose_sources(
        &self,
        _prompts: &[&Prompt],
        _layer: usize,
    ) -> Result<Vec<SourceChoice>, ModelError> {
        Err(ModelError::new(DoesNotChoose))
    }
}

impl LanguageModel for TableModel {
    fn source_chooser(&self) -> Result<&dyn SourceChooser, ModelError> {
        match self.text_instructions.is_empty() {
            true => Err(ModelError::new(DoesNotChoose)),
            false => Ok(self),
        }
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            score: self.scores,
            logprobs: true,
            hidden_layers: None,
            converses: false,
            assures: false,
            examples: true,
        }
    }

    fn context_tokens(&self) -> usize {
        self.context_tokens
    }

    /// A word is a token.
    fn count_tokens(&self, text: &str) -> Result<usize, ModelError> {
        Ok(words(text))
    }

    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, ModelError> {
        let (shared, input) = prompt.text();
        Ok(words(&shared) + words(&input))
    }

    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        (self.on_call.0)(Call::Generate {
            requests: requests.len(),
            texts: requests.iter().map(|request| request.samples).sum(),
        });
        if requests.iter().any(|request| request.samples == 0) {
            return Err(TableError::NoSamples.into());
        }
        let mut written = Vec::with_capacity(requests.len());
        for (index, request) in requests.iter().enumerate() {
            let mut samples = Vec::with_capacity(request.samples);
            for sample in 0..request.samples {
                let mut generation = self.write(request.prompt, request.options, sample);
                let piece = Piece {
                    request: index,
                    sample,
                    text: &generation.text,
                    logprobs: &[],
                };
                if !piece.text.is_empty() && on_progress(Progress::Text(piece)).is_break() {
                    generation.finish = Finish::Cancelled;
                }
                samples.push(generation);
            }
            written.push(samples);
        }
        Ok(written)
    }

    /// An answer that is not in the table has probability 0, so the log is negative infinity.
    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        (self.on_call.0)(Call::Score {
            requests: requests.len(),
        });
        let score = |prompt: &Prompt, continuation: &str| {
            if continuation.is_empty() {
                return Err(TableError::EmptyContinuation);
            }
            let logprob = self.probability(prompt, continuation).ln() as f32;
            Ok(Score {
                logprobs: vec![logprob],
            })
        };
        let scores = requests.iter().map(|request| {
            let continuations = request.continuations.iter();
            continuations
                .map(|continuation| score(request.prompt, continuation))
                .collect::<Result<Vec<Score>, TableError>>()
        });
        Ok(scores.collect::<Result<Vec<_>, _>>()?)
    }

    /// If the table has none of the continuations, they are equally likely.
    fn choose(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<f64>>, ModelError> {
        let scores = self.score(requests)?;
        Ok(scores
            .iter()
            .map(|scores| {
                let sums: Vec<f64> = scores.iter().map(Score::sum).collect();
                if sums.iter().all(|sum| *sum == f64::NEG_INFINITY) {
                    return vec![1.0 / sums.len() as f64; sums.len()];
                }
                softmax(&sums)
            })
            .collect())
    }

    fn hidden(&self, _prompts: &[&Prompt], _layer: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        Err(TableError::NoHidden.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_language::Examples;

    fn table() -> TableModel {
        TableModel::new(vec![Fact {
            question: "where is the Louvre".to_owned(),
            answer: "Paris".to_owned(),
            wrong: vec!["Rome".to_owned(), "London".to_owned()],
            known: 0.4,
            copied: 0.5,
            misled: 0.25,
        }])
        .unwrap()
    }

    fn prompt(evidence: &str) -> Prompt {
        let input = format!("{evidence}Question: where is the Louvre\nAnswer:");
        Prompt::new("Answer.", Examples::Fixed(&[]), input)
    }

    #[track_caller]
    fn check(evidence: &str, expected: &[(&str, f64)]) {
        let table = table();
        let prompt = prompt(evidence);
        let answers = table.answers(&prompt);
        assert_eq!(answers.len(), expected.len(), "{answers:?}");
        for (answer, probability) in expected {
            let found = table.probability(&prompt, answer);
            assert!((found - probability).abs() < 1e-12, "{answer}: {found}");
        }
    }

    #[test]
    fn the_probabilities_are_those_set() {
        check("", &[("Paris", 0.4), ("Rome", 0.3), ("London", 0.3)]);
        check(
            "[1] It is in PARIS.\n",
            &[("Paris", 0.7), ("Rome", 0.15), ("London", 0.15)],
        );
        check(
            "[1] Rome is old.\n",
            &[("Paris", 0.3), ("Rome", 0.35), ("London", 0.35)],
        );
        check(
            "[1] It is in MASK.\n",
            &[
                ("Paris", 0.3),
                ("MASK", 0.25),
                ("Rome", 0.225),
                ("London", 0.225),
            ],
        );
    }

    #[test]
    fn samples_scores_and_choices_agree_with_the_table() {
        let (table, prompt) = (table(), prompt(""));
        let options = GenerateOptions::new(Sampling::at(1.0, 7), 8);
        let request = [GenerateRequest::new(&prompt, 20_000, &options)];
        let mut ignore = |_: Progress<'_>| ControlFlow::Continue(());
        let written = table.generate(&request, &mut ignore).unwrap();
        assert_eq!(written, table.generate(&request, &mut ignore).unwrap());
        for (answer, probability) in table.answers(&prompt) {
            let drawn: Vec<_> = written[0]
                .iter()
                .filter(|written| written.text.trim() == answer)
                .collect();
            let share = drawn.len() as f64 / 20_000.0;
            assert!((share - probability).abs() < 0.02, "{answer}: {share}");
            let logprob = f64::from(drawn[0].logprobs.as_ref().unwrap()[0]);
            assert!((logprob - probability.ln()).abs() < 1e-6);
        }
        let request = [ScoreRequest::new(&prompt, &[" Paris", " Rome", " Oslo"])];
        let scores = table.score(&request).unwrap();
        assert!((scores[0][0].sum() - 0.4_f64.ln()).abs() < 1e-6);
        assert_eq!(scores[0][2].sum(), f64::NEG_INFINITY);
        let chances = table.choose(&request).unwrap();
        assert!((chances[0][0] - 4.0 / 7.0).abs() < 1e-6, "{chances:?}");
        assert_eq!(chances[0][2], 0.0);
    }

    #[test]
    fn a_text_states_what_is_known() {
        let prompt = prompt("");
        let table = table().writing_texts(&[&prompt.instruction]);
        let options = GenerateOptions::new(Sampling::Greedy, 8);
        let request = [GenerateRequest::new(&prompt, 1, &options)];
        let mut ignore = |_: Progress<'_>| ControlFlow::Continue(());
        let written = table.generate(&request, &mut ignore).unwrap();
        assert_eq!(written[0][0].text, " What is known of it: Paris.");
    }

    #[test]
    fn what_is_not_in_the_table_is_answered_with_nothing() {
        let table = table();
        let other = Prompt {
            input: "Question: who\nAnswer:".to_owned(),
            ..prompt("")
        };
        assert_eq!(table.answers(&other), [("", 1.0)]);
        let request = ScoreRequest::new(&other, &[" True", " False"]);
        assert_eq!(table.choose(&[request]).unwrap(), [[0.5, 0.5]]);
        let broken = Fact {
            known: f64::NAN,
            ..table.facts[0].clone()
        };
        let error = TableModel::new(vec![broken]).unwrap_err();
        assert_eq!(error.kind(), "not_a_probability");
    }
}
