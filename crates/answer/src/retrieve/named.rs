//! The documents of a corpus on disk whose files a question names, and the search within them.

use std::ops::Range;

use ken_corpus::Passage;

use crate::retrieve::mentions::{mentions, text, without};
use crate::{AnswerError, BackEnd};

/// The most documents that are told.
const TOLD: usize = 10;

/// The documents that a question names.
pub(super) struct Named {
    /// The corpus, narrowed to them.
    pub(super) back_end: BackEnd,
    /// The ids of the first of them.
    pub(super) ids: Vec<String>,
    /// The question without their names.
    pub(super) rest: String,
    /// The passages that are searched, by segment and ordinal, of each document.
    passages: Vec<Vec<(usize, usize)>>,
}

impl Named {
    /// Looks up what may be names in a question, the longest first. `None` if it names no documents with passages to search,
    /// or the corpus is elsewhere.
    ///
    /// # Errors
    /// A damaged corpus.
    pub(super) fn find(back_end: &BackEnd, question: &str) -> Result<Option<Self>, AnswerError> {
        let Some(corpus) = back_end.corpus() else {
            return Ok(None);
        };
        let mut names: Vec<Range<usize>> = Vec::new();
        let mut documents = Vec::new();
        for span in mentions(question) {
            let overlaps = |name: &Range<usize>| span.start < name.end && name.start < span.end;
            if !names.iter().any(overlaps) {
                let named = corpus.documents_named(text(question, &span))?;
                if !named.is_empty() {
                    names.push(span);
                    documents.extend(named);
                }
            }
        }
        if documents.is_empty() {
            return Ok(None);
        }
        documents.sort_unstable();
        documents.dedup();
        let back_end = back_end.clone().of_documents(&documents)?;
        let is_searched = |place: &(usize, usize)| {
            let selection = back_end.selection();
            selection.is_some_and(|selection| selection.contains(place.0, place.1))
        };
        let (mut ids, mut passages) = (Vec::new(), Vec::new());
        for (number, document) in documents {
            let segment = &corpus.segments()[number];
            let own = segment.passages_of(document)?;
            let own = own.map(|ordinal| (number, ordinal)).filter(is_searched);
            let own: Vec<_> = own.collect();
            if own.is_empty() {
                continue;
            }
            if ids.len() < TOLD {
                ids.push(segment.listed(document)?.id);
            }
            passages.push(own);
        }
        let rest = without(question, &names);
        Ok((!ids.is_empty()).then_some(Self {
            back_end,
            ids,
            rest,
            passages,
        }))
    }

    /// The first passages: those that documents begin with, then those that follow in each.
    ///
    /// # Errors
    /// A damaged corpus.
    pub(super) fn first_passages(&self, most: usize) -> Result<Vec<Passage>, AnswerError> {
        let segments = self.back_end.corpus().map(|corpus| corpus.segments());
        let segments = segments.unwrap_or_default();
        let ranked = self.passages.iter().take(most);
        let ranked = ranked.flat_map(|passages| passages.iter().take(most).enumerate());
        let mut ranked: Vec<(usize, &(usize, usize))> = ranked.collect();
        // A stable sort keeps the order of the documents.
        ranked.sort_by_key(|(rank, _)| *rank);
        let first = ranked.into_iter().take(most);
        let first = first.map(|(_, &(segment, ordinal))| Ok(segments[segment].passage(ordinal)?));
        first.collect()
    }
}
