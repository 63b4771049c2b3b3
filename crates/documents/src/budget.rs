//! The limits on what one document may cost, so that a hostile file gives an error and does not end the process.

use std::io;

/// What one document may cost. All limits follow from one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The most bytes of a document: of a whole file after decompression, of a line, record, row
    /// or wiki page.
    pub document_bytes: u64,
}

impl Budget {
    /// 64 MiB: a hundred times the longest articles and most books, while a reader that holds a
    /// document several times over still fits into a few hundred megabytes.
    pub const DEFAULT_DOCUMENT_BYTES: u64 = 64 << 20;

    /// How deep containers may nest. Not a setting: recursive parsers, and those that visit
    /// all open containers on every line, need a bound however much memory there is.
    pub(crate) const DEPTH: usize = 100;

    /// The window that every Zstandard decoder has to support (RFC 8878).
    const LEAST_WINDOW_LOG: u32 = 23;
    const LARGEST_WINDOW_LOG: u32 = 31;

    /// The most values, fields or columns of a document. A value of a byte or two in the file takes
    /// about a hundred bytes in memory.
    pub(crate) fn parts(self) -> u64 {
        (self.document_bytes / 64).max(1024)
    }

    /// The most bytes of page content that a PDF may draw, counting each form every time it is
    /// drawn.
    pub(crate) fn work(self) -> u64 {
        self.document_bytes.saturating_mul(2)
    }

    /// The most objects and other words in the structure of a PDF.
    pub(crate) fn pdf_tokens(self) -> u64 {
        (self.document_bytes / 16).max(1024)
    }

    /// How many bytes to search for the end of a document that is over the budget, before giving up the
    /// rest of its file.
    pub(crate) fn search(self) -> u64 {
        self.document_bytes.saturating_mul(16)
    }

    /// The logarithm, base 2, of the largest Zstandard window: two documents' worth.
    pub(crate) fn window_log(self) -> u32 {
        let window = self.document_bytes.saturating_mul(2).max(1);
        window
            .ilog2()
            .clamp(Self::LEAST_WINDOW_LOG, Self::LARGEST_WINDOW_LOG)
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            document_bytes: Self::DEFAULT_DOCUMENT_BYTES,
        }
    }
}

/// Why a reader of bytes stops before the end of its file. It travels as the cause of an
/// [`io::Error`] through crates that only know those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Halt {
    #[error("the reading was stopped")]
    Stopped,
    #[error("the document is over its budget")]
    OverBudget,
}

impl Halt {
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_the_document() {
        let log = |document_bytes| Budget { document_bytes }.window_log();
        assert_eq!(Budget::default().window_log(), 27);
        assert_eq!(log(1 << 30), 31);
        assert_eq!((log(0), log(u64::MAX)), (23, 31));
    }
}
