//! Writing an answer token by token.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::Decoder;
use super::error::DecoderError;
use super::prefix::Prompt;
use super::sampling::{Sampler, Sampling, log_probability};

/// How an answer is written.
#[derive(Debug, Clone)]
pub struct GenerateOptions {
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Most tokens to write.
    pub max_tokens: usize,
    /// Strings that end the answer; they are not part of it.
    pub stop: Vec<String>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model ended it.
    End,
    /// A stop string came.
    StopString,
    /// As many tokens as allowed, or as the context holds.
    Length,
    /// The caller broke off.
    Cancelled,
}

/// A written answer.
#[derive(Debug, Clone)]
pub struct Generation {
    /// The text, without the stop string.
    pub text: String,
    /// The tokens written, an end token left out.
    pub tokens: Vec<u32>,
    /// Natural-log probability of each token at temperature 1.
    pub logprobs: Vec<f32>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Time to read the prompt.
    pub prompt_time: Duration,
    /// Time to write the answer.
    pub write_time: Duration,
}

impl Decoder {
    /// Writes a continuation of the prompt. `on_text` receives the text piece by piece as soon
    /// as it is certain, and may break off.
    ///
    /// # Errors
    /// A prompt that leaves no room in the context.
    pub fn generate(
        &self,
        prompt: &Prompt,
        options: &GenerateOptions,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generation, DecoderError> {
        let prompt_tokens = prompt.tokens().len();
        let context = self.context_tokens();
        if prompt_tokens >= context {
            return Err(DecoderError::ContextExceeded {
                received: prompt_tokens,
                context,
            });
        }
        let started = Instant::now();
        let room = options.max_tokens.min(context - prompt_tokens);
        let (mut cache, mut hidden) = self.read(prompt, room)?;
        let prompt_time = started.elapsed();

        let started = Instant::now();
        let mut sampler = Sampler::new(options.sampling);
        let mut tokens = Vec::new();
        let mut logprobs = Vec::new();
        let mut text = Certain::new(&options.stop);
        let mut finish = Finish::Length;
        while tokens.len() < room {
            let logits = self.graph.logits(&hidden)?.squeeze(0)?.to_vec1::<f32>()?;
            let token = sampler.next(&logits);
            if self.end_tokens.binary_search(&token).is_ok() {
                finish = Finish::End;
                break;
            }
            logprobs.push(log_probability(&logits, token));
            tokens.push(token);
            let piece = text.extend(&self.tokenizer.decode(&tokens)?);
            if !piece.is_empty() && on_text(piece).is_break() {
                finish = Finish::Cancelled;
                break;
            }
            if text.stopped {
                finish = Finish::StopString;
                break;
            }
            if tokens.len() < room {
                hidden = self.graph.forward(&[token], &mut cache)?;
            }
        }
        if finish != Finish::Cancelled {
            let rest = text.finish();
            if !rest.is_empty() {
                // There is nothing left to break off.
                let _ = on_text(rest);
            }
        }
        Ok(Generation {
            text: text.released().to_owned(),
            tokens,
            logprobs,
            finish,
            prompt_tokens,
            prompt_time,
            write_time: started.elapsed(),
        })
    }
}

/// The part of a growing text that can no longer change: whole characters that do not belong to
/// the beginning of a stop string.
struct Certain<'a> {
    stop: &'a [String],
    text: String,
    released: usize,
    stopped: bool,
}

impl<'a> Certain<'a> {
    fn new(stop: &'a [String]) -> Self {
        Self {
            stop,
            text: String::new(),
            released: 0,
            stopped: false,
        }
    }

    /// Takes the whole text so far and returns what became certain.
    fn extend(&mut self, whole: &str) -> &str {
        self.text = whole.to_owned();
        let found = self
            .stop
            .iter()
            .filter(|stop| !stop.is_empty())
            .filter_map(|stop| self.text.find(stop.as_str()))
            .min();
        let certain = if let Some(at) = found {
            self.text.truncate(at);
            self.stopped = true;
            at
        } else {
            let whole = self
                .text
                .trim_end_matches(char::REPLACEMENT_CHARACTER)
                .len();
            whole - self.overlap_with_stop(&self.text[..whole])
        };
        self.release(certain)
    }

    /// Ends the text: what was held back is certain now.
    fn finish(&mut self) -> &str {
        self.release(self.text.len())
    }

    fn released(&self) -> &str {
        &self.text[..self.released.min(self.text.len())]
    }

    fn release(&mut self, up_to: usize) -> &str {
        let from = self.released.min(up_to);
        if self.text.is_char_boundary(from) {
            self.released = self.released.max(up_to);
            &self.text[from..up_to]
        } else {
            // The tokenizer changed its mind about characters already given out.
            ""
        }
    }

    /// Bytes at the end of `text` that could become a stop string.
    fn overlap_with_stop(&self, text: &str) -> usize {
        self.stop
            .iter()
            .flat_map(|stop| stop.char_indices().map(|(at, _)| &stop[..at]))
            .filter(|beginning| text.ends_with(*beginning))
            .map(str::len)
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(pieces: &[&str], stop: &[&str]) -> (Vec<String>, String, bool) {
        let stop: Vec<String> = stop.iter().map(|s| (*s).to_owned()).collect();
        let mut certain = Certain::new(&stop);
        let (mut whole, mut out) = (String::new(), Vec::new());
        for piece in pieces {
            whole.push_str(piece);
            out.push(certain.extend(&whole).to_owned());
            if certain.stopped {
                break;
            }
        }
        out.push(certain.finish().to_owned());
        (out, certain.released().to_owned(), certain.stopped)
    }

    #[test]
    fn a_stop_string_is_held_back_until_it_is_whole() {
        let (out, text, stopped) = stream(&["Paris", "\n", "\nQues", "tion"], &["\n\n"]);
        assert_eq!(out, ["Paris", "", "", ""]);
        assert_eq!((text.as_str(), stopped), ("Paris", true));
    }

    #[test]
    fn what_was_held_back_for_nothing_is_given_out() {
        let (out, text, stopped) = stream(&["a\n", "b", "\n"], &["\n\n"]);
        assert_eq!(out, ["a", "\nb", "", "\n"]);
        assert_eq!((text.as_str(), stopped), ("a\nb\n", false));
    }

    #[test]
    fn half_a_character_waits() {
        let (out, text, _) = stream(&["caf", "\u{fffd}"], &[]);
        assert_eq!(out, ["caf", "", "\u{fffd}"]);
        assert_eq!(text, "caf\u{fffd}");
    }

    proptest! {
        #[test]
        fn pieces_make_up_the_text_before_the_stop(pieces in prop::collection::vec("[ab.]{0,3}", 0..12)) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (out, text, stopped) = stream(&pieces, &["a.", "..b"]);
            let whole = pieces.concat();
            let end = [whole.find("a."), whole.find("..b")].into_iter().flatten().min();
            prop_assert_eq!(out.concat(), &text[..]);
            prop_assert_eq!(stopped, end.is_some());
            if let Some(end) = end {
                prop_assert_eq!(text, &whole[..end]);
            } else {
                prop_assert_eq!(text, whole);
            }
        }
    }
}
