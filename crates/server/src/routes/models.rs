//! `/v1/models`: each policy is one, so that any client can compare them.

use super::call::Call;
use super::reply::Reply;
use crate::service::policies;
use crate::wire::models::{Model, ModelList};
use crate::wire::refusal::Refusal;

pub(crate) async fn list(call: Call) -> Result<Reply<ModelList>, Refusal> {
    let models = call.served.models().into_iter();
    let models = models.map(|id| Model::new(id, call.served.started));
    Ok(Reply::json(&ModelList::new(models.collect())))
}

/// One of them, or another policy that can choose here.
pub(crate) async fn one(call: Call<String>) -> Result<Reply<Model>, Refusal> {
    let (served, id) = (&call.served, call.path);
    if !served.models().contains(&id)
        && let Some(policy) = policies::named(&id)?
        && policies::check(policy, &served.pipeline).is_err()
    {
        return Err(policies::unknown(&id));
    }
    Ok(Reply::json(&Model::new(id, served.started)))
}
