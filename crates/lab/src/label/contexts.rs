//! Labeling a batch of questions: the texts that the model writes, the passages of each corpus, and how likely the
//! golden answer is after each of them. `run` stores the records.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use ken_answer::prompt::{self, QuestionPrompt};
use ken_answer::{AnswerError, Retriever, SPARE_TOKENS, VERBALIZED_TOKENS};
use ken_eval::dataset::Question;
use ken_index::Mode;
use ken_language::{Embedder, LanguageModel, Prompt, Score, ScoreRequest, named};
use ken_probe::{DrawRequest, Golden, SampleOptions, draw_watched, letter, right_choices, seed_of};

use super::demonstrations::Demonstrations;
use super::first::unless;
use super::record::{Context, LabelFingerprints, SourceRecord};

/// The name of the model as a source.
pub use ken_answer::datastore::SELF;

/// A corpus as a source.
pub struct NamedCorpus {
    /// Its name in labels, other than [`SELF`] and those of other corpora.
    pub name: String,
    /// Searches its passages.
    pub retriever: Retriever,
}

/// Which of several golden answers is scored, after all contexts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GoldenChoice {
    /// The first one.
    #[default]
    First,
    /// The one with the largest sum of likelihoods over all contexts.
    MostLikely,
}

named! {
    GoldenChoice, "choice of a golden answer",
    GoldenChoice::First => "first",
    GoldenChoice::MostLikely => "likeliest",
}

/// The models, corpora and settings of labeling.
#[derive(Clone, Copy)]
pub struct Labeling<'a> {
    /// Writes texts and scores answers.
    pub model: &'a dyn LanguageModel,
    /// The sources besides the model.
    pub corpora: &'a [NamedCorpus],
    /// Clusters the first texts.
    pub embedder: &'a dyn Embedder,
    /// The search mode.
    pub mode: Mode,
    /// Contexts per source, and how many of the most helpful ones count for the majority: n.
    pub contexts: usize,
    /// Which golden answer is scored.
    pub golden: GoldenChoice,
    /// The seed of all random draws.
    pub seed: u64,
}

/// A context with the prompt that asks for an answer from it.
struct Draft {
    /// The index of its question in the batch.
    question: usize,
    prompt: Prompt,
    context: Context,
}

impl Labeling<'_> {
    /// What everything is labeled with.
    pub(super) fn fingerprints(&self) -> LabelFingerprints {
        let corpora = self.corpora.iter().map(|corpus| {
            let fingerprint = corpus.retriever.back_end().fingerprint();
            (corpus.name.clone(), fingerprint)
        });
        LabelFingerprints {
            model: self.model.fingerprint().to_owned(),
            corpora: corpora.collect::<BTreeMap<_, _>>(),
            prompt: prompt::fingerprint(),
            verbalize: prompt::verbalize_fingerprint(),
        }
    }

    /// Labels a batch of questions that can be labeled.
    ///
    /// # Errors
    /// A question that is empty or does not fit, a failing or stopped model, embedder or index.
    pub(super) fn batch(
        &self,
        questions: &[&Question],
        demonstrations: &Demonstrations<'_>,
        cancel: &AtomicBool,
    ) -> Result<Vec<SourceRecord>, AnswerError> {
        let question_prompts = questions
            .iter()
            .map(|question| question.asked())
            .collect::<Result<Vec<_>, _>>()?;
        let golden: Vec<Vec<String>> = questions
            .iter()
            .map(|question| self.answers(question))
            .collect();
        let mut contexts = self.write(questions, &question_prompts, demonstrations, cancel)?;
        for corpus in self.corpora {
            self.find(corpus, &question_prompts, &mut contexts)?;
        }
        let mut drafts = Vec::new();
        for (question, contexts) in contexts.into_iter().enumerate() {
            for context in contexts {
                let prompt = match context.source.as_str() {
                    SELF => prompt::from_known(question_prompts[question], &context.text),
                    corpus => {
                        let (title, text) = (&context.title, &context.text);
                        prompt::from_passage(question_prompts[question], corpus, title, text)
                    }
                };
                if self.fits(&prompt, &golden[question])? {
                    drafts.push(Draft {
                        question,
                        prompt,
                        context,
                    });
                }
            }
        }
        let owners: Vec<(&Prompt, usize)> = drafts
            .iter()
            .map(|draft| (&draft.prompt, draft.question))
            .collect();
        let scores = self.score(&owners, &golden)?;
        let nothing: Vec<Prompt> = question_prompts
            .iter()
            .map(|question_prompt| prompt::from_memory(*question_prompt))
            .collect();
        let without = self.score(&nothing.iter().zip(0..).collect::<Vec<_>>(), &golden)?;
        Ok(self.records(questions, golden, drafts, &scores, &without))
    }

    /// The texts that the model writes about each question.
    ///
    /// # Shapes
    /// Returns `[questions][contexts]`.
    fn write(
        &self,
        questions: &[&Question],
        question_prompts: &[QuestionPrompt<'_>],
        demonstrations: &Demonstrations<'_>,
        cancel: &AtomicBool,
    ) -> Result<Vec<Vec<Context>>, AnswerError> {
        let prompts: Vec<Vec<Prompt>> = questions
            .iter()
            .zip(question_prompts)
            .map(|(question, question_prompt)| {
                demonstrations.prompts(&question.id, *question_prompt, self.contexts)
            })
            .collect();
        // Requests with the same examples are adjacent, so that the model reads the examples once.
        let mut requests = Vec::new();
        let mut owners = Vec::new();
        for number in 0..self.contexts {
            for (owner, (question, prompts)) in questions.iter().zip(&prompts).enumerate() {
                requests.push(self.draw_request(&question.id, prompts, number));
                owners.push(owner);
            }
        }
        let written = draw_watched(self.model, &requests, &mut |_, _| unless(cancel))?;
        let mut contexts: Vec<Vec<Context>> = questions.iter().map(|_| Vec::new()).collect();
        for (owner, written) in owners.into_iter().zip(written) {
            contexts[owner].push(Context {
                source: SELF.to_owned(),
                title: String::new(),
                text: written.ok_or(AnswerError::Interrupted)?.into_text(),
                passage_id: None,
                logprob: f64::NEG_INFINITY,
            });
        }
        Ok(contexts)
    }

    /// The greedy text of each prompt; a repeated prompt is sampled.
    fn draw_request<'p>(&self, id: &str, prompts: &'p [Prompt], number: usize) -> DrawRequest<'p> {
        let prompt = &prompts[number];
        let is_new = !prompts[..number].contains(prompt);
        if number == 0 || (is_new && self.model.capabilities().examples) {
            return DrawRequest::greedy(prompt, VERBALIZED_TOKENS);
        }
        let options = SampleOptions {
            samples: 1,
            temperature: 1.0,
            max_tokens: VERBALIZED_TOKENS,
        };
        let seed = seed_of(self.seed.wrapping_add(number as u64), id);
        DrawRequest::for_samples(prompt, options, seed)
    }

    /// Adds the passages of a corpus for each question.
    fn find(
        &self,
        corpus: &NamedCorpus,
        question_prompts: &[QuestionPrompt<'_>],
        contexts: &mut [Vec<Context>],
    ) -> Result<(), AnswerError> {
        let queries: Vec<&str> = question_prompts
            .iter()
            .map(|question_prompt| question_prompt.question)
            .collect();
        let results = corpus
            .retriever
            .search_many(&queries, self.mode, self.contexts)?;
        for (contexts, results) in contexts.iter_mut().zip(results) {
            contexts.extend(results.into_iter().map(|result| Context {
                source: corpus.name.clone(),
                title: result.passage.full_title(),
                text: result.text,
                passage_id: Some(result.passage.id.0),
                logprob: f64::NEG_INFINITY,
            }));
        }
        Ok(())
    }

    /// Whether a prompt and the longest of its answers fit into the model's context.
    fn fits(&self, prompt: &Prompt, answers: &[String]) -> Result<bool, AnswerError> {
        let budget = self.model.context_tokens().saturating_sub(SPARE_TOKENS);
        let longest = answers.iter().map(String::as_str).max_by_key(|a| a.len());
        let longest = longest.unwrap_or_default();
        let (shared, input) = prompt.text();
        // A token has at least one byte, so only long prompts need counting.
        if shared.len() + input.len() + longest.len() <= budget {
            return Ok(true);
        }
        let used = self.model.count_prompt_tokens(prompt)? + self.model.count_tokens(longest)?;
        Ok(used <= budget)
    }

    /// How likely each answer is after each prompt, given with the index of its question.
    ///
    /// # Shapes
    /// Returns `[prompts][answers]`, natural logarithms.
    fn score(
        &self,
        asked: &[(&Prompt, usize)],
        golden: &[Vec<String>],
    ) -> Result<Vec<Vec<f64>>, AnswerError> {
        // In the form in which the answer would follow.
        let continuations: Vec<Vec<String>> = golden
            .iter()
            .map(|answers| answers.iter().map(|answer| format!(" {answer}")).collect())
            .collect();
        let continuations: Vec<Vec<&str>> = continuations
            .iter()
            .map(|answers| answers.iter().map(String::as_str).collect())
            .collect();
        let requests: Vec<ScoreRequest<'_, Prompt>> = asked
            .iter()
            .map(|&(prompt, question)| ScoreRequest::new(prompt, &continuations[question]))
            .collect();
        let scores = self.model.score(&requests)?;
        Ok(scores
            .iter()
            .map(|scores| scores.iter().map(Score::sum).collect())
            .collect())
    }

    fn records(
        &self,
        questions: &[&Question],
        golden: Vec<Vec<String>>,
        drafts: Vec<Draft>,
        scores: &[Vec<f64>],
        without: &[Vec<f64>],
    ) -> Vec<SourceRecord> {
        let fingerprint = self.fingerprints();
        let corpora = self.corpora.iter().map(|corpus| corpus.name.as_str());
        let sources: Vec<&str> = std::iter::once(SELF).chain(corpora).collect();
        let mut contexts: Vec<Vec<(Context, &[f64])>> =
            questions.iter().map(|_| Vec::new()).collect();
        for (draft, scores) in drafts.into_iter().zip(scores) {
            contexts[draft.question].push((draft.context, scores));
        }
        questions
            .iter()
            .zip(golden)
            .zip(contexts)
            .zip(without)
            .map(|(((question, golden), contexts), without)| {
                let scores: Vec<&[f64]> = contexts.iter().map(|(_, scores)| *scores).collect();
                let chosen = most_likely(&scores, golden.len());
                let contexts = contexts
                    .into_iter()
                    .map(|(context, scores)| Context {
                        logprob: scores.get(chosen).copied().unwrap_or(f64::NEG_INFINITY),
                        ..context
                    })
                    .collect();
                SourceRecord::new(
                    question,
                    golden.get(chosen).cloned().unwrap_or_default(),
                    without.get(chosen).copied().unwrap_or(f64::NEG_INFINITY),
                    contexts,
                    &sources,
                    self.contexts,
                    fingerprint.clone(),
                )
            })
            .collect()
    }

    /// The answers to score, at least one for a question that can be labeled: the letters of right choices, or the
    /// golden answers with content.
    fn answers(&self, question: &Question) -> Vec<String> {
        let letters = right_choices(&question.golden_answers, &question.choices)
            .into_iter()
            .filter_map(letter)
            .map(String::from);
        let mut answers: Vec<String> = letters.collect();
        if answers.is_empty() {
            let tells = |answer: &&String| Golden::only(answer, &[]).obstacle().is_none();
            let telling = question.golden_answers.iter().filter(tells);
            answers = telling.map(|answer| answer.trim().to_owned()).collect();
        }
        if self.golden == GoldenChoice::First {
            answers.truncate(1);
        }
        answers
    }
}

/// The index of the answer with the largest sum of likelihoods, the first among equals.
fn most_likely(scores: &[&[f64]], answers: usize) -> usize {
    let top = scores.iter().flat_map(|scores| scores.iter().copied());
    let top = top.fold(f64::NEG_INFINITY, f64::max);
    let sum = |answer: usize| -> f64 {
        let logprobs = scores.iter().filter_map(|scores| scores.get(answer));
        // If all are impossible, the difference is NaN.
        logprobs.map(|logprob| (logprob - top).exp().max(0.0)).sum()
    };
    (0..answers).fold(0, |best, answer| match sum(answer) > sum(best) {
        true => answer,
        false => best,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_answer_is_that_of_the_largest_sum() {
        let impossible = f64::NEG_INFINITY;
        let scores: [&[f64]; 2] = [&[0.2_f64.ln(), 0.3_f64.ln()], &[0.2_f64.ln(), impossible]];
        assert_eq!(most_likely(&scores, 2), 0);
        assert_eq!(most_likely(&scores[..1], 2), 1);
        assert_eq!(most_likely(&[&[impossible, impossible]], 2), 0);
        assert_eq!(most_likely(&[], 2), 0);
        // Too small for a float, but still comparable.
        assert_eq!(most_likely(&[&[-2000.0, -1990.0]], 2), 1);
    }
}
