//! Runs: characters that are drawn one after another on a line.

use std::collections::HashMap;

use unicode_bidi::{BidiClass, bidi_class};

use super::Pen;
use crate::raised::changes_number;

/// A step of this share of the font size, up or down, is another line.
const LINE: f32 = 0.5;
/// A run ends where the pen moves further than this share of the font size, forward or back: something
/// else may be in between.
const FORWARD: f32 = 0.6;
const BACK: f32 = 0.25;
/// A character drawn again within these shares of the font size, along and across, is bold.
const BOLD_ALONG: f32 = 0.1;
const BOLD_ACROSS: f32 = 0.2;
/// Gaps of less than this share of the font size are kerning.
const KERNING: f32 = 0.02;
/// Raised characters stand higher than those before them by this share of the font size, and are of at most
/// this share of it.
const RAISED: f32 = 0.2;
const RAISED_SIZE: f32 = 0.85;

/// Characters drawn one after another on a line.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) text: String,
    /// The gaps before characters, by their places in the text, in shares of the font size.
    pub(super) gaps: Vec<(usize, f32)>,
    /// The angle of the direction of writing, in degrees.
    pub(super) angle: i32,
    /// Its start and end along the direction of writing.
    pub(super) start: f32,
    pub(super) end: f32,
    /// Its position across that direction, growing downwards.
    pub(super) place: f32,
    pub(super) size: f32,
}

/// The runs of a page.
#[derive(Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    bytes: usize,
    /// The last code that was written.
    last: Option<Written>,
}

/// The text of a code, the start and end of its place, and whether it is raised.
struct Written {
    text: String,
    start: f32,
    end: f32,
    is_raised: bool,
}

impl Runs {
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The approximate number of bytes of the runs.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn write(&mut self, characters: &str, from: Pen, to: Pen) {
        let numbers = [from.x, from.y, to.x, to.y, from.size];
        if numbers.iter().any(|number| !number.is_finite()) {
            return self.write_nowhere(characters);
        }
        let angle = angle(from);
        let (start, place) = along(angle, from);
        let (end, _) = along(angle, to);
        let text = cleaned(characters);
        if let Some(run) = self.runs.last_mut()
            && run.angle == angle
        {
            let size = run.size.max(from.size);
            let gap = start - run.end;
            let is_on_line = (place - run.place).abs() <= LINE * size;
            let is_blank = !text.is_empty() && text.trim().is_empty();
            let is_again = self.last.as_ref().is_some_and(|last| {
                let least = BOLD_ALONG * size.min(2.0 * (end - start));
                last.text == text && (start - last.start).abs() < least
            });
            if is_on_line && is_again && !text.trim().is_empty() {
                return;
            }
            if is_on_line
                && let Some(last) = &mut self.last
                && let Some(accented) = last.accented(&text, (start, end))
            {
                run.text.truncate(run.text.len() - last.text.len());
                run.text.push_str(&accented);
                last.text = accented;
                last.start = last.start.min(start);
                last.end = last.end.max(end);
                run.start = run.start.min(start);
                run.end = run.end.max(end);
                return;
            }
            if is_on_line && gap <= FORWARD * size && gap >= -BACK * size {
                let is_raised =
                    from.size <= RAISED_SIZE * size && run.place - place > RAISED * size;
                let follows_raised = self.last.as_ref().is_some_and(|last| last.is_raised);
                if is_raised && !follows_raised && changes_number(&run.text, &text) {
                    run.text.push('^');
                } else if gap > KERNING * size && !run.text.ends_with(' ') {
                    run.gaps.push((run.text.len(), gap / size));
                    self.bytes += size_of::<(usize, f32)>();
                }
                run.text.push_str(&text);
                if !is_blank {
                    run.end = run.end.max(end);
                }
                run.size = size;
                self.bytes += text.len();
                self.last = Some(Written {
                    text,
                    start,
                    end,
                    is_raised,
                });
                return;
            }
        }
        if !text.trim().is_empty() {
            self.begin(text, angle, from, (start, end, place));
        }
    }

    /// Characters without a place follow those drawn before them.
    fn write_nowhere(&mut self, characters: &str) {
        if let Some(run) = self.runs.last_mut() {
            run.text.push_str(characters);
            self.bytes += characters.len();
            self.last = None;
        } else {
            let nowhere = Pen {
                x: 0.0,
                y: 0.0,
                direction: (1.0, 0.0),
                size: 1.0,
            };
            self.begin(cleaned(characters), 0, nowhere, (0.0, 0.0, 0.0));
        }
    }

    fn begin(&mut self, text: String, angle: i32, from: Pen, (start, end, place): (f32, f32, f32)) {
        self.bytes += text.len();
        self.last = Some(Written {
            text: text.clone(),
            start,
            end,
            is_raised: false,
        });
        self.runs.push(Run {
            text,
            gaps: Vec::new(),
            angle,
            start: start.min(end),
            end: start.max(end),
            place,
            size: from.size,
        });
    }

    /// All runs, without repetitions at the same place.
    pub(super) fn finish(self) -> Vec<Run> {
        let mut drawn: HashMap<(String, i32, i64, i64), (f32, f32)> = HashMap::new();
        let mut runs = self.runs;
        runs.retain(|run| {
            let cell = |number: f32| (number / run.size.max(0.001)) as i64;
            let (column, row) = (cell(run.start), cell(run.place));
            let mut key = (run.text.clone(), run.angle, column, row);
            for (beside, above) in CELLS {
                key.2 = column.saturating_add(beside);
                key.3 = row.saturating_add(above);
                if drawn.get(&key).is_some_and(|&(start, place)| {
                    (start - run.start).abs() < BOLD_ALONG * run.size
                        && (place - run.place).abs() < BOLD_ACROSS * run.size
                }) {
                    return false;
                }
            }
            (key.2, key.3) = (column, row);
            drawn.insert(key, (run.start, run.place));
            true
        });
        runs
    }
}

impl Written {
    /// The letter that this code and the next one form, if one is an accent over
    /// or under the other.
    fn accented(&self, next: &str, (start, end): (f32, f32)) -> Option<String> {
        let is_within = |(from, to): (f32, f32), (low, high): (f32, f32)| {
            let middle = f32::midpoint(from, to);
            low < middle && middle < high
        };
        let (own, others) = ((self.start, self.end), (start, end));
        if let Some(mark) = combining(&self.text) {
            return composed(next, mark).filter(|_| is_within(own, others));
        }
        let mark = combining(next)?;
        composed(&self.text, mark).filter(|_| is_within(others, own))
    }
}

/// The combining form of an accent.
fn combining(text: &str) -> Option<char> {
    let mut characters = text.chars();
    let (accent, None) = (characters.next()?, characters.next()) else {
        return None;
    };
    Some(match accent {
        '`' => '\u{300}',
        '´' => '\u{301}',
        'ˆ' | '^' => '\u{302}',
        '˜' | '~' => '\u{303}',
        '¯' => '\u{304}',
        '˘' => '\u{306}',
        '˙' => '\u{307}',
        '¨' => '\u{308}',
        '˚' => '\u{30a}',
        '˝' => '\u{30b}',
        'ˇ' => '\u{30c}',
        '¸' => '\u{327}',
        '˛' => '\u{328}',
        '\u{300}'..='\u{36f}' => accent,
        _ => return None,
    })
}

/// A letter with a mark, if there is a character for both.
fn composed(letter: &str, mark: char) -> Option<String> {
    let mut characters = letter.chars();
    let (letter, None) = (characters.next()?, characters.next()) else {
        return None;
    };
    let letter = match letter {
        'ı' => 'i',
        'ȷ' => 'j',
        letter => letter,
    };
    unicode_normalization::char::compose(letter, mark).map(String::from)
}

/// A cell of a grid and those around it.
const CELLS: [(i64, i64); 9] = [
    (0, 0),
    (-1, 0),
    (1, 0),
    (0, -1),
    (0, 1),
    (-1, -1),
    (-1, 1),
    (1, -1),
    (1, 1),
];

/// The angle of the direction of writing, in degrees.
fn angle(pen: Pen) -> i32 {
    let (x, y) = pen.direction;
    (y.atan2(x).to_degrees().round() as i32).rem_euclid(360)
}

/// A position along a direction of writing, and across it.
fn along(angle: i32, pen: Pen) -> (f32, f32) {
    let (up, right) = match angle {
        0 => (0.0, 1.0),
        angle => (angle as f32).to_radians().sin_cos(),
    };
    (pen.x * right + pen.y * up, pen.x * up - pen.y * right)
}

/// The characters of one code: ligatures as letters, without characters that draw
/// nothing. Those of a right-to-left script are reversed, as their lines are.
fn cleaned(characters: &str) -> String {
    let mut text = String::with_capacity(characters.len());
    for character in characters.chars() {
        match character {
            character if character.is_whitespace() => text.push(' '),
            '\u{fffd}' | '\0'..='\u{1f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => {}
            '\u{2066}'..='\u{2069}' | '\u{feff}' => {}
            '\u{fb00}'..='\u{fb06}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => {
                use unicode_normalization::UnicodeNormalization;
                text.extend(std::iter::once(character).nfkc());
            }
            character => text.push(character),
        }
    }
    let is_turned = |character| matches!(bidi_class(character), BidiClass::R | BidiClass::AL);
    if text.chars().nth(1).is_some() && text.chars().any(is_turned) {
        text = text.chars().rev().collect();
    }
    text
}
