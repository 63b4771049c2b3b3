//! The part of a text that fits what was asked for, if not all of it is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ken_answer::{is_han, placed_words};

/// Characters that are shown before the first word that fits.
const BEFORE: usize = 40;

/// Shorter words say little of what a text is about, unless they hold a digit.
const LONGER: usize = 4;

/// Part of a text on one line, and the places of wanted words in it, in bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    pub(crate) marks: Vec<Range<usize>>,
}

/// The part of a text, of at most `most` characters, with the most wanted words: each counts as much as the number
/// beside the text that it stands in. If there are none, the text's beginning.
pub(crate) fn excerpt(text: &str, wanted: &[(&str, usize)], most: usize) -> Excerpt {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let worth = worth(wanted);
    let fitting: Vec<(Range<usize>, String)> = words(&line)
        .filter(|(_, word)| worth.contains_key(word))
        .collect();
    let line: Vec<char> = line.chars().collect();
    let start = match line.len() <= most {
        true => 0,
        false => start(&line, &fitting, &worth, most.saturating_sub(BEFORE)),
    };
    let before = if start > 0 { "…" } else { "" };
    let room = most - before.chars().count();
    let (end, after) = match line.len() - start <= room {
        true => (line.len(), ""),
        false => (word_end(&line, start, start + room - 1), "…"),
    };
    let kept: String = line[start..end].iter().collect();
    let kept = kept.trim_end();
    let bytes = |count: usize| {
        line[start..start + count]
            .iter()
            .map(|c| c.len_utf8())
            .sum::<usize>()
    };
    let shown = fitting
        .iter()
        .filter(|(place, _)| place.start >= start && place.end <= end);
    let marks = shown.map(|(place, _)| {
        let [from, to] = [place.start, place.end].map(|at| before.len() + bytes(at - start));
        from..to
    });
    Excerpt {
        marks: marks.collect(),
        text: format!("{before}{kept}{after}"),
    }
}

/// The last place between words up to `end`, if it is near; the characters between `start` and that are shown.
fn word_end(line: &[char], start: usize, end: usize) -> usize {
    let mut places = (start..=end).rev().take(BEFORE);
    places.find(|&at| line[at] == ' ').unwrap_or(end)
}

/// The start of the part with the highest sum of wanted words within so many characters.
fn start(
    line: &[char],
    fitting: &[(Range<usize>, String)],
    worth: &BTreeMap<String, usize>,
    room: usize,
) -> usize {
    let total = |from: usize| {
        let end = fitting[from].0.start + room;
        let seen: BTreeSet<&String> = fitting[from..]
            .iter()
            .take_while(|(place, _)| place.end <= end)
            .map(|(_, word)| word)
            .collect();
        seen.iter().map(|word| worth[*word]).sum::<usize>()
    };
    // The first of equals.
    let best = (0..fitting.len()).rev().max_by_key(|&from| total(from));
    let first = best.map_or(0, |from| fitting[from].0.start);
    match first.checked_sub(BEFORE) {
        None => 0,
        Some(early) => (early..first)
            .find(|&at| line[at] == ' ')
            .map_or(first, |gap| gap + 1),
    }
}

/// What each word is worth.
fn worth(wanted: &[(&str, usize)]) -> BTreeMap<String, usize> {
    let mut worth = BTreeMap::new();
    for (text, value) in wanted {
        for (_, word) in words(text) {
            let known = worth.entry(word).or_default();
            *known = (*value).max(*known);
        }
    }
    worth
}

/// The telling words of a text, with their places in characters.
fn words(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    placed_words(text).filter(|(place, word)| {
        place.len() >= LONGER
            || word
                .chars()
                .any(|letter| letter.is_numeric() || is_han(letter))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_the_part_that_holds_the_words() {
        let text = format!(
            "{}The lamp turns every nine seconds. {}",
            "Buoys are red here. ".repeat(20),
            "Sails are white. ".repeat(20)
        );
        let shown = excerpt(&text, &[("How often does the lamp turn?", 1)], 60);
        let marked: Vec<&str> = shown
            .marks
            .iter()
            .map(|at| &shown.text[at.clone()])
            .collect();
        assert_eq!(marked, ["lamp"]);
        let shown = shown.text;
        assert!(shown.contains("The lamp turns every"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        // Words of the answer count for more than those of the question.
        let shown = excerpt(&text, &[("white", 3), ("red buoys", 1)], 60).text;
        assert!(shown.contains("white"), "{shown}");
        let begins = excerpt(&text, &[("Who sings?", 1)], 24);
        assert_eq!(begins.text, "Buoys are red here.…");
        let whole = excerpt("short\n text", &[("text", 1)], 24);
        assert_eq!(whole.text, "short text");
        assert_eq!(whole.marks[0], 6..10);
        let chinese = format!(
            "{}灯每九秒转一圈。{}",
            "浮标是红色的。".repeat(20),
            "帆是白色的。".repeat(20)
        );
        let shown = excerpt(&chinese, &[("灯多久转一圈", 1)], 30);
        let marked: String = shown
            .marks
            .iter()
            .map(|at| &shown.text[at.clone()])
            .collect();
        assert_eq!(marked, "灯转一圈", "{shown:?}");
    }

    proptest! {
        #[test]
        fn it_is_part_of_the_text_and_not_longer(text in "[a-c ]{0,200}", wanted in "[a-c]{4,6}", most in 8_usize..80) {
            let Excerpt { text: shown, marks } = excerpt(&text, &[(&wanted, 1)], most);
            prop_assert!(marks.iter().all(|at| shown[at.clone()] == wanted));
            prop_assert!(shown.chars().count() <= most);
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(line.contains(shown.trim_matches('…')));
        }
    }
}
