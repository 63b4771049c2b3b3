//! `ken doctor`: what this machine has, what is cached and what can be reached. It changes nothing. What is missing is a
//! finding; only a model or an embedder that cannot be used is a failure.

mod bench;
mod clients;
pub(super) mod machine;
pub(super) mod network;
mod speed;

use std::path::PathBuf;

use ken_hub::{Environment, ModelCache, ModelReference, find_python};
use ken_setup::{NamedBy, Settings, Setup};
use serde::Serialize;

use crate::arguments::DoctorArguments;
use crate::failure::{self, Failure, Reported, Result};
use crate::output;
use crate::session::Session;

/// Everything that `ken doctor` finds out.
#[derive(Debug, Serialize)]
struct Findings<'s> {
    /// Whether both models can be used.
    ok: bool,
    version: &'static str,
    machine: machine::Machine,
    python: Program,
    pip: Program,
    hub: network::Reach,
    cache: Cache,
    model: Ready,
    embedder: Ready,
    speed: speed::Speed,
    #[serde(skip_serializing_if = "Option::is_none")]
    bench: Option<bench::Bench>,
    settings: &'s Settings,
}

/// A model that the settings name, and whether it can be used as things are.
#[derive(Debug, Serialize)]
struct Ready {
    reference: String,
    /// Its path, if it can be used and is on this machine.
    path: Option<PathBuf>,
    ready: bool,
    /// Why it cannot be used, and the remedy.
    problem: Option<String>,
}

/// A program that `ken` calls: its version, or why there is none.
#[derive(Debug, Serialize)]
struct Program {
    found: bool,
    version: String,
}

/// The cache of models.
#[derive(Debug, Serialize)]
struct Cache {
    home: Option<PathBuf>,
    free_bytes: Option<u64>,
    models: Vec<CachedModel>,
    /// Why a model could not be listed.
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct CachedModel {
    reference: String,
    bytes: u64,
}

pub(crate) fn run(arguments: &DoctorArguments, session: &Session<'_>) -> Result<()> {
    let settings = session.settings;
    let python = find_python(&Environment::of_process());
    let python = |arguments: &[&str]| match &python {
        Ok(python) => program(python, arguments),
        Err(missing) => Program {
            found: false,
            version: missing.to_string(),
        },
    };
    let name = settings.model_name.clone();
    let model = ready(&settings.model, name, session.setup());
    let embedder = ready(&settings.embedder, None, session.setup());
    let bench = match (&model.path, &embedder.path) {
        _ if !arguments.bench => None,
        (Some(model), Some(embedder)) => {
            let (adapter, clients) = (settings.adapter.as_deref(), &arguments.clients);
            Some(bench::measure(model, adapter, embedder, clients)?)
        }
        _ => {
            let message = "--bench measures a model and an embedder on this machine, and one of them is not ready";
            let hint = "`ken doctor` without --bench says which, and why";
            return Err(Failure::refused("not_ready", message, hint));
        }
    };
    let findings = Findings {
        ok: model.ready && embedder.ready,
        version: env!("CARGO_PKG_VERSION"),
        machine: machine::look(),
        python: python(&["--version"]),
        pip: python(&["-m", "pip", "--version"]),
        hub: network::reach_hub(),
        cache: cache(),
        speed: speed::measure(model.path.as_deref(), embedder.path.as_deref()),
        bench,
        model,
        embedder,
        settings,
    };
    if session.json {
        output::json(&findings)?;
    } else {
        output::pairs(rows(&findings))?;
    }
    match findings.ok {
        true => Ok(()),
        false => Err(Reported.into()),
    }
}

fn program(command: &str, arguments: &[&str]) -> Program {
    let outcome = std::process::Command::new(command).args(arguments).output();
    let (found, version) = match outcome {
        Ok(output) if output.status.success() => (true, first_line(&output.stdout)),
        Ok(output) => (false, first_line(&output.stderr)),
        Err(cause) => (false, format!("{command}: {cause}")),
    };
    Program { found, version }
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().next().unwrap_or_default().trim().to_owned()
}

fn cache() -> Cache {
    let home = Environment::of_process().ken_home();
    let (mut models, mut problem) = (Vec::new(), None);
    let listed = ModelCache::of_user().and_then(|cache| cache.list());
    for record in listed.unwrap_or_else(|error| vec![Err(error)]) {
        match record {
            Ok(record) => models.push(CachedModel {
                reference: record.reference.to_string(),
                bytes: record.bytes(),
            }),
            Err(error) => problem = Some(error.to_string()),
        }
    }
    Cache {
        free_bytes: home.as_deref().and_then(machine::free_bytes),
        home,
        models,
        problem,
    }
}

/// Whether a model can be used; `name` says which of an endpoint's.
fn ready(reference: &ModelReference, name: Option<String>, setup: Setup<'_>) -> Ready {
    let (path, problem) = match reference {
        ModelReference::Remote { url } => {
            let endpoint = setup.endpoint(url, name, NamedBy::Person);
            let reached = endpoint.and_then(|endpoint| Ok(endpoint.reach()?));
            (None, reached.err().map(|error| error.to_string()))
        }
        here => match ModelCache::of_user().and_then(|cache| cache.resolve(here)) {
            Ok(path) => (Some(path), None),
            Err(error) => {
                let hint = error.remedy().map(|it| format!(": {}", failure::hint(&it)));
                (None, Some(format!("{error}{}", hint.unwrap_or_default())))
            }
        },
    };
    Ready {
        reference: reference.to_string(),
        ready: problem.is_none(),
        path,
        problem,
    }
}

fn rows<'f>(findings: &'f Findings) -> Vec<(&'f str, String)> {
    let machine = &findings.machine;
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), output::size);
    let found = |program: &Program| match program.found {
        true => program.version.clone(),
        false => format!("not found ({})", program.version),
    };
    let pip = match findings.pip.found || std::env::var_os("KEN_PYTHON").is_some() {
        true => found(&findings.pip),
        false => "not found, and not needed: models of PyPI come from its index".to_owned(),
    };
    let cache = &findings.cache;
    let home = match &cache.home {
        Some(home) => home.display().to_string(),
        None => "unknown: set KEN_HOME".to_owned(),
    };
    let system = format!("{} {}", machine.system, machine.architecture);
    let [free, memory] = [machine.memory_free_bytes, machine.memory_bytes].map(size);
    let mut rows = vec![
        ("ken", findings.version.to_owned()),
        ("system", system),
        ("cores", machine.cores.to_string()),
        ("features", machine.features.join(" ")),
        ("kernels", machine.kernels.clone()),
        ("memory", format!("{free} free of {memory}")),
        ("python", found(&findings.python)),
        ("pip", pip),
        ("hub", findings.hub.to_string()),
        ("cache", home),
        ("disk", format!("{} free", size(cache.free_bytes))),
    ];
    if let Some(problem) = &cache.problem {
        rows.push(("models", problem.clone()));
    }
    for model in &cache.models {
        let text = format!("{} {}", output::size(model.bytes), model.reference);
        rows.push(("cached", text));
    }
    for (name, model) in [("model", &findings.model), ("embedder", &findings.embedder)] {
        let state = match &model.problem {
            None => format!("ready: {}", model.reference),
            Some(problem) => format!("not ready: {problem}"),
        };
        rows.push((name, state));
    }
    let speed = &findings.speed;
    for (name, rate) in [
        ("reads", speed.read_tokens_per_s),
        ("writes", speed.write_tokens_per_s),
        ("embeds", speed.embed_tokens_per_s),
    ] {
        rows.extend(rate.map(|rate| (name, format!("{rate:.0} tokens/s"))));
    }
    rows.extend(findings.bench.iter().flat_map(bench_rows));
    rows
}

fn bench_rows(bench: &bench::Bench) -> Vec<(&str, String)> {
    let mut rows = Vec::new();
    for rates in &bench.rates {
        rows.push((rates.precision.as_str(), format!(
                "first token after {:.1} s; samples {:.0}, reads {:.0}, writes one stream at {:.0}, embeds {:.0} tokens/s; \
                 scores {:.1} contexts/s",
                rates.load_s,
                rates.sample_tokens_per_s,
                rates.read_tokens_per_s,
                rates.stream_tokens_per_s,
                rates.embed_tokens_per_s,
                rates.score_contexts_per_s
            )));
    }
    for company in &bench.clients {
        rows.push((
            "clients",
            format!(
                "{} at once: {:.2} questions/s with evidence, first token after {:.0} ms (p50), {:.0} ms (p99)",
                company.clients,
                company.questions_per_s,
                company.first_token_ms_p50,
                company.first_token_ms_p99
            ),
        ));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_a_finding() {
        let missing = program("a-program-that-nobody-has", &[]);
        assert!(!missing.found);
        assert!(missing.version.starts_with("a-program-that-nobody-has: "));
    }
}
