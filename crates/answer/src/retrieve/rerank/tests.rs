//! Reranking by models of the tests, compared with a plain ranking.

use std::ops::Range;

use ken_corpus::{Passage, PassageId};
use ken_hub::ModelReference;
use ken_language::Score;
use ken_testing::{FnEmbedder, FnModel, has};
use proptest::prelude::*;

use super::*;

/// Embeds a text as the numbers of its letters a, b and c. A letter is a token.
fn letters() -> FnEmbedder {
    FnEmbedder::new("letters", 3, counts).spans(|text| {
        let letters = text.char_indices();
        Ok(letters.map(|(at, c)| at..at + c.len_utf8()).collect())
    })
}

fn counts(text: &str) -> Vec<f32> {
    let count = |letter| text.matches(letter).count() as f32;
    vec![count('a'), count('b'), count('c')]
}

const CONTEXT: usize = 64;

/// Reranking by a model that finds a continuation more likely, the more of its words the prompt's last
/// passage has.
fn likelihood() -> Reranker {
    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }
    Reranker::Likelihood(Arc::new(FnModel::new(CONTEXT, |request| {
        let known = words(&request.prompt.input);
        let score = |text: &&str| {
            let fits = known.len() + words(text).len() <= CONTEXT;
            assert!(fits, "too long: {known:?}");
            let logprob = |word: &&str| if known.contains(word) { -1.0 } else { -5.0 };
            Score {
                logprobs: words(text).iter().map(logprob).collect(),
            }
        };
        request.continuations.iter().map(score).collect()
    })))
}

fn found(number: usize, title: &str, text: &str) -> SearchResult {
    let passage = Passage {
        id: PassageId::new("d", number),
        doc_id: "d".to_owned(),
        title: title.to_owned(),
        location: Default::default(),
        text: text.to_owned(),
        metadata: Default::default(),
    };
    SearchResult::of(passage, 1.0 / (number + 1) as f32)
}

fn all_found(texts: &[impl AsRef<str>]) -> Vec<SearchResult> {
    let texts = texts.iter().enumerate();
    let found = texts.map(|(number, text)| found(number, "", text.as_ref()));
    found.collect()
}

fn by(reranker: Reranker, segmentation: &str) -> Reranking {
    Reranking::new(reranker, 10, segmentation.parse().unwrap())
}

fn one(reranking: &Reranking, query: &str, passages: &[SearchResult], k: usize) -> Reranked {
    let mut all = reranking
        .rerank(&letters(), &[query], &[passages.to_vec()], k)
        .unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn texts(reranked: &Reranked) -> Vec<&str> {
    let chunks = reranked.chunks.iter();
    chunks.map(|chunk| chunk.text.as_str()).collect()
}

/// Whether a chunk is the part of its passage that it claims to be.
fn is_part(chunk: &SearchResult) -> bool {
    let range = chunk.chunk.clone().unwrap();
    let text = chunk.passage.text.chars().skip(range.start);
    text.take(range.len()).eq(chunk.text.chars())
}

#[test]
fn the_best_chunks_come_first_with_their_places() {
    let passages = all_found(&["é b b c a a", "c c"]);
    let reranked = one(&by(Reranker::Embedder, "words:2/1"), "a", &passages, 3);
    assert_eq!(texts(&reranked), ["a a", "c a", "é b"]);
    has!(reranked, chunks[0].chunk: Some(8..11), chunks[0].passage: passages[0].passage);
    assert!(reranked.chunks[0].score > 0.999 && reranked.chunks[2].score == 0.0);
    assert_eq!(reranked.tokens, 0);
}

#[test]
fn equals_stay_in_the_order_of_the_first_stage() {
    let passages = all_found(&["b b", "a c a c", "a c", "b a c"]);
    let reranked = one(&by(Reranker::Embedder, "words:2"), "a c", &passages, 9);
    let places: Vec<(&str, Range<usize>)> = reranked
        .chunks
        .iter()
        .map(|chunk| (chunk.passage.id.as_str(), chunk.chunk.clone().unwrap()))
        .collect();
    let expected = [
        ("d#1", 0..3),
        ("d#1", 4..7),
        ("d#2", 0..3),
        ("d#3", 4..5),
        ("d#3", 0..3),
        ("d#0", 0..3),
    ];
    assert_eq!(places, expected);
}

#[test]
fn blank_passages_and_words_alone() {
    let embedder = by(Reranker::Embedder, "words:5/2");
    assert!(one(&embedder, "a", &[], 3).chunks.is_empty());
    assert!(
        one(&embedder, "a", &all_found(&["", " \n"]), 3)
            .chunks
            .is_empty()
    );
    let reranked = one(&embedder, "a", &all_found(&["b", "", "a"]), 3);
    assert_eq!(texts(&reranked), ["a", "b"]);
    let reranking = by(likelihood(), "words:5/2");
    let reranked = one(&reranking, "who x", &all_found(&["y", "x"]), 3);
    assert_eq!(texts(&reranked), ["x", "y"]);
}

#[test]
fn a_title_counts() {
    let passages = [found(0, "", "b"), found(1, "a a a", "b")];
    let reranked = one(&by(Reranker::Embedder, "whole"), "a", &passages, 2);
    assert_eq!(reranked.chunks[0].passage.id.as_str(), "d#1");
    assert_eq!(texts(&reranked), ["b", "b"]);
}

#[test]
fn likelihood_is_the_mean_over_the_questions_tokens() {
    let reranking = by(likelihood(), "whole");
    let passages = all_found(&["nothing here", "the keeper sleeps", "keeper of seals"]);
    let reranked = one(&reranking, "keeper of seals where", &passages, 2);
    assert_eq!(texts(&reranked), ["keeper of seals", "the keeper sleeps"]);
    has!(reranked, chunks[0].score: -2.0, chunks[1].score: -4.0);
    // "Passage:", the chunk, "Question:" and the question, three times.
    assert_eq!(reranked.tokens, 2 + 3 + 3 + 3 * 6);
}

#[test]
fn a_chunk_too_long_for_the_model_is_read_as_far_as_it_fits() {
    let reranking = by(likelihood(), "whole");
    let early = format!("seals {}", "word ".repeat(500));
    let late = format!("{}seals", "word ".repeat(500));
    let reranked = one(&reranking, "seals", &all_found(&[late, early.clone()]), 1);
    assert_eq!(texts(&reranked), [early.trim()]);
}

#[test]
fn a_question_too_long_for_the_model_is_refused() {
    let reranking = by(likelihood(), "whole");
    let refused = reranking.rerank(&letters(), &[&"why ".repeat(60)], &[all_found(&["x"])], 1);
    let error = refused.err().unwrap();
    assert_eq!(error.kind(), "question_too_long");
    assert!(error.concerns_question());
}

#[test]
fn rerankers_are_written_and_read() {
    for name in [
        "none",
        "likelihood",
        "embedder",
        "cross-encoder:./models/ce",
    ] {
        assert_eq!(name.parse::<Rerank>().unwrap().to_string(), name);
    }
    assert_eq!(
        "cross-encoder:hf:a/b".parse::<Rerank>().unwrap(),
        Rerank::CrossEncoder("hf:a/b".parse::<ModelReference>().unwrap())
    );
    for (name, word) in [
        ("", "cross-encoder:REF"),
        ("bm25", "`bm25`"),
        ("cross-encoder", "cross-encoder:REF"),
        ("cross-encoder:", "empty"),
        ("cross-encoder:http://127.0.0.1/v1", "endpoint"),
    ] {
        let message = name.parse::<Rerank>().unwrap_err().to_string();
        assert!(message.contains(word), "{name}: {message}");
    }
}

/// The plain ranking: repeatedly the first of the best that are left.
fn reference(mut left: Vec<(usize, f32)>, k: usize) -> Vec<usize> {
    let mut ranked = Vec::new();
    while ranked.len() < k && !left.is_empty() {
        let top = left
            .iter()
            .map(|(_, score)| *score)
            .fold(f32::MIN, f32::max);
        let at = left.iter().position(|(_, score)| *score == top).unwrap();
        ranked.push(left.remove(at).0);
    }
    ranked
}

fn passages() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("([abcdé ]|[abc]{1,3} | ){0,24}", 0..8)
}

proptest! {
    #[test]
    fn reranking_selects_the_best_of_the_chunks(
        texts in passages(), query in "[abc ]{1,6}", k in 0_usize..12,
        size in 1_usize..5, overlap in 0_usize..4,
    ) {
        prop_assume!(overlap < size && !query.trim().is_empty());
        let segmentation = Segmentation::Words { size, overlap };
        let passages = all_found(&texts);
        let reranking = Reranking::new(Reranker::Embedder, 10, segmentation);
        let all = one(&reranking, &query, &passages, usize::MAX);
        let kept = one(&reranking, &query, &passages, k);
        prop_assert_eq!(&kept.chunks[..], &all.chunks[..k.min(all.chunks.len())]);

        // Every chunk of every passage, in order, and its score: the lowest for one without direction.
        let score = |text: &str| match cosine(&counts(&query), &counts(text)) {
            score if score.is_nan() => f32::MIN,
            score => score,
        };
        let cut: Vec<SearchResult> = chunks::cut(&passages, segmentation, &letters())
            .unwrap()
            .iter()
            .map(|chunk| chunk.result(score(chunk.text)))
            .collect();
        let pieces: Vec<(&str, &str)> = passages
            .iter()
            .flat_map(|found| {
                let text = &found.passage.text;
                let pieces = ken_corpus::segment(text, segmentation, &|_| Vec::new());
                pieces.into_iter().map(|piece| (found.passage.id.as_str(), piece))
            })
            .collect();
        let of_cut = |chunk: &SearchResult| (chunk.passage.id.0.clone(), chunk.text.clone());
        prop_assert_eq!(
            cut.iter().map(of_cut).collect::<Vec<_>>(),
            pieces.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect::<Vec<_>>()
        );
        prop_assert!(cut.iter().all(is_part));
        let scored = cut.iter().map(|chunk| chunk.score).enumerate().collect();
        let expected: Vec<SearchResult> = reference(scored, k).into_iter().map(|index| cut[index].clone()).collect();
        prop_assert_eq!(kept.chunks, expected);
    }

    #[test]
    fn many_queries_at_once_get_what_they_get_alone(
        questions in prop::collection::vec(("[abc]{1,3}( [abc]{1,3}){0,3}", passages()), 0..5),
        k in 1_usize..6,
    ) {
        for reranker in [Reranker::Embedder, likelihood()] {
            let reranking = by(reranker, "words:3/1");
            let queries: Vec<&str> = questions.iter().map(|(query, _)| query.as_str()).collect();
            let found: Vec<Vec<SearchResult>> =
                questions.iter().map(|(_, texts)| all_found(texts)).collect();
            let together = reranking.rerank(&letters(), &queries, &found, k).unwrap();
            prop_assert_eq!(together.len(), queries.len());
            for ((query, found), together) in queries.iter().zip(&found).zip(together) {
                let alone = one(&reranking, query, found, k);
                prop_assert_eq!(alone.chunks, together.chunks);
                prop_assert_eq!(alone.tokens, together.tokens);
            }
        }
    }

    #[test]
    fn chunks_by_tokens_are_parts_too(texts in passages(), size in 1_usize..9) {
        let segmentation = Segmentation::Tokens { size, overlap: size - 1 };
        let passages = all_found(&texts);
        for chunk in chunks::cut(&passages, segmentation, &letters()).unwrap() {
            prop_assert!(is_part(&chunk.result(0.0)));
        }
    }
}
