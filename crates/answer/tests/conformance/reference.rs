//! The plain reference: a scan of all passages, without an index.

use std::collections::{BTreeMap, BTreeSet};

use ken_corpus::{Corpus, Filter, Passage};
use ken_index::{Hit, passage_terms, query_terms};

use crate::invented::vector;

/// The tolerance for scores of equal vectors, since the order of additions differs.
const ROUNDING: f32 = 1e-5;

/// The passages that may be found, by id.
pub(crate) struct Reference(BTreeMap<String, Passage>);

impl Reference {
    /// The live passages of a corpus that fit all filters.
    pub(crate) fn of(corpus: &Corpus, filters: &[Filter]) -> Self {
        let passages = corpus.passages().map(Result::unwrap);
        let fits = |passage: &Passage| filters.iter().all(|f| f.matches(&passage.metadata));
        let passages = passages.filter(fits);
        Self(passages.map(|p| (p.id.to_string(), p)).collect())
    }

    /// Checks that the results are passages of the corpus, in the order of their scores, once each.
    pub(crate) fn check_contents(&self, hits: &[Hit], place: &str) {
        for hit in hits {
            let expected = self.0.get(hit.passage.id.as_str());
            assert_eq!(Some(&hit.passage), expected, "{place}");
        }
        for pair in hits.windows(2) {
            assert!(pair[0].score >= pair[1].score, "{place}");
        }
        let ids: BTreeSet<&str> = hits.iter().map(|hit| hit.passage.id.as_str()).collect();
        assert_eq!(ids.len(), hits.len(), "{place}");
    }

    /// Checks a dense ranking: the best `k` by dot product.
    pub(crate) fn check_dense(&self, hits: &[Hit], query: &[f32], k: usize, place: &str) {
        self.check_contents(hits, place);
        let score = |passage: &Passage| -> f32 {
            let vector = vector(&passage.id);
            vector.iter().zip(query).map(|(a, b)| a * b).sum()
        };
        let mut scores: Vec<f32> = self.0.values().map(score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.truncate(k);
        assert_eq!(hits.len(), scores.len(), "{place}, k = {k}");
        for (hit, expected) in hits.iter().zip(scores) {
            // Passages of equal scores may come in any order, so scores are compared.
            assert!((hit.score - expected).abs() < ROUNDING, "{place}, k = {k}");
            assert!(
                (hit.score - score(&hit.passage)).abs() < ROUNDING,
                "{place}"
            );
        }
    }

    /// Checks a lexical ranking that is not cut off: all passages with a word of the query, and in
    /// front those with the one that only they have. Which part of the corpus the frequencies of
    /// words are taken from is a back end's own business.
    pub(crate) fn check_lexical(&self, hits: &[Hit], query: &str, place: &str) {
        self.check_contents(hits, place);
        let query = query_terms(query);
        let has = |passage: &Passage, words: &[String]| {
            let terms = passage_terms(&passage.title, &passage.text);
            words.iter().any(|word| terms.contains(word))
        };
        let expected: BTreeSet<&str> = (self.0.values())
            .filter(|passage| has(passage, &query))
            .map(|passage| passage.id.as_str())
            .collect();
        let ids: BTreeSet<&str> = hits.iter().map(|hit| hit.passage.id.as_str()).collect();
        assert_eq!(ids, expected, "{place}");
        assert!(hits.iter().all(|hit| hit.score > 0.0), "{place}");
        let rare: Vec<String> = query.into_iter().filter(|w| w.starts_with("own")).collect();
        if self.0.values().any(|passage| has(passage, &rare)) {
            assert!(has(&hits[0].passage, &rare), "{place}");
        }
    }
}

/// Checks a hybrid ranking: it has passages of the rankings alone, and none comes before one that is better in all of
/// them. The weight of each ranking is up to the back end.
pub(crate) fn check_fused(hits: &[Hit], rankings: &[Vec<Hit>], k: usize, place: &str) {
    let score_in = |ranking: &[Hit], hit: &Hit| {
        let own = ranking.iter().find(|own| own.passage.id == hit.passage.id);
        own.map_or(f32::MIN, |own| own.score)
    };
    let all: BTreeSet<&str> = rankings
        .iter()
        .flatten()
        .map(|hit| hit.passage.id.as_str())
        .collect();
    assert_eq!(hits.len(), k.min(all.len()), "{place}");
    for (index, hit) in hits.iter().enumerate() {
        assert!(all.contains(hit.passage.id.as_str()), "{place}");
        for later in &hits[index + 1..] {
            let is_better = |ranking: &Vec<Hit>| score_in(ranking, later) > score_in(ranking, hit);
            assert!(!rankings.iter().all(is_better), "{place}");
        }
    }
}
