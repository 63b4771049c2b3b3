//! Compressed input: told by a file's name or by its first bytes, and undone while it is read.

use std::fmt;
use std::io::{self, BufRead, BufReader};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

use crate::budget::Budget;

/// How much of a file is read at once, and unpacked at once.
pub(crate) const BUFFER_BYTES: usize = 64 * 1024;

/// How a file's bytes are packed.
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
    /// How many first bytes tell a compression.
    pub(crate) const TOLD_BY: usize = 4;

    const ALL: [Self; 3] = [Self::Gzip, Self::Zstd, Self::Bzip2];

    fn extension(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
            Self::Bzip2 => ".bz2",
        }
    }

    fn first_bytes(self) -> &'static [u8] {
        match self {
            Self::Gzip => b"\x1f\x8b",
            Self::Zstd => b"\x28\xb5\x2f\xfd",
            Self::Bzip2 => b"BZh",
        }
    }

    /// A file's name without the extension of its compression, and the compression. The case of
    /// the extension does not matter.
    pub(crate) fn split_name(name: &str) -> (&str, Option<Self>) {
        for compression in Self::ALL {
            let extension = compression.extension();
            let at = name.len().saturating_sub(extension.len());
            if let Some((stem, end)) = name.split_at_checked(at)
                && end.eq_ignore_ascii_case(extension)
            {
                return (stem, Some(compression));
            }
        }
        (name, None)
    }

    /// What data that begin like this are packed with.
    pub(crate) fn of(first_bytes: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|compression| first_bytes.starts_with(compression.first_bytes()))
    }

    /// The unpacked bytes of `packed`, over all its members one behind the other. Zstandard gets
    /// no larger window than the budget's; the others have small ones.
    pub(crate) fn unpack(
        self,
        packed: impl BufRead + Send + 'static,
        budget: Budget,
    ) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(match self {
            Self::Gzip => buffered(MultiGzDecoder::new(packed)),
            Self::Bzip2 => buffered(MultiBzDecoder::new(packed)),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
                decoder.window_log_max(budget.window_log())?;
                buffered(decoder)
            }
        })
    }
}

/// Whether the decoder of Zstandard refused a window. It says so by the name of its error only.
pub(crate) fn wants_larger_window(error: &io::Error) -> bool {
    error.raw_os_error().is_none() && error.to_string().contains("Frame requires too much memory")
}

fn buffered(reader: impl io::Read + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, reader))
}

impl fmt::Display for Compression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
        })
    }
}
