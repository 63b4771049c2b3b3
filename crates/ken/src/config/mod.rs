//! Settings, each defined by one line of the table in `settings`. What holds for a run is read in this
//! order, the later winning: the defaults, `ken.toml`, `KEN_*` variables, flags. It opens no corpus
//! and no model.

mod address;
mod define;
mod keys;
mod settings;
mod source;
mod values;

pub(crate) use address::CorpusAddress;
pub(crate) use keys::KeySource;
pub(crate) use settings::{ADVANCED, DECIDING, FINDING, Key, MODEL, Settings, advanced, flags};
pub(crate) use source::CorpusSource;
pub(crate) use values::{SamplingTemperature, count, open_share, seed, share};

use std::num::NonZeroU32;
use std::path::Path;

use clap::ArgMatches;
use ken_corpus::Active;

use define::Setting;
use keys::Keys;
use settings::SETTINGS;

use crate::failure::Refusal;

/// The file that is read where none is named.
const DEFAULT_FILE: &str = "ken.toml";

/// The table of `ken.toml` that says where the keys of servers are.
const KEY_TABLE: &str = "keys";

/// What holds for this run. `arguments` is the whole command line, `file` the settings file that it
/// names; without one a missing `ken.toml` says nothing.
pub(crate) fn resolve(arguments: &ArgMatches, file: Option<&Path>) -> Result<Settings, Refusal> {
    let mut settings = Settings::by_default().map_err(Refusal::config)?;
    let path = file.unwrap_or(Path::new(DEFAULT_FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => read_file(&mut settings, path, &text)?,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound && file.is_none() => {}
        Err(cause) => {
            let message = format!("cannot read the settings {}: {cause}", path.display());
            return Err(Refusal::config(message).hinting("check the path after --config"));
        }
    }
    read_environment(&mut settings, |name| std::env::var(name).ok())?;
    read_flags(&mut settings, arguments)?;
    if let Some(first) = settings.sources.first() {
        settings.corpus = Some(first.address.clone());
    }
    settings.active = active(settings.scale, settings.reverse)?;
    Ok(settings)
}

/// The settings that the file and the environment may name.
fn keyed() -> impl Iterator<Item = &'static Setting<Settings>> {
    SETTINGS.iter().filter(|setting| setting.has_key())
}

/// Takes what a file says. Relative paths in it are relative to the file.
fn read_file(settings: &mut Settings, path: &Path, text: &str) -> Result<(), Refusal> {
    let table: toml::Table =
        toml::from_str(text).map_err(|cause| Refusal::config(not_toml(path, text, &cause)))?;
    for (key, value) in &table {
        let place = path.display();
        if key == KEY_TABLE {
            settings.keys = Keys::read(value)
                .map_err(|reason| Refusal::config(format!("`{key}` in {place}: {reason}")))?;
            continue;
        }
        let Some(setting) = keyed().find(|setting| setting.key == key) else {
            return Err(unknown_key(key, path));
        };
        let value = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Boolean(yes) if setting.is_truth => yes.to_string(),
            other => {
                return Err(Refusal::config(format!(
                    "`{key}` in {place} is of type {}; a text or a number is expected",
                    other.type_str()
                )));
            }
        };
        (setting.put)(settings, value.as_ref(), path.parent()).map_err(|reason| {
            let value = shown(&value);
            Refusal::config(format!("`{key} = {value}` in {place}: {reason}"))
        })?;
    }
    Ok(())
}

/// Takes what variables say, asked by name; an empty value counts as none.
fn read_environment(
    settings: &mut Settings,
    get: impl Fn(&str) -> Option<String>,
) -> Result<(), Refusal> {
    for setting in keyed() {
        let name = format!("KEN_{}", setting.key.to_ascii_uppercase());
        let Some(value) = get(&name).filter(|value| !value.is_empty()) else {
            continue;
        };
        (setting.put)(settings, value.as_ref(), None).map_err(|reason| {
            let value = shown(&value);
            Refusal::config(format!("the variable {name}={value}: {reason}"))
        })?;
    }
    Ok(())
}

/// Takes what the flags of the innermost verb say, among which are the global ones.
fn read_flags(settings: &mut Settings, arguments: &ArgMatches) -> Result<(), Refusal> {
    let mut verb = arguments;
    while let Some((_, inner)) = verb.subcommand() {
        verb = inner;
    }
    for setting in SETTINGS {
        let given = verb.try_get_raw(setting.id).ok().flatten();
        for value in given.into_iter().flatten() {
            (setting.put)(settings, value, None).map_err(Refusal::config)?;
        }
    }
    Ok(())
}

/// What a message shows of a value: of one that is like a URL, nothing that could be a password.
fn shown(value: &str) -> &str {
    match value.contains("://") {
        true => ken_http::without_secrets(value),
        false => value,
    }
}

/// Where the file is no TOML, and why. The line itself is not shown: it may hold a key.
fn not_toml(path: &Path, text: &str, cause: &toml::de::Error) -> String {
    let before = cause.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(1, |before| before.matches('\n').count() + 1);
    let reason = cause.message();
    format!("{} is not TOML: {reason}, at line {line}", path.display())
}

fn unknown_key(key: &str, path: &Path) -> Refusal {
    let known: Vec<&str> = keyed().map(|setting| setting.key).collect();
    let near = known
        .iter()
        .filter(|known| strsim::levenshtein(key, known) <= 2);
    let near: Vec<String> = near.map(|known| format!("`{known}`")).collect();
    let hint = match near.as_slice() {
        [] => format!(
            "the keys are {}, and the table is [{KEY_TABLE}]",
            known.join(", ")
        ),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Refusal::config(format!("unknown key `{key}` in {}", path.display())).hinting(hint)
}

fn active(scale: Option<NonZeroU32>, reverse: bool) -> Result<Active, Refusal> {
    match (scale.map(NonZeroU32::get), reverse) {
        (None, false) => Ok(Active::All),
        (Some(scale), false) => Ok(Active::First(scale)),
        (Some(scale), true) => Ok(Active::Last(scale)),
        (None, true) => Err(Refusal::new(
            "scale_not_named",
            "--reverse takes the last shards, but not how many is said",
        )
        .hinting("add --scale N")),
    }
}

#[cfg(test)]
mod tests;
