//! Labels the sentences without a record: has pairs written, and has the model answer their questions from memory.
//! `ken_eval::run` has the loop.

use ken_answer::AnswerError;
use ken_answer::prompt::{self, QuestionPrompt};
use ken_eval::results::{ResultsFile, RunSettings};
use ken_eval::run::{Outcome, Records, Run, RunError, Work};
use ken_language::{LanguageModel, Prompt, fingerprint_of_texts};
use ken_probe::mastery::{self, Stated, WriteOptions, write_pairs};
use ken_probe::{Correctness, Golden, are_right, greedy_lines};

use super::record::{AnsweredPair, MasteryFingerprints, MasteryRecord};
use super::sentences::Sentence;

/// The models and settings of labeling.
#[derive(Clone, Copy)]
pub struct MasteryWork<'a> {
    /// The model whose mastery is measured.
    pub model: &'a dyn LanguageModel,
    /// The model that writes and judges the questions; may be the same.
    pub writer: &'a dyn LanguageModel,
    /// The corpus's fingerprint.
    pub corpus: &'a str,
    /// The judge of answers, for `Correctness::Judge`.
    pub judge: &'a dyn LanguageModel,
    /// When an answer is right.
    pub correctness: Correctness,
    /// How pairs are written.
    pub write: WriteOptions,
    /// Most tokens of an answer from memory.
    pub max_tokens: usize,
}

/// Labels the sentences without a record in `results`, and appends each record as soon as it exists. A sentence that
/// cannot be labeled, such as one that is too long, gets a record of failure.
///
/// # Errors
/// Those of a [`Run`].
pub fn label_mastery(
    work: &MasteryWork<'_>,
    sentences: &[Sentence],
    results: &mut ResultsFile<MasteryRecord>,
    mut run: Run<'_>,
) -> Result<Outcome<MasteryRecord>, RunError> {
    let work = Work {
        batch: &mut |sentences| work.batch(sentences),
        failed: &|sentence, error| MasteryRecord::failed(sentence, error, work.fingerprints()),
        is_complete: &|_| true,
    };
    run.keep(sentences, results, work)
}

impl MasteryWork<'_> {
    /// The models, corpus and prompts of all records.
    pub fn fingerprints(&self) -> MasteryFingerprints {
        MasteryFingerprints {
            model: self.model.fingerprint().to_owned(),
            writer: self.writer.fingerprint().to_owned(),
            corpus: self.corpus.to_owned(),
            prompt: fingerprint_of_texts(&[
                &prompt::fingerprint(),
                &mastery::fingerprint(self.write.answers),
            ]),
        }
    }

    /// What the records depend on: a file can be resumed only under the same settings. `computing` names how the
    /// models are run; `seed` is that of the sample. The sample's size is not part of it, since a smaller sample is
    /// part of a larger one.
    pub fn identity(&self, computing: RunSettings, seed: u64) -> RunSettings {
        let measured = self.fingerprints();
        let pairs = [
            ("model", measured.model),
            ("writer", measured.writer),
            ("corpus", measured.corpus),
            ("prompt", measured.prompt),
            ("pairs", self.write.pairs.to_string()),
            ("max_tokens", self.max_tokens.to_string()),
            ("seed", seed.to_string()),
            ("correct", self.correctness.to_string()),
        ];
        let judge = (self.correctness == Correctness::Judge)
            .then(|| ("judge", self.judge.fingerprint().to_owned()));
        let all = pairs.into_iter().chain(judge);
        let named = all.map(|(name, value)| (name.to_owned(), value));
        named.chain(computing).collect()
    }

    /// Labels a batch of sentences.
    ///
    /// # Errors
    /// A sentence that does not fit, a failing model.
    fn batch(&self, sentences: &[&Sentence]) -> Records<MasteryRecord> {
        let stated: Vec<Stated<'_>> = sentences
            .iter()
            .map(|sentence| Stated {
                title: &sentence.title,
                sentence: &sentence.text,
            })
            .collect();
        let written = write_pairs(self.writer, &stated, self.write)?;
        let prompts: Vec<Prompt> = written
            .iter()
            .flatten()
            .flat_map(|written| &written.pairs)
            .map(|pair| prompt::from_memory(QuestionPrompt::open(&pair.question)))
            .collect();
        let predictions = greedy_lines(self.model, &prompts, self.max_tokens)?;
        let pairs = written.iter().flatten().flat_map(|written| &written.pairs);
        let answers: Vec<(&str, Golden<'_>)> = predictions
            .iter()
            .zip(pairs)
            .map(|(prediction, pair)| {
                let golden = Golden::only(&pair.answer, &[]);
                (prediction.as_deref().unwrap_or_default(), golden)
            })
            .collect();
        let right = are_right(self.correctness, &answers, self.judge)?;
        let mut answered = predictions.into_iter().zip(right);
        let fingerprints = self.fingerprints();
        Ok(sentences
            .iter()
            .zip(written)
            .map(|(sentence, written)| {
                let written = written.ok_or(AnswerError::Interrupted)?;
                let own = answered.by_ref().take(written.pairs.len());
                let own: Vec<_> = own.map(|(text, right)| Some((text?, right))).collect();
                let own: Option<Vec<(String, bool)>> = own.into_iter().collect();
                let own = own.ok_or(AnswerError::Interrupted)?;
                let pairs = written.pairs.into_iter().zip(own);
                let pairs = pairs.map(|(pair, (prediction, correct))| AnsweredPair {
                    correct,
                    question: pair.question,
                    answer: pair.answer,
                    prediction,
                    validity: pair.validity,
                });
                Ok(MasteryRecord::new(
                    sentence,
                    written.wanted,
                    written.dropped,
                    pairs.collect(),
                    fingerprints.clone(),
                ))
            })
            .collect())
    }
}
