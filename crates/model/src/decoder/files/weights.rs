//! Finds the weights of a decoder under their names in GGUF and in safetensors, and converts them to the one layout
//! of the graph: rotary pairs half a head apart, query, key and value projections fused, gate and up projections
//! separate.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use ken_storage::ReadAt;
use safetensors::tensor::TensorInfo;

use crate::decoder::adapter::Adapter;
use crate::decoder::config::DecoderConfig;
use crate::decoder::config::family::Family;
use crate::decoder::error::DecoderError;
use crate::decoder::files::gguf::GgufFile;
use crate::decoder::files::shards::{loaded, refusal, safetensors_files};
use crate::decoder::files::stored_weights::{Stored, block_type};
use crate::decoder::graph::block_matrix::BlockMatrix;
use crate::decoder::text::text_part;
use crate::kernels::quantized::BlockType;
use crate::tensor_file::TensorFile;

/// One weight of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decoder) enum Part {
    AttentionNorm,
    Query,
    Key,
    Value,
    QueryKeyValue,
    QueryNorm,
    KeyNorm,
    AttentionOutput,
    PostAttentionNorm,
    FeedForwardNorm,
    /// [`Part::FeedForwardNorm`], by its name beside [`Part::PostAttentionNorm`].
    PreFeedForwardNorm,
    PostFeedForwardNorm,
    Gate,
    Up,
    GateUp,
    Down,
    /// The router of experts.
    Router,
    ExpertGate(usize),
    ExpertUp(usize),
    ExpertDown(usize),
}

impl Part {
    /// Its names in Hugging Face, for an expert's within that, and in GGUF.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::AttentionNorm => ["input_layernorm", "attn_norm"],
            Self::Query => ["self_attn.q_proj", "attn_q"],
            Self::Key => ["self_attn.k_proj", "attn_k"],
            Self::Value => ["self_attn.v_proj", "attn_v"],
            Self::QueryKeyValue => ["self_attn.qkv_proj", "attn_qkv"],
            Self::QueryNorm => ["self_attn.q_norm", "attn_q_norm"],
            Self::KeyNorm => ["self_attn.k_norm", "attn_k_norm"],
            Self::AttentionOutput => ["self_attn.o_proj", "attn_output"],
            Self::PostAttentionNorm => ["post_attention_layernorm", "post_attention_norm"],
            // Named after its position: in other families than Gemma it comes before the feed-forward layer.
            Self::FeedForwardNorm => ["post_attention_layernorm", "ffn_norm"],
            Self::PreFeedForwardNorm => ["pre_feedforward_layernorm", "ffn_norm"],
            Self::PostFeedForwardNorm => ["post_feedforward_layernorm", "post_ffw_norm"],
            Self::Gate => ["mlp.gate_proj", "ffn_gate"],
            Self::Up => ["mlp.up_proj", "ffn_up"],
            // Phi-3's fused gate and up projection has the name of the up projection.
            Self::GateUp => ["mlp.gate_up_proj", "ffn_up"],
            Self::Down => ["mlp.down_proj", "ffn_down"],
            Self::Router => ["mlp.gate", "ffn_gate_inp"],
            Self::ExpertGate(_) => ["gate_proj", "ffn_gate_exps"],
            Self::ExpertUp(_) => ["up_proj", "ffn_up_exps"],
            Self::ExpertDown(_) => ["down_proj", "ffn_down_exps"],
        }
    }

    /// The index of its expert; `None` if it belongs to none.
    fn expert(self) -> Option<usize> {
        match self {
            Self::ExpertGate(index) | Self::ExpertUp(index) | Self::ExpertDown(index) => {
                Some(index)
            }
            _ => None,
        }
    }

    /// The parts of the projection to queries, keys and values, and the rows of each.
    pub(in crate::decoder) fn of_attention(config: &DecoderConfig) -> Vec<(Self, usize)> {
        let [queries, keys] =
            [config.heads, config.kv_heads].map(|heads| heads * config.head_width);
        match config.family.fuses_projections() {
            true => vec![(Self::QueryKeyValue, queries + 2 * keys)],
            false => vec![
                (Self::Query, queries),
                (Self::Key, keys),
                (Self::Value, keys),
            ],
        }
    }

    /// The parts of the projection to the gate and what it gates, in layers without experts, and the rows of each.
    pub(in crate::decoder) fn of_gate(config: &DecoderConfig) -> Vec<(Self, usize)> {
        let width = config.intermediate;
        match config.family.fuses_projections() {
            true => vec![(Self::GateUp, 2 * width)],
            false => vec![(Self::Gate, width), (Self::Up, width)],
        }
    }

    /// The norm before the feed-forward layer.
    pub(in crate::decoder) fn feed_forward_norm(family: Family) -> Self {
        match family.norms_outputs() {
            true => Self::PreFeedForwardNorm,
            false => Self::FeedForwardNorm,
        }
    }

    /// The name of its module, as in Hugging Face and PEFT.
    pub(in crate::decoder) fn module(self, layer: usize) -> String {
        let [name, _] = self.names();
        match self.expert() {
            Some(index) => format!("model.layers.{layer}.mlp.experts.{index}.{name}"),
            None => format!("model.layers.{layer}.{name}"),
        }
    }
}

/// The names of the tensors outside of blocks, in GGUF and in Hugging Face.
const EMBEDDING: [&str; 2] = ["token_embd.weight", "model.embed_tokens.weight"];
const NORM: [&str; 2] = ["output_norm.weight", "model.norm.weight"];
const OUTPUT: [&str; 2] = ["output.weight", "lm_head.weight"];

/// A tensor of GGUF with the matrices of all experts, and the index of one.
#[derive(Clone, Copy)]
struct Stack {
    count: usize,
    index: usize,
}

/// The stored weights, and an adapter on top of them.
pub(in crate::decoder) struct Weights {
    file: WeightFile,
    adapter: Option<Adapter>,
}

/// The files of weights.
pub(in crate::decoder) enum WeightFile {
    Gguf(GgufFile),
    Safetensors {
        folder: PathBuf,
        files: Vec<TensorFile>,
        /// Which of the files holds a tensor, and under which name; of several, the last one.
        holders: HashMap<String, (usize, String)>,
    },
}

/// The form of a norm's weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decoder) enum NormForm {
    /// As a factor of rows.
    Whole,
    /// As Hugging Face stores it, see [`Family::norm_offset`].
    HuggingFace,
}

impl WeightFile {
    /// Opens `model.safetensors`, or every shard that `model.safetensors.index.json` names.
    pub(in crate::decoder) fn open_safetensors(folder: &Path) -> Result<Self, DecoderError> {
        let mut files = Vec::new();
        let mut holders = HashMap::new();
        for path in safetensors_files(folder)? {
            let file = TensorFile::open(&path).map_err(|error| refusal(&path, error))?;
            for name in file.names() {
                holders.insert(text_part::bare_name(&name), (files.len(), name));
            }
            files.push(file);
        }
        Ok(Self::Safetensors {
            folder: folder.to_path_buf(),
            files,
            holders,
        })
    }

    /// Its files.
    pub(in crate::decoder) fn files(&self) -> Vec<&ReadAt> {
        match self {
            Self::Gguf(file) => vec![file.file()],
            Self::Safetensors { files, .. } => files.iter().map(TensorFile::file).collect(),
        }
    }

    /// The number of its tensors.
    pub(in crate::decoder) fn tensors(&self) -> usize {
        match self {
            Self::Gguf(file) => file.tensors(),
            Self::Safetensors { holders, .. } => holders.len(),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Gguf(file) => file.path(),
            Self::Safetensors { folder, .. } => folder,
        }
    }

    fn block_name(&self, layer: usize, part: Part, suffix: &str) -> String {
        match self {
            Self::Gguf(_) => format!("blk.{layer}.{}.{suffix}", part.names()[1]),
            Self::Safetensors { .. } => format!("{}.{suffix}", part.module(layer)),
        }
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        match self {
            Self::Gguf(file) => file.shape(name).map(<[usize]>::to_vec),
            Self::Safetensors { files, holders, .. } => {
                held(files, holders, name).map(|(_, info)| info.shape.clone())
            }
        }
    }

    /// The position in GGUF of an expert's matrix among those of the others.
    fn stack(&self, config: &DecoderConfig, part: Part) -> Option<Stack> {
        let (Self::Gguf(_), Some(experts)) = (self, &config.experts) else {
            return None;
        };
        part.expert().map(|index| Stack {
            count: experts.count,
            index,
        })
    }

    /// Checks the shape of a matrix, or of the stack that contains it.
    fn check_matrix(
        &self,
        name: &str,
        [rows, columns]: [usize; 2],
        stack: Option<Stack>,
    ) -> Result<(), DecoderError> {
        match stack {
            None => self.check_shape(name, &[rows, columns]),
            Some(Stack { count, .. }) => self.check_shape(name, &[count, rows, columns]),
        }
    }

    /// The name of the type in which a matrix is stored, and the type of its blocks, if these stay as stored.
    fn stored_type(
        &self,
        name: &str,
        shape: [usize; 2],
        stack: Option<Stack>,
    ) -> Result<(String, Option<BlockType>), DecoderError> {
        self.check_matrix(name, shape, stack)?;
        let shape = match self {
            Self::Gguf(file) => file.dtype(name).map(|dtype| {
                let name = format!("{dtype:?}").replace('K', "_K");
                (name, block_type(dtype))
            }),
            Self::Safetensors { files, holders, .. } => {
                held(files, holders, name).map(|(_, info)| (format!("{:?}", info.dtype), None))
            }
        };
        // It existed when its shape was checked.
        shape.ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> DecoderError {
        DecoderError::MissingTensor {
            path: self.path().to_path_buf(),
            name: name.to_owned(),
        }
    }

    fn check_shape(&self, name: &str, expected: &[usize]) -> Result<(), DecoderError> {
        let received = self.shape(name).ok_or_else(|| self.missing(name))?;
        if received == expected {
            Ok(())
        } else {
            Err(DecoderError::WrongShape {
                path: self.path().to_path_buf(),
                name: name.to_owned(),
                received,
                expected: expected.to_vec(),
            })
        }
    }

    /// A tensor in f32, of the given shape.
    fn dense(&self, name: &str, shape: &[usize]) -> Result<Tensor, DecoderError> {
        self.check_shape(name, shape)?;
        match self {
            Self::Gguf(file) => Ok(file.tensor(name)?.dequantize(&Device::Cpu)?),
            Self::Safetensors { files, holders, .. } => {
                match held(files, holders, name) {
                    Some((file, info)) => loaded(file, info),
                    // It existed when its shape was checked.
                    None => Err(self.missing(name)),
                }
            }
        }
    }

    /// The weight of a norm in a form.
    fn norm(
        &self,
        name: &str,
        width: usize,
        family: Family,
        form: NormForm,
    ) -> Result<Tensor, DecoderError> {
        let stored = self.dense(name, &[width])?;
        let added = match (self, form) {
            (Self::Safetensors { .. }, NormForm::Whole) => family.norm_offset(),
            (Self::Gguf(_), NormForm::HuggingFace) => -family.norm_offset(),
            (Self::Safetensors { .. }, NormForm::HuggingFace)
            | (Self::Gguf(_), NormForm::Whole) => 0.0,
        };
        match added == 0.0 {
            true => Ok(stored),
            false => Ok((stored + added)?),
        }
    }

    /// A matrix as stored. `paired`: the width of heads, if llama.cpp stores the rows of rotary pairs side by side.
    fn stored(
        &self,
        name: &str,
        shape: [usize; 2],
        paired: Option<usize>,
        stack: Option<Stack>,
    ) -> Result<Stored, DecoderError> {
        match self {
            Self::Gguf(file) => {
                self.check_matrix(name, shape, stack)?;
                let index = stack.map_or(0, |stack| stack.index);
                if let Some(matrix) = file.blocks(name, shape, index)? {
                    return Ok(Stored::blocks(BlockMatrix { paired, ..matrix }));
                }
                let weights = file.matrix(name, shape, index)?;
                Ok(Stored::Dense(match paired {
                    Some(head_width) => halve_rotary_pairs(&weights, head_width)?,
                    None => weights,
                }))
            }
            Self::Safetensors { .. } => self.dense(name, &shape).map(Stored::Dense),
        }
    }
}

/// The file that holds a tensor, and its name there.
fn held<'a>(
    files: &'a [TensorFile],
    holders: &HashMap<String, (usize, String)>,
    name: &str,
) -> Option<(&'a TensorFile, &'a TensorInfo)> {
    let (holder, stored) = holders.get(name)?;
    let file = files.get(*holder)?;
    Some((file, file.info(stored)?))
}

impl Weights {
    /// Weights without an adapter.
    pub(in crate::decoder) fn new(file: WeightFile) -> Self {
        Self {
            file,
            adapter: None,
        }
    }

    /// The weights with an adapter.
    pub(in crate::decoder) fn with(self, adapter: Adapter) -> Self {
        Self {
            adapter: Some(adapter),
            ..self
        }
    }

    /// Refuses files that have changed since they were opened.
    pub(in crate::decoder) fn check_unchanged(&self) -> Result<(), DecoderError> {
        let files = self.file.files();
        Ok(files.into_iter().try_for_each(ReadAt::check_unchanged)?)
    }

    /// Their folder; `None` for a GGUF file.
    pub(in crate::decoder) fn folder(&self) -> Option<&Path> {
        match &self.file {
            WeightFile::Gguf(_) => None,
            WeightFile::Safetensors { folder, .. } => Some(folder),
        }
    }

    /// Whether the model has its own output projection.
    pub(in crate::decoder) fn has_output(&self) -> bool {
        self.file.shape(self.name(OUTPUT)).is_some()
    }

    fn name(&self, [gguf, hugging_face]: [&'static str; 2]) -> &'static str {
        match &self.file {
            WeightFile::Gguf(_) => gguf,
            WeightFile::Safetensors { .. } => hugging_face,
        }
    }

    /// The bias of a block's projection, `[width]`.
    pub(in crate::decoder) fn bias(
        &self,
        layer: usize,
        part: Part,
        width: usize,
    ) -> Result<Tensor, DecoderError> {
        let name = self.file.block_name(layer, part, "bias");
        self.file.dense(&name, &[width])
    }

    /// The weight of a block's norm, `[width]`.
    pub(in crate::decoder) fn block_norm(
        &self,
        family: Family,
        layer: usize,
        part: Part,
        width: usize,
        form: NormForm,
    ) -> Result<Tensor, DecoderError> {
        let name = self.file.block_name(layer, part, "weight");
        self.file.norm(&name, width, family, form)
    }

    /// One projection of a block, including the adapter. Shape `[rows, columns]`.
    pub(in crate::decoder) fn matrix(
        &self,
        config: &DecoderConfig,
        layer: usize,
        part: Part,
        shape: [usize; 2],
    ) -> Result<Stored, DecoderError> {
        let name = self.file.block_name(layer, part, "weight");
        let paired = config.family.pairs_rows() && matches!(part, Part::Query | Part::Key);
        let paired = paired.then_some(config.head_width);
        let stack = self.file.stack(config, part);
        let stored = self.file.stored(&name, shape, paired, stack)?;
        match &self.adapter {
            Some(adapter) => adapter.added_to(stored, &part.module(layer)),
            None => Ok(stored),
        }
    }

    /// The projections `parts` of a block, stacked into one. Each part is `(part, rows)`.
    pub(in crate::decoder) fn projection(
        &self,
        config: &DecoderConfig,
        layer: usize,
        parts: &[(Part, usize)],
        columns: usize,
    ) -> Result<Stored, DecoderError> {
        let parts = parts
            .iter()
            .map(|&(part, rows)| self.matrix(config, layer, part, [rows, columns]))
            .collect::<Result<Vec<_>, DecoderError>>()?;
        Stored::stacked(parts)
    }

    /// The token embedding `[vocabulary, hidden]`.
    pub(in crate::decoder) fn embedding(
        &self,
        config: &DecoderConfig,
    ) -> Result<Stored, DecoderError> {
        let shape = [config.vocabulary, config.hidden];
        let table = self.file.stored(self.name(EMBEDDING), shape, None, None)?;
        match &self.adapter {
            Some(adapter) => adapter.with_rows(table),
            None => Ok(table),
        }
    }

    /// The type in which a projection is stored, and the type of blocks that it keeps in memory.
    pub(in crate::decoder) fn matrix_type(
        &self,
        config: &DecoderConfig,
        layer: usize,
        part: Part,
        shape: [usize; 2],
    ) -> Result<(String, Option<BlockType>), DecoderError> {
        let name = self.file.block_name(layer, part, "weight");
        let stack = self.file.stack(config, part);
        self.file.stored_type(&name, shape, stack)
    }

    /// The rank of an adapter's update of a projection; `None` without one.
    pub(in crate::decoder) fn added_rank(&self, layer: usize, part: Part) -> Option<usize> {
        self.adapter.as_ref()?.rank_of(&part.module(layer))
    }

    /// How many rows of the embedding an adapter replaces.
    pub(in crate::decoder) fn replaced_rows(&self) -> usize {
        self.adapter.as_ref().map_or(0, Adapter::rows)
    }

    /// As above for the token embedding.
    pub(in crate::decoder) fn embedding_type(
        &self,
        shape: [usize; 2],
    ) -> Result<(String, Option<BlockType>), DecoderError> {
        self.file.stored_type(self.name(EMBEDDING), shape, None)
    }

    /// As above for the output projection, if the model has its own.
    pub(in crate::decoder) fn output_type(
        &self,
        shape: [usize; 2],
    ) -> Result<Option<(String, Option<BlockType>)>, DecoderError> {
        let stored = || self.file.stored_type(self.name(OUTPUT), shape, None);
        self.has_output().then(stored).transpose()
    }

    /// The weight of the final norm, `[hidden]`.
    pub(in crate::decoder) fn norm(
        &self,
        config: &DecoderConfig,
        form: NormForm,
    ) -> Result<Tensor, DecoderError> {
        let name = self.name(NORM);
        self.file.norm(name, config.hidden, config.family, form)
    }

    /// The output projection `[vocabulary, hidden]`, if the model has its own instead of reusing the embedding.
    pub(in crate::decoder) fn output(
        &self,
        config: &DecoderConfig,
    ) -> Result<Option<Stored>, DecoderError> {
        if !self.has_output() {
            return Ok(None);
        }
        let shape = [config.vocabulary, config.hidden];
        let stored = self.file.stored(self.name(OUTPUT), shape, None, None);
        stored.map(Some)
    }
}

/// llama.cpp stores the rows of Llama's query and key projections with rotary pairs side by side; the graph needs
/// Hugging Face's order, see [`BlockMatrix::paired`].
fn halve_rotary_pairs(weights: &Tensor, head_width: usize) -> Result<Tensor, DecoderError> {
    let (rows, inputs) = weights.dims2()?;
    let pairs = weights.reshape((rows / head_width, head_width / 2, 2, inputs))?;
    Ok(pairs.transpose(1, 2)?.reshape((rows, inputs))?)
}
