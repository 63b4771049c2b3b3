//! Generating continuations token by token: many prompts, and many samples of each.

use std::ops::ControlFlow;
use std::time::Duration;

use ken_language::{Finish, GenerateOptions, Piece, Progress, Sampling, TokenLogprob};

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::sampling::TokenLogprobs;
use crate::decoder::scheduler::shared_prefix::{kept_length, shared_lengths};
use crate::decoder::scheduler::{Call, Job, Message, Work, Written};
use crate::decoder::text::prompt::Prompt;
use crate::decoder::text::token_texts::TokenTexts;

/// A request for continuations of a tokenized prompt.
pub type GenerateRequest<'a> = ken_language::GenerateRequest<'a, Prompt>;

/// A generated answer.
#[derive(Debug, Clone)]
pub struct Generation {
    /// The text, without the stop string.
    pub text: String,
    /// The generated tokens, without the end token.
    pub tokens: Vec<u32>,
    /// Natural-log probability of each token at temperature 1, then of the end token if there was one:
    /// `[tokens]` or `[tokens + 1]`.
    pub logprobs: Vec<f32>,
    /// Entropy in nats of what each of these was chosen from, at temperature 1.
    pub entropies: Vec<f32>,
    /// Of each of these how far the probability is above that of the runner-up, at temperature 1.
    /// `None` of what was not chosen greedily.
    pub margins: Option<Vec<f32>>,
    /// The log probability of each token, with the most likely tokens at its position; empty unless requested. Those that a
    /// stop string cut off are left out.
    pub(in crate::decoder) token_logprobs: Vec<TokenLogprob>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Time to read the prompt; its share where others were computed with it.
    pub prompt_time: Duration,
    /// Time to generate the answer.
    pub write_time: Duration,
}

impl Decoder {
    /// Continues one prompt. `on_text` receives the text piece by piece as soon as it can no
    /// longer change, and may cancel.
    ///
    /// # Errors
    /// As [`Decoder::generate_many`].
    pub fn generate(
        &self,
        prompt: &Prompt,
        options: &GenerateOptions,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generation, DecoderError> {
        let request = GenerateRequest {
            prompt,
            samples: 1,
            options,
        };
        let answers = self.generate_many(&[request], &mut |progress| match progress {
            Progress::Text(piece) => on_text(piece.text),
            Progress::Reading { .. } => ControlFlow::Continue(()),
        })?;
        answers
            .into_iter()
            .flatten()
            .next()
            .ok_or(DecoderError::NoSamples)
    }

    /// Continues prompts, in one batch with what other callers ask for, as much at a time as memory
    /// allows. The texts do not depend on the batch. `on_progress` is called on the caller's own
    /// thread: with the tokens read of each prompt, also while it waits, and with each text piece by
    /// piece as soon as it can no longer change. It may cancel what it is called with.
    ///
    /// # Shapes
    /// Returns `[requests][samples]`.
    ///
    /// # Errors
    /// A prompt that fills the context, a request for no sample, a full queue of callers, weights that
    /// give no numbers.
    pub fn generate_many(
        &self,
        requests: &[GenerateRequest<'_>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, DecoderError> {
        let answers = self.answer_many(requests, on_progress)?.into_iter();
        Ok(answers.map(|answer| answer.texts).collect())
    }

    /// As [`Decoder::generate_many`], with the log probabilities of the prompts.
    pub(in crate::decoder) fn answer_many(
        &self,
        requests: &[GenerateRequest<'_>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Answer>, DecoderError> {
        let context = self.context_tokens();
        for request in requests {
            let received = request.prompt.tokens().len();
            if received >= context {
                return Err(DecoderError::ContextExceeded { received, context });
            }
            if request.samples == 0 {
                return Err(DecoderError::NoSamples);
            }
        }
        let mut answers: Vec<Answer> = requests.iter().map(Answer::new).collect();
        let asked = answers.iter_mut().zip(requests).enumerate();
        let asked = asked.filter(|(_, (_, request))| {
            request.options.max_tokens > 0 || request.prompt.prompt_logprobs().is_some()
        });
        let mut asked: Vec<Asked<'_>> = asked
            .map(|(index, (answer, request))| Asked {
                index,
                request,
                answer,
            })
            .collect();
        if !asked.is_empty() {
            let call = self.scheduler.call(self.jobs(&asked)?)?;
            let mut names = TokenTexts::new(&self.tokenizer);
            receive(&call, &mut asked, &mut names, on_progress)?;
        }
        Ok(answers)
    }

    /// What the scheduler is asked for.
    fn jobs(&self, asked: &[Asked<'_>]) -> Result<Vec<Job>, DecoderError> {
        let context = self.context_tokens();
        let prompts: Vec<&Prompt> = asked.iter().map(|asked| asked.request.prompt).collect();
        let jobs = asked.iter().zip(shared_lengths(&prompts));
        let job = |(asked, shared): (&Asked<'_>, Vec<usize>)| {
            let GenerateRequest {
                prompt,
                samples,
                options,
            } = *asked.request;
            let shared = match prompt.prompt_logprobs() {
                // The log probabilities of a prefix include that of the token behind it, which has to be common as well.
                Some(_) => shared.iter().map(|length| length - 1).collect(),
                None => {
                    let kept = kept_length(prompt, &shared).filter(|_| samples == 1);
                    shared.into_iter().chain(kept).collect()
                }
            };
            let constraint = options.schema.as_ref();
            let constraint = constraint.map(|schema| self.constraint(schema));
            Ok(Job {
                prompt: prompt.clone(),
                shared,
                work: Work::Write {
                    samples,
                    sampling: options.sampling,
                    stop: options.stop.as_slice().into(),
                    constraint: constraint.transpose()?,
                    most: options
                        .max_tokens
                        .max(1)
                        .min(context - prompt.tokens().len()),
                },
            })
        };
        jobs.map(job).collect()
    }
}

/// The answers to a request.
pub(in crate::decoder) struct Answer {
    pub(in crate::decoder) texts: Vec<Generation>,
    /// The log probabilities of the prompt without its first token, if it is scored.
    pub(in crate::decoder) prompt_logprobs: Vec<TokenLogprobs>,
    /// Whether each is still being written.
    open: Vec<bool>,
    /// What was told of each.
    told: Vec<Told>,
    /// Tokens of the prompt that have been read.
    read: usize,
}

/// What was told of a text.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    /// Code points.
    length: usize,
    /// Tokens with log probabilities.
    tokens: usize,
    /// Code points of these tokens.
    tokens_length: usize,
}

impl Told {
    /// The text goes on by so many code points, of which these tokens say how likely they were; returns the index behind the last
    /// that they reach.
    fn extend(&mut self, length: usize, scored: &[TokenLogprob]) -> usize {
        self.length += length;
        let next = &scored[self.tokens.min(scored.len())..];
        for token in next {
            if self.tokens_length >= self.length {
                break;
            }
            self.tokens_length += token.text.chars().count();
            self.tokens += 1;
        }
        self.tokens
    }
}

/// A request of which something is to be written.
struct Asked<'a> {
    /// Its index among all.
    index: usize,
    request: &'a GenerateRequest<'a>,
    answer: &'a mut Answer,
}

/// Takes what is written until all texts have ended.
fn receive(
    call: &Call,
    asked: &mut [Asked<'_>],
    names: &mut TokenTexts<'_>,
    on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(), DecoderError> {
    let mut open: usize = asked.iter().map(|asked| asked.request.samples).sum();
    while open > 0 {
        match call.next()? {
            Some(Message::Read { request, tokens }) => {
                asked[request].answer.read = tokens;
                open -= asked[request].ask(call, request, on_progress);
            }
            Some(Message::PromptLogprobs { request, tokens }) => {
                asked[request].answer.prompt_logprobs = tokens;
            }
            Some(Message::Wrote(texts)) => {
                for written in texts {
                    let asked = &mut asked[written.request];
                    if asked.request.options.max_tokens > 0 {
                        asked.answer.note(&written, names)?;
                    }
                    open -= asked.take(call, written, on_progress);
                }
                call.seen();
            }
            // Nothing else is sent for a text.
            Some(_) => {}
            None => {
                for (request, asked) in asked.iter_mut().enumerate() {
                    open -= asked.ask(call, request, on_progress);
                }
            }
        }
    }
    Ok(())
}

impl Asked<'_> {
    /// Says how much of the prompt has been read. Returns how many texts that ended.
    fn ask(
        &mut self,
        call: &Call,
        job: usize,
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> usize {
        let progress = Progress::Reading {
            request: self.index,
            read: self.answer.read,
            tokens: self.request.prompt.tokens().len(),
        };
        let open = self.answer.open.iter().filter(|open| **open).count();
        if open == 0 || on_progress(progress).is_continue() {
            return 0;
        }
        call.cancel(job, None);
        for sample in 0..self.answer.texts.len() {
            self.answer.end(sample, Finish::Cancelled);
        }
        open
    }

    /// Takes what was written of a text. Returns 1 where that ended it.
    fn take(
        &mut self,
        call: &Call,
        written: Written,
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> usize {
        let Written { sample, .. } = written;
        // What was written before a cancellation was heard does not count.
        if !self.answer.open[sample] {
            return 0;
        }
        // Only the prompt is scored; reading it ends with a token that nobody asked for.
        if self.request.options.max_tokens == 0 {
            self.answer.end(sample, Finish::Length);
            return 1;
        }
        self.answer.texts[sample].take(&written);
        let told = self.tell(sample, &written.piece, false, on_progress);
        let broken_off = told.is_break();
        match written.end {
            _ if broken_off => {
                call.cancel(written.request, Some(sample));
                self.answer.end(sample, Finish::Cancelled);
            }
            None => return 0,
            Some(end) => {
                let answer = &mut self.answer;
                if end.finish == Finish::StopString {
                    let scored = &mut answer.texts[sample].token_logprobs;
                    let length = end.last_piece.chars().count();
                    let kept = { answer.told[sample] }.extend(length, scored);
                    scored.truncate(kept);
                }
                // There is nothing left to cancel.
                let _ = self.tell(sample, &end.last_piece, true, on_progress);
                self.answer.texts[sample].text = end.text;
                self.answer.end(sample, end.finish);
            }
        }
        1
    }

    /// Tells of a piece, with the tokens that it is made of; of the last piece, with all that are left.
    fn tell(
        &mut self,
        sample: usize,
        text: &str,
        is_last: bool,
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let scored = &self.answer.texts[sample].token_logprobs;
        let told = &mut self.answer.told[sample];
        let start = told.tokens;
        let reached = told.extend(text.chars().count(), scored);
        let end = if is_last { scored.len() } else { reached };
        match text.is_empty() && start == end {
            true => ControlFlow::Continue(()),
            false => on_progress(Progress::Text(Piece {
                request: self.index,
                sample,
                text,
                logprobs: &scored[start..end],
            })),
        }
    }
}

impl Answer {
    fn new(request: &GenerateRequest<'_>) -> Self {
        let greedy = request.options.sampling == Sampling::Greedy;
        let text = Generation {
            text: String::new(),
            tokens: Vec::new(),
            logprobs: Vec::new(),
            entropies: Vec::new(),
            margins: greedy.then(Vec::new),
            token_logprobs: Vec::new(),
            finish: Finish::Length,
            prompt_tokens: request.prompt.tokens().len(),
            prompt_time: Duration::ZERO,
            write_time: Duration::ZERO,
        };
        Self {
            texts: vec![text; request.samples],
            prompt_logprobs: Vec::new(),
            open: vec![true; request.samples],
            told: vec![Told::default(); request.samples],
            read: 0,
        }
    }

    /// Notes the log probabilities of what was written of a text.
    fn note(&mut self, written: &Written, names: &mut TokenTexts<'_>) -> Result<(), DecoderError> {
        if let (true, Some(scored)) = (self.open[written.sample], &written.logprobs) {
            let scored = names.named(scored)?;
            self.texts[written.sample].token_logprobs.push(scored);
        }
        Ok(())
    }

    /// Ends a text that has not ended.
    fn end(&mut self, sample: usize, finish: Finish) {
        if std::mem::take(&mut self.open[sample]) {
            self.texts[sample].finish = finish;
        }
    }
}

impl Generation {
    fn take(&mut self, written: &Written) {
        let choice = written.choice;
        if written.is_text {
            self.tokens.push(choice.token);
        }
        self.text.push_str(&written.piece);
        self.logprobs.push(choice.logprob);
        self.entropies.push(choice.entropy);
        if let Some(margins) = &mut self.margins {
            margins.extend(choice.margin);
        }
        self.prompt_time = written.prompt_time;
        self.write_time = written.write_time;
    }
}
