//! Checks drawn questions to watch the guarantee. Where little loss is promised, a question that did not retrieve is
//! answered with retrieval as well, off its client's path and when the server has room for it; if the answers differ,
//! the judge, if there is one, then says which is right. Where few errors are promised, the given answer counts, and
//! passages are found for a judge only.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ken_answer::{Abstention, Answer, AnswerError, Pipeline, Policy, Retrieved, Style};
use ken_language::Sampling;
use ken_policy::Promise;

use super::cancel::Cancel;
use super::gate::{Patience, Place};
use super::judge::{Dispute, Judged};
use super::resources::Served;
use super::traces::TraceEvent;
use super::watch::comparison::Compared;
use super::watch::{Drawn, Drift, Standing, Test, TestOutcome, Watch};
use crate::log::Entry;
use crate::wire::guarantee::GuaranteeState;

/// How long a question waits for room; then it is dropped.
const ROOM_WITHIN: Duration = Duration::from_secs(600);

/// It waits until no other question is answered, and then until none waits.
const PATIENCE: Patience = Patience {
    idle: Duration::from_secs(5),
    room: ROOM_WITHIN,
};

/// A drawn question, and its answer.
pub(crate) struct ShadowCheck {
    pub(crate) request_id: String,
    pub(crate) question: String,
    /// Whether it was answered with evidence, so that nothing can have been lost.
    pub(crate) has_evidence: bool,
    pub(crate) drawn: Drawn,
    /// The given answer.
    pub(crate) answer: String,
    /// The pipeline that answered it.
    pub(crate) pipeline: Pipeline,
}

impl ShadowCheck {
    /// Whether the given answer is one of a few words at temperature 0, as in probing.
    fn is_as_probed(&self) -> bool {
        let given = &self.pipeline.settings;
        let brought = &self.pipeline.brought;
        given.style == Style::Short
            && given.sampling == Sampling::Greedy
            && brought.conversation.is_none()
            && brought.stop.is_empty()
            && brought.schema.is_none()
    }
}

/// The outcome of a check.
enum Outcome {
    Compared(Compared),
    Dropped,
    Failed(AnswerError),
}

/// Begins to check a question; to be called within the runtime.
pub(crate) fn begin(served: &Arc<Served>, look: ShadowCheck) {
    let Some(watch) = &served.watch else {
        return;
    };
    let nothing_to_do = match watch.guarantee.promise {
        Promise::Loss { .. } if look.has_evidence => Some(Compared::Retrieved),
        Promise::Error { .. } if served.judge.is_none() && look.is_as_probed() => {
            Some(Compared::Given(look.answer.clone()))
        }
        _ => None,
    };
    if let Some(compared) = nothing_to_do {
        finish(served, &look, Outcome::Compared(compared));
        return;
    }
    let Ok(waiting) = Arc::clone(&watch.waiting).try_acquire_owned() else {
        finish(served, &look, Outcome::Dropped);
        return;
    };
    let served = Arc::clone(served);
    tokio::runtime::Handle::current().spawn(async move {
        let halted = || served.halted.load(Ordering::Relaxed);
        let room = served.answers.spare(PATIENCE, halted).await;
        let shared = Arc::clone(&served);
        let looked = tokio::task::spawn_blocking(move || {
            let (outcome, dispute) = match room {
                Some(place) => compare(&shared, &look, place),
                None => (Outcome::Dropped, None),
            };
            finish(&shared, &look, outcome);
            Some((look, dispute?))
        });
        let looked = looked.await;
        drop(waiting);
        // A panic has reported itself.
        let Ok(Some((look, dispute))) = looked else {
            return;
        };
        let Some(judge) = served.judge.clone() else {
            return;
        };
        let turn = judge.turn(ROOM_WITHIN).await;
        let judged = tokio::task::spawn_blocking(move || {
            let deadline = Instant::now() + served.limits.deadline;
            let cancel = Cancel::new(|| false, deadline, Arc::clone(&served.halted));
            let judged = judge.judge(turn, &look.question, &dispute, &cancel);
            tell_of_verdict(&served, &look.request_id, &judged);
        });
        let _ = judged.await;
    });
}

/// Answers it in a few words, as in calibration. Also returns what a judge is to decide, if anything.
fn compare(served: &Served, look: &ShadowCheck, place: Place) -> (Outcome, Option<Dispute>) {
    let _place = place;
    let Some(watch) = &served.watch else {
        return (Outcome::Dropped, None);
    };
    let deadline = Instant::now() + served.limits.deadline;
    let cancel = Cancel::new(|| false, deadline, Arc::clone(&served.halted));
    let mut pipeline = look.pipeline.clone().bound(&cancel.token());
    pipeline.brought = Arc::default();
    pipeline.settings.style = Style::Short;
    pipeline.settings.sampling = Sampling::Greedy;
    let mut answer = |policy: Policy, abstain: Option<Abstention>| {
        pipeline.settings.policy = policy;
        pipeline.settings.abstain = abstain;
        pipeline.answer(look.question.as_str(), &mut |_| cancel.flow())
    };
    let compared = match watch.guarantee.promise {
        Promise::Loss { .. } => with_retrieval(look, &mut answer),
        Promise::Error { .. } => as_given(look, served.judge.is_some(), &mut answer),
    };
    match compared {
        _ if cancel.reason().is_some() => (Outcome::Dropped, None),
        Ok((Some(compared), read)) => {
            let dispute = read.map(|read| Dispute {
                answers: compared.clone(),
                read,
            });
            (Outcome::Compared(compared), dispute)
        }
        Ok((None, _)) => (Outcome::Dropped, None),
        Err(error) => (Outcome::Failed(error), None),
    }
}

/// Answers by a policy and an abstention.
type Answering<'a> = dyn FnMut(Policy, Option<Abstention>) -> Result<Answer, AnswerError> + 'a;

/// The answers to test, if any, and what a judge is to read, if it is to be asked.
type OtherAnswer = (Option<Compared>, Option<Vec<Retrieved>>);

/// Answers with retrieval and, if the given answer is of another kind, without. A judge is asked if the answers
/// differ.
fn with_retrieval(
    look: &ShadowCheck,
    answer: &mut Answering<'_>,
) -> Result<OtherAnswer, AnswerError> {
    let without = match look.is_as_probed() && look.pipeline.settings.abstain.is_none() {
        true => look.answer.clone(),
        false => answer(Policy::NEVER, None)?.answer,
    };
    let answered = answer(Policy::ALWAYS, None)?;
    let with = answered.answer;
    let compared = Compared::Both { without, with };
    let read = compared.differs().then_some(answered.retrieved);
    Ok((Some(compared), read))
}

/// Answers again in the same way if the given answer is of another kind, and finds what a judge is to read.
fn as_given(
    look: &ShadowCheck,
    is_judged: bool,
    answer: &mut Answering<'_>,
) -> Result<OtherAnswer, AnswerError> {
    let given = if look.is_as_probed() {
        Some(look.answer.clone())
    } else {
        let settings = &look.pipeline.settings;
        let again = answer(settings.policy, settings.abstain)?;
        again.withheld.is_none().then_some(again.answer)
    };
    let read = match is_judged && given.is_some() {
        true => Some(answer(Policy::ALWAYS, None)?.retrieved),
        false => None,
    };
    Ok((given.map(Compared::Given), read))
}

/// Tests the outcome, and reports it.
fn finish(served: &Served, look: &ShadowCheck, outcome: Outcome) {
    let Some(watch) = &served.watch else {
        return;
    };
    let (name, loss, detail) = match &outcome {
        Outcome::Compared(Compared::Retrieved) => ("retrieved", Some(0.0), None),
        Outcome::Compared(Compared::Given(_)) => ("given", None, None),
        Outcome::Compared(compared) if compared.differs() => ("differs", Some(1.0), None),
        Outcome::Compared(_) => ("agrees", Some(0.0), None),
        Outcome::Dropped => ("dropped", None, None),
        Outcome::Failed(error) => ("failed", None, Some(error.to_string())),
    };
    served.metrics.watched(name);
    served.note(
        TraceEvent::Watched {
            id: look.request_id.clone(),
            outcome: name.to_owned(),
        },
        false,
    );
    (served.log)(&Entry::Watched {
        request_id: look.request_id.clone(),
        number: look.drawn.number,
        propensity: look.drawn.propensity,
        outcome: name,
        detail,
    });
    if let Some(loss) = loss {
        tell(served, watch, watch.observe(Test::Agreement, loss));
    }
    // If both answers agree, no judge need be asked.
    if loss == Some(0.0) && served.judge.is_some() {
        tell(served, watch, watch.observe(Test::Judge, 0.0));
    }
    if let Outcome::Compared(compared) = outcome {
        let loss = watch.remembered().compare(&look.request_id, compared);
        if let Some(loss) = loss {
            tell(served, watch, watch.observe(Test::Correctness, loss));
        }
    }
}

/// Tests a judge's verdict, and reports it.
fn tell_of_verdict(served: &Served, request_id: &str, judged: &Judged) {
    let Some(watch) = &served.watch else {
        return;
    };
    served.metrics.judged(judged.name());
    let (verdict, detail) = match judged {
        Judged::Said(verdict) => (Some(*verdict), None),
        Judged::CannotTell | Judged::Dropped => (None, None),
        Judged::Failed(detail) => (None, Some(detail.clone())),
    };
    (served.log)(&Entry::Judged {
        request_id: request_id.to_owned(),
        verdict: judged.name(),
        detail,
    });
    if let Some(judge) = verdict {
        let id = request_id.to_owned();
        served.note(TraceEvent::Decided { id, judge }, false);
        tell(served, watch, watch.observe(Test::Judge, judge.loss()));
    }
}

/// Takes what the policy measured for a question, and reports when questions are found to differ from those of
/// calibration.
pub(crate) fn score(served: &Served, score: f64) {
    let Some(watch) = &served.watch else {
        return;
    };
    let (drifted, is_time) = watch.score(score);
    if is_time {
        served.kept("watch", watch.write());
    }
    if let Some(Drift { test, after }) = drifted {
        let policy = watch.guarantee.policy.clone();
        (served.log)(&Entry::Drifted {
            questions: after.unwrap_or_default(),
            evidence: test.evidence(),
            advice: format!(
                "questions of late differ from those of calibration; the guarantee is still relied on, as that \
                 alone loses nothing: look at its tests, and probe and calibrate {policy} on questions of late"
            ),
            policy,
        });
    }
}

/// Takes right answers to a question from the caller with the question's key or, if `may_any`, from any. Returns
/// whether they count.
pub(crate) fn judge(
    served: &Served,
    request_id: &str,
    key: Option<&str>,
    may_any: bool,
    right: Vec<String>,
) -> bool {
    let Some(watch) = &served.watch else {
        return false;
    };
    let judged = watch.remembered().judge(request_id, key, may_any, right);
    if let Some(Some(loss)) = judged {
        tell(served, watch, watch.observe(Test::Correctness, loss));
    }
    judged.is_some()
}

/// Stores a finding, and reports a guarantee that lapses.
fn tell(served: &Served, watch: &Watch, finding: TestOutcome) {
    served.kept("watch", watch.write());
    if finding.lapses {
        let policy = watch.guarantee.policy.clone();
        (served.log)(&Entry::Lapsed {
            test: finding.test.name(),
            limit: finding.limit,
            mean: finding.mean,
            questions: finding.observed,
            advice: format!(
                "probe the model on questions like those of late, calibrate {policy} on them, and start the \
                 server with the new guarantee"
            ),
            policy,
        });
    }
}

/// The guarantee as clients see it.
pub(crate) fn stated(watch: &Watch, standing: Standing) -> GuaranteeState {
    let guarantee = &watch.guarantee;
    let (abstain, max_loss, max_error) = match &guarantee.promise {
        Promise::Loss { max_loss, .. } => (None, Some(*max_loss), None),
        Promise::Error {
            abstain, max_error, ..
        } => (abstain.clone(), None, Some(*max_error)),
    };
    GuaranteeState {
        policy: guarantee.policy.clone(),
        abstain,
        max_loss,
        max_error,
        confidence: guarantee.confidence,
        standing: standing.name().to_owned(),
        records: guarantee.calibrated_on.records.clone(),
        questions: guarantee.calibrated_on.questions,
    }
}
