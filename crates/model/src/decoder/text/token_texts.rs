//! Log probabilities of tokens with their texts.

use std::collections::HashMap;

use ken_language::TokenLogprob;

use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::sampling::TokenLogprobs;
use crate::decoder::text::tokenizer::TextTokenizer;

/// A cache of the texts of tokens.
pub(in crate::decoder) struct TokenTexts<'a> {
    tokenizer: &'a TextTokenizer,
    known: HashMap<u32, String>,
}

impl<'a> TokenTexts<'a> {
    pub(in crate::decoder) fn new(tokenizer: &'a TextTokenizer) -> Self {
        Self {
            tokenizer,
            known: HashMap::new(),
        }
    }

    pub(in crate::decoder) fn text(&mut self, id: u32) -> Result<String, DecoderError> {
        if let Some(text) = self.known.get(&id) {
            return Ok(text.clone());
        }
        let text = self.tokenizer.token_text(id)?;
        self.known.insert(id, text.clone());
        Ok(text)
    }

    pub(in crate::decoder) fn named(
        &mut self,
        scored: &TokenLogprobs,
    ) -> Result<TokenLogprob, DecoderError> {
        let top = scored.top.iter();
        let top = top.map(|&(other, logprob)| Ok((self.text(other)?, logprob)));
        let top = top.collect::<Result<_, DecoderError>>()?;
        Ok(TokenLogprob {
            id: scored.token,
            text: self.text(scored.token)?,
            logprob: Some(scored.logprob),
            top,
        })
    }
}
