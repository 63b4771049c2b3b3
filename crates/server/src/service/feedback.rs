//! Feedback on an answer: it joins the trace, may count for the guarantee, and right answers make the question one to
//! evaluate on.

use super::clock::unix_seconds;
use super::evals::EvalQuestion;
use super::resources::Served;
use super::shadow::judge;
use super::traces::trace_record::{Feedback, Rating, TraceRecord};
use super::traces::{TraceEvent, request_id, unknown};
use crate::access::caller::Caller;
use crate::access::keys::Scope;
use crate::wire::feedback::{FeedbackRequest, FeedbackResponse};
use crate::wire::refusal::Refusal;

/// Takes feedback from whoever asked, or from a caller that may read everything.
///
/// # Errors
/// An unknown question, or one that is not the caller's.
pub(crate) fn take(
    served: &Served,
    caller: &Caller,
    given: FeedbackRequest,
) -> Result<FeedbackResponse, Refusal> {
    let FeedbackRequest {
        request_id: named,
        rating,
        answers,
    } = given;
    let id = request_id(&named);
    let may_any = caller.may(Scope::Admin).is_ok() && served.may_read_first(caller);
    let counts = !answers.is_empty() && judge(served, &id, caller.key(), may_any, answers.clone());
    let past = served.traces.find(&id).filter(|past| past.is_for(caller));
    if past.is_none() && !counts {
        return Err(unknown(&named).of("request_id"));
    }
    served.metrics.feedback(match rating {
        Some(Rating::Good) => "good",
        Some(Rating::Bad) => "bad",
        None => "none",
    });
    let mut eval_question = false;
    if past.is_some() {
        let is_right_answer = !answers.is_empty();
        let feedback = Feedback {
            rating,
            answers: match served.traces.keeps_texts {
                true => answers,
                false => Vec::new(),
            },
            at: unix_seconds(),
            source: None,
        };
        let id = id.clone();
        served.note(TraceEvent::Judged { id, feedback }, true);
        eval_question = is_right_answer && made_question(served, caller, past.as_deref());
    }
    Ok(FeedbackResponse {
        request_id: id,
        counts,
        eval_question,
    })
}

/// Makes a question to evaluate on of a trace in its current state. Returns whether it did: not if texts are not
/// kept, or there are too many questions.
fn made_question(served: &Served, caller: &Caller, past: Option<&TraceRecord>) -> bool {
    let Some(past) = past.and_then(|past| served.traces.find(past.id())) else {
        return false;
    };
    let Some(question) = EvalQuestion::asked(&past) else {
        return false;
    };
    let (corpora, now) = (past.corpora(), unix_seconds());
    match served.evals.put(question, corpora, caller, now) {
        Ok(()) => true,
        Err(refusal) => {
            if let Some(detail) = refusal.detail {
                served.kept::<String>("evals", Err(detail));
            }
            false
        }
    }
}
