//! Server-sent events, of which endpoints use the lines that begin with `data:` alone. A line without
//! an end is not gathered for ever.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use super::bounds::LINE_BYTES;

/// The events of a stream.
pub(super) struct Events<R> {
    lines: BufReader<R>,
    line: Vec<u8>,
}

/// Why there is no next event.
#[derive(Debug)]
pub(super) enum Broken {
    /// The stream could not be read on.
    Io(io::Error),
    /// A line is longer than [`LINE_BYTES`].
    LongLine,
}

impl<R: Read> Events<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            lines: BufReader::new(stream),
            line: Vec::new(),
        }
    }

    /// The data of the next event; `None` at the end, and empty for a line that holds none, so that
    /// whoever waits can look whether to stop.
    pub(super) fn next(&mut self) -> Result<Option<Cow<'_, str>>, Broken> {
        self.line.clear();
        let most = LINE_BYTES as u64 + 1;
        let mut line = self.lines.by_ref().take(most);
        let read = line.read_until(b'\n', &mut self.line);
        match read.map_err(Broken::Io)? {
            0 => return Ok(None),
            length if length as u64 == most => return Err(Broken::LongLine),
            _ => {}
        }
        let text = self.line.trim_ascii_end();
        let data = text.strip_prefix(b"data:").unwrap_or_default();
        Ok(Some(String::from_utf8_lossy(data.trim_ascii())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_lines_is_told_and_all_else_is_passed_over() {
        let mut events = Events::new(&b": hello\r\ndata: {\"a\": 1}\r\n\ndata:[DONE]\nid: 7"[..]);
        let mut told = Vec::new();
        while let Some(data) = events.next().unwrap() {
            told.push(data.into_owned());
        }
        assert_eq!(told, ["", "{\"a\": 1}", "", "[DONE]", ""]);
    }

    #[test]
    fn a_line_without_an_end_is_not_gathered() {
        let mut events = Events::new(io::repeat(b'x'));
        assert!(matches!(events.next(), Err(Broken::LongLine)));
        assert!(events.line.len() <= LINE_BYTES + 1);
    }
}
