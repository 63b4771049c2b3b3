//! The decoder as a model that continues text as it stands.

use std::collections::HashMap;
use std::ops::ControlFlow;

use ken_language::{
    GenerateRequest, ModelError, Progress, TextCompletion, TextModel, TextRequest, TokenLogprob,
    TokenizerInfo,
};

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::sampling::TokenLogprobs;
use crate::decoder::text::prompt::Prompt;
use crate::decoder::text::tokenizer::Reading;

impl TextModel for Decoder {
    fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, ModelError> {
        let tokens = self.tokenizer.encode(text, Reading::Markup, add_special)?;
        Ok(self.known(tokens)?)
    }

    fn decode(&self, tokens: &[u32]) -> Result<String, ModelError> {
        Ok(self
            .tokenizer
            .decode_markup(&self.known(tokens.to_vec())?)?)
    }

    fn tokenizer_info(&self) -> TokenizerInfo {
        let (begin, end) = self
            .chat
            .as_ref()
            .map(|chat| chat.ends())
            .unwrap_or_default();
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let first = || {
            let put_before = self.tokenizer.encode("", Reading::Plain, true).ok()?;
            self.tokenizer.name(*put_before.first()?)
        };
        let last = || self.tokenizer.name(*self.end_tokens.first()?);
        TokenizerInfo {
            begin: named(begin).or_else(first),
            end: named(end).or_else(last),
            chat_template: self.chat.as_ref().map(|chat| chat.source().to_owned()),
        }
    }

    fn complete(
        &self,
        requests: &[TextRequest<'_>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<TextCompletion>, ModelError> {
        let prompts = requests.iter().map(|request| {
            let tokens = self.known(request.tokens.to_vec())?;
            Ok(Prompt::raw(tokens)?.with_logprobs(request.logprobs))
        });
        let prompts = prompts.collect::<Result<Vec<_>, DecoderError>>()?;
        let asked = requests.iter().zip(&prompts);
        let asked: Vec<_> = asked
            .map(|(request, prompt)| GenerateRequest {
                prompt,
                samples: request.samples,
                options: request.options,
            })
            .collect();
        let answers = self.answer_many(&asked, on_progress)?;
        let mut texts = Texts {
            decoder: self,
            known: HashMap::new(),
        };
        let each = answers.into_iter().zip(&prompts).map(|(answer, prompt)| {
            let samples = answer.texts.into_iter().map(|mut text| {
                let logprobs = texts.named_all(std::mem::take(&mut text.token_logprobs))?;
                Ok((text.into(), logprobs))
            });
            let samples = samples.collect::<Result<_, DecoderError>>()?;
            let mut scored = Vec::new();
            if let (Some(_), Some(&first)) = (prompt.prompt_logprobs(), prompt.tokens().first()) {
                scored.push(TokenLogprob {
                    id: first,
                    text: texts.text(first)?,
                    logprob: None,
                    top: Vec::new(),
                });
                scored.extend(texts.named_all(answer.prompt_logprobs)?);
            }
            Ok(TextCompletion {
                prompt: scored,
                samples,
            })
        });
        Ok(each.collect::<Result<_, DecoderError>>()?)
    }
}

/// A cache of the texts of tokens.
struct Texts<'a> {
    decoder: &'a Decoder,
    known: HashMap<u32, String>,
}

impl Texts<'_> {
    fn text(&mut self, id: u32) -> Result<String, DecoderError> {
        if let Some(text) = self.known.get(&id) {
            return Ok(text.clone());
        }
        let text = self.decoder.tokenizer.token_text(id)?;
        self.known.insert(id, text.clone());
        Ok(text)
    }

    fn named(&mut self, scored: TokenLogprobs) -> Result<TokenLogprob, DecoderError> {
        let top = scored.top.into_iter();
        let top = top.map(|(other, logprob)| Ok((self.text(other)?, logprob)));
        let top = top.collect::<Result<_, DecoderError>>()?;
        Ok(TokenLogprob {
            id: scored.token,
            text: self.text(scored.token)?,
            logprob: Some(scored.logprob),
            top,
        })
    }

    fn named_all(&mut self, scored: Vec<TokenLogprobs>) -> Result<Vec<TokenLogprob>, DecoderError> {
        scored.into_iter().map(|token| self.named(token)).collect()
    }
}
