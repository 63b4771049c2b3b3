//! Which parts of a push that several jobs share are done. Each has a property of the collection of its own, so that no
//! job overwrites what another one says.

use ken_corpus::Part;

use super::connection::Connection;
use super::identity::{Identity, PROPERTY, described, write_property};
use crate::error::MilvusError;

/// Says that all passages of a part are there, and returns the parts that are not done yet. Of jobs that end at once,
/// each may find all of them done.
///
/// # Errors
/// [`MilvusError::PushOvertaken`] if the collection is no longer brought to the state of this record, and any error of
/// a call.
pub(crate) fn mark_done(
    part: Part,
    identity: &Identity,
    connection: &Connection,
) -> Result<Vec<Part>, MilvusError> {
    let done = target(identity);
    write_property(&property(part), done.clone(), connection)?;
    let address = connection.address.to_string();
    let Some(described) = described(connection)? else {
        return Err(MilvusError::CollectionMissing { address });
    };
    let mut now = Identity::of(&described, connection)?;
    if target(&now) != done {
        // This job may have overwritten what another one sent for that state.
        now.doubt();
        now.write(connection)?;
        return Err(MilvusError::PushOvertaken { address, part });
    }
    let marks = described.description().get_properties();
    let is_missing = |part: &Part| marks.get(&property(*part)) != Some(&done);
    Ok(part.all().filter(is_missing).collect())
}

/// Identifies the state that the collection is brought to.
fn target(identity: &Identity) -> String {
    format!("{} in round {}", identity.fingerprint, identity.round)
}

/// The name of a part's property.
fn property(part: Part) -> String {
    format!("{PROPERTY}_{}", part.ending())
}
