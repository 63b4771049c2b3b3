//! How a client compressed a body, and undoing that. What comes out is bounded as a body that is not compressed.

use std::io::Read;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use flate2::read::{MultiGzDecoder, ZlibDecoder};

use super::refusal::Refusal;

/// The logarithm of the largest window that a Zstandard decoder gets, in bytes: 8 MiB (RFC 9659).
const WINDOW_LOG: u32 = 23;

/// What a body is compressed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    Identity,
    Gzip,
    Deflate,
    Zstd,
}

impl ContentEncoding {
    /// Reads `Content-Encoding` (RFC 9110, 8.4).
    ///
    /// # Errors
    /// An unknown encoding, or several.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let mut all = headers.get_all(header::CONTENT_ENCODING).iter();
        let encoding = match (all.next(), all.next()) {
            (None, _) => Some(Self::Identity),
            (Some(name), None) => name.to_str().ok().and_then(Self::named),
            (Some(_), Some(_)) => None,
        };
        encoding.ok_or_else(|| {
            Self::refused("a body is sent as it is, or compressed by gzip, deflate or zstd")
        })
    }

    fn named(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Identity),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The refusal of a body because of its encoding.
    pub(crate) fn refused(message: &str) -> Refusal {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Refusal::new(status, "unsupported_encoding", message)
    }

    /// The bytes before they were compressed.
    ///
    /// # Errors
    /// Bytes that are not compressed so, or that become more than `most`.
    pub(crate) fn undo(self, bytes: Bytes, most: usize) -> Result<Bytes, Refusal> {
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let compressed: &[u8] = &bytes;
        let plain = match self {
            Self::Identity => return Ok(bytes),
            Self::Gzip => read(MultiGzDecoder::new(compressed), most),
            Self::Deflate => read(ZlibDecoder::new(compressed), most),
            Self::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(compressed);
                decoder.and_then(|mut decoder| {
                    decoder.window_log_max(WINDOW_LOG)?;
                    read(decoder, most)
                })
            }
        };
        let plain = plain.map_err(|_| {
            let message = "the body is not compressed as its Content-Encoding says, or was cut off";
            Refusal::bad("broken_encoding", message)
        })?;
        match plain.len() > most {
            true => Err(Refusal::too_large(most as u64)),
            false => Ok(plain.into()),
        }
    }
}

/// All bytes, or `most` and one more.
fn read(decoder: impl Read, most: usize) -> std::io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    let within = (most as u64).saturating_add(1);
    decoder.take(within).read_to_end(&mut plain)?;
    Ok(plain)
}
