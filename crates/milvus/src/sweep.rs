//! Deletes what a partition holds and the corpus no longer does.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Corpus, CorpusError, PassageId, Segment};
use milvus::v2::prelude::{ConsistencyLevel, DeleteRequest, QueryRequest};

use crate::connection::{Connection, SHORT, call};
use crate::error::MilvusError;
use crate::literal::id_in;
use crate::schema::{ID, PIECE, partition};

/// The most ids per query: even the longest ones fit into an answer.
const QUERIED_AT_ONCE: i64 = 2_048;

/// How many passages are deleted at once.
const DELETED_AT_ONCE: usize = 256;

/// Deletes every passage of a shard's partition that the shard does not hold. Returns how many it deleted, and
/// whether `stop` ended it early.
pub(crate) fn sweep(
    connection: &Connection,
    corpus: &Corpus,
    shard: u32,
    stop: &AtomicBool,
) -> Result<(u64, bool), MilvusError> {
    let partition = partition(shard);
    let segments: Vec<&Segment> = of_shard(corpus, shard).collect();
    let mut deleted = 0;
    // The remaining ranges of pieces, the next one last.
    let mut pieces = vec![(i64::MIN, i64::MAX)];
    while let Some((first, last)) = pieces.pop() {
        if stop.load(Ordering::Relaxed) {
            return Ok((deleted, true));
        }
        let ids = ids_between(connection, &partition, first, last)?;
        if ids.len() as i64 >= QUERIED_AT_ONCE && first < last {
            // The server may have more than it returned.
            let middle = first.midpoint(last);
            pieces.push((middle + 1, last));
            pieces.push((first, middle));
            continue;
        }
        let mut gone = Vec::new();
        for id in ids {
            let id = PassageId(id);
            if !holds(&segments, &id)? {
                gone.push(id.0);
            }
        }
        for ids in gone.chunks(DELETED_AT_ONCE) {
            delete(connection, &partition, ids)?;
            deleted += ids.len() as u64;
        }
    }
    Ok((deleted, false))
}

/// The segments of a shard, oldest first.
pub(crate) fn of_shard(corpus: &Corpus, shard: u32) -> impl Iterator<Item = &Segment> {
    let segments = corpus.segments().iter();
    segments.filter(move |segment| segment.shard() == shard)
}

/// Whether one of the segments has a live document with this passage, pruned or not.
fn holds(segments: &[&Segment], id: &PassageId) -> Result<bool, CorpusError> {
    for segment in segments {
        if segment.ordinal_of_any(id)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn ids_between(
    connection: &Connection,
    partition: &str,
    first: i64,
    last: i64,
) -> Result<Vec<String>, MilvusError> {
    let mut bounds = Vec::new();
    // `i64::MIN` has no literal.
    if first > i64::MIN {
        bounds.push(format!("{PIECE} >= {first}"));
    }
    bounds.push(format!("{PIECE} <= {last}"));
    let request = QueryRequest::builder()
        .partition_names([partition])
        .filter(bounds.join(" and "))
        .output_fields([ID])
        .limit(QUERIED_AT_ONCE)
        .consistency_level(ConsistencyLevel::Strong);
    let response = connection.query("list what it holds", SHORT, request)?;
    let rows = response.results().rows();
    let rows = rows.map_err(|error| connection.unreadable(&error))?;
    rows.map(|row| {
        let id = row.get_str(ID).map(str::to_owned);
        id.map_err(|error| connection.unreadable(&error))
    })
    .collect()
}

fn delete(connection: &Connection, partition: &str, ids: &[String]) -> Result<(), MilvusError> {
    let request = DeleteRequest::builder()
        .partition_name(partition)
        .filter(id_in(ids.iter().map(String::as_str)));
    call!("delete passages" within SHORT, connection => delete(request))?;
    Ok(())
}
