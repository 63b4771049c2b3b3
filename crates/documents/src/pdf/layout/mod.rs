//! From positioned characters to words, lines and paragraphs.
//!
//! Characters that follow each other on a line form runs. Once a page is drawn, its runs are
//! ordered by their places: lines from top to bottom, columns from left to right. Text in another
//! direction, such as that beside a figure, follows as a block.

mod division;
mod edge;
mod initial;
mod line;
mod order;
mod run;

use std::collections::HashSet;

use self::division::HYPHENS;
pub(super) use self::division::joined;
pub(super) use self::edge::Edge;
use self::edge::{Written, edges};
use self::line::{Line, heading, written};
use self::run::{Run, Runs};

/// A step down of this share of the font size is a new paragraph.
const PARAGRAPH: f32 = 1.75;
/// A step down of less than this multiple of the step before counts as equal.
const SAME_STEP: f32 = 1.1;
/// The most runs, or bytes of text, that wait to be ordered; a page has a few thousand.
const MOST_RUNS: usize = 100_000;
const MOST_BYTES: usize = 4 << 20;

/// A position on the page, and the direction of writing there, of length 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pen {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) direction: (f32, f32),
    /// The font size.
    pub(super) size: f32,
}

/// The text of a page so far.
#[derive(Default)]
pub(super) struct Layout {
    runs: Runs,
    /// The text that is already ordered, on pages with very many runs.
    text: String,
    /// The lines at the edges of the page, of those written upright.
    edges: Vec<Edge>,
}

impl Layout {
    /// Writes the characters of one code, from `from` to `to`; none for a code without a meaning.
    pub(super) fn write(&mut self, characters: &str, from: Pen, to: Pen) {
        self.runs.write(characters, from, to);
        if self.runs.len() > MOST_RUNS || self.runs.bytes() > MOST_BYTES {
            self.order();
        }
    }

    /// Orders the runs written since the last call.
    fn order(&mut self) {
        let runs = std::mem::take(&mut self.runs).finish();
        let mut directions = Vec::new();
        let mut seen = HashSet::new();
        for run in &runs {
            if seen.insert(run.angle) {
                directions.push(run.angle);
            }
        }
        let mut groups: Vec<Vec<Run>> = directions.iter().map(|_| Vec::new()).collect();
        for run in runs {
            if let Some(at) = directions.iter().position(|&angle| angle == run.angle) {
                groups[at].push(run);
            }
        }
        for (angle, mut group) in directions.into_iter().zip(groups) {
            initial::join(&mut group);
            let lines = order::lines(&group);
            if !self.text.is_empty() && !lines.is_empty() {
                self.text.push_str("\n\n");
            }
            let written = write_paragraphs(&lines, &mut self.text);
            if angle == 0 {
                self.edges = edges(&written);
            }
        }
    }

    /// The text, and its lines at the edges of the page.
    pub(super) fn finish(mut self) -> (String, Vec<Edge>) {
        self.order();
        (self.text, self.edges)
    }
}

/// Writes the lines, with an empty one between paragraphs; returns where each is in the text.
fn write_paragraphs<'l, 'r>(lines: &'l [Line<'r>], text: &mut String) -> Vec<Written<'l, 'r>> {
    let mut places = Vec::new();
    let mut last: Option<&Line<'_>> = None;
    let mut last_step = 0.0;
    let plain: Vec<String> = lines.iter().map(written).collect();
    let text_of = |index: Option<usize>| plain.get(index?).map(String::as_str);
    for (index, (line, plain)) in lines.iter().zip(&plain).enumerate() {
        let beside = [index.checked_sub(1), Some(index + 1)].map(text_of);
        let heading = heading(line, plain, beside);
        let characters = heading.as_deref().unwrap_or(plain).trim();
        if characters.is_empty() {
            continue;
        }
        if let Some(last) = last {
            let step = line.place - last.place;
            // In widely spaced text, too, a word may be divided at the end of a line.
            let is_divided = text.ends_with(HYPHENS) && step < SAME_STEP * last_step;
            let is_paragraph = step > PARAGRAPH * last.size.max(line.size) && !is_divided;
            text.push_str(if is_paragraph { "\n\n" } else { "\n" });
            last_step = step;
        }
        let start = text.len();
        text.push_str(characters);
        places.push((line, start..text.len()));
        last = Some(line);
    }
    places
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;

    impl Layout {
        fn text(self) -> String {
            joined(&self.finish().0)
        }
    }

    fn pen(x: f32, y: f32) -> Pen {
        Pen {
            x,
            y,
            direction: (1.0, 0.0),
            size: 10.0,
        }
    }

    /// The text of strings at places, with letters of half the font size.
    fn laid_out(strings: &[(&str, f32, f32)]) -> String {
        let mut layout = Layout::default();
        for &(text, x, y) in strings {
            for (index, character) in text.chars().enumerate() {
                let x = x + 5.0 * index as f32;
                layout.write(&character.to_string(), pen(x, y), pen(x + 5.0, y));
            }
        }
        layout.text()
    }

    #[test]
    fn gaps_become_spaces_lines_and_paragraphs() {
        let mut layout = Layout::default();
        for (characters, from, to) in [
            ("ﬁ", pen(0.0, 100.0), pen(5.0, 100.0)),
            ("ne", pen(5.1, 100.0), pen(15.0, 100.0)),
            ("or", pen(16.3, 100.5), pen(30.0, 100.5)),
            ("x", pen(30.5, 103.0), pen(33.0, 103.0)),
            ("  ex-", pen(0.0, 88.0), pen(20.0, 88.0)),
            ("am", pen(0.0, 76.0), pen(10.0, 76.0)),
            ("A-", pen(0.0, 50.0), pen(10.0, 50.0)),
            ("B ", pen(0.0, 38.0), pen(10.0, 38.0)),
        ] {
            layout.write(characters, from, to);
        }
        assert_eq!(layout.text(), "fine orx\nexam\n\nA-\nB");
    }

    #[test]
    fn writing_may_run_upwards() {
        let mut layout = Layout::default();
        let up = |x: f32, y: f32| with!(pen(x, y), direction: (0.0, 1.0));
        layout.write("a", up(0.0, 0.0), up(0.0, 5.0));
        layout.write("b", up(0.0, 5.0), up(0.0, 10.0));
        layout.write("c", up(12.0, 0.0), up(12.0, 5.0));
        assert_eq!(layout.text(), "ab\nc");
    }

    #[test]
    fn halves_of_a_word_on_lines_that_stand_apart_are_joined() {
        let lines = [
            ("in his shop with the words, Work-", 0.0, 80.0),
            ("ers of the world and the rela-", 0.0, 60.0),
            ("tion is", 0.0, 40.0),
            ("pre-", 0.0, 0.0),
            ("sent", 0.0, -80.0),
        ];
        let text = "in his shop with the words, Work-\n\ners of the world and the relation is\n\npre-\n\nsent";
        assert_eq!(laid_out(&lines), text);
    }

    #[test]
    fn accents_stand_over_their_letters() {
        let accented = |first: &str, second: &str, shift: f32| {
            let mut layout = Layout::default();
            layout.write("n", pen(0.0, 0.0), pen(5.0, 0.0));
            layout.write(first, pen(5.0, 0.0), pen(10.0, 0.0));
            layout.write(second, pen(5.0 + shift, 1.5), pen(10.0 + shift, 1.5));
            layout.write("e", pen(10.0, 0.0), pen(15.0, 0.0));
            layout.text()
        };
        assert_eq!(accented("¨", "ı", 0.5), "nïe");
        assert_eq!(accented("o", "´", 0.5), "nóe");
        assert_eq!(accented("\u{30b}", "o", -0.5), "nőe");
        assert_eq!(accented("x", "´", 0.5), "nx´e");
        assert_eq!(accented("o", "´", 5.0), "noé");
    }

    #[test]
    fn what_stands_in_a_gap_is_read_there() {
        let mut layout = Layout::default();
        for (characters, start, end) in [
            ("D", 0.0, 5.0),
            ("n", 12.0, 17.0),
            (" ", 17.0, 20.0),
            (" ", 20.0, 27.0),
            ("m", 27.0, 32.0),
            ("=", 6.5, 10.5),
            ("+", 20.0, 24.0),
        ] {
            layout.write(characters, pen(start, 0.0), pen(end, 0.0));
        }
        assert_eq!(layout.text(), "D = n + m");
    }

    #[test]
    fn letters_set_apart_are_a_word() {
        let mut layout = Layout::default();
        let mut x = 0.0;
        for character in "HEADING NUMBER".chars() {
            if character != ' ' {
                layout.write(&character.to_string(), pen(x, 0.0), pen(x + 5.0, 0.0));
                x += 8.0;
            } else {
                x += 5.0;
            }
        }
        assert_eq!(layout.text(), "HEADING NUMBER");
        assert_eq!(laid_out(&[("a", 0.0, 0.0), ("b", 8.0, 0.0)]), "a b");
        let wide: Vec<_> = ["P", "U", "M", "P", "S"].into_iter().zip(0..).collect();
        let wide: Vec<_> = wide
            .iter()
            .map(|&(letter, at)| (letter, 11.0 * at as f32, 0.0))
            .collect();
        assert_eq!(laid_out(&wide), "PUMPS");
        let read = |text| laid_out(&[(text, 0.0, 0.0)]);
        assert_eq!(read("C H A P T E R   S I X"), "CHAPTER SIX");
        assert_eq!(read("A B C D E F G"), "A B C D E F G");
        assert_eq!(read("x y a b d c e"), "x y a b d c e");
        let alphabet: Vec<_> = ["ä", "å", "æ", "è", "é", "ë"]
            .into_iter()
            .zip(0..)
            .collect();
        let apart: Vec<_> = alphabet
            .iter()
            .map(|&(letter, at)| (letter, 9.5 * at as f32, 0.0))
            .collect();
        assert_eq!(laid_out(&apart), "ä å æ è é ë");
    }

    #[test]
    fn letters_of_answers_and_tables_stay_apart() {
        let read = |text| laid_out(&[(text, 0.0, 0.0)]);
        for row in [
            "1 A 2 C 3 B 4 D 5 A 6 C",
            "A C B D A B",
            "T F F T F T T",
            "S M L X L S M",
            "N S E W N S",
            "O A B A B O",
        ] {
            assert_eq!(read(row), row);
        }
        // Letters with the gaps of words, and no spaces.
        let apart = |letters: &'static [&'static str], step: f32, y: f32| {
            let places = letters.iter().zip(0..);
            let places = places.map(move |(letter, at)| (*letter, step * at as f32, y));
            places.collect::<Vec<_>>()
        };
        for step in [8.0, 11.0, 20.0] {
            let answers = apart(&["A", "C", "B", "D", "A", "B"], step, 0.0);
            assert_eq!(laid_out(&answers), "A C B D A B", "{step}");
        }
        let small = apart(&["b", "d", "a", "c", "b"], 8.3, 0.0);
        assert_eq!(laid_out(&small), "b d a c b");
        // A row of letters under a row of numbers, and a heading over other lines.
        let rows = [("1 2 3 4 5 6", 0.0, 12.0), ("G A H I B O", 0.0, 0.0)];
        assert_eq!(laid_out(&rows), "1 2 3 4 5 6\nG A H I B O");
        let page = [("A B S T R A C T", 0.0, 12.0), ("A pump is", 0.0, 0.0)];
        assert_eq!(laid_out(&page), "ABSTRACT\nA pump is");
        let mut heading = apart(&["C", "H", "A", "P", "T", "E", "R"], 11.0, 0.0);
        heading.extend([("S", 90.0, 0.0), ("I", 101.0, 0.0), ("X", 112.0, 0.0)]);
        assert_eq!(laid_out(&heading), "CHAPTER SIX");
    }

    #[test]
    fn small_raised_numbers_do_not_join_the_number_before_them() {
        let mut layout = Layout::default();
        let small = |x, y| with!(pen(x, y), size: 7.0);
        for (characters, from, to) in [
            ("1", pen(0.0, 0.0), pen(5.0, 0.0)),
            ("0", pen(5.0, 0.0), pen(10.0, 0.0)),
            ("−", small(10.5, 3.5), small(14.0, 3.5)),
            ("1", small(14.0, 3.5), small(17.5, 3.5)),
            ("2", small(17.5, 3.5), small(21.0, 3.5)),
            ("m", pen(24.0, 0.0), pen(31.0, 0.0)),
            ("2", small(31.0, 3.5), small(34.5, 3.5)),
        ] {
            layout.write(characters, from, to);
        }
        assert_eq!(layout.text(), "10^−12 m2");
    }

    #[test]
    fn what_is_drawn_twice_for_bold_is_once() {
        let lines = [
            ("bold text", 0.0, 0.0),
            ("bold text", 0.4, 0.0),
            ("too too", 0.0, -12.0),
        ];
        assert_eq!(laid_out(&lines), "bold text\ntoo too");
        let mut layout = Layout::default();
        for (at, character) in "Test".chars().enumerate() {
            for shift in [0.0, 0.3, 0.0, 0.3] {
                let x = 5.0 * at as f32 + shift;
                layout.write(&character.to_string(), pen(x, 0.0), pen(x + 5.0, 0.0));
            }
        }
        assert_eq!(layout.text(), "Test");
    }

    #[test]
    fn right_to_left_text_is_in_its_logical_order() {
        let drawn = |text: &str| text.chars().rev().collect::<String>();
        // As it looks: numbers and Latin words from left to right, brackets open to the left.
        let looks = "123 (םלוע) םולש";
        assert_eq!(laid_out(&[(looks, 0.0, 0.0)]), "שלום (עולם) 123");
        let named = "קוחל )4()ב(15 ףיעס";
        assert_eq!(laid_out(&[(named, 0.0, 0.0)]), "סעיף 15(ב)(4) לחוק");
        let named = "123 )םלוע( םולש";
        assert_eq!(laid_out(&[(named, 0.0, 0.0)]), "שלום (עולם) 123");
        assert_eq!(laid_out(&[("םלוע abc םולש", 0.0, 0.0)]), "שלום abc עולם");
        assert_eq!(laid_out(&[("of the םולש.", 0.0, 0.0)]), "of the שלום.");
        assert_eq!(laid_out(&[(&drawn("مرحبا بكم"), 0.0, 0.0)]), "مرحبا بكم");
        // Drawn letter by letter from the right.
        let letters: Vec<_> = "שלום".chars().map(String::from).collect();
        let places = letters.iter().zip([15.0, 10.0, 5.0, 0.0]);
        let strings: Vec<_> = places.map(|(text, x)| (text.as_str(), x, 0.0)).collect();
        assert_eq!(laid_out(&strings), "שלום");
        // Forms that letters take within a word, and ligatures.
        assert_eq!(laid_out(&[("ﺎﺒﺣﺮﻣ", 0.0, 0.0)]), "مرحبا");
        assert_eq!(laid_out(&[("ﻼﻫ", 0.0, 0.0)]), "هلا");
    }

    #[test]
    fn pages_drawn_from_the_bottom_read_from_the_top() {
        let lines = [
            ("third", 0.0, 0.0),
            ("second", 0.0, 12.0),
            ("first", 0.0, 24.0),
        ];
        assert_eq!(laid_out(&lines), "first\nsecond\nthird");
    }

    #[test]
    fn lines_that_run_into_one_another_stay_lines() {
        let words = [
            ("HOW", 0.0, 0.0),
            ("MEDIA", 40.0, 0.0),
            ("LOCK", 100.0, 0.0),
            ("FREE", 4.0, -4.5),
            ("CULTURE", 42.0, -4.5),
            ("LAW", 101.0, -4.5),
        ];
        assert_eq!(laid_out(&words), "HOW MEDIA LOCK\nFREE CULTURE LAW");
        assert_eq!(laid_out(&[("x", 0.0, 0.0), ("2", 5.0, 4.5)]), "x2");
    }

    const LEFT: [&str; 4] = [
        "The lamp of buoy four is",
        "lit before dusk and is put",
        "out after dawn, unless the",
        "keeper is away on a trip.",
    ];
    const RIGHT: [&str; 4] = [
        "Boats keep to the west of",
        "the buoy at low water and",
        "to the east of it at high",
        "water, as the chart says.",
    ];

    fn flowing() -> String {
        [LEFT.join("\n"), RIGHT.join("\n")].join("\n")
    }

    #[test]
    fn columns_are_read_one_after_the_other() {
        let row = |at: usize| -12.0 * at as f32;
        let mut by_rows = vec![("A heading over both of the columns of this page", 0.0, 12.0)];
        for at in 0..4 {
            by_rows.push((LEFT[at], 0.0, row(at)));
            by_rows.push((RIGHT[at], 150.0, row(at)));
        }
        let heading = by_rows[0].0;
        assert_eq!(laid_out(&by_rows), format!("{heading}\n{}", flowing()));
        // Lines at other heights than those beside them.
        let shifted: Vec<_> = by_rows
            .iter()
            .map(|&(text, x, y)| (text, x, if x > 0.0 { y - 4.0 } else { y }))
            .collect();
        assert_eq!(laid_out(&shifted), format!("{heading}\n{}", flowing()));
    }

    #[test]
    fn numbers_of_lines_stand_apart() {
        let text = [
            "The lamp of the buoy is lit at dusk, if the keep-",
            "er is there. It stands at the mouth of the river,",
            "where the water is two fathoms deep at the lowest",
            "tides of the year, and boats of the harbour pass",
            "on its western side, as they have done since then.",
        ];
        let numbers = ["1", "2", "3", "4", "5"];
        let mut lines = Vec::new();
        for (at, (text, number)) in text.iter().zip(numbers).enumerate() {
            lines.push((*text, 0.0, -12.0 * at as f32));
            lines.push((number, 300.0, -12.0 * at as f32));
        }
        let expected = text.join("\n").replace("keep-\n", "keep");
        assert_eq!(laid_out(&lines), format!("{expected}\n1\n2\n3\n4\n5"));
    }

    #[test]
    fn text_beside_a_table_is_read_by_itself() {
        let long = |text: &str| format!("{text} and so on to the end of the line");
        let row = |at: usize| -12.0 * at as f32;
        let (left, right): (Vec<_>, Vec<_>) = (0..5)
            .map(|at| (long(&format!("left {at}")), long(&format!("right {at}"))))
            .unzip();
        let mut strings = Vec::new();
        for at in 0..5 {
            strings.push((left[at].as_str(), 0.0, row(at)));
            strings.push((right[at].as_str(), 230.0, row(at)));
            strings.push(("year", 460.0, row(at)));
            strings.push(("bar", 500.0, row(at)));
        }
        let expected = [
            left.join("\n"),
            right.join("\n"),
            ["year bar"; 5].join("\n"),
        ];
        assert_eq!(laid_out(&strings), expected.join("\n"));
    }

    #[test]
    fn tables_are_read_by_rows() {
        let cells = [
            ["pump", "bar", "year"],
            ["four", "9", "1971"],
            ["seven", "12", "1980"],
        ];
        let mut by_columns = Vec::new();
        for column in 0..3 {
            for (row, cells) in cells.iter().enumerate() {
                by_columns.push((cells[column], 60.0 * column as f32, -12.0 * row as f32));
            }
        }
        assert_eq!(
            laid_out(&by_columns),
            "pump bar year\nfour 9 1971\nseven 12 1980"
        );
    }

    #[test]
    fn cells_of_several_lines_stay_together_as_they_are_drawn() {
        let strings = [
            ("pump", 0.0, 0.0),
            ("opens at", 60.0, 0.0),
            ("nine bar", 60.0, -12.0),
            ("valve", 0.0, -24.0),
            ("closes", 60.0, -24.0),
            ("never", 60.0, -36.0),
        ];
        assert_eq!(
            laid_out(&strings),
            "pump opens at\nnine bar\nvalve closes\nnever"
        );
    }

    #[test]
    fn superscripts_stay_on_their_line() {
        let strings = [
            ("area of 5 m", 0.0, 0.0),
            ("more", 70.0, 0.0),
            ("2", 55.0, 3.5),
        ];
        assert_eq!(laid_out(&strings), "area of 5 m2 more");
    }

    #[test]
    fn places_may_be_anything() {
        let mut layout = Layout::default();
        for place in [f32::NAN, f32::INFINITY, f32::MIN, f32::MAX, 0.0] {
            layout.write("x", pen(place, 0.0), pen(0.0, place));
            layout.write("y", pen(0.0, place), pen(place, place));
        }
        assert!(layout.text().contains('x'));
    }
}
