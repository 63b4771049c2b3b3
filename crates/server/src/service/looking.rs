//! Looking at drawn questions to watch the guarantee: one that did not retrieve is answered with retrieval
//! as well, off its client's path and when the server has room for it. Where both answers differ and there is a
//! judge, it is asked behind that which of them is right.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ken_answer::{AnswerError, Pipeline, Policy, Style};
use ken_language::Sampling;

use super::cancel::{Cancel, Cancellable};
use super::gate::Place;
use super::judging::{Dispute, Judged};
use super::served::Served;
use super::traces::Happened;
use super::watch::compared::Compared;
use super::watch::{Drawn, Drift, Finding, Standing, Test, Watch};
use crate::log::Entry;
use crate::wire::guarantee::GuaranteeState;

/// How long a question waits until nothing else is answered; then until nothing else waits.
const IDLE_WITHIN: Duration = Duration::from_secs(5);

/// How long it waits for that; then it is dropped.
const ROOM_WITHIN: Duration = Duration::from_secs(600);

/// How often it is looked whether there is room.
const LOOK: Duration = Duration::from_millis(50);

/// A drawn question, and how it was answered.
pub(crate) struct Look {
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

/// What came of a look.
enum Outcome {
    Compared(Compared),
    Dropped,
    Failed(AnswerError),
}

/// Begins to look at a question; to be called within the runtime.
pub(crate) fn begin(served: &Arc<Served>, look: Look) {
    if look.has_evidence {
        finish(served, &look, Outcome::Compared(Compared::Retrieved));
        return;
    }
    let Some(watch) = &served.watch else {
        return;
    };
    let Ok(waiting) = Arc::clone(&watch.waiting).try_acquire_owned() else {
        finish(served, &look, Outcome::Dropped);
        return;
    };
    let served = Arc::clone(served);
    tokio::runtime::Handle::current().spawn(async move {
        let room = wait_for_room(&served).await;
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
            let judged = judge.judge(turn, &look.question, &dispute, cancel);
            tell_of_verdict(&served, &look.request_id, &judged);
        });
        let _ = judged.await;
    });
}

/// A place at work when nobody else needs it.
async fn wait_for_room(served: &Served) -> Option<Place> {
    let begun = Instant::now();
    while begun.elapsed() < ROOM_WITHIN && !served.halted.load(Ordering::Relaxed) {
        let (waiting, working) = served.answers.load();
        let is_idle = waiting == 0 && working == 0;
        if is_idle || (waiting == 0 && begun.elapsed() > IDLE_WITHIN) {
            let soon = Instant::now() + LOOK;
            if let Ok(place) = served.answers.queue().ok()?.enter(soon).await {
                return Some(place);
            }
        }
        tokio::time::sleep(LOOK).await;
    }
    None
}

/// Answers it in a few words with retrieval, and, where the answer that was given is of another kind,
/// without: as it was done to calibrate. Returns what a judge is to decide as well, where both answers differ.
fn compare(served: &Served, look: &Look, place: Place) -> (Outcome, Option<Dispute>) {
    let _place = place;
    let deadline = Instant::now() + served.limits.deadline;
    let cancel = Cancel::new(|| false, deadline, Arc::clone(&served.halted));
    let mut pipeline = look.pipeline.clone();
    pipeline.model = Arc::new(Cancellable {
        model: Arc::clone(&pipeline.model),
        cancel: cancel.clone(),
    });
    let given = &look.pipeline.settings;
    let is_given =
        given.style == Style::Short && given.sampling == Sampling::Greedy && !given.verbalize;
    let is_given = is_given && given.abstain.is_none();
    pipeline.settings.style = Style::Short;
    pipeline.settings.sampling = Sampling::Greedy;
    pipeline.settings.verbalize = false;
    pipeline.settings.abstain = None;
    let mut answer = |policy: Policy| {
        pipeline.settings.policy = policy;
        pipeline.answer(look.question.as_str(), &mut |_| cancel.flow())
    };
    let mut both = || -> Result<(Compared, Option<Dispute>), AnswerError> {
        let without = match is_given {
            true => look.answer.clone(),
            false => answer(Policy::Never)?.answer,
        };
        let answered = answer(Policy::Always)?;
        let with = answered.answer;
        let dispute = Dispute {
            without: without.clone(),
            with: with.clone(),
            read: answered.retrieved,
        };
        let compared = Compared::Both { without, with };
        let differs = !compared.agrees();
        Ok((compared, differs.then_some(dispute)))
    };
    match both() {
        _ if cancel.reason().is_some() => (Outcome::Dropped, None),
        Ok((compared, dispute)) => (Outcome::Compared(compared), dispute),
        Err(error) => (Outcome::Failed(error), None),
    }
}

/// Puts what came of it to the tests, and tells of it.
fn finish(served: &Served, look: &Look, outcome: Outcome) {
    let Some(watch) = &served.watch else {
        return;
    };
    let (name, loss, detail) = match &outcome {
        Outcome::Compared(Compared::Retrieved) => ("retrieved", Some(0.0), None),
        Outcome::Compared(compared) if compared.agrees() => ("agrees", Some(0.0), None),
        Outcome::Compared(_) => ("differs", Some(1.0), None),
        Outcome::Dropped => ("dropped", None, None),
        Outcome::Failed(error) => ("failed", None, Some(error.to_string())),
    };
    served.metrics.watched(name);
    take(
        served,
        Happened::Watched {
            id: look.request_id.clone(),
            outcome: name.to_owned(),
        },
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
        Judged::Dropped => (None, None),
        Judged::Failed(detail) => (None, Some(detail.clone())),
    };
    (served.log)(&Entry::Judged {
        request_id: request_id.to_owned(),
        verdict: judged.name(),
        detail,
    });
    if let Some(judge) = verdict {
        let id = request_id.to_owned();
        take(served, Happened::Decided { id, judge });
        tell(served, watch, watch.observe(Test::Judge, judge.loss()));
    }
}

/// Has what happened to a question in its trace.
fn take(served: &Served, happened: Happened) {
    served.kept("traces", served.traces.write(&happened, false));
    served.traces.take(happened);
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
fn tell(served: &Served, watch: &Watch, finding: Finding) {
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
    GuaranteeState {
        policy: guarantee.policy.clone(),
        max_loss: guarantee.max_loss,
        confidence: guarantee.confidence,
        standing: standing.name().to_owned(),
        records: guarantee.calibrated_on.records.clone(),
        questions: guarantee.calibrated_on.questions,
    }
}
