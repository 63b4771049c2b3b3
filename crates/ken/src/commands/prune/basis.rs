//! What pruning goes by, as the flags name it.

use ken_eval::read_results;
use ken_lab::MasteryRecord;
use ken_lab::heads::pruner::pruner_labels;
use ken_lab::pruning::{Basis, Method, PrunePlan};
use ken_language::LanguageModel;
use ken_policy::{Head, Purpose};

use std::path::Path;
use std::sync::Arc;

use crate::arguments::prune::{PruneMethod, PruneRanking};
use crate::failure::{Failure, Result};
use crate::progress::counting;
use crate::session::Session;

/// Reads what the methods need.
pub(crate) fn read(arguments: &PruneRanking) -> Result<Basis> {
    let needs = |method| arguments.method.contains(&method);
    let head = match &arguments.pruner {
        _ if !needs(PruneMethod::Pruner) => None,
        Some(path) => Some(Head::read(path, Purpose::Pruner)?),
        None => {
            return Err(Failure::refused(
                "no_pruner",
                "no pruner is named",
                "add --pruner FILE, which `ken train pruner LABELS --corpus DIR --out FILE` makes, or take another --method",
            ));
        }
    };
    let labels = match &arguments.labels {
        Some(path) => {
            let records: Vec<MasteryRecord> = read_results(path)?;
            Some(pruner_labels(&records)?)
        }
        None if needs(PruneMethod::Measured) => {
            return Err(Failure::refused(
                "no_labels",
                "no labels are named",
                "add --labels FILE, which `ken label mastery --corpus DIR --out FILE` makes",
            ));
        }
        None => None,
    };
    Ok(Basis::new(head, labels)?)
}

/// The method, where it has to be one.
pub(super) fn method(arguments: &PruneRanking) -> Result<PruneMethod> {
    match arguments.method[..] {
        [method] => Ok(method),
        _ => Err(Failure::refused(
            "several_methods",
            "only `ken prune report` takes several methods",
            "name one --method",
        )),
    }
}

/// The model that reads passages, where the pruner needs one.
pub(super) fn reader(
    basis: &Basis,
    session: &Session<'_>,
) -> Result<Option<Arc<dyn LanguageModel>>> {
    let is_needed = basis.has_passages_read();
    let reader = is_needed.then(|| session.setup().language_model());
    Ok(reader.transpose()?)
}

/// Scores the passages of a corpus by a method; `reader` reads them for a pruner that needs that.
pub(crate) fn plan(
    corpus: &Path,
    method: PruneMethod,
    basis: &Basis,
    reader: Option<&dyn LanguageModel>,
    session: &Session<'_>,
) -> Result<PrunePlan> {
    let method = method_of(method, basis, reader, session);
    scored(corpus, method, basis, session)
}

/// A method with what it needs.
pub(super) fn method_of<'a>(
    method: PruneMethod,
    basis: &'a Basis,
    reader: Option<&'a dyn LanguageModel>,
    session: &Session<'_>,
) -> Method<'a> {
    let random = Method::Random {
        seed: session.settings.seed,
    };
    match method {
        PruneMethod::Pruner => {
            let head = basis.head.as_ref();
            head.map_or(random, |head| Method::Pruner { head, reader })
        }
        PruneMethod::Measured => Method::Measured,
        PruneMethod::NearDuplicates => Method::NearDuplicates,
        PruneMethod::Random => random,
    }
}

/// Scores the passages of a corpus.
pub(super) fn scored(
    corpus: &Path,
    method: Method<'_>,
    basis: &Basis,
    session: &Session<'_>,
) -> Result<PrunePlan> {
    let (progress, stop) = (&mut counting("scored"), session.stop);
    Ok(PrunePlan::new(corpus, method, basis, progress, stop)?)
}
