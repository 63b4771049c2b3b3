//! Server-sent events, of which endpoints use only the lines that begin with `data:`. The length of a line is
//! bounded.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use super::limits::MAX_LINE_BYTES;

/// The events of a stream.
pub(super) struct EventStream<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

/// Why there is no next event.
#[derive(Debug)]
pub(super) enum EventError {
    /// Reading the stream failed.
    Io(io::Error),
    /// A line is longer than [`MAX_LINE_BYTES`].
    LongLine,
}

impl<R: Read> EventStream<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            reader: BufReader::new(stream),
            line: Vec::new(),
        }
    }

    /// The data of the next event; `None` at the end, and empty for a line without data, so that the caller can check
    /// for cancellation.
    pub(super) fn next(&mut self) -> Result<Option<Cow<'_, str>>, EventError> {
        self.line.clear();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let mut line = self.reader.by_ref().take(limit);
        let read = line.read_until(b'\n', &mut self.line);
        match read.map_err(EventError::Io)? {
            0 => return Ok(None),
            length if length as u64 == limit => return Err(EventError::LongLine),
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
    fn only_data_lines_have_data() {
        let bytes = &b": hello\r\ndata: {\"a\": 1}\r\n\ndata:[DONE]\nid: 7"[..];
        let mut events = EventStream::new(bytes);
        let mut read = Vec::new();
        while let Some(data) = events.next().unwrap() {
            read.push(data.into_owned());
        }
        assert_eq!(read, ["", "{\"a\": 1}", "", "[DONE]", ""]);
    }

    #[test]
    fn a_line_without_an_end_is_not_buffered() {
        let mut events = EventStream::new(io::repeat(b'x'));
        assert!(matches!(events.next(), Err(EventError::LongLine)));
        assert!(events.line.len() <= MAX_LINE_BYTES + 1);
    }
}
