//! How the command line words a remedy: settings by their flags, actions by their commands.

use ken_diagnostic::{Action, Remedy};

use crate::shell::for_a_shell;

/// The remedy as a hint for people at the command line.
pub(crate) fn hint(remedy: &Remedy) -> String {
    remedy.worded(setting, action)
}

fn setting(name: &str) -> String {
    match name {
        "api_key" => "KEN_API_KEY".to_owned(),
        "milvus_token" => "KEN_MILVUS_TOKEN".to_owned(),
        "search_key" => "KEN_SEARCH_KEY".to_owned(),
        "keys" => "[keys] of ken.toml".to_owned(),
        _ => format!("--{}", name.replace('_', "-")),
    }
}

/// An action by its command, as a person types it.
pub fn action(action: &Action) -> String {
    format!("`{}`", command(action))
}

fn command(action: &Action) -> String {
    let of = |command: &str, name: &str| format!("ken {command} {}", for_a_shell(name));
    let fixed = match action {
        Action::Ingest(corpus) => return of("ingest PATH… --corpus", corpus),
        Action::RepairCorpus(corpus) => return of("corpus verify --repair --corpus", corpus),
        Action::PushCorpus(address) => return of("corpus push --corpus DIR --to", address),
        Action::PullModel(reference) => return of("model pull", reference),
        Action::RemoveModel(reference) => return of("model remove", reference),
        Action::Calibrate(policy) => return format!("ken calibrate RECORDS --policy {policy}"),
        Action::CalibrateAbstention(signal) => {
            return format!(
                "ken calibrate RECORDS --policy SIGNAL --abstain {signal} --max-error 0.1"
            );
        }
        Action::MergeAdapter(adapter) => {
            let adapter = for_a_shell(adapter);
            return format!("ken model export --adapter {adapter} --out merged");
        }
        Action::IngestShard => "ken ingest --shards N --only-shard I",
        Action::VerifyCorpus => "ken corpus verify",
        Action::ListDocuments => "ken corpus list",
        Action::Search => "ken search",
        Action::VerifyModel => "ken model verify REF",
        Action::ExportModel => "ken model export",
        Action::ListModels => "ken model list",
        Action::ChooseModel => "ken model choose",
        Action::BuildForCuda => "cargo install --path crates/ken --features cuda",
        Action::BuildWithMilvus => "cargo install --path crates/ken --features milvus",
        Action::BuildWithPostgres => "cargo install --path crates/ken --features postgres",
        Action::Evaluate => "ken eval",
        Action::Probe => "ken probe QUESTIONS --out FILE",
        Action::ProbeWithCorpus => "ken probe QUESTIONS --corpus DIR",
        Action::LabelSources => "ken label sources QUESTIONS --out FILE",
        Action::LabelMastery => "ken label mastery --corpus DIR --out FILE",
        Action::Train => "ken train",
        Action::TrainRouter => "ken train router RECORDS --out FILE",
        Action::TrainEmbeddingRouter => "ken train router RECORDS --features embedding --out FILE",
        Action::TrainGate => "ken train gate RECORDS --out FILE",
        Action::TrainPruner => "ken train pruner LABELS --corpus DIR --out FILE",
        Action::TrainKbm => "ken train kbm RECORDS --out DIR",
        Action::TrainSelfRoute => "ken train self-route LABELS --out DIR",
        Action::MakeDatastore => "ken datastore make LABELS --out DIR",
        Action::EditDatastore => "ken datastore edit",
        Action::ListDatastore => "ken datastore list DIR",
        Action::MakeWorld => "ken world make",
        Action::MakeServerKey => "ken serve key make NAME",
        Action::ListServerKeys => "ken serve key list",
        Action::Tune => "ken tune QUESTIONS --write",
        Action::JoinParts => "ken join PART… --out DIR",
        Action::Study => "ken study run QUESTIONS --corpus DIR --model NAME=REF --out DIR",
    };
    fixed.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_answer::Policy;
    use ken_corpus::CorpusError;
    use ken_diagnostic::{Diagnostic, remedy};
    use ken_milvus::MilvusError;

    fn worded(error: &dyn Diagnostic) -> String {
        error.remedy().as_ref().map(hint).unwrap_or_default()
    }

    #[test]
    fn settings_are_flags_and_where_keys_are_is_named() {
        let named = remedy!("<shards> 3, <max_document_bytes>, <api_key>, <milvus_token>, <keys>");
        let flags =
            "--shards 3, --max-document-bytes, KEN_API_KEY, KEN_MILVUS_TOKEN, [keys] of ken.toml";
        assert_eq!(hint(&named), flags);
        let passages = MilvusError::TooManyHits {
            requested: 9,
            limit: 5,
        };
        assert_eq!(worded(&passages), "--k takes at most 5");
    }

    #[test]
    fn actions_are_commands() {
        let missing = |path: &str, holds_files| {
            let path = path.into();
            worded(&CorpusError::NotACorpus { path, holds_files })
        };
        let make = "make one with `ken ingest PATH… --corpus 'my notes.ken'`";
        assert_eq!(missing("my notes.ken", false), make);
        let of_files = "to search the files in it, make a corpus of them with `ken ingest PATH… --corpus notes.ken`";
        assert_eq!(missing("notes/", true), of_files);
        let lost = CorpusError::CurrentLost {
            path: "c".into(),
            reason: "gone".to_owned(),
            generations: vec![1],
        };
        let repair = "`ken corpus verify --repair --corpus c` resumes from the newest generation";
        assert!(worded(&lost).starts_with(repair), "{}", worded(&lost));
        let missing = MilvusError::CollectionMissing {
            address: "milvus://h/c".to_owned(),
        };
        let push = "bring a corpus there by `ken corpus push --corpus DIR --to milvus://h/c`";
        assert_eq!(worded(&missing), push);
        let twice: Policy = "certainty+double".parse().unwrap();
        let threshold = "write `certainty@THRESHOLD+double`; `ken calibrate RECORDS --policy certainty+double` finds one";
        assert_eq!(worded(&twice.check().unwrap_err()), threshold);
        let router = ken_answer::AnswerError::NoRouter;
        let train = "name it by --router FILE; `ken train router RECORDS --out FILE` makes one";
        assert_eq!(worded(&router), train);
    }
}
