//! `ken card`: what a model knows about some questions, on one page.

use std::path::Path;

use ken_answer::Policy;
use ken_eval::card::{Card, CardWork, card_policies, card_report};
use ken_eval::compare::{AnswersWork, Known};
use ken_eval::part::Parts;
use ken_eval::{Question, Record, check_field};
use ken_hub::ModelReference;
use ken_report::Provenance;
use ken_setup::Settings;

use crate::arguments::card::CardArguments;
use crate::commands::parts::{self, CardOptions, InWords, PartedWork};
use crate::commands::{provenance, records};
use crate::failure::{Failure, Result};
use crate::session::Session;

pub(crate) fn run(arguments: &CardArguments, session: &Session<'_>) -> Result<()> {
    let settings = session.settings;
    let questions = records::questions(&arguments.questions, arguments.limit, settings)?;
    for field in &arguments.by {
        check_field(&questions, field)?;
    }
    let mut pipeline = session.opening(|setup| setup.pipeline_for(None, true, &[]))?;
    let policies = card_policies(pipeline.model.capabilities());
    if policies.is_empty() {
        return Err(Failure::refused(
            "card_without_signals",
            "the model server gives no log probabilities, so nothing tells whether the model knows that it knows",
            "take a model on this machine, or a server that returns `logprobs`",
        ));
    }
    let folder = records::out(arguments.out.as_ref(), &arguments.questions, "card");
    let mut identity = settings.identity(&pipeline);
    identity.remove("policy");
    let options = CardOptions {
        title: format!("What {} knows", name(settings)),
        by: arguments.by.clone(),
        policies: policies.iter().copied().map(InWords).collect(),
        k: pipeline.settings.k,
        seed: pipeline.settings.seed,
    };
    let (part, title) = (arguments.part.part, options.title.clone());
    let parted = PartedWork::Card(options);
    let place = parts::place(part, folder, questions, &identity, &parted, session)?;
    let work = CardWork {
        answers: AnswersWork {
            folder: &place.out,
            questions: &place.items,
            policies: &policies,
            identity: &|pipeline| settings.identity(pipeline),
        },
        by: &arguments.by,
    };
    let (known, begin) = (Known::default(), records::runs(arguments.batch, session));
    let answers = work.answers.run(&mut pipeline, known, None, &begin)?;
    if place.is_told_as_part::<Record>(session)? {
        return Ok(());
    }
    let card = work.card(&answers, pipeline.settings.seed);
    let provenance = provenance::of(identity, session.given);
    report(&title, &card, provenance, &place.out, session)
}

/// Joins the parts of a card.
pub(crate) fn join(
    parts: &Parts,
    options: &CardOptions,
    out: &Path,
    session: &Session<'_>,
) -> Result<()> {
    let questions: Vec<Question> = parts.items()?;
    let policies: Vec<Policy> = options.policies.iter().map(|policy| policy.0).collect();
    let work = CardWork {
        answers: AnswersWork {
            folder: out,
            questions: &questions,
            policies: &policies,
            identity: &|_| parts.run().settings.clone(),
        },
        by: &options.by,
    };
    let answers = work.answers.join(parts, options.k, &[])?;
    let card = work.card(&answers, options.seed);
    let provenance = provenance::of_parts(parts);
    report(&options.title, &card, provenance, out, session)
}

/// Writes the report of a card into its folder, and shows it.
fn report(
    title: &str,
    card: &Card,
    provenance: Provenance,
    folder: &Path,
    session: &Session<'_>,
) -> Result<()> {
    let report = card_report(title, card).measured_with(provenance);
    records::page(&report, card, "card", folder, session.json)
}

/// The model's name for the title of a page that others see: without its folder or its address.
fn name(settings: &Settings) -> String {
    let name = match &settings.model {
        ModelReference::Local { path } => {
            let last = path.file_name();
            last.map(|last| last.to_string_lossy().into_owned())
        }
        ModelReference::Remote { .. } => settings.model_name.clone(),
        fetched => Some(fetched.to_string()),
    };
    name.unwrap_or_else(|| "the model".to_owned())
}
