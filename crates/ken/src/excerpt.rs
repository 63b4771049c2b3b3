//! The part of a text that fits what was asked for, where not all of it is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Characters that are shown before the first word that fits.
const BEFORE: usize = 40;

/// Shorter words say little of what a text is about, unless they hold a digit.
const LONGER: usize = 4;

/// The part of a text, on one line of at most `most` characters, that has the most words of those wanted: each is
/// worth the number beside the text that it stands in. Where it has none, the text's beginning.
pub(crate) fn excerpt(text: &str, wanted: &[(&str, usize)], most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: Vec<char> = line.chars().collect();
    if line.len() <= most {
        return line.into_iter().collect();
    }
    let worth = worth(wanted);
    let fitting: Vec<(Range<usize>, String)> = words(&line)
        .filter(|(_, word)| worth.contains_key(word))
        .collect();
    let total = |from: usize| {
        let end = fitting[from].0.start + most.saturating_sub(BEFORE);
        let seen: BTreeSet<&String> = fitting[from..]
            .iter()
            .take_while(|(place, _)| place.end <= end)
            .map(|(_, word)| word)
            .collect();
        seen.iter().map(|word| worth[*word]).sum::<usize>()
    };
    // Of equals, the first.
    let best = (0..fitting.len()).rev().max_by_key(|&from| total(from));
    let first = best.map_or(0, |from| fitting[from].0.start);
    let start = match first.checked_sub(BEFORE) {
        None => 0,
        Some(early) => (early..first)
            .find(|&at| line[at] == ' ')
            .map_or(first, |gap| gap + 1),
    };
    let before = if start > 0 { "…" } else { "" };
    let room = most - before.chars().count();
    if line.len() - start <= room {
        let rest: String = line[start..].iter().collect();
        return format!("{before}{rest}");
    }
    let kept: String = line[start..start + room - 1].iter().collect();
    format!("{before}{}…", kept.trim_end())
}

/// What each word is worth.
fn worth(wanted: &[(&str, usize)]) -> BTreeMap<String, usize> {
    let mut worth = BTreeMap::new();
    for (text, each) in wanted {
        let text: Vec<char> = text.chars().collect();
        for (_, word) in words(&text) {
            let known = worth.entry(word).or_default();
            *known = (*each).max(*known);
        }
    }
    worth
}

/// The words of a text that say something, in lower case and with their places; a Han character is a word.
fn words(text: &[char]) -> impl Iterator<Item = (Range<usize>, String)> {
    let is_han = |c: char| ('\u{3400}'..='\u{9fff}').contains(&c);
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let start = at;
            at += 1;
            if !text[start].is_alphanumeric() {
                continue;
            }
            while !is_han(text[start])
                && at < text.len()
                && text[at].is_alphanumeric()
                && !is_han(text[at])
            {
                at += 1;
            }
            let word = &text[start..at];
            if is_han(word[0]) || word.len() >= LONGER || word.iter().any(|c| c.is_numeric()) {
                let word = word.iter().flat_map(|c| c.to_lowercase()).collect();
                return Some((start..at, word));
            }
        }
        None
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
        assert!(shown.contains("The lamp turns every"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        // What answers counts for more than what asks.
        let shown = excerpt(&text, &[("white", 3), ("red buoys", 1)], 60);
        assert!(shown.contains("white"), "{shown}");
        let begins = excerpt(&text, &[("Who sings?", 1)], 24);
        assert_eq!(begins, "Buoys are red here. Buo…");
        assert_eq!(excerpt("short\n text", &[("text", 1)], 24), "short text");
        let chinese = format!(
            "{}灯每九秒转一圈。{}",
            "浮标是红色的。".repeat(20),
            "帆是白色的。".repeat(20)
        );
        assert!(excerpt(&chinese, &[("灯多久转一圈", 1)], 30).contains('灯'));
    }

    proptest! {
        #[test]
        fn it_is_part_of_the_text_and_not_longer(text in "[a-c ]{0,200}", wanted in "[a-c]{4,6}", most in 8_usize..80) {
            let shown = excerpt(&text, &[(&wanted, 1)], most);
            prop_assert!(shown.chars().count() <= most);
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(line.contains(shown.trim_matches('…')));
        }
    }
}
