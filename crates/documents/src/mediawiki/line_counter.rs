//! A reader that counts lines.

use std::io::{self, BufRead, Read};

use crate::source::{Metered, line_breaks};

pub(super) struct LineCounted<R> {
    pub(super) inner: R,
    /// The line of the next byte, from 1.
    pub(super) line: u64,
}

impl<R> LineCounted<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, line: 1 }
    }
}

impl LineCounted<Metered> {
    /// Puts consumed `bytes`, which have no line break, back.
    pub(super) fn put_back(self, bytes: &'static [u8]) -> Self {
        Self {
            inner: self.inner.put_back(bytes),
            line: self.line,
        }
    }
}

impl<R: BufRead> Read for LineCounted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for LineCounted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // Consumed bytes were filled before, so that nothing is read here and nothing can fail.
        if let Ok(filled) = self.inner.fill_buf() {
            self.line += line_breaks(filled.get(..count).unwrap_or(filled));
        }
        self.inner.consume(count);
    }
}
