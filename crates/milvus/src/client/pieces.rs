//! Going through the passages of a collection in ranges of their pieces, which are hashes of their ids: a server returns
//! only so many rows of a query, in an order of its own.

use ken_corpus::PassageId;
use milvus::v2::prelude::{ConsistencyLevel, QueryRequest};

use super::connection::{Connection, text};
use super::row::piece;
use super::schema::{ID, PIECE};
use crate::error::MilvusError;

/// The most ids per query: even the longest ones fit into an answer.
const QUERIED_AT_ONCE: i64 = 2_048;

/// A way through the passages of partitions.
pub(crate) struct Pieces<'a> {
    connection: &'a Connection,
    /// None for all.
    partitions: Vec<String>,
    /// The expression that every passage matches; empty for all.
    condition: &'a str,
    /// The remaining ranges of pieces, the next one last.
    remaining: Vec<(i64, i64)>,
}

impl<'a> Pieces<'a> {
    /// The way from a piece on, around to it.
    pub(crate) fn starting_at(
        start: i64,
        connection: &'a Connection,
        partitions: Vec<String>,
        condition: &'a str,
    ) -> Self {
        let before = start.checked_sub(1).map(|last| (i64::MIN, last));
        Self {
            connection,
            partitions,
            condition,
            remaining: before.into_iter().chain([(start, i64::MAX)]).collect(),
        }
    }

    /// The next ids, in the order of their pieces; `None` at the end.
    pub(crate) fn next_ids(&mut self) -> Result<Option<Vec<PassageId>>, MilvusError> {
        while let Some((first, last)) = self.remaining.pop() {
            let mut ids = self.ids_between(first, last)?;
            if ids.len() as i64 >= QUERIED_AT_ONCE && first < last {
                // The server may have more than it returned.
                let middle = first.midpoint(last);
                self.remaining.push((middle + 1, last));
                self.remaining.push((first, middle));
                continue;
            }
            ids.sort_by_cached_key(|id| (piece(id), id.clone()));
            return Ok(Some(ids));
        }
        Ok(None)
    }

    fn ids_between(&self, first: i64, last: i64) -> Result<Vec<PassageId>, MilvusError> {
        let mut bounds = vec![format!("{PIECE} <= {last}")];
        // `i64::MIN` has no literal.
        if first > i64::MIN {
            bounds.push(format!("{PIECE} >= {first}"));
        }
        if !self.condition.is_empty() {
            bounds.push(self.condition.to_owned());
        }
        let request = QueryRequest::builder()
            .partition_names(self.partitions.clone())
            .filter(bounds.join(" and "))
            .output_fields([ID])
            .limit(QUERIED_AT_ONCE)
            .consistency_level(ConsistencyLevel::Strong);
        self.connection.rows("list what it holds", request, |row| {
            Ok(PassageId(text(row, ID)?))
        })
    }
}
