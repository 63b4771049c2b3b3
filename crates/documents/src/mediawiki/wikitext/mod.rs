//! Wikitext to the plain text of an article: references, markup and most templates are dropped, the labels of links,
//! the headings, the rows of tables, and templates that stand for words are kept.
//!
//! It expands no templates, so text that only a template produces is missing, unless the template is known here. It reads
//! any text in a single pass, even if many things are opened and never closed.

mod tables;

use ken_corpus::Heading;

use self::tables::unended_tables;
use super::namespaces::Namespaces;
use super::table::OpenTable;
use super::tag::{Tag, TagKind};
use super::tidy::tidy;
use super::{entity, tag, template};

/// How deep links may be nested: a picture's caption has links, a link's label has none. The bound
/// keeps the work linear, since closing a link visits its whole content.
const DEEPEST_LINK: usize = 4;

/// How deep a template may be nested to be shown; wikis do not expand deeper ones.
const DEEPEST_TEMPLATE: usize = 40;

/// The marks of lists and indentation at the start of a line.
const LINE_MARKS: [char; 6] = ['*', '#', ':', ';', ' ', '\t'];

/// How many things may be open at once; each takes many times its size in the text.
const MOST_OPEN: usize = 100_000;

/// An article's text, the places of its headings, and its categories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Article {
    pub(super) text: String,
    pub(super) headings: Vec<Heading>,
    pub(super) categories: Vec<String>,
}

/// Removes the markup; `None` if the text has more than `most` bytes, since rows of tables repeat the names of columns.
pub(super) fn article(wikitext: &str, namespaces: &Namespaces, most: u64) -> Option<Article> {
    let mut scan = Scan {
        input: wikitext,
        at: 0,
        text: String::with_capacity(wikitext.len() / 2),
        open: Vec::new(),
        links: 0,
        tables: Vec::new(),
        unended: unended_tables(wikitext),
        most,
        heading: false,
        headings: Vec::new(),
        never_closed: Vec::new(),
        categories: Vec::new(),
        namespaces,
    };
    scan.run();
    if scan.is_too_long() {
        return None;
    }
    let mut headings = scan.headings;
    Some(Article {
        text: tidy(&scan.text, &mut headings),
        headings,
        categories: scan.categories,
    })
}

/// An open construct.
#[derive(Debug, Clone, Copy)]
struct Open {
    what: What,
    /// The offset of its content in the text.
    start: usize,
    categories: usize,
}

impl Open {
    fn is_link(&self) -> bool {
        matches!(self.what, What::Link(_) | What::ExternalLink)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Template,
    Table,
    /// A link, with the start of its label in the text.
    Link(Option<usize>),
    /// A link to another site, after its address.
    ExternalLink,
}

struct Scan<'a> {
    input: &'a str,
    at: usize,
    text: String,
    open: Vec<Open>,
    /// How many of `open` are links, including those to other sites.
    links: usize,
    /// Those of `open` that are tables.
    tables: Vec<OpenTable>,
    /// As of [`unended_tables`].
    unended: Vec<usize>,
    /// The most bytes of the text.
    most: u64,
    /// Whether this line is a heading.
    heading: bool,
    /// The offsets of the lines with headings in the text, ascending.
    headings: Vec<Heading>,
    /// The elements that the rest does not close, to avoid another search for their ends.
    never_closed: Vec<String>,
    categories: Vec<String>,
    namespaces: &'a Namespaces,
}

impl Scan<'_> {
    fn run(&mut self) {
        self.begin_line();
        while let Some(&byte) = self.input.as_bytes().get(self.at)
            && !self.is_too_long()
        {
            match byte {
                b'\n' => self.end_line(),
                b'{' => self.open_braces(),
                b'}' => self.close_braces(),
                b'[' => self.open_brackets(),
                b']' => self.close_brackets(),
                b'|' => self.bar(),
                b'!' => self.exclamation(),
                b'<' => self.angle(),
                b'\'' => self.quotes(),
                b'&' => self.entity(),
                b'_' => self.switch(),
                _ => self.plain(),
            }
        }
        while !self.tables.is_empty() {
            self.close_table();
        }
    }

    fn is_too_long(&self) -> bool {
        self.text.len() as u64 > self.most
    }

    fn rest(&self) -> &str {
        self.input.get(self.at..).unwrap_or_default()
    }

    /// How often `byte` is repeated here.
    fn run_of(&self, byte: u8) -> usize {
        let rest = &self.input.as_bytes()[self.at..];
        rest.iter().take_while(|&&other| other == byte).count()
    }

    /// Copies all characters without a meaning.
    fn plain(&mut self) {
        let rest = self.rest();
        let end = rest
            .bytes()
            .position(|byte| {
                matches!(
                    byte,
                    b'\n' | b'{' | b'}' | b'[' | b']' | b'|' | b'!' | b'<' | b'\'' | b'&' | b'_'
                )
            })
            .unwrap_or(rest.len());
        self.copy(end);
    }

    /// Copies the next `count` bytes.
    fn copy(&mut self, count: usize) {
        let end = self.at + count;
        self.text
            .push_str(self.input.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    fn end_line(&mut self) {
        let paragraph_ends = self.rest().starts_with("\n\n");
        while self.open.last().is_some_and(|open| match open.what {
            What::Link(None) | What::ExternalLink => true,
            What::Link(Some(_)) => paragraph_ends,
            What::Template | What::Table => false,
        }) {
            self.pop();
        }
        if self.is_in_table()
            && let Some(table) = self.tables.last_mut()
        {
            table.end_line();
        }
        if self.heading {
            let bare = self.text.trim_end_matches(['=', ' ', '\t']).len();
            let written = self.open.last().map_or(0, |open| open.start);
            self.text.truncate(bare.max(written));
            self.text.push('\n');
            self.heading = false;
        }
        self.text.push('\n');
        self.at += 1;
        self.begin_line();
    }

    /// Skips the marks that only the start of a line can have.
    fn begin_line(&mut self) {
        if !self.tables.is_empty() && self.table_mark() {
            return;
        }
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(LINE_MARKS).len();
        let rest = self.rest();
        if rest.starts_with("{|") && self.open.len() < MOST_OPEN {
            self.open_table();
        } else if rest.starts_with("==") {
            let level = self.run_of(b'=');
            self.at += level;
            self.text.push('\n');
            self.heading = true;
            let (offset, level) = (self.text.len(), level.min(6) as u8);
            // A row is one line.
            if self.tables.is_empty() {
                self.headings.push(Heading { offset, level });
            }
        } else if rest.starts_with("----") {
            self.at += self.run_of(b'-');
        }
    }

    fn skip_line(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn open_braces(&mut self) {
        let count = self.run_of(b'{');
        if count == 1 || self.open.len() + count / 2 > MOST_OPEN {
            return self.copy(count);
        }
        // Three are a template's parameter, which is dropped like a template.
        for _ in 0..count / 2 {
            self.push(What::Template);
        }
        self.at += count;
    }

    fn close_braces(&mut self) {
        let count = self.run_of(b'}');
        if count == 1 {
            return self.copy(1);
        }
        for _ in 0..count / 2 {
            // Links that are still open in a template end with it.
            let open = self.open.iter().rev();
            let links = open.take_while(|open| open.is_link()).count();
            let below = self.open.len().checked_sub(links + 1);
            let Some(open) = below.and_then(|index| self.open.get(index)).copied() else {
                break;
            };
            if open.what != What::Template {
                break;
            }
            for _ in 0..=links {
                self.pop();
            }
            self.end_template(open);
        }
        self.at += count;
    }

    /// Closes a template, and keeps only the text that it shows.
    fn end_template(&mut self, open: Open) {
        let shallow = self.open.len() < DEEPEST_TEMPLATE;
        let body = self.text.get(open.start..).unwrap_or_default();
        let shown = (shallow && body.len() <= template::LONGEST).then(|| template::shown(body));
        self.drop_since(open);
        if let Some(shown) = shown.flatten() {
            self.text.push_str(&shown);
        }
    }

    fn open_brackets(&mut self) {
        let rest = self.rest();
        if rest.starts_with("[[") {
            if let Some(table) = self.tables.last_mut() {
                table.begin_link();
            }
            if self.links < DEEPEST_LINK {
                self.push(What::Link(None));
                self.at += 2;
            } else {
                self.copy(2);
            }
            return;
        }
        let address = &rest[1..];
        let known = ["http://", "https://", "//", "ftp://", "mailto:"];
        if !known.iter().any(|start| address.starts_with(start)) {
            return self.copy(1);
        }
        let end = address.find([' ', '\t', '\n', ']', '[', '<']);
        let length = end.unwrap_or(address.len());
        self.at += 1 + length;
        if self.links < DEEPEST_LINK {
            self.push(What::ExternalLink);
        }
    }

    fn close_brackets(&mut self) {
        let doubled = self.rest().starts_with("]]");
        match self.open.last().copied() {
            Some(Open {
                what: What::ExternalLink,
                ..
            }) => {
                self.pop();
                self.at += 1;
            }
            Some(Open {
                what: What::Link(label),
                start,
                categories,
            }) if doubled => {
                self.pop();
                self.link(start, label, categories);
                self.at += 2;
            }
            _ if doubled => self.at += 2,
            _ => self.copy(1),
        }
    }

    /// Closes a link, and keeps only the text that the article shows.
    fn link(&mut self, start: usize, label: Option<usize>, categories: usize) {
        self.drop_headings(start);
        let end = label.map_or(self.text.len(), |label| label - 1);
        let target = self.text.get(start..end).unwrap_or_default().trim();
        let shown = target.strip_prefix(':');
        if shown.is_none() {
            if let Some(category) = self.namespaces.category(target) {
                let category = category.to_owned();
                self.text.truncate(start);
                self.categories.truncate(categories);
                self.categories.push(category);
                return;
            }
            if self.namespaces.is_file(target) || is_other_language(target, label.is_some()) {
                self.text.truncate(start);
                return;
            }
        }
        match label {
            Some(label) if label < self.text.len() => {
                self.text.drain(start..label);
            }
            _ => {
                let shown = shown.unwrap_or(target).trim_start_matches('#').to_owned();
                self.text.truncate(start);
                self.text.push_str(&shown);
            }
        }
    }

    fn bar(&mut self) {
        if self.cell_mark() {
            return;
        }
        self.copy(1);
        if let Some(Open {
            what: What::Link(label @ None),
            ..
        }) = self.open.last_mut()
        {
            *label = Some(self.text.len());
        }
    }

    fn angle(&mut self) {
        let rest = self.rest();
        if let Some(comment) = rest.strip_prefix("<!--") {
            let length = comment.find("-->").map_or(rest.len(), |end| end + 7);
            self.at += length;
            return;
        }
        let Some(Tag { kind, name, length }) = tag::read(rest) else {
            return self.copy(1);
        };
        self.at += length;
        match kind {
            TagKind::Mark => {}
            TagKind::Break => self.text.push('\n'),
            TagKind::Hidden => {
                if let Some((_, end)) = self.content(&name) {
                    self.at = end;
                }
            }
            TagKind::Verbatim => {
                if let Some((content, end)) = self.content(&name) {
                    let content = self.input.get(self.at..content).unwrap_or_default();
                    entity::decode_all(content, &mut self.text);
                    self.at = end;
                }
            }
        }
    }

    /// The offsets of the ends of the content and of the end tag of the element that was just opened.
    fn content(&mut self, name: &str) -> Option<(usize, usize)> {
        if self.never_closed.iter().any(|other| other == name) {
            return None;
        }
        let ends = tag::find_end(self.rest(), name);
        if ends.is_none() {
            self.never_closed.push(name.to_owned());
        }
        ends.map(|(content, end)| (self.at + content, self.at + end))
    }

    /// Two quotes are italics, three bold, five both. Any more are text.
    fn quotes(&mut self) {
        let count = self.run_of(b'\'');
        let kept = match count {
            1 | 4 => 1,
            2 | 3 | 5 => 0,
            more => more - 5,
        };
        self.text.extend(std::iter::repeat_n('\'', kept));
        self.at += count;
    }

    fn entity(&mut self) {
        match entity::read(self.rest()) {
            Some((length, decoded)) => {
                self.text.push_str(&decoded);
                self.at += length;
            }
            None => self.copy(1),
        }
    }

    /// Skips a switch such as `__NOTOC__`.
    fn switch(&mut self) {
        let count = self.run_of(b'_');
        let word = self.rest()[count..].bytes();
        let word = word.take_while(u8::is_ascii_uppercase).count();
        if count == 2 && word > 0 && self.rest()[count + word..].starts_with("__") {
            self.at += word + 4;
        } else {
            self.copy(count);
        }
    }

    fn push(&mut self, what: What) {
        match what {
            What::Link(_) | What::ExternalLink => self.links += 1,
            What::Template | What::Table => {}
        }
        self.open.push(Open {
            what,
            start: self.text.len(),
            categories: self.categories.len(),
        });
    }

    fn pop(&mut self) -> Option<Open> {
        let open = self.open.pop()?;
        match open.what {
            What::Link(_) | What::ExternalLink => self.links -= 1,
            What::Table => {
                self.tables.pop();
            }
            What::Template => {}
        }
        Some(open)
    }

    /// Drops the text that was written since `open` began.
    fn drop_since(&mut self, open: Open) {
        self.text.truncate(open.start);
        self.categories.truncate(open.categories);
        self.drop_headings(open.start);
    }

    /// Drops the headings whose lines began after a byte of the text.
    fn drop_headings(&mut self, start: usize) {
        while (self.headings.last()).is_some_and(|heading| heading.offset > start) {
            self.headings.pop();
        }
    }
}

/// Whether a link without a label leads to the article in another language: pages list those aside.
fn is_other_language(target: &str, has_label: bool) -> bool {
    !has_label
        && target.split_once(':').is_some_and(|(code, title)| {
            matches!(code.len(), 2 | 3)
                && code.bytes().all(|byte| byte.is_ascii_lowercase())
                && !title.starts_with(' ')
        })
}

#[cfg(test)]
mod tests;
