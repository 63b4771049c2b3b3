//! `ken train kbm`: a language model learns to report what a model knows, from probed questions.

use ken_eval::{ProbedEvidence, Split, read_results};
use ken_lab::tuning::{TaughtBoundary, boundary_curriculum, taught_boundary};
use ken_lab::{AssessorExampleOptions, Labels};

use super::fit::{fit, tuning};
use crate::arguments::tune::{KbmExampleFlags, TrainKbmArguments};
use crate::failure::Result;
use crate::session::Session;

pub(super) fn run(arguments: &TrainKbmArguments, session: &Session<'_>) -> Result<()> {
    let (flags, validation) = (&arguments.examples, arguments.tuning.validation);
    let tuning = tuning(&arguments.tuning, session)?;
    let labels = match arguments.soft {
        true => Labels::Soft,
        false => flags.labels(),
    };
    let taught = taught(flags, labels, validation, session)?;
    let checkpoint = session.setup().checkpoint()?;
    let curriculum = boundary_curriculum(&checkpoint, flags.form.prompt, taught, &tuning)?;
    fit(&checkpoint, &curriculum, &tuning, session)
}

/// The training examples of the questions that are not held out, and those of the share for validation.
pub(crate) fn taught(
    flags: &KbmExampleFlags,
    labels: Labels,
    validation: f64,
    session: &Session<'_>,
) -> Result<TaughtBoundary> {
    let records = read_results(&flags.records)?;
    let has_corpus = session.settings.corpus.is_some();
    let retriever = has_corpus.then(|| session.setup().retriever());
    let retriever = retriever.transpose()?;
    let mode = session.settings.mode;
    let evidence = retriever.as_ref();
    let making = AssessorExampleOptions {
        evidence: evidence.map(|retriever| ProbedEvidence { retriever, mode }),
        labels,
    };
    let split = Split {
        held_out: flags.held_out,
        validation,
    };
    Ok(taught_boundary(records, split, making)?)
}
