//! The stages of answering, each of several steps of a trace, and the time of each.

use std::collections::BTreeMap;
use std::time::Duration;

/// A stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The question waited for a place.
    Wait,
    /// A follow-up became a question of its own.
    Rewrite,
    /// The policy chose the route.
    Route,
    /// Passages were found.
    Retrieve,
    /// The policy reviewed them.
    Review,
    /// The answer was written.
    Generate,
}

/// The steps of each stage, in the order in which they are taken. A policy that reviews evidence may take steps of
/// `Route` again after finding it; steps with one name count as one, as in the trace.
const STAGES: [(Stage, &[&str]); 6] = [
    (Stage::Wait, &["wait"]),
    (Stage::Rewrite, &["rewrite"]),
    (
        Stage::Route,
        &[
            "judge",
            "represent",
            "assess mastery",
            "assess certainty",
            "choose source",
            "greedy",
            "sample",
            "inspect",
            "rate",
        ],
    ),
    (Stage::Retrieve, &["embed", "search", "rerank"]),
    (Stage::Review, &["gate"]),
    (Stage::Generate, &["verbalize", "read", "write"]),
];

/// The sum of all steps.
const TOTAL: &str = "total";

/// A stage that took time.
#[derive(Debug, PartialEq)]
pub(super) struct Timed {
    pub(super) stage: Stage,
    /// Since the question came.
    pub(super) begins: Duration,
    pub(super) ends: Duration,
    /// Its steps with their milliseconds.
    pub(super) steps: Vec<(String, f64)>,
}

/// The stages of a question one after the other, from the milliseconds of its steps: a trace says how long each step
/// took, and not when it began.
pub(super) fn timed(milliseconds: &BTreeMap<String, f64>) -> Vec<Timed> {
    let mut begins = Duration::ZERO;
    let stages = STAGES.iter().filter_map(|(stage, names)| {
        let own = |name: &&str| Some(((*name).to_owned(), *milliseconds.get(*name)?));
        let mut steps: Vec<(String, f64)> = names.iter().filter_map(own).collect();
        if *stage == Stage::Generate {
            // The rest of the time until the answer.
            let known = |name: &str| STAGES.iter().any(|(_, names)| names.contains(&name));
            let others = milliseconds.iter();
            let others = others.filter(|(name, _)| !known(name) && *name != TOTAL);
            steps.extend(others.map(|(name, ms)| (name.clone(), *ms)));
        }
        let took: f64 = steps.iter().map(|(_, ms)| ms).sum();
        if steps.is_empty() {
            return None;
        }
        let ends = begins + Duration::try_from_secs_f64(took / 1000.0).unwrap_or_default();
        let timed = Timed {
            stage: *stage,
            begins,
            ends,
            steps,
        };
        begins = ends;
        Some(timed)
    });
    stages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_follow_one_another_and_lose_no_step() {
        let steps = [
            ("write", 4.0),
            ("search", 2.0),
            ("judge", 1.0),
            ("embed", 3.0),
            ("a new step", 5.0),
            ("total", 15.0),
        ];
        let steps = steps.map(|(name, ms)| (name.to_owned(), ms));
        let timed = timed(&BTreeMap::from(steps));
        let ms = |timed: &Timed| (timed.begins.as_millis(), timed.ends.as_millis());
        let spans: Vec<_> = timed.iter().map(|one| (one.stage, ms(one))).collect();
        assert_eq!(
            spans,
            [
                (Stage::Route, (0, 1)),
                (Stage::Retrieve, (1, 6)),
                (Stage::Generate, (6, 15)),
            ]
        );
        assert_eq!(timed[1].steps[0].0, "embed");
        assert_eq!(timed[2].steps[1].0, "a new step");
    }
}
