//! Prefixes that the prompts of a call share: each is read once. Results do not depend on it, bit for bit on the CPU.

use crate::decoder::text::prompt::{Course, Prompt};

/// The shortest common prefix, in tokens, that is worth a segment of its own.
const SHORTEST: usize = 32;

/// The lengths in tokens of the prefixes that each prompt shares with others: the one that it names, and longer ones
/// that some of the other prompts also have, such as the evidence of several questions, or the question of several
/// choices.
///
/// # Shapes
/// Returns `[prompts]`, each in ascending order and less than the prompt's length.
pub(in crate::decoder) fn shared_lengths(prompts: &[&Prompt]) -> Vec<Vec<usize>> {
    let named = |prompt: &&Prompt| Some(prompt.parts().0.len()).filter(|&named| named > 0);
    let mut lengths: Vec<Vec<usize>> = prompts
        .iter()
        .map(|prompt| named(prompt).into_iter().collect())
        .collect();
    let alone = |&index: &usize| prompts[index].course() == Course::Alone;
    let mut order: Vec<usize> = (0..prompts.len()).filter(alone).collect();
    // Sorted, prompts that begin alike are neighbors.
    order.sort_by_key(|&index| (prompts[index].parts().0, prompts[index].tokens()));
    for alike in order.chunk_by(|&a, &b| prompts[a].parts().0 == prompts[b].parts().0) {
        let named = alike
            .first()
            .map_or(0, |&index| prompts[index].parts().0.len());
        share(prompts, alike, named, &mut lengths);
    }
    lengths
}

/// Adds the prefixes that prompts share beyond their first `shared` tokens. `alike` is sorted by tokens.
fn share(prompts: &[&Prompt], alike: &[usize], shared: usize, lengths: &mut [Vec<usize>]) {
    let tokens = |index: usize| prompts[index].tokens();
    let [first, .., last] = *alike else {
        return;
    };
    let pairs = tokens(first).iter().zip(tokens(last));
    // Each prompt keeps its last token, which gives the logits of the next one.
    let common = pairs.take_while(|(a, b)| a == b).count();
    let common = common.min(tokens(first).len() - 1);
    let is_worth_it = common >= shared + SHORTEST;
    if is_worth_it {
        alike.iter().for_each(|&index| lengths[index].push(common));
    }
    let shared = if is_worth_it { common } else { shared };
    // Prompts that end here come first, and have nothing more to share.
    let ended = alike
        .iter()
        .take_while(|&&index| tokens(index).len() == common + 1);
    let longer = &alike[ended.count()..];
    for alike in longer.chunk_by(|&a, &b| tokens(a)[common] == tokens(b)[common]) {
        share(prompts, alike, shared, lengths);
    }
}

/// The shortest prompt, in tokens after its shared prefix, that is kept.
const KEPT: usize = 192;

/// How much of a prompt is kept for later calls that begin with it, such as after a measurement or when a question is
/// repeated: of a long prompt all but the last token.
pub(super) fn kept_length(prompt: &Prompt, shared: &[usize]) -> Option<usize> {
    let whole = prompt.tokens().len() - 1;
    let read = shared.last().copied().unwrap_or_default();
    (prompt.course() == Course::Alone && whole >= read + KEPT).then_some(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prompts(texts: &[Vec<u32>]) -> Vec<Prompt> {
        let each = texts.iter().map(|tokens| Prompt::raw(tokens.clone()));
        each.collect::<Result<_, _>>().unwrap()
    }

    fn found(texts: &[Vec<u32>]) -> Vec<Vec<usize>> {
        let prompts = prompts(texts);
        shared_lengths(&prompts.iter().collect::<Vec<_>>())
    }

    /// `[repeated..., end...]`
    fn text(parts: &[(u32, usize)]) -> Vec<u32> {
        let parts = parts.iter();
        parts
            .flat_map(|&(token, times)| vec![token; times])
            .collect()
    }

    #[test]
    fn prompts_share_what_some_of_them_begin_with() {
        let texts = [
            text(&[(1, 40), (2, 40), (3, 2)]),
            text(&[(9, 50)]),
            text(&[(1, 40), (4, 40), (3, 2)]),
            text(&[(1, 40), (2, 40), (5, 2)]),
            text(&[(1, 40), (4, 40), (6, 2)]),
        ];
        let both = vec![40, 80];
        assert_eq!(
            found(&texts),
            [both.clone(), vec![], both.clone(), both.clone(), both]
        );
        // Too short to be worth it; of equal prompts, all but the last token.
        assert_eq!(
            found(&[text(&[(1, 20), (2, 9)]), text(&[(1, 20), (3, 9)])]),
            [[0; 0]; 2]
        );
        assert_eq!(
            found(&[text(&[(1, 40)]), text(&[(1, 40)]), text(&[(1, 60)])]),
            [[39], [39], [39]]
        );
    }

    proptest! {
        #[test]
        fn what_is_shared_is_common(
            texts in prop::collection::vec(prop::collection::vec((0_u32..3, 1_usize..40), 1..5), 1..12),
        ) {
            let texts: Vec<Vec<u32>> = texts.iter().map(|parts| text(parts)).collect();
            let found = found(&texts);
            for (own, lengths) in texts.iter().zip(&found) {
                prop_assert!(lengths.is_sorted_by(|a, b| a + SHORTEST <= *b));
                for &length in lengths {
                    prop_assert!(length < own.len());
                    let others = texts.iter().zip(&found).filter(|(text, lengths)| {
                        lengths.contains(&length) && text[..length] == own[..length]
                    });
                    prop_assert!(others.count() > 1);
                }
            }
            // The longest prefix that two prompts have in common is shared, if it is worth it.
            for (at, one) in texts.iter().enumerate() {
                let common = |other: &Vec<u32>| {
                    let alike = one.iter().zip(other).take_while(|(a, b)| a == b).count();
                    alike.min(one.len() - 1).min(other.len() - 1)
                };
                let others = texts.iter().enumerate().filter(|(other, _)| *other != at);
                let longest = others.map(|(_, other)| common(other)).max().unwrap_or_default();
                let last = found[at].last().copied().unwrap_or_default();
                prop_assert!(longest < last + SHORTEST, "{} {}", longest, last);
            }
        }
    }
}
