//! From positioned characters to words, lines and paragraphs.
//!
//! The order is that of drawing, which is the reading order in nearly all files.

/// A gap of this share of the font size is a space.
const SPACE: f32 = 0.2;
/// A step of this share of the font size, up, down or back, is a new line.
const LINE: f32 = 0.5;
/// A step down of this share of the font size is a new paragraph.
const PARAGRAPH: f32 = 1.75;

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
    text: String,
    /// Where the last character ended.
    last: Option<Pen>,
}

impl Layout {
    /// Writes the characters of one code, from `from` to `to`.
    pub(super) fn write(&mut self, characters: &str, from: Pen, to: Pen) {
        if let Some(last) = self.last {
            self.separate(last, from);
        }
        for character in characters.chars() {
            match character {
                character if character.is_whitespace() => self.space(),
                // Soft hyphens mark where a word may be divided.
                '\u{ad}' | '\u{fffd}' | '\0'..='\u{1f}' => {}
                character => push_ligature(&mut self.text, character),
            }
        }
        self.last = Some(to);
    }

    fn separate(&mut self, last: Pen, next: Pen) {
        let (x, y) = (next.x - last.x, next.y - last.y);
        let (right, up) = last.direction;
        let along = x * right + y * up;
        let down = x * up - y * right;
        let size = last.size.max(next.size);
        if down.abs() > LINE * size || along < -2.0 * size {
            self.end_line(down > PARAGRAPH * size);
        } else if along > SPACE * size {
            self.space();
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    fn end_line(&mut self, paragraph: bool) {
        let written = self.text.trim_end_matches(' ').len();
        self.text.truncate(written);
        if self.text.is_empty() {
            return;
        }
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        if paragraph && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// The text, with words that are hyphenated at the end of a line joined.
    pub(super) fn finish(self) -> String {
        let text = self.text.trim();
        let mut joined = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("-\n") {
            let (before, after) = (&rest[..at], &rest[at + 2..]);
            let divided = before.chars().next_back().is_some_and(char::is_lowercase)
                && after.chars().next().is_some_and(char::is_lowercase);
            joined.push_str(before);
            if !divided {
                joined.push_str("-\n");
            }
            rest = after;
        }
        joined.push_str(rest);
        joined
    }
}

/// Writes the letters of a ligature one by one, so that words with it are found.
fn push_ligature(text: &mut String, character: char) {
    match character {
        'ﬀ' => text.push_str("ff"),
        'ﬁ' => text.push_str("fi"),
        'ﬂ' => text.push_str("fl"),
        'ﬃ' => text.push_str("ffi"),
        'ﬄ' => text.push_str("ffl"),
        'ﬅ' | 'ﬆ' => text.push_str("st"),
        character => text.push(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pen(x: f32, y: f32) -> Pen {
        Pen {
            x,
            y,
            direction: (1.0, 0.0),
            size: 10.0,
        }
    }

    #[test]
    fn gaps_become_spaces_lines_and_paragraphs() {
        let mut layout = Layout::default();
        for (characters, from, to) in [
            ("ﬁ", pen(0.0, 100.0), pen(5.0, 100.0)),
            ("ne", pen(5.1, 100.0), pen(15.0, 100.0)),
            ("or", pen(18.0, 100.5), pen(30.0, 100.5)),
            ("x", pen(31.0, 103.0), pen(33.0, 103.0)),
            ("  ex-", pen(0.0, 88.0), pen(20.0, 88.0)),
            ("am", pen(0.0, 76.0), pen(10.0, 76.0)),
            ("A-", pen(0.0, 50.0), pen(10.0, 50.0)),
            ("B ", pen(0.0, 38.0), pen(10.0, 38.0)),
        ] {
            layout.write(characters, from, to);
        }
        assert_eq!(layout.finish(), "fine orx\nexam\n\nA-\nB");
    }

    #[test]
    fn writing_may_run_upwards() {
        let mut layout = Layout::default();
        let up = |x: f32, y: f32| Pen {
            direction: (0.0, 1.0),
            ..pen(x, y)
        };
        layout.write("a", up(0.0, 0.0), up(0.0, 5.0));
        layout.write("b", up(0.0, 5.0), up(0.0, 10.0));
        layout.write("c", up(12.0, 0.0), up(12.0, 5.0));
        assert_eq!(layout.finish(), "ab\nc");
    }
}
