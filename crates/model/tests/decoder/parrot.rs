//! A decoder with a known next token: each token has one successor. Nothing is random.

use ken_testing::{holds, with};

use super::checkpoint::{Tensors, Tiny};

/// A decoder without attention or feed-forward parts that writes `successor(token)` after a
/// token, with a probability of almost 1.
pub(super) fn parrot(vocabulary: usize, successor: impl Fn(u32) -> u32) -> (Tiny, Tensors) {
    let tiny = with!(Tiny::new("llama"), vocabulary: vocabulary, hidden: vocabulary, intermediate: 2,
        layers: 1, heads: 1, kv_heads: 1, head_width: 2, tied: false);
    let mut weights = tiny.weights();
    for (name, (shape, numbers)) in &mut weights {
        numbers.fill(if shape.len() == 1 { 1.0 } else { 0.0 });
        for token in 0..vocabulary {
            match name.as_str() {
                "model.embed_tokens.weight" => numbers[token * vocabulary + token] = 1.0,
                "lm_head.weight" => {
                    numbers[successor(token as u32) as usize * vocabulary + token] = 10.0;
                }
                _ => {}
            }
        }
    }
    (tiny, weights)
}

/// The successor of each token of a chain without repetitions; all other tokens are followed by `end`.
pub(super) fn chain(tokens: &[u32], end: u32) -> impl Fn(u32) -> u32 {
    let tokens = tokens.to_vec();
    for (place, token) in tokens.iter().enumerate() {
        holds!("token {token} comes twice" => !tokens[..place].contains(token));
    }
    move |token| {
        let place = tokens.iter().position(|&t| t == token);
        place
            .and_then(|place| tokens.get(place + 1).copied())
            .unwrap_or(end)
    }
}
