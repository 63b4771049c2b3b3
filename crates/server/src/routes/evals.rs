//! `/v1/ken/evals/questions`: questions with right answers, as `ken eval` reads them.

use axum::http::StatusCode;

use super::call::{Call, JsonBody};
use super::collection::{NamedQuestion, remove};
use super::reply::{Lines, Reply};
use crate::service::clock::unix_seconds;
use crate::service::evals::EvalQuestion;
use crate::wire::feedback::check_answers;
use crate::wire::files::Deleted;
use crate::wire::refusal::Refusal;
use crate::wire::traces::MakeEvalQuestion;

/// All of them, oldest first.
pub(crate) async fn list(call: Call) -> Result<Reply<Lines<EvalQuestion>>, Refusal> {
    let all = call.blocking(|call| Ok(call.served.evals.all(call.caller())));
    Ok(Reply::lines(all.await?.into_iter()))
}

/// Takes a question: that of a trace, or another one.
pub(crate) async fn make(
    call: Call,
    body: JsonBody<MakeEvalQuestion>,
) -> Result<Reply<EvalQuestion>, Refusal> {
    let asked = body.read().await?;
    let named = NamedQuestion {
        trace: asked.trace,
        question: asked.question,
        corpus: asked.corpus,
    };
    let needed = "could be evaluated on";
    let (mut question, corpora) = named.find(&call.served, call.caller(), needed)?;
    if !asked.golden_answers.is_empty() {
        question.golden_answers = asked.golden_answers;
    }
    check_answers("golden_answers", &question.golden_answers)?;
    let kept = call.blocking(|call| {
        let evals = &call.served.evals;
        evals.put(question.clone(), corpora, call.caller(), unix_seconds())?;
        Ok(question)
    });
    Ok(Reply::with_status(StatusCode::CREATED, &kept.await?))
}

/// Removes one.
pub(crate) async fn delete(call: Call<String>) -> Result<Reply<Deleted>, Refusal> {
    let unknown = ("unknown_question", "question");
    remove(call, |served| &served.evals, "eval_question", unknown).await
}
