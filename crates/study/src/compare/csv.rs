//! A comparison as CSV: one row a policy.

use super::comparison::{Comparison, PolicyResult};

type Column = (&'static str, fn(&PolicyResult) -> Option<f64>);

const COLUMNS: [Column; 40] = [
    ("n", |one| Some(one.summary.n as f64)),
    ("failed", |one| Some(one.summary.failed as f64)),
    ("em", |one| one.summary.em),
    ("em_low", |one| low(one.summary.em_interval)),
    ("em_high", |one| high(one.summary.em_interval)),
    ("f1", |one| one.summary.f1),
    ("contains", |one| one.summary.contains),
    ("answered", |one| one.summary.answered),
    ("answered_wrong", |one| one.summary.answered_wrong),
    ("right_abstentions", |one| one.summary.right_abstentions),
    ("retrieval_ratio", |one| one.summary.retrieval_ratio),
    ("evidence_ratio", |one| one.summary.evidence_ratio),
    ("search_results", |one| one.summary.search_results.mean),
    ("model_calls", |one| one.summary.model_calls.mean),
    ("retriever_calls", |one| one.summary.retriever_calls.mean),
    ("prompt_tokens", |one| one.summary.tokens.prompt.mean),
    ("completion_tokens", |one| {
        one.summary.tokens.completion.mean
    }),
    ("latency_mean_ms", |one| one.summary.latency_ms.mean),
    ("latency_p50_ms", |one| one.summary.latency_ms.p50),
    ("latency_p95_ms", |one| one.summary.latency_ms.p95),
    ("cannot_tell", |one| Some(one.summary.cannot_tell as f64)),
    ("auroc", |one| one.auroc),
    ("auprc", |one| one.auprc),
    ("ece", |one| one.ece),
    ("not_harming", |one| one.not_harming),
    ("strict_preference", |one| one.strict_preference),
    ("trusted_right", |one| one.trusted_right),
    ("doubted_right", |one| one.doubted_right),
    ("random_em", |one| one.random.em),
    ("vs_always", |one| one.vs_always.em),
    ("vs_always_low", |one| low(one.vs_always.interval)),
    ("vs_always_high", |one| high(one.vs_always.interval)),
    ("of_oracle_lead", |one| one.of_oracle_lead),
    ("needless_skipped", |one| one.yardstick.needless_skipped),
    ("loss", |one| one.yardstick.loss),
    ("strict_needless_skipped", |one| {
        one.strict_yardstick.needless_skipped
    }),
    ("strict_beneficial_missed", |one| {
        one.strict_yardstick.beneficial_missed
    }),
    ("vs_random", |one| one.vs_random.em),
    ("vs_random_low", |one| low(one.vs_random.interval)),
    ("vs_random_high", |one| high(one.vs_random.interval)),
];

fn low(interval: Option<[f64; 2]>) -> Option<f64> {
    interval.map(|[low, _]| low)
}

fn high(interval: Option<[f64; 2]>) -> Option<f64> {
    interval.map(|[_, high]| high)
}

/// One row a policy under a row of names, in the order of the comparison. Missing values are empty.
pub fn to_csv(comparison: &Comparison) -> String {
    let names = COLUMNS.map(|(name, _)| name).join(",");
    let rows = comparison.policies.iter().map(|policy| {
        let values =
            COLUMNS.map(|(_, value)| value(policy).map_or(String::new(), |v| v.to_string()));
        // No policy's name holds a comma or a quotation mark.
        format!("{},{}\n", policy.summary.policy, values.join(","))
    });
    format!("policy,{names}\n{}", rows.collect::<String>())
}
