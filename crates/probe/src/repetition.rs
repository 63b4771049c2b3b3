//! Text that goes round in circles: small models write the same words over and over, on lines of their own or on one
//! that never ends.

/// The characters at the end of a text that are looked at.
const WINDOW: usize = 1200;

/// The fewest characters that a repetition takes: what is shorter may be meant.
const FEWEST: usize = 100;

/// The shortest line, in bytes, whose repetition says that a model goes round in circles.
const LINE: usize = 40;

/// Whether a text goes round in circles at its end: a long line stands there that it holds already, or the end
/// consists of one unit again and again.
pub fn is_repeated(text: &str) -> bool {
    text.ends_with('\n') && last_line_is_repeated(text) || end_is_periodic(text)
}

/// As [`is_repeated`], of a text that was cut at its limit: less of one unit tells then, such as a number of nothing but zeros.
pub(crate) fn is_cut_in_repetition(text: &str) -> bool {
    const FEWEST: usize = 30;
    let end: Vec<char> = text.chars().rev().take(FEWEST).collect();
    let period = periods(&end).last().unwrap_or_default();
    is_repeated(text) || end.len() == FEWEST && 5 * period <= FEWEST
}

/// Whether the last line of a text is a long one that stands there twice. The number of a step does not
/// count.
fn last_line_is_repeated(text: &str) -> bool {
    fn content(line: &str) -> &str {
        line.trim()
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '))
    }
    let mut lines = text.lines().rev().map(content);
    let last = lines.next().unwrap_or_default();
    last.len() >= LINE && lines.any(|line| line == last)
}

/// Whether the end of a text is one unit again and again, as it stands or but for its numbers.
fn end_is_periodic(text: &str) -> bool {
    let end: Vec<char> = text.chars().rev().take(WINDOW).collect();
    if end.len() < FEWEST {
        return false;
    }
    let periodic = |end: &[char], most: usize, least: usize| {
        periods(end)
            .enumerate()
            .any(|(index, period)| index + 1 >= most.max(least * period))
    };
    // Of a unit with a word, six are a circle, and ten if its numbers count; rules and dots may be as long as a line.
    let mut numberless = end.clone();
    numberless.dedup_by(|a, b| a.is_numeric() && b.is_numeric());
    for c in &mut numberless {
        *c = if c.is_numeric() { '0' } else { *c };
    }
    let has_words = end[..FEWEST].iter().any(|c| c.is_alphanumeric());
    let has_letters = end[..FEWEST].iter().any(|c| c.is_alphabetic());
    let most = if has_words { FEWEST } else { 4 * FEWEST };
    // Long units are sentences, which nobody writes three times in a row.
    let counts = |most, least| periodic(&numberless, most, least);
    periodic(&end, most, 6)
        || periodic(&end, 3 * FEWEST, 3)
        || counts(3 * FEWEST, 20)
        || has_letters && counts(FEWEST, 10)
}

/// The shortest period of each start of a text.
fn periods(text: &[char]) -> impl Iterator<Item = usize> {
    // The longest end of each start that is a start itself (Knuth, Morris and Pratt).
    let mut borders = vec![0_usize; text.len()];
    for at in 1..text.len() {
        let mut border = borders[at - 1];
        while border > 0 && text[at] != text[border] {
            border = borders[border - 1];
        }
        borders[at] = border + usize::from(text[at] == text[border]);
    }
    let lengths = 1..=text.len();
    lengths.zip(borders).map(|(length, border)| length - border)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The length of the text at which it is seen to go round.
    fn seen(text: &str) -> Option<usize> {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        ends.map(|end| &text[..end])
            .find(|text| is_repeated(text))
            .map(|text| text.chars().count())
    }

    #[test]
    fn circles_of_any_form_are_seen() {
        for unit in [
            "code(",
            "code\n",
            "yes and no and ",
            "是的，",
            "1. Yes.\n2. No.\n",
            "Open the file that the command names, and read it, and then open the next one. ",
            "The route through the harbour is closed in winter, as the guide says on its first page, and whoever comes late waits for the ferry. ",
        ] {
            let text = format!("It is so: {}", unit.repeat(400));
            let length = seen(&text).unwrap_or_else(|| panic!("{unit}"));
            assert!(length <= 120 + 6 * unit.chars().count(), "{unit}: {length}");
        }
        let counted: String = (1..400).map(|n| format!("step {n}, ")).collect();
        assert!(seen(&counted).is_some_and(|length| length < 200));
        let names: String = (0..40).map(|n| format!("\"user_{n}\" or ")).collect();
        assert!(seen(&names).is_some_and(|length| length < 160));
        assert!(seen(&"-".repeat(900)).is_some());
    }

    #[test]
    fn what_is_meant_stays() {
        for text in [
            "| name | port |\n|-----------------------------------------------------|------------------|\n| a | 22 |\n",
            "==================================================================================\n",
            "Set `a` to 1, `b` to 1, `c` to 1, `d` to 1, `e` to 1, `f` to 1, `g` to 1 and `h` to 1.",
            "Chapter 1, Chapter 2, Chapter 3, Chapter 4, Chapter 5, Chapter 6, Chapter 7, Chapter 8 and Chapter 9.",
            "22, 25, 53, 80, 110, 143, 443, 465, 587, 993, 995, 8080 and 8443 are open.",
            "- Yes.\n- Yes.\n- No.\n- Yes.\n- Yes.\n- No.\n",
            "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0",
            "for a in b:\n                                                                    pass\n",
        ] {
            assert_eq!(seen(text), None, "{text}");
        }
    }

    #[test]
    fn less_of_a_circle_is_enough_where_a_text_was_cut() {
        let zeros = format!("1{}", "0".repeat(31));
        for text in [&zeros, &"12 or ".repeat(6), &"yes ".repeat(60)] {
            assert!(is_cut_in_repetition(text), "{text}");
        }
        for text in [
            "1000000",
            "3.14159265358979323846264338327950288",
            "the first, the second, the third and",
        ] {
            assert!(!is_cut_in_repetition(text), "{text}");
        }
        assert!(!is_repeated(&zeros));
    }

    proptest! {
        #[test]
        fn periods_are_those_that_are_looked_up(text in "[ab]{0,24}") {
            let text: Vec<char> = text.chars().collect();
            let expected = (1..=text.len()).map(|length| {
                (1..=length).find(|&period| (period..length).all(|at| text[at] == text[at - period]))
            });
            prop_assert!(periods(&text).map(Some).eq(expected));
        }
    }
}
