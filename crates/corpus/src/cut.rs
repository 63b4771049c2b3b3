//! The segmentation of documents.

use std::fmt;
use std::str::FromStr;

use crate::document::Document;
use crate::segment::{Segmentation, SegmentationError};

/// How documents are cut into passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Records are passages already and stay whole; other documents are cut into 100 words, as is
    /// usual for retrieval corpora.
    Auto,
    /// Every document the same way.
    Every(Segmentation),
}

impl Cut {
    /// The segmentation for one document.
    #[must_use]
    pub fn of(self, document: &Document) -> Segmentation {
        match self {
            Self::Auto if document.record => Segmentation::Whole,
            Self::Auto => Segmentation::Words {
                size: 100,
                overlap: 0,
            },
            Self::Every(segmentation) => segmentation,
        }
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
