//! `ken train examples`: a language model learns from a file of prompts and what follows them.

use ken_lab::tuning::{Curriculum, read_examples};

use super::fit::{fit, tuning};
use crate::arguments::tune::TrainExamplesArguments;
use crate::failure::Result;
use crate::session::Session;

pub(super) fn run(arguments: &TrainExamplesArguments, session: &Session<'_>) -> Result<()> {
    let flags = &arguments.tuning;
    let tuning = tuning(flags, session)?;
    let checkpoint = session.setup().checkpoint()?;
    let (file, beta) = (&arguments.examples, arguments.beta);
    let [training, validation] = read_examples(file, &checkpoint, beta, flags.validation)?;
    let stages = vec![tuning.stage(training, validation)];
    let curriculum = Curriculum::new("examples", checkpoint.prompt_form(), stages);
    fit(&checkpoint, &curriculum, &tuning, session)
}
