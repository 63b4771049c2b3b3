//! Invariants of the running batch whatever its callers do: a caller that leaves, does not read, asks for too much or
//! breaks something does not affect others.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ken_language::{
    CancelToken, Finish, GenerateOptions, LanguageModel, Progress, Sampling, ScoreRequest,
};
use ken_testing::{fails, has, holds, with};
use serde_json::json;

use super::*;
use crate::decoder::text::prompt::Prompt;
use crate::decoder::{Decoder, GenerateRequest, Generation, PromptForm, Untrained};

const WORDS: u32 = 32;
const CONTEXT: usize = 4096;

/// A small model with weights of which no two are alike.
pub(in crate::decoder) fn decoder(folder: &Path, options: &LoadOptions) -> Decoder {
    let words: serde_json::Map<_, _> = (0..WORDS)
        .map(|word| (format!("w{word}"), json!(word)))
        .collect();
    let tokenizer = json!({
        "version": "1.0", "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "w1"},
    });
    let untrained = Untrained {
        vocabulary: WORDS as usize,
        hidden: 16,
        intermediate: 32,
        layers: 2,
        heads: 2,
        context: CONTEXT,
        end_token: 0,
        prompt: PromptForm::Bare,
    };
    let mut number = 0.0_f32;
    let mut normal = || {
        number += 1.0;
        20.0 * (number * 0.7).sin()
    };
    untrained.write(folder, &tokenizer, &mut normal).unwrap();
    Decoder::load(folder, options).unwrap()
}

fn new(options: &LoadOptions) -> Decoder {
    let folder = tempfile::tempdir().unwrap();
    decoder(folder.path(), options)
}

/// A prompt of this many tokens.
pub(super) fn prompt(first: u32, tokens: usize) -> Prompt {
    let tokens = (0..tokens as u32).map(|place| 1 + (first + place * 7) % (WORDS - 1));
    Prompt::new(tokens.collect(), &[]).unwrap()
}

fn sampled(max_tokens: usize) -> GenerateOptions {
    GenerateOptions::new(Sampling::at(1.0, 3), max_tokens)
}

fn go_on(_: Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn write(
    decoder: &Decoder,
    prompt: &Prompt,
    samples: usize,
    on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Vec<Generation>, DecoderError> {
    let options = sampled(20);
    let request = GenerateRequest::new(prompt, samples, &options);
    Ok(decoder.generate_many(&[request], on_progress)?.remove(0))
}

fn tokens(texts: &[Generation]) -> Vec<&[u32]> {
    texts.iter().map(|text| text.tokens.as_slice()).collect()
}

pub(super) fn job(prompt: Prompt, samples: usize, most: usize) -> Job {
    Job {
        prompt,
        shared: Vec::new(),
        work: Work::Write {
            samples,
            sampling: Sampling::at(1.0, 3),
            stop: [].into(),
            constraint: None,
            most,
        },
    }
}

/// Runs one piece of work while another caller keeps the batch busy.
fn beside_others(decoder: &Decoder, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    let started = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let prompts: Vec<Prompt> = (0..2000).map(|first| prompt(first, 9)).collect();
            let options = sampled(300);
            let requests = prompts
                .iter()
                .map(|prompt| GenerateRequest::new(prompt, 4, &options));
            let requests: Vec<_> = requests.collect();
            let mut until_done = |_: Progress<'_>| {
                started.store(true, Ordering::Relaxed);
                ken_language::break_if(done.load(Ordering::Relaxed))
            };
            let texts = decoder.generate_many(&requests, &mut until_done).unwrap();
            assert!(
                texts
                    .concat()
                    .iter()
                    .any(|text| text.finish == Finish::Cancelled)
            );
        });
        while !started.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        work();
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_small_call_is_served_beside_a_huge_one_and_reads_in_pieces() {
    let decoder = new(&LoadOptions::default());
    let long = prompt(3, 1000);
    let alone = write(&decoder, &long, 3, &mut go_on).unwrap();
    let mut read = Vec::new();
    beside_others(&decoder, || {
        let together = write(&decoder, &long, 3, &mut |progress| {
            if let Progress::Reading { read: now, .. } = progress {
                read.push(now);
            }
            ControlFlow::Continue(())
        });
        assert_eq!(tokens(&together.unwrap()), tokens(&alone));
    });
    assert_eq!((read[0], read[read.len() - 1]), (0, 1000));
    holds!("{read:?}" => read.windows(2).all(|pair| pair[1] - pair[0] <= 64));
}

#[test]
fn a_long_prompt_that_was_read_is_not_read_again() {
    let decoder = new(&LoadOptions::default());
    let (long, short) = (prompt(3, 3500), prompt(3, 100));
    let written = |prompt: &Prompt| {
        let mut read = Vec::new();
        let text = write(&decoder, prompt, 1, &mut |progress| {
            if let Progress::Reading { read: tokens, .. } = progress {
                read.push(tokens);
            }
            ControlFlow::Continue(())
        });
        let text = text.unwrap();
        (text[0].tokens.clone(), text[0].logprobs.clone(), read)
    };
    let first = written(&long);
    written(&short);
    let again = written(&long);
    assert!(
        again.2.len() < first.2.len(),
        "{:?} after {:?}",
        again.2,
        first.2
    );
    assert_eq!((first.0, first.1), (again.0, again.1), "it changes nothing");
}

#[test]
fn a_caller_that_goes_away_while_its_prompt_is_read_frees_its_place() {
    // Without spare memory there is room for one.
    let decoder = new(&with!(LoadOptions::default(), cache_bytes: 1));
    let long = prompt(3, 3000);
    let short = prompt(5, 4);
    let alone = write(&decoder, &short, 2, &mut go_on).unwrap();
    let texts = write(&decoder, &long, 2, &mut |_| ControlFlow::Break(())).unwrap();
    assert!(texts.iter().all(|text| text.finish == Finish::Cancelled));
    assert!(texts.iter().all(|text| text.tokens.is_empty()));
    // One that leaves without saying so.
    drop(decoder.scheduler.call(vec![job(long, 2, 1000)]).unwrap());
    let after = write(&decoder, &short, 2, &mut go_on).unwrap();
    assert_eq!(tokens(&after), tokens(&alone));
}

#[test]
fn scoring_that_nobody_waits_for_ends_and_leaves_the_batch() {
    let decoder = new(&LoadOptions::default());
    let text: String = "w3 w5 w7 ".repeat(1000);
    let examples = ken_language::Examples::Fixed(&[]);
    let prompt = ken_language::Prompt::new("", examples, text.trim().to_owned());
    let request = || ScoreRequest::new(&prompt, &[" w2"]);
    // Set from its first check on, once the call has begun.
    let looks = AtomicUsize::new(0);
    let token = CancelToken::when(move || looks.fetch_add(1, Ordering::SeqCst) > 0);
    let bound = LanguageModel::bound(&decoder, &token).unwrap();
    fails!(bound.score(&[request(), request(), request()]) => "interrupted");
    // Its requests are no longer computed, and others are served as before.
    let whole = LanguageModel::score(&decoder, &[request()]).unwrap();
    assert_eq!(whole[0][0].logprobs.len(), 1);
}

#[test]
fn a_caller_that_never_reads_holds_up_nobody() {
    let decoder = new(&LoadOptions::default());
    let short = prompt(5, 4);
    let alone = write(&decoder, &short, 2, &mut go_on).unwrap();
    let silent = decoder
        .scheduler
        .call(vec![job(prompt(2, 100), 3, 50)])
        .unwrap();
    let after = write(&decoder, &short, 2, &mut go_on).unwrap();
    assert_eq!(tokens(&after), tokens(&alone));
    // Waiters for it end with its texts.
    let (mut ended, mut written) = (0, 0);
    while ended < 3 {
        if let Message::Wrote(texts) = silent.wait(&CancelToken::default()).unwrap() {
            written += texts.len();
            ended += texts.iter().filter(|text| text.end.is_some()).count();
        }
    }
    assert!(written <= 3 * 50);
    assert!(silent.next().unwrap().is_none());
}

#[test]
fn a_full_queue_is_an_error_that_names_the_limit() {
    let decoder = new(&with!(LoadOptions::default(), most_waiting: 2));
    let short = prompt(5, 4);
    let seat = || Seat::take(&decoder.scheduler.waiting, 2);
    let first = seat().unwrap();
    let second = seat().unwrap();
    assert!(seat().is_none());
    let error = write(&decoder, &short, 1, &mut go_on).unwrap_err();
    has!(error, kind(): "queue_full",
        to_string(): "2 callers are waiting for the model already, and no more may");
    drop(second);
    // The bound is on callers, not on their requests.
    let prompts: Vec<Prompt> = (0..3000).map(|first| prompt(first, 3)).collect();
    let prompts: Vec<&Prompt> = prompts.iter().collect();
    assert_eq!(decoder.hidden(&prompts, 1).unwrap().len(), 3000);
    // Its seat was free as soon as its first request was admitted.
    drop(first);
    assert_eq!(decoder.scheduler.waiting.load(Ordering::Relaxed), 0);
}

#[test]
fn a_prompt_without_end_is_refused_at_once() {
    let decoder = new(&LoadOptions::default());
    let endless = prompt(1, 1_000_000);
    beside_others(&decoder, || {
        fails!(write(&decoder, &endless, 1, &mut go_on) => "context_exceeded");
        fails!(decoder.score(&endless, &["w3"]) => "context_exceeded");
        fails!(decoder.hidden(&[&endless], 1) => "context_exceeded");
    });
}

#[test]
fn a_panic_reaches_its_caller_and_the_batch_goes_on() {
    let decoder = new(&LoadOptions::default());
    let short = prompt(5, 4);
    let alone = write(&decoder, &short, 2, &mut go_on).unwrap();
    // There is no embedding for this token.
    let broken = Prompt::new(vec![1, WORDS + 5], &[]).unwrap();
    fails!(write(&decoder, &broken, 2, &mut go_on) => "broken_off");
    let broken = Prompt::new(vec![1, WORDS + 5, 3], &[1, WORDS + 5]).unwrap();
    fails!(decoder.score(&broken, &["w3", "w4 w5"]) => "broken_off");
    fails!(decoder.hidden(&[&broken], 1) => "broken_off");
    let after = write(&decoder, &short, 2, &mut go_on).unwrap();
    assert_eq!(tokens(&after), tokens(&alone));
}

#[test]
fn the_threads_end_with_the_decoder() {
    let decoder = new(&LoadOptions::default());
    write(&decoder, &prompt(5, 4), 1, &mut go_on).unwrap();
    let held_by_thread = Arc::downgrade(&decoder.tokenizer);
    drop(decoder);
    assert!(held_by_thread.upgrade().is_none());
}
