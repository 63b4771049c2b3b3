//! The mastery of sentences by questions that were already probed: no model is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ken_answer::{AnswerError, BackEnd};
use ken_corpus::PassageId;
use ken_eval::dataset::Question;
use ken_eval::probe::ProbeRecord;
use ken_eval::results::ResultsFile;
use ken_eval::run::{RunError, RunRecord};
use ken_eval::statistics::mean;
use ken_language::fingerprint_of_texts;
use ken_probe::mastery::Dropped;
use ken_probe::{covers, wilson_interval_of};

use super::record::{AnsweredPair, MasteryFingerprints, MasteryRecord};
use super::sentences::sample_sentences;

/// The mastery of a corpus by probed questions.
#[derive(Debug, Clone, PartialEq)]
pub struct MasteryOfProbed {
    /// One record for each sentence that a question asks about, in the order of the corpus.
    pub records: Vec<MasteryRecord>,
    /// Questions that were not probed, or whose answers could not be judged.
    pub unprobed: usize,
    /// Probed questions whose answer is in no sentence of their gold passages.
    pub unplaced: usize,
}

impl MasteryOfProbed {
    /// A fingerprint of the measurements, 32 hex digits.
    pub fn identity(&self) -> String {
        let measured = self
            .records
            .iter()
            .map(|record| format!("{} {:?} {:?}", record.id, record.mastery, record.interval));
        let measured: Vec<String> = measured.collect();
        fingerprint_of_texts(&measured.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Writes the records to a file. A file of the same records is completed, without repetitions.
    ///
    /// # Errors
    /// [`RunError::NoLabels`], or a file that cannot be written or holds other records.
    pub fn keep(&self, out: &Path, questions: usize) -> Result<(), RunError> {
        let Some(first) = self.records.first() else {
            return Err(RunError::NoLabels { questions });
        };
        let settings = [
            ("model", first.fingerprint.model.clone()),
            ("questions", first.fingerprint.writer.clone()),
            ("corpus", first.fingerprint.corpus.clone()),
            ("records", self.identity()),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value));
        let mut results = ResultsFile::open(out, settings.into_iter().collect())?;
        for record in &self.records {
            if results.get(&record.id).is_none() {
                results.append(record.clone())?;
            }
        }
        Ok(results.sync()?)
    }
}

/// A question with its record and the confidence in its answer from memory.
type Measured<'q> = (&'q Question, &'q ProbeRecord, f64);

/// The questions with a confidence, by gold passage or document, and the number of questions without one.
fn asked<'q>(
    questions: &'q [Question],
    probed: &'q [ProbeRecord],
) -> (BTreeMap<&'q str, Vec<Measured<'q>>>, usize) {
    let by_id: BTreeMap<&str, &ProbeRecord> = probed.iter().map(|r| (r.id.as_str(), r)).collect();
    let mut asked: BTreeMap<&str, Vec<Measured<'_>>> = BTreeMap::new();
    let mut unprobed = 0;
    for question in questions {
        let record = by_id.get(question.id.as_str()).copied();
        let record = record.filter(|record| record.is_of(question));
        let measured = record.and_then(|record| Some((record, record.confidence.from_self?)));
        let Some((record, confidence)) = measured else {
            unprobed += 1;
            continue;
        };
        for gold in question.gold_passages() {
            let of_gold = asked.entry(gold).or_default();
            of_gold.push((question, record, confidence));
        }
    }
    (asked, unprobed)
}

/// Assigns each probed question to the first sentence of each of its gold passages, or documents, that contains one
/// of its golden answers. The mastery of a sentence is the mean confidence in its questions: the mean exact match of
/// Zero-RAG's equation 3 if each question is answered many times.
///
/// # Errors
/// As of [`sample_sentences`].
pub fn mastery_of_probed(
    corpus: &BackEnd,
    questions: &[Question],
    probed: &[ProbeRecord],
) -> Result<MasteryOfProbed, AnswerError> {
    let (asked, unprobed) = asked(questions, probed);
    let texts: Vec<&str> = questions.iter().map(|q| q.question.as_str()).collect();
    let writer = fingerprint_of_texts(&texts);
    let corpus_fingerprint = corpus.content();
    let mut placed = BTreeSet::new();
    let mut records = Vec::new();
    for sentence in sample_sentences(corpus, None, 0)? {
        let passage = PassageId(sentence.passage_id.clone());
        let document = passage.split().map_or("", |(document, _)| document);
        let named = [document, sentence.passage_id.as_str()].into_iter();
        let own: Vec<Measured<'_>> = named
            .filter_map(|name| asked.get_key_value(name))
            .flat_map(|(name, of_gold)| of_gold.iter().map(|&measured| (*name, measured)))
            .filter(|(name, (question, _, _))| {
                covers(&sentence.text, &question.answers_in_words()) == Some(true)
                    && placed.insert((question.id.as_str(), *name))
            })
            .map(|(_, measured)| measured)
            .collect();
        let Some((_, first, _)) = own.first() else {
            continue;
        };
        let fingerprint = MasteryFingerprints {
            model: first.fingerprint.model.clone(),
            writer: writer.clone(),
            corpus: corpus_fingerprint.clone(),
            prompt: first.fingerprint.prompt.clone(),
        };
        let pairs = own
            .iter()
            .map(|(question, record, _)| pair(question, record));
        let confidences: Vec<f64> = own.iter().map(|measured| measured.2).collect();
        let drawn = own.iter();
        let drawn = drawn.filter_map(|(_, record, _)| record.samples.from_self.as_ref());
        let samples: usize = drawn.map(Vec::len).sum();
        let share = mean(&confidences);
        records.push(MasteryRecord {
            mastery: share,
            interval: share.map(|share| wilson_interval_of(share, samples.max(1) as f64)),
            ..MasteryRecord::new(
                &sentence,
                own.len(),
                Dropped::default(),
                pairs.collect(),
                fingerprint,
            )
        });
    }
    let placed: BTreeSet<&str> = placed.into_iter().map(|(question, _)| question).collect();
    Ok(MasteryOfProbed {
        records,
        unprobed,
        unplaced: questions.len() - unprobed - placed.len(),
    })
}

fn pair(question: &Question, record: &ProbeRecord) -> AnsweredPair {
    let greedy = record.greedy.from_self.as_ref();
    AnsweredPair {
        question: question.question.clone(),
        answer: question.golden_answers.first().cloned().unwrap_or_default(),
        prediction: greedy.map_or_else(String::new, |answer| answer.answer.text.clone()),
        correct: greedy.and_then(|answer| answer.correct).unwrap_or_default(),
        validity: None,
    }
}
