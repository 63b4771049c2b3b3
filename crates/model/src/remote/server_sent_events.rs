//! Server-sent events, of which endpoints use the data and the name `error`. The length of an event is bounded.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use serde::de::IgnoredAny;

use super::limits::MAX_LINE_BYTES;

/// The events of a stream.
pub(super) struct EventStream<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Of the event that is being read, or that was returned last.
    data: Vec<u8>,
    is_returned: bool,
    is_error: bool,
}

/// An event.
pub(super) struct StreamEvent<'a> {
    /// Empty for a line with which no event is complete, so that the caller can check for cancellation.
    pub(super) data: Cow<'a, str>,
    /// Whether its name says that the endpoint failed.
    pub(super) is_error: bool,
}

/// Why there is no next event.
#[derive(Debug)]
pub(super) enum EventError {
    /// Reading the stream failed.
    Io(io::Error),
    /// An event is longer than [`MAX_LINE_BYTES`].
    TooLong,
}

impl<R: Read> EventStream<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            reader: BufReader::new(stream),
            line: Vec::new(),
            data: Vec::new(),
            is_returned: false,
            is_error: false,
        }
    }

    /// Reads a line, and returns the event that is complete with it; `None` at the end. An empty line ends an event,
    /// and so does a line that holds all of one, since not every endpoint writes the empty one.
    pub(super) fn next(&mut self) -> Result<Option<StreamEvent<'_>>, EventError> {
        if std::mem::take(&mut self.is_returned) {
            self.data.clear();
        }
        let is_over = !self.read_line()?;
        if is_over && self.data.is_empty() {
            return Ok(None);
        }
        let line = self.line.trim_ascii_end();
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let mut is_complete = line.is_empty();
        if let Some(name) = line.strip_prefix(b"event:") {
            self.is_error = name.trim_ascii() == b"error";
        }
        if let Some(part) = line.strip_prefix(b"data:") {
            let part = part.trim_ascii();
            is_complete = self.data.is_empty() && is_whole(part);
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(part);
        }
        if self.data.len() > MAX_LINE_BYTES {
            return Err(EventError::TooLong);
        }
        let is_error = self.is_error;
        // The empty line behind an event belongs to it.
        self.is_error &= !line.is_empty();
        self.is_returned = is_complete;
        let data = if is_complete { &self.data[..] } else { &[] };
        let data = String::from_utf8_lossy(data);
        Ok(Some(StreamEvent { data, is_error }))
    }

    /// Reads the next line; returns whether there was one.
    fn read_line(&mut self) -> Result<bool, EventError> {
        self.line.clear();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let mut line = self.reader.by_ref().take(limit);
        let read = line.read_until(b'\n', &mut self.line);
        match read.map_err(EventError::Io)? {
            0 => Ok(false),
            length if length as u64 == limit => Err(EventError::TooLong),
            _ => Ok(true),
        }
    }
}

/// Whether a line of data is all of its event.
fn is_whole(data: &[u8]) -> bool {
    data == b"[DONE]" || serde_json::from_slice::<IgnoredAny>(data).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a stream: their data, and whether they are errors.
    fn read(bytes: &[u8]) -> Vec<(String, bool)> {
        let mut events = EventStream::new(bytes);
        let mut read = Vec::new();
        while let Some(event) = events.next().unwrap() {
            if !event.data.is_empty() {
                read.push((event.data.into_owned(), event.is_error));
            }
        }
        read
    }

    fn data(bytes: &[u8]) -> Vec<String> {
        read(bytes).into_iter().map(|(data, _)| data).collect()
    }

    #[test]
    fn only_data_lines_have_data() {
        let bytes = &b": hello\r\ndata: {\"a\": 1}\r\n\ndata:[DONE]\nid: 7"[..];
        assert_eq!(data(bytes), ["{\"a\": 1}", "[DONE]"]);
        assert_eq!(data(b"\xef\xbb\xbfdata: {}\n\n"), ["{}"]);
        assert_eq!(data(b"data: {}\ndata: [DONE]\n"), ["{}", "[DONE]"]);
    }

    #[test]
    fn the_lines_of_an_event_are_joined() {
        let lines = b"data: {\ndata:  \"a\": 1\ndata: }\n\ndata: {}\n\n";
        assert_eq!(data(lines), ["{\n\"a\": 1\n}", "{}"]);
        let lines = b"data: {\r\ndata: }\r\n\r\n";
        assert_eq!(data(lines), ["{\n}"]);
        // The end of a stream ends its last event.
        assert_eq!(data(b"data: {\ndata: }"), ["{\n}"]);
        assert_eq!(data(b"data: {oops\n\ndata: {}\n"), ["{oops", "{}"]);
    }

    #[test]
    fn an_event_may_be_an_error_by_its_name() {
        let events = b"event: message\ndata: {}\n\nevent: error\ndata: {}\n\ndata: [DONE]\n\n";
        let errors: Vec<bool> = read(events).into_iter().map(|(_, error)| error).collect();
        assert_eq!(errors, [false, true, false]);
    }

    #[test]
    fn an_event_without_an_end_is_not_buffered() {
        let mut events = EventStream::new(io::repeat(b'x'));
        assert!(matches!(events.next(), Err(EventError::TooLong)));
        assert!(events.line.len() <= MAX_LINE_BYTES + 1);
        let lines = b"data: x\n".repeat(MAX_LINE_BYTES);
        let mut events = EventStream::new(&lines[..]);
        let end = loop {
            match events.next() {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        assert!(matches!(end, Some(EventError::TooLong)));
    }
}
