//! The weights of a network, read from safetensors and laid out for the forward pass.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use half::{bf16, f16};
use rayon::prelude::*;
use safetensors::tensor::{Dtype, TensorInfo};

use super::names::{Names, PREFIXES};
use super::{Network, Positions, relative};
use crate::encoder::error::EncoderError;
use crate::kernels::matrix::{Matrix, WeightFormat};
use crate::tensor_file::{TensorFile, TensorFileError};

/// An affine map.
pub(in crate::encoder) struct Linear {
    pub(super) weight: Matrix,
    /// `[outputs]`; empty without biases.
    pub(super) bias: Vec<f32>,
}

/// The scale and shift of a normalization, `[hidden]` each; the shift is zero if the file has none.
pub(super) struct Norm {
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
}

/// One transformer block.
pub(super) struct Layer {
    /// Query, key and value, concatenated.
    pub(super) attention: Linear,
    /// The norms of query heads and of key heads, `[head_width]` each.
    pub(super) head_norms: Option<[Vec<f32>; 2]>,
    pub(super) attention_out: Linear,
    /// `None` if the layer's input is already normed.
    pub(super) attention_norm: Option<Norm>,
    /// The gate, if there is one, and the gated part, concatenated.
    pub(super) widen: Linear,
    pub(super) narrow: Linear,
    pub(super) norm: Norm,
}

/// A whole network.
pub(in crate::encoder) struct Weights {
    pub(super) words: WordEmbeddings,
    /// `[positions, hidden]`; empty without embeddings of positions.
    pub(super) positions: Vec<f32>,
    /// `[token types, hidden]`; empty without token types.
    pub(super) types: Vec<f32>,
    /// `[buckets, heads]`; empty if attention has no gains by distance.
    pub(super) relative: Vec<f32>,
    /// The norm of the embeddings.
    pub(super) norm: Option<Norm>,
    pub(super) layers: Vec<Layer>,
    /// The norm of the last layer's output.
    pub(super) final_norm: Option<Norm>,
}

/// The token embeddings stay in the file, since a text uses few of their rows.
pub(super) struct WordEmbeddings {
    file: Arc<TensorFile>,
    start: u64,
    dtype: Dtype,
    rows: usize,
    columns: usize,
}

impl Weights {
    /// Refuses results that are not finite.
    pub(in crate::encoder) fn check_finite(&self, results: &[f32]) -> Result<(), EncoderError> {
        match results.iter().all(|x| x.is_finite()) {
            true => Ok(()),
            false => Err(EncoderError::NotFinite(self.words.path().to_owned())),
        }
    }
}

impl WordEmbeddings {
    fn path(&self) -> &Path {
        self.file.file().path()
    }

    /// Writes the embedding of token `id` to `out`, `[hidden]`. `bytes` is a buffer to read into.
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
        self.file.file().read_into(start, bytes)?;
        decode(bytes, self.dtype, out);
        Ok(())
    }

    /// Refuses a file that has changed since it was opened.
    pub(super) fn check_unchanged(&self) -> Result<(), EncoderError> {
        Ok(self.file.file().check_unchanged()?)
    }
}

/// Opens the weights at `path`.
pub(in crate::encoder) fn open(path: &Path) -> Result<Arc<TensorFile>, EncoderError> {
    let file = TensorFile::open(path).map_err(|error| refusal(path, error))?;
    Ok(Arc::new(file))
}

fn refusal(path: &Path, error: TensorFileError) -> EncoderError {
    match error {
        TensorFileError::Storage(error) => error.into(),
        TensorFileError::Broken(reason) => EncoderError::Weights {
            path: path.to_owned(),
            reason,
        },
    }
}

/// The bytes of a tensor.
pub(in crate::encoder) fn bytes<'a>(
    file: &'a TensorFile,
    info: &TensorInfo,
) -> Result<Cow<'a, [u8]>, EncoderError> {
    let bytes = file.bytes(info);
    bytes.map_err(|error| refusal(file.file().path(), error))
}

pub(in crate::encoder) fn missing(file: &TensorFile, name: &str) -> EncoderError {
    EncoderError::MissingTensor {
        path: file.file().path().to_owned(),
        name: name.to_owned(),
    }
}

pub(in crate::encoder) fn misshapen(
    file: &TensorFile,
    name: &str,
    expected: &[usize],
    found: &[usize],
) -> EncoderError {
    EncoderError::TensorShape {
        path: file.file().path().to_owned(),
        name: name.to_owned(),
        expected: expected.to_vec(),
        found: found.to_vec(),
    }
}

pub(in crate::encoder) fn of_type(file: &TensorFile, name: &str, dtype: Dtype) -> EncoderError {
    EncoderError::TensorType {
        path: file.file().path().to_owned(),
        name: name.to_owned(),
        dtype: format!("{dtype:?}"),
    }
}

/// Reads the network from its file.
pub(in crate::encoder) fn read(
    file: Arc<TensorFile>,
    network: &Network,
    format: WeightFormat,
) -> Result<Weights, EncoderError> {
    let tensors = Tensors {
        file: &file,
        format,
    };
    let names = Names::of(network.family, |name| tensors.find(name).is_some());
    let hidden = network.hidden;
    let words = tensors.info(
        &format!("{}.weight", names.words),
        &[network.vocabulary, hidden],
    )?;
    let (start, dtype) = (file.place(words), words.dtype);
    let table = |name: Option<&str>, rows: usize, columns: usize| {
        name.map_or(Ok(Vec::new()), |name| {
            tensors.read(&format!("{name}.weight"), &[rows, columns])
        })
    };
    let positions = match network.positions {
        Positions::Learned { count, .. } => table(names.positions, count, hidden)?,
        Positions::Rotary(_) => Vec::new(),
    };
    let types = table(names.types, network.token_types, hidden)?;
    let relative = table(names.relative, relative::BUCKETS, network.heads)?;
    let norm = |name: &str| tensors.norm(name, hidden, network.biases.norms);
    let layers = (0..network.layers)
        .into_par_iter()
        .map(|number| tensors.layer(number, names, network))
        .collect::<Result<_, _>>()?;
    let [first, last] = [names.norm, names.final_norm].map(|name| name.map(norm).transpose());
    let words = WordEmbeddings {
        file,
        start,
        dtype,
        rows: network.vocabulary,
        columns: hidden,
    };
    words.check_unchanged()?;
    Ok(Weights {
        words,
        positions,
        types,
        relative,
        norm: first?,
        layers,
        final_norm: last?,
    })
}

/// Reads one affine map of a file, in 32 bits.
pub(in crate::encoder) fn read_linear(
    file: &TensorFile,
    name: &str,
    inputs: usize,
    outputs: usize,
) -> Result<Linear, EncoderError> {
    let tensors = Tensors {
        file,
        format: WeightFormat::F32,
    };
    tensors.linear(&[(name.to_owned(), outputs)], inputs, true)
}

/// The tensors of one file, whichever name prefix it uses.
struct Tensors<'a> {
    file: &'a TensorFile,
    /// How projections are stored.
    format: WeightFormat,
}

impl<'a> Tensors<'a> {
    /// The tensor `name`, with whichever prefix.
    fn find(&self, name: &str) -> Option<&'a TensorInfo> {
        let mut names = PREFIXES.iter().map(|prefix| format!("{prefix}{name}"));
        names.find_map(|name| self.file.info(&name))
    }

    /// The tensor `name`, of this shape and a supported type.
    fn info(&self, name: &str, shape: &[usize]) -> Result<&'a TensorInfo, EncoderError> {
        let info = self.find(name);
        let info = info.ok_or_else(|| missing(self.file, name))?;
        if info.shape != shape {
            return Err(misshapen(self.file, name, shape, &info.shape));
        }
        if width(info.dtype) == 0 {
            return Err(of_type(self.file, name, info.dtype));
        }
        Ok(info)
    }

    fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncoderError> {
        let info = self.info(name, shape)?;
        let mut values = vec![0.0; shape.iter().product()];
        decode(&bytes(self.file, info)?, info.dtype, &mut values);
        Ok(values)
    }

    fn norm(&self, name: &str, hidden: usize, has_shift: bool) -> Result<Norm, EncoderError> {
        Ok(Norm {
            scale: self.read(&format!("{name}.weight"), &[hidden])?,
            shift: match has_shift {
                true => self.read(&format!("{name}.bias"), &[hidden])?,
                false => vec![0.0; hidden],
            },
        })
    }

    /// The affine maps of these names and outputs as one with concatenated outputs.
    fn linear(
        &self,
        parts: &[(String, usize)],
        inputs: usize,
        has_bias: bool,
    ) -> Result<Linear, EncoderError> {
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        for (name, outputs) in parts {
            weight.extend(self.read(&format!("{name}.weight"), &[*outputs, inputs])?);
            if has_bias {
                bias.extend(self.read(&format!("{name}.bias"), &[*outputs])?);
            }
        }
        let outputs = parts.iter().map(|(_, outputs)| outputs).sum();
        let weight = Matrix::new(&weight, outputs, inputs, self.format);
        Ok(Linear { weight, bias })
    }

    fn layer(
        &self,
        number: usize,
        names: &Names,
        network: &Network,
    ) -> Result<Layer, EncoderError> {
        let full = |name: &str| format!("{}{number}.{name}", names.layers);
        let linear = |names: &[&str], sizes: &[usize], inputs, has_bias| {
            // One tensor holds all parts, or each part has its own.
            let whole = [sizes.iter().sum()];
            let sizes = if names.len() == 1 { &whole } else { sizes };
            let names = names.iter().map(|name| full(name));
            let parts: Vec<_> = names.zip(sizes.iter().copied()).collect();
            self.linear(&parts, inputs, has_bias)
        };
        let (hidden, intermediate) = (network.hidden, network.intermediate);
        let [queries, keys] = network.projected();
        let wide = network.family.activation().wide(intermediate);
        let biases = network.biases;
        let norm = |name| self.norm(&full(name), hidden, biases.norms);
        let head_norm = |name| self.read(&format!("{}.weight", full(name)), &[network.head_width]);
        let head_norms = names
            .head_norms
            .map(|[query, key]| Ok::<_, EncoderError>([head_norm(query)?, head_norm(key)?]));
        let is_bare = names.first_is_bare && number == 0;
        Ok(Layer {
            attention: linear(
                names.attention,
                &[queries, keys, keys],
                hidden,
                biases.attention,
            )?,
            head_norms: head_norms.transpose()?,
            attention_out: linear(&[names.attention_out], &[hidden], queries, biases.attention)?,
            attention_norm: match is_bare {
                true => None,
                false => Some(norm(names.attention_norm)?),
            },
            widen: linear(
                names.widen,
                &vec![wide / names.widen.len(); names.widen.len()],
                hidden,
                biases.feed_forward,
            )?,
            narrow: linear(
                &[names.narrow],
                &[hidden],
                intermediate,
                biases.feed_forward,
            )?,
            norm: norm(names.layer_norm)?,
        })
    }
}

/// Bytes of one number; 0 for an unsupported type.
fn width(dtype: Dtype) -> usize {
    match dtype {
        Dtype::F32 => 4,
        Dtype::F16 | Dtype::BF16 => 2,
        _ => 0,
    }
}

/// Reads little-endian numbers of 32 or 16 bits.
pub(in crate::encoder) fn decode(bytes: &[u8], dtype: Dtype, out: &mut [f32]) {
    fn each<const WIDTH: usize>(bytes: &[u8], out: &mut [f32], number: fn([u8; WIDTH]) -> f32) {
        for (x, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
            *x = number(*bytes);
        }
    }
    match dtype {
        Dtype::F16 => each(bytes, out, |bytes| f16::from_le_bytes(bytes).to_f32()),
        Dtype::BF16 => each(bytes, out, |bytes| bf16::from_le_bytes(bytes).to_f32()),
        _ => each(bytes, out, f32::from_le_bytes),
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
