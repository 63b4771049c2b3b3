//! Running heads and page numbers: lines at the edges of pages that repeat on several pages. A head stays where it
//! first occurs, since it may say what nothing else does; numbers alone go everywhere.

use std::collections::HashSet;
use std::ops::Range;

use super::layout::Edge;
use super::page::PageText;

/// A head is on at least this many pages.
const FEWEST_PAGES: usize = 3;
/// How many pages may lie between a head and its next occurrence: left and right pages may have
/// heads of their own, and the first page of a chapter none.
const REACH: usize = 4;
/// The most numbers of a head, and its greatest length, in bytes.
const MOST_NUMBERS: usize = 3;
const LONGEST: usize = 300;
/// The signs between the parts of a head.
const SIGNS: [char; 5] = ['|', '/', '·', '•', '\u{2013}'];
/// What precedes the number of a page, and the number of all pages.
const NAMES: [&str; 10] = [
    "page",
    "p",
    "pp",
    "seite",
    "s",
    "página",
    "pagina",
    "pág",
    "стр",
    "страница",
];
const BETWEEN: [&str; 6] = ["of", "von", "de", "di", "sur", "из"];
/// The highest page number in Roman numerals.
const HIGHEST_ROMAN: u32 = 100;

/// Removes heads and page numbers.
pub(super) fn remove(pages: &mut [PageText]) {
    let repeated = repeated(pages);
    for (page, lines) in pages.iter_mut().zip(repeated) {
        if !lines.is_empty() {
            page.text = without(&page.text, lines);
        }
    }
}

/// The lines of each page that repeat a line of pages before, or are page numbers.
fn repeated(pages: &[PageText]) -> Vec<Vec<Range<usize>>> {
    let mut counts: Vec<usize> = Vec::new();
    let mut heads: Vec<Vec<(Head<'_>, usize)>> = Vec::with_capacity(pages.len());
    for (number, page) in pages.iter().enumerate() {
        let mut on_page: Vec<(Head<'_>, usize)> = Vec::new();
        for head in page.edges.iter().filter_map(Head::of) {
            let before = heads.iter().enumerate().rev().take(REACH);
            let mut others = before.flat_map(|(earlier, heads)| {
                let distance = number - earlier;
                heads
                    .iter()
                    .map(move |(other, group)| (other, *group, distance))
            });
            let same = others.find(|(other, _, distance)| head.repeats(other, *distance));
            let group = same.map_or(counts.len(), |(_, group, _)| group);
            if group == counts.len() {
                counts.push(0);
            }
            if on_page.iter().all(|(_, other)| *other != group) {
                counts[group] += 1;
            }
            on_page.push((head, group));
        }
        heads.push(on_page);
    }
    let mut seen = HashSet::new();
    heads
        .iter()
        .map(|on_page| {
            let repeated = on_page.iter().filter(|(head, group)| {
                counts[*group] >= FEWEST_PAGES && (head.words.is_empty() || !seen.insert(*group))
            });
            repeated.map(|(head, _)| head.edge.range.clone()).collect()
        })
        .collect()
}

/// A text without some of its lines.
fn without(text: &str, mut lines: Vec<Range<usize>>) -> String {
    lines.sort_by_key(|line| line.start);
    let mut kept = String::with_capacity(text.len());
    let mut rest = 0;
    for line in lines {
        kept.push_str(text.get(rest..line.start).unwrap_or_default());
        rest = line.end;
        let after = text.get(rest..).unwrap_or_default();
        // The break before the line stays.
        rest += after.len() - after.trim_start_matches('\n').len();
    }
    kept.push_str(text.get(rest..).unwrap_or_default());
    kept.trim_end().to_owned()
}

/// A line that may be a head: its words, and the numbers that may count pages.
struct Head<'e> {
    words: Vec<&'e str>,
    numbers: Vec<u32>,
    edge: &'e Edge,
}

impl<'e> Head<'e> {
    fn of(edge: &'e Edge) -> Option<Self> {
        let mut head = Self {
            words: Vec::new(),
            numbers: Vec::new(),
            edge,
        };
        if edge.range.len() > LONGEST {
            return None;
        }
        for field in edge.fields.iter().flat_map(|field| field.split(SIGNS)) {
            head.add(field);
        }
        let is_short = head.numbers.len() <= MOST_NUMBERS;
        (is_short && (head.words.is_empty() || !edge.is_large)).then_some(head)
    }

    /// Adds a text that may end in a page number: `7`, `Page 7 of 9`, `Pumps, page 7`. In `Exercise 7`, the number
    /// is a part of the words.
    fn add(&mut self, field: &'e str) {
        let words: Vec<&str> = field.split_whitespace().collect();
        let tokens: Vec<Token> = words.iter().map(|word| Token::of(word)).collect();
        let after_words = tokens
            .iter()
            .rposition(|token| *token == Token::Word)
            .map_or(0, |index| index + 1);
        let named = tokens
            .iter()
            .skip(after_words)
            .position(|token| *token == Token::Name);
        let start = match (after_words, named) {
            (0, _) => 0,
            (_, Some(name)) => after_words + name,
            (_, None) => tokens.len(),
        };
        let before = self.numbers.len();
        self.numbers
            .extend(tokens.iter().skip(start).filter_map(Token::number));
        let start = match self.numbers.len() > before {
            true => start,
            false => words.len(),
        };
        self.words.extend(words.into_iter().take(start));
    }

    /// Whether it is the head of a page so many pages before: the same words at the same height, and numbers
    /// that are the same or count the pages. Numbers alone have to count them.
    fn repeats(&self, before: &Self, pages: usize) -> bool {
        let counts = |(number, other): (&u32, &u32)| {
            number.checked_sub(*other).map(u64::from) == Some(pages as u64)
        };
        let numbers = || self.numbers.iter().zip(&before.numbers);
        (self.edge.place - before.edge.place).abs() < self.edge.size.max(before.edge.size)
            && self.words == before.words
            && self.numbers.len() == before.numbers.len()
            && numbers().all(|pair| pair.0 == pair.1 || counts(pair))
            && (!self.words.is_empty() || numbers().any(counts))
    }
}

/// A word of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Word,
    Number(u32),
    /// What precedes the number of a page.
    Name,
    /// A word between the number of a page and that of all pages, or a sign.
    Between,
}

impl Token {
    fn of(word: &str) -> Self {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = bare.to_lowercase();
        match bare.parse().ok().or_else(|| roman(bare)) {
            Some(number) => Self::Number(number),
            None if NAMES.contains(&lower.as_str()) => Self::Name,
            None if bare.is_empty() || BETWEEN.contains(&lower.as_str()) => Self::Between,
            None => Self::Word,
        }
    }

    fn number(&self) -> Option<u32> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// A small Roman numeral.
fn roman(word: &str) -> Option<u32> {
    let digit = |letter| match letter {
        'i' => Some(1),
        'v' => Some(5),
        'x' => Some(10),
        'l' => Some(50),
        _ => None,
    };
    let digits: Vec<u32> = word.chars().take(8).map(digit).collect::<Option<_>>()?;
    let mut sum = 0;
    let mut next = 0;
    for digit in digits.into_iter().rev() {
        // A smaller digit before a larger one is subtracted.
        sum = if digit < next {
            sum - digit
        } else {
            sum + digit
        };
        next = digit;
    }
    (1..HIGHEST_ROMAN).contains(&sum).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of lines with their heights; those at heights below 100 or above 700 are at the edges.
    fn removed(pages: &[Vec<(&str, f32)>]) -> Vec<String> {
        let page = |lines: &Vec<(&str, f32)>| {
            let (mut text, mut edges) = (String::new(), Vec::new());
            for (line, place) in lines {
                if !text.is_empty() {
                    text.push('\n');
                }
                let start = text.len();
                text.push_str(&line.replace('\t', " "));
                if !(100.0..700.0).contains(place) {
                    edges.push(Edge {
                        range: start..text.len(),
                        fields: line.split('\t').map(str::to_owned).collect(),
                        place: *place,
                        size: 10.0,
                        is_large: line.starts_with('!'),
                    });
                }
            }
            PageText {
                text,
                edges,
                unread: 0,
            }
        };
        let mut pages: Vec<PageText> = pages.iter().map(page).collect();
        remove(&mut pages);
        pages.into_iter().map(|page| page.text).collect()
    }

    /// Four pages with a line at the top of each.
    fn with_top(top: impl Fn(usize) -> String) -> Vec<String> {
        let tops: Vec<String> = (1..5).map(top).collect();
        let pages: Vec<_> = tops
            .iter()
            .map(|top| vec![(top.as_str(), 40.0), ("body", 300.0)])
            .collect();
        removed(&pages)
    }

    #[test]
    fn heads_stay_once_and_page_numbers_never() {
        let words = with_top(|_| "Handbook".to_owned());
        assert_eq!(words, ["Handbook\nbody", "body", "body", "body"]);
        for number in ["#", "- # -", "Page # of 4", "p. #"] {
            let read = with_top(|page| number.replace('#', &page.to_string()));
            assert_eq!(read, ["body"; 4], "{number}");
        }
        let romans = ["xi", "xii", "xiii", "xiv"];
        assert_eq!(with_top(|page| romans[page - 1].to_owned()), ["body"; 4]);
        for both in ["Pumps\t#", "Pumps | #", "Pumps, page #"] {
            let read = with_top(|page| both.replace('#', &page.to_string()));
            let first = both.replace('#', "1").replace('\t', " ");
            assert_eq!(read[0], format!("{first}\nbody"));
            assert_eq!(read[1..], ["body"; 3], "{both}");
        }
    }

    #[test]
    fn left_and_right_pages_have_heads_of_their_own() {
        let read = with_top(|page| match page % 2 {
            0 => format!("{page}\tPumps"),
            _ => "Valves".to_owned(),
        });
        // Two pages are too few.
        assert_eq!(
            read,
            [
                "Valves\nbody",
                "2 Pumps\nbody",
                "Valves\nbody",
                "4 Pumps\nbody"
            ]
        );
        let tops: Vec<String> = (1..8)
            .map(|page| ["Pumps", "Valves"][page % 2].to_owned())
            .collect();
        let pages: Vec<_> = tops
            .iter()
            .map(|top| vec![(top.as_str(), 40.0), ("body", 300.0)])
            .collect();
        let read = removed(&pages);
        assert_eq!(read[..2], ["Valves\nbody", "Pumps\nbody"]);
        assert_eq!(read[2..], ["body"; 5]);
    }

    #[test]
    fn text_of_the_body_stays() {
        for top in [
            "Exercise #",
            "Invoice 100#",
            "!Results",
            "Total\t#\t#\t#\t#",
        ] {
            let read = with_top(|page| top.replace('#', &page.to_string()));
            let fourth = top.replace('#', "4").replace('\t', " ");
            assert_eq!(read[3], format!("{fourth}\nbody"), "{top}");
        }
        // The same number on each page counts nothing, and a line that moves is no head.
        assert_eq!(with_top(|_| "7".to_owned()), ["7\nbody"; 4]);
        let pages: Vec<_> = (0..4)
            .map(|page| vec![("Note", 20.0 * page as f32), ("body", 300.0)])
            .collect();
        assert_eq!(removed(&pages), ["Note\nbody"; 4]);
    }

    #[test]
    fn what_is_around_a_head_keeps_its_breaks() {
        assert_eq!(
            without("a\n\nhead\n\nb\nc", Vec::from_iter(Some(3..7))),
            "a\n\nb\nc"
        );
        assert_eq!(without("head\n\na\n9", vec![8..9, 0..4]), "a");
    }
}
