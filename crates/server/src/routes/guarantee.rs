//! `/v1/ken/guarantee`: the guarantee of the policy, and what watching it has shown since.

use super::call::Call;
use super::reply::Reply;
use crate::service::shadow::stated;
use crate::service::watch::FALSE_ALARM;
use crate::wire::guarantee::{DriftReport, GuaranteeReport, TestReport};
use crate::wire::refusal::Refusal;

/// Reports it to every caller that may read its corpus.
pub(crate) async fn report(call: Call) -> Result<Reply<GuaranteeReport>, Refusal> {
    let watch = call.served.watch.as_ref();
    let watch = watch.filter(|_| call.served.may_read_first(call.caller()));
    let watch = watch.ok_or_else(|| {
        let message = "no guarantee is watched here, or it is of a corpus that the key is not for";
        Refusal::not_found("no_guarantee", message)
    })?;
    let rejects_at = watch.rejects_at();
    let tests = watch.tests().into_iter().map(|(test, state)| TestReport {
        test: test.name(),
        limit: state.limit(),
        mean: state.mean(),
        observed: state.observed(),
        evidence: state.evidence(),
        rejects_at,
    });
    let drift = watch.drift().map(|drift| DriftReport {
        drifted: drift.after.is_some(),
        after: drift.after,
        observed: drift.test.observed(),
        evidence: drift.test.evidence(),
        rejects_at: 1.0 / FALSE_ALARM,
        shares: drift.test.shares(),
    });
    Ok(Reply::json(&GuaranteeReport {
        state: stated(watch, call.served.standing(watch)),
        share: watch.share,
        false_alarm: FALSE_ALARM,
        tests: tests.collect(),
        drift,
    }))
}
