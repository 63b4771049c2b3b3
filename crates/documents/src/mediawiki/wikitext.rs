//! Wikitext to the plain text of an article: tables, references, markup and most templates are dropped,
//! the labels of links, the headings, and templates that stand for words are kept.
//!
//! It expands no templates, so text that only a template produces is missing, unless the template is known here. It reads
//! any text in a single pass, even if many things are opened and never closed.

use ken_corpus::Heading;

use super::namespaces::Namespaces;
use super::tag::{Tag, TagKind};
use super::tidy::tidy;
use super::{entity, tag, template};

/// How deep links may be nested: a picture's caption has links, a link's label has none. The bound
/// keeps the work linear, since closing a link visits its whole content.
const DEEPEST_LINK: usize = 4;

/// How deep a template may be nested to be shown; wikis do not expand deeper ones.
const DEEPEST_TEMPLATE: usize = 40;

/// How many things may be open at once; each takes many times its size in the text.
const MOST_OPEN: usize = 100_000;

/// An article's text, the places of its headings, and its categories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Article {
    pub(super) text: String,
    pub(super) headings: Vec<Heading>,
    pub(super) categories: Vec<String>,
}

/// Removes the markup.
pub(super) fn article(wikitext: &str, namespaces: &Namespaces) -> Article {
    let mut scan = Scan {
        input: wikitext,
        at: 0,
        text: String::with_capacity(wikitext.len() / 2),
        open: Vec::new(),
        links: 0,
        tables: 0,
        heading: false,
        headings: Vec::new(),
        never_closed: Vec::new(),
        categories: Vec::new(),
        namespaces,
    };
    scan.run();
    let mut headings = scan.headings;
    Article {
        text: tidy(&scan.text, &mut headings),
        headings,
        categories: scan.categories,
    }
}

/// An open construct.
#[derive(Debug, Clone, Copy)]
struct Open {
    what: What,
    /// The offset of its content in the text.
    start: usize,
    categories: usize,
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
    /// How many of `open` are tables.
    tables: usize,
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
        while let Some(&byte) = self.input.as_bytes().get(self.at) {
            match byte {
                b'\n' => self.end_line(),
                b'{' => self.open_braces(),
                b'}' => self.close_braces(),
                b'[' => self.open_brackets(),
                b']' => self.close_brackets(),
                b'|' => self.bar(),
                b'<' => self.angle(),
                b'\'' => self.quotes(),
                b'&' => self.entity(),
                b'_' => self.switch(),
                _ => self.plain(),
            }
        }
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
                    b'\n' | b'{' | b'}' | b'[' | b']' | b'|' | b'<' | b'\'' | b'&' | b'_'
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
        let rest = self.rest();
        let marks = ['*', '#', ':', ';', ' ', '\t'];
        self.at += rest.len() - rest.trim_start_matches(marks).len();
        let rest = self.rest();
        if rest.starts_with("{|") && self.open.len() < MOST_OPEN {
            self.push(What::Table);
            self.at += 2;
        } else if rest.starts_with("|}") && !rest.starts_with("|}}") && self.tables > 0 {
            while let Some(open) = self.pop() {
                if open.what == What::Table {
                    self.drop_since(open);
                    break;
                }
            }
            self.at += 2;
        } else if rest.starts_with("==") {
            let level = self.run_of(b'=');
            self.at += level;
            self.text.push('\n');
            self.heading = true;
            let (at, level) = (self.text.len(), level.min(6) as u8);
            self.headings.push(Heading { at, level });
        } else if rest.starts_with("----") {
            self.at += self.run_of(b'-');
        }
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
            let is_link = |open: &&Open| matches!(open.what, What::Link(_) | What::ExternalLink);
            let links = self.open.iter().rev().take_while(is_link).count();
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
            What::Table => self.tables += 1,
            What::Template => {}
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
            What::Table => self.tables -= 1,
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
        while (self.headings.last()).is_some_and(|heading| heading.at > start) {
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(wikitext: &str) -> Article {
        article(wikitext, &Namespaces::default())
    }

    #[track_caller]
    fn check(wikitext: &str, text: &str) {
        assert_eq!(read(wikitext).text, text);
    }

    #[test]
    fn an_article() {
        let article = read(
            "{{Infobox|name=X\n|map={{Map|{{{1|2}}}}}\n}}<!-- hidden -->\n\
             '''Brook''' (''m''){{efn|no}} is a [[town]] in the [[Vale (county)|Vale]]s.<ref name=\"a\">Book</ref><ref name=b />\n\n\
             == History ==\nFounded&nbsp;in 1200 &ndash; or so.\n* [[#Sights|one]]\n** two\n\n\
             [[File:A.jpg|thumb|A [[bridge]] of [http://x.y stone]]]\n\
             {| class=\"wikitable\"\n! a\n|-\n| {{b}} || [[c]]\n|}\n\
             === Sights ===\nSee [https://example.org the site] and [[:Category:Towns]].\n\
             [[Category:Towns in Vale| Brook]]\n[[Category: Founded 1200 ]]\n[[de:Bach]]\n__NOTOC__\n",
        );
        assert_eq!(
            article.text,
            "Brook (m) is a town in the Vales.\n\nHistory\n\nFounded in 1200 – or so.\none\ntwo\n\n\
             Sights\n\nSee the site and Category:Towns."
        );
        assert_eq!(article.categories, ["Towns in Vale", "Founded 1200"]);
    }

    #[test]
    fn headings_of_what_is_dropped_are_none() {
        let dropped = "{{x|\n== a ==\n}}\n{|\n== b ==\n|}\n== {{y}} ==\n[[c|\n== d ==\n]]";
        let article = read(&format!("{dropped}\n==== [[e]] ====\nf"));
        assert_eq!(article.headings, [Heading { at: 3, level: 4 }]);
        assert_eq!(article.text, "d\n\ne\n\nf");
    }

    #[test]
    fn verbatim_and_other_elements() {
        check("<nowiki>[[a]] '' {{b}} &lt;</nowiki>!", "[[a]] '' {{b}} <!");
        check("Area <math>\\pi r^{{2}}</math>.", "Area \\pi r^{{2}}.");
        check("a<br/>b<BR>c <span style=\"x\">d</span>", "a\nb\nc d");
        check("a<gallery>\nFile:x.jpg|y\n</gallery>b", "ab");
        check("<REF>x</ReF >y", "y");
        check("1 < 2 and 3 > 2, a<b", "1 < 2 and 3 > 2, a<b");
        check("x<sub>2</sub><ref>open", "x2open");
    }

    #[test]
    fn templates_that_stand_for_words_are_shown() {
        check(
            "The weir is {{convert|5|km|mi|abbr=on}} long{{cite web|url=x}} and holds {{formatnum:1500000}} litres.",
            "The weir is 5 km long and holds 1,500,000 litres.",
        );
        check(
            "Built {{circa|{{nowrap|''1500''}}}} by {{lang|de|[[Otto|Otto der Große]]}}.",
            "Built c. 1500 by Otto der Große.",
        );
        check(
            "{{Infobox dam\n| opened = {{start date|1999|1|2}}\n}}x {{coord|1|2}}y",
            "x y",
        );
        let deep = format!("{}x{}", "{{nowrap|".repeat(60), "}}".repeat(60));
        check(&format!("a {deep}"), "a");
    }

    #[test]
    fn quotes_and_lines() {
        check("a''b''c'''d'''e'''''f'''''", "abcdef");
        check("it's ''''x''''", "it's 'x'");
        check(
            "one\n\n\n\ntwo  three\n----\n: four",
            "one\n\ntwo three\n\nfour",
        );
        check("a ( ) b ({{x}}; 1) c (, d)", "a b (1) c (d)");
        check("snake_case __init__ __TOC__", "snake_case __init__");
        check("{ a } [b] c]] }} |", "{ a } [b] c |");
    }

    #[test]
    fn what_is_never_closed_stays() {
        check("a {{b|c", "a b|c");
        check("a [[b\nc]] d", "a b\nc d");
        check("{{a|[[b}} c", "c");
        check("a <!-- b", "a");
        check("{|\n| {{x\n|}\nb", "b");
        check("{{x|\n{|\n|a\n|}\n}}b", "b");
        check("[http://a.b c\nd]", "c\nd]");
        check("[[a|b|c]] [[a|]] [[File:x|y [[z", "b|c a File:x|y z");
    }

    #[test]
    fn namespaces_of_other_languages() {
        let mut namespaces = Namespaces::default();
        namespaces.add(14, "Kategorie");
        namespaces.add(6, "Datei");
        let article = article(
            "x [[kategorie:Fluss]] [[Datei:a.png|mini]] [[Bild|b]]",
            &namespaces,
        );
        assert_eq!(article.text, "x b");
        assert_eq!(article.categories, ["Fluss"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(parts in prop::collection::vec(prop::sample::select(vec![
            "{{", "}}", "{{{", "}}}", "[[", "]]", "[", "]", "|", "\n", "{|", "|}", "|-", "<ref>",
            "</ref>", "<ref/>", "<nowiki>", "</nowiki>", "<!--", "-->", "''", "'''", "==", "*", ":",
            "&amp;", "&#", "&#65;", "File:", "Category:", "de:", "http://", "é", "語", " ", "a", "__", "TOC",
        ]), 0..60)) {
            let article = read(&parts.concat());
            prop_assert!(!article.text.contains("\n\n\n"));
            prop_assert_eq!(article.text.trim(), &article.text);
            prop_assert!(article.headings.is_sorted_by_key(|heading| heading.at));
            for heading in &article.headings {
                let (before, line) = article.text.split_at(heading.at);
                prop_assert!(before.is_empty() || before.ends_with('\n'));
                prop_assert!(!line.is_empty() && !line.starts_with('\n'));
            }
        }

        #[test]
        fn text_without_marks_stays(words in prop::collection::vec("[a-zA-Zé語0-9.,]{1,8}", 1..40)) {
            let text = words.join(" ");
            prop_assert_eq!(read(&text).text, text);
        }

        #[test]
        fn templates_and_comments_leave_nothing(before in "[a-z]{1,9}", within in "[a-z|=\\[\\]' \n]{0,40}", behind in "[a-z]{1,9}") {
            let expected = format!("{before}{behind}");
            prop_assert_eq!(&read(&format!("{before}<!--{within}-->{behind}")).text, &expected);
            prop_assert_eq!(&read(&format!("{before}<ref>{within}</ref>{behind}")).text, &expected);
        }
    }
}
