//! `ken card`: what a model knows of some questions, on one page.

use ken_answer::Policy;
use ken_eval::card::{CardWork, card_policies, card_report};
use ken_eval::compare::AnswersWork;
use ken_eval::{check_field, write_report};
use ken_hub::ModelReference;
use ken_setup::Settings;

use crate::arguments::card::CardArguments;
use crate::commands::{provenance, records};
use crate::failure::{Failure, Result};
use crate::output;
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
    let work = CardWork {
        answers: AnswersWork {
            folder: &folder,
            questions: &questions,
            policies: &policies,
            identity: &|pipeline| settings.identity(pipeline),
        },
        by: &arguments.by,
    };
    let card = work.run(&mut pipeline, &|policy: Option<Policy>| {
        let policy = policy.map(|policy| policy.to_string());
        records::drawn(arguments.batch, policy, session)
    })?;
    let title = format!("What {} knows", name(settings));
    let report = card_report(&title, &card).measured_with(provenance::of(identity, session.given));
    write_report(&report, &folder)?;
    if session.json {
        return output::json(&card);
    }
    output::report(&report)?;
    output::line(format!("card: {}", folder.join("report.html").display()))
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
