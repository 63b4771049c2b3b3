//! Where pages and sections of a document begin, and thus the location of a passage in it.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where the pages and the sections of a document's text begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// The byte at which each page begins, ascending. A page without text begins where the next one does, or before. A
    /// slide is a page.
    pub pages: Vec<usize>,
    /// The headings, in order.
    pub headings: Vec<Heading>,
    /// The tables with a header, in order.
    pub tables: Vec<Table>,
}

/// A table with one row a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The bytes of its header, which is one line.
    pub header: Range<usize>,
    /// The byte at which it ends.
    pub end: usize,
}

impl Outline {
    /// The outline of the text without its first `bytes`.
    #[must_use]
    pub fn of_rest(self, bytes: usize) -> Self {
        let headings = self.headings.into_iter();
        Self {
            pages: (self.pages.into_iter())
                .map(|start| start.saturating_sub(bytes))
                .collect(),
            headings: headings
                .filter_map(|heading| {
                    let offset = heading.offset.checked_sub(bytes)?;
                    Some(Heading { offset, ..heading })
                })
                .collect(),
            tables: (self.tables.into_iter())
                .filter_map(|table| {
                    let start = table.header.start.checked_sub(bytes)?;
                    Some(Table {
                        header: start..table.header.end - bytes,
                        end: table.end - bytes,
                    })
                })
                .collect(),
        }
    }
}

/// A heading on a line of its own. Markdown marks before its words do not count as words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading {
    /// The byte at which its line begins.
    pub offset: usize,
    /// From 1.
    pub level: u8,
}

/// The location of a passage in its document, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The headings over it, from the outermost, with ` > ` between them; headings at its own beginning are in its text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    /// The page on which it begins, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// The page on which it ends, if different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_page: Option<u32>,
    /// The address of the document, from its metadata's `url`; in a document with pages, the address of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Location {
    /// The pages as people write them, such as `p. 12` or `pp. 12-13`.
    pub fn pages(&self) -> Option<String> {
        Some(match (self.page?, self.last_page) {
            (first, Some(last)) => format!("pp. {first}-{last}"),
            (page, None) => format!("p. {page}"),
        })
    }

    /// The document's title with the headings over the passage. It precedes the passage's text wherever that is
    /// embedded, searched or read by a model.
    pub fn titled(&self, title: &str) -> String {
        match (title.is_empty(), self.heading.is_empty()) {
            (_, true) => title.to_owned(),
            (true, false) => self.heading.clone(),
            (false, false) => format!("{title} > {}", self.heading),
        }
    }

    /// Adds the address that a document's metadata names.
    #[must_use]
    pub fn linked(self, metadata: &Map<String, Value>) -> Self {
        let address = metadata.get("url").and_then(Value::as_str);
        let address =
            address.filter(|url| url.starts_with("https://") || url.starts_with("http://"));
        let url = address.map(|url| match self.page {
            Some(page) if !url.contains('#') => format!("{url}#page={page}"),
            _ => url.to_owned(),
        });
        Self { url, ..self }
    }
}

/// The longest path of headings, in bytes; a longer one keeps its innermost headings.
const LONGEST_PATH: usize = 200;

/// Finds the locations of slices of one text.
pub struct Locator<'d> {
    title: &'d str,
    text: &'d str,
    outline: &'d Outline,
    /// For each heading, the heading over it.
    parents: Vec<Option<usize>>,
}

impl<'d> Locator<'d> {
    /// A locator for the text of a document with that title.
    pub fn new(title: &'d str, text: &'d str, outline: &'d Outline) -> Self {
        let mut open: Vec<usize> = Vec::new();
        let headings = &outline.headings;
        let parent = |(at, heading): (usize, &Heading)| {
            while open
                .last()
                .is_some_and(|&over| headings[over].level >= heading.level)
            {
                open.pop();
            }
            let over = open.last().copied();
            open.push(at);
            over
        };
        Self {
            title,
            text,
            outline,
            parents: headings.iter().enumerate().map(parent).collect(),
        }
    }

    /// The location of the slice at these bytes of the text.
    pub fn locate(&self, slice: Range<usize>) -> Location {
        let page = |byte: usize| {
            let begun = self.outline.pages.partition_point(|&start| start <= byte);
            u32::try_from(begun).ok().filter(|&page| page > 0)
        };
        let (first, last) = (page(slice.start), page(slice.end.saturating_sub(1)));
        Location {
            heading: self.path(slice.start),
            page: first,
            last_page: last.filter(|_| last > first),
            url: None,
        }
    }

    /// The header of the table in whose rows a slice from `start` begins, unless it begins with the header itself.
    pub fn header_over(&self, start: usize) -> Option<&'d str> {
        let tables = &self.outline.tables;
        let begun = tables.partition_point(|table| table.header.end <= start);
        let table = tables.get(begun.checked_sub(1)?)?;
        let header = (start < table.end).then_some(table.header.clone())?;
        self.text.get(header)
    }

    /// The headings over a slice from `start`.
    fn path(&self, start: usize) -> String {
        let headings = &self.outline.headings;
        let next = headings.partition_point(|heading| heading.offset < start);
        let mut over = match headings.get(next) {
            // The slice begins with a heading, which is in its text.
            Some(heading) if heading.offset == start => self.parents[next],
            _ => next.checked_sub(1),
        };
        let mut path: Vec<&str> = Vec::new();
        let mut bytes = 0;
        while let Some(heading) = over {
            let words = self.words(headings[heading]);
            bytes += words.len() + 3;
            if bytes > LONGEST_PATH {
                break;
            }
            over = self.parents[heading];
            // A title that is also the first heading appears once.
            if !words.is_empty() && (over.is_some() || words != self.title) {
                path.push(words);
            }
        }
        path.reverse();
        path.join(" > ")
    }

    fn words(&self, heading: Heading) -> &'d str {
        let line = self.text.get(heading.offset..).unwrap_or_default();
        let line = line.lines().next().unwrap_or_default();
        line.trim_start_matches('#').trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# Pumps\n\nAll.\n\n## Valves\n\nNine bar.\n\n### Old ones\n\nTen.\n\n## Hoses\n\nRed.";

    fn outline() -> Outline {
        let headings = TEXT.match_indices("\n\n#").map(|(at, _)| at + 2);
        let headings = std::iter::once(0).chain(headings).map(|offset| {
            let level = TEXT[offset..]
                .bytes()
                .take_while(|&byte| byte == b'#')
                .count() as u8;
            Heading { offset, level }
        });
        Outline {
            pages: vec![0, 16, 16, TEXT.find("Red").unwrap()],
            headings: headings.collect(),
            tables: Vec::new(),
        }
    }

    fn locate(title: &str, slice: &str) -> Location {
        let start = TEXT.find(slice).unwrap();
        Locator::new(title, TEXT, &outline()).locate(start..start + slice.len())
    }

    #[test]
    fn headings_are_those_over_a_slice() {
        assert_eq!(locate("M", "All.").heading, "Pumps");
        assert_eq!(locate("M", "Ten.").heading, "Pumps > Valves > Old ones");
        assert_eq!(locate("M", "### Old ones").heading, "Pumps > Valves");
        assert_eq!(locate("M", "## Hoses").heading, "Pumps");
        assert_eq!(locate("M", "# Pumps").heading, "");
        // The title is not said twice.
        assert_eq!(locate("Pumps", "Red.").heading, "Hoses");
        assert_eq!(locate("Pumps", "Red.").titled("Pumps"), "Pumps > Hoses");
        assert_eq!(locate("Pumps", "All.").titled("Pumps"), "Pumps");
        assert_eq!(locate("", "Red.").titled(""), "Pumps > Hoses");
    }

    #[test]
    fn a_path_that_is_too_long_keeps_its_innermost_headings() {
        let text = format!("# {}\n## b\nc", "a".repeat(LONGEST_PATH));
        let second = text.find("## b").unwrap();
        let outline = Outline {
            headings: vec![
                Heading {
                    offset: 0,
                    level: 1,
                },
                Heading {
                    offset: second,
                    level: 2,
                },
            ],
            ..Outline::default()
        };
        let locator = Locator::new("", &text, &outline);
        assert_eq!(locator.locate(text.len() - 1..text.len()).heading, "b");
        assert_eq!(locator.locate(0..1), Location::default());
    }

    #[test]
    fn pages_are_those_of_both_ends() {
        assert_eq!(locate("", "All.").pages().as_deref(), Some("p. 1"));
        // The second page has no text.
        assert_eq!(locate("", "Nine bar.").page, Some(3));
        let all = Locator::new("", TEXT, &outline()).locate(9..TEXT.len());
        assert_eq!(all.pages().as_deref(), Some("pp. 1-4"));
        let none = Locator::new("", TEXT, &Outline::default()).locate(0..4);
        assert_eq!(none.pages(), None);
    }

    #[test]
    fn rows_have_the_header_of_their_table() {
        let text = "name\tbar\nnine\t9\nten\t10\nAll.";
        let outline = Outline {
            tables: vec![Table {
                header: 0..8,
                end: 23,
            }],
            ..Outline::default()
        };
        let locator = Locator::new("", text, &outline);
        let over = |slice: &str| locator.header_over(text.find(slice).unwrap());
        assert_eq!(over("name"), None);
        assert_eq!(over("nine"), Some("name\tbar"));
        assert_eq!(over("ten"), Some("name\tbar"));
        assert_eq!(over("All."), None);
    }

    #[test]
    fn an_address_leads_to_the_page() {
        let linked = |slice: &str, url: &str| {
            let metadata = Map::from_iter([("url".to_owned(), url.into())]);
            locate("", slice).linked(&metadata).url
        };
        let page = linked("Red.", "https://a.example/m.pdf");
        assert_eq!(page.as_deref(), Some("https://a.example/m.pdf#page=4"));
        let part = linked("Red.", "https://a.example/m#part");
        assert_eq!(part.as_deref(), Some("https://a.example/m#part"));
        assert_eq!(linked("Red.", "javascript:alert(1)"), None);
    }
}
