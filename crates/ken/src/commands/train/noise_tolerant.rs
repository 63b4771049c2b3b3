//! `ken train noise-tolerant`: a language model learns to answer right whatever its prompt contains.

use ken_eval::{Question, Split, read_results};
use ken_lab::tuning::{
    TaughtNoiseTolerance, known_questions, noise_tolerant_curriculum, split_noise_tolerant,
};
use ken_lab::{NoiseTolerant, noise_tolerant};
use ken_policy::digest_of;

use super::fit::{fit, tuning};
use crate::arguments::tune::{NoiseTolerantFlags, TrainNoiseTolerantArguments};
use crate::commands::records;
use crate::failure::Result;
use crate::progress::Display;
use crate::session::Session;

pub(super) fn run(arguments: &TrainNoiseTolerantArguments, session: &Session<'_>) -> Result<()> {
    let (flags, validation) = (&arguments.examples, arguments.tuning.validation);
    let tuning = tuning(&arguments.tuning, session)?;
    let checkpoint = session.setup().checkpoint()?;
    let model = || Ok(checkpoint.fingerprint().to_owned());
    let taught = taught(flags, validation, model, session)?;
    let form = flags.form.prompt;
    let curriculum = noise_tolerant_curriculum(&checkpoint, form, taught, &tuning)?;
    fit(&checkpoint, &curriculum, &tuning, session)
}

/// The training examples of the questions that are not held out, and those of the share for validation. `model` gives
/// the fingerprint of the model to train, if records say what it knows.
pub(crate) fn taught(
    flags: &NoiseTolerantFlags,
    validation: f64,
    model: impl FnOnce() -> Result<String>,
    session: &Session<'_>,
) -> Result<TaughtNoiseTolerance> {
    let questions = records::questions(&flags.questions, flags.limit, session.settings)?;
    let split = Split {
        held_out: flags.held_out,
        validation,
    };
    let [training, validation] = split_noise_tolerant(questions, split);
    let known = match &flags.records {
        Some(path) => {
            let (records, asked) = (read_results(path)?, training.iter().chain(&validation));
            Some(known_questions(records, path, asked, &model()?)?)
        }
        None => None,
    };
    let retriever = session.setup().retriever()?;
    let making = NoiseTolerant {
        mode: session.settings.mode,
        k: flags.k.get(),
        depth: flags.depth.get(),
        random: flags.random,
        known,
        seed: session.settings.seed,
    };
    let mut display = Display::new();
    let total = training.len() + validation.len();
    let mut examples = |questions: &[Question], before: usize| {
        noise_tolerant(questions, &retriever, &making, &mut |done| {
            display.show_items("passages found", before + done, total);
        })
    };
    let questions = training.iter().chain(&validation);
    let learned_from = questions.map(|asked| digest_of(&asked.question)).collect();
    Ok(TaughtNoiseTolerance {
        learned_from,
        validation: examples(&validation, training.len())?,
        training: examples(&training, 0)?,
    })
}
