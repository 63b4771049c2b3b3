//! What evals and corrections share: finding the question to collect, and removing one.

use std::sync::Arc;

use serde_json::Map;

use super::call::Call;
use super::reply::Reply;
use crate::access::caller::Caller;
use crate::service::collection::{Collection, Item};
use crate::service::evals::EvalQuestion;
use crate::service::library::new_id;
use crate::service::resources::Served;
use crate::wire::files::Deleted;
use crate::wire::refusal::Refusal;
use crate::wire::traces::LONGEST_QUESTION;

/// A question as a client names it: by a trace, or by itself with the corpus that it is asked of.
pub(super) struct NamedQuestion {
    pub(super) trace: Option<String>,
    pub(super) question: Option<String>,
    pub(super) corpus: Option<String>,
}

impl NamedQuestion {
    /// The question with the corpora that it was asked of. `needed` is what a question is collected for.
    ///
    /// # Errors
    /// A trace that is not for the caller, or holds no question; a question that is empty or too long; neither, or both.
    pub(super) fn find(
        self,
        served: &Served,
        caller: &Caller,
        needed: &str,
    ) -> Result<(EvalQuestion, Vec<String>), Refusal> {
        let (question, corpora) = match (self.trace, self.question) {
            (Some(id), None) => {
                let past = served.traces.find_for(&id, caller);
                let past = past.map_err(|refusal| refusal.of("trace"))?;
                served.traces.require_texts()?;
                let question = EvalQuestion::asked(&past).ok_or_else(|| {
                    let message = format!("the trace has no question that {needed}");
                    Refusal::bad("no_question", message).of("trace")
                })?;
                (question, past.corpora())
            }
            (None, Some(question)) => {
                let question = EvalQuestion {
                    id: new_id("eval_"),
                    question,
                    golden_answers: Vec::new(),
                    metadata: Map::new(),
                };
                (question, asked_of(caller, self.corpus)?)
            }
            _ => {
                let message = "either a `trace` or a `question` is expected";
                return Err(Refusal::bad("invalid_value", message));
            }
        };
        if !(1..=LONGEST_QUESTION).contains(&question.question.trim().len()) {
            let message = format!("a question of 1 to {LONGEST_QUESTION} bytes is expected");
            return Err(Refusal::invalid("question", message));
        }
        Ok((question, corpora))
    }
}

/// The corpus that a question without a trace is asked of: the one that it names, or else the only one that the key
/// is for.
///
/// # Errors
/// A corpus that the key is not for; no name, if the key is for several corpora.
fn asked_of(caller: &Caller, named: Option<String>) -> Result<Vec<String>, Refusal> {
    match (named, caller.corpora()) {
        (Some(corpus), _) => {
            caller.must_read(&corpus)?;
            Ok(vec![corpus])
        }
        (None, None) => Ok(Vec::new()),
        (None, Some([only])) => Ok(vec![only.clone()]),
        (None, Some(_)) => {
            let message = "the key is for some corpora: name the one that the question is asked of";
            Err(Refusal::invalid("corpus", message))
        }
    }
}

/// Removes the item in the path, an `object` of a collection. `unknown` is the code and the noun for a missing one.
pub(super) async fn remove<T: Item + Send + 'static>(
    call: Call<String>,
    collected: fn(&Served) -> &Arc<Collection<T>>,
    object: &'static str,
    unknown: (&'static str, &str),
) -> Result<Reply<Deleted>, Refusal> {
    let id = call.path.clone();
    let removed =
        call.blocking(move |call| collected(&call.served).remove(&call.path, call.caller()));
    if removed.await? {
        return Ok(Reply::json(&Deleted::of(object, id)));
    }
    let (code, name) = unknown;
    let message = format!("there is no {name} {id:?}");
    Err(Refusal::not_found(code, message))
}
