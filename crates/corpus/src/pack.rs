//! Whole sentences, packed into passages.

use std::ops::Range;

/// A sentence, or a part of one that is too long.
struct Unit {
    bytes: Range<usize>,
    words: usize,
}

/// Packs `sentences`, slices of `text` in order, into slices of at most `size` words. A longer sentence is cut
/// at its lines, and a longer line at its words. A nearly full passage ends with its paragraph, and a heading
/// goes with the text after it. `word_starts` returns where the words of a text start.
pub(crate) fn pack<'t, W: Iterator<Item = usize>>(
    text: &'t str,
    sentences: &[&'t str],
    size: usize,
    word_starts: &dyn Fn(&'t str) -> W,
) -> Vec<&'t str> {
    let units = units(text, sentences, size, word_starts);
    let mut passages = Vec::new();
    let (mut first, mut words) = (0, 0);
    let passage = |units: &[Unit]| match units {
        [first, .., last] => Some(&text[first.bytes.start..last.bytes.end]),
        [only] => Some(&text[only.bytes.clone()]),
        [] => None,
    };
    for (index, unit) in units.iter().enumerate() {
        if words > 0 && words + unit.words > size {
            let mut end = index;
            while end > first + 1 && is_heading(text, &units[end - 1], unit) {
                end -= 1;
            }
            // Headings alone do not make a passage.
            let carried: usize = units[end..index].iter().map(|unit| unit.words).sum();
            let end = if carried + unit.words > size {
                index
            } else {
                end
            };
            passages.extend(passage(&units[first..end]));
            words = units[end..index].iter().map(|unit| unit.words).sum();
            first = end;
        }
        words += unit.words;
        let ends_paragraph = units
            .get(index + 1)
            .is_some_and(|next| has_blank_line(&text[unit.bytes.end..next.bytes.start]));
        let next_is_text = units
            .get(index + 1)
            .is_some_and(|next| !is_heading(text, unit, next));
        if ends_paragraph && next_is_text && 3 * words >= 2 * size {
            passages.extend(passage(&units[first..=index]));
            (first, words) = (index + 1, 0);
        }
    }
    passages.extend(passage(&units[first..]));
    passages
}

fn units<'t, W: Iterator<Item = usize>>(
    text: &'t str,
    sentences: &[&'t str],
    size: usize,
    word_starts: &dyn Fn(&'t str) -> W,
) -> Vec<Unit> {
    let start = text.as_ptr() as usize;
    let unit = |part: &'t str| {
        let part = part.trim();
        let first = part.as_ptr() as usize - start;
        Unit {
            bytes: first..first + part.len(),
            words: word_starts(part).count(),
        }
    };
    let mut units = Vec::new();
    for sentence in sentences {
        let whole = unit(sentence);
        if whole.words <= size {
            units.push(whole);
            continue;
        }
        for line in sentence.lines() {
            let whole = unit(line);
            if whole.words <= size {
                units.push(whole);
                continue;
            }
            let mut starts: Vec<usize> = word_starts(line).step_by(size).collect();
            starts.push(line.len());
            if let Some(first) = starts.first_mut() {
                *first = 0;
            }
            units.extend(starts.windows(2).map(|ends| unit(&line[ends[0]..ends[1]])));
        }
    }
    units.retain(|unit| !unit.bytes.is_empty());
    units
}

/// Whether a unit looks like a heading: a line of its own without final punctuation.
fn is_heading(text: &str, unit: &Unit, next: &Unit) -> bool {
    /// The most words of a heading.
    const HEADING_WORDS: usize = 12;
    let line = &text[unit.bytes.clone()];
    unit.bytes.end <= next.bytes.start
        && unit.words <= HEADING_WORDS
        && !line.contains('\n')
        && !line.ends_with(['.', '!', '?', ';', ',', '。', '！', '？', '；'])
        && text[unit.bytes.end..next.bytes.start].contains('\n')
        && text[..unit.bytes.start]
            .trim_end_matches([' ', '\t'])
            .ends_with(['\n', '\r'])
}

/// Whether white space between units holds an empty line.
fn has_blank_line(space: &str) -> bool {
    space.matches('\n').nth(1).is_some()
}

#[cfg(test)]
mod tests {
    use crate::{Segmentation, segment};

    fn cut(text: &str, size: usize) -> Vec<&str> {
        segment(text, Segmentation::Sentences { size }, &|_| Vec::new())
    }

    #[test]
    fn no_sentence_is_cut_that_fits() {
        let text = "One two three. Four five six. Seven eight nine ten. Eleven.";
        assert_eq!(
            cut(text, 6),
            [
                "One two three. Four five six.",
                "Seven eight nine ten. Eleven."
            ]
        );
        assert_eq!(cut(text, 100), [text]);
        assert_eq!(cut("", 6), [""; 0]);
    }

    #[test]
    fn a_long_sentence_is_cut_at_lines_and_then_at_words() {
        let rows = "name, bar, day\npump seven, nine, first\npump eight, ten, second";
        assert_eq!(
            cut(rows, 5),
            [
                "name, bar, day",
                "pump seven, nine, first",
                "pump eight, ten, second"
            ]
        );
        assert_eq!(cut("a b c d e f g", 3), ["a b c", "d e f", "g"]);
    }

    #[test]
    fn paragraphs_end_passages_that_are_nearly_full() {
        let text = "One two three four.\n\nFive six.\n\nSeven eight.";
        assert_eq!(
            cut(text, 6),
            ["One two three four.", "Five six.\n\nSeven eight."]
        );
    }

    #[test]
    fn a_heading_goes_with_what_follows() {
        let text = "The valve opens at nine bar.\n\nThe pump\n\nIt runs at night and by day.";
        assert_eq!(
            cut(text, 9),
            [
                "The valve opens at nine bar.",
                "The pump\n\nIt runs at night and by day."
            ]
        );
    }
}
