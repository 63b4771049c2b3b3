//! Pruning a collection in Milvus where that takes more than the vectors of its passages: a model that reads them, the
//! passages nearest to them, or the searches of questions.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use ken_answer::{AnswerError, BackEnd, PassageFeatures};
use ken_corpus::{Comparison, Filter, Passage, PassageId};
use ken_eval::run::in_memory;
use ken_language::LanguageModel;
use ken_milvus::{Collection, Ranked};
use ken_policy::Head;

use super::error::PruningError;
use super::guarantee::{CoverageQuestion, Guarantee, GuaranteedRatio, MIN_RATIO, kept, largest};
use super::near_duplicates::by_similarity_in_milvus;
use super::order::count;
use super::score::{Method, applied_to_texts, check_reader};
use super::vectors::READ_TOGETHER;

/// The scores of the passages that a collection finds, by a pruner that has them read or by near duplicates; `None` for
/// other methods, which need nothing but a passage's own id and vector. `progress` receives how many passages are done, and
/// the total. Holds the ids of all passages in memory.
///
/// # Errors
/// A model that did not read the passages when the pruner was trained, or fails; a server that fails;
/// [`PruningError::Stopped`].
pub fn scored_in_milvus(
    method: Method<'_>,
    collection: &Collection,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Option<HashMap<PassageId, f64>>, PruningError> {
    let ids = || collection.ids().map_err(AnswerError::from);
    let (ids, scores) = match method {
        Method::Pruner { head, reader } => {
            let Some(view) = PassageFeatures::of(head.input) else {
                return Ok(None);
            };
            let model = check_reader(head, reader)?;
            let ids = ids()?;
            let scores = read(head, (model, view), collection, &ids, progress, cancel)?;
            (ids, scores)
        }
        Method::NearDuplicates => {
            let ids = ids()?;
            let scores = by_similarity_in_milvus(&ids, collection, progress, cancel)?;
            (ids, scores)
        }
        Method::Measured | Method::Kept { .. } | Method::Random { .. } => return Ok(None),
    };
    let scores = scores.ok_or(PruningError::Stopped)?;
    let scores = scores.into_iter().map(f64::from);
    Ok(Some(ids.into_iter().zip(scores).collect()))
}

/// Scores passages that a model has to read; NaN for one that is gone meanwhile.
fn read(
    head: &Head,
    reader: (&dyn LanguageModel, PassageFeatures),
    collection: &Collection,
    ids: &[PassageId],
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<f32>>, PruningError> {
    in_memory(ids, READ_TOGETHER, progress, cancel, |batch| {
        let stored = collection.stored(batch).map_err(AnswerError::from)?;
        let passages: Vec<Passage> = stored.into_iter().map(|(passage, _)| passage).collect();
        let texts: Vec<&str> = passages.iter().map(|passage| &*passage.text).collect();
        let scores = applied_to_texts(head, reader, &texts)?;
        let scores: HashMap<&PassageId, f32> = passages.iter().map(|p| &p.id).zip(scores).collect();
        let in_order = batch.iter().map(|id| scores.get(id).copied());
        Ok::<_, PruningError>(in_order.map(|score| score.unwrap_or(f32::NAN)).collect())
    })
}

/// The largest ratio that keeps a guarantee, by the scores that a collection keeps under a name, and how many passages go
/// at that: passages of one score go together, as each ratio is searched with a filter. `whole` finds all passages that
/// ratios refer to; `progress` receives the hundredths that were tested.
///
/// # Errors
/// Too few scores for any ratio, no question with golden answers, a server that fails, no ratio that keeps the guarantee,
/// [`PruningError::Stopped`].
pub fn guaranteed_in_milvus(
    ranked: &Ranked,
    name: &str,
    whole: &BackEnd,
    asked: &[CoverageQuestion],
    guarantee: Guarantee,
    progress: &mut dyn FnMut(u32),
    cancel: &AtomicBool,
) -> Result<(GuaranteedRatio, usize), PruningError> {
    let threshold = |passages| ranked.threshold(passages).map_err(AnswerError::from);
    // If not even the smallest ratio can go, that is why none is found.
    threshold(count(MIN_RATIO, ranked.passages()).max(1))?;
    let guarantee = Guarantee {
        most: ranked.scored(),
        ..guarantee
    };
    let mut coverage =
        |goes: usize, open: &[&CoverageQuestion]| -> Result<Vec<bool>, PruningError> {
            let filter = threshold(goes)?.map(|(least, _)| below(name, least));
            let left = whole.clone().within(filter.as_slice())?;
            let covered = open.iter().map(|asked| {
                let (hits, _) = left.search(&asked.query(), guarantee.mode, guarantee.k)?;
                Ok(asked.is_covered_by(&hits))
            });
            covered.collect()
        };
    let passages = ranked.passages();
    let outcome = largest(passages, &mut coverage, asked, guarantee, progress, cancel)?;
    let kept = kept(outcome, guarantee)?;
    let goes = threshold(count(kept.ratio.unwrap_or(0.0), passages))?;
    Ok((kept, goes.map_or(0, |(_, goes)| goes)))
}

/// The filter that leaves out the passages whose score under a name is `least` or higher.
#[must_use]
pub fn below(name: &str, least: f64) -> Filter {
    Filter::Not(Box::new(Filter::Compare {
        key: name.to_owned(),
        comparison: Comparison::GreaterOrEqual,
        value: least.to_string(),
    }))
}
