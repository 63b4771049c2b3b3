//! Building the text of a document from headings, paragraphs and tables: headings on lines of
//! their own with a `#` for each level, a blank line between blocks, and a line for each row of a table.

use ken_corpus::{Heading, Outline};
use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::place::Place;
use crate::record::{Contents, one_line};
use crate::watch::Watch;

/// The deepest level of a heading.
const DEEPEST: usize = 6;

/// The sign that only tells where a word may be divided.
const SOFT_HYPHEN: char = '\u{ad}';

/// A text that grows up to the budget of a document.
pub(crate) struct Prose {
    text: String,
    outline: Outline,
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
            outline: Outline::default(),
            place: place.clone(),
            watch: watch.clone(),
            heading: None,
            in_lines: false,
        }
    }

    /// A heading; `level` counts from 1.
    pub(crate) fn heading(&mut self, level: usize, words: &str) -> Result<(), ReadError> {
        let words: String = words.split(SOFT_HYPHEN).collect();
        let Some(words) = one_line(&words) else {
            return Ok(());
        };
        self.block();
        let level = level.clamp(1, DEEPEST);
        self.outline.headings.push(Heading {
            offset: self.text.len(),
            level: level as u8,
        });
        self.text.push_str(&"#".repeat(level));
        self.text.push(' ');
        self.text.push_str(&words);
        self.heading.get_or_insert(words);
        self.check()
    }

    /// Begins a page or a slide.
    pub(crate) fn page(&mut self) {
        self.block();
        self.outline.pages.push(self.text.len());
    }

    /// Adds paragraphs that another reader made, with their headings.
    pub(crate) fn part(&mut self, text: &str, headings: &[Heading]) -> Result<(), ReadError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        self.block();
        let before = self.text.len();
        let moved = headings.iter().map(|heading| Heading {
            offset: before + heading.offset,
            ..*heading
        });
        self.outline.headings.extend(moved);
        self.text.push_str(text.trim_end());
        self.check()
    }

    /// A paragraph; its line breaks stay.
    pub(crate) fn paragraph(&mut self, words: &str) -> Result<(), ReadError> {
        let words = words.trim_matches(|c: char| c == '\n' || c == '\r');
        if words.trim().is_empty() {
            return Ok(());
        }
        self.block();
        self.text.extend(words.trim_end().split(SOFT_HYPHEN));
        self.check()
    }

    /// A line of a group: an item of a list, or a row.
    pub(crate) fn line(&mut self, words: &str) -> Result<(), ReadError> {
        self.line_as_is(words.trim())
    }

    /// As [`Prose::line`], but keeps leading spaces.
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
        self.text.extend(words.split(SOFT_HYPHEN));
        self.check()
    }

    /// Begins a block, after a blank line.
    pub(crate) fn block(&mut self) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
            // A block without words adds no blank lines.
            let kept = self.text.trim_end_matches('\n').len();
            self.text.truncate(kept + 2);
        }
        self.in_lines = false;
    }

    /// Fails if `bytes` more would be over the budget; for text that is held until it is written.
    pub(crate) fn admit(&self, bytes: usize) -> Result<(), ReadError> {
        let all = self.text.len().saturating_add(bytes) as u64;
        match all > self.watch.budget.document_bytes {
            true => Err(self.watch.too_large(self.place.clone())),
            false => Ok(()),
        }
    }

    /// Fails once the text is over its budget, or the reading is stopped.
    pub(crate) fn check(&self) -> Result<(), ReadError> {
        self.watch.check()?;
        self.admit(0)
    }

    /// The document, whose title is `title` or else the first heading.
    pub(crate) fn finish(self, title: Option<String>, metadata: Map<String, Value>) -> Contents {
        let text = self.text.trim_start();
        Contents {
            title: title.and_then(|title| one_line(&title)).or(self.heading),
            outline: self.outline.of_rest(self.text.len() - text.len()),
            text: text.trim_end().to_owned(),
            metadata,
        }
    }
}

/// The headings of a text, marked with `#` as in Markdown, outside of blocks of code.
pub(crate) fn marked_headings(text: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    let (mut offset, mut in_code) = (0, false);
    for line in text.split_inclusive('\n') {
        let level = line.bytes().take_while(|&byte| byte == b'#').count();
        if line.starts_with("```") {
            in_code = !in_code;
        } else if !in_code && (1..=DEEPEST).contains(&level) && line[level..].starts_with(' ') {
            let level = level as u8;
            headings.push(Heading { offset, level });
        }
        offset += line.len();
    }
    headings
}

#[cfg(test)]
mod tests {
    use ken_testing::{has, with};

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
        prose.paragraph("e\u{ad}f").unwrap();
        let contents = prose.finish(None, Map::new());
        has!(contents, title.as_deref(): Some("One two"), text: "## One two\n\na\nb\n\n- c\n- d\n\nef",
            outline.headings: [Heading { offset: 0, level: 2 }]);
    }

    #[test]
    fn parts_and_pages_have_their_places() {
        let mut prose = Prose::new(&Place::whole(Path::new("x")), &Watch::default());
        prose.paragraph("\n  first").unwrap();
        let part = "```\n# no\n```\n# Two\n#x\nb";
        prose.page();
        prose.part(part, &marked_headings(part)).unwrap();
        let contents = prose.finish(None, Map::new());
        let at = contents.text.find("# Two").unwrap();
        has!(contents, outline.headings: [Heading { offset: at, level: 1 }], outline.pages: [7]);
        assert_eq!(contents.text.find("```"), Some(7));
    }

    #[test]
    fn the_budget_holds() {
        let watch = with!(Watch::default(), budget: Budget { document_bytes: 10 });
        let mut prose = Prose::new(&Place::whole(Path::new("x")), &watch);
        prose.line("0123456789").unwrap();
        let error = prose.line("0").unwrap_err();
        assert_eq!(
            ken_diagnostic::Diagnostic::kind(&error),
            "document_too_large"
        );
    }
}
