//! `/v1/ken/access`: what the caller may do here.

use super::call::Call;
use super::reply::Reply;
use crate::access::keys::Scope;
use crate::wire::access::AccessReport;
use crate::wire::refusal::Refusal;

pub(crate) async fn report(call: Call) -> Result<Reply<AccessReport>, Refusal> {
    let (served, caller) = (&call.served, call.caller());
    Ok(Reply::json(&AccessReport {
        key: caller.key().map(str::to_owned),
        scopes: caller.scopes().iter().map(ToString::to_string).collect(),
        corpora: caller.corpora().map(<[String]>::to_vec),
        sources: match caller.may(Scope::Admin) {
            Ok(()) => served.sources(caller),
            Err(_) => Vec::new(),
        },
        takes_documents: served.library.is_some(),
        has_guarantee: served.watch.is_some() && served.may_read_first(caller),
        model: served.model.clone(),
        measures: served.library.is_some() && served.studies.is_some() && caller.may_read_all(),
        shows_studies: served.studies.is_some() && caller.may_read_all(),
    }))
}
