//! Search results for the questions of a data set: stored once, and read by all models.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use ken_answer::{Pipeline, QuestionPrompt, RerankCost, Retriever, SearchOutcome, SearchResult};
use ken_corpus::{Location, Passage, PassageId};
use ken_eval::dataset::Question;
use ken_eval::part::joined_fingerprint;
use ken_eval::record::Failure;
use ken_eval::record_of_question;
use ken_eval::results::ResultsFile;
use ken_eval::run::{Outcome, Run, RunError, Work};
use ken_index::Mode;
use ken_language::fingerprint_of_texts;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::condition::Condition;
use super::error::ScalingError;

/// The search result of a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// The passages, or the chunks of them that were kept, best first.
    pub passages: Vec<FoundPassage>,
    /// Its share of the time to embed questions.
    pub embed_ms: f64,
    /// The time of its search.
    pub search_ms: f64,
    /// Its share of the time to rerank; `None` without reranking.
    pub rerank_ms: Option<f64>,
    /// Why the search failed.
    pub error: Option<Failure>,
}

/// A passage, or a chunk of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundPassage {
    /// The passage's id.
    pub id: String,
    /// Its document's id.
    pub doc: String,
    /// Its document's title.
    pub title: String,
    /// Its location in the document.
    #[serde(flatten)]
    pub location: Location,
    /// Its text, or that of the chunk.
    pub text: String,
    /// The chunk as a range of characters of the passage.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chunk: Option<Range<usize>>,
    /// Its score; higher is more relevant.
    pub score: f32,
}

record_of_question! { Evidence, Retrieve by Study, [question] }

impl Evidence {
    fn new(question: &Question, found: SearchOutcome) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let passages = found.results.into_iter().map(|result| FoundPassage {
            id: result.passage.id.0,
            doc: result.passage.doc_id,
            title: result.passage.title,
            location: result.passage.location,
            text: result.text,
            chunk: result.chunk,
            score: result.score,
        });
        Self {
            passages: passages.collect(),
            embed_ms: ms(found.embed_time),
            search_ms: ms(found.search_time),
            rerank_ms: found.rerank.map(|rerank| ms(rerank.time)),
            ..Self::of(question)
        }
    }

    /// Milliseconds of embedding, searching and reranking.
    pub fn ms(&self) -> f64 {
        self.embed_ms + self.search_ms + self.rerank_ms.unwrap_or_default()
    }

    /// A text that identifies the passages, or chunks of them, in order.
    pub(super) fn passages_told(&self) -> String {
        let id = |passage: &FoundPassage| match &passage.chunk {
            Some(chunk) => format!("{}[{}..{}]", passage.id, chunk.start, chunk.end),
            None => passage.id.clone(),
        };
        self.passages.iter().map(id).collect::<Vec<_>>().join("\n")
    }

    fn found(&self) -> SearchOutcome {
        let time = |ms: f64| Duration::from_secs_f64(ms.max(0.0) / 1000.0);
        let results = self.passages.iter().map(|passage| SearchResult {
            passage: Passage {
                id: PassageId(passage.id.clone()),
                doc_id: passage.doc.clone(),
                title: passage.title.clone(),
                location: passage.location.clone(),
                text: passage.text.clone(),
                metadata: Map::new(),
            },
            text: passage.text.clone(),
            chunk: passage.chunk.clone(),
            score: passage.score,
            corpus: None,
        });
        SearchOutcome {
            results: results.collect(),
            embed_time: time(self.embed_ms),
            search_time: time(self.search_ms),
            rerank: self.rerank_ms.map(|ms| RerankCost {
                time: time(ms),
                tokens: 0,
            }),
            ..SearchOutcome::default()
        }
    }
}

/// The path of a data set's evidence under a condition, inside the study's folder.
pub fn evidence_file(dataset: &str, condition: &Condition) -> PathBuf {
    let name = format!("{condition}.jsonl");
    ["evidence", dataset, &name].iter().collect()
}

/// Searches for those of `questions` that the file does not hold yet.
///
/// # Errors
/// Those of a [`Run`].
pub fn find_evidence(
    retriever: &Retriever,
    mode: Mode,
    k: usize,
    questions: &[Question],
    file: &mut ResultsFile<Evidence>,
    mut run: Run<'_>,
) -> Result<Outcome<Evidence>, RunError> {
    let work = Work {
        batch: &mut |questions: &[&Question]| {
            let texts: Vec<&str> = questions.iter().map(|q| q.question.trim()).collect();
            let found = questions.iter().zip(retriever.evidence(&texts, mode, k)?);
            Ok(found
                .map(|(question, found)| Ok(Evidence::new(question, found)))
                .collect())
        },
        failed: &|question, error| Evidence {
            error: Some(Failure::of(error)),
            ..Evidence::of(question)
        },
        is_complete: &|_| true,
    };
    run.keep(questions, file, work)
}

/// The evidence as a pipeline takes it, by question.
pub fn as_found(evidence: &[Evidence]) -> HashMap<String, SearchOutcome> {
    let searched = evidence.iter().filter(|evidence| evidence.error.is_none());
    searched
        .map(|evidence| (evidence.question.trim().to_owned(), evidence.found()))
        .collect()
}

/// The texts that a model reads, by question and passage: `None` for a passage that it does not read; empty for a
/// question that does not fit.
pub type PassagesRead = Vec<Vec<Option<String>>>;

/// What a model reads of the passages retrieved for questions.
///
/// # Errors
/// A model that cannot count tokens.
pub fn passages_read(
    pipeline: &Pipeline,
    questions: &[Question],
) -> Result<PassagesRead, ScalingError> {
    let prompt = |question: &Question| {
        let found = pipeline.evidence(&[QuestionPrompt::open(question.question.trim())]);
        match found {
            Ok(found) => Ok(found
                .into_iter()
                .flatten()
                .map(|passage| passage.in_prompt.then_some(passage.text))
                .collect()),
            Err(error) if error.concerns_question() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    };
    questions.iter().map(prompt).collect()
}

/// A fingerprint of what a model reads, for the settings of cells; [joined](joined_fingerprint) from those of the
/// questions, so that parts of a study can be joined.
pub fn told(questions: &[Question], read: &PassagesRead) -> String {
    let of_questions = questions.iter().zip(read).map(|(question, read)| {
        let read = read.iter().map(|text| text.as_deref().unwrap_or(""));
        let texts: Vec<&str> = std::iter::once(question.id.as_str()).chain(read).collect();
        fingerprint_of_texts(&texts)
    });
    let of_questions: Vec<String> = of_questions.collect();
    joined_fingerprint(of_questions.iter().map(String::as_str))
}
