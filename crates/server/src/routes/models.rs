//! `/v1/models`: each policy is one, so that any client can compare them.

use axum::extract::State;
use axum::response::Response;

use super::path::Path;
use super::state::App;
use crate::service::policies;
use crate::wire::body;
use crate::wire::models::{Model, ModelList};
use crate::wire::refusal::Refusal;

/// All that is listed.
pub(crate) async fn list(State(app): State<App>) -> Response {
    let models = app.served.models().into_iter();
    let models = models.map(|id| Model::new(id, app.served.started));
    body::json(&ModelList::new(models.collect()))
}

/// One of them, or another policy that can choose here.
pub(crate) async fn one(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let served = &app.served;
    if !served.models().contains(&id)
        && let Some(policy) = policies::named(&id)?
        && policies::check(policy, &served.pipeline).is_err()
    {
        return Err(policies::unknown(&id));
    }
    Ok(body::json(&Model::new(id, served.started)))
}
