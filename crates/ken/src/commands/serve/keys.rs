//! `ken serve key`: the keys that open a server.

use ken_server::{Grant, KeyRecord, Keys, KeysError};
use serde_json::json;
use time::{Duration, OffsetDateTime};

use crate::arguments::serve::{KeyVerb, MakeKeyArguments};
use crate::failure::Result;
use crate::output;
use crate::session::Session;

pub(crate) fn run(verb: &KeyVerb, session: &Session<'_>) -> Result<()> {
    let path = &session.settings.server_keys;
    let mut keys = Keys::read(path)?;
    match verb {
        KeyVerb::Make(make) => {
            let now = OffsetDateTime::now_utc();
            let key = keys.make(grant(make, now), seconds(now));
            keys.write(path)?;
            let id = keys.keys.last().map(|made| made.id.as_str());
            match session.json {
                true => output::json(&json!({ "key": key, "id": id })),
                // Alone, so that a shell can take it.
                false => output::line(key),
            }
        }
        KeyVerb::List => list(&keys, session.json),
        KeyVerb::Revoke { id } => {
            if !keys.revoke(id) {
                let (id, path) = (id.clone(), path.clone());
                return Err(KeysError::UnknownKey { id, path }.into());
            }
            Ok(keys.write(path)?)
        }
    }
}

fn grant(make: &MakeKeyArguments, now: OffsetDateTime) -> Grant {
    let ends = make
        .days
        .map(|days| now + Duration::days(i64::from(days.get())));
    Grant {
        name: make.name.clone(),
        scopes: make.scope.clone(),
        corpora: (!make.only.is_empty()).then(|| make.only.clone()),
        expires: ends.map(seconds),
        requests_per_minute: make.requests_per_minute.map(Into::into),
        tokens_per_day: make.tokens_per_day.map(Into::into),
    }
}

/// Since 1970.
fn seconds(time: OffsetDateTime) -> u64 {
    u64::try_from(time.unix_timestamp()).unwrap_or(0)
}

fn list(keys: &Keys, json: bool) -> Result<()> {
    if json {
        let keys = keys
            .keys
            .iter()
            .map(|key| json!({ "id": key.id, "created": key.created, "grant": key.grant }));
        return output::json(&json!({ "keys": keys.collect::<Vec<_>>() }));
    }
    let rows = keys.keys.iter().map(|KeyRecord { id, grant, .. }| {
        let scopes: Vec<String> = grant.scopes.iter().map(ToString::to_string).collect();
        let corpora = grant.corpora.as_ref().map(|names| names.join(","));
        let number = |most: Option<u64>| most.map_or("-".to_owned(), |most| most.to_string());
        vec![
            id.clone(),
            grant.name.clone(),
            scopes.join(","),
            corpora.unwrap_or_else(|| "all".to_owned()),
            grant.expires.map_or_else(|| "never".to_owned(), day),
            number(grant.requests_per_minute.map(u64::from)),
            number(grant.tokens_per_day),
        ]
    });
    let names = "id|name|scopes|corpora|expires|requests/min|tokens/day";
    output::columns(names, rows)
}

/// The day of a time in seconds since 1970 (UTC).
fn day(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok();
    let time = time.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    time.map_or_else(|| "never".to_owned(), |time| time.date().to_string())
}
