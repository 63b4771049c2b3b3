//! `ken calibrate`: chooses the thresholds of a policy, and of its abstention, on probed questions.

mod digits;
mod guarantee;
mod scores;
mod show;

use ken_eval::{
    Observed, ProbeRecord, is_held_out, observe, probed_k, read_results, read_settings,
};
use ken_policy::{Calibration, Goal, Policy, Rule, Signal, calibrate};

use self::digits::shortened;
use self::scores::{scores, scores_with_evidence};
use crate::arguments::calibrate::CalibrateArguments;
use crate::failure::{Failure, Result};
use crate::session::Session;

/// What was chosen, and on what.
struct Chosen<'a> {
    arguments: &'a CalibrateArguments,
    session: &'a Session<'a>,
    calibration: Calibration,
    observed: Observed,
    /// Search results that the questions were probed with; 0 if the policy does not choose k.
    always_k: usize,
}

pub(crate) fn run(arguments: &CalibrateArguments, session: &Session<'_>) -> Result<()> {
    guarantee::check(arguments)?;
    let (policy, abstain) = (&arguments.policy, arguments.abstain);
    if policy.withhold.is_some() {
        return Err(Failure::refused(
            "policy_with_thresholds",
            format!("the policy `{policy}` has thresholds of its own"),
            "calibrate the signal that it keeps evidence by: --policy evidence:assurance",
        ));
    }
    let Some(signal) = policy.signal() else {
        // The parser requires one.
        return Ok(());
    };
    let mut records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    if let Some(share) = arguments.held_out {
        records.retain(|record| !is_held_out(record, share));
    }
    if abstain.is_some()
        && (policy.searches_by().is_none() || is_of_two(policy) || policy.is_graded())
    {
        return Err(Failure::refused(
            "abstaining_policy",
            "with --abstain, the policy is one signal of the question",
            "name one, such as --policy uncertainty:perplexity; what is found is weighed by --abstain",
        ));
    }
    let (of_question, of_review) = all_scores(arguments, signal, &records, session)?;
    let always_k = if policy.is_graded() {
        recorded_k(arguments)?
    } else {
        0
    };
    let review = of_review.as_ref();
    let observed = observe(
        &records,
        (signal, &of_question),
        review.map(|(signal, scores)| (*signal, scores.as_slice())),
        (policy.ks.values(), always_k),
        session.settings.seed,
    )?;
    let (observations, goal) = (&observed.observations, arguments.goal());
    let calibration = calibrate(policy, abstain, always_k, observations, goal);
    let chosen = Chosen {
        calibration: shortened(calibration, observations),
        arguments,
        session,
        observed,
        always_k,
    };
    if let Some(out) = &arguments.out {
        guarantee::write(out, &chosen, &records, &of_question)?;
    }
    show::show(&chosen)
}

/// A signal of each record: `[records]`.
type Scores = Vec<Option<f64>>;

/// The signal of the question, and the one that reviews the evidence or vouches for the answer, if that is another or
/// is measured again.
fn all_scores(
    arguments: &CalibrateArguments,
    signal: Signal,
    records: &[ProbeRecord],
    session: &Session<'_>,
) -> Result<(Scores, Option<(Signal, Scores)>)> {
    let policy = &arguments.policy;
    // Signals that may need a corpus come first: if there is none, no measuring is wasted.
    let again = policy.reviews_by().filter(|_| policy.keep == Rule::Settled);
    let of_answer = arguments.abstain.or(again).map(|signal| {
        let scores = scores_with_evidence(arguments, signal, records, session)?;
        Ok::<_, Failure>((signal, scores))
    });
    let of_answer = of_answer.transpose()?;
    let of_question = scores(arguments, signal, records, session)?;
    let reviewer = policy.keep.signal().filter(|_| is_of_two(policy));
    let of_review = match (of_answer, reviewer) {
        (None, Some(signal)) => Some((signal, scores(arguments, signal, records, session)?)),
        (of_answer, _) => of_answer,
    };
    Ok((of_question, of_review))
}

/// Whether one signal retrieves and another, or the same once more, reviews.
fn is_of_two(policy: &Policy) -> bool {
    policy.searches_by().is_some() && policy.keep != Rule::Always
}

fn recorded_k(arguments: &CalibrateArguments) -> Result<usize> {
    probed_k(&read_settings(&arguments.records)?).ok_or_else(|| {
        Failure::refused(
            "k_not_recorded",
            "the records do not tell how many search results they were probed with",
            "probe again with a corpus: ken probe QUESTIONS --corpus DIR --at-k 1,3",
        )
    })
}

impl Chosen<'_> {
    /// The policy as it is used; one that chooses k lacks the values that no question gets.
    fn policy(&self) -> Policy {
        let policy = self.calibration.policy.simplified();
        if policy == Policy::always_k(self.always_k) {
            Policy::ALWAYS
        } else {
            policy
        }
    }

    /// All signals that decide.
    fn signals(&self) -> impl Iterator<Item = Signal> {
        let abstain = self.calibration.abstain.map(|abstain| abstain.signal);
        self.policy().signals().chain(abstain)
    }

    fn is_promise(&self) -> bool {
        matches!(self.arguments.goal(), Goal::Guarantee { .. })
    }
}
