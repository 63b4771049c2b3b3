//! Readings above words (`<ruby>`), which follow the words in parentheses.

#[derive(Default)]
pub(super) struct Ruby {
    part: Part,
    readings: String,
}

#[derive(Default)]
enum Part {
    #[default]
    Words,
    Reading,
    /// What only a browser shows that knows no readings.
    Fallback,
}

impl Ruby {
    /// A part of this name starts.
    pub(super) fn start(&mut self, name: &[u8]) {
        self.part = match name {
            b"rt" => Part::Reading,
            b"rp" => Part::Fallback,
            _ => Part::Words,
        };
    }

    /// The words go on.
    pub(super) fn end_part(&mut self) {
        self.part = Part::Words;
    }

    /// Takes a text that belongs to no words; false if it does.
    pub(super) fn takes(&mut self, text: &str) -> bool {
        if matches!(self.part, Part::Reading) {
            self.readings.push_str(text.trim());
        }
        !matches!(self.part, Part::Words)
    }

    /// The readings, if there are any.
    pub(super) fn finish(self) -> Option<String> {
        (!self.readings.is_empty()).then(|| format!("({})", self.readings))
    }
}
