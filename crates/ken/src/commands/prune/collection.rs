//! `ken prune` on a corpus in Milvus: sets marks and scores of passages there.

use std::collections::HashMap;

use ken_answer::{BackEnd, chance};
use ken_corpus::{Active, CorpusInfo, PassageId, PruneMark};
use ken_lab::pruning::{
    Basis, GuaranteedRatio, Method, REASON, applied, check_embedder, count, guaranteed_in_milvus,
    read_marks, read_scores, scored_in_milvus, write_marks,
};
use ken_milvus::{Collection, Mark, MilvusAddress, Missing, Ranked, Ranking, mark, restore, score};

use super::remainder::no_score;
use super::{
    Applied, asked, basis, check_not_reranked, check_whole, guarantee, no_ratio, ratios_tried,
    report,
};
use crate::arguments::prune::{PruneApplyArguments, PruneMethod, PruneScoreArguments, PruneVerb};
use crate::commands::corpus_info::show_info;
use crate::failure::{Failure, Result};
use crate::progress::counting;
use crate::session::Session;

pub(super) fn run(verb: &PruneVerb, address: &MilvusAddress, session: &Session<'_>) -> Result<()> {
    let info = match verb {
        PruneVerb::Apply(PruneApplyArguments { ids: Some(ids), .. }) => {
            let marks = read_marks(ids)?;
            marked(Mark::Prune, &marks, Missing::Refused, address, session)?
        }
        PruneVerb::Apply(arguments) => {
            check_whole(session.settings)?;
            return apply(arguments, address, session);
        }
        PruneVerb::Score(arguments) => scored(arguments, address, session)?,
        PruneVerb::Undo => {
            let token = session.setup().milvus_token(address)?;
            let progress = &mut counting("restored");
            restore(address, token.as_ref(), progress, session.stop)?
        }
        PruneVerb::Report(arguments) => {
            check_whole(session.settings)?;
            return report::run(arguments, session);
        }
    };
    show_info(&info.ok_or_else(stopped)?, session.json)
}

fn stopped() -> Failure {
    Failure::resumable("stopped before all passages were changed")
}

/// Prunes a ratio by scores that were kept or that a method gives, or by kept ones as much as a guarantee allows.
fn apply(
    arguments: &PruneApplyArguments,
    address: &MilvusAddress,
    session: &Session<'_>,
) -> Result<()> {
    match (
        arguments.ratio,
        arguments.max_coverage_loss,
        &arguments.score,
    ) {
        (Some(ratio), _, Some(name)) => {
            let ranking = Ranking::Kept(name);
            by_ratio(ratio, "kept", ranking, arguments, address, session)
        }
        (Some(ratio), _, None) => {
            let ranking = &arguments.basis.ranking;
            let method = basis::method(ranking)?;
            let basis = basis::read(ranking)?;
            let scores = Scores::new(method, &basis, address, session)?;
            let ranking = scores.ranking();
            by_ratio(ratio, scores.method, ranking, arguments, address, session)
        }
        (None, Some(max_loss), Some(name)) => {
            guaranteed(max_loss, name, arguments, address, session)
        }
        // A ratio is searched with a filter, since a collection is not copied to be pruned.
        (None, Some(_), None) => Err(no_score(session.settings.corpus()?)),
        (None, None, _) => Err(no_ratio()),
    }
}

fn by_ratio(
    ratio: f64,
    method: &'static str,
    by: Ranking<'_>,
    arguments: &PruneApplyArguments,
    address: &MilvusAddress,
    session: &Session<'_>,
) -> Result<()> {
    let ranked = ranked(by, address, session)?;
    let goes = Goes {
        passages: count(ratio, ranked.passages()),
        ratio,
        method,
        promise: None,
    };
    prune(ranked, &goes, arguments, session)
}

fn guaranteed(
    max_loss: f64,
    name: &str,
    arguments: &PruneApplyArguments,
    address: &MilvusAddress,
    session: &Session<'_>,
) -> Result<()> {
    check_not_reranked(session.settings)?;
    let asked = asked(arguments, session)?;
    let whole = BackEnd::from(candidates(address, session)?);
    let ranked = ranked(Ranking::Kept(name), address, session)?;
    let guarantee = guarantee(max_loss, ranked.scored(), arguments, session.settings);
    let (progress, stop) = (&mut ratios_tried(), session.stop);
    let (kept, passages) =
        guaranteed_in_milvus(&ranked, name, &whole, &asked, guarantee, progress, stop)?;
    let goes = Goes {
        passages,
        ratio: kept.ratio.unwrap_or(0.0),
        method: "kept",
        promise: Some(&kept),
    };
    prune(ranked, &goes, arguments, session)
}

/// The collection, which finds the passages that a ratio refers to.
fn candidates(address: &MilvusAddress, session: &Session<'_>) -> Result<Collection> {
    let mut collection = session.setup().collection(address, Active::All)?;
    collection.undo_ratios();
    Ok(collection)
}

fn ranked(by: Ranking<'_>, address: &MilvusAddress, session: &Session<'_>) -> Result<Ranked> {
    let token = session.setup().milvus_token(address)?;
    let progress = &mut counting("scored");
    let ranked = Ranked::open(address, token.as_ref(), by, progress, session.stop)?;
    ranked.ok_or_else(stopped)
}

/// The passages that a ratio takes out.
struct Goes<'a> {
    /// The first ones in the order of pruning.
    passages: usize,
    ratio: f64,
    method: &'static str,
    promise: Option<&'a GuaranteedRatio>,
}

fn prune(
    ranked: Ranked,
    goes: &Goes<'_>,
    arguments: &PruneApplyArguments,
    session: &Session<'_>,
) -> Result<()> {
    let passages = ranked.passages();
    let mut marks = ranked.first(goes.passages)?;
    if let Some(path) = &arguments.out {
        for mark in &mut marks {
            mark.reason = format!("{REASON}{}", goes.method);
        }
        write_marks(path, &marks)?;
    }
    let generation = ranked.info().generation;
    if !arguments.dry_run {
        let progress = &mut counting("marked");
        let info = ranked.prune(goes.passages, progress, session.stop)?;
        info.ok_or_else(stopped)?;
    }
    let applied = Applied {
        method: goes.method,
        ratio: goes.ratio,
        passages,
        pruned: goes.passages,
        least_score: marks.last().map(|mark| mark.score),
        promise: goes.promise,
        generation,
        dry_run: arguments.dry_run,
    };
    let undone =
        "`ken prune undo` restores them, and the next push takes back what was pruned here";
    applied.show(undone, session.json)
}

fn marked(
    what: Mark<'_>,
    passages: &[PruneMark],
    missing: Missing,
    address: &MilvusAddress,
    session: &Session<'_>,
) -> Result<Option<CorpusInfo>> {
    let token = session.setup().milvus_token(address)?;
    let progress = &mut counting("marked");
    let (token, stop) = (token.as_ref(), session.stop);
    let info = mark(address, token, what, passages, missing, progress, stop);
    Ok(info?)
}

/// Keeps scores that are listed, were measured, or that another method gives.
fn scored(
    arguments: &PruneScoreArguments,
    address: &MilvusAddress,
    session: &Session<'_>,
) -> Result<Option<CorpusInfo>> {
    let name = Mark::Score(&arguments.name);
    if let Some(path) = &arguments.scores {
        let scores = read_scores(path)?;
        return marked(name, &scores, Missing::Refused, address, session);
    }
    let method = basis::method(&arguments.ranking)?;
    let basis = basis::read(&arguments.ranking)?;
    if method == PruneMethod::Measured {
        return marked(name, &basis.measured(), Missing::Skipped, address, session);
    }
    let scores = Scores::new(method, &basis, address, session)?;
    let of = |id: &PassageId, vector: &[f32]| scores.of(id, vector);
    let token = session.setup().milvus_token(address)?;
    let progress = &mut counting("scored");
    let (token, stop) = (token.as_ref(), session.stop);
    Ok(score(address, token, &arguments.name, &of, progress, stop)?)
}

/// The scores that a method gives passages; NaN for none.
struct Scores<'a> {
    method: &'static str,
    by: By<'a>,
}

/// The score of a passage by its vector.
type ByVector<'a> = Box<dyn Fn(&PassageId, &[f32]) -> f64 + 'a>;

/// What scores follow from.
enum By<'a> {
    Ids(Box<dyn Fn(&PassageId) -> f64 + 'a>),
    Vectors(ByVector<'a>),
}

impl<'a> Scores<'a> {
    /// Has passages read or compared, where the method needs that.
    fn new(
        method: PruneMethod,
        basis: &'a Basis,
        address: &MilvusAddress,
        session: &Session<'_>,
    ) -> Result<Self> {
        let reader = basis::reader(basis, session)?;
        let method = basis::method_of(method, basis, reader.as_deref(), session);
        let collection = candidates(address, session)?;
        let listed = {
            let progress = &mut counting("read");
            scored_in_milvus(method, &collection, progress, session.stop)?
        };
        let by = match (method, listed) {
            (Method::Random { seed }, _) => {
                By::Ids(Box::new(move |id: &PassageId| chance(seed, id.as_str())))
            }
            (Method::Pruner { head, .. }, None) => {
                check_embedder(head, collection.embedder())?;
                let head = basis.head.as_ref();
                let measured = measured(basis);
                By::Vectors(Box::new(move |id: &PassageId, vector: &[f32]| {
                    let predicted = || head.map(|head| f64::from(applied(head, vector)));
                    let measured = measured.get(id).copied();
                    measured.or_else(predicted).unwrap_or(f64::NAN)
                }))
            }
            (method, listed) => {
                let mut scores = listed.unwrap_or_default();
                if !matches!(method, Method::NearDuplicates) {
                    scores.extend(measured(basis));
                }
                By::Ids(Box::new(move |id: &PassageId| {
                    scores.get(id).copied().unwrap_or(f64::NAN)
                }))
            }
        };
        Ok(Self {
            method: method.name(),
            by,
        })
    }

    fn ranking(&self) -> Ranking<'_> {
        match &self.by {
            By::Ids(score) => Ranking::Ids(&**score),
            By::Vectors(score) => Ranking::Vectors(&**score),
        }
    }

    fn of(&self, id: &PassageId, vector: &[f32]) -> f64 {
        match &self.by {
            By::Ids(score) => score(id),
            By::Vectors(score) => score(id, vector),
        }
    }
}

fn measured(basis: &Basis) -> HashMap<PassageId, f64> {
    let measured = basis.measured().into_iter();
    measured
        .map(|passage| (passage.passage_id, passage.score))
        .collect()
}
