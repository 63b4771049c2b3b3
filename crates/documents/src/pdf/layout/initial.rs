//! Initials: large letters that begin a paragraph and reach down several of its lines.

use std::collections::HashSet;

use super::edge::usual_size;
use super::run::Run;

/// An initial is larger than most text by at least this factor.
const LARGE: f32 = 1.8;
/// More large letters on a page than this are no initials.
const MOST: usize = 8;
/// The first line starts within this share of its font size from the initial.
const NEAR: f32 = 1.5;
/// Lines start one below the other, and at one height, within this share of the font size.
const ALIGNED: f32 = 0.5;
/// The letters that may be words.
const WORDS: &str = "AEIOUYÀÈÉÓÚАВИКОСУЯ";

/// Joins initials with the first line beside them.
pub(super) fn join(runs: &mut Vec<Run>) {
    let usual = usual_size(runs.iter().map(|run| (run.size, run.text.len())));
    let is_initial = |run: &Run| {
        let mut letters = run.text.trim().chars();
        run.size >= LARGE * usual
            && letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_none()
    };
    let initials: Vec<usize> = runs
        .iter()
        .enumerate()
        .filter_map(|(index, run)| is_initial(run).then_some(index))
        .collect();
    if initials.len() > MOST {
        return;
    }
    // From the last one on, so that the others keep their places.
    for index in initials.into_iter().rev() {
        let all: &[Run] = runs;
        let Some(line) = all.get(index).and_then(|run| first_line(run, all)) else {
            continue;
        };
        let letter = runs[index].text.trim().to_owned();
        let space = if is_word(&letter, line, runs) {
            " "
        } else {
            ""
        };
        let start = runs[index].start;
        let run = &mut runs[line];
        let before = letter + space;
        run.text.insert_str(0, &before);
        for (offset, _) in &mut run.gaps {
            *offset += before.len();
        }
        run.start = start;
        runs.remove(index);
    }
}

/// The index of the line that an initial begins: the uppermost beside it, with another one below that.
fn first_line(initial: &Run, runs: &[Run]) -> Option<usize> {
    let is_beside = |run: &Run| {
        let gap = run.start - initial.end;
        run.size * LARGE <= initial.size && -ALIGNED * run.size < gap && gap < NEAR * run.size
    };
    let beside = runs.iter().enumerate().filter(|(_, run)| is_beside(run));
    let above = beside.clone().filter(|(_, run)| {
        let height = initial.place - run.place;
        ALIGNED * run.size < height && height < initial.size
    });
    let (index, first) = above.min_by(|(_, a), (_, b)| a.place.total_cmp(&b.place))?;
    let has_next = beside.clone().any(|(_, run)| {
        let is_aligned = (run.start - first.start).abs() < ALIGNED * run.size;
        let is_below = run.place - first.place > ALIGNED * run.size;
        is_aligned && is_below && run.place - initial.place < ALIGNED * run.size
    });
    let begins_in_word = first.text.starts_with(char::is_alphabetic);
    (has_next && begins_in_word).then_some(index)
}

/// Whether an initial is a word of its own: what follows it is one elsewhere, and both together are not.
fn is_word(letter: &str, line: usize, runs: &[Run]) -> bool {
    let words_of = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let Some(next) = runs
        .get(line)
        .and_then(|run| words_of(&run.text).into_iter().next())
    else {
        return false;
    };
    let others = runs.iter().enumerate().filter(|(index, _)| *index != line);
    let words: HashSet<String> = others.flat_map(|(_, run)| words_of(&run.text)).collect();
    WORDS.contains(letter)
        && next.chars().nth(1).is_some()
        && words.contains(&next)
        && !words.contains(&format!("{letter}{next}"))
}

#[cfg(test)]
mod tests {
    use super::super::{Layout, Pen, joined};

    /// The text of strings at places, with letters of half the font size.
    fn laid_out(strings: &[(&str, f32, f32, f32)]) -> String {
        let mut layout = Layout::default();
        for &(text, x, y, size) in strings {
            for (index, character) in text.chars().enumerate() {
                let pen = |index: usize| Pen {
                    x: x + 0.5 * size * index as f32,
                    y,
                    direction: (1.0, 0.0),
                    size,
                };
                layout.write(&character.to_string(), pen(index), pen(index + 1));
            }
        }
        joined(&layout.finish().0)
    }

    #[test]
    fn initials_begin_their_words() {
        let page = |initial, first| {
            laid_out(&[
                (initial, 0.0, 0.0, 40.0),
                (first, 22.0, 24.0, 10.0),
                ("pump of the harbour", 22.0, 12.0, 10.0),
                ("is low, and then it", 22.0, 0.0, 10.0),
                ("rises again at night.", 0.0, -12.0, 10.0),
            ])
        };
        let rest = "\npump of the harbour\nis low, and then it\nrises again at night.";
        assert_eq!(
            page("O", "nce at dusk the"),
            format!("Once at dusk the{rest}")
        );
        assert_eq!(page("A", "pump at dusk"), format!("A pump at dusk{rest}"));
        assert_eq!(page("A", "t dusk the"), format!("At dusk the{rest}"));
    }

    #[test]
    fn large_letters_elsewhere_stay() {
        let read = laid_out(&[
            ("A", 0.0, 40.0, 40.0),
            ("pump of the harbour is", 0.0, 0.0, 10.0),
            ("low, and then it rises", 0.0, -12.0, 10.0),
        ]);
        assert_eq!(read, "A\npump of the harbour is\nlow, and then it rises");
    }
}
