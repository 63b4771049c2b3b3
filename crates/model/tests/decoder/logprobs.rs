//! Text continued unchanged: the log probabilities agree with scores and with generation, alone and in a batch.

use std::iter::zip;
use std::ops::ControlFlow;

use ken_language::{
    Finish, GenerateOptions, LogprobOptions, Sampling, TextCompletion, TextModel, TextRequest,
    TokenLogprob,
};
use ken_model::decoder::Decoder;
use ken_testing::with;
use proptest::prelude::*;

use super::batches::TINY;

const SCORED: LogprobOptions = LogprobOptions {
    top: 3,
    prompt: true,
};

fn continued(
    decoder: &Decoder,
    texts: &[Vec<u32>],
    max_tokens: usize,
    logprobs: Option<LogprobOptions>,
) -> Vec<TextCompletion> {
    let options = GenerateOptions::new(Sampling::Greedy, max_tokens);
    let requests: Vec<_> = texts
        .iter()
        .map(|tokens| TextRequest {
            tokens,
            samples: 1,
            options: &options,
            logprobs,
        })
        .collect();
    decoder
        .complete(&requests, &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

fn logprobs(tokens_written: &[TokenLogprob]) -> Vec<f32> {
    tokens_written
        .iter()
        .filter_map(|token| token.logprob)
        .collect()
}

/// The likeliest comes first, and no token is more likely.
fn is_in_order(token: &TokenLogprob) -> bool {
    let likely: Vec<f32> = token.top.iter().map(|(_, logprob)| *logprob).collect();
    likely.len() == 3
        && likely.is_sorted_by(|one, next| one >= next)
        && token.logprob.is_some_and(|own| own <= likely[0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn log_probabilities_are_those_of_scoring_and_generation_in_any_batch(
        heads in prop::collection::vec("[a-z ,.]{40,50}", 2),
        ends in prop::collection::vec((0_usize..3, "[a-z ,.]{2,30}"), 1..6),
        max_tokens in 0usize..6,
    ) {
        // Some begin alike, with more than is read once for all.
        let text = |(head, end): &(usize, String)| heads.get(*head).cloned().unwrap_or_default() + end;
        let texts: Vec<String> = ends.iter().map(text).collect();
        // These backends compute bit for bit the same in any batch.
        for decoder in [&TINY.2[0], &TINY.2[1], &TINY.2[3]] {
            let tokens = texts.iter().map(|text| decoder.encode(text, true).unwrap());
            let tokens: Vec<Vec<u32>> = tokens.collect();
            let together = continued(decoder, &tokens, max_tokens, Some(SCORED));
            for (tokens, together) in zip(&tokens, &together) {
                let alone = continued(decoder, std::slice::from_ref(tokens), max_tokens, Some(SCORED));
                prop_assert_eq!(&alone[0].prompt, &together.prompt);
                prop_assert_eq!(&alone[0].samples[0].1, &together.samples[0].1);

                let TextCompletion { prompt, samples } = together;
                let ids: Vec<u32> = prompt.iter().map(|token| token.id).collect();
                prop_assert_eq!(&ids, tokens);
                prop_assert_eq!(prompt[0].logprob, None);
                prop_assert!(prompt[1..].iter().all(is_in_order));
                let (first, rest) = (decoder.decode(&tokens[..1]).unwrap(), decoder.decode(&tokens[1..]).unwrap());
                if decoder.encode(&first, true).unwrap() == tokens[..1] && !rest.is_empty() {
                    let scored = decoder.score(&decoder.raw_prompt(&first).unwrap(), &[&rest]).unwrap();
                    if scored[0].tokens == tokens[1..] {
                        prop_assert_eq!(&scored[0].logprobs, &logprobs(prompt));
                    }
                }

                let (written, tokens_written) = &samples[0];
                let own = written.logprobs.as_deref().unwrap_or_default();
                prop_assert_eq!(own, &logprobs(tokens_written)[..]);
                prop_assert!(tokens_written.len() <= max_tokens);
                prop_assert!(tokens_written.iter().all(is_in_order));
                for token in tokens_written {
                    prop_assert_eq!(token.logprob, Some(token.top[0].1));
                }
                if max_tokens == 0 {
                    prop_assert_eq!(written.finish, Finish::Length);
                    prop_assert!(written.text.is_empty());
                }
                // Token by token it is the text that is scored next.
                let whole: Vec<u32> = [tokens.clone(), tokens_written.iter().map(|token| token.id).collect()].concat();
                let again = continued(decoder, &[whole], 0, Some(SCORED));
                prop_assert_eq!(&again[0].prompt[tokens.len()..], &tokens_written[..]);
            }
        }
    }
}

#[test]
fn log_probabilities_come_only_on_request_and_bad_tokens_are_refused() {
    let decoder = &TINY.2[0];
    let tokens = decoder.encode("ab cd", true).unwrap();
    let plain = continued(decoder, std::slice::from_ref(&tokens), 4, None);
    assert!(plain[0].prompt.is_empty() && plain[0].samples[0].1.is_empty());
    let only_written = with!(SCORED, prompt: false);
    let written = continued(
        decoder,
        std::slice::from_ref(&tokens),
        4,
        Some(only_written),
    );
    assert!(written[0].prompt.is_empty());
    let (text, tokens_written) = &written[0].samples[0];
    assert_eq!(
        Some(tokens_written.len()),
        text.logprobs.as_ref().map(Vec::len)
    );

    let options = GenerateOptions::new(Sampling::Greedy, 1);
    let refused = |tokens: &[u32]| {
        let request = TextRequest {
            tokens,
            samples: 1,
            options: &options,
            logprobs: Some(SCORED),
        };
        let error = decoder.complete(&[request], &mut |_| ControlFlow::Continue(()));
        error.unwrap_err().kind()
    };
    assert_eq!(refused(&[]), "empty_text");
    assert_eq!(refused(&[u32::MAX]), "unknown_token");
    let long = vec![tokens[0]; decoder.context_tokens()];
    assert_eq!(refused(&long), "context_exceeded");
}
