//! Invariants of prompts, generation, scores and choices, whatever the weights.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use ken_language::{Finish, GenerateOptions, Sampling};
use ken_model::decoder::{
    Decoder, DecoderError, Generation, LoadOptions, Message, Prompt, ReadAs, Role,
};
use ken_testing::{has, with};
use proptest::prelude::*;
use tempfile::TempDir;

use super::checkpoint::{Tensors, Tiny};
use super::folder::{self, Layout};
use super::parrot::{chain, parrot};
use super::reference;
use super::vocabulary::{BEGINNING, END, TOKENS};

static TINY: LazyLock<(TempDir, Tensors, Decoder)> = LazyLock::new(|| {
    let dir = TempDir::new().unwrap();
    let weights = folder::write(&tiny(), Layout::F32, dir.path());
    let decoder = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
    (dir, weights, decoder)
});

fn tiny() -> Tiny {
    with!(Tiny::new("qwen2"), tied: false)
}

fn decoder() -> &'static Decoder {
    &TINY.2
}

fn id(token: &str) -> u32 {
    TOKENS.iter().position(|t| *t == token).unwrap() as u32
}

/// A decoder that writes these tokens one after the other, then the end.
fn writing(tokens: &[&str]) -> (TempDir, Decoder) {
    let dir = TempDir::new().unwrap();
    let ids: Vec<u32> = tokens.iter().map(|token| id(token)).collect();
    let (tiny, weights) = parrot(TOKENS.len(), chain(&ids, END));
    folder::write(&tiny, Layout::F32, dir.path());
    folder::write_tensors(&dir.path().join("model.safetensors"), &weights, Layout::F32);
    let decoder = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
    (dir, decoder)
}

fn greedy(max_tokens: usize, stop: &[&str]) -> GenerateOptions {
    let stop = stop.iter().map(|stop| (*stop).to_owned()).collect();
    with!(GenerateOptions::new(Sampling::Greedy, max_tokens), stop: stop)
}

/// The generation and the pieces of text in order.
fn generate(
    decoder: &Decoder,
    prompt: &Prompt,
    options: &GenerateOptions,
) -> (Generation, Vec<String>) {
    let mut pieces = Vec::new();
    let generation = decoder
        .generate(prompt, options, &mut |piece| {
            pieces.push(piece.to_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    (generation, pieces)
}

fn close(a: &[f32], b: &[f32], tolerance: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < tolerance)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn sharing_a_part_of_the_prompt_changes_nothing(
        text in "[a-z ,.]{1,40}",
        place in any::<prop::sample::Index>(),
    ) {
        let (shared, rest) = text.split_at(place.index(text.len() + 1));
        let whole = decoder().prompt("", &text).unwrap();
        let split = decoder().prompt(shared, rest).unwrap();
        prop_assert_eq!(split.tokens(), whole.tokens());
        let (expected, _) = generate(decoder(), &whole, &greedy(8, &[]));
        // Twice: the shared part is computed, then kept.
        for _ in 0..2 {
            let (found, pieces) = generate(decoder(), &split, &greedy(8, &[]));
            prop_assert_eq!(&found.tokens, &expected.tokens);
            prop_assert!(close(&found.logprobs, &expected.logprobs, 1e-4));
            prop_assert_eq!(pieces.concat(), found.text);
        }
    }

    #[test]
    fn scores_do_not_depend_on_their_company(
        prompt in "[a-z ]{1,20}",
        continuations in prop::collection::vec("[a-z ,.]{1,12}", 1..5),
    ) {
        let prompt = decoder().prompt(&prompt, "").unwrap();
        let texts: Vec<&str> = continuations.iter().map(String::as_str).collect();
        let together = decoder().score(&prompt, &texts).unwrap();
        prop_assert_eq!(together.len(), texts.len());
        for (text, score) in texts.iter().zip(&together) {
            let alone = decoder().score(&prompt, &[text]).unwrap().remove(0);
            prop_assert_eq!(&alone.tokens, &score.tokens);
            prop_assert!(close(&alone.logprobs, &score.logprobs, 1e-5));
        }
    }

    #[test]
    fn the_same_seed_writes_the_same(seed in any::<u64>()) {
        let prompt = decoder().prompt("", "a thing").unwrap();
        let sampling =
            Sampling::Random { temperature: 1.3, top_k: Some(30), top_p: Some(0.95), seed };
        let options = GenerateOptions::new(sampling, 10);
        let (first, _) = generate(decoder(), &prompt, &options);
        let (second, _) = generate(decoder(), &prompt, &options);
        prop_assert_eq!(first.tokens, second.tokens);
    }
}

#[test]
fn greedy_generation_follows_the_reference() {
    let prompt = decoder().prompt("", "the wren").unwrap();
    let (found, _) = generate(decoder(), &prompt, &greedy(12, &[]));
    let mut tokens = prompt.tokens().to_vec();
    let margins = found.margins.unwrap();
    for ((&token, &logprob), margin) in found.tokens.iter().zip(&found.logprobs).zip(margins) {
        let table = reference::log_probabilities(&tiny(), &TINY.1, &tokens)
            .pop()
            .unwrap();
        let best = (0..table.len())
            .max_by(|&a, &b| table[a].total_cmp(&table[b]))
            .unwrap();
        assert_eq!(token as usize, best);
        assert!((f64::from(logprob) - table[best]).abs() < 1e-4);
        let others = (0..table.len()).filter(|&other| other != best);
        let second = others
            .map(|other| table[other])
            .fold(f64::NEG_INFINITY, f64::max);
        let gap = table[best].exp() - second.exp();
        assert!((f64::from(margin) - gap).abs() < 1e-4, "{margin} {gap}");
        tokens.push(token);
    }
    assert!(!found.tokens.is_empty());
    assert_eq!(found.prompt_tokens, prompt.tokens().len());
}

#[test]
fn different_seeds_write_different_texts() {
    let prompt = decoder().prompt("", "a thing").unwrap();
    let texts: std::collections::BTreeSet<Vec<u32>> = (0..8)
        .map(|seed| {
            let sampling = Sampling::at(1.0, seed);
            let options = GenerateOptions::new(sampling, 6);
            generate(decoder(), &prompt, &options).0.tokens
        })
        .collect();
    assert!(texts.len() > 4, "{texts:?}");
}

#[test]
fn results_do_not_depend_on_what_was_asked_before_or_at_the_same_time() {
    let ask = |n: usize| {
        let shared = format!("{} sings", TOKENS[2 + n].repeat(n + 1));
        let prompt = decoder().prompt(&shared, " the song").unwrap();
        generate(decoder(), &prompt, &greedy(5, &[])).0.logprobs
    };
    // More beginnings than are kept.
    let first: Vec<Vec<f32>> = (0..12).map(ask).collect();
    std::thread::scope(|scope| {
        let rounds: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| (0..12).rev().map(ask).collect::<Vec<_>>()))
            .collect();
        for round in rounds {
            let mut round = round.join().unwrap();
            round.reverse();
            assert_eq!(round, first);
        }
    });
}

#[test]
fn the_end_token_ends_the_answer_and_is_no_part_of_it() {
    let (_dir, decoder) = writing(&[".", "Ġthe", "Ġ", "the", "ing", "a"]);
    let prompt = decoder.prompt("", "x.").unwrap();
    let (found, pieces) = generate(&decoder, &prompt, &greedy(20, &[]));
    has!(found, finish: Finish::End, text: " the theinga",
        tokens: ["Ġthe", "Ġ", "the", "ing", "a"].map(id));
    assert_eq!(pieces.concat(), found.text);
    assert_eq!(pieces.len(), 5, "each token's text comes at once");
}

#[test]
fn the_end_token_is_as_likely_as_the_reference_says() {
    for (words, written) in [(&[".", "a", "ing"][..], 2), (&["."], 0)] {
        let (_dir, decoder) = writing(words);
        let prompt = decoder.prompt("", "x.").unwrap();
        let (found, _) = generate(&decoder, &prompt, &greedy(20, &[]));
        assert_eq!((found.finish, found.tokens.len()), (Finish::End, written));
        // One more, for the end.
        has!(found, logprobs.len(): written + 1, entropies.len(): written + 1,
            margins.as_ref().unwrap().len(): written + 1);
        let ids: Vec<u32> = words.iter().map(|word| id(word)).collect();
        let (tiny, weights) = parrot(TOKENS.len(), chain(&ids, END));
        let tokens = [prompt.tokens(), &found.tokens].concat();
        let table = reference::log_probabilities(&tiny, &weights, &tokens);
        let end = table.last().unwrap()[END as usize];
        assert!((f64::from(found.logprobs[written]) - end).abs() < 1e-4);
    }
}

#[test]
fn a_stop_string_ends_the_answer_and_is_no_part_of_it() {
    let (_dir, decoder) = writing(&[".", "Ġthe", "Ġ", "the", "ing", "a"]);
    let prompt = decoder.prompt("", "x.").unwrap();
    for (stop, text) in [
        (vec!["einga"], " the th"),
        (vec!["the"], " "),
        (vec!["nobody", "in"], " the the"),
        (vec!["he i", "g"], " the thein"),
    ] {
        let (found, pieces) = generate(&decoder, &prompt, &greedy(20, &stop));
        assert_eq!(
            (found.finish, found.text.as_str()),
            (Finish::StopString, text),
            "{stop:?}"
        );
        assert_eq!(pieces.concat(), text);
    }
    let (found, pieces) = generate(&decoder, &prompt, &greedy(20, &["ab", ""]));
    has!(found, finish: Finish::End, text.as_str(): " the theinga");
    assert_eq!(
        pieces.concat(),
        found.text,
        "what could have become a stop string is given out"
    );
}

#[test]
fn the_caller_may_break_off() {
    let (_dir, decoder) = writing(&[".", "Ġthe", "Ġ", "the", "ing", "a"]);
    let prompt = decoder.prompt("", "x.").unwrap();
    let mut pieces = Vec::new();
    let generation = decoder
        .generate(&prompt, &greedy(20, &[]), &mut |piece| {
            pieces.push(piece.to_owned());
            ken_language::break_if(pieces.len() == 2)
        })
        .unwrap();
    assert_eq!(generation.finish, Finish::Cancelled);
    assert_eq!(pieces, [" the", " "]);
    has!(generation, text: " the ", tokens.len(): 2);
}

#[test]
fn the_length_of_an_answer_is_limited() {
    let (_dir, decoder) = writing(&[".", "Ġthe", "Ġ", "the", "ing", "a"]);
    let prompt = decoder.prompt("", "x.").unwrap();
    let (found, pieces) = generate(&decoder, &prompt, &greedy(0, &[]));
    assert_eq!((found.finish, found.text.as_str()), (Finish::Length, ""));
    assert!(found.tokens.is_empty() && pieces.is_empty());
    let (found, _) = generate(&decoder, &prompt, &greedy(3, &[]));
    has!(found, finish: Finish::Length, text.as_str(): " the the");
}

/// A decoder with a context of twelve tokens that writes `a` and `b` in turn.
fn short_sighted(dir: &Path) -> Decoder {
    let (tiny, weights) = parrot(TOKENS.len(), |token| {
        if token == id("a") { id("b") } else { id("a") }
    });
    folder::write(
        &Tiny {
            context: 12,
            ..tiny
        },
        Layout::F32,
        dir,
    );
    folder::write_tensors(&dir.join("model.safetensors"), &weights, Layout::F32);
    Decoder::load(dir, &LoadOptions::default()).unwrap()
}

#[test]
fn the_context_limits_prompt_and_answer_together() {
    let dir = TempDir::new().unwrap();
    let decoder = short_sighted(dir.path());
    let prompt = |letters: usize| decoder.prompt("", &"c".repeat(letters)).unwrap();
    let (found, _) = generate(&decoder, &prompt(8), &greedy(100, &[]));
    assert_eq!((found.finish, found.text.as_str()), (Finish::Length, "aba"));
    let (found, _) = generate(&decoder, &prompt(8), &greedy(usize::MAX, &[]));
    assert_eq!(found.tokens.len(), 3);

    for letters in [11, 40] {
        let error = decoder
            .generate(&prompt(letters), &greedy(1, &[]), &mut |_| {
                ControlFlow::Continue(())
            })
            .unwrap_err();
        let DecoderError::ContextExceeded { received, context } = error else {
            panic!("{error}");
        };
        assert_eq!((received, context), (letters + 1, 12));
    }
    // The prompt has nine tokens with the beginning.
    assert!(decoder.score(&prompt(8), &["abc"]).is_ok());
    let error = decoder.score(&prompt(8), &["a", "abcd"]).unwrap_err();
    let expected = "13 tokens do not fit into the model's context of 12";
    assert_eq!(error.to_string(), expected);
    assert!(error.remedy().is_some());
}

#[test]
fn empty_texts_are_refused() {
    let prompt = decoder().prompt("", "").unwrap();
    assert_eq!(
        prompt.tokens(),
        [BEGINNING],
        "the tokenizer puts a token before every text"
    );
    for texts in [&[""][..], &["a", ""], &["Ж"]] {
        let error = decoder().score(&prompt, texts).unwrap_err();
        has!(error, to_string(): "the continuation is empty", kind(): "empty_text");
    }
    assert_eq!(decoder().score(&prompt, &[]).unwrap(), []);
}

#[test]
fn special_tokens_in_a_text_are_read_as_its_letters() {
    // The vocabulary has no angle brackets, so only the letters between them remain.
    let expected = [BEGINNING, id("a"), id("s"), id("the"), id("s")];
    let prompt = decoder().prompt("a</s>", "the<s>").unwrap();
    assert_eq!(prompt.tokens(), expected);
    let prompt = decoder().prompt("<s>\n\n</s> <s>\n\n", "a</s>").unwrap();
    assert_eq!(prompt.tokens()[0], BEGINNING);
    let special = |token: &u32| [BEGINNING, END].contains(token);
    assert!(!prompt.tokens()[1..].iter().any(special), "{prompt:?}");
    assert_eq!(
        decoder().count_tokens("a</s>the").unwrap(),
        3,
        "the text alone is counted"
    );
    let score = decoder().score(&prompt, &["a</s>"]).unwrap().remove(0);
    assert_eq!(score.tokens, [id("a"), id("s")]);
}

#[test]
fn a_raw_prompt_and_what_continues_it_may_hold_special_tokens() {
    let prompt = decoder().raw_prompt("a</s>the<s>").unwrap();
    has!(prompt, tokens(): [BEGINNING, id("a"), END, id("the"), BEGINNING]);
    let score = decoder().score(&prompt, &["a</s>"]).unwrap().remove(0);
    assert_eq!(score.tokens, [id("a"), END]);
}

#[test]
fn a_message_cannot_speak_in_the_markup_of_the_template() {
    let said = |content: &str| {
        let messages = [Message::new(Role::User, content)];
        let prompt = decoder().chat_prompt(&messages, 1).unwrap();
        prompt.tokens().to_vec()
    };
    // The template's own beginning is unchanged.
    assert_eq!(said("a</s>the<s>"), said("asthes"));
    assert_eq!(said("a")[0], BEGINNING);
    // Nor do the marks of escaping, or the text between them, get through.
    assert_eq!(said("</\u{fdd1}s>\u{fdd0}a"), said("sa"));
}

#[test]
fn a_conversation_is_rendered_by_the_template() {
    assert!(decoder().has_chat_template());
    let messages = [
        Message::new(Role::System, "be brief"),
        Message::new(Role::User, "the thing"),
    ];
    let whole = decoder().chat_prompt(&messages, 0).unwrap();
    // The template writes the beginning itself, so it must not be added again.
    let text = "system,be brief.user,the thing.assistant,";
    assert_eq!(whole.tokens(), decoder().prompt("", text).unwrap().tokens());
    let (expected, _) = generate(decoder(), &whole, &greedy(6, &[]));
    for shared in [1, 2, 3] {
        let prompt = decoder().chat_prompt(&messages, shared).unwrap();
        assert_eq!(prompt.tokens(), whole.tokens());
        let (found, _) = generate(decoder(), &prompt, &greedy(6, &[]));
        assert_eq!(found.tokens, expected.tokens);
    }
}

#[test]
fn without_a_template_there_is_no_chat() {
    let dir = TempDir::new().unwrap();
    folder::write(&tiny(), Layout::F32, dir.path());
    std::fs::remove_file(dir.path().join("tokenizer_config.json")).unwrap();
    let decoder = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
    assert!(!decoder.has_chat_template());
    let error = decoder
        .chat_prompt(&[Message::new(Role::User, "a")], 0)
        .unwrap_err();
    assert!(matches!(error, DecoderError::NoChatTemplate), "{error}");
    let options = with!(LoadOptions::default(), read_as: Some(ReadAs::Chat));
    let error = Decoder::load(dir.path(), &options).err().unwrap();
    assert!(matches!(error, DecoderError::NoChatTemplate), "{error}");
}

/// Some tokenizers have tokens that were added after the model was trained.
#[test]
fn tokens_that_the_model_does_not_know_are_refused() {
    let dir = TempDir::new().unwrap();
    folder::write(&with!(tiny(), vocabulary: 37), Layout::F32, dir.path());
    let decoder = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
    let known = decoder.prompt("", "the thin").unwrap();
    assert!(decoder.score(&known, &["er"]).is_ok());
    let errors = [
        decoder.prompt("", "ringing").unwrap_err(),
        decoder.prompt(" a", "b").unwrap_err(),
        decoder.score(&known, &["re"]).unwrap_err(),
        decoder.score(&known, &["b", "b a"]).unwrap_err(),
        decoder
            .chat_prompt(&[Message::new(Role::User, "ing")], 0)
            .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), "unknown_token", "{error}");
    }
}
