//! `ken prune` on a corpus in Milvus: sets marks and scores of passages there, where they are known without the vectors.

use ken_corpus::PruneMark;
use ken_lab::pruning::{read_marks, read_scores};
use ken_milvus::{Mark, MilvusAddress, mark};

use super::basis;
use crate::arguments::prune::{PruneApplyArguments, PruneMethod, PruneScoreArguments, PruneVerb};
use crate::commands::corpus_info::show_info;
use crate::failure::{Failure, Result};
use crate::progress::counting;
use crate::session::Session;

pub(super) fn run(verb: &PruneVerb, address: &MilvusAddress, session: &Session<'_>) -> Result<()> {
    let (mark_of, passages) = match verb {
        PruneVerb::Apply(PruneApplyArguments { ids: Some(ids), .. }) => {
            (Mark::Prune, read_marks(ids)?)
        }
        PruneVerb::Score(arguments) => match scores(arguments)? {
            Some(scores) => (Mark::Score(&arguments.name), scores),
            None => return needs_folder(session),
        },
        _ => return needs_folder(session),
    };
    let token = session.setup().milvus_token(address)?;
    let marked = {
        let progress = &mut counting("marked");
        let token = token.as_ref();
        mark(address, token, mark_of, &passages, progress, session.stop)?
    };
    let info = marked.ok_or_else(|| Failure::resumable("stopped before all were marked"))?;
    show_info(&info, session.json)
}

/// The scores that are listed or measured; `None` if they would have to be computed.
fn scores(arguments: &PruneScoreArguments) -> Result<Option<Vec<PruneMark>>> {
    if let Some(path) = &arguments.scores {
        return Ok(Some(read_scores(path)?));
    }
    match basis::method(&arguments.ranking)? {
        PruneMethod::Measured => Ok(Some(basis::read(&arguments.ranking)?.measured())),
        _ => Ok(None),
    }
}

/// The error for what needs the corpus's folder.
fn needs_folder(session: &Session<'_>) -> Result<()> {
    session.settings.folder()?;
    Ok(())
}
