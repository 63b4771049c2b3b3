//! Prompts, and the keys and values of what many prompts share.
//!
//! The shared part is always computed on its own, whether it is kept already or not, so a result
//! never depends on what was asked before.

use std::sync::{Arc, Mutex, PoisonError};

use candle_core::Tensor;

use super::Decoder;
use super::cache::KvCache;
use super::error::DecoderError;
use super::tokenizer::Reading;

/// Shared parts kept at the same time; the one not used for longest is dropped.
const KEPT_PREFIXES: usize = 8;

/// Tokens read in one forward pass at most, which bounds the memory of the attention scores.
const CHUNK_TOKENS: usize = 512;

/// A tokenized prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    tokens: Vec<u32>,
    shared: usize,
    /// How texts that continue the prompt are read.
    reading: Reading,
}

impl Prompt {
    /// `shared` is the tokenized beginning that other prompts have as well.
    pub(super) fn new(tokens: Vec<u32>, shared: &[u32]) -> Result<Self, DecoderError> {
        if tokens.is_empty() {
            return Err(DecoderError::EmptyText { what: "prompt" });
        }
        let common = tokens
            .iter()
            .zip(shared)
            .take_while(|(a, b)| a == b)
            .count();
        // At least one token is left to give the logits of what comes next.
        let shared = common.min(tokens.len() - 1);
        Ok(Self {
            tokens,
            shared,
            reading: Reading::Plain,
        })
    }

    /// A prompt that shares nothing, and whose continuations may hold markup as well.
    pub(super) fn raw(tokens: Vec<u32>) -> Result<Self, DecoderError> {
        Ok(Self {
            reading: Reading::Markup,
            ..Self::new(tokens, &[])?
        })
    }

    /// How texts that continue the prompt are read.
    pub(super) fn reading(&self) -> Reading {
        self.reading
    }

    /// The token ids.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }
}

/// The shared parts computed so far, the last used one at the end.
#[derive(Default)]
pub(super) struct PrefixCaches {
    kept: Mutex<Vec<(Vec<u32>, Arc<KvCache>)>>,
}

impl Decoder {
    /// Reads a prompt. Returns its keys and values, with room for `more` tokens, and the last
    /// token's hidden state `[1, hidden]`.
    pub(super) fn read(
        &self,
        prompt: &Prompt,
        more: usize,
    ) -> Result<(KvCache, Tensor), DecoderError> {
        let (shared, rest) = prompt.tokens.split_at(prompt.shared);
        let room = rest.len() + more;
        let mut cache = if shared.is_empty() {
            let mut cache = self.graph.empty_cache()?;
            cache.reserve(room)?;
            cache
        } else {
            self.shared_part(shared)?.branch(room)?
        };
        let hidden = self.read_chunks(rest, &mut cache)?;
        Ok((cache, hidden))
    }

    /// Reads tokens in chunks and returns the last one's hidden state `[1, hidden]`.
    fn read_chunks(&self, tokens: &[u32], cache: &mut KvCache) -> Result<Tensor, DecoderError> {
        let mut last = None;
        for chunk in tokens.chunks(CHUNK_TOKENS) {
            let hidden = self.graph.forward(chunk, cache)?;
            last = Some(hidden.narrow(0, chunk.len() - 1, 1)?);
        }
        last.ok_or(DecoderError::EmptyText { what: "prompt" })
    }

    fn shared_part(&self, tokens: &[u32]) -> Result<Arc<KvCache>, DecoderError> {
        let lock = || {
            self.prefixes
                .kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        {
            let mut kept = lock();
            if let Some(found) = kept.iter().position(|(key, _)| key == tokens) {
                let entry = kept.remove(found);
                let cache = Arc::clone(&entry.1);
                kept.push(entry);
                return Ok(cache);
            }
        }
        let mut cache = self.graph.empty_cache()?;
        self.read_chunks(tokens, &mut cache)?;
        let cache = Arc::new(cache);
        let mut kept = lock();
        if kept.len() >= KEPT_PREFIXES {
            kept.remove(0);
        }
        kept.push((tokens.to_vec(), Arc::clone(&cache)));
        Ok(cache)
    }
}
