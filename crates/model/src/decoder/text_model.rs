//! The decoder as a model that continues text unchanged.

use std::ops::ControlFlow;

use ken_language::{
    GenerateRequest, ModelError, Progress, TextCompletion, TextModel, TextRequest, TokenLogprob,
    TokenizerInfo,
};

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::text::prompt::Prompt;
use crate::decoder::text::token_texts::TokenTexts;
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
            .map(|(request, prompt)| GenerateRequest::new(prompt, request.samples, request.options))
            .collect();
        let answers = self.answer_many(&asked, on_progress)?;
        let mut names = TokenTexts::new(&self.tokenizer);
        let generations = answers.into_iter().zip(&prompts).map(|(answer, prompt)| {
            let samples = answer.texts.into_iter().map(|mut text| {
                let logprobs = std::mem::take(&mut text.token_logprobs);
                (text.into(), logprobs)
            });
            let samples = samples.collect();
            let mut scored = Vec::new();
            if let (Some(_), Some(&first)) = (prompt.prompt_logprobs(), prompt.tokens().first()) {
                scored.push(TokenLogprob {
                    id: first,
                    text: names.text(first)?,
                    logprob: None,
                    top: Vec::new(),
                });
                for token in &answer.prompt_logprobs {
                    scored.push(names.named(token)?);
                }
            }
            Ok(TextCompletion {
                prompt: scored,
                samples,
            })
        });
        Ok(generations.collect::<Result<_, DecoderError>>()?)
    }
}
