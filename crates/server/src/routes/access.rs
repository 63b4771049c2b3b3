//! `/v1/ken/access`: what the caller may do here.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::wire::access::AccessReport;
use crate::wire::body;

/// Tells of it.
pub(crate) async fn report(
    State(app): State<App>,
    Extension(request): Extension<Request>,
) -> Response {
    let caller = &request.caller;
    body::json(&AccessReport {
        key: caller.key().map(str::to_owned),
        scopes: caller.scopes().iter().map(ToString::to_string).collect(),
        corpora: caller.corpora().map(<[String]>::to_vec),
        sources: match caller.may(Scope::Admin) {
            Ok(()) => app.served.sources(caller),
            Err(_) => Vec::new(),
        },
        takes_documents: app.served.library.is_some(),
        has_guarantee: app.served.watch.is_some() && app.served.may_read_first(caller),
        shows_studies: app.served.studies.is_some() && caller.may_read_all(),
    })
}
