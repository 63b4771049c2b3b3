//! `ken train … --export`: training examples for other tools.

use std::path::{Path, PathBuf};

use ken_lab::TrainingExample;
use ken_lab::examples::{
    ExampleFormat, LLAMA_FACTORY_FILE, LLAMA_FACTORY_LIST, example_as, llama_factory_list,
    text_example_as,
};
use ken_storage::{create_dir_all, output};
use serde_json::{Value, json};

use super::{kbm, noise_tolerant, self_route};
use crate::arguments::train::TrainVerb;
use crate::failure::Result;
use crate::output;
use crate::session::Session;

/// Writes the training examples of a verb of `ken train` in the format that `--export` names; `None` if it names
/// none.
pub(super) fn exported(verb: &TrainVerb, session: &Session<'_>) -> Option<Result<()>> {
    // Other tools split off their own validation set.
    const NONE_VALIDATES: f64 = 0.0;
    let as_values = |examples: &[TrainingExample], form, format| -> Vec<Value> {
        let value = |example: &TrainingExample| example_as(example, form, format);
        examples.iter().map(value).collect()
    };
    let mut prefers = false;
    let (values, format, out) = match verb {
        TrainVerb::NoiseTolerant(arguments) => {
            let (format, examples) = (arguments.export.export?, &arguments.examples);
            let model = || Ok(session.setup().checkpoint()?.fingerprint().to_owned());
            let taught = noise_tolerant::taught(examples, NONE_VALIDATES, model, session);
            let values =
                taught.map(|taught| as_values(&taught.training, examples.form.prompt, format));
            (values, format, &arguments.tuning.out)
        }
        TrainVerb::Kbm(arguments) => {
            let (format, examples) = (arguments.export.export?, &arguments.examples);
            let labels = examples.labels();
            let taught = kbm::taught(examples, labels, NONE_VALIDATES, session);
            let form = examples.form.prompt;
            let values = taught.map(|taught| as_values(&taught.training, form, format));
            (values, format, &arguments.tuning.out)
        }
        TrainVerb::SelfRoute(arguments) => {
            let format = arguments.export.export?;
            prefers = arguments.preferences;
            let texts = self_route::texts(&arguments.examples, prefers, session);
            let values = texts.map(|texts| {
                let values = texts.iter().flat_map(|text| text_example_as(text, format));
                values.collect()
            });
            (values, format, &arguments.tuning.out)
        }
        TrainVerb::Examples(_)
        | TrainVerb::Router(_)
        | TrainVerb::Gate(_)
        | TrainVerb::Pruner(_) => return None,
    };
    Some(values.and_then(|values| {
        let written = write(&values, prefers, format, out)?;
        if session.json {
            return output::json(&json!({"out": written, "examples": values.len()}));
        }
        let (count, written) = (values.len(), written.display());
        output::line(format!("{count} examples written to {written}"))
    }))
}

fn write(values: &[Value], prefers: bool, format: ExampleFormat, out: &Path) -> Result<PathBuf> {
    if format == ExampleFormat::LlamaFactory {
        create_dir_all(out)?;
        let list = llama_factory_list(prefers).to_string();
        put(&out.join(LLAMA_FACTORY_LIST), &list)?;
        let file = out.join(LLAMA_FACTORY_FILE);
        put(&file, &Value::Array(values.to_vec()).to_string())?;
        return Ok(file);
    }
    let lines: Vec<String> = values.iter().map(|value| format!("{value}\n")).collect();
    put(out, &lines.concat())?;
    Ok(out.to_owned())
}

fn put(path: &Path, text: &str) -> Result<()> {
    Ok(output(path, text.as_bytes())?)
}
