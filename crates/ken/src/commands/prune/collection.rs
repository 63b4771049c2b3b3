//! `ken prune` on a corpus in Milvus: sets marks and scores of passages there.

use std::collections::BTreeMap;

use ken_corpus::{Active, CorpusInfo, PassageId, PruneMark};
use ken_lab::pruning::{Basis, applied, check_embedder, read_marks, read_scores};
use ken_milvus::{Mark, MilvusAddress, Missing, mark, score};
use ken_policy::Head;

use super::basis;
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
        PruneVerb::Score(arguments) => scored(arguments, address, session)?,
        _ => return needs_folder(session),
    };
    let message = "stopped before all passages were changed";
    let info = info.ok_or_else(|| Failure::resumable(message))?;
    show_info(&info, session.json)
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
            predicted(&arguments.name, head, &basis, address, session)
        }
        _ => needs_folder(session).map(|()| None),
    }
}

/// Scores all passages by a pruner of their vectors; those that were measured keep that.
fn predicted(
    name: &str,
    head: &Head,
    basis: &Basis,
    address: &MilvusAddress,
    session: &Session<'_>,
) -> Result<Option<CorpusInfo>> {
    let collection = session.setup().collection(address, Active::All)?;
    check_embedder(head, collection.embedder())?;
    let measured = basis.measured().into_iter();
    let measured: BTreeMap<PassageId, f64> = measured
        .map(|passage| (passage.passage_id, passage.score))
        .collect();
    let of = |id: &PassageId, vector: &[f32]| match measured.get(id) {
        Some(mastery) => *mastery,
        None => f64::from(applied(head, vector)),
    };
    let token = session.setup().milvus_token(address)?;
    let progress = &mut counting("scored");
    let (token, stop) = (token.as_ref(), session.stop);
    Ok(score(address, token, name, &of, progress, stop)?)
}

/// The error for what needs the corpus's folder.
fn needs_folder(session: &Session<'_>) -> Result<()> {
    session.settings.folder()?;
    Ok(())
}
