//! A comparison as CSV: one row a policy.

use super::comparison::Comparison;

/// One row a policy under a row of names, in the order of the comparison. What there is not is left
/// empty.
pub fn to_csv(comparison: &Comparison) -> String {
    let mut text = String::from(
        "policy,n,failed,em,em_low,em_high,f1,contains,retrieval_ratio,model_calls,\
         retriever_calls,prompt_tokens,completion_tokens,latency_p50_ms,latency_p95_ms,auroc,auprc,\
         ece,not_harming,strict_preference,random_em,vs_always,vs_always_low,vs_always_high,\
         vs_random,vs_random_low,vs_random_high\n",
    );
    for policy in &comparison.policies {
        let summary = &policy.summary;
        let low = |interval: Option<[f64; 2]>| interval.map(|[low, _]| low);
        let high = |interval: Option<[f64; 2]>| interval.map(|[_, high]| high);
        let numbers = [
            Some(summary.n as f64),
            Some(summary.failed as f64),
            summary.em,
            low(summary.em_interval),
            high(summary.em_interval),
            summary.f1,
            summary.contains,
            summary.retrieval_ratio,
            summary.model_calls.mean,
            summary.retriever_calls.mean,
            summary.tokens.prompt.mean,
            summary.tokens.completion.mean,
            summary.latency_ms.p50,
            summary.latency_ms.p95,
            policy.auroc,
            policy.auprc,
            policy.ece,
            policy.not_harming,
            policy.strict_preference,
            policy.random.em,
            policy.vs_always.em,
            low(policy.vs_always.interval),
            high(policy.vs_always.interval),
            policy.vs_random.em,
            low(policy.vs_random.interval),
            high(policy.vs_random.interval),
        ];
        // No name of a policy holds a comma or a quotation mark.
        text.push_str(&summary.policy);
        for number in numbers {
            text.push(',');
            if let Some(number) = number {
                text.push_str(&number.to_string());
            }
        }
        text.push('\n');
    }
    text
}
