//! Keys and values of the tokens read so far. A sequence is a chain of segments: those of the sequences that it
//! continues, which are shared and immutable, then its own, which grows.

use std::sync::Arc;

use crate::decoder::error::DecoderError;
use crate::decoder::graph::backend::{Heads, Sequence};
use crate::kernels::attention::HeadCache;
use crate::kernels::wide::LANES;

/// A sequence on the CPU.
pub(in crate::decoder) struct CpuSequence {
    parent: Option<Arc<CpuSequence>>,
    /// Tokens of all segments before its own.
    shared: usize,
    pub(super) own: Segment,
}

/// The least number of tokens that a segment grows by.
const GROWTH: usize = LANES;

/// The keys and values of some tokens in every layer.
pub(super) struct Segment {
    kv_heads: usize,
    width: usize,
    /// Tokens written so far.
    pub(super) length: usize,
    capacity: usize,
    /// One for each layer and head, the heads of a layer side by side.
    heads: Vec<HeadCache>,
}

impl CpuSequence {
    pub(super) fn empty(layers: usize, heads: &Heads, capacity: usize) -> Self {
        Self {
            parent: None,
            shared: 0,
            own: Segment::new(layers * heads.keys, heads.keys, heads.width, capacity),
        }
    }

    /// All segments, the first tokens first.
    pub(super) fn segments(&self) -> Vec<&Segment> {
        let mut chain = vec![&self.own];
        let mut parent = self.parent.as_deref();
        while let Some(sequence) = parent {
            chain.push(&sequence.own);
            parent = sequence.parent.as_deref();
        }
        chain.reverse();
        chain
    }
}

impl Sequence for CpuSequence {
    fn length(&self) -> usize {
        self.shared + self.own.length
    }

    fn advance(&mut self, tokens: usize) {
        self.own.length += tokens;
    }

    fn forget(&mut self, tokens: usize) -> Result<(), DecoderError> {
        self.own.length -= tokens;
        Ok(())
    }

    fn branch(self: &Arc<Self>, capacity: usize) -> Result<Self, DecoderError> {
        let own = &self.own;
        Ok(Self {
            parent: Some(Arc::clone(self)),
            shared: self.length(),
            own: Segment::new(own.heads.len(), own.kv_heads, own.width, capacity),
        })
    }
}

impl Segment {
    fn new(heads: usize, kv_heads: usize, width: usize, capacity: usize) -> Self {
        let capacity = capacity.max(1).next_multiple_of(GROWTH);
        Self {
            kv_heads,
            width,
            length: 0,
            capacity,
            heads: vec![HeadCache::new(width, capacity); heads],
        }
    }

    /// A head of a layer.
    pub(super) fn head(&self, layer: usize, head: usize) -> &HeadCache {
        &self.heads[layer * self.kv_heads + head]
    }

    /// Grows the capacity for more tokens.
    pub(super) fn reserve(&mut self, more: usize) {
        let needed = self.length + more;
        if needed <= self.capacity {
            return;
        }
        let capacity = needed.max(2 * self.capacity).next_multiple_of(GROWTH);
        for head in &mut self.heads {
            head.resize(capacity);
        }
        self.capacity = capacity;
    }

    /// Writes a token's key and value, `ahead` positions after the segment's last token.
    pub(super) fn write(
        &mut self,
        layer: usize,
        head: usize,
        ahead: usize,
        key: &[f32],
        value: &[f32],
    ) {
        self.heads[layer * self.kv_heads + head].write(self.length + ahead, key, value);
    }
}
