//! The decoder as a [`LanguageModel`].

use std::ops::ControlFlow;
use std::sync::Arc;

use ken_language::{
    CancelToken, Capabilities, ChatServer, DoesNotChoose, Finish, GenerateRequest, Generation,
    Knowledge, LanguageModel, ModelError, Piece, Progress, Prompt, Score, ScoreRequest,
    SourceChoice, SourceChooser, TextModel, Thoughts,
};

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::sources::tokens::SourceTokens;
use crate::decoder::text::prompt::{Course, Prompt as TokenPrompt};
use crate::decoder::text::prompt_form::PromptForm;
use crate::decoder::text::read_as::ReadAs;

impl Decoder {
    fn tokenized(&self, prompt: &Prompt) -> Result<TokenPrompt, DecoderError> {
        if let (Some(tokens), Some(sourced)) = (&self.sources, &prompt.sourced) {
            let read = tokens.read(sourced, &self.tokenizer)?.concat();
            let course = match sourced.knowledge {
                Knowledge::Unwritten => Course::IsContinued,
                Knowledge::Unchosen | Knowledge::Own(_) | Knowledge::Found { .. } => {
                    Course::Continues
                }
            };
            return TokenPrompt::on_course(self.known(read)?, course);
        }
        match self.reads(prompt) {
            ReadAs::Text(form) => {
                let (shared, rest) = form.text(prompt);
                self.prompt(&shared, &rest)
            }
            ReadAs::Chat => self.conversation(prompt),
        }
    }

    /// Separates thoughts from the answer to a prompt.
    fn thoughts(&self, prompt: &Prompt) -> Thoughts {
        let is_asked = !self.is_sourced(prompt) && prompt.begun.is_empty();
        let template = self
            .chat
            .as_ref()
            .filter(|_| is_asked && self.reads(prompt) == ReadAs::Chat);
        template.map_or_else(Thoughts::default, |template| template.thoughts())
    }

    /// Whether it reads a prompt with marks of sources.
    pub(in crate::decoder) fn is_sourced(&self, prompt: &Prompt) -> bool {
        self.sources.is_some() && prompt.sourced.is_some()
    }

    /// A copy whose calls end once `token` is set.
    pub fn until(&self, token: &CancelToken) -> Self {
        Self {
            cancel: self.cancel.clone().or(token),
            ..self.clone()
        }
    }

    fn all_tokenized<'p>(
        &self,
        prompts: impl Iterator<Item = &'p Prompt>,
    ) -> Result<Vec<TokenPrompt>, DecoderError> {
        prompts.map(|prompt| self.tokenized(prompt)).collect()
    }
}

/// An answer without its thoughts, after passing on the text that was held back until its end.
fn finished(
    mut answer: Generation,
    thoughts: &mut Thoughts,
    [request, sample]: [usize; 2],
    on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Generation {
    if answer.finish != Finish::Cancelled {
        let text = thoughts.finish();
        let piece = Piece {
            request,
            sample,
            text,
            logprobs: &[],
        };
        if !text.is_empty() && on_progress(Progress::Text(piece)).is_break() {
            answer.finish = Finish::Cancelled;
        }
    }
    match thoughts.has_thoughts() {
        true => without(thoughts, answer),
        false => answer,
    }
}

impl LanguageModel for Decoder {
    fn fingerprint(&self) -> &str {
        Self::fingerprint(self)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            score: true,
            logprobs: true,
            hidden_layers: Some(self.config.layers),
            converses: self.converses,
            assures: self.assures,
            examples: self.read_as != ReadAs::Text(PromptForm::Bare) && self.sources.is_none(),
        }
    }

    fn context_tokens(&self) -> usize {
        Self::context_tokens(self)
    }

    fn count_tokens(&self, text: &str) -> Result<usize, ModelError> {
        Ok(Self::count_tokens(self, text)?)
    }

    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, ModelError> {
        Ok(self.tokenized(prompt)?.tokens().len())
    }

    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        let prompts = self.all_tokenized(requests.iter().map(|request| request.prompt))?;
        let mut thoughts: Vec<Vec<Thoughts>> = requests
            .iter()
            .map(|request| vec![self.thoughts(request.prompt); request.samples])
            .collect();
        let requests: Vec<_> = requests
            .iter()
            .zip(&prompts)
            .map(|(request, prompt)| GenerateRequest::new(prompt, request.samples, request.options))
            .collect();
        let written = self.generate_many(&requests, &mut |progress| {
            let Progress::Text(piece) = progress else {
                return on_progress(progress);
            };
            let Piece {
                request, sample, ..
            } = piece;
            match thoughts[request][sample].take(piece.text) {
                "" => {
                    let tokens = prompts[request].tokens().len();
                    on_progress(Progress::Reading {
                        request,
                        read: tokens,
                        tokens,
                    })
                }
                text => on_progress(Progress::Text(Piece { text, ..piece })),
            }
        })?;
        let mut answers = Vec::with_capacity(written.len());
        for (request, (written, thoughts)) in written.into_iter().zip(&mut thoughts).enumerate() {
            let mut samples = Vec::with_capacity(written.len());
            for (sample, (written, thoughts)) in written.into_iter().zip(thoughts).enumerate() {
                let answer = Generation::from(written);
                samples.push(finished(answer, thoughts, [request, sample], on_progress));
            }
            answers.push(samples);
        }
        Ok(answers)
    }

    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        let prompts = self.all_tokenized(requests.iter().map(|request| request.prompt))?;
        let continuations: Vec<Vec<&str>> = requests
            .iter()
            .map(|request| {
                let texts = request.continuations.iter();
                texts
                    .map(|text| self.following(request.prompt, text))
                    .collect()
            })
            .collect();
        let requests: Vec<_> = prompts
            .iter()
            .zip(&continuations)
            .zip(requests)
            .map(|((prompt, continuations), request)| ScoreRequest {
                prompt,
                continuations,
                exact: request.exact,
            })
            .collect();
        let scores = self.score_many(&requests)?;
        Ok(scores
            .into_iter()
            .map(|scores| {
                scores
                    .into_iter()
                    .map(|score| Score {
                        logprobs: score.logprobs,
                    })
                    .collect()
            })
            .collect())
    }

    fn hidden(&self, prompts: &[&Prompt], layer: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        let prompts = self.all_tokenized(prompts.iter().copied())?;
        Ok(Self::hidden(
            self,
            &prompts.iter().collect::<Vec<_>>(),
            layer,
        )?)
    }

    fn source_chooser(&self) -> Result<&dyn SourceChooser, ModelError> {
        match self.sources {
            Some(_) => Ok(self),
            None => Err(ModelError::new(DoesNotChoose)),
        }
    }

    fn text_model(&self) -> Option<&dyn TextModel> {
        Some(self)
    }

    fn chat_server(&self) -> Option<&dyn ChatServer> {
        let converses = self.chat.is_some() && self.sources.is_none();
        converses.then_some(self as &dyn ChatServer)
    }

    fn bound(&self, token: &CancelToken) -> Option<Arc<dyn LanguageModel>> {
        Some(Arc::new(self.until(token)))
    }
}

impl SourceChooser for Decoder {
    fn corpora(&self) -> Vec<&str> {
        let corpora = self.sources.iter().flat_map(|sources| &sources.corpora);
        corpora.map(|corpus| corpus.name.as_str()).collect()
    }

    fn verbalizes(&self) -> bool {
        self.sources
            .as_ref()
            .is_some_and(|sources| sources.verbalizes)
    }

    fn threshold(&self) -> Option<f64> {
        self.sources.as_ref()?.threshold
    }

    fn choose_sources(
        &self,
        prompts: &[&Prompt],
        layer: usize,
    ) -> Result<Vec<SourceChoice>, ModelError> {
        let sources = self.sources.iter().flat_map(SourceTokens::of_sources);
        let sources: Vec<u32> = sources.collect();
        let prompts = self.all_tokenized(prompts.iter().copied())?;
        Ok(Self::choose_sources(self, &prompts, &sources, layer)?)
    }
}

/// The answer without the thoughts before it, and without their numbers.
fn without(thoughts: &Thoughts, answer: Generation) -> Generation {
    Generation {
        text: thoughts.answer().to_owned(),
        logprobs: None,
        entropies: None,
        margins: None,
        ..answer
    }
}

impl From<crate::decoder::scheduler::generate::Generation> for Generation {
    fn from(written: crate::decoder::scheduler::generate::Generation) -> Self {
        Self {
            text: written.text,
            refusal: None,
            tokens: written.tokens.len(),
            logprobs: Some(written.logprobs),
            entropies: Some(written.entropies),
            margins: written.margins,
            finish: written.finish,
            prompt_tokens: written.prompt_tokens,
            prompt_time: written.prompt_time,
            write_time: written.write_time,
        }
    }
}
