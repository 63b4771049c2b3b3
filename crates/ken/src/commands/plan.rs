//! `ken plan`: chooses a set-up among those that a study measured; without a study, `capacity` tells what a corpus takes.

use std::fmt::Write;
use std::path::Path;

use ken_scale::plan::{
    Bounds, Candidate, Goal, Plan, Promise, Quantity, candidates_of_study, candidates_of_table,
    plan_report,
};
use ken_scale::study::{Manifest, Measured, Order, PruneRatio, read_table};
use ken_setup::Key;
use serde_json::json;

use crate::arguments::study::PlanArguments;
use crate::commands::capacity;
use crate::commands::study::is_table;
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;
use crate::shell::for_a_shell;

pub(crate) fn run(arguments: &PlanArguments, session: &Session<'_>) -> Result<()> {
    match &arguments.study {
        Some(study) => of_study(study, arguments, session),
        None => capacity::run(arguments, session),
    }
}

fn of_study(study: &Path, arguments: &PlanArguments, session: &Session<'_>) -> Result<()> {
    let prices = arguments.prices.unwrap_or_default();
    if prices.core_hour > 0.0 || prices.gpu_hour > 0.0 {
        return Err(Failure::refused(
            "price_not_used",
            "a study has no hours of cores and GPUs",
            "prices are memory_gb, disk_gb, million_tokens and questions",
        ));
    }
    let (candidates, dataset, manifest) = if is_table(study) {
        let curves = read_table(study)?;
        let names = curves.iter().map(|curve| curve.dataset.as_str());
        let dataset = dataset(arguments, names)?;
        (candidates_of_table(&curves, &dataset), dataset, None)
    } else {
        let measured = Measured::read(study)?;
        let names = measured.manifest.datasets.keys().map(String::as_str);
        let dataset = dataset(arguments, names)?;
        let candidates = candidates_of_study(&measured, &dataset, &prices);
        (candidates, dataset, Some(measured.manifest))
    };
    let manifest = manifest.as_ref();
    let seed = manifest.map_or(session.settings.seed, |manifest| manifest.seed);
    let scales: Vec<u32> = arguments.project.iter().map(|n| n.get()).collect();
    let plan = Plan::make(&candidates, &goal(arguments), &scales, seed)?;
    let recipe = manifest.map(|manifest| Recipe::of(plan.chosen, manifest));
    let recipe = recipe.as_ref();
    if session.json {
        return output::json(&json!({
            "dataset": dataset,
            "candidates": candidates.len(),
            "plan": plan,
            "prune": recipe.and_then(|recipe| recipe.prune.as_ref()),
            "ask": recipe.map(|recipe| &recipe.ask),
            "toml": recipe.map(|recipe| &recipe.toml),
        }));
    }
    output::report(&plan_report(&plan, &dataset, candidates.len()))?;
    recipe.map_or(Ok(()), show)
}

fn goal(arguments: &PlanArguments) -> Goal {
    if let (Some(name), Some(max_loss)) = (&arguments.like, arguments.max_loss) {
        let promise = Promise {
            accuracy: arguments.maximize.unwrap_or(Quantity::Em),
            cost: arguments.minimize.unwrap_or(Quantity::Memory),
            max_loss,
            confidence: arguments.confidence,
        };
        return Goal::Like(name.clone(), promise);
    }
    let bounds = Bounds {
        most: arguments.max.clone(),
        least: arguments.at_least.clone(),
    };
    let goal = arguments.maximize.or(arguments.minimize);
    Goal::Best(goal.unwrap_or(Quantity::Em), bounds)
}

/// The data set to plan for.
fn dataset<'n>(arguments: &PlanArguments, names: impl Iterator<Item = &'n str>) -> Result<String> {
    let mut known: Vec<&str> = names.collect();
    known.sort_unstable();
    known.dedup();
    match (&arguments.dataset, known.as_slice()) {
        (Some(name), known) if known.contains(&name.as_str()) => Ok(name.clone()),
        (None, [only]) => Ok((*only).to_owned()),
        (named, known) => {
            let message = match named {
                Some(name) => format!("there is no data set {name}"),
                None => format!("there are {} data sets", known.len()),
            };
            let hint = format!("add --dataset NAME, one of {}", known.join(", "));
            Err(Failure::refused("dataset_not_named", message, hint))
        }
    }
}

/// The commands that run a set-up.
struct Recipe {
    /// The command that prunes the corpus first, if any.
    prune: Option<String>,
    ask: String,
    toml: String,
}

impl Recipe {
    fn of(chosen: &Candidate, manifest: &Manifest) -> Self {
        let model = &manifest.models[&chosen.model];
        let retrieval = chosen.condition.retrieval;
        let searches = chosen.condition.n > 0;
        let mut ask = "ken ask".to_owned();
        // Values in ken.toml that are not numbers are strings, and so are these.
        let mut toml = String::new();
        let mut set = |key: &str, value: &str| {
            let quoted = serde_json::Value::from(value);
            let _ = match value.parse::<f64>() {
                Ok(_) => writeln!(toml, "{key} = {value}"),
                Err(_) => writeln!(toml, "{key} = {quoted}"),
            };
            let _ = write!(ask, " --{} {}", key.replace('_', "-"), for_a_shell(value));
        };
        set("model", &model.reference);
        if let Some(adapter) = &model.adapter {
            set("adapter", &adapter.display().to_string());
        }
        set("policy", &chosen.policy);
        if searches {
            set("corpus", &manifest.corpus);
            set("k", &retrieval.k.to_string());
            set("scale", &chosen.condition.n.to_string());
        }
        for (key, value) in differing(manifest) {
            set(key, value);
        }
        // Only flags set these.
        if searches && retrieval.order == Order::Reversed {
            ask += " --reverse";
        }
        for filter in filters(manifest) {
            let _ = write!(ask, " --filter {}", for_a_shell(&filter));
        }
        let prune = (searches && retrieval.pruned != PruneRatio::NONE).then(|| {
            let ratio = retrieval.pruned;
            format!(
                "ken prune apply --corpus {} --pruner FILE --ratio {ratio}",
                manifest.corpus
            )
        });
        ask += " --style short \"QUESTION\"";
        Self { prune, ask, toml }
    }
}

/// The filters of a study, which its manifest stores in one line: a word without a comparison belongs to the value
/// before it.
fn filters(manifest: &Manifest) -> Vec<String> {
    let line = manifest.settings.get("filters").map_or("", String::as_str);
    let mut filters: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        match filters.last_mut() {
            Some(before) if !word.contains(['=', '<', '>']) => {
                before.push(' ');
                before.push_str(word);
            }
            _ => filters.push(word.to_owned()),
        }
    }
    filters
}

/// The settings of a study that differ from the defaults.
fn differing(manifest: &Manifest) -> Vec<(&str, &str)> {
    let settings = manifest.settings.iter();
    let differs = |key: &str, value: &str| {
        let mut settings = Key::ALL.iter().map(|key| key.setting());
        let default = settings
            .find(|setting| setting.key == key)
            .map(|setting| setting.default);
        let number = |text: &str| text.parse::<f64>().ok();
        default.is_some_and(|default| {
            default != value && (number(default).is_none() || number(default) != number(value))
        })
    };
    settings
        .filter(|(key, value)| differs(key, value))
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect()
}

fn show(Recipe { prune, ask, toml }: &Recipe) -> Result<()> {
    output::text("\nto run it:\n")?;
    if let Some(prune) = prune {
        output::line(prune)?;
    }
    output::line(ask)?;
    output::text(&format!("\nken.toml:\n{}\n", toml.trim_end()))
}
