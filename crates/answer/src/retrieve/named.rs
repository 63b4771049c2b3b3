//! The documents of a corpus whose files a question names, and the search within them.

use std::ops::Range;

use ken_corpus::{Corpus, Passage};
use ken_index::IndexError;

use crate::retrieve::mentions::text;
use crate::{AnswerError, BackEnd};

/// The most documents that are told.
const TOLD: usize = 10;

/// The documents of a corpus that a question names.
pub(super) struct Named {
    /// The corpus, narrowed to them.
    pub(super) back_end: BackEnd,
    /// Those with passages to search, as segment and ordinal.
    documents: Vec<(usize, usize)>,
    /// Where the question names them, in bytes.
    pub(super) names: Vec<Range<usize>>,
}

impl Named {
    /// Looks up what may be names in a question, the longest first. `None` for a corpus elsewhere, whose documents are not
    /// looked up.
    ///
    /// # Errors
    /// A damaged corpus.
    pub(super) fn find(
        back_end: &BackEnd,
        question: &str,
        mentions: &[Range<usize>],
    ) -> Result<Option<Self>, AnswerError> {
        let Some(corpus) = back_end.corpus() else {
            return Ok(None);
        };
        let mut names: Vec<Range<usize>> = Vec::new();
        let mut documents = Vec::new();
        for span in mentions {
            let overlaps = |name: &Range<usize>| span.start < name.end && name.start < span.end;
            if names.iter().any(overlaps) {
                continue;
            }
            let named = corpus.documents_named(text(question, span));
            let named = named.map_err(IndexError::from)?;
            if !named.is_empty() {
                names.push(span.clone());
                documents.extend(named);
            }
        }
        documents.sort_unstable();
        documents.dedup();
        let back_end = back_end.clone().of_documents(&documents)?;
        let mut named = Self {
            back_end,
            documents: Vec::new(),
            names,
        };
        for document in documents {
            if !named.passages(corpus, document)?.is_empty() {
                named.documents.push(document);
            }
        }
        Ok(Some(named))
    }

    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The ids of the first of them.
    ///
    /// # Errors
    /// A damaged corpus.
    pub(super) fn ids(&self) -> Result<Vec<String>, AnswerError> {
        let segments = self.back_end.corpus().map_or(&[][..], Corpus::segments);
        let told = self.documents.iter().take(TOLD);
        let ids = told.map(|&(segment, document)| Ok(segments[segment].listed(document)?.id));
        Ok(ids.collect::<Result<_, IndexError>>()?)
    }

    /// The first passages: those that documents begin with, then those that follow in each.
    ///
    /// # Errors
    /// A damaged corpus.
    pub(super) fn first_passages(&self, most: usize) -> Result<Vec<Passage>, AnswerError> {
        let Some(corpus) = self.back_end.corpus() else {
            return Ok(Vec::new());
        };
        let mut places = Vec::new();
        for &document in self.documents.iter().take(most) {
            let passages = self.passages(corpus, document)?.into_iter().take(most);
            let placed = passages.enumerate();
            places.extend(placed.map(|(rank, ordinal)| (rank, document.0, ordinal)));
        }
        places.sort_unstable();
        places.truncate(most);
        let segments = corpus.segments();
        let passages = places
            .into_iter()
            .map(|(_, segment, ordinal)| Ok(segments[segment].passage(ordinal)?));
        Ok(passages.collect::<Result<_, IndexError>>()?)
    }

    /// The ordinals of a document's passages that are searched.
    fn passages(
        &self,
        corpus: &Corpus,
        (segment, document): (usize, usize),
    ) -> Result<Vec<usize>, IndexError> {
        let Some(selection) = self.back_end.selection() else {
            return Ok(Vec::new());
        };
        let passages = corpus.segments()[segment].passages_of(document)?;
        Ok(passages
            .filter(|ordinal| selection.contains(segment, *ordinal))
            .collect())
    }
}
