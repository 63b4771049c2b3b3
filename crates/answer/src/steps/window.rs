//! The part of a passage that the model reads if the whole does not fit: the one around the sentence that fits the
//! question best, by words and by meaning.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use ken_corpus::{Segmentation, segment};
use ken_index::{passage_terms, query_terms};
use ken_language::{LanguageModel, Role};

use crate::error::AnswerError;
use crate::prompt::truncate::truncate;
use crate::retrieve::Retriever;
use crate::retrieve::rerank::cosine;

/// The most sentences that are embedded: those with the most words of the question.
const EMBEDDED: usize = 128;

/// The words in each piece of a long sentence.
const PIECE_WORDS: usize = 60;

/// The bytes from which on a sentence is cut: few sentences of 60 words have as many.
const LONG_SENTENCE: usize = 500;

/// The bytes of the part of `text` to read, which has at most `budget` tokens.
///
/// # Errors
/// A model that fails.
pub(crate) fn best_window(
    model: &dyn LanguageModel,
    retriever: Option<&Retriever>,
    question: &str,
    text: &str,
    budget: usize,
) -> Result<Range<usize>, AnswerError> {
    let pieces = pieces(text);
    let Some(best) = best_piece(retriever, question, text, &pieces)? else {
        return Ok(0..0);
    };
    let mut window = pieces[best].clone();
    if model.count_tokens(&text[window.clone()])? > budget {
        let kept = truncate(model, &text[window.clone()], budget)?;
        return Ok(window.start..window.start + kept.trim_end().len());
    }
    // The window grows on both sides as long as it fits; the text after a sentence more often explains it than the text
    // before.
    let (mut first, mut last) = (best, best);
    let mut grows = [true, true];
    while grows.contains(&true) {
        for (side, grows) in grows.iter_mut().enumerate().filter(|(_, grows)| **grows) {
            let next = match side {
                0 => (last + 1 < pieces.len()).then(|| window.start..pieces[last + 1].end),
                _ => first
                    .checked_sub(1)
                    .map(|before| pieces[before].start..window.end),
            };
            let fits = match &next {
                Some(next) => model.count_tokens(&text[next.clone()])? <= budget,
                None => false,
            };
            match next.filter(|_| fits) {
                Some(next) => {
                    window = next;
                    (first, last) = if side == 0 {
                        (first, last + 1)
                    } else {
                        (first - 1, last)
                    };
                }
                None => *grows = false,
            }
        }
    }
    Ok(window)
}

/// The sentences of a text, long ones in pieces, as ranges of its bytes.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let cut = |text: &str, segmentation| -> Vec<Range<usize>> {
        let start = text.as_ptr() as usize;
        segment(text, segmentation, &|_| Vec::new())
            .into_iter()
            .map(|piece| {
                let offset = piece.as_ptr() as usize - start;
                offset..offset + piece.len()
            })
            .collect()
    };
    let words = Segmentation::Words {
        size: PIECE_WORDS,
        overlap: 0,
    };
    cut(text, Segmentation::Sentence)
        .into_iter()
        .flat_map(|sentence| match sentence.len() {
            ..LONG_SENTENCE => vec![sentence],
            _ => cut(&text[sentence.clone()], words)
                .into_iter()
                .map(|piece| sentence.start + piece.start..sentence.start + piece.end)
                .collect(),
        })
        .collect()
}

/// The index of the piece that fits the question best; the first among equals.
fn best_piece(
    retriever: Option<&Retriever>,
    question: &str,
    text: &str,
    pieces: &[Range<usize>],
) -> Result<Option<usize>, AnswerError> {
    let by_words = shares_of_words(question, text, pieces);
    let mut candidates: Vec<usize> = (0..pieces.len()).collect();
    // A stable sort, so that equals keep their order.
    candidates.sort_by(|&a, &b| by_words[b].total_cmp(&by_words[a]));
    candidates.truncate(EMBEDDED);
    candidates.sort_unstable();
    let by_meaning: Vec<f32> = match retriever {
        Some(retriever) => {
            let texts: Vec<&str> = candidates
                .iter()
                .map(|&index| &text[pieces[index].clone()])
                .collect();
            let question = retriever.embedder().embed(&[question], Role::Query)?;
            let vectors = retriever.embedder().embed(&texts, Role::Passage)?;
            let question = question.first().map_or(&[][..], Vec::as_slice);
            let cosines = vectors.iter().map(|vector| cosine(question, vector));
            cosines
                .map(|cosine| if cosine.is_finite() { cosine } else { -1.0 })
                .collect()
        }
        None => vec![0.0; candidates.len()],
    };
    let mut best: Option<(usize, f32)> = None;
    for (&candidate, meaning) in candidates.iter().zip(by_meaning) {
        let score = by_words[candidate] + meaning;
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((candidate, score));
        }
    }
    Ok(best.map(|(candidate, _)| candidate))
}

/// The share, in `[0, 1]`, that each piece has of the question's words in the text, each weighted by its rarity among the
/// pieces: `[pieces]`.
fn shares_of_words(question: &str, text: &str, pieces: &[Range<usize>]) -> Vec<f32> {
    let asked: HashSet<String> = query_terms(question).into_iter().collect();
    let held: Vec<HashSet<String>> = pieces
        .iter()
        .map(|piece| {
            let terms = passage_terms("", &text[piece.clone()]).into_iter();
            terms.filter(|term| asked.contains(term)).collect()
        })
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for term in held.iter().flatten() {
        *counts.entry(term).or_default() += 1;
    }
    let weight = |term: &str| {
        let count = counts.get(term).copied().unwrap_or(1);
        ((pieces.len() + 1) as f32 / count as f32).ln()
    };
    let all: f32 = counts.keys().map(|term| weight(term)).sum();
    held.iter()
        .map(|terms| match all > 0.0 {
            true => terms.iter().map(|term| weight(term)).sum::<f32>() / all,
            false => 0.0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use ken_testing::{Fact, TableModel, says, with};

    use super::*;

    fn window(question: &str, text: &str, budget: usize) -> String {
        let fact = with!(Fact::default(), question: question.to_owned(), answer: "Ida".to_owned());
        let model = TableModel::new(vec![fact]).unwrap();
        let window = best_window(&model, None, question, text, budget).unwrap();
        let text = &text[window];
        assert!(model.count_tokens(text).unwrap() <= budget, "{text}");
        text.to_owned()
    }

    #[test]
    fn it_is_around_the_sentence_that_has_the_words_of_the_question() {
        let mut sentences: Vec<String> = (0..400)
            .map(|number| format!("Buoy number {number} is painted red."))
            .collect();
        sentences[300] = "The lamp of the fourth one turns every nine seconds.".to_owned();
        let text = sentences.join(" ");
        let found = window("how often does the lamp turn?", &text, 40);
        says!(found => "every nine seconds", "Buoy number 301", "Buoy number 299");
        // A sentence that does not fit is cut, and of a text without the words the start is read.
        assert_eq!(
            window("how often does the lamp turn?", &text, 3),
            "The lamp of"
        );
        assert!(window("who sings?", &text, 12).starts_with("Buoy number 0"));
        assert_eq!(window("who sings?", "", 12), "");
    }

    #[test]
    fn a_text_without_sentences_is_read_in_part_too() {
        let words: Vec<String> = (0..900).map(|number| format!("word{number}")).collect();
        let found = window("where is word512?", &words.join(" "), 80);
        assert!(found.contains("word512"), "{found}");
    }
}
