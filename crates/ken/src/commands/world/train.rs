//! `ken world train`: trains a model of the family on its world, from scratch.

use std::path::Path;

use ken_train::History;
use ken_world::{WorldTraining, read_world, train_member};
use serde_json::json;

use crate::arguments::world::WorldTrainArguments;
use crate::commands::train::drawn;
use crate::failure::Result;
use crate::output;
use crate::session::Session;

pub(super) fn run(arguments: &WorldTrainArguments, session: &Session<'_>) -> Result<()> {
    let member = &arguments.member;
    let training = WorldTraining {
        size: member.size,
        batch: arguments.batch,
        learning_rate: arguments.learning_rate,
        device: session.settings.device,
        out: &member.out,
    };
    let world = read_world(&member.world)?;
    let (parameters, history) = train_member(&world, training, &mut drawn(session))?;
    show(parameters, &history, &member.out, session.json)
}

fn show(parameters: usize, history: &History, out: &Path, json: bool) -> Result<()> {
    let loss = history.steps.last().map(|step| step.loss);
    let seconds: f64 = history.steps.iter().map(|step| step.seconds).sum();
    let tokens: usize = history.steps.iter().map(|step| step.tokens).sum();
    let per_second = history.tokens_per_second();
    if json {
        return output::json(&json!({
            "model": out.display().to_string(),
            "parameters": parameters,
            "steps": history.steps.len(),
            "tokens": tokens,
            "loss": loss,
            "seconds": seconds,
            "tokens_per_second": per_second,
        }));
    }
    output::pairs([
        ("model", out.display().to_string()),
        ("parameters", parameters.to_string()),
        ("steps", history.steps.len().to_string()),
        ("tokens", tokens.to_string()),
        ("last loss", output::number(loss, 3)),
        ("seconds", format!("{seconds:.0}")),
        ("tokens a second", format!("{per_second:.0}")),
    ])
}
