//! Deletes what a partition holds and the corpus no longer does.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Corpus, CorpusError, PassageId, Segment};
use milvus::v2::prelude::DeleteRequest;

use super::connection::{Connection, SHORT, call};
use super::literal::id_in;
use super::pieces::Pieces;
use super::schema::partition;
use crate::error::MilvusError;

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
    let mut pieces = Pieces::starting_at(i64::MIN, connection, vec![partition.clone()], "");
    while let Some(ids) = pieces.next_ids()? {
        if stop.load(Ordering::Relaxed) {
            return Ok((deleted, true));
        }
        let mut gone = Vec::new();
        for id in ids {
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

fn delete(connection: &Connection, partition: &str, ids: &[String]) -> Result<(), MilvusError> {
    let request = DeleteRequest::builder()
        .partition_name(partition)
        .filter(id_in(ids.iter().map(String::as_str)));
    call!("delete passages" within SHORT, connection => delete(request))?;
    Ok(())
}
