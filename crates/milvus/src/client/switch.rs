//! A push beside the collection that is searched: the address is an alias, which names another collection when that
//! holds the corpus.

use std::sync::atomic::AtomicBool;

use milvus::v2::prelude::{AlterAliasRequest, CreateAliasRequest};

use super::connection::{Connection, PUSH_ATTEMPTS, SHORT, call};
use super::create::drop_collection;
use super::identity::{Identity, own_name};
use super::push::{check, push_to};
use crate::error::MilvusError;
use crate::push_job::{Progress, PushJob, Pushed};

/// Brings a corpus into a new collection while the one at the address is searched, switches the address to the new
/// one, and drops the old one. The address is then an alias of one of two collections, `NAME__1` and `NAME__2`, which
/// take turns; a collection of the address's own name makes room for it. A push that is interrupted, or fails, leaves
/// the address as it is, and the next one resumes it. Without an index, the new collection has that of the old one.
///
/// # Errors
/// As of [`push`](fn@crate::push), and [`MilvusError::CollectionInTheWay`].
pub fn push_and_switch(
    job: PushJob<'_>,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    let connection = Connection::open(job.address, job.token, PUSH_ATTEMPTS)?;
    let alias = job.address.collection();
    let current = own_name(&connection)?;
    let held = match Identity::read(&connection) {
        // It is replaced without being read.
        Err(MilvusError::OtherFormat { .. }) => None,
        held => held?,
    };
    let index = job.index.or(held.as_ref().map(|held| held.index));
    let job = PushJob {
        index,
        part: None,
        ..job
    };
    let is_held = held.is_some_and(|held| {
        let is_same = held.fingerprint == job.corpus.fingerprint() && Some(held.index) == index;
        held.complete && is_same
    });
    let turns = ["1", "2"].map(|turn| format!("{alias}__{turn}"));
    let target = match &current {
        Some(current) if is_held && turns.contains(current) => current,
        Some(current) if *current == turns[0] => &turns[1],
        _ => &turns[0],
    };
    let to = connection.at(target);
    if current.as_ref() != Some(target) {
        make_room(&to, job, alias)?;
    }
    let pushed = push_to(to, job, Some(alias), progress, stop)?;
    if pushed.interrupted {
        return Ok(pushed);
    }
    point(&connection, &connection.at(target), current.as_deref())?;
    for other in turns.iter().filter(|turn| *turn != target) {
        drop_if_own(&connection.at(other), alias)?;
    }
    Ok(pushed)
}

/// Drops what an earlier push for the alias left, of another corpus or index.
fn make_room(target: &Connection, job: PushJob<'_>, alias: &str) -> Result<(), MilvusError> {
    let left = Identity::read(target)?.filter(|left| left.alias.as_deref() == Some(alias));
    match left {
        Some(left) if check(&left, job, target, Some(alias)).is_err() => drop_collection(target),
        _ => Ok(()),
    }
}

/// Makes the address an alias of a collection, instead of the current one.
fn point(
    connection: &Connection,
    target: &Connection,
    current: Option<&str>,
) -> Result<(), MilvusError> {
    let alias = connection.address.collection();
    if current == Some(target.collection()) {
        return Ok(());
    }
    if current.is_some_and(|current| current != alias) {
        let request = AlterAliasRequest::builder().alias(alias);
        return call!("switch the alias" within SHORT, target => alter_alias(request));
    }
    if current.is_some() {
        drop_collection(connection)?;
    }
    let request = CreateAliasRequest::builder().alias(alias);
    call!("create the alias" within SHORT, target => create_alias(request))
}

/// Drops a collection that was filled to take its turn behind an alias; leaves any other.
fn drop_if_own(connection: &Connection, alias: &str) -> Result<(), MilvusError> {
    match Identity::read(connection) {
        Ok(Some(identity)) if identity.alias.as_deref() == Some(alias) => {
            drop_collection(connection)
        }
        Ok(_) | Err(MilvusError::NotOurs { .. } | MilvusError::OtherFormat { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
