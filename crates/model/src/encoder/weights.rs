//! The weights of a BERT-family network, read from safetensors and laid out for the forward pass.
//! It computes nothing but that layout.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use half::{bf16, f16};
use rayon::prelude::*;
use safetensors::tensor::{Dtype, TensorInfo};

use super::error::EncoderError;
use super::settings::{Dimensions, file_error};
use crate::fingerprint::Fingerprint;
use crate::kernels::matrix::{Matrix, Weighing};
use crate::tensor_file::{TensorFile, TensorFileError};

/// The prefixes under which checkpoints store the same tensors.
const PREFIXES: [&str; 4] = ["", "bert.", "roberta.", "0.auto_model."];

/// An affine map.
pub(super) struct Linear {
    pub(super) weight: Matrix,
    /// `[outputs]`
    pub(super) bias: Vec<f32>,
}

/// The scale and shift of a layer normalization, `[hidden]` each.
pub(super) struct Norm {
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
}

/// One transformer block.
pub(super) struct Layer {
    /// Query, key and value, one behind the other.
    pub(super) attention: Linear,
    pub(super) attention_out: Linear,
    pub(super) attention_norm: Norm,
    pub(super) widen: Linear,
    pub(super) narrow: Linear,
    pub(super) norm: Norm,
}

/// A whole network.
pub(super) struct Weights {
    pub(super) words: WordEmbeddings,
    /// `[positions, hidden]`
    pub(super) positions: Vec<f32>,
    /// `[token types, hidden]`
    pub(super) types: Vec<f32>,
    pub(super) norm: Norm,
    pub(super) layers: Vec<Layer>,
}

/// The token embeddings, left in the file: a text uses few of its rows.
pub(super) struct WordEmbeddings {
    file: Arc<TensorFile>,
    start: u64,
    dtype: Dtype,
    rows: usize,
    columns: usize,
}

impl WordEmbeddings {
    /// Writes the embedding of token `id` to `out`, `[hidden]`. `bytes` is room to read it into.
    pub(super) fn row(
        &self,
        id: u32,
        bytes: &mut Vec<u8>,
        out: &mut [f32],
    ) -> Result<(), EncoderError> {
        if id as usize >= self.rows {
            return Err(EncoderError::UnknownToken {
                id,
                vocabulary: self.rows,
            });
        }
        let row_bytes = self.columns * width(self.dtype);
        bytes.resize(row_bytes, 0);
        let start = self.start + u64::from(id) * row_bytes as u64;
        self.file
            .file()
            .read_into(start, bytes)
            .map_err(TensorFileError::from)
            .map_err(|error| refusal(self.file.file().path(), error))?;
        decode(bytes, self.dtype, out);
        Ok(())
    }

    /// Refuses a file that was written to since it was opened.
    pub(super) fn check_unchanged(&self) -> Result<(), EncoderError> {
        let unchanged = self.file.file().check_unchanged();
        unchanged.map_err(|error| refusal(self.file.file().path(), error.into()))
    }
}

/// Opens the weights at `path`.
pub(super) fn open(path: &Path) -> Result<Arc<TensorFile>, EncoderError> {
    let file = TensorFile::open(path).map_err(|error| refusal(path, error))?;
    Ok(Arc::new(file))
}

/// The fingerprint of the file.
pub(super) fn fingerprint(file: &TensorFile) -> Result<Fingerprint, EncoderError> {
    Fingerprint::of_files(&[file.file()]).map_err(|error| file_error(error.path, error.source))
}

fn refusal(path: &Path, error: TensorFileError) -> EncoderError {
    match error {
        TensorFileError::Storage(error) => file_error(error.path, error.source),
        TensorFileError::Broken(reason) => EncoderError::Weights {
            path: path.to_owned(),
            reason,
        },
    }
}

/// Reads the network from its file.
pub(super) fn read(
    file: Arc<TensorFile>,
    dim: &Dimensions,
    weighing: Weighing,
) -> Result<Weights, EncoderError> {
    let tensors = Tensors {
        file: &file,
        weighing,
    };
    let hidden = dim.hidden;

    let words = tensors.info(
        "embeddings.word_embeddings.weight",
        &[dim.vocabulary, hidden],
    )?;
    let (start, dtype) = (file.place(words), words.dtype);

    let positions = tensors.read(
        "embeddings.position_embeddings.weight",
        &[dim.positions, hidden],
    )?;
    let types = tensors.read(
        "embeddings.token_type_embeddings.weight",
        &[dim.token_types, hidden],
    )?;
    let norm = tensors.norm("embeddings.LayerNorm", hidden)?;
    let layers = (0..dim.layers)
        .into_par_iter()
        .map(|number| tensors.layer(number, dim))
        .collect::<Result<_, _>>()?;
    let words = WordEmbeddings {
        file,
        start,
        dtype,
        rows: dim.vocabulary,
        columns: hidden,
    };
    words.check_unchanged()?;
    Ok(Weights {
        words,
        positions,
        types,
        norm,
        layers,
    })
}

/// Reads one affine map of a file, in 32 bits.
pub(super) fn read_linear(
    file: &TensorFile,
    name: &str,
    inputs: usize,
    outputs: usize,
) -> Result<Linear, EncoderError> {
    let tensors = Tensors {
        file,
        weighing: Weighing::F32,
    };
    tensors.linear(&[name.to_owned()], inputs, outputs)
}

/// The tensors of one file, under whichever prefix it stores them.
struct Tensors<'a> {
    file: &'a TensorFile,
    /// How projections are held.
    weighing: Weighing,
}

impl<'a> Tensors<'a> {
    /// The tensor `name`, of the given shape and a type that can be read.
    fn info(&self, name: &str, shape: &[usize]) -> Result<&'a TensorInfo, EncoderError> {
        let found = PREFIXES
            .iter()
            .find_map(|prefix| self.file.info(&format!("{prefix}{name}")));
        let (path, name) = (self.file.file().path().to_owned(), name.to_owned());
        let Some(info) = found else {
            return Err(EncoderError::MissingTensor { path, name });
        };
        if info.shape != shape {
            let (expected, found) = (shape.to_vec(), info.shape.clone());
            return Err(EncoderError::TensorShape {
                path,
                name,
                expected,
                found,
            });
        }
        if width(info.dtype) == 0 {
            let dtype = format!("{:?}", info.dtype);
            return Err(EncoderError::TensorType { path, name, dtype });
        }
        Ok(info)
    }

    fn bytes(&self, info: &TensorInfo) -> Result<Cow<'a, [u8]>, EncoderError> {
        let bytes = self.file.bytes(info);
        bytes.map_err(|error| refusal(self.file.file().path(), error))
    }

    fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncoderError> {
        let info = self.info(name, shape)?;
        let mut values = vec![0.0; shape.iter().product()];
        decode(&self.bytes(info)?, info.dtype, &mut values);
        Ok(values)
    }

    fn norm(&self, name: &str, hidden: usize) -> Result<Norm, EncoderError> {
        Ok(Norm {
            scale: self.read(&format!("{name}.weight"), &[hidden])?,
            shift: self.read(&format!("{name}.bias"), &[hidden])?,
        })
    }

    /// The affine maps of the given names, all of one shape, as one: their outputs one behind the
    /// other.
    fn linear(
        &self,
        names: &[String],
        inputs: usize,
        outputs: usize,
    ) -> Result<Linear, EncoderError> {
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            weight.extend(self.read(&format!("{name}.weight"), &[outputs, inputs])?);
            bias.extend(self.read(&format!("{name}.bias"), &[outputs])?);
        }
        let weight = Matrix::new(&weight, bias.len(), inputs, self.weighing);
        Ok(Linear { weight, bias })
    }

    fn layer(&self, number: usize, dim: &Dimensions) -> Result<Layer, EncoderError> {
        let at = |name: &str| format!("encoder.layer.{number}.{name}");
        let one = |name: &str, inputs, outputs| self.linear(&[at(name)], inputs, outputs);
        let (hidden, intermediate) = (dim.hidden, dim.intermediate);
        let projections =
            ["query", "key", "value"].map(|name| at(&format!("attention.self.{name}")));
        Ok(Layer {
            attention: self.linear(&projections, hidden, hidden)?,
            attention_out: one("attention.output.dense", hidden, hidden)?,
            attention_norm: self.norm(&at("attention.output.LayerNorm"), hidden)?,
            widen: one("intermediate.dense", hidden, intermediate)?,
            narrow: one("output.dense", intermediate, hidden)?,
            norm: self.norm(&at("output.LayerNorm"), hidden)?,
        })
    }
}

/// The bytes of one number; 0 for a type that is not read.
fn width(dtype: Dtype) -> usize {
    match dtype {
        Dtype::F32 => 4,
        Dtype::F16 | Dtype::BF16 => 2,
        _ => 0,
    }
}

/// Reads little-endian numbers of a type of which [`width`] is not 0.
fn decode(bytes: &[u8], dtype: Dtype, out: &mut [f32]) {
    let pairs = || bytes.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
    match dtype {
        Dtype::F16 => out
            .iter_mut()
            .zip(pairs())
            .for_each(|(x, b)| *x = f16::from_le_bytes(b).to_f32()),
        Dtype::BF16 => out
            .iter_mut()
            .zip(pairs())
            .for_each(|(x, b)| *x = bf16::from_le_bytes(b).to_f32()),
        _ => {
            for (x, b) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                *x = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read() {
        let mut out = [0.0; 2];
        let bytes: Vec<u8> = [1.5f32, -2.0]
            .iter()
            .flat_map(|&x| f16::from_f32(x).to_le_bytes())
            .collect();
        decode(&bytes, Dtype::F16, &mut out);
        assert_eq!(out, [1.5, -2.0]);
        let bytes: Vec<u8> = [0.25f32, 8.0]
            .iter()
            .flat_map(|&x| bf16::from_f32(x).to_le_bytes())
            .collect();
        decode(&bytes, Dtype::BF16, &mut out);
        assert_eq!(out, [0.25, 8.0]);
    }
}
