//! `ken export`: models and training data for other tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ken_storage::{create_dir_all, replace};
use ken_study::TrainingExample;
use ken_study::training_examples::{
    ExampleFormat, LLAMA_FACTORY_FILE, LLAMA_FACTORY_LIST, example_as, llama_factory_list,
    text_example_as,
};
use serde_json::{Value, json};

use crate::arguments::{
    ExportFlags, ExportModelArguments, ExportTrainingDataArguments, ExportVerb, TrainingData,
};
use crate::commands::{open, train};
use crate::config::Settings;
use crate::failure::{Refusal, Result};
use crate::output;

/// Runs a verb of `ken export`.
pub(crate) fn run(
    verb: &ExportVerb,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    match verb {
        ExportVerb::Model(arguments) => model(arguments, settings, json, stop),
        ExportVerb::TrainingData(arguments) => training_data(arguments, settings, json, stop),
    }
}

fn model(
    arguments: &ExportModelArguments,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    let out = &arguments.out;
    let taken = std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    if taken {
        let message = format!("{} is not empty", out.display());
        return Err(Refusal::new("out_not_empty", message)
            .hinting("name another folder")
            .into());
    }
    let checkpoint = open::checkpoint(settings, stop)?;
    checkpoint.write(out, arguments.stored, &BTreeMap::new())?;
    if json {
        return output::json(&json!({"out": out, "as": arguments.stored.to_string()}));
    }
    output::line(format!("written to {}", out.display()))
}

fn training_data(
    arguments: &ExportTrainingDataArguments,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    // What trains elsewhere splits for itself.
    const NONE_VALIDATES: f64 = 0.0;
    let as_values = |examples: &[TrainingExample], form, export: &ExportFlags| -> Vec<Value> {
        let examples = examples.iter();
        examples
            .map(|example| example_as(example, form, export.format))
            .collect()
    };
    let mut prefers = false;
    let (examples, export) = match &arguments.of {
        TrainingData::NoiseTolerant { examples, export } => {
            let model = || Ok(open::checkpoint(settings, stop)?.fingerprint().to_owned());
            let (taught, _) =
                train::noise_tolerant::taught(examples, NONE_VALIDATES, model, settings, stop)?;
            (as_values(&taught, examples.form.prompt, export), export)
        }
        TrainingData::Kbm { examples, export } => {
            let taught =
                train::kbm::taught(examples, examples.labels(), NONE_VALIDATES, settings, stop)?;
            let values = as_values(&taught.training, examples.form.prompt, export);
            (values, export)
        }
        TrainingData::SelfRoute {
            examples,
            preferences,
            export,
            ..
        } => {
            prefers = *preferences;
            let texts = train::self_route::texts(examples, prefers, settings, stop)?;
            let values = texts.iter();
            let values = values.flat_map(|text| text_example_as(text, export.format));
            (values.collect(), export)
        }
    };
    let written = write(&examples, prefers, export)?;
    if json {
        return output::json(&json!({"out": written, "lessons": examples.len()}));
    }
    output::line(format!(
        "{} examples written to {}",
        examples.len(),
        written.display()
    ))
}

fn write(values: &[Value], prefers: bool, export: &ExportFlags) -> Result<PathBuf> {
    let out = &export.out;
    if export.format == ExampleFormat::LlamaFactory {
        create_dir_all(out)?;
        put(
            &out.join(LLAMA_FACTORY_LIST),
            &llama_factory_list(prefers).to_string(),
        )?;
        let file = out.join(LLAMA_FACTORY_FILE);
        put(&file, &Value::Array(values.to_vec()).to_string())?;
        return Ok(file);
    }
    let lines: Vec<String> = values.iter().map(|value| format!("{value}\n")).collect();
    put(out, &lines.concat())?;
    Ok(out.clone())
}

fn put(path: &Path, text: &str) -> Result<()> {
    Ok(replace(path, text.as_bytes())?)
}
