//! The segmentation of documents.

use std::fmt;
use std::str::FromStr;

use crate::document::Document;
use crate::segment::{Segmentation, SegmentationError};

/// How documents are cut into passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Records are passages already and stay whole, unless they are too long for the embedder; other documents are cut
    /// into whole sentences of at most 100 words together, the usual length in retrieval corpora.
    Auto,
    /// Every document the same way.
    Every(Segmentation),
}

impl Cut {
    /// The default segmentation of documents other than records.
    pub const PARTS: Segmentation = Segmentation::Sentences { size: 100 };

    /// The segmentation for one document.
    pub fn of(self, document: &Document) -> Segmentation {
        match self {
            Self::Auto if document.record => Segmentation::Whole,
            Self::Auto => Self::PARTS,
            Self::Every(segmentation) => segmentation,
        }
    }

    /// Whether a passage that is too long for the embedder is cut again. Whole texts and single sentences
    /// never are.
    pub fn cuts_long(self) -> bool {
        !matches!(
            self,
            Self::Every(Segmentation::Whole | Segmentation::Sentence)
        )
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Every(segmentation) => segmentation.fmt(f),
        }
    }
}

impl FromStr for Cut {
    type Err = SegmentationError;

    fn from_str(text: &str) -> Result<Self, SegmentationError> {
        if text == "auto" {
            Ok(Self::Auto)
        } else {
            text.parse().map(Self::Every)
        }
    }
}
