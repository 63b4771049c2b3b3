//! The parts of a question that may be names of files, and what it asks besides.

use std::ops::Range;

use ken_corpus::file_stem;

use crate::cite::is_han;

/// The most extensions that are looked at in a question, and the most beginnings of a name before each of them.
const EXTENSIONS: usize = 32;
const BEGINNINGS: usize = 16;

/// The most words of a name without its extension.
const WORDS: usize = 8;

/// The most words of a question that are looked at.
const LOOKED_AT: usize = 256;

/// Marks that are no part of a name at its ends.
const MARKS: &str = "\"'`“”„‘’‚«»()[]{}<>（）【】《》「」『』.,;:!?。，、；：！？…";

/// Marks around a name: pairs, one after the other.
const QUOTES: &str = "\"\"``“”„“‘’«»《》「」";

/// Words before a name without its extension, and words between.
const BEFORE: &str = "file document doc summarize summarise according";
const BETWEEN: &str = "the file document to named called";

/// Words behind a name without its extension.
const BEHIND: &str =
    "file document doc say says mention mentions contain contains describe describes";

/// Words that ask for nothing in particular: what is left of a question about a file as a whole.
const GENERAL: &str = "a about an and briefly brief can contain content contents could describe do doc document does explain \
file for from give gist i in is it key main me named of outline overview please point points s say short show sum summarise \
summarize summary tell text that the there this to up us what whats you";
const GENERAL_HAN: &str =
    "请把给我总结概括简介绍述一下这个份篇文件档的主要内容里说讲了写什么是有吗";

/// The parts of a question that may be names of files, in bytes, the longest first. Names have an extension, or are
/// distinctive and either quoted, beside a word such as *file* or *says*, or written as no other word is (`report_2`,
/// `report-2024`).
pub(super) fn mentions(question: &str) -> Vec<Range<usize>> {
    let words = words(question);
    let mut mentions = with_extension(question);
    let bare = quoted(question)
        .into_iter()
        .chain(beside_words(question, &words))
        .filter(|span| is_distinctive(text(question, span)))
        .chain(
            words
                .into_iter()
                .filter(|span| is_file_like(text(question, span))),
        );
    mentions.extend(bare);
    mentions.sort_by_key(|span| (span.len(), span.start));
    mentions.dedup();
    mentions.reverse();
    mentions
}

/// A question without the names in it.
pub(super) fn without(question: &str, names: &[Range<usize>]) -> String {
    let is_left = |at: usize| !names.iter().any(|span| span.contains(&at));
    let left = question.char_indices();
    left.map(|(at, letter)| if is_left(at) { letter } else { ' ' })
        .collect()
}

/// Whether a question without its names asks for the files as a whole.
pub(super) fn asks_for_all(question: &str) -> bool {
    let lower = question.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.all(|word| is_among(GENERAL, word) || word.chars().all(|c| GENERAL_HAN.contains(c)))
}

/// What may be names that end with an extension.
fn with_extension(question: &str) -> Vec<Range<usize>> {
    let end_at = |(dot, _): (usize, &str)| {
        let letters = question.bytes().skip(dot + 1);
        let end = dot + 1 + letters.take_while(u8::is_ascii_alphanumeric).count();
        let before = text(question, &(0..dot)).chars().rev();
        let before = before.take(2).take_while(|c| c.is_alphanumeric()).count();
        // Not "e.g." or "U.S.".
        let is_name = end - dot > 2 || before > 1;
        let stem = file_stem(text(question, &(0..end))).filter(|_| is_name);
        stem.map(|_| end)
    };
    let ends = question.match_indices('.').filter_map(end_at);
    ends.take(EXTENSIONS)
        .flat_map(|end| {
            let starts = text(question, &(0..end)).char_indices().rev();
            let starts = starts.filter(move |(start, _)| begins(question, *start));
            starts.take(BEGINNINGS).map(move |(start, _)| start..end)
        })
        .collect()
}

/// Whether a name may begin at a byte: behind a space, a mark or a Han character.
fn begins(question: &str, start: usize) -> bool {
    let Some((before, behind)) = question.split_at_checked(start) else {
        return false;
    };
    let may_precede = |c: char| is_mark(c) && c != '.' || is_han(c);
    before.chars().next_back().is_none_or(may_precede) && !behind.starts_with(char::is_whitespace)
}

/// What stands between quotes.
fn quoted(question: &str) -> Vec<Range<usize>> {
    let marks: Vec<char> = QUOTES.chars().collect();
    let pairs = marks.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    let between = |(open, close): (char, char)| {
        let opened = question.match_indices(open).take(EXTENSIONS);
        opened.filter_map(move |(at, _)| {
            let start = at + open.len_utf8();
            let length = question.get(start..)?.find(close)?;
            Some(trimmed(question, &(start..start + length)))
        })
    };
    pairs.flat_map(between).collect()
}

/// Whether a word is in a list of words between spaces.
fn is_among(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// What stands behind or before words that speak of files.
fn beside_words(question: &str, words: &[Range<usize>]) -> Vec<Range<usize>> {
    let lower = words.iter().map(|span| text(question, span).to_lowercase());
    let lower: Vec<String> = lower.collect();
    let mut spans = Vec::new();
    for (index, word) in lower.iter().enumerate() {
        if is_among(BEFORE, word) {
            let following = lower.iter().zip(words).skip(index + 1);
            let name = following.skip_while(|(word, _)| is_among(BETWEEN, word));
            let mut name = name.map(|(_, span)| span).take(WORDS).peekable();
            let start = name.peek().map_or(0, |first| first.start);
            spans.extend(name.map(|last| start..last.end));
        }
        if is_among(BEHIND, word) {
            let name = words.iter().take(index).rev().take(WORDS);
            let end = words.get(index.wrapping_sub(1)).map_or(0, |last| last.end);
            spans.extend(name.map(|first| first.start..end));
        }
    }
    spans
}

/// Whether a name without its extension tells a file from what is meant by the words in it.
fn is_distinctive(name: &str) -> bool {
    let han = name.chars().filter(|c| is_han(*c)).count();
    let tells = |c: char| c.is_numeric() || c.is_whitespace() || matches!(c, '-' | '_');
    han > 1 || name.contains(char::is_alphabetic) && name.contains(tells)
}

/// Whether a word is written as names of files are and others are not.
fn is_file_like(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    word.contains('_') || word.contains('-') && digits >= 4
}

/// The words of a question, without marks around them.
fn words(question: &str) -> Vec<Range<usize>> {
    let mut end = 0;
    let parts = question.split_inclusive(char::is_whitespace);
    let spans = parts.map(|part| {
        let start = end;
        end += part.len();
        trimmed(question, &(start..end))
    });
    spans
        .filter(|span| !span.is_empty())
        .take(LOOKED_AT)
        .collect()
}

/// A part of a question without spaces, marks and the ending of a possessive around it.
fn trimmed(question: &str, span: &Range<usize>) -> Range<usize> {
    let part = text(question, span).trim_end_matches(is_mark);
    let possessive = part.strip_suffix("'s").or_else(|| part.strip_suffix("’s"));
    let part = possessive.unwrap_or(part);
    let own = part.trim_start_matches(is_mark);
    let start = span.start + part.len() - own.len();
    start..start + own.len()
}

fn is_mark(c: char) -> bool {
    c.is_whitespace() || MARKS.contains(c)
}

/// A part of a question; empty if it is none.
pub(super) fn text<'q>(question: &'q str, span: &Range<usize>) -> &'q str {
    question.get(span.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a question may name a file.
    fn may_name(question: &str, name: &str) -> bool {
        let mentions = mentions(question);
        mentions.iter().any(|span| text(question, span) == name)
    }

    #[test]
    fn names_with_extensions_are_seen_wherever_they_stand() {
        for (question, name) in [
            (
                "What does report-2024.pdf say about revenue?",
                "report-2024.pdf",
            ),
            ("summarize notes/todo.md", "notes/todo.md"),
            (
                "In the file Policy Handbook.docx, how many days?",
                "Policy Handbook.docx",
            ),
            ("Is it in \"Q3 (final).xlsx\"?", "Q3 (final).xlsx"),
            ("Who wrote (a.tar.gz)?", "a.tar.gz"),
            ("What is README.md's first line?", "README.md"),
            ("请总结报告2024.pdf的内容", "报告2024.pdf"),
            ("请总结报告2024.pdf的内容", "2024.pdf"),
        ] {
            assert!(may_name(question, name), "{question}");
        }
    }

    #[test]
    fn names_without_extensions_are_seen_if_they_are_distinctive() {
        for (question, name) in [
            (
                "What does the Policy Handbook say about leave?",
                "Policy Handbook",
            ),
            (
                "How long is leave, according to the policy handbook?",
                "policy handbook",
            ),
            ("Summarize the file Policy Handbook.", "Policy Handbook"),
            ("Which days does the report-7 document list?", "report-7"),
            ("Is leave paid by “Policy Handbook”?", "Policy Handbook"),
            ("What was the revenue in report-2024?", "report-2024"),
            ("Compare report_a's revenue with others", "report_a"),
            ("《员工手册》里写了什么？", "员工手册"),
        ] {
            assert!(may_name(question, name), "{question}");
        }
    }

    #[test]
    fn ordinary_questions_name_no_files() {
        for question in [
            "Who keeps the keys of the mill in Orsand?",
            "What happened in 2024?",
            "Is version 1.2 well-known, e.g. in the U.S.?",
            "How do COVID-19 and long-term effects differ?",
            "What is 3.5 percent of 20?",
            "",
        ] {
            let mentions = mentions(question);
            assert!(mentions.is_empty(), "{question}: {mentions:?}");
        }
    }

    #[test]
    fn the_longest_name_comes_first() {
        let question = "in Policy Handbook.docx";
        let first = mentions(question).first().cloned().unwrap();
        assert_eq!(first, 0..question.len());
    }

    #[test]
    fn a_question_about_all_of_a_file_asks_for_nothing_else() {
        for (question, name, expected) in [
            ("summarize notes/todo.md", "notes/todo.md", true),
            ("Please give me a short summary of a.md!", "a.md", true),
            ("What's in a.md?", "a.md", true),
            ("What is a.md about?", "a.md", true),
            ("a.md", "a.md", true),
            ("请总结一下a.md的内容", "a.md", true),
            ("What does a.md say about revenue?", "a.md", false),
            ("summarize the costs in a.md", "a.md", false),
            ("a.md里的收入是多少", "a.md", false),
        ] {
            let start = question.find(name).unwrap();
            let place = start..start + name.len();
            let rest = without(question, std::slice::from_ref(&place));
            assert!(!rest.contains(name), "{rest}");
            assert_eq!(asks_for_all(&rest), expected, "{question}");
        }
    }
}
