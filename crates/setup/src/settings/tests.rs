//! Tests of the settings' precedence and messages.

use ken_answer::{EvidencePlace, Memory, Policy, Rerank, Style};
use ken_corpus::Segmentation;
use ken_documents::Budget;
use ken_hub::{DEFAULT_EMBEDDER, DEFAULT_GENERATOR};
use ken_index::Mode;
use ken_model::Precision;
use ken_model::decoder::{Device, ReadAs};
use ken_testing::has;
use std::num::NonZeroUsize;

use super::values::OrAuto;
use super::*;

fn file(text: &str) -> Result<Settings, SetupError> {
    let mut settings = Settings::by_default().unwrap();
    settings.read_file(Path::new("shelf/ken.toml"), text, NamedBy::Person)?;
    Ok(settings)
}

fn environment(get: impl Fn(&str) -> Option<String>) -> Result<Settings, SetupError> {
    let mut settings = Settings::by_default().unwrap();
    settings.read_environment(get)?;
    Ok(settings)
}

fn message(text: &str) -> String {
    let error = file(text).unwrap_err();
    let remedy = error
        .remedy()
        .map_or("no remedy".to_owned(), |remedy| remedy.to_string());
    format!("{error} | {remedy}")
}

#[test]
fn what_was_given_wins_over_variables_and_those_over_the_file() {
    let mut settings = file("k = 1\nseed = 1\nmax_tokens = 1").unwrap();
    let variables = |name: &str| match name {
        "KEN_K" | "KEN_SEED" => Some("2".to_owned()),
        "KEN_MODE" => Some(String::new()),
        _ => None,
    };
    settings.read_environment(variables).unwrap();
    let setting = Key::k.setting();
    settings
        .put(setting, "3".as_ref(), None, NamedBy::Person, String::new)
        .unwrap();
    has!(settings, k: Some(3), seed: 2, max_tokens: Some(1), mode: Mode::Hybrid);
}

#[test]
fn defaults_are_those_of_the_libraries() {
    let settings = Settings::by_default().unwrap();
    assert_eq!(settings.answering(), ken_answer::AnswerSettings::default());
    assert_eq!(
        settings.max_document_bytes.0,
        Budget::DEFAULT_DOCUMENT_BYTES
    );
    let [generator, embedder] = [DEFAULT_GENERATOR, DEFAULT_EMBEDDER].map(|text| text.parse());
    assert_eq!(
        (settings.model, settings.embedder),
        (generator.unwrap(), embedder.unwrap())
    );
}

/// Rewrites the table in the documentation if it differs from the settings.
#[test]
fn the_settings_are_documented() {
    let path = Path::new("../../docs/reference/config.md");
    let document = std::fs::read_to_string(path).unwrap();
    let mut table = "| key | default | what it is |\n|---|---|---|\n".to_owned();
    for setting in keyed() {
        let more = match setting.see {
            "" => String::new(),
            see => format!("; see {see}"),
        };
        let default = match setting.default {
            "" => "none",
            default => default,
        };
        let (key, help) = (setting.key, setting.help.trim());
        table += &format!("| `{key}` | {default} | {help}{more} |\n");
    }
    let start = document.find("| key |").unwrap();
    let end = start + document[start..].find("\n\n").unwrap() + 1;
    let expected = format!("{}{table}{}", &document[..start], &document[end..]);
    if document != expected {
        std::fs::write(path, expected).unwrap();
        panic!(
            "{} was not up to date and is written anew: commit it",
            path.display()
        );
    }
}

#[test]
fn every_key_is_read_and_stands_over_a_lower_layer() {
    let text = "abstain = \"certainty@0.5\"\nadapter = \"a\"\nallow_plaintext_keys = true\ncalibration = \"gu.json\"\ncorpus = \"c\"\ndatastore = \"d\"\ndeadline = 8\ndevice = \"cuda\"\nembedder = \"./e\"\nembedder_replicas = \"http://r\"\nevidence_place = \"system\"\nevidence_tokens = 7\nevidence_words = \"ew\"\ngate = \"g.json\"\nidle_timeout = 90\nk = 2\nkbm = \"kb\"\nkbm_for_any_model = true\nkbm_model = \"./s.gguf\"\nkeep_questions = true\nlisten = \"[::1]:9\"\nmax_document_bytes = \"8M\"\nmax_tokens = 3\nmemory = \"refuse\"\nmode = \"dense\"\n\
        model = \"./m.gguf\"\nmodel_name = \"m\"\nmodel_thinks = true\nmodel_wait = 5\nneighbors = 1\notlp_content = true\notlp_endpoint = \"http://c:4318\"\nparallel = 3\npolicy = \"never\"\nprecision = \"int8\"\nprompt_form = \"chat\"\nqueue = 11\nrecall = 0.95\nrerank = \"likelihood\"\nrerank_chunk = \"sentence\"\nrerank_depth = 5\nrouter = \"r.json\"\nsamples = 9\nscale = 2\nseed = 4\nsegment = \"sentence\"\nserver_data = \"sd\"\nserver_keys = \"sk.json\"\nstudies = \"st\"\nstyle = \"full\"\n\
        temperature = 0.5\nthreads = 6\ntrust_corpus_embedder = true\ntuned = \"t.toml\"\nwatch_judge = \"./j.gguf\"\nwatch_share = 0.25\n";
    let table: toml::Table = toml::from_str(text).unwrap();
    let keys: Vec<&str> = table.keys().map(String::as_str).collect();
    let known: Vec<&str> = keyed().map(|setting| setting.key).collect();
    assert_eq!(keys, known);
    let mut settings = environment(|name| {
        let key = name.strip_prefix("KEN_").unwrap().to_ascii_lowercase();
        let lower = match key.as_str() {
            "abstain" => "certainty@0.9",
            "device" => "cpu",
            "evidence_place" => "question",
            "listen" => "127.0.0.1:7",
            "memory" => "mark",
            "mode" => "lexical",
            "policy" => "always",
            "precision" => "f32",
            "prompt_form" => "examples",
            "recall" => "0.9",
            "rerank" => "embedder",
            "rerank_chunk" | "segment" => "whole",
            truth if table[truth].is_bool() => "false",
            number if table[number].is_integer() || number.ends_with("bytes") => "77",
            "style" => "short",
            "temperature" | "watch_share" => "7",
            _ => "./lower",
        };
        Some(lower.to_owned())
    })
    .unwrap();
    settings
        .read_file(Path::new("shelf/ken.toml"), text, NamedBy::Person)
        .unwrap();
    assert_eq!(settings, file(text).unwrap());
    settings.active = active(settings.scale, settings.reverse).unwrap();
    assert_eq!(settings.folder().unwrap(), Path::new("shelf/c"));
    has!(settings, adapter.as_deref(): Some(Path::new("shelf/a")),
        datastore.as_deref(): Some(Path::new("shelf/d")), active: Active::First(2),
        policy: OrAuto(Some(Policy::NEVER)), abstain: "certainty@0.5".parse().ok(),
        precision: Precision::Int8, prompt_form: OrAuto(Some(ReadAs::Chat)), memory: Memory::Refuse,
        evidence_place: EvidencePlace::System, evidence_words.as_deref(): Some("ew"),
        style: OrAuto(Some(Style::Full)), device: Device::Cuda, rerank: Rerank::Likelihood,
        rerank_chunk: Segmentation::Sentence, rerank_depth: 5, recall: "0.95".parse().unwrap(),
        max_document_bytes: Bytes(8 << 20), router.as_deref(): Some(Path::new("shelf/r.json")),
        gate.as_deref(): Some(Path::new("shelf/g.json")), threads: NonZeroUsize::new(6));
    assert!(settings.allow_plaintext_keys && settings.trust_corpus_embedder);
    assert!(settings.kbm_for_any_model && settings.model_thinks);
    assert_eq!(settings.model_wait, 5);
    assert_eq!(settings.embedder_replicas.as_deref(), Some("http://r"));
}

#[test]
fn reranking_keeps_eight_chunks_where_nobody_says() {
    let k = |text: &str| file(text).unwrap().k(3);
    assert_eq!(k(""), 3);
    assert_eq!(k("rerank = \"none\""), 3);
    assert_eq!(k("rerank = \"embedder\""), 8);
    assert_eq!(k("rerank = \"embedder\"\nk = 2"), 2);
}

#[test]
fn a_setting_is_found_by_its_name() {
    assert_eq!(Key::named("max_tokens").unwrap(), Key::max_tokens);
    let error = Key::named("polcy").unwrap_err();
    assert_eq!(error.to_string(), "there is no setting `polcy`");
    let remedy = |name: &str| Key::named(name).unwrap_err().remedy().unwrap().to_string();
    assert_eq!(remedy("polcy"), "did you mean `policy`?");
    assert!(remedy("weather").starts_with("the settings are abstain, "));
}

#[test]
fn an_unknown_key_is_named_with_its_file_and_its_neighbours() {
    assert_eq!(
        message("polcy = \"never\""),
        "unknown key `polcy` in shelf/ken.toml | did you mean `policy`?"
    );
    assert_eq!(
        message("[server]\nport = 1"),
        format!(
            "unknown key `server` in shelf/ken.toml | the keys are {}, and the table is [keys]",
            keyed()
                .map(|setting| setting.key)
                .collect::<Vec<_>>()
                .join(", ")
        )
    );
}

#[test]
fn a_bad_value_is_named_with_its_key_and_file() {
    assert!(
        message("k = 0")
            .starts_with("`k = 0` in shelf/ken.toml: it must be a whole number, at least 1")
    );
    assert!(message("seed = -1").contains("a seed is a whole number from 0 up"));
    assert!(message("keep_questions = 1").contains("true or false"));
    assert!(message("rerank = \"bm25\"").contains("cross-encoder:REF"));
    assert!(message("mode = \"deep\"").starts_with("`mode = deep` in shelf/ken.toml: "));
    assert!(message("k = true").starts_with("`k` in shelf/ken.toml is of type boolean"));
    assert!(message("k = ").starts_with("shelf/ken.toml is not TOML: "));
    assert!(message("keep_questions = 1").starts_with("`keep_questions = 1` in shelf/ken.toml: "));
    let refusal = environment(|name| (name == "KEN_K").then(|| "ten".to_owned()));
    assert!(
        refusal
            .unwrap_err()
            .to_string()
            .starts_with("the variable KEN_K=ten: it must be a whole number")
    );
}

#[test]
fn no_message_shows_a_key_or_a_password() {
    for text in [
        "api_key = \"sk-secret\"",
        "keys = \"sk-secret\"",
        "[keys]\n\"https://h\" = \"sk-secret\"",
        "[keys]\n\"https://h\" = \"sk-secret",
        "model = \"https://ada:sk-secret@h/v1\"",
        "corpus = \"milvus://ada:sk-secret@h/c\"",
    ] {
        let message = message(text);
        assert!(!message.contains("sk-secret"), "{message}");
    }
    let message = message("k = 1\n[keys]\n\"https://h\" = \"sk");
    assert!(message.contains("at line 3"), "{message}");
    let variable = |name: &str| {
        let given = "https://ada:sk-secret@h/v1".to_owned();
        (name == "KEN_MODEL").then_some(given)
    };
    let refusal = environment(variable).unwrap_err().to_string();
    assert!(
        refusal.contains("KEN_MODEL") && !refusal.contains("sk-secret"),
        "{refusal}"
    );
}

#[test]
fn keys_are_shown_by_the_names_of_their_variables() {
    let settings = file("[keys]\n\"https://h:8443\" = \"env:H_KEY\"").unwrap();
    let shown = serde_json::to_value(settings).unwrap();
    assert_eq!(
        shown["keys"],
        serde_json::json!({"https://h:8443": "env:H_KEY"})
    );
}

#[test]
fn keys_at_most_two_edits_away_are_suggested() {
    for (key, hint) in [
        ("modle", "did you mean `mode` or `model`?"),
        ("ral", "the keys are "),
        ("sclae", "did you mean `scale`?"),
    ] {
        let message = message(&format!("{key} = 1"));
        assert!(message.contains(hint), "{message}");
    }
}

#[test]
fn a_corpus_must_be_named() {
    let settings = Settings::by_default().unwrap();
    let refusal = settings.corpus().unwrap_err().to_string();
    assert_eq!(refusal, "no corpus is named");
}
