//! Why no threshold can be chosen.

use ken_answer::{Signal, Step};
use ken_diagnostic::{Remedy, remedy};

/// Why no threshold can be chosen on some records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum CalibrationError {
    #[error(
        "none of the {records} questions was probed with and without evidence and has golden answers"
    )]
    #[diagnostic(remedy = "probe questions with golden_answers: <ProbeWithCorpus>")]
    NothingToCompare { records: usize },
    #[error("{wanted} samples are requested, and the records hold {drawn} for each question")]
    #[diagnostic(
        remedy = "give <samples> {drawn} here and where the policy is used, or probe again with more"
    )]
    OtherSamples { drawn: usize, wanted: usize },
    #[error("the answers were sampled at temperature {drawn}, and policies sample at 1")]
    #[diagnostic(
        remedy = "probe again at the temperature of policies: <ProbeWithCorpus>, with <temperature> 1"
    )]
    OtherTemperature { drawn: String },
    #[error("records do not hold {signal} of answers with evidence")]
    #[diagnostic(
        remedy = "name a signal of evidence, such as evidence:confidence, or one of the greedy or sampled answers, such as uncertainty:perplexity"
    )]
    NotWithEvidence { signal: Signal },
    #[error("the records hold no answers with k = {}", listed(missing))]
    #[diagnostic(remedy = probed_at(missing))]
    NotAtK { missing: Vec<usize> },
    #[error(
        "the policy reads up to {wanted} search results, and the questions were probed with k = {k}"
    )]
    #[diagnostic(
        remedy = remedy!("name smaller values of k, or probe again with <k> {wanted}: <ProbeWithCorpus>")
    )]
    FewerResults { wanted: usize, k: usize },
    #[error("the records are of several models, corpora or prompts")]
    #[diagnostic(remedy = "probe with one model and one corpus: <ProbeWithCorpus>")]
    MixedRecords,
    #[error(
        "the questions were probed before answers had the probabilities of their first tokens, which {signal} needs"
    )]
    #[diagnostic(remedy = "probe again, to another file: <ProbeWithCorpus>")]
    WithoutOpenings { signal: Signal },
    #[error("{signal} is not recorded in these records")]
    #[diagnostic(remedy = measurable(*signal))]
    NotMeasured { signal: Signal },
}

fn listed(ks: &[usize]) -> String {
    let ks: Vec<String> = ks.iter().map(usize::to_string).collect();
    ks.join(",")
}

fn probed_at(ks: &[usize]) -> Remedy {
    let ks = listed(ks);
    remedy!("probe again, to another file, with <at_k> {ks}: <ProbeWithCorpus>")
}

fn measurable(signal: Signal) -> Remedy {
    if signal.steps.contains(&Step::Inspect) {
        remedy!("probe again with <eigenscore>")
    } else if signal.told_by.is_some() {
        remedy!("probe other questions than were learned from: <ProbeWithCorpus>")
    } else {
        remedy!(
            "probe again if the model tells more now; or use <policy> certainty with 2 samples or more, which needs no log probabilities"
        )
    }
}
