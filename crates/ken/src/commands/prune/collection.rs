//! `ken prune` on a corpus in Milvus: sets marks and scores of passages there.

use std::collections::BTreeMap;

use ken_answer::chance;
use ken_corpus::{Active, CorpusInfo, PassageId, PruneMark};
use ken_lab::pruning::{
    Basis, REASON, applied, check_embedder, count, read_marks, read_scores, write_marks,
};
use ken_milvus::{Mark, MilvusAddress, Missing, Ranked, Ranking, mark, restore, score};
use ken_policy::Head;

use super::{Applied, basis, check_whole, no_ratio, report};
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

/// Prunes a ratio by scores that were kept, were measured, follow from the vectors, or are random.
fn apply(
    arguments: &PruneApplyArguments,
    address: &MilvusAddress,
    session: &Session<'_>,
) -> Result<()> {
    let Some(ratio) = arguments.ratio else {
        return match arguments.max_coverage_loss {
            Some(_) => needs_folder(session),
            None => Err(no_ratio()),
        };
    };
    let by = |method, ranking: Ranking<'_>| {
        by_ratio(ratio, method, ranking, arguments, address, session)
    };
    if let Some(name) = &arguments.score {
        return by("kept", Ranking::Kept(name));
    }
    let ranking = &arguments.basis.ranking;
    let method = basis::method(ranking)?;
    let basis = basis::read(ranking)?;
    match (method, &basis.head) {
        (PruneMethod::Measured, _) => {
            let measured = measured(&basis);
            let of = |id: &PassageId| measured.get(id).copied().unwrap_or(f64::NAN);
            by("measured", Ranking::Ids(&of))
        }
        (PruneMethod::Random, _) => {
            let of = |id: &PassageId| chance(session.settings.seed, id.as_str());
            by("random", Ranking::Ids(&of))
        }
        (PruneMethod::Pruner, Some(head)) if !basis.has_passages_read() => {
            let of = predictor(head, &basis, address, session)?;
            by("pruner", Ranking::Vectors(&of))
        }
        _ => needs_folder(session),
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
    let token = session.setup().milvus_token(address)?;
    let ranked = {
        let progress = &mut counting("scored");
        Ranked::open(address, token.as_ref(), by, progress, session.stop)?
    };
    let ranked = ranked.ok_or_else(stopped)?;
    let passages = ranked.passages();
    let pruned = count(ratio, passages);
    let mut marks = ranked.first(pruned)?;
    if let Some(path) = &arguments.out {
        for mark in &mut marks {
            mark.reason = format!("{REASON}{method}");
        }
        write_marks(path, &marks)?;
    }
    let generation = ranked.info().generation;
    if !arguments.dry_run {
        let progress = &mut counting("marked");
        let info = ranked.prune(pruned, progress, session.stop)?;
        info.ok_or_else(stopped)?;
    }
    let applied = Applied {
        method,
        ratio,
        passages,
        pruned,
        least_score: marks.last().map(|mark| mark.score),
        promise: None,
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

/// Keeps scores that are listed, were measured, or follow from the vectors.
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
    match (method, &basis.head) {
        (PruneMethod::Measured, _) => {
            let scores = basis.measured();
            marked(name, &scores, Missing::Skipped, address, session)
        }
        (PruneMethod::Pruner, Some(head)) if !basis.has_passages_read() => {
            let of = predictor(head, &basis, address, session)?;
            let token = session.setup().milvus_token(address)?;
            let (progress, stop) = (&mut counting("scored"), session.stop);
            let name = &arguments.name;
            Ok(score(address, token.as_ref(), name, &of, progress, stop)?)
        }
        _ => needs_folder(session).map(|()| None),
    }
}

/// The mastery of passages: that which was measured, or else the one that the pruner predicts from their vectors.
fn predictor(
    head: &Head,
    basis: &Basis,
    address: &MilvusAddress,
    session: &Session<'_>,
) -> Result<impl Fn(&PassageId, &[f32]) -> f64> {
    let collection = session.setup().collection(address, Active::All)?;
    check_embedder(head, collection.embedder())?;
    let measured = measured(basis);
    Ok(
        move |id: &PassageId, vector: &[f32]| match measured.get(id) {
            Some(mastery) => *mastery,
            None => f64::from(applied(head, vector)),
        },
    )
}

fn measured(basis: &Basis) -> BTreeMap<PassageId, f64> {
    let measured = basis.measured().into_iter();
    measured
        .map(|passage| (passage.passage_id, passage.score))
        .collect()
}

/// The error for what needs the corpus's folder.
fn needs_folder(session: &Session<'_>) -> Result<()> {
    session.settings.folder()?;
    Ok(())
}
