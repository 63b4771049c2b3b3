//! `ken model`: fetches, lists, shows, checks and removes cached models, and chooses one. What models compute is in
//! `score`.

pub(crate) mod choose;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_hub::{
    DEFAULT_EMBEDDER, DEFAULT_GENERATOR, FileCheck, FileState, ModelCache, ModelRecord,
    ModelReference, Verification,
};
use ken_model::Precision;
use ken_model::decoder::Footprint;
use serde::Serialize;
use serde_json::json;

use crate::arguments::model::PlainModelVerb;
use crate::commands::score;
use crate::failure::{self, Context, Failure, Result};
use crate::output;
use crate::session::fetch_progress;

/// A model as `pull`, `list` and `info` show it.
#[derive(Debug, Serialize)]
struct ShownModel {
    reference: String,
    /// The path to load: a file, or a folder.
    path: PathBuf,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pulled_at: Option<String>,
    /// For a decoder, read before its weights.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    footprint: Option<Footprint>,
    files: Vec<ShownFile>,
}

#[derive(Debug, Serialize)]
struct ShownFile {
    path: String,
    bytes: u64,
    /// Known for fetched models; local files are not hashed.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

pub(crate) fn run(verb: &PlainModelVerb, json: bool, stop: &Arc<AtomicBool>) -> Result<()> {
    let cache = ModelCache::of_user()?;
    match verb {
        PlainModelVerb::Pull { models } => pull(&cache, models, json, stop),
        PlainModelVerb::List => list(&cache, json),
        PlainModelVerb::Info(named) => info(&cache, &named.model, json),
        PlainModelVerb::Verify { model } => verify(&cache, model.as_ref(), json, stop),
        PlainModelVerb::Remove(named) => remove(&cache, &named.model, json),
        PlainModelVerb::Score(arguments) => score::score(arguments, json, stop),
        PlainModelVerb::Embed { model, text } => score::embed(&model.model, text, json, stop),
    }
}

fn pull(
    cache: &ModelCache,
    models: &[ModelReference],
    json: bool,
    stop: &Arc<AtomicBool>,
) -> Result<()> {
    let defaults = [DEFAULT_GENERATOR.parse()?, DEFAULT_EMBEDDER.parse()?];
    let models = match models {
        [] => &defaults[..],
        named => named,
    };
    for reference in models {
        let record = cache.pull(reference, &mut fetch_progress(), stop)?;
        let shown = shown_record(cache, &record)?;
        if json {
            output::json(&shown)?;
        } else {
            output::line(format!(
                "{}  {}  {}",
                shown.reference,
                output::size(shown.bytes),
                shown.path.display()
            ))?;
        }
    }
    Ok(())
}

fn list(cache: &ModelCache, json: bool) -> Result<()> {
    let mut rows = Vec::new();
    for listed in cache.list()? {
        match listed.and_then(|record| shown_record(cache, &record)) {
            Ok(shown) if json => output::json(&shown)?,
            Ok(shown) => rows.push(vec![
                output::size(shown.bytes),
                shown.pulled_at.unwrap_or_default(),
                shown.reference,
            ]),
            // A broken model does not hide the others.
            Err(error) => failure::warn(&error),
        }
    }
    output::table(rows)
}

fn info(cache: &ModelCache, reference: &ModelReference, json: bool) -> Result<()> {
    let mut shown = match reference {
        ModelReference::Local { .. } => shown_path(reference, cache.resolve(reference)?)?,
        _ => shown_record(cache, &cache.info(reference)?)?,
    };
    // Models that are not decoders, such as embedders, are shown without one.
    shown.footprint = Footprint::read(&shown.path, Precision::Auto).ok();
    if json {
        return output::json(&shown);
    }
    let mut rows = vec![
        ("reference", shown.reference),
        ("path", shown.path.display().to_string()),
        ("size", output::size(shown.bytes)),
    ];
    if let Some(decoder) = shown.footprint {
        let memory = output::size(decoder.weight_bytes);
        let cache = output::size(1000 * decoder.bytes_per_token);
        let millions = decoder.parameters as f64 / 1e6;
        rows.extend([
            ("parameters", format!("{millions:.0} million")),
            ("stored as", decoder.stored_as.join(", ")),
            ("memory", format!("{memory}, and {cache} per 1,000 tokens")),
            ("context", format!("{} tokens", decoder.context_tokens)),
        ]);
    }
    rows.extend(shown.commit.map(|commit| ("commit", commit)));
    rows.extend(shown.pulled_at.map(|time| ("pulled", time)));
    for file in shown.files {
        let checksum = file.sha256.map(|sha256| format!("  {sha256}"));
        let checksum = checksum.unwrap_or_default();
        let text = format!("{}  {}{checksum}", file.path, output::size(file.bytes));
        rows.push(("file", text));
    }
    output::pairs(rows)
}

fn verify(
    cache: &ModelCache,
    model: Option<&ModelReference>,
    json: bool,
    stop: &Arc<AtomicBool>,
) -> Result<()> {
    let references: Vec<ModelReference> = match model {
        Some(reference) => vec![reference.clone()],
        None => {
            let listed = cache.list()?.into_iter();
            let references = listed.map(|listed| Ok(listed?.reference));
            references.collect::<Result<_>>()?
        }
    };
    let mut damaged = Vec::new();
    for reference in &references {
        let verification = cache.verify(reference, &mut fetch_progress(), stop)?;
        show_verification(&verification, json)?;
        if !verification.is_intact() {
            damaged.push(reference.to_string());
        }
    }
    match damaged.first() {
        None => Ok(()),
        Some(first) => Err(Failure::refused(
            "damaged_model",
            format!("damaged: {}", damaged.join(", ")),
            format!("run `ken model remove {first}`, then `ken model pull {first}`"),
        )),
    }
}

fn show_verification(verification: &Verification, json: bool) -> Result<()> {
    let state = |file: &FileCheck| match &file.state {
        FileState::Intact => "intact".to_owned(),
        FileState::Missing => "missing".to_owned(),
        FileState::Damaged { expected, got } => {
            format!("damaged: expected sha256 {expected}, got {got}")
        }
    };
    let files = verification.files.iter();
    if json {
        let files = files.map(|file| json!({ "path": file.path, "state": state(file) }));
        return output::json(&json!({
            "reference": verification.reference,
            "intact": verification.is_intact(),
            "files": files.collect::<Vec<_>>(),
        }));
    }
    output::line(&verification.reference)?;
    for file in files {
        output::line(format!("  {}  {}", file.path, state(file)))?;
    }
    Ok(())
}

fn remove(cache: &ModelCache, reference: &ModelReference, json: bool) -> Result<()> {
    let removed = cache.remove(reference);
    let freed_bytes = removed
        .map_err(|error| Failure::from(error).or("`ken model list` shows the cached ones"))?;
    match json {
        true => output::json(&json!({ "reference": reference, "freed_bytes": freed_bytes })),
        false => output::line(format!(
            "removed {reference}: {} freed",
            output::size(freed_bytes)
        )),
    }
}

fn shown_record(cache: &ModelCache, record: &ModelRecord) -> Result<ShownModel, ken_hub::HubError> {
    let file = |file: &ken_hub::FileRecord| ShownFile {
        path: file.path.clone(),
        bytes: file.bytes,
        sha256: Some(file.sha256.clone()),
    };
    Ok(ShownModel {
        reference: record.reference.to_string(),
        path: cache.resolve(&record.reference)?,
        bytes: record.bytes(),
        commit: record.commit.clone(),
        pulled_at: Some(record.pulled_at.clone()),
        footprint: None,
        files: record.files.iter().map(file).collect(),
    })
}

/// A model on this machine that is not in the cache: a file, or a folder with its files.
fn shown_path(reference: &ModelReference, path: PathBuf) -> Result<ShownModel> {
    let mut files = Vec::new();
    if path.is_dir() {
        let cannot_list = || format!("cannot list {}", path.display());
        for entry in std::fs::read_dir(&path).context(cannot_list)? {
            let inside = entry.context(cannot_list)?.path();
            if inside.is_file() {
                files.push(shown_file(&inside)?);
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
    } else {
        files.push(shown_file(&path)?);
    }
    Ok(ShownModel {
        reference: reference.to_string(),
        bytes: files.iter().map(|file| file.bytes).sum(),
        path,
        commit: None,
        pulled_at: None,
        footprint: None,
        files,
    })
}

fn shown_file(path: &Path) -> Result<ShownFile> {
    let cannot_read = || format!("cannot read {}", path.display());
    let attributes = std::fs::metadata(path).context(cannot_read)?;
    let name = path.file_name().unwrap_or_default();
    Ok(ShownFile {
        path: name.to_string_lossy().into_owned(),
        bytes: attributes.len(),
        sha256: None,
    })
}
