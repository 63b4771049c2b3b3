//! Labeling the sentences that have no record yet. The loop is in `crate::run`.

use super::labeling::MasteryWork;
use super::record::MasteryRecord;
use super::sentences::Sentence;
use crate::results::ResultsFile;
use crate::run::{Outcome, Run, RunError, Work};

/// Labels every one of `sentences` that `results` has no record of yet, and keeps each record as soon
/// as there is one. A sentence that itself cannot be worked on, as one that is too long, is kept as
/// failed.
///
/// # Errors
/// Those of a [`Run`].
pub fn label_mastery(
    work: &MasteryWork<'_>,
    sentences: &[Sentence],
    results: &mut ResultsFile<MasteryRecord>,
    mut run: Run<'_>,
) -> Result<Outcome<MasteryRecord>, RunError> {
    let work = Work {
        batch: &mut |sentences| work.batch(sentences),
        failed: &|sentence, error| MasteryRecord::failed(sentence, error, work.fingerprints()),
        is_complete: &|_| true,
    };
    run.keep(sentences, results, work)
}
