//! Measures of a ranking as `trec_eval` defines them. Relevance above 0 is relevant; documents without a judgment are
//! not.

use super::qrels::Judgments;
use super::trec_run::DocumentScore;

/// A measure up to a rank, with its name in reports: `nDCG@10`.
#[derive(Debug, Clone)]
pub struct NamedMeasure {
    /// Its name with the rank.
    pub name: String,
    rank: usize,
    of: fn(&JudgedRanking, usize) -> f64,
}

/// A ranking, reduced to the relevance of its documents.
struct JudgedRanking {
    /// The relevance of the ranked documents, best first; 0 if not relevant.
    gains: Vec<i64>,
    /// The relevance of all relevant documents, highest first.
    ideal: Vec<i64>,
}

/// The measures of the first `k` documents, the main one first. Each is in `[0, 1]`, and 0 for a query without
/// relevant documents.
pub fn measures(k: usize) -> Vec<NamedMeasure> {
    const FIRST_PAGE: usize = 10;
    let measure = |name: &str, rank: usize, of: fn(&JudgedRanking, usize) -> f64| NamedMeasure {
        name: format!("{name}@{rank}"),
        rank,
        of,
    };
    let first_page = FIRST_PAGE.min(k);
    let mut all = vec![
        measure("nDCG", first_page, JudgedRanking::ndcg),
        measure("recall", first_page, JudgedRanking::recall),
        measure("recall", k, JudgedRanking::recall),
        measure("MRR", k, JudgedRanking::reciprocal_rank),
        measure("MAP", k, JudgedRanking::average_precision),
    ];
    all.dedup_by(|measure, before| measure.name == before.name);
    all
}

impl NamedMeasure {
    /// Its value for a query, from the judgments and the ranking, best first.
    pub fn of(&self, judgments: &Judgments, ranked: &[DocumentScore]) -> f64 {
        // An empty sum is -0.
        (self.of)(&JudgedRanking::new(judgments, ranked), self.rank) + 0.0
    }
}

impl JudgedRanking {
    fn new(judgments: &Judgments, ranked: &[DocumentScore]) -> Self {
        let relevant = |relevance: &i64| *relevance > 0;
        let mut ideal: Vec<i64> = judgments.values().copied().filter(relevant).collect();
        ideal.sort_unstable_by(|a, b| b.cmp(a));
        let gain =
            |document: &DocumentScore| judgments.get(&document.document).copied().filter(relevant);
        Self {
            gains: ranked.iter().map(|d| gain(d).unwrap_or(0)).collect(),
            ideal,
        }
    }

    /// The gains up to a rank, each divided by the logarithm of its rank plus 1, as a share of the gains in the best
    /// order of all relevant documents (Järvelin and Kekäläinen 2002, with the discount of Burges et al. 2005).
    fn ndcg(&self, rank: usize) -> f64 {
        let dcg = |gains: &[i64]| -> f64 {
            let ranked = (2_u32..).zip(gains.iter().take(rank));
            ranked
                .map(|(place, gain)| *gain as f64 / f64::from(place).log2())
                .sum()
        };
        match self.ideal.is_empty() {
            true => 0.0,
            false => dcg(&self.gains) / dcg(&self.ideal),
        }
    }

    /// The share of the relevant documents that are ranked up to a rank.
    fn recall(&self, rank: usize) -> f64 {
        self.share(self.ranks(rank).count() as f64)
    }

    /// The reciprocal rank of the first relevant document.
    fn reciprocal_rank(&self, rank: usize) -> f64 {
        self.ranks(rank)
            .next()
            .map_or(0.0, |rank| 1.0 / rank as f64)
    }

    /// The sum of the precision at the rank of each relevant document up to a rank, divided by the number of all
    /// relevant documents.
    fn average_precision(&self, rank: usize) -> f64 {
        let precisions = (1_u32..).zip(self.ranks(rank));
        self.share(
            precisions
                .map(|(found, rank)| f64::from(found) / rank as f64)
                .sum(),
        )
    }

    /// The ranks, from 1, of the relevant documents up to a rank.
    fn ranks(&self, last: usize) -> impl Iterator<Item = usize> {
        let ranked = (1..).zip(self.gains.iter().take(last));
        ranked.filter_map(|(rank, gain)| (*gain > 0).then_some(rank))
    }

    /// A sum over relevant documents divided by the number of all relevant documents.
    fn share(&self, sum: f64) -> f64 {
        match self.ideal.len() {
            0 => 0.0,
            relevant => sum / relevant as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_named_by_the_rank_that_they_reach() {
        let names = |k| {
            measures(k)
                .into_iter()
                .map(|one| one.name)
                .collect::<Vec<_>>()
        };
        let all = ["nDCG@10", "recall@10", "recall@100", "MRR@100", "MAP@100"];
        assert_eq!(names(100), all);
        assert_eq!(names(10), ["nDCG@10", "recall@10", "MRR@10", "MAP@10"]);
        assert_eq!(names(3), ["nDCG@3", "recall@3", "MRR@3", "MAP@3"]);
    }
}
