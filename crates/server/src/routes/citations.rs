//! Where an answer cites its passages, for all APIs.

use std::ops::Range;

use crate::service::answers::Completion;
use crate::wire::ken::Citation;

/// A citation at one place.
pub(crate) struct Cited<'a> {
    /// A range of code points of the answer.
    pub(crate) place: Range<usize>,
    /// The corpus of the passage.
    pub(crate) corpus: &'a str,
    pub(crate) citation: &'a Citation,
}

impl Cited<'_> {
    /// The document's title, or else its id, with the page.
    pub(crate) fn title(&self) -> String {
        let citation = self.citation;
        (citation.location).named(&citation.title, &citation.doc_id)
    }
}

/// The citations, in the order of the text. One without a place holds for the whole answer.
pub(crate) fn cited(answered: &Completion) -> Vec<Cited<'_>> {
    if answered.trace.corpus.is_none() {
        return Vec::new();
    }
    let length = answered.text.chars().count();
    let mut cited = Vec::new();
    for citation in &answered.trace.citations {
        let mut places: Vec<_> = citation
            .places
            .iter()
            .map(|place| place.start..place.end)
            .collect();
        if places.is_empty() {
            places.push(0..length);
        }
        cited.extend(places.into_iter().map(|place| Cited {
            place,
            corpus: answered.trace.corpus_of(citation.corpus.as_ref()),
            citation,
        }));
    }
    cited.sort_by_key(|cited| cited.place.start);
    cited
}
