//! The decoder as a model that continues texts as they are.

use std::collections::HashMap;
use std::ops::ControlFlow;

use ken_language::{
    Continued, GenerateRequest, ModelError, Progress, TextForm, TextModel, TextRequest, ToldToken,
};

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::sampling::RankedToken;
use crate::decoder::text::prompt::Prompt;
use crate::decoder::text::tokenizer::Reading;

impl TextModel for Decoder {
    fn encode(&self, text: &str, with_special: bool) -> Result<Vec<u32>, ModelError> {
        let tokens = self.tokenizer.encode(text, Reading::Markup, with_special)?;
        Ok(self.known(tokens)?)
    }

    fn decode(&self, tokens: &[u32]) -> Result<String, ModelError> {
        Ok(self
            .tokenizer
            .decode_markup(&self.known(tokens.to_vec())?)?)
    }

    fn form(&self) -> TextForm {
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
        TextForm {
            begin: named(begin).or_else(first),
            end: named(end).or_else(last),
            chat_template: self.chat.as_ref().map(|chat| chat.source().to_owned()),
        }
    }

    fn continue_texts(
        &self,
        requests: &[TextRequest<'_>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Continued>, ModelError> {
        let prompts = requests.iter().map(|request| {
            let tokens = self.known(request.tokens.to_vec())?;
            Ok(Prompt::raw(tokens)?.telling(request.told))
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
                let told = texts.told_all(std::mem::take(&mut text.told))?;
                Ok((text.into(), told))
            });
            let samples = samples.collect::<Result<_, DecoderError>>()?;
            let mut text = Vec::new();
            if let (Some(_), Some(&first)) = (prompt.own_alternatives(), prompt.tokens().first()) {
                text.push(ToldToken {
                    id: first,
                    text: texts.text(first)?,
                    logprob: None,
                    alternatives: Vec::new(),
                });
                text.extend(texts.told_all(answer.told)?);
            }
            Ok(Continued { text, samples })
        });
        Ok(each.collect::<Result<_, DecoderError>>()?)
    }
}

/// The texts of tokens, each found once.
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

    fn told(&mut self, ranked: RankedToken) -> Result<ToldToken, DecoderError> {
        let alternatives = ranked.alternatives.into_iter();
        let named = alternatives.map(|(other, logprob)| Ok((self.text(other)?, logprob)));
        let alternatives = named.collect::<Result<_, DecoderError>>()?;
        Ok(ToldToken {
            id: ranked.token,
            text: self.text(ranked.token)?,
            logprob: Some(ranked.logprob),
            alternatives,
        })
    }

    fn told_all(&mut self, ranked: Vec<RankedToken>) -> Result<Vec<ToldToken>, DecoderError> {
        ranked.into_iter().map(|one| self.told(one)).collect()
    }
}
