//! What a guarantee depends on besides its threshold, from probe records: the model, the corpus, the prompts, and for how
//! many questions skipping retrieval changes the answer.

use crate::calibration::both_right;
use crate::calibration_error::CalibrationError;
use crate::probe::ProbeRecord;

/// What a guarantee depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounds {
    /// The fingerprint of the model.
    pub model: String,
    /// The fingerprint of the corpus.
    pub corpus: String,
    /// The fingerprint of the prompts.
    pub prompt: String,
    /// Questions up to the threshold whose greedy answers with and without evidence differ.
    pub differing: usize,
}

/// What the guarantee of a threshold depends on, from the records that chose the threshold: those with a score, and
/// with answers with and without evidence. `threshold` is `None` if every question retrieves.
///
/// # Errors
/// Records of several models, corpora or prompts, or without a corpus.
pub fn grounds(
    records: &[ProbeRecord],
    scores: &[Option<f64>],
    threshold: Option<f64>,
) -> Result<Grounds, CalibrationError> {
    let used = records.iter().zip(scores).filter_map(|(record, score)| {
        both_right(record)?;
        Some((record, (*score)?))
    });
    let used: Vec<(&ProbeRecord, f64)> = used.collect();
    let mut probed = used.iter().map(|(record, _)| &record.fingerprint);
    let Some(first) = probed.next() else {
        return Err(CalibrationError::NothingToCompare {
            records: records.len(),
        });
    };
    let is_same = probed.all(|other| other == first);
    let (Some(corpus), true) = (&first.corpus, is_same) else {
        return Err(CalibrationError::MixedRecords);
    };
    let is_skipped = |score: f64| threshold.is_some_and(|threshold| score <= threshold);
    let skipped = used.iter().filter(|(_, score)| is_skipped(*score));
    Ok(Grounds {
        model: first.model.clone(),
        corpus: corpus.clone(),
        prompt: first.prompt.clone(),
        differing: skipped.filter(|(record, _)| differs(record)).count(),
    })
}

/// Whether the greedy answers with and without evidence differ.
fn differs(record: &ProbeRecord) -> bool {
    let text = |answer: &Option<crate::probe::ProbeAnswer>| {
        answer.as_ref().map(|answer| answer.answer.text.clone())
    };
    let both = text(&record.greedy.from_self).zip(text(&record.greedy.corpus));
    both.is_some_and(|(without, with)| !ken_probe::score(&without, &[with]).exact_match)
}

#[cfg(test)]
mod tests {
    use ken_probe::Sample;
    use ken_testing::with;

    use super::*;
    use crate::probe::{Conditions, Fingerprints, ProbeAnswer};

    fn record(without: &str, with: Option<&str>) -> ProbeRecord {
        let answer = |text: &str| ProbeAnswer {
            answer: with!(Sample::default(), text: text.to_owned()),
            correct: Some(true),
        };
        ProbeRecord {
            greedy: Conditions {
                from_self: Some(answer(without)),
                corpus: with.map(answer),
                masked: None,
            },
            fingerprint: Fingerprints {
                model: "m".to_owned(),
                corpus: Some("c".to_owned()),
                prompt: String::new(),
            },
            ..ProbeRecord::default()
        }
    }

    #[test]
    fn skipped_questions_with_another_answer_are_counted() {
        let records = [
            record("Ida", Some("Bob")),
            record("the Ida.", Some("ida")),
            record("Ida", Some("Bob")),
            record("Ida", Some("Bob")),
            record("Ida", None),
        ];
        let scores = [Some(0.1), Some(0.1), Some(0.5), None, Some(0.1)];
        let count = |threshold| grounds(&records, &scores, threshold).unwrap().differing;
        let counted = [Some(0.0), Some(0.1), Some(0.5), None].map(count);
        assert_eq!(counted, [0, 1, 2, 0]);
    }

    #[test]
    fn records_of_several_models_are_refused() {
        let mut records = [record("a", Some("b")), record("a", Some("b"))];
        let scores = [Some(0.1), Some(0.1)];
        let found = grounds(&records, &scores, Some(0.2)).unwrap();
        assert_eq!((found.model.as_str(), found.corpus.as_str()), ("m", "c"));
        records[1].fingerprint.model = "n".to_owned();
        let mixed = Err(CalibrationError::MixedRecords);
        assert_eq!(grounds(&records, &scores, Some(0.2)), mixed);
        records[1].fingerprint = Fingerprints {
            prompt: "other words".to_owned(),
            ..records[0].fingerprint.clone()
        };
        assert_eq!(grounds(&records, &scores, Some(0.2)), mixed);
        // Records that are not used may differ.
        let differing = 1;
        let one = Ok(Grounds { differing, ..found });
        assert_eq!(grounds(&records, &[Some(0.1), None], Some(0.2)), one);
        records[0].fingerprint.corpus = None;
        assert_eq!(grounds(&records[..1], &scores, Some(0.2)), mixed);
        let nothing = CalibrationError::NothingToCompare { records: 0 };
        assert_eq!(grounds(&[], &[], Some(0.2)), Err(nothing));
    }
}
