//! Reads GGUF: header, metadata, and single tensors by position.

use std::io::{Cursor, Error, ErrorKind, Read, Result as IoResult, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QStorage, QTensor, gguf_file};
use candle_core::{Device, Tensor};
use ken_storage::ReadAt;

use crate::decoder::error::{DecoderError, first_line};
use crate::decoder::files::gguf_header;
use crate::decoder::files::stored_weights::block_type;
use crate::decoder::graph::block_matrix::BlockMatrix;

/// An open GGUF file.
pub(in crate::decoder) struct GgufFile {
    file: Arc<ReadAt>,
    content: gguf_file::Content,
}

impl GgufFile {
    /// Opens the file and checks that every tensor lies within it, and that none overlap.
    ///
    /// # Errors
    /// An unreadable, broken or truncated file, or a tensor type that is not supported.
    pub(in crate::decoder) fn open(path: &Path) -> Result<Self, DecoderError> {
        let file = ReadAt::open_linked(path).map_err(|e| DecoderError::io(path, e.source))?;
        let corrupt = |reason: String| DecoderError::corrupt(path, "GGUF", reason);
        // Lengths and counts are checked before anything of their size is allocated.
        let head_bytes = gguf_header::length(&mut Reader::new(&file))
            .map_err(|error| corrupt(error.to_string()))?;
        let head = file.bytes(0..head_bytes)?.unwrap_or_default();
        let content = gguf_file::Content::read(&mut Cursor::new(&head[..])).map_err(|e| {
            let reason = first_line(&e);
            if reason.contains("unknown dtype") {
                DecoderError::UnknownQuantization {
                    path: path.to_path_buf(),
                    reason,
                }
            } else {
                corrupt(reason)
            }
        })?;
        drop(head);
        let mut places: Vec<(Range<u64>, &String)> = content
            .tensor_infos
            .iter()
            .map(|(name, info)| (place(info, content.tensor_data_offset), name))
            .collect();
        places.sort_by_key(|(place, _)| (place.start, place.end));
        let expected = places.iter().map(|(place, _)| place.end).max();
        let (expected, received) = (expected.unwrap_or(0), file.length());
        if expected > received {
            return Err(DecoderError::TruncatedModel {
                path: path.to_path_buf(),
                expected,
                received,
            });
        }
        let overlapping = places
            .windows(2)
            .find(|pair| pair[0].0.end > pair[1].0.start);
        if let Some([(_, one), (_, other)]) = overlapping {
            let reason = format!("the tensors `{one}` and `{other}` overlap");
            return Err(corrupt(reason));
        }
        Ok(Self {
            file: Arc::new(file),
            content,
        })
    }

    pub(in crate::decoder) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The file itself.
    pub(in crate::decoder) fn file(&self) -> &ReadAt {
        &self.file
    }

    /// The number of its tensors.
    pub(in crate::decoder) fn tensors(&self) -> usize {
        self.content.tensor_infos.len()
    }

    pub(in crate::decoder) fn metadata(&self) -> Metadata<'_> {
        Metadata {
            path: self.file.path(),
            content: &self.content,
        }
    }

    /// The shape of a tensor, rows first; `None` if the file has no such tensor.
    pub(in crate::decoder) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.content
            .tensor_infos
            .get(name)
            .map(|info| info.shape.dims())
    }

    /// The type in which a tensor is stored; `None` if the file has no such tensor.
    pub(in crate::decoder) fn dtype(&self, name: &str) -> Option<GgmlDType> {
        let info = self.content.tensor_infos.get(name)?;
        Some(info.ggml_dtype)
    }

    /// A matrix stored in a type of blocks with kernels; `None` for any other. `index` selects one if the tensor
    /// holds several of the shape `[rows, inputs]`.
    ///
    /// # Errors
    /// A missing tensor, rows that are not whole blocks.
    pub(in crate::decoder) fn blocks(
        &self,
        name: &str,
        shape: [usize; 2],
        index: usize,
    ) -> Result<Option<BlockMatrix>, DecoderError> {
        let info = self.info(name)?;
        let Some(block) = block_type(info.ggml_dtype) else {
            return Ok(None);
        };
        let [rows, inputs] = shape;
        Ok(Some(BlockMatrix {
            file: Arc::clone(&self.file),
            start: self.matrix_place(name, info, shape, index)?.start,
            dtype: info.ggml_dtype,
            block,
            rows,
            inputs,
            paired: None,
        }))
    }

    /// A matrix in 32 bits, selected as in [`GgufFile::blocks`].
    ///
    /// # Errors
    /// As [`GgufFile::blocks`].
    pub(in crate::decoder) fn matrix(
        &self,
        name: &str,
        shape: [usize; 2],
        index: usize,
    ) -> Result<Tensor, DecoderError> {
        let info = self.info(name)?;
        let place = self.matrix_place(name, info, shape, index)?;
        let mut data = vec![0; (place.end - place.start) as usize];
        self.file.read_into(place.start, &mut data)?;
        let storage = QStorage::from_data(data.into(), &Device::Cpu, info.ggml_dtype)?;
        let [rows, inputs] = shape;
        Ok(QTensor::new(storage, (rows, inputs))?.dequantize(&Device::Cpu)?)
    }

    /// The position of a matrix in the file.
    fn matrix_place(
        &self,
        name: &str,
        info: &gguf_file::TensorInfo,
        [rows, inputs]: [usize; 2],
        index: usize,
    ) -> Result<Range<u64>, DecoderError> {
        let block = info.ggml_dtype.block_size();
        if !inputs.is_multiple_of(block) {
            let reason = format!(
                "rows of {inputs} weights of the tensor `{name}` are not whole blocks of {block}"
            );
            return Err(DecoderError::corrupt(self.path(), "GGUF", reason));
        }
        let bytes = (rows * (inputs / block) * info.ggml_dtype.type_size()) as u64;
        let start = place(info, self.content.tensor_data_offset).start + index as u64 * bytes;
        Ok(start..start + bytes)
    }

    fn info(&self, name: &str) -> Result<&gguf_file::TensorInfo, DecoderError> {
        let info = self.content.tensor_infos.get(name);
        info.ok_or_else(|| DecoderError::MissingTensor {
            path: self.path().to_path_buf(),
            name: name.to_owned(),
        })
    }

    /// Reads a tensor in its stored form.
    ///
    /// # Errors
    /// A missing tensor or one that cannot be decoded.
    pub(in crate::decoder) fn tensor(&self, name: &str) -> Result<QTensor, DecoderError> {
        self.info(name)?;
        let from = &mut Reader::new(&self.file);
        let read = self.content.tensor(from, name, &Device::Cpu);
        read.map_err(|error| {
            let reason = format!("tensor `{name}`: {}", first_line(&error));
            DecoderError::corrupt(self.path(), "GGUF", reason)
        })
    }
}

/// The position of a tensor in its file; up to `u64::MAX` if its size overflows.
fn place(info: &gguf_file::TensorInfo, data: u64) -> Range<u64> {
    let start = data.saturating_add(info.offset);
    let mut dimensions = info.shape.dims().iter();
    let elements = dimensions.try_fold(1u64, |n, &d| n.checked_mul(d as u64));
    let end = elements
        .map(|n| n.div_ceil(info.ggml_dtype.block_size() as u64))
        .and_then(|blocks| blocks.checked_mul(info.ggml_dtype.type_size() as u64))
        .and_then(|bytes| bytes.checked_add(start));
    start..end.unwrap_or(u64::MAX)
}

/// The file as candle and the check of the header read it: from the beginning, and from a position on.
struct Reader<'a> {
    file: &'a ReadAt,
    at: u64,
}

impl<'a> Reader<'a> {
    fn new(file: &'a ReadAt) -> Self {
        Self { file, at: 0 }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> IoResult<usize> {
        let left = self.file.length().saturating_sub(self.at);
        let count = (bytes.len() as u64).min(left) as usize;
        self.file.read_into(self.at, &mut bytes[..count])?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Reader<'_> {
    fn seek(&mut self, to: SeekFrom) -> IoResult<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.file.length().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = position.ok_or_else(|| Error::from(ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

fn text(value: &gguf_file::Value) -> Option<&str> {
    match value {
        gguf_file::Value::String(text) => Some(text),
        _ => None,
    }
}

fn truth(value: &gguf_file::Value) -> Option<bool> {
    match value {
        gguf_file::Value::Bool(truth) => Some(*truth),
        _ => None,
    }
}

/// Typed access to GGUF metadata.
#[derive(Clone, Copy)]
pub(in crate::decoder) struct Metadata<'a> {
    path: &'a Path,
    content: &'a gguf_file::Content,
}

impl<'a> Metadata<'a> {
    pub(in crate::decoder) fn path(&self) -> &'a Path {
        self.path
    }

    pub(in crate::decoder) fn optional_number(&self, key: &str) -> Option<f64> {
        self.content.metadata.get(key).and_then(number)
    }

    pub(in crate::decoder) fn optional_string(&self, key: &str) -> Option<&'a str> {
        text(self.content.metadata.get(key)?)
    }

    pub(in crate::decoder) fn optional_bool(&self, key: &str) -> Option<bool> {
        truth(self.content.metadata.get(key)?)
    }

    pub(in crate::decoder) fn strings(&self, key: &str) -> Option<Vec<&'a str>> {
        self.array(key)?.iter().map(text).collect()
    }

    pub(in crate::decoder) fn numbers(&self, key: &str) -> Option<Vec<f64>> {
        self.array(key)?.iter().map(number).collect()
    }

    pub(in crate::decoder) fn booleans(&self, key: &str) -> Option<Vec<bool>> {
        self.array(key)?.iter().map(truth).collect()
    }

    pub(in crate::decoder) fn number(&self, key: &str) -> Result<f64, DecoderError> {
        self.optional_number(key).ok_or_else(|| self.missing(key))
    }

    pub(in crate::decoder) fn string(&self, key: &str) -> Result<&'a str, DecoderError> {
        self.optional_string(key).ok_or_else(|| self.missing(key))
    }

    fn array(&self, key: &str) -> Option<&'a [gguf_file::Value]> {
        match self.content.metadata.get(key) {
            Some(gguf_file::Value::Array(values)) => Some(values),
            _ => None,
        }
    }

    fn missing(&self, key: &str) -> DecoderError {
        let reason = format!("the metadata key `{key}` is missing");
        DecoderError::corrupt(self.path, "GGUF", reason)
    }
}

/// A GGUF number of any integer or floating type, as `f64`.
fn number(value: &gguf_file::Value) -> Option<f64> {
    use gguf_file::Value;
    Some(match value {
        Value::U8(n) => f64::from(*n),
        Value::I8(n) => f64::from(*n),
        Value::U16(n) => f64::from(*n),
        Value::I16(n) => f64::from(*n),
        Value::U32(n) => f64::from(*n),
        Value::I32(n) => f64::from(*n),
        Value::U64(n) => *n as f64,
        Value::I64(n) => *n as f64,
        Value::F32(n) => f64::from(*n),
        Value::F64(n) => *n,
        Value::Bool(_) | Value::String(_) | Value::Array(_) => return None,
    })
}
