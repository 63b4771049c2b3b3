//! The weights of a BERT-family network, read from safetensors and laid out for the forward pass.
//! It computes nothing but that layout.

use std::fs::File;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use memmap2::Mmap;
use rayon::prelude::*;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::error::EncoderError;
use super::settings::{Dimensions, file_error};
use crate::kernels::matrix::{Matrix, Weighing};

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

/// The token embeddings, left in the mapped file: a text uses few of its rows.
pub(super) struct WordEmbeddings {
    map: Mmap,
    start: usize,
    dtype: Dtype,
    rows: usize,
    columns: usize,
}

impl WordEmbeddings {
    /// Writes the embedding of token `id` to `out`, `[hidden]`.
    pub(super) fn row(&self, id: u32, out: &mut [f32]) -> Result<(), EncoderError> {
        let unknown = EncoderError::UnknownToken {
            id,
            vocabulary: self.rows,
        };
        let bytes = self.columns * width(self.dtype);
        let start = self.start + id as usize * bytes;
        match self.map.get(start..start + bytes) {
            Some(row) if (id as usize) < self.rows => {
                decode(row, self.dtype, out);
                Ok(())
            }
            _ => Err(unknown),
        }
    }
}

/// Maps `path`. The file must not change while the model is in use.
pub(super) fn map(path: &Path) -> Result<Mmap, EncoderError> {
    let file = File::open(path).map_err(|source| file_error(path.to_owned(), source))?;
    // SAFETY: the map is only read. Model files are written once, under another name, and then
    // renamed; nothing in this program changes or cuts them.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) };
    map.map_err(|source| EncoderError::Read {
        path: path.to_owned(),
        source,
    })
}

/// Reads the network from the mapped file at `path`.
pub(super) fn read(
    path: &Path,
    map: Mmap,
    dim: &Dimensions,
    weighing: Weighing,
) -> Result<Weights, EncoderError> {
    let file = Tensors::of(path, &map, weighing)?;
    let hidden = dim.hidden;

    let words = file.view(
        "embeddings.word_embeddings.weight",
        &[dim.vocabulary, hidden],
    )?;
    let start = words.data().as_ptr() as usize - map.as_ptr() as usize;
    let dtype = words.dtype();

    let positions = file.read(
        "embeddings.position_embeddings.weight",
        &[dim.positions, hidden],
    )?;
    let types = file.read(
        "embeddings.token_type_embeddings.weight",
        &[dim.token_types, hidden],
    )?;
    let norm = file.norm("embeddings.LayerNorm", hidden)?;
    let layers = (0..dim.layers)
        .into_par_iter()
        .map(|number| file.layer(number, dim))
        .collect::<Result<_, _>>()?;
    let words = WordEmbeddings {
        map,
        start,
        dtype,
        rows: dim.vocabulary,
        columns: hidden,
    };
    Ok(Weights {
        words,
        positions,
        types,
        norm,
        layers,
    })
}

/// Reads one affine map of the mapped file at `path`, in 32 bits.
pub(super) fn read_linear(
    path: &Path,
    map: &Mmap,
    name: &str,
    inputs: usize,
    outputs: usize,
) -> Result<Linear, EncoderError> {
    Tensors::of(path, map, Weighing::F32)?.linear(&[name.to_owned()], inputs, outputs)
}

/// The tensors of one file, under whichever prefix it stores them.
struct Tensors<'a> {
    path: PathBuf,
    tensors: SafeTensors<'a>,
    /// How projections are held.
    weighing: Weighing,
}

impl<'a> Tensors<'a> {
    fn of(path: &Path, map: &'a Mmap, weighing: Weighing) -> Result<Self, EncoderError> {
        let tensors = SafeTensors::deserialize(map).map_err(|source| EncoderError::Weights {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            tensors,
            weighing,
        })
    }

    /// The tensor `name`, of the given shape and a type that can be read.
    fn view(&self, name: &str, shape: &[usize]) -> Result<TensorView<'_>, EncoderError> {
        let found = PREFIXES
            .iter()
            .find_map(|prefix| self.tensors.tensor(&format!("{prefix}{name}")).ok());
        let (path, name) = (self.path.clone(), name.to_owned());
        let Some(view) = found else {
            return Err(EncoderError::MissingTensor { path, name });
        };
        if view.shape() != shape {
            let (expected, found) = (shape.to_vec(), view.shape().to_vec());
            return Err(EncoderError::TensorShape {
                path,
                name,
                expected,
                found,
            });
        }
        if width(view.dtype()) == 0 {
            let dtype = format!("{:?}", view.dtype());
            return Err(EncoderError::TensorType { path, name, dtype });
        }
        Ok(view)
    }

    fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncoderError> {
        let view = self.view(name, shape)?;
        let mut values = vec![0.0; shape.iter().product()];
        decode(view.data(), view.dtype(), &mut values);
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
