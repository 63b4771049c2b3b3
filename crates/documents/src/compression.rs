//! Compressed input, recognized by a file's name or by its first bytes, and decompressed as it is
//! read.

use std::fmt;
use std::io::{self, BufRead, BufReader};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

use crate::budget::Budget;

/// How many bytes are read, or decompressed, at a time.
pub(crate) const BUFFER_BYTES: usize = 64 * 1024;

/// How a file's bytes are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
    /// `.bz2`
    Bzip2,
}

impl Compression {
    /// The longest magic number, in bytes.
    pub(crate) const MAGIC_BYTES: usize = 4;

    const ALL: [Self; 3] = [Self::Gzip, Self::Zstd, Self::Bzip2];

    /// Name, extension and magic number.
    fn properties(self) -> (&'static str, &'static str, &'static [u8]) {
        match self {
            Self::Gzip => ("gzip", ".gz", b"\x1f\x8b"),
            Self::Zstd => ("zstd", ".zst", b"\x28\xb5\x2f\xfd"),
            Self::Bzip2 => ("bzip2", ".bz2", b"BZh"),
        }
    }

    /// A file's name without the extension of its compression, and the compression. The case of
    /// the extension does not matter.
    pub(crate) fn split_name(name: &str) -> (&str, Option<Self>) {
        for compression in Self::ALL {
            let (_, extension, _) = compression.properties();
            let length = name.len().saturating_sub(extension.len());
            if let Some((stem, end)) = name.split_at_checked(length)
                && end.eq_ignore_ascii_case(extension)
            {
                return (stem, Some(compression));
            }
        }
        (name, None)
    }

    /// The compression of data that start with these bytes.
    pub(crate) fn of(first_bytes: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|compression| first_bytes.starts_with(compression.properties().2))
    }

    /// The decompressed bytes of all members of `compressed`, concatenated. Zstandard gets no
    /// larger window than the budget's; the others have small ones.
    pub(crate) fn decompress(
        self,
        compressed: impl BufRead + Send + 'static,
        budget: Budget,
    ) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(match self {
            Self::Gzip => buffered(MultiGzDecoder::new(compressed)),
            Self::Bzip2 => buffered(MultiBzDecoder::new(compressed)),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(compressed)?;
                decoder.window_log_max(budget.window_log())?;
                buffered(decoder)
            }
        })
    }
}

/// Whether the Zstandard decoder refused a window. Only the text of its error says so.
pub(crate) fn wants_larger_window(error: &io::Error) -> bool {
    error.raw_os_error().is_none() && error.to_string().contains("Frame requires too much memory")
}

fn buffered(reader: impl io::Read + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, reader))
}

impl fmt::Display for Compression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.properties().0)
    }
}
