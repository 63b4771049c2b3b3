//! Reading GGUF: header, metadata, and tensors out of a memory map. Knows nothing of the graph.

use std::fs::File;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use candle_core::Device;
use candle_core::quantized::{QTensor, gguf_file};
use memmap2::Mmap;

use super::config::gguf_number;
use super::error::DecoderError;

/// An open GGUF file.
pub(super) struct GgufFile {
    path: PathBuf,
    map: Mmap,
    content: gguf_file::Content,
}

impl GgufFile {
    /// Opens the file and checks that every tensor lies within it.
    ///
    /// # Errors
    /// An unreadable, broken or truncated file, or a tensor type that is not supported.
    pub(super) fn open(path: &Path) -> Result<Self, DecoderError> {
        let file = File::open(path).map_err(|source| DecoderError::io(path, source))?;
        // SAFETY: the map is only read. Model files are written once, under another name, and
        // renamed into place, so a process of ours never changes one that is mapped.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) }.map_err(|source| DecoderError::io(path, source))?;
        let head = &map[..map.len().min(LONGEST_HEAD)];
        if alignment_is_zero(head) {
            return Err(DecoderError::Corrupt {
                path: path.to_path_buf(),
                format: "GGUF",
                reason: format!("`{ALIGNMENT_KEY}` is zero"),
            });
        }
        let content = gguf_file::Content::read(&mut Cursor::new(head)).map_err(|e| {
            let reason = first_line(&e);
            if reason.contains("unknown dtype") {
                DecoderError::UnknownQuantization {
                    path: path.to_path_buf(),
                    reason,
                }
            } else {
                DecoderError::Corrupt {
                    path: path.to_path_buf(),
                    format: "GGUF",
                    reason,
                }
            }
        })?;
        let mut expected = 0;
        for info in content.tensor_infos.values() {
            let elements = info
                .shape
                .dims()
                .iter()
                .try_fold(1u64, |n, &d| n.checked_mul(d as u64));
            let end = elements
                .map(|n| n.div_ceil(info.ggml_dtype.block_size() as u64))
                .and_then(|blocks| blocks.checked_mul(info.ggml_dtype.type_size() as u64))
                .and_then(|bytes| bytes.checked_add(info.offset))
                .and_then(|end| end.checked_add(content.tensor_data_offset))
                .unwrap_or(u64::MAX);
            expected = expected.max(end);
        }
        if expected > map.len() as u64 {
            return Err(DecoderError::Truncated {
                path: path.to_path_buf(),
                expected,
                received: map.len() as u64,
            });
        }
        Ok(Self {
            path: path.to_path_buf(),
            map,
            content,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The whole file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    pub(super) fn metadata(&self) -> Metadata<'_> {
        Metadata {
            path: &self.path,
            content: &self.content,
        }
    }

    /// The shape of a tensor, rows first; `None` where the file has no such tensor.
    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.content
            .tensor_infos
            .get(name)
            .map(|info| info.shape.dims())
    }

    /// Reads a tensor as it is stored.
    ///
    /// # Errors
    /// A missing tensor or one that cannot be decoded.
    pub(super) fn tensor(&self, name: &str) -> Result<QTensor, DecoderError> {
        if !self.content.tensor_infos.contains_key(name) {
            return Err(DecoderError::MissingTensor {
                path: self.path.clone(),
                name: name.to_owned(),
            });
        }
        self.content
            .tensor(&mut Cursor::new(&self.map[..]), name, &Device::Cpu)
            .map_err(|e| DecoderError::Corrupt {
                path: self.path.clone(),
                format: "GGUF",
                reason: format!("tensor `{name}`: {}", first_line(&e)),
            })
    }
}

const ALIGNMENT_KEY: &str = "general.alignment";

/// Bytes within which metadata and the list of tensors must end. Those of the largest vocabularies
/// are an order of magnitude shorter.
const LONGEST_HEAD: usize = 64 << 20;

/// The reader divides by the alignment, whatever it is.
fn alignment_is_zero(head: &[u8]) -> bool {
    let key = ALIGNMENT_KEY.as_bytes();
    // A key is followed by the type of its value, four bytes, then the value.
    head.windows(key.len() + 8)
        .filter(|window| window[0] == key[0] && window.starts_with(key))
        .any(|window| {
            let (kind, value) = window[key.len()..].split_at(4);
            match kind[0] {
                0 | 1 => value[0] == 0,
                2 | 3 => value[..2] == [0; 2],
                4 | 5 => value == [0; 4],
                _ => false,
            }
        })
}

/// candle appends a backtrace to its messages; people want the first line.
fn first_line(error: &candle_core::Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Typed access to GGUF metadata.
#[derive(Clone, Copy)]
pub(super) struct Metadata<'a> {
    path: &'a Path,
    content: &'a gguf_file::Content,
}

impl<'a> Metadata<'a> {
    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    pub(super) fn optional_number(&self, key: &str) -> Option<f64> {
        self.content.metadata.get(key).and_then(gguf_number)
    }

    pub(super) fn optional_string(&self, key: &str) -> Option<&'a str> {
        match self.content.metadata.get(key) {
            Some(gguf_file::Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn optional_bool(&self, key: &str) -> Option<bool> {
        match self.content.metadata.get(key) {
            Some(gguf_file::Value::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn strings(&self, key: &str) -> Option<Vec<&'a str>> {
        self.array(key)?
            .iter()
            .map(|value| match value {
                gguf_file::Value::String(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    pub(super) fn numbers(&self, key: &str) -> Option<Vec<f64>> {
        self.array(key)?.iter().map(gguf_number).collect()
    }

    pub(super) fn number(&self, key: &str) -> Result<f64, DecoderError> {
        self.optional_number(key).ok_or_else(|| self.missing(key))
    }

    pub(super) fn string(&self, key: &str) -> Result<&'a str, DecoderError> {
        self.optional_string(key).ok_or_else(|| self.missing(key))
    }

    fn array(&self, key: &str) -> Option<&'a [gguf_file::Value]> {
        match self.content.metadata.get(key) {
            Some(gguf_file::Value::Array(values)) => Some(values),
            _ => None,
        }
    }

    fn missing(&self, key: &str) -> DecoderError {
        DecoderError::Corrupt {
            path: self.path.to_path_buf(),
            format: "GGUF",
            reason: format!("the metadata key `{key}` is missing"),
        }
    }
}
