//! Rows on their way to a server, and how many it has.

use ken_index::VectorType;
use milvus::v2::prelude::{
    ConsistencyLevel, FlushRequest, InsertRequest, QueryRequest, UpsertRequest,
};

use super::collection::load;
use super::connection::{Connection, LONG, SHORT};
use super::row::{Row, columns};
use super::schema::{PRUNED, partition};
use crate::error::MilvusError;

/// The approximate size of a request with rows. Servers take 64 MB.
const SENT_AT_ONCE: usize = 8 << 20;

/// Sends rows to a partition in batches that a server takes, and returns how many. Rows that replace others go apart
/// from new ones, which cost a server much less.
pub(crate) fn send(
    connection: &Connection,
    partition: &str,
    rows: Vec<Row>,
    vectors: VectorType,
    replace: bool,
) -> Result<u64, MilvusError> {
    let count = rows.len() as u64;
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while bytes < SENT_AT_ONCE
            && let Some(row) = rows.next()
        {
            bytes += row.bytes();
            batch.push(row);
        }
        let request = InsertRequest::builder()
            .collection_name(connection.collection())
            .partition_name(partition)
            .columns(columns(batch, vectors))
            .build();
        connection.wait("take passages", SHORT, async |client| match replace {
            false => client.insert(request?).await.map(|_| ()),
            true => {
                let request = UpsertRequest::builder().insert(request?).build();
                client.upsert(request?).await.map(|_| ())
            }
        })?;
    }
    Ok(count)
}

/// Makes the server index the rows that it was sent.
pub(crate) fn flush(connection: &Connection) -> Result<(), MilvusError> {
    let request = FlushRequest::builder()
        .collection_names([connection.collection()])
        .wait_flushed_ms(LONG.as_millis() as i64)
        .build();
    connection.wait("write the passages to its disk", LONG, async |client| {
        client.flush(request?).await
    })?;
    load(connection)
}

/// How many passages the partition of a shard has, of the pruned ones or of the others.
pub(crate) fn count(connection: &Connection, shard: u32, pruned: bool) -> Result<u64, MilvusError> {
    let request = QueryRequest::builder()
        .partition_names([partition(shard)])
        .filter(format!("{PRUNED} == {pruned}"))
        .output_fields(["count(*)"])
        .consistency_level(ConsistencyLevel::Strong);
    let response = connection.query("count its passages", LONG, request)?;
    Ok(response.results().get_row_count())
}
