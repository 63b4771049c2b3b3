//! Looking at drawn questions to watch the guarantee: where little loss is promised, one that did not retrieve is
//! answered with retrieval as well, off its client's path and when the server has room for it. Where both answers
//! differ and there is a judge, it is asked behind that which of them is right. Where few errors are promised, the
//! answer that was given is what counts, and passages are found for a judge alone.

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

/// How it waits until nothing else is answered, and then until nothing else waits.
const PATIENCE: Patience = Patience {
    idle: Duration::from_secs(5),
    room: ROOM_WITHIN,
};

/// A drawn question, and how it was answered.
pub(crate) struct ShadowCheck {
    pub(crate) request_id: String,
    pub(crate) question: String,
    /// Whether it was answered with evidence, so that nothing can have been lost.
    pub(crate) has_evidence: bool,
    pub(crate) drawn: Drawn,
    /// The answer that was given.
    pub(crate) answer: String,
    /// By which it was answered.
    pub(crate) pipeline: Pipeline,
}

impl ShadowCheck {
    /// Whether the answer that was given is one of a few words at temperature 0, as when probing.
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

/// What came of a look.
enum Outcome {
    Compared(Compared),
    Dropped,
    Failed(AnswerError),
}

/// Begins to look at a question; to be called within the runtime.
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
        // A panic has told of itself.
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

/// Answers it in a few words, as it was done to calibrate. Returns what a judge is to decide as well, where there
/// is something.
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

/// Answers by a policy and what withholds answers.
type Answering<'a> = dyn FnMut(Policy, Option<Abstention>) -> Result<Answer, AnswerError> + 'a;

/// What is to be put to the tests, if anything, and what a judge is to read, if it is to be asked.
type OtherAnswer = (Option<Compared>, Option<Vec<Retrieved>>);

/// Answers with retrieval, and, where the answer that was given is of another kind, without. A judge is asked where
/// both answers differ.
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

/// Answers as was answered, where the answer that was given is of another kind, and finds what a judge is to read.
fn as_given(
    look: &ShadowCheck,
    is_judged: bool,
    answer: &mut Answering<'_>,
) -> Result<OtherAnswer, AnswerError> {
    let given = match look.is_as_probed() {
        true => Some(look.answer.clone()),
        false => {
            let settings = &look.pipeline.settings;
            let again = answer(settings.policy, settings.abstain)?;
            again.withheld.is_none().then_some(again.answer)
        }
    };
    let read = match is_judged && given.is_some() {
        true => Some(answer(Policy::ALWAYS, None)?.retrieved),
        false => None,
    };
    Ok((given.map(Compared::Given), read))
}

/// Puts what came of it to the tests, and tells of it.
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
    // Where both answers are the same, no judge needs to be asked.
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

/// Puts what a judge says to the test, and tells of it.
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

/// Takes what the policy measured of a question, and tells where questions are found to differ from those of
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

/// Takes what is right of a question, from whoever has this key or, where any key may be, from anybody. Says
/// whether it counts.
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

/// Keeps what was found, and tells of a guarantee that lapses.
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

/// A guarantee as it is told.
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
