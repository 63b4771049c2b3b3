//! `ken plan`: chooses a set-up among those that a study measured.

use std::borrow::Cow;
use std::fmt::Write;

use ken_setup::Key;
use ken_study::plan::{
    Bounds, Candidate, Goal, Plan, Promise, Quantity, candidates_of_study, candidates_of_table,
};
use ken_study::scaling::{Manifest, Measure, Measured, Order, PruneRatio, read_table};
use serde_json::json;

use crate::arguments::studying::PlanArguments;
use crate::commands::study::is_table;
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

pub(crate) fn run(arguments: &PlanArguments, session: &Session<'_>) -> Result<()> {
    let prices = arguments.prices.unwrap_or_default();
    let (candidates, dataset, manifest) = match is_table(&arguments.study) {
        true => {
            let curves = read_table(&arguments.study)?;
            let names = curves.iter().map(|curve| curve.dataset.as_str());
            let dataset = dataset(arguments, names)?;
            (candidates_of_table(&curves, &dataset), dataset, None)
        }
        false => {
            let measured = Measured::read(&arguments.study)?;
            let names = measured.manifest.datasets.keys().map(String::as_str);
            let dataset = dataset(arguments, names)?;
            let candidates = candidates_of_study(&measured, &dataset, &prices);
            (candidates, dataset, Some(measured.manifest))
        }
    };
    let seed = manifest
        .as_ref()
        .map_or(session.settings.seed, |manifest| manifest.seed);
    let scales: Vec<u32> = arguments.project.iter().map(|n| n.get()).collect();
    let plan = Plan::make(&candidates, &goal(arguments), &scales, seed)?;
    let recipe = manifest
        .as_ref()
        .map(|manifest| Recipe::of(plan.chosen, manifest));
    if session.json {
        return output::json(&json!({
            "dataset": dataset,
            "candidates": candidates.len(),
            "plan": plan,
            "prune": recipe.as_ref().and_then(|recipe| recipe.prune.clone()),
            "ask": recipe.as_ref().map(|recipe| recipe.ask.clone()),
            "toml": recipe.as_ref().map(|recipe| recipe.toml.clone()),
        }));
    }
    show(&plan, recipe.as_ref(), &dataset, candidates.len())
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

/// The data set that is planned for.
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

/// What runs a set-up.
struct Recipe {
    /// What prunes the corpus first, where it is to be.
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
        // Lines of ken.toml are strings where they are no numbers, and so are these.
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

/// A word of a command, in quotes where a shell would read it otherwise.
fn for_a_shell(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@+,=%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")).into(),
    }
}

/// The filters of a study, which its manifest has in one line: a word without a comparison belongs to the
/// value before it.
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

/// The settings of a study that are not as they are by default.
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

fn told(measure: &Measure) -> String {
    output::share(measure.value) + &output::interval(measure.interval)
}

fn show(plan: &Plan<'_>, recipe: Option<&Recipe>, dataset: &str, of: usize) -> Result<()> {
    let chosen = plan.chosen;
    let mut rows = vec![(
        "set-up",
        format!("{} of {of} measured on {dataset}", chosen.name),
    )];
    for (name, measure) in &plan.reported {
        rows.push((name, told(measure)));
    }
    for quantity in Quantity::costs() {
        if let Some(value) = chosen.value(quantity) {
            rows.push((quantity.name(), quantity.told(value)));
        }
    }
    output::pairs(rows)?;
    if !chosen.answers.is_empty() {
        output::line(
            "chosen on one half of the questions; the accuracy above is that of the other half",
        )?;
    }
    if !plan.keeps_bounds {
        output::line(
            "on that half it does not keep the bounds of accuracy: it was chosen where luck helped, or there are too few questions",
        )?;
    }
    if let Some(promised) = &plan.promise {
        show_promise(promised)?;
    }
    show_around(plan)?;
    if let Some(Recipe { prune, ask, toml }) = recipe {
        output::text("\nto run it:\n")?;
        if let Some(prune) = prune {
            output::line(prune)?;
        }
        output::line(ask)?;
        output::text(&format!("\nken.toml:\n{}\n", toml.trim_end()))?;
    }
    Ok(())
}

fn show_promise(promised: &ken_study::plan::Promised<'_>) -> Result<()> {
    let Promise {
        accuracy,
        cost,
        max_loss,
        confidence,
    } = promised.promise;
    output::line(format!(
        "\nwith confidence {confidence} it loses at most {max_loss} of {accuracy} against {}; measured: {}",
        promised.reference,
        told(&promised.gain)
    ))?;
    let mut rows = vec![output::head("step|cost|loss|evidence|passes")];
    for step in &promised.walk.steps {
        let passes = match (step.passes, step.needed) {
            (true, _) => "yes".to_owned(),
            (false, Some(needed)) => {
                format!("no: about {needed} questions like these would be needed")
            }
            (false, None) => "no, nor with any number of questions like these".to_owned(),
        };
        rows.push(vec![
            step.name.clone(),
            cost.told(step.cost),
            format!("{:.3}", step.loss),
            format!("{:.2} of {:.0}", step.evidence, 1.0 / (1.0 - confidence)),
            passes,
        ]);
    }
    output::table(&rows)
}

/// The front, and what one step more would buy.
fn show_around(plan: &Plan<'_>) -> Result<()> {
    let names = [Quantity::Em, Quantity::F1]
        .into_iter()
        .chain(Quantity::costs());
    let names: Vec<Quantity> = names
        .filter(|quantity| plan.front.iter().any(|one| one.value(*quantity).is_some()))
        .collect();
    let head = names.iter().map(|quantity| quantity.name().to_owned());
    let mut rows: Vec<Vec<String>> =
        vec![std::iter::once("front".to_owned()).chain(head).collect()];
    for one in &plan.front {
        let values = names.iter().map(|quantity| {
            let value = one.value(*quantity);
            value.map_or_else(|| "-".to_owned(), |value| quantity.told(value))
        });
        rows.push(std::iter::once(one.name.clone()).chain(values).collect());
    }
    output::line("")?;
    output::table(&rows)?;
    if !plan.buys.is_empty() {
        output::line("")?;
    }
    for buy in &plan.buys {
        let sign = |value: f64| if value < 0.0 { "-" } else { "+" };
        let costs = buy.costs.iter().filter(|(_, value)| *value != 0.0);
        let costs = costs.map(|(quantity, value)| {
            format!("{quantity} {}{}", sign(*value), quantity.told(value.abs()))
        });
        let costs: Vec<String> = costs.collect();
        output::line(format!(
            "{} ({}): {}; {}",
            buy.what,
            buy.name,
            told(&buy.gain),
            costs.join(", ")
        ))?;
    }
    for one in &plan.projections {
        let expected = one
            .expected
            .iter()
            .map(|(n, value)| format!("{value:.3} at {n}"));
        output::line(format!(
            "projection, not measured: {} of {} = {:.3} + {:.3} ln n, off by {:.3} on scales held out: {}",
            one.quantity,
            one.name,
            one.at_one,
            one.slope,
            one.held_out_error,
            expected.collect::<Vec<_>>().join(", ")
        ))?;
    }
    Ok(())
}
