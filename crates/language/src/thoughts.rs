//! Separating a model's thoughts from its answer, whether the text comes whole or in pieces. Models that think write
//! their thoughts before the answer, between marks of their own; some templates open the thoughts in the prompt, so that
//! only their end is marked.

/// How thoughts begin and end. Letter case does not matter.
const MARKS: [(&str, &str); 11] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis", "<|channel|>final<|message|>"),
    ("<|channel|>commentary", "<|channel|>final<|message|>"),
];

/// How thoughts without a first mark mostly begin. A text that begins so is held back until a closing mark or its end
/// shows what it is, so an answer that begins so is delayed but not lost.
const OPENINGS: [&str; 16] = [
    "okay",
    "ok,",
    "alright",
    "all right",
    "hmm",
    "well,",
    "so,",
    "let me",
    "let's",
    "the user",
    "we need",
    "i need",
    "first,",
    "嗯",
    "好的",
    "首先",
];

/// A closing mark after one of these is quoted, and ends nothing.
const QUOTES: [char; 3] = ['`', '"', '\''];

/// The position in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// At its start, before thoughts or the answer.
    #[default]
    Begins,
    /// In thoughts that end with this mark.
    Thinks(&'static str),
    /// In the answer, unless a closing mark shows that it was thoughts.
    Answers,
}

/// Takes text piece by piece and keeps the answer.
#[derive(Debug, Clone, Default)]
pub struct Thoughts {
    raw: String,
    state: State,
    /// The offset of the answer, as far as it is known.
    start: usize,
    /// The offset from which marks are searched for.
    searched: usize,
    /// The offset up to which the answer was given out.
    given: usize,
    /// Whether all text is held back until the end of the thoughts is known.
    holds: bool,
    /// Whether a text that begins like thoughts is held back.
    suspects: bool,
    has_thoughts: bool,
    is_unmarked: bool,
    ended: bool,
}

impl Thoughts {
    /// For a text after a prompt that may have opened the thoughts already.
    pub fn after(prompt: &str) -> Self {
        let prompt = prompt.trim_end();
        let opened = MARKS.iter().find(|(open, _)| {
            let tail = prompt.len().checked_sub(open.len());
            tail.is_some_and(|tail| starts_with(&prompt.as_bytes()[tail..], open))
        });
        match opened {
            Some((_, close)) => Self {
                state: State::Thinks(close),
                has_thoughts: true,
                ..Self::default()
            },
            None => Self::default(),
        }
    }

    /// For a text whose first mark may be missing: one that begins like thoughts is held back until these or the text
    /// end.
    pub fn suspected() -> Self {
        Self {
            suspects: true,
            ..Self::default()
        }
    }

    /// For a text that is held back until it is known to be the answer.
    pub fn held() -> Self {
        Self {
            holds: true,
            ..Self::default()
        }
    }

    /// Takes the next piece and returns the next part of the answer.
    pub fn take(&mut self, piece: &str) -> &str {
        self.raw.push_str(piece);
        self.go_on()
    }

    /// Ends the text, and returns the part of the answer that was held back.
    pub fn finish(&mut self) -> &str {
        self.ended = true;
        self.go_on()
    }

    /// The answer so far.
    pub fn answer(&self) -> &str {
        match self.state {
            State::Answers => self.raw.get(self.start..).unwrap_or_default(),
            State::Begins | State::Thinks(_) => "",
        }
    }

    /// Whether there were thoughts.
    pub fn has_thoughts(&self) -> bool {
        self.has_thoughts
    }

    /// Whether the thoughts began without a mark, so that they may have been given out as an answer.
    pub fn is_unmarked(&self) -> bool {
        self.is_unmarked
    }

    fn go_on(&mut self) -> &str {
        loop {
            match self.state {
                State::Begins => {
                    let rest = self.raw[self.start..].trim_start();
                    let opened = MARKS
                        .iter()
                        .find(|(open, _)| starts_with(rest.as_bytes(), open));
                    if let Some((open, close)) = opened {
                        self.searched = self.raw.len() - rest.len() + open.len();
                        self.state = State::Thinks(close);
                        self.has_thoughts = true;
                        continue;
                    }
                    let openings = OPENINGS
                        .iter()
                        .filter(|_| self.suspects && !self.has_thoughts);
                    let mut begins = MARKS.iter().map(|(open, _)| open).chain(openings.clone());
                    if !self.ended && begins.any(|text| is_begun(rest.as_bytes(), text)) {
                        return "";
                    }
                    self.holds |= openings
                        .clone()
                        .any(|text| starts_with(rest.as_bytes(), text));
                    self.state = State::Answers;
                    (self.given, self.searched) = (self.start, self.start);
                }
                State::Thinks(close) => {
                    let Some(at) = find(&self.raw, close, self.searched) else {
                        self.searched = self.raw.len() - begun(&self.raw, self.searched, &[close]);
                        return "";
                    };
                    self.start = at + close.len();
                    self.state = State::Begins;
                }
                State::Answers => {
                    let closing = MARKS.iter().filter_map(|(_, close)| {
                        Some((unquoted(&self.raw, close, self.searched)?, *close))
                    });
                    if let Some((at, close)) = closing.min() {
                        self.start = at + close.len();
                        self.state = State::Begins;
                        (self.has_thoughts, self.is_unmarked) = (true, true);
                        continue;
                    }
                    let closes = MARKS.map(|(_, close)| close);
                    let open = match self.ended {
                        true => 0,
                        false => begun(&self.raw, self.searched, &closes),
                    };
                    self.searched = self.raw.len() - open;
                    if self.holds && !self.ended && !self.has_thoughts {
                        return "";
                    }
                    let from = std::mem::replace(&mut self.given, self.searched);
                    return &self.raw[from..self.searched];
                }
            }
        }
    }
}

fn starts_with(text: &[u8], mark: &str) -> bool {
    let head = text.get(..mark.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(mark.as_bytes()))
}

/// Whether a text is the beginning of a mark.
fn is_begun(text: &[u8], mark: &str) -> bool {
    let head = mark.as_bytes().get(..text.len());
    text.len() < mark.len() && head.is_some_and(|head| head.eq_ignore_ascii_case(text))
}

/// The offset of a mark, from `from` on.
fn find(text: &str, mark: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(from..)?;
    let mut places = bytes.windows(mark.len());
    let distance = places.position(|place| place.eq_ignore_ascii_case(mark.as_bytes()))?;
    Some(from + distance)
}

/// The offset of a mark that is not quoted, from `from` on.
fn unquoted(text: &str, mark: &str, mut from: usize) -> Option<usize> {
    loop {
        let start = find(text, mark, from)?;
        if !text[..start].ends_with(QUOTES) {
            return Some(start);
        }
        from = start + mark.len();
    }
}

/// How many bytes at the end of a text, from `from` on, are the beginning of a mark.
fn begun(text: &str, from: usize, marks: &[&str]) -> usize {
    let longest = marks
        .iter()
        .map(|mark| mark.len())
        .max()
        .unwrap_or_default();
    let first = from.max(text.len().saturating_sub(longest));
    let mut starts = (first..text.len()).filter(|&start| text.is_char_boundary(start));
    let open = starts.find(|&start| {
        let end = &text.as_bytes()[start..];
        marks.iter().any(|mark| is_begun(end, mark))
    });
    open.map_or(0, |start| text.len() - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output for pieces of so many characters, and the answer.
    fn read(mut thoughts: Thoughts, text: &str, size: usize) -> (String, String) {
        let characters: Vec<char> = text.chars().collect();
        let mut given = String::new();
        for piece in characters.chunks(size) {
            given.push_str(thoughts.take(&piece.iter().collect::<String>()));
        }
        given.push_str(thoughts.finish());
        (given, thoughts.answer().to_owned())
    }

    /// Texts, and the answer in each.
    const TEXTS: [(&str, &str); 20] = [
        ("At berth 14.", "At berth 14."),
        (
            "<think>\nA boat.\n</think>\n\nAt berth 14.",
            "\n\nAt berth 14.",
        ),
        (" \n<THINK>a</Think>b", "b"),
        ("<thinking>a < b </thinking>b", "b"),
        ("[THINK]a[/THINK]b", "b"),
        ("◁think▷a◁/think▷b", "b"),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
            "b",
        ),
        ("<|channel|>final<|message|>b", "b"),
        ("<think>a</think><think>b</think>c", "c"),
        // Thoughts alone, and thoughts that never end.
        ("<think>a</think>", ""),
        ("<think>a\nb\nc", ""),
        ("<think>", ""),
        // Texts that only begin like a mark.
        ("<thin air", "<thin air"),
        ("<", "<"),
        ("a <think> tag", "a <think> tag"),
        ("5 </ 6", "5 </ 6"),
        // A quoted closing mark, and one that ends thoughts.
        ("Close it with `</think>`.", "Close it with `</think>`."),
        (
            "Okay, a boat.\n</think>\n\nAt berth 14.",
            "\n\nAt berth 14.",
        ),
        ("The user asks.</think>b", "b"),
        ("", ""),
    ];

    #[test]
    fn what_is_thought_is_no_answer_in_pieces_of_any_size() {
        for (text, answer) in TEXTS {
            for size in [1, 2, 3, 5, 8, 1000] {
                let whole = read(Thoughts::held(), text, size);
                assert_eq!(
                    whole,
                    (answer.to_owned(), answer.to_owned()),
                    "{text:?} by {size}"
                );
                let streamed = read(Thoughts::suspected(), text, size);
                assert_eq!(streamed, whole, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn an_answer_is_given_out_as_it_comes() {
        let mut thoughts = Thoughts::suspected();
        assert_eq!(thoughts.take("At"), "At");
        assert_eq!(thoughts.take(" berth <"), " berth ");
        assert_eq!(thoughts.take(" 14"), "< 14");
        assert!(!thoughts.has_thoughts());
        // A text that begins like thoughts is held back to its end.
        let mut thoughts = Thoughts::suspected();
        assert_eq!(thoughts.take("Okay, at berth 14."), "");
        assert_eq!(thoughts.finish(), "Okay, at berth 14.");
        let mut thoughts = Thoughts::default();
        assert_eq!(thoughts.take("Okay, at"), "Okay, at");
    }

    #[test]
    fn thoughts_without_a_first_mark_are_taken_back() {
        let mut thoughts = Thoughts::default();
        assert_eq!(thoughts.take("A boat. </th"), "A boat. ");
        assert_eq!(thoughts.take("ink>At 14"), "At 14");
        assert_eq!(thoughts.answer(), "At 14");
        assert!(thoughts.is_unmarked());
    }

    #[test]
    fn a_prompt_may_have_opened_the_thoughts() {
        for (prompt, answer) in [
            ("…<think>\n", "b"),
            ("…<think>\n\n</think>\n\n", "b"),
            ("…", "b"),
        ] {
            let text = "a</think>b";
            assert_eq!(read(Thoughts::after(prompt), text, 2).1, answer);
        }
        assert_eq!(
            read(Thoughts::after("<think>"), "a\nb", 1),
            (String::new(), String::new())
        );
        assert!(Thoughts::after("<think>").has_thoughts());
    }
}
