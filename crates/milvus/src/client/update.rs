//! Marks and scores of passages, set in the collection itself. The corpus on disk does not have them, and its next push
//! takes them back: to keep them, they are set in the corpus and pushed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{
    CorpusError, CorpusInfo, Passage, PassageId, PruneMark, is_score_name, score_in_metadata,
};
use milvus::v2::prelude::{ConsistencyLevel, QueryRequest, ResultRow};

use super::collection::{PASSAGE, in_halves, load, passage, vector};
use super::connection::{Connection, PUSH_ATTEMPTS, text};
use super::identity::{Identity, resolved};
use super::literal::id_in;
use super::pieces::Pieces;
use super::row::{Pruning, Row, digest, pruned_by_ratio};
use super::schema::{ID, PRUNED, VECTOR, partition};
use super::transfer::{count, flush, send};
use crate::address::MilvusAddress;
use crate::error::MilvusError;
use crate::mark::{Mark, Missing};
use crate::token::Token;

/// How many passages are looked for at once.
const FOUND_AT_ONCE: usize = 256;

/// How many passages are changed at once: they are read with their texts and vectors.
pub(crate) const CHANGED_AT_ONCE: usize = 64;

/// Sets a mark of passages in a complete collection, and returns its counts; `None` if `stop` ended that early. The
/// same call again resumes. `progress` receives how many passages are done, and the total.
///
/// # Errors
/// [`CorpusError::UnknownPassage`] where missing passages are refused, [`CorpusError::BadScoreName`], before anything
/// is changed; a collection that is missing, is not ken's or is not complete; a server that fails.
pub fn mark(
    address: &MilvusAddress,
    token: Option<&Token>,
    mark: Mark<'_>,
    passages: &[PruneMark],
    missing: Missing,
    progress: &mut dyn FnMut(usize, usize),
    stop: &AtomicBool,
) -> Result<Option<CorpusInfo>, MilvusError> {
    let mut update = Update::open(address, token, mark)?;
    let scores = passages.iter();
    let scores: BTreeMap<PassageId, f64> = scores
        .map(|passage| (passage.passage_id.clone(), passage.score))
        .collect();
    let mut remaining: Vec<&PassageId> = scores.keys().collect();
    if missing == Missing::Refused {
        check(&update.connection, &remaining)?;
    }
    let mut done = 0;
    for shard in 0..update.identity.settings.sharding.count {
        let mut elsewhere = Vec::new();
        for ids in remaining.chunks(CHANGED_AT_ONCE) {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let held = in_halves(ids, &|ids| held(&update.connection, shard, ids))?;
            done += held.len();
            let is_held = |id: &&PassageId| held.iter().any(|held| held.passage.id == **id);
            elsewhere.extend(ids.iter().copied().filter(|id| !is_held(id)));
            update.apply(shard, held, &scores)?;
            progress(done, scores.len());
        }
        remaining = elsewhere;
    }
    update.finish().map(Some)
}

/// Gives every passage of a complete collection, pruned or not, a score under a name: what `score` makes of its id and
/// its vector. What is not finite as an `f32` is no score. Otherwise as [`fn@mark`].
///
/// # Errors
/// As of [`fn@mark`].
pub fn score(
    address: &MilvusAddress,
    token: Option<&Token>,
    name: &str,
    score: &dyn Fn(&PassageId, &[f32]) -> f64,
    progress: &mut dyn FnMut(usize, usize),
    stop: &AtomicBool,
) -> Result<Option<CorpusInfo>, MilvusError> {
    let mut update = Update::open(address, token, Mark::Score(name))?;
    let connection = update.connection.clone();
    let info = &update.identity.info;
    let (mut done, total) = (0, (info.passages + info.pruned) as usize);
    for shard in 0..update.identity.settings.sharding.count {
        let mut pieces = Pieces::starting_at(i64::MIN, &connection, vec![partition(shard)], "");
        while let Some(ids) = pieces.next_ids()? {
            let ids: Vec<&PassageId> = ids.iter().collect();
            for ids in ids.chunks(CHANGED_AT_ONCE) {
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let held = in_halves(ids, &|ids| held(&connection, shard, ids))?;
                done += held.len();
                let scored = held.iter().map(|held| {
                    let id = &held.passage.id;
                    (id.clone(), score(id, &held.vector))
                });
                let scores: BTreeMap<PassageId, f64> = scored.collect();
                update.apply(shard, held, &scores)?;
                progress(done, total);
            }
        }
    }
    update.finish().map(Some)
}

/// A change of a collection.
pub(crate) struct Update<'a> {
    pub(crate) connection: Connection,
    pub(crate) identity: Identity,
    mark: Mark<'a>,
    /// Whether the record says that passages are changed.
    begun: bool,
}

impl<'a> Update<'a> {
    pub(crate) fn open(
        address: &MilvusAddress,
        token: Option<&Token>,
        mark: Mark<'a>,
    ) -> Result<Self, MilvusError> {
        if let Mark::Score(name) = mark
            && !is_score_name(name)
        {
            let name = name.to_owned();
            return Err(CorpusError::BadScoreName { name }.into());
        }
        let connection = resolved(Connection::open(address, token, PUSH_ATTEMPTS)?)?;
        let identity = Identity::read_complete(&connection)?;
        load(&connection)?;
        Ok(Self {
            connection,
            identity,
            mark,
            begun: false,
        })
    }

    /// Sends those of some passages that the mark changes.
    pub(crate) fn apply(
        &mut self,
        shard: u32,
        held: Vec<Held>,
        scores: &BTreeMap<PassageId, f64>,
    ) -> Result<(), MilvusError> {
        let rows = changed(held, self.mark, scores, self.identity.lexical)?;
        if rows.is_empty() {
            return Ok(());
        }
        if !self.begun {
            self.identity.depart(&change(self.mark, scores));
            self.identity.write(&self.connection)?;
            self.begun = true;
        }
        let numbers = self.identity.index.numbers;
        send(&self.connection, &partition(shard), rows, numbers, true)?;
        Ok(())
    }

    /// Makes the server index what changed, and records its counts.
    pub(crate) fn finish(mut self) -> Result<CorpusInfo, MilvusError> {
        flush(&self.connection)?;
        let info = &mut self.identity.info;
        info.pruned = 0;
        for shard in &mut info.shards {
            shard.passages = count(&self.connection, shard.id, false)?;
            info.pruned += count(&self.connection, shard.id, true)?;
        }
        info.passages = info.shards.iter().map(|shard| shard.passages).sum();
        if let Mark::Score(name) = self.mark {
            info.scores.insert(name.to_owned());
        }
        self.identity.write(&self.connection)?;
        Ok(self.identity.info)
    }
}

/// Identifies a mark of passages.
fn change(mark: Mark<'_>, scores: &BTreeMap<PassageId, f64>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{mark:?}").as_bytes());
    for (id, score) in scores {
        hasher.update(format!("\n{id} {score}").as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Refuses passages that the collection does not have.
fn check(connection: &Connection, ids: &[&PassageId]) -> Result<(), MilvusError> {
    for ids in ids.chunks(FOUND_AT_ONCE) {
        let request = QueryRequest::builder()
            .filter(id_in(ids.iter().map(|id| id.as_str())))
            .output_fields([ID])
            .limit(ids.len() as i64)
            .consistency_level(ConsistencyLevel::Strong);
        let found: BTreeSet<String> =
            connection.rows("look for passages", request, |row| text(row, ID))?;
        let missing = ids.iter().find(|id| !found.contains(id.as_str()));
        if let Some(missing) = missing {
            let id = missing.as_str().to_owned();
            return Err(CorpusError::UnknownPassage { id }.into());
        }
    }
    Ok(())
}

/// A passage as a partition has it.
pub(crate) struct Held {
    passage: Passage,
    vector: Vec<f32>,
    pruning: Pruning,
}

pub(crate) fn held(
    connection: &Connection,
    shard: u32,
    ids: &[&PassageId],
) -> Result<Vec<Held>, MilvusError> {
    let named = id_in(ids.iter().map(|id| id.as_str()));
    let request = |filter: String| {
        QueryRequest::builder()
            .partition_names([partition(shard)])
            .filter(filter)
            .limit(ids.len() as i64)
            .consistency_level(ConsistencyLevel::Strong)
    };
    // milvus-lite returns no column of facets in which a passage has none, so a query tells which of them are ranked.
    let ranked = request(format!("{named} and {}", pruned_by_ratio())).output_fields([ID]);
    let all = request(named).output_fields(PASSAGE.into_iter().chain([VECTOR, PRUNED]));
    let mut held: Vec<Held> = connection.rows("read passages", all, Held::of)?;
    if held.iter().any(|held| held.pruning != Pruning::Live) {
        let ranked: BTreeSet<String> =
            connection.rows("read passages", ranked, |row| text(row, ID))?;
        for held in &mut held {
            if ranked.contains(held.passage.id.as_str()) {
                held.pruning = Pruning::Ranked;
            }
        }
    }
    Ok(held)
}

impl Held {
    fn of(row: &ResultRow<'_>) -> Result<Self, String> {
        let pruned = row.get_bool(PRUNED).map_err(|error| error.to_string())?;
        Ok(Self {
            passage: passage(row)?,
            vector: vector(row)?,
            pruning: match pruned {
                false => Pruning::Live,
                true => Pruning::Listed,
            },
        })
    }
}

/// The rows that differ with the mark.
fn changed(
    held: Vec<Held>,
    mark: Mark<'_>,
    scores: &BTreeMap<PassageId, f64>,
    lexical: bool,
) -> Result<Vec<Row>, MilvusError> {
    let mut rows = Vec::new();
    for held in held {
        let Held {
            mut passage,
            vector,
            mut pruning,
        } = held;
        let before = digest(&passage, &vector, pruning);
        match (mark, scores.get(&passage.id)) {
            (Mark::Prune, _) => pruning = Pruning::Listed,
            (Mark::Ratio, Some(&chosen)) if chosen > 0.0 => pruning = Pruning::Ranked,
            (Mark::Ratio, _) => pruning = Pruning::Live,
            (Mark::Score(name), Some(&score)) if (score as f32).is_finite() => {
                let score = score_in_metadata(score as f32);
                passage.metadata.insert(name.to_owned(), score.into());
            }
            (Mark::Score(name), _) => {
                passage.metadata.remove(name);
            }
        }
        let digest = digest(&passage, &vector, pruning);
        if digest != before {
            rows.push(Row::of(passage, &vector, pruning, digest, lexical)?);
        }
    }
    Ok(rows)
}
