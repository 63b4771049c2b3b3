//! The text of a document that is put together from headings, paragraphs and tables: headings on lines of
//! their own with a `#` for each level, a blank line between blocks, and a line for each row of a table.

use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::place::Place;
use crate::record::{Contents, one_line};
use crate::watch::Watch;

/// The deepest level of a heading.
const DEEPEST: usize = 6;

/// A text that grows up to the budget of a document.
pub(crate) struct Prose {
    text: String,
    place: Place,
    watch: Watch,
    /// The first heading.
    heading: Option<String>,
    /// Whether the last line is a row or an item, which the next of its kind follows without a blank line.
    in_lines: bool,
}

impl Prose {
    pub(crate) fn new(place: &Place, watch: &Watch) -> Self {
        Self {
            text: String::new(),
            place: place.clone(),
            watch: watch.clone(),
            heading: None,
            in_lines: false,
        }
    }

    /// A heading; `level` counts from 1.
    pub(crate) fn heading(&mut self, level: usize, words: &str) -> Result<(), ReadError> {
        let Some(words) = one_line(words) else {
            return Ok(());
        };
        self.block();
        let marks = "#".repeat(level.clamp(1, DEEPEST));
        self.text.push_str(&marks);
        self.text.push(' ');
        self.text.push_str(&words);
        self.heading.get_or_insert(words);
        self.check()
    }

    /// A paragraph; its line breaks stay.
    pub(crate) fn paragraph(&mut self, words: &str) -> Result<(), ReadError> {
        let words = words.trim_matches(|c: char| c == '\n' || c == '\r');
        if words.trim().is_empty() {
            return Ok(());
        }
        self.block();
        self.text.push_str(words.trim_end());
        self.check()
    }

    /// A line that belongs to those before it: an item of a list, or a row.
    pub(crate) fn line(&mut self, words: &str) -> Result<(), ReadError> {
        self.line_as_is(words.trim())
    }

    /// As [`Prose::line`], with the spaces that it begins with.
    pub(crate) fn line_as_is(&mut self, words: &str) -> Result<(), ReadError> {
        if words.is_empty() {
            return Ok(());
        }
        if self.in_lines {
            self.text.push('\n');
        } else {
            self.block();
        }
        self.in_lines = true;
        self.text.push_str(words);
        self.check()
    }

    /// Begins a block: what follows stands after a blank line.
    pub(crate) fn block(&mut self) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
            // Blocks without words leave no more blank lines.
            let kept = self.text.trim_end_matches('\n').len();
            self.text.truncate(kept + 2);
        }
        self.in_lines = false;
    }

    /// Fails where `bytes` more would be over the budget: for what is held until it is written.
    pub(crate) fn admit(&self, bytes: usize) -> Result<(), ReadError> {
        let all = self.text.len().saturating_add(bytes) as u64;
        match all > self.watch.budget.document_bytes {
            true => Err(self.watch.too_large(self.place.clone())),
            false => Ok(()),
        }
    }

    /// Fails once the text is over its budget, or the reading is to stop.
    pub(crate) fn check(&self) -> Result<(), ReadError> {
        self.watch.check()?;
        self.admit(0)
    }

    /// The document: `title`, or else the first heading, is its title.
    pub(crate) fn finish(self, title: Option<String>, metadata: Map<String, Value>) -> Contents {
        Contents {
            title: title.and_then(|title| one_line(&title)).or(self.heading),
            text: self.text.trim().to_owned(),
            metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use std::path::Path;

    #[test]
    fn blocks_and_lines() {
        let mut prose = Prose::new(&Place::whole(Path::new("x")), &Watch::default());
        prose.heading(2, " One\n two ").unwrap();
        prose.paragraph("a\nb\n").unwrap();
        prose.line("- c").unwrap();
        prose.line("- d").unwrap();
        prose.paragraph("  ").unwrap();
        prose.paragraph("e").unwrap();
        let contents = prose.finish(None, Map::new());
        assert_eq!(contents.title.as_deref(), Some("One two"));
        assert_eq!(contents.text, "## One two\n\na\nb\n\n- c\n- d\n\ne");
    }

    #[test]
    fn the_budget_holds() {
        let watch = Watch {
            budget: Budget { document_bytes: 10 },
            ..Watch::default()
        };
        let mut prose = Prose::new(&Place::whole(Path::new("x")), &watch);
        prose.line("0123456789").unwrap();
        let error = prose.line("0").unwrap_err();
        assert_eq!(
            ken_diagnostic::Diagnostic::kind(&error),
            "document_too_large"
        );
    }
}
