//! `/v1/ken/reload` and `/v1/ken/policy`: the settings are read again, or name another policy, and what they name is
//! served from then on.

use std::sync::Arc;
use std::time::Instant;

use ken_setup::SetupError;

use super::call::{Call, JsonBody};
use super::reply::Reply;
use crate::log::Entry;
use crate::service::answers::milliseconds;
use crate::service::live::ReloadError;
use crate::service::resources::Served;
use crate::service::setup::OpenError;
use crate::wire::refusal::Refusal;
use crate::wire::reload::{ChoosePolicy, Reloaded};

pub(crate) async fn reload(call: Call) -> Result<Reply<Reloaded>, Refusal> {
    call.caller().must_read_all("the settings are")?;
    exchange(call, |call| Ok(call.shared.live.reload())).await
}

/// Has the policy that a study chose answer.
pub(crate) async fn choose(
    call: Call,
    body: JsonBody<ChoosePolicy>,
) -> Result<Reply<Reloaded>, Refusal> {
    call.caller().must_read_all("the settings are")?;
    let ChoosePolicy { study } = body.read().await?;
    exchange(call, move |call| {
        let folder = call.served.studies()?.chosen(&study)?;
        Ok(call.shared.live.choose(&folder))
    })
    .await
}

/// Serves something else, and tells what.
async fn exchange(
    call: Call,
    other: impl FnOnce(&Call) -> Result<Result<Arc<Served>, ReloadError>, Refusal> + Send + 'static,
) -> Result<Reply<Reloaded>, Refusal> {
    let begun = Instant::now();
    let live = call.shared.live.clone();
    let reloaded = call.blocking(other).await?;
    let ms = milliseconds(begun.elapsed());
    let failure = reloaded.as_ref().err();
    (live.now().served.log)(&Entry::Reload {
        code: failure.map(|error| error.kind()),
        detail: failure.map(ToString::to_string),
        ms,
    });
    let served = reloaded.map_err(|error| refusal(&error))?;
    let corpora = served.corpora();
    Ok(Reply::json(&Reloaded {
        models: served.models(),
        corpora: corpora.iter().map(|corpus| corpus.state()).collect(),
        ms,
    }))
}

/// What a client is told; errors that name paths stand in the log alone.
fn refusal(error: &ReloadError) -> Refusal {
    let message = match error {
        ReloadError::Running
        | ReloadError::NotReloadable
        | ReloadError::NeedsRestart { .. }
        | ReloadError::PolicyGiven { .. } => error.to_string(),
        ReloadError::Open(
            OpenError::NotGuaranteed(_) | OpenError::Setup(SetupError::TunedOtherwise { .. }),
        ) => format!("{error}; nothing has changed"),
        ReloadError::Settings(SetupError::SettingsUnwritable { .. } | SetupError::Storage(_)) => {
            "the settings file cannot be written, and nothing has changed: put the files of the study beside it yourself"
                .to_owned()
        }
        ReloadError::Settings(_) | ReloadError::Open(_) => {
            "the settings cannot be used, and nothing has changed; the log says why".to_owned()
        }
    };
    Refusal::conflict(error.kind(), message)
}
