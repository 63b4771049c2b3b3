//! An answer and its trace.

use std::collections::BTreeMap;
use std::ops::Range;

use ken_corpus::Location;
use ken_policy::{Calls, Source, Tokens};
use ken_probe::{Lack, Sample};
use serde::Serialize;

use crate::SearchResult;
use crate::style::Style;

/// An answer, where it came from, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The question as asked.
    pub question: String,
    /// What was to be chosen from, lettered from `A`; none where any answer could be given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The letter of the choice that the answer names; `None` where it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<char>,
    /// The answer as the model wrote it; where that is withheld, that there is none.
    pub answer: String,
    /// The short answer that is withheld, since nothing vouches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// The same with its log probability, where it is short, greedy and written from the question and what was
    /// found alone: what policies measure as [`Step::Greedy`](crate::Step::Greedy).
    #[serde(skip)]
    pub greedy: Option<Sample>,
    /// Whether it was ended: it had as many tokens as it may have, or repeated itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Why there is no answer, or not all of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lack: Option<Lack>,
    /// How much it says.
    pub style: Style,
    /// The policy that chose the route.
    pub policy: String,
    /// Where the knowledge came from.
    pub route: Source,
    /// Why that source was chosen.
    pub reason: String,
    /// What the policy measured without evidence, where it measures: the larger, the more the question
    /// needs retrieval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Whether a signal that was to decide cannot tell: the question was searched for, evidence kept, or the answer
    /// withheld for that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cannot_tell: bool,
    /// The passages that the answer rests on.
    pub citations: Vec<Citation>,
    /// Where a full answer names a passage that the model has not read: the number, in characters of the
    /// answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfounded: Vec<Range<usize>>,
    /// The passages found, or the chunks of them that were kept, best first; none where nothing was retrieved.
    pub retrieved: Vec<Retrieved>,
    /// What the model wrote of what it knows, to answer from that; `None` where it was not to.
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// How well it fits, the larger the better; comparable within one search only.
    pub score: f32,
    /// As in [`SearchResult::corpus`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corpus: Option<String>,
    /// Whether the model got to read it; `false` where it was cut to fit.
    pub in_prompt: bool,
}

impl Retrieved {
    /// What was found and the model has not read yet.
    #[must_use]
    pub fn unread(found: SearchResult) -> Self {
        Self {
            passage_id: found.passage.id.0,
            doc_id: found.passage.doc_id,
            title: found.passage.title,
            location: found.passage.location,
            text: found.text,
            chunk: found.chunk,
            score: found.score,
            corpus: found.corpus,
            in_prompt: false,
        }
    }

    /// The document's title with the headings over the passage.
    #[must_use]
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
