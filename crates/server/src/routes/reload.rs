//! `/v1/ken/reload`: the settings are read again, and what they name is served from then on.

use std::time::Instant;

use super::call::Call;
use super::reply::Reply;
use crate::log::Entry;
use crate::service::answers::milliseconds;
use crate::service::live::ReloadError;
use crate::wire::refusal::Refusal;
use crate::wire::reload::Reloaded;

/// Reads them.
pub(crate) async fn reload(call: Call) -> Result<Reply<Reloaded>, Refusal> {
    call.caller().must_read_all("the settings are")?;
    let begun = Instant::now();
    let live = call.shared.live.clone();
    let reloaded = call.blocking(|call| Ok(call.shared.live.reload())).await?;
    let ms = milliseconds(begun.elapsed());
    let log = &live.now().served.log;
    match reloaded {
        Ok(served) => {
            log(&Entry::Reload {
                code: None,
                detail: None,
                ms,
            });
            let corpora = served.corpora();
            Ok(Reply::json(&Reloaded {
                models: served.models(),
                corpora: corpora.iter().map(|corpus| corpus.state()).collect(),
                ms,
            }))
        }
        Err(error) => {
            log(&Entry::Reload {
                code: Some(error.kind()),
                detail: Some(error.to_string()),
                ms,
            });
            Err(refusal(&error))
        }
    }
}

/// What a client is told; what names paths stands in the log alone.
fn refusal(error: &ReloadError) -> Refusal {
    let message = match error {
        ReloadError::Running | ReloadError::NoSettings | ReloadError::Fixed { .. } => {
            error.to_string()
        }
        ReloadError::Settings(_) | ReloadError::Open(_) => {
            "the settings cannot be used, and nothing has changed; the log says why".to_owned()
        }
    };
    Refusal::conflict(error.kind(), message)
}
