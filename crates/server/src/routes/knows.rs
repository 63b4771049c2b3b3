//! `/v1/ken/knows`: what the model knows about a question, without answering it.

use std::sync::Arc;
use std::time::Instant;

use ken_answer::{AnswerError, Pipeline, Policy, Signal};

use super::call::{Call, JsonBody};
use super::reply::Reply;
use crate::access::caller::Caller;
use crate::service::answers::{Request, milliseconds};
use crate::service::options::RequestOptions;
use crate::service::resources::Served;
use crate::service::shadow::stated;
use crate::service::{policies, readable, work};
use crate::wire::guarantee::GuaranteeState;
use crate::wire::ken::{KnowsRequest, KnowsResponse, Learned, Options};
use crate::wire::refusal::Refusal;

/// Judges a question.
pub(crate) async fn knows(
    call: Call,
    body: JsonBody<KnowsRequest>,
) -> Result<Reply<KnowsResponse>, Refusal> {
    let asked = body.read().await?;
    let judged = judge(&call.served, asked, &call.request);
    Ok(Reply::json(&judged.await?))
}

/// Judges a question.
///
/// # Errors
/// A policy that measures nothing or cannot choose here; a question that does not fit.
pub(crate) async fn judge(
    served: &Arc<Served>,
    asked: KnowsRequest,
    request: &Request,
) -> Result<KnowsResponse, Refusal> {
    let (question, policy, signal) = checked(&served.pipeline, asked)?;
    let reserved = request
        .caller
        .reserve(served.prompt_estimate(question.len()))?;
    let caller = request.caller.clone();
    work::run(served, &served.answers, move |served, cancel| {
        let started = Instant::now();
        // A router's embeddings are those of the first corpus that the caller may read.
        let mut corpora = served.corpora.all().into_iter();
        let corpus = corpora.find(|corpus| caller.may_read(&corpus.name));
        let mut pipeline = served.pipeline();
        if let Some(corpus) = corpus {
            pipeline = pipeline.over(Some(corpus.retriever.clone()))?;
        }
        let pipeline = pipeline.bound(&cancel.token());
        let known = pipeline.knows(question.as_str(), policy);
        let known = known.map_err(|error| cancel.refusal(error))?;
        // Samples that were broken off say nothing.
        cancel.check()?;
        let [prompt, completion] = known.tokens;
        reserved.settle(prompt + completion);
        Ok(KnowsResponse {
            policy: known.policy,
            probability: known.probability,
            score: known.score,
            threshold: known.threshold,
            retrieves: known.retrieves,
            reason: known.reason,
            measures: known.measures,
            guarantee: guarantee(served, &caller, policy),
            learned_with: learned(signal, &pipeline),
            ms: milliseconds(started.elapsed()),
        })
    })
    .await
}

/// The question, the policy by which to judge it, and that policy's signal.
fn checked(pipeline: &Pipeline, asked: KnowsRequest) -> Result<(String, Policy, Signal), Refusal> {
    let question = asked.question.trim().to_owned();
    if question.is_empty() {
        return Err(AnswerError::EmptyQuestion.into());
    }
    let context = pipeline.model.context_tokens();
    readable::check(&question, Some(context)).map_err(|refusal| refusal.of("question"))?;
    let options = Options {
        policy: asked.policy,
        ..Options::default()
    };
    let options = RequestOptions::by(None, &options)?;
    let policy = options.policy.unwrap_or_else(|| pipeline.judging());
    let policy = pipeline.resolved(policy);
    let Some(signal) = policy.signal() else {
        let message = format!("the policy `{policy}` measures nothing of a question");
        return Err(Refusal::bad("policy_without_signal", message).of("policy"));
    };
    policies::check(policy, pipeline)?;
    Ok((question, policy, signal))
}

/// The guarantee of a policy, if it has one.
fn guarantee(served: &Served, caller: &Caller, policy: Policy) -> Option<GuaranteeState> {
    let watch = served.watch.as_ref()?;
    (watch.policy == policy && served.may_read_first(caller))
        .then(|| stated(watch, served.standing(watch)))
}

fn learned(signal: Signal, pipeline: &Pipeline) -> Option<Learned> {
    let by = pipeline.routing.fingerprint(signal.told_by?)?;
    Some(Learned {
        by: by.to_owned(),
        model: pipeline.model.fingerprint().to_owned(),
    })
}
