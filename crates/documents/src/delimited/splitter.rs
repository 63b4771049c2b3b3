//! The fields of one record, byte by byte.
//!
//! A field is quoted if the quote that opens it has one that closes it before a separator or the end of a line.
//! A field that only begins with a quoted word, `"Nine bar" is a pressure`, is read as it stands.

use std::mem;

/// The state of a record so far.
pub(super) struct Splitter {
    delimiter: u8,
    most: usize,
    state: State,
    /// The bytes of the fields, without quotes.
    pub(super) fields: Vec<u8>,
    /// The end of each field.
    pub(super) ends: Vec<usize>,
    /// Whether fields are left out, because the record is too large.
    discards: bool,
    /// The start of the current field in `fields`.
    field: usize,
    /// The quoted field, verbatim.
    quoted: Vec<u8>,
    /// Whether lines break in the quoted field.
    breaks: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After a quote in a quoted field.
    Quote,
    /// After spaces after a quoted field.
    Closed,
}

/// The state of a record after some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It goes on.
    Open,
    /// It ended with the last byte.
    Ended,
    /// A quoted field of several lines goes on after its quote.
    Unbalanced,
}

impl Splitter {
    /// `most`: how many fields a record may have. One more is kept, to notice the excess.
    pub(super) fn new(delimiter: u8, most: usize) -> Self {
        Self {
            delimiter,
            most,
            state: State::Start,
            fields: Vec::new(),
            ends: Vec::new(),
            discards: false,
            field: 0,
            quoted: Vec::new(),
            breaks: false,
        }
    }

    /// A splitter that continues without keeping fields.
    pub(super) fn discard(&mut self) {
        self.discards = true;
        self.fields = Vec::new();
        self.ends = Vec::new();
        self.quoted = Vec::new();
        self.field = 0;
    }

    /// Takes the next bytes up to the end of the record, and returns their number.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, Step) {
        for (index, &byte) in bytes.iter().enumerate() {
            let step = self.byte(byte);
            if step != Step::Open {
                return (index + 1, step);
            }
        }
        (bytes.len(), Step::Open)
    }

    fn byte(&mut self, byte: u8) -> Step {
        let ends_line = matches!(byte, b'\n' | b'\r');
        let in_quotes = matches!(self.state, State::Quoted | State::Quote | State::Closed);
        if in_quotes && !self.discards {
            self.quoted.push(byte);
        }
        match self.state {
            State::Start if byte == b'"' => {
                self.state = State::Quoted;
                self.breaks = false;
                self.quoted.clear();
                self.keep_quoted(byte);
            }
            State::Start | State::Plain => {
                self.state = State::Plain;
                return self.plain(byte);
            }
            State::Quoted if byte == b'"' => self.state = State::Quote,
            State::Quoted => {
                self.breaks |= ends_line;
                self.keep(byte);
            }
            State::Quote if byte == b'"' => {
                self.state = State::Quoted;
                self.keep(byte);
            }
            State::Quote | State::Closed if byte == self.delimiter || ends_line => {
                return self.plain(byte);
            }
            State::Quote | State::Closed if byte == b' ' => self.state = State::Closed,
            State::Quote | State::Closed if self.breaks => return Step::Unbalanced,
            State::Quote | State::Closed => {
                self.state = State::Plain;
                let quoted = mem::take(&mut self.quoted);
                self.fields.truncate(self.field);
                self.fields.extend(quoted);
            }
        }
        Step::Open
    }

    fn plain(&mut self, byte: u8) -> Step {
        let ends_line = matches!(byte, b'\n' | b'\r');
        if byte == self.delimiter || ends_line {
            self.end_field();
        } else {
            self.keep(byte);
        }
        match ends_line {
            true => Step::Ended,
            false => Step::Open,
        }
    }

    fn keep(&mut self, byte: u8) {
        if !self.discards {
            self.fields.push(byte);
        }
    }

    fn keep_quoted(&mut self, byte: u8) {
        if !self.discards {
            self.quoted.push(byte);
        }
    }

    fn end_field(&mut self) {
        self.state = State::Start;
        if !self.discards && self.ends.len() <= self.most {
            self.ends.push(self.fields.len());
            self.field = self.fields.len();
        }
    }

    /// Whether a quote is open.
    pub(super) fn is_quoted(&self) -> bool {
        self.state == State::Quoted
    }

    /// The length of the quoted field in the file, in bytes.
    pub(super) fn quoted_length(&self) -> usize {
        self.quoted.len()
    }

    /// Treats the quoted field as one that only begins with a quote: forgets all of it but the quote.
    pub(super) fn unquote(&mut self) {
        self.state = State::Plain;
        self.fields.truncate(self.field);
        self.fields.push(b'"');
        self.quoted = Vec::new();
    }
}
