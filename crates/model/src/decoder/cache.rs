//! Keys and values of the tokens read so far. Grows as it is filled; a branch is a copy.

use candle_core::{DType, Device, Result, Tensor};

/// Room is made for this many tokens at a time.
const GROWTH_TOKENS: usize = 256;

/// Keys and values of every layer, each `[kv_heads, capacity, head_width]` in f32.
pub(super) struct KvCache {
    layers: Vec<(Tensor, Tensor)>,
    length: usize,
    capacity: usize,
}

impl KvCache {
    /// An empty cache.
    pub(super) fn new(layers: usize, kv_heads: usize, head_width: usize) -> Result<Self> {
        let empty = || Tensor::zeros((kv_heads, 0, head_width), DType::F32, &Device::Cpu);
        let layers = (0..layers)
            .map(|_| Ok((empty()?, empty()?)))
            .collect::<Result<_>>()?;
        Ok(Self {
            layers,
            length: 0,
            capacity: 0,
        })
    }

    /// Tokens read so far.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// A copy that can be filled without touching this one, with room for `more` tokens.
    pub(super) fn branch(&self, more: usize) -> Result<Self> {
        let mut copy = Self {
            layers: self.layers.clone(),
            length: self.length,
            capacity: self.capacity,
        };
        copy.grow(self.length + more)?;
        Ok(copy)
    }

    /// Forgets all but the first `length` tokens.
    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Makes room for `more` tokens. Call once before the layers of a forward pass append.
    pub(super) fn reserve(&mut self, more: usize) -> Result<()> {
        let needed = self.length + more;
        if needed > self.capacity {
            self.grow(needed.next_multiple_of(GROWTH_TOKENS))
        } else {
            Ok(())
        }
    }

    /// Counts `more` tokens as read. Call once after the layers of a forward pass appended.
    pub(super) fn advance(&mut self, more: usize) {
        self.length += more;
    }

    /// Writes the keys and values of new tokens behind those read so far and returns all.
    ///
    /// # Shapes
    /// `keys`, `values`: `[kv_heads, tokens, head_width]`, contiguous;
    /// returns two of `[kv_heads, length + tokens, head_width]`.
    pub(super) fn append(
        &self,
        layer: usize,
        keys: &Tensor,
        values: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let tokens = keys.dim(1)?;
        let (all_keys, all_values) = &self.layers[layer];
        all_keys.slice_set(keys, 1, self.length)?;
        all_values.slice_set(values, 1, self.length)?;
        Ok((
            all_keys.narrow(1, 0, self.length + tokens)?,
            all_values.narrow(1, 0, self.length + tokens)?,
        ))
    }

    /// Moves everything into new tensors, so that none is shared with another cache.
    fn grow(&mut self, capacity: usize) -> Result<()> {
        let length = self.length;
        for (keys, values) in &mut self.layers {
            for tensor in [keys, values] {
                let (kv_heads, _, head_width) = tensor.dims3()?;
                let larger = Tensor::zeros(
                    (kv_heads, capacity, head_width),
                    DType::F32,
                    tensor.device(),
                )?;
                if length > 0 {
                    larger.slice_set(&tensor.narrow(1, 0, length)?.contiguous()?, 1, 0)?;
                }
                *tensor = larger;
            }
        }
        self.capacity = capacity;
        Ok(())
    }
}
