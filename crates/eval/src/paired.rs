//! The difference between two evaluations of the same questions, by different models or policies, paired by question.

use std::collections::HashMap;

use serde::Serialize;

use crate::paired_interval::paired_interval;
use crate::record::Record;
use crate::statistics::{mean, number, share};

/// How an evaluation differs from another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Paired {
    /// The policy of the other evaluation.
    pub policy: String,
    /// Its share of right answers to the same questions.
    pub em: Option<f64>,
    /// The share of these questions that it retrieved for.
    pub retrieval_ratio: Option<f64>,
    /// The gain in right answers over the other evaluation.
    pub em_difference: Option<f64>,
    /// Its 95 % [`paired_interval`], low and high.
    pub interval: Option<[f64; 2]>,
}

/// Compares records with others of the same questions; `Err` has the number of questions that the others lack.
///
/// # Errors
/// Questions that the others lack, or have with other words or golden answers.
pub fn paired(records: &[Record], others: &[Record], seed: u64) -> Result<Paired, usize> {
    let by_id: HashMap<&str, &Record> = others.iter().map(|r| (r.id.as_str(), r)).collect();
    let pairs = records.iter().filter_map(|record| {
        let other = by_id.get(record.id.as_str())?;
        let is_same = other.question == record.question
            && other.golden_answers == record.golden_answers
            && other.choices == record.choices;
        is_same.then_some((record, *other))
    });
    let pairs: Vec<(&Record, &Record)> = pairs.collect();
    if pairs.len() < records.len() {
        return Err(records.len() - pairs.len());
    }
    let differences = pairs.iter();
    let differences: Vec<f64> = differences
        .map(|(record, other)| number(record.is_right()) - number(other.is_right()))
        .collect();
    Ok(Paired {
        policy: pairs
            .first()
            .map_or_else(String::new, |(_, other)| other.policy.clone()),
        em: share(pairs.iter().map(|(_, other)| other.is_right())),
        retrieval_ratio: share(pairs.iter().map(|(_, other)| other.calls.retriever > 0)),
        em_difference: mean(&differences),
        interval: paired_interval(&differences, seed),
    })
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;

    fn record(number: usize, em: bool) -> Record {
        with!(Record::default(), id: number.to_string(), question: format!("who is {number}?"),
            policy: "never".to_owned(), em: em)
    }

    #[test]
    fn questions_are_paired_by_id_and_words() {
        let records: Vec<Record> = (0..40).map(|n| record(n, n % 2 == 0)).collect();
        // In a different order, with one more.
        let others: Vec<Record> = (0..41).rev().map(|n| record(n, n % 4 == 0)).collect();
        let found = paired(&records, &others, 0).unwrap();
        assert_eq!((found.em, found.em_difference), (Some(0.25), Some(0.25)));
        let [low, high] = found.interval.unwrap();
        assert!(0.0 < low && low < 0.25 && 0.25 < high, "{low} {high}");
        assert_eq!(found.retrieval_ratio, Some(0.0));
        assert_eq!(paired(&records, &others[2..], 0), Err(1));
        let mut asked = others;
        asked[10].question = "who was that?".to_owned();
        assert_eq!(paired(&records, &asked, 0), Err(1));
    }
}
