//! Charging the work of drawing a PDF's pages, and their text, to the budget of a document.
//!
//! A form is interpreted each time it is drawn, and a code of a font can stand for many letters, so
//! neither is bounded by the size of the file.

use std::path::Path;

use super::load::tokens;
use crate::error::ReadError;
use crate::place::Place;
use crate::watch::Watch;

/// Steps between two checks of the stop flag.
const STEPS_PER_CHECK: u64 = 4096;

/// The rest of the budget.
pub(super) struct Work<'a> {
    path: &'a Path,
    watch: &'a Watch,
    content: u64,
    text: u64,
    steps: u64,
}

impl<'a> Work<'a> {
    pub(super) fn new(path: &'a Path, watch: &'a Watch) -> Self {
        Self {
            path,
            watch,
            content: watch.budget.work(),
            text: watch.budget.document_bytes,
            steps: 0,
        }
    }

    /// How many bytes of content may still be decompressed and drawn.
    pub(super) fn content_left(&self) -> usize {
        usize::try_from(self.content).unwrap_or(usize::MAX)
    }

    /// Charges content that is to be drawn. All operands of an operator are parsed at once, so
    /// there may not be too many words.
    pub(super) fn content(&mut self, content: &[u8]) -> Result<(), ReadError> {
        let most = self.watch.budget.pdf_tokens();
        if tokens(content) > most {
            return Err(ReadError::TooManyParts {
                place: Place::whole(self.path),
                parts: "words on a page",
                limit: most,
            });
        }
        self.draw(content.len())
    }

    /// Charges the drawing of `bytes` bytes; even a form that draws nothing costs the search for it.
    pub(super) fn draw(&mut self, bytes: usize) -> Result<(), ReadError> {
        const FORM: u64 = 64;
        match self.content.checked_sub(bytes as u64 + FORM) {
            Some(left) => self.content = left,
            None => return Err(self.too_much()),
        }
        self.watch.check()
    }

    /// Charges text that is written.
    pub(super) fn write(&mut self, bytes: usize) -> Result<(), ReadError> {
        match self.text.checked_sub(bytes as u64) {
            Some(left) => self.text = left,
            None => return Err(self.watch.too_large(Place::whole(self.path))),
        }
        Ok(())
    }

    /// Counts a step of drawing.
    pub(super) fn step(&mut self) -> Result<(), ReadError> {
        self.steps += 1;
        match self.steps.is_multiple_of(STEPS_PER_CHECK) {
            true => self.watch.check(),
            false => Ok(()),
        }
    }

    pub(super) fn too_much(&self) -> ReadError {
        ReadError::TooMuchWork {
            place: Place::whole(self.path),
            limit: self.watch.budget.work(),
        }
    }
}
