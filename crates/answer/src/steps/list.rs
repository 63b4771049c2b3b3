//! After the route: answering questions for the list of documents by the corpus's own, and not by a model.

use std::ops::ControlFlow;

use ken_corpus::ListedDocument;
use ken_policy::{Choice, Policy, Source};
use ken_probe::Sample;
use ken_probe::normalize::on_one_line;

use crate::draft::{Draft, Subject};
use crate::error::AnswerError;
use crate::pipeline::{Event, Pipeline};

/// The most documents of a list.
const LISTED: usize = 20;

/// Words that change nothing.
const FILLERS: &str = "a|all|can|me|of|please|the|you|your|us";

/// What stands before the documents in a request or a question for their list, without fillers.
const VERBS: &str = "list|show|give";
const QUESTIONS: &str = "what|which|how many";

/// Words for documents.
const DOCUMENTS: &str = "documents|files|docs";

/// What stands behind them.
const BEHIND: &str = "do have|have|have got|are there|are here|are in here|are in corpus|are available|do know|see|do have access to|there are";

/// Whether a message asks which documents there are, or how many, and nothing else.
pub fn asks_for_list(message: &str) -> bool {
    let lower = message.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && !is_among(FILLERS, word));
    let words: Vec<&str> = words.collect();
    let mut parts = words.split(|word| is_among(DOCUMENTS, word));
    let (Some(before), Some(behind), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (before, behind) = (before.join(" "), behind.join(" "));
    is_among(VERBS, &before) && (behind.is_empty() || is_among(BEHIND, &behind))
        || is_among(QUESTIONS, &before) && is_among(BEHIND, &behind)
}

/// Whether words are in a list, between bars.
fn is_among(list: &str, words: &str) -> bool {
    list.split('|').any(|listed| listed == words)
}

impl Pipeline {
    /// Answers questions for the list of documents, if the one corpus that is searched is on disk, and answers are ken's own
    /// texts.
    ///
    /// # Errors
    /// A damaged corpus.
    pub(crate) fn list(
        &self,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let is_own = self.brought.conversation.is_none() && self.brought.schema.is_none();
        let searches = self.settings.policy != Policy::NEVER && self.extra_corpora.is_empty();
        let Some(retriever) = self.retriever().filter(|_| is_own && searches) else {
            return Ok(());
        };
        for (index, draft) in drafts.iter_mut().enumerate() {
            let asked = draft.question;
            let asks = draft.go_on && asked.choices.is_empty() && asks_for_list(asked.question);
            if !asks || self.found.contains_key(asked.question) {
                continue;
            }
            let listing = retriever.listing(LISTED)?;
            let Some((documents, count)) = listing.filter(|(_, count)| *count > 0) else {
                continue;
            };
            draft.choice = Choice {
                source: Source::Corpus,
                reason: "the question asks for the documents, which the corpus lists".to_owned(),
                k: None,
            };
            draft.subject = Subject::List;
            draft.is_vouched = true;
            draft.written = Some(Sample {
                text: told(&documents, count),
                ..Sample::default()
            });
            draft.go_on = watch(index, Event::Routed(&draft.choice)).is_continue();
        }
        Ok(())
    }
}

/// A list of documents, of which there are `count`.
fn told(documents: &[ListedDocument], count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    let mut text = format!("The corpus lists {count} document{plural}:");
    for document in documents {
        let name = document.id.rsplit('/').next().unwrap_or(&document.id);
        let title = on_one_line(&document.title);
        text += &match title.is_empty() || name.starts_with(&title) {
            true => format!("\n- {name}"),
            false => format!("\n- {name} ({title})"),
        };
    }
    if documents.len() < count {
        text += &format!("\n- and {} more", count - documents.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_questions_ask_for_the_list() {
        for message in [
            "What documents do you have?",
            "which files are in here?",
            "Which documents are there?",
            "What files can you see?",
            "List all documents.",
            "Please show me your files",
            "Can you list the documents you have?",
            "How many documents are in the corpus?",
        ] {
            assert!(asks_for_list(message), "{message}");
        }
        for message in [
            "Which documents do you have about cars?",
            "What documents are needed for a visa?",
            "What documents?",
            "What do you have?",
            "How are files deleted?",
            "documents",
            "",
        ] {
            assert!(!asks_for_list(message), "{message}");
        }
    }

    #[test]
    fn a_list_tells_names_titles_and_how_many_are_left_out() {
        let listed = |id: &str, title: &str| ListedDocument {
            id: id.to_owned(),
            digest: String::new(),
            title: title.to_owned(),
            passages: 1,
            pruned: 0,
            origin: None,
            metadata: serde_json::Map::new(),
        };
        let documents = [
            listed("notes/todo.md", "todo"),
            listed("b.pdf", "The\nyear"),
            listed("m-1", ""),
        ];
        assert_eq!(
            told(&documents, 5),
            "The corpus lists 5 documents:\n- todo.md\n- b.pdf (The year)\n- m-1\n- and 2 more"
        );
        let one = told(&documents[..1], 1);
        assert_eq!(one, "The corpus lists 1 document:\n- todo.md");
    }
}
