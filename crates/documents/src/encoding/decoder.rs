//! Decoding bytes to UTF-8, piece by piece.

use std::io::{self, BufRead, Read};

use super::{Encoding, Kind};

/// A decoder between two pieces.
pub(super) struct Decoder {
    inner: Inner,
    /// How many malformed sequences there were so far; each became U+FFFD.
    pub(super) malformed: u64,
}

enum Inner {
    Known(encoding_rs::Decoder),
    Utf32 { big_endian: bool, rest: Vec<u8> },
}

impl Decoder {
    pub(super) fn new(encoding: Encoding) -> Self {
        let inner = match encoding.0 {
            Kind::Known(encoding) => Inner::Known(encoding.new_decoder_without_bom_handling()),
            Kind::Utf32 { big_endian } => Inner::Utf32 {
                big_endian,
                rest: Vec::new(),
            },
        };
        Self {
            inner,
            malformed: 0,
        }
    }

    /// Decodes `bytes`, which follow those of the last call, and appends the text. `last`: no bytes follow them.
    pub(super) fn decode(&mut self, mut bytes: &[u8], last: bool, out: &mut String) {
        match &mut self.inner {
            Inner::Known(decoder) => loop {
                use encoding_rs::DecoderResult::{InputEmpty, Malformed, OutputFull};
                out.reserve(bytes.len().max(64));
                let (result, read) = decoder.decode_to_string_without_replacement(bytes, out, last);
                bytes = bytes.get(read..).unwrap_or_default();
                match result {
                    InputEmpty => break,
                    OutputFull => {}
                    Malformed(..) => {
                        self.malformed += 1;
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                }
            },
            Inner::Utf32 { big_endian, rest } => {
                rest.extend_from_slice(bytes);
                let (words, tail) = rest.as_chunks::<4>();
                for &word in words {
                    let number = match big_endian {
                        true => u32::from_be_bytes(word),
                        false => u32::from_le_bytes(word),
                    };
                    out.push(char::from_u32(number).unwrap_or_else(|| {
                        self.malformed += 1;
                        char::REPLACEMENT_CHARACTER
                    }));
                }
                let tail = tail.to_vec();
                if last && !tail.is_empty() {
                    self.malformed += 1;
                    out.push(char::REPLACEMENT_CHARACTER);
                }
                *rest = tail;
            }
        }
    }
}

/// A reader of UTF-8 over a reader of another encoding.
pub(crate) struct Transcoded<R> {
    inner: R,
    decoder: Decoder,
    decoded: String,
    /// How much of `decoded` was consumed.
    at: usize,
    ended: bool,
}

impl<R: BufRead> Transcoded<R> {
    pub(crate) fn new(inner: R, encoding: Encoding) -> Self {
        Self {
            inner,
            decoder: Decoder::new(encoding),
            decoded: String::new(),
            at: 0,
            ended: false,
        }
    }
}

impl<R: BufRead> Read for Transcoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Transcoded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at >= self.decoded.len() && !self.ended {
            self.decoded.clear();
            self.at = 0;
            let bytes = self.inner.fill_buf()?;
            self.ended = bytes.is_empty();
            let count = bytes.len();
            self.decoder.decode(bytes, self.ended, &mut self.decoded);
            self.inner.consume(count);
        }
        Ok(self.decoded.as_bytes().get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}
