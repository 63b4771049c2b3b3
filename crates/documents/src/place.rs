//! A place in the input, for messages.

use std::fmt;
use std::path::{Path, PathBuf};

/// A file, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file; `stdin` for standard input.
    pub path: PathBuf,
    /// Which part of it.
    pub part: Part,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The file as a whole.
    Whole,
    /// A line, from 1, after decompression.
    Line(u64),
    /// A row of a table without lines, from 1.
    Row(u64),
}

impl Place {
    /// The number of the line or row; 0 of a whole file.
    pub(crate) fn number(&self) -> u64 {
        match self.part {
            Part::Line(number) | Part::Row(number) => number,
            Part::Whole => 0,
        }
    }

    pub(crate) fn whole(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            part: Part::Whole,
        }
    }

    pub(crate) fn line(path: &Path, number: u64) -> Self {
        Self {
            path: path.to_owned(),
            part: Part::Line(number),
        }
    }

    pub(crate) fn row(path: &Path, number: u64) -> Self {
        Self {
            path: path.to_owned(),
            part: Part::Row(number),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.part {
            Part::Whole => write!(formatter, "{path}"),
            Part::Line(line) => write!(formatter, "{path}:{line}"),
            Part::Row(row) => write!(formatter, "{path}, row {row}"),
        }
    }
}
