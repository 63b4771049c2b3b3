//! How the command line words a remedy: settings by their flags, actions by their commands.

use ken_diagnostic::{Action, Remedy};

/// The remedy as a hint for whoever uses the command line.
pub(crate) fn hint(remedy: &Remedy) -> String {
    remedy.worded(setting, |action| format!("`{}`", command(action)))
}

fn setting(name: &str) -> String {
    match name {
        "api_key" => "KEN_API_KEY".to_owned(),
        "milvus_token" => "KEN_MILVUS_TOKEN".to_owned(),
        "keys" => "[keys] of ken.toml".to_owned(),
        _ => format!("--{}", name.replace('_', "-")),
    }
}

fn command(action: &Action) -> String {
    let fixed = match action {
        Action::Ingest(corpus) => return format!("ken ingest PATH… --corpus {corpus}"),
        Action::RepairCorpus(corpus) => {
            return format!("ken corpus verify --repair --corpus {corpus}");
        }
        Action::PushCorpus(address) => {
            return format!("ken corpus push --corpus DIR --to {address}");
        }
        Action::PullModel(reference) => return format!("ken model pull {reference}"),
        Action::RemoveModel(reference) => return format!("ken model remove {reference}"),
        Action::Calibrate(policy) => return format!("ken calibrate RECORDS --policy {policy}"),
        Action::IngestShard => "ken ingest --shards N --only-shard I",
        Action::VerifyCorpus => "ken corpus verify",
        Action::ExportCorpus => "ken corpus export",
        Action::Search => "ken search",
        Action::VerifyModel => "ken model verify REF",
        Action::ListModels => "ken model list",
        Action::BuildForCuda => "cargo install --path crates/ken --features cuda",
        Action::Evaluate => "ken eval",
        Action::Probe => "ken probe QUESTIONS --out FILE",
        Action::ProbeWithCorpus => "ken probe QUESTIONS --corpus DIR",
        Action::LabelSources => "ken label sources QUESTIONS --out FILE",
        Action::LabelMastery => "ken mastery label CORPUS --out FILE",
        Action::Train => "ken train",
        Action::TrainRouter => "ken train router RECORDS --out FILE",
        Action::TrainEmbeddingRouter => "ken train router RECORDS --from embedding --out FILE",
        Action::TrainPruner => "ken train pruner LABELS --corpus DIR --out FILE",
        Action::TrainKbm => "ken train kbm RECORDS --out DIR",
        Action::TrainSelfRoute => "ken train self-route LABELS --out DIR",
        Action::MakeDatastore => "ken datastore make LABELS --out DIR",
        Action::ListDatastore => "ken datastore list DIR",
        Action::MakeWorld => "ken world make",
    };
    fixed.to_owned()
}
