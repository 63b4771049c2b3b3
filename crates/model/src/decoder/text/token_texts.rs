//! Log probabilities of tokens with their texts.

use std::collections::HashMap;

use ken_language::TokenLogprob;

use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::sampling::TokenLogprobs;
use crate::decoder::text::tokenizer::{Reading, TextTokenizer};

/// Comes before a token, since some tokenizers drop a space at the beginning of a text.
const BEGIN: &str = "a";

/// A cache of the texts of tokens.
pub(in crate::decoder) struct TokenTexts<'a> {
    tokenizer: &'a TextTokenizer,
    /// [`BEGIN`] in tokens and as these read, from the first token on.
    begin: Option<(Vec<u32>, String)>,
    known: HashMap<u32, String>,
}

impl<'a> TokenTexts<'a> {
    pub(in crate::decoder) fn new(tokenizer: &'a TextTokenizer) -> Self {
        Self {
            tokenizer,
            begin: None,
            known: HashMap::new(),
        }
    }

    /// The text that a token adds; its name in the vocabulary if that is not text, such as a part of a character.
    pub(in crate::decoder) fn text(&mut self, id: u32) -> Result<String, DecoderError> {
        if let Some(text) = self.known.get(&id) {
            return Ok(text.clone());
        }
        let text = self.added(id)?;
        self.known.insert(id, text.clone());
        Ok(text)
    }

    fn added(&mut self, id: u32) -> Result<String, DecoderError> {
        let begin = match self.begin.take() {
            Some(begin) => begin,
            None => {
                let tokens = self.tokenizer.encode(BEGIN, Reading::Plain, false)?;
                let text = self.tokenizer.decode_markup(&tokens)?;
                (tokens, text)
            }
        };
        let (tokens, before) = self.begin.insert(begin);
        tokens.push(id);
        let whole = self.tokenizer.decode_markup(tokens);
        tokens.pop();
        let whole = whole?;
        let added = whole.strip_prefix(before.as_str());
        let text = added.filter(|text| !text.contains(char::REPLACEMENT_CHARACTER));
        Ok(match (text, self.tokenizer.name(id)) {
            (Some(text), _) => text.to_owned(),
            (None, Some(name)) => name,
            (None, None) => String::new(),
        })
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
