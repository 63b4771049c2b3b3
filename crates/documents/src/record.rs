//! What every reader gives for each document.

use ken_corpus::Document;

use crate::place::Place;

/// A document and where it stands.
pub(crate) struct Record {
    pub(crate) document: Document,
    pub(crate) place: Place,
}
