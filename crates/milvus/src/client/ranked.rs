//! Pruning a collection by a ratio: of the passages that nothing else prunes, those that rank highest.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{CorpusInfo, PassageId, PruneMark, score_in_metadata};
use milvus::v2::prelude::{ConsistencyLevel, QueryRequest, ResultRow, ResultValue};
use serde_json::Value;

use super::collection::{in_halves, vector};
use super::connection::{Connection, text};
use super::literal::id_in;
use super::pieces::Pieces;
use super::row::{candidates, pruned_by_ratio};
use super::schema::{ID, METADATA, PRUNED, VECTOR, partition};
use super::update::{CHANGED_AT_ONCE, Update, held};
use crate::address::MilvusAddress;
use crate::error::MilvusError;
use crate::mark::{Mark, Ranking};
use crate::token::Token;

/// How many passages are scored at once; fewer if they do not fit into one answer.
const SCORED_AT_ONCE: usize = 256;

/// The passages of a complete collection that a ratio refers to: those that are not pruned, and those that were pruned
/// by a ratio before. Holds their ids in memory.
pub struct Ranked {
    update: Update<'static>,
    /// In the order of pruning: by descending score, equal scores by id.
    order: Vec<Candidate>,
}

struct Candidate {
    /// NaN for none.
    score: f32,
    shard: u32,
    is_pruned: bool,
    id: PassageId,
}

impl Ranked {
    /// Scores the passages; `None` if `stop` ended that early. `progress` receives how many are scored, and how many
    /// there are at most.
    ///
    /// # Errors
    /// A collection that is missing, is not ken's or is not complete; a server that fails.
    pub fn open(
        address: &MilvusAddress,
        token: Option<&Token>,
        by: Ranking<'_>,
        progress: &mut dyn FnMut(usize, usize),
        stop: &AtomicBool,
    ) -> Result<Option<Self>, MilvusError> {
        Self::within(&candidates(), address, token, by, progress, stop)
    }

    /// Those that a condition holds for.
    fn within(
        condition: &str,
        address: &MilvusAddress,
        token: Option<&Token>,
        by: Ranking<'_>,
        progress: &mut dyn FnMut(usize, usize),
        stop: &AtomicBool,
    ) -> Result<Option<Self>, MilvusError> {
        let update = Update::open(address, token, Mark::Ratio)?;
        let connection = &update.connection;
        let info = &update.identity.info;
        let total = (info.passages + info.pruned) as usize;
        let mut order: Vec<Candidate> = Vec::new();
        for shard in 0..update.identity.settings.sharding.count {
            let partitions = vec![partition(shard)];
            let mut pieces = Pieces::starting_at(i64::MIN, connection, partitions, condition);
            while let Some(ids) = pieces.next_ids()? {
                for ids in ids.chunks(SCORED_AT_ONCE) {
                    if stop.load(Ordering::Relaxed) {
                        return Ok(None);
                    }
                    order.extend(in_halves(ids, &|ids| scored(connection, by, shard, ids))?);
                    progress(order.len(), total);
                }
            }
        }
        let number = |candidate: &Candidate| match candidate.score.is_nan() {
            true => f32::NEG_INFINITY,
            false => candidate.score,
        };
        order.sort_unstable_by(|a, b| {
            let by_score = number(b).total_cmp(&number(a));
            by_score.then_with(|| a.id.cmp(&b.id))
        });
        Ok(Some(Self { update, order }))
    }

    /// The counts of the collection.
    #[must_use]
    pub fn info(&self) -> &CorpusInfo {
        &self.update.identity.info
    }

    /// How many passages a ratio refers to.
    #[must_use]
    pub fn passages(&self) -> usize {
        self.order.len()
    }

    /// How many of them have a score.
    #[must_use]
    pub fn scored(&self) -> usize {
        let scored = self.order.iter().filter(|c| !c.score.is_nan());
        scored.count()
    }

    /// How many of them are pruned.
    #[must_use]
    pub fn pruned(&self) -> usize {
        let pruned = self.order.iter().filter(|candidate| candidate.is_pruned);
        pruned.count()
    }

    /// The lowest score of the first passages in the order of pruning, as filters compare it, and how many passages have
    /// that or a higher one; `None` for no passages.
    ///
    /// # Errors
    /// [`MilvusError::TooFewScores`].
    pub fn threshold(&self, count: usize) -> Result<Option<(f64, usize)>, MilvusError> {
        let last = self.leading(count)?.last();
        Ok(last.map(|last| {
            let reaching = self
                .order
                .partition_point(|other| other.score >= last.score);
            (score_in_metadata(last.score), reaching)
        }))
    }

    /// The first passages in the order of pruning.
    ///
    /// # Errors
    /// [`MilvusError::TooFewScores`].
    pub fn first(&self, count: usize) -> Result<Vec<PruneMark>, MilvusError> {
        let marks = self.leading(count)?.iter();
        let marks = marks
            .map(|candidate| PruneMark::new(candidate.id.clone(), f64::from(candidate.score), ""));
        Ok(marks.collect())
    }

    /// As [`Ranked::first`].
    fn leading(&self, count: usize) -> Result<&[Candidate], MilvusError> {
        let first = self.order.get(..count).unwrap_or(&self.order);
        if first.last().is_some_and(|last| last.score.is_nan()) {
            return Err(MilvusError::TooFewScores {
                address: self.update.connection.address.to_string(),
                wanted: count,
                scored: self.scored(),
            });
        }
        Ok(first)
    }

    /// Prunes the first passages, and finds the others again that were pruned by a ratio before. Returns the
    /// collection's counts, or `None` if `stop` ended that early; the same again resumes.
    ///
    /// # Errors
    /// A server that fails.
    pub fn prune(
        self,
        count: usize,
        progress: &mut dyn FnMut(usize, usize),
        stop: &AtomicBool,
    ) -> Result<Option<CorpusInfo>, MilvusError> {
        let Self { mut update, order } = self;
        let places = order.into_iter().enumerate();
        let changes = places.filter(|(place, candidate)| candidate.is_pruned != (*place < count));
        let mut shards: BTreeMap<u32, Vec<PassageId>> = BTreeMap::new();
        let mut values = BTreeMap::new();
        for (place, Candidate { id, shard, .. }) in changes {
            values.insert(id.clone(), f64::from(u8::from(place < count)));
            shards.entry(shard).or_default().push(id);
        }
        let mut done = 0;
        for (shard, ids) in shards {
            let ids: Vec<&PassageId> = ids.iter().collect();
            for ids in ids.chunks(CHANGED_AT_ONCE) {
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let held = in_halves(ids, &|ids| held(&update.connection, shard, ids))?;
                done += held.len();
                update.apply(shard, held, &values)?;
                progress(done, values.len());
            }
        }
        update.finish().map(Some)
    }
}

/// Has all passages found again that were pruned by a ratio, and returns the collection's counts; `None` if `stop`
/// ended that early. Passages that were pruned otherwise stay pruned.
///
/// # Errors
/// As of [`Ranked::open`].
pub fn restore(
    address: &MilvusAddress,
    token: Option<&Token>,
    progress: &mut dyn FnMut(usize, usize),
    stop: &AtomicBool,
) -> Result<Option<CorpusInfo>, MilvusError> {
    let unscored = |_: &PassageId| 0.0;
    let by = Ranking::Ids(&unscored);
    match Ranked::within(&pruned_by_ratio(), address, token, by, &mut |_, _| (), stop)? {
        Some(ranked) => ranked.prune(0, progress, stop),
        None => Ok(None),
    }
}

fn scored(
    connection: &Connection,
    by: Ranking<'_>,
    shard: u32,
    ids: &[PassageId],
) -> Result<Vec<Candidate>, MilvusError> {
    let request = QueryRequest::builder()
        .partition_names([partition(shard)])
        .filter(id_in(ids.iter().map(PassageId::as_str)))
        .output_fields([ID, PRUNED].into_iter().chain(field(by)))
        .limit(ids.len() as i64)
        .consistency_level(ConsistencyLevel::Strong);
    connection.rows("score passages", request, |row| {
        let id = PassageId(text(row, ID)?);
        Ok(Candidate {
            score: score(by, &id, row)? as f32,
            shard,
            is_pruned: row.get_bool(PRUNED).map_err(|error| error.to_string())?,
            id,
        })
    })
}

/// The field that a ranking reads.
fn field(by: Ranking<'_>) -> Option<&'static str> {
    match by {
        Ranking::Kept(_) => Some(METADATA),
        Ranking::Ids(_) => None,
        Ranking::Vectors(_) => Some(VECTOR),
    }
}

fn score(by: Ranking<'_>, id: &PassageId, row: &ResultRow<'_>) -> Result<f64, String> {
    match by {
        Ranking::Kept(name) => Ok(
            match row.get(METADATA).map_err(|error| error.to_string())? {
                ResultValue::Json(metadata) => metadata.get(name).and_then(Value::as_f64),
                _ => None,
            }
            .unwrap_or(f64::NAN),
        ),
        Ranking::Ids(score) => Ok(score(id)),
        Ranking::Vectors(score) => Ok(score(id, &vector(row)?)),
    }
}
