//! Texts continued as they are: what is told of tokens agrees with what is scored and written, alone and in company.

use std::iter::zip;
use std::ops::ControlFlow;

use ken_language::{
    Continued, Finish, GenerateOptions, Sampling, TextModel, TextRequest, Told, ToldToken,
};
use ken_model::decoder::Decoder;
use proptest::prelude::*;

use super::batches::TINY;

const TOLD: Told = Told {
    alternatives: 3,
    of_text: true,
};

fn continued(
    decoder: &Decoder,
    texts: &[Vec<u32>],
    max_tokens: usize,
    told: Option<Told>,
) -> Vec<Continued> {
    let options = GenerateOptions::new(Sampling::Greedy, max_tokens);
    let requests: Vec<_> = texts
        .iter()
        .map(|tokens| TextRequest {
            tokens,
            samples: 1,
            options: &options,
            told,
        })
        .collect();
    decoder
        .continue_texts(&requests, &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

fn logprobs(told: &[ToldToken]) -> Vec<f32> {
    told.iter().filter_map(|token| token.logprob).collect()
}

/// The likeliest comes first, and no token is more likely.
fn is_in_order(token: &ToldToken) -> bool {
    let likely = token.alternatives.iter().map(|(_, logprob)| *logprob);
    let likely: Vec<f32> = likely.collect();
    likely.len() == 3
        && likely.is_sorted_by(|one, next| one >= next)
        && token.logprob.is_some_and(|own| own <= likely[0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn tokens_are_told_as_they_are_scored_and_written_in_any_company(
        texts in prop::collection::vec("[a-z ,.]{2,40}", 1..6),
        max_tokens in 0usize..6,
    ) {
        // Those that compute bit for bit the same in any batch.
        for decoder in [&TINY.2[0], &TINY.2[1], &TINY.2[3]] {
            let tokens = texts.iter().map(|text| decoder.encode(text, true).unwrap());
            let tokens: Vec<Vec<u32>> = tokens.collect();
            let together = continued(decoder, &tokens, max_tokens, Some(TOLD));
            for (tokens, together) in zip(&tokens, &together) {
                let alone = continued(decoder, std::slice::from_ref(tokens), max_tokens, Some(TOLD));
                prop_assert_eq!(&alone[0].text, &together.text);
                prop_assert_eq!(&alone[0].samples[0].1, &together.samples[0].1);

                let Continued { text, samples } = together;
                let ids: Vec<u32> = text.iter().map(|token| token.id).collect();
                prop_assert_eq!(&ids, tokens);
                prop_assert_eq!(text[0].logprob, None);
                prop_assert!(text[1..].iter().all(is_in_order));
                let (first, rest) = (decoder.decode(&tokens[..1]).unwrap(), decoder.decode(&tokens[1..]).unwrap());
                if decoder.encode(&first, true).unwrap() == tokens[..1] && !rest.is_empty() {
                    let scored = decoder.score(&decoder.raw_prompt(&first).unwrap(), &[&rest]).unwrap();
                    if scored[0].tokens == tokens[1..] {
                        prop_assert_eq!(&scored[0].logprobs, &logprobs(text));
                    }
                }

                let (written, told) = &samples[0];
                let own = written.logprobs.as_deref().unwrap_or_default();
                prop_assert_eq!(own, &logprobs(told)[..]);
                prop_assert!(told.len() <= max_tokens);
                prop_assert!(told.iter().all(is_in_order));
                for token in told {
                    prop_assert_eq!(token.logprob, Some(token.alternatives[0].1));
                }
                if max_tokens == 0 {
                    prop_assert_eq!(written.finish, Finish::Length);
                    prop_assert!(written.text.is_empty());
                }
                // Token by token it is the text that is scored next.
                let whole: Vec<u32> = [tokens.clone(), told.iter().map(|token| token.id).collect()].concat();
                let again = continued(decoder, &[whole], 0, Some(TOLD));
                prop_assert_eq!(&again[0].text[tokens.len()..], &told[..]);
            }
        }
    }
}

#[test]
fn nothing_is_told_unasked_and_what_cannot_be_read_is_refused() {
    let decoder = &TINY.2[0];
    let tokens = decoder.encode("ab cd", true).unwrap();
    let plain = continued(decoder, std::slice::from_ref(&tokens), 4, None);
    assert!(plain[0].text.is_empty() && plain[0].samples[0].1.is_empty());
    let only_written = Told {
        of_text: false,
        ..TOLD
    };
    let written = continued(
        decoder,
        std::slice::from_ref(&tokens),
        4,
        Some(only_written),
    );
    assert!(written[0].text.is_empty());
    let (text, told) = &written[0].samples[0];
    assert_eq!(Some(told.len()), text.logprobs.as_ref().map(Vec::len));

    let options = GenerateOptions::new(Sampling::Greedy, 1);
    let refused = |tokens: &[u32]| {
        let request = TextRequest {
            tokens,
            samples: 1,
            options: &options,
            told: Some(TOLD),
        };
        let error = decoder.continue_texts(&[request], &mut |_| ControlFlow::Continue(()));
        error.unwrap_err().kind()
    };
    assert_eq!(refused(&[]), "empty_text");
    assert_eq!(refused(&[u32::MAX]), "unknown_token");
    let long = vec![tokens[0]; decoder.context_tokens()];
    assert_eq!(refused(&long), "context_exceeded");
}
