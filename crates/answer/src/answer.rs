//! An answer and its trace.

use std::collections::BTreeMap;
use std::ops::Range;

use ken_corpus::Location;
use ken_policy::{Calls, Source, Tokens};
use ken_probe::{Lack, Sample};
use serde::Serialize;

use crate::SearchResult;
use crate::style::Style;

/// An answer with its sources and its cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The question as asked.
    pub question: String,
    /// The choices of a multiple-choice question, lettered from `A`; empty for an open one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The letter of the choice that the answer names; `None` if it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<char>,
    /// The answer as the model wrote it or, if that is withheld, a sentence that says there is none.
    pub answer: String,
    /// The short answer that is withheld, since no signal vouches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// The answer with its log probability, if it is short, greedy and written from the question and the passages
    /// alone: policies measure it as [`Step::Greedy`](crate::Step::Greedy).
    #[serde(skip)]
    pub greedy: Option<Sample>,
    /// Whether it was cut off: it reached its limit of tokens, or repeated itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Why there is no answer, or not all of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lack: Option<Lack>,
    /// Its style.
    pub style: Style,
    /// The policy that chose the route.
    pub policy: String,
    /// The source of its knowledge.
    pub route: Source,
    /// Why that source was chosen.
    pub reason: String,
    /// The policy's signal without evidence, if it has one: the larger, the more the question needs retrieval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Whether a signal that should decide cannot tell: the question then retrieves, its evidence is kept, or its answer
    /// withheld.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cannot_tell: bool,
    /// The passages that the answer rests on.
    pub citations: Vec<Citation>,
    /// The numbers in a full answer of passages that the model has not read: ranges of the answer's characters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfounded: Vec<Range<usize>>,
    /// The ids of the documents whose files the question names, and in which alone passages were searched: the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named_documents: Vec<String>,
    /// The passages found, or the chunks of them that were kept, best first; empty without retrieval.
    pub retrieved: Vec<Retrieved>,
    /// The text about its own knowledge from which the model answered, if it wrote one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbalized: Option<Verbalized>,
    /// Calls, those of the policy included.
    pub calls: Calls,
    /// Tokens over all calls of the model.
    pub tokens: Tokens,
    /// Milliseconds by stage, and `total`.
    pub timing_ms: BTreeMap<String, f64>,
}

/// A passage that the answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The passage's number in the prompt, from 1.
    pub number: usize,
    /// The passage.
    pub passage_id: String,
    /// Its document.
    pub doc_id: String,
    /// The document's title.
    pub title: String,
    /// Where it stands in the document.
    #[serde(flatten)]
    pub location: Location,
    /// The text that the model read: the passage's, or that of the chunk.
    pub text: String,
    /// As in [`Retrieved::chunk`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Range<usize>>,
    /// As in [`SearchResult::corpus`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corpus: Option<String>,
    /// Where a full answer names it: the number, in characters of the answer; none where the passage was
    /// found by comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Range<usize>>,
}

/// A passage, or a chunk of one, found for the question.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Retrieved {
    /// The passage.
    pub passage_id: String,
    /// Its document.
    pub doc_id: String,
    /// The document's title.
    pub title: String,
    /// Where it stands in the document.
    #[serde(flatten)]
    pub location: Location,
    /// The passage's text, or that of the chunk.
    pub text: String,
    /// Which characters of the passage's text the chunk is; `None` where passages were not cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Range<usize>>,
    /// How well it fits, the larger the better; comparable within one search only. `None` for one that is read as the
    /// neighbor of a passage found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// As in [`SearchResult::corpus`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corpus: Option<String>,
    /// Whether the model got to read it; `false` where it was cut to fit.
    pub in_prompt: bool,
}

impl Retrieved {
    /// What was found and the model has not read yet.
    pub fn unread(found: SearchResult) -> Self {
        Self {
            passage_id: found.passage.id.0,
            doc_id: found.passage.doc_id,
            title: found.passage.title,
            location: found.passage.location,
            text: found.text,
            chunk: found.chunk,
            score: Some(found.score),
            corpus: found.corpus,
            in_prompt: false,
        }
    }

    /// The document's title with the headings over the passage.
    pub fn full_title(&self) -> String {
        self.location.titled(&self.title)
    }

    /// Keeps a part of the text, given by its bytes.
    pub(crate) fn keep(&mut self, window: Range<usize>) {
        let before = self.chunk.as_ref().map_or(0, |chunk| chunk.start);
        let start = before + self.text[..window.start].chars().count();
        let text = self.text[window].to_owned();
        self.chunk = Some(start..start + text.chars().count());
        self.text = text;
    }
}

/// What the model wrote of what it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verbalized {
    /// The text; empty where it wrote nothing.
    pub text: String,
    /// Tokens spent on it.
    pub tokens: Tokens,
    /// Whether the model got to read it; `false` where it did not fit beside the question, or is
    /// empty. The answer is then from memory.
    pub in_prompt: bool,
}
