//! A server that chooses a policy on questions, and answers by it when it is told to: without a restart, and after one.

use ken_testing::{holds, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::Ken;
use crate::serve::Serving;
use crate::traffic::finish;

const QUESTION: &str = "Who is the keeper of the Orrin lighthouse?";

/// A server whose settings name the policy `never`, over the notes of the island.
fn serving(ken: &Ken, more: &[&str]) -> Serving {
    Serving::start(ken, &[&["--corpus", "island"][..], more].concat())
}

fn policy(serving: &Serving) -> Value {
    serving.post("/v1/ken/ask", &json!({"question": QUESTION}))["policy"].clone()
}

/// Has a policy chosen; returns the study.
fn tune(serving: &Serving) -> String {
    let asked = (0..30).map(|number| {
        let question = format!("Visitor {number} asks: {QUESTION}");
        let id = format!("q{number}");
        json!({"id": id, "question": question, "golden_answers": ["Ilse Marrow"]}).to_string()
    });
    let questions = asked.collect::<Vec<_>>().join("\n");
    let body = json!({"kind": "tune", "questions": questions});
    let (status, job) = serving.reply("/v1/ken/evals/jobs", &body);
    assert_eq!(status, 202, "{job}");
    finish(serving.address(), job["id"].as_str().unwrap());
    job["study"].as_str().unwrap().to_owned()
}

/// Has the policy of a study used, which from then on is this.
fn choose(serving: &Serving, study: &str, used: &str) {
    serving.post("/v1/ken/policy", &json!({"study": study}));
    assert_eq!(policy(serving), used);
}

/// A guarantee of a policy as tuning would have found it, for what a study was measured with.
fn guarantee(ken: &Ken, kept: &str, policy: &str) -> String {
    let report: Value = serde_json::from_str(&ken.read(&format!("{kept}/page.json"))).unwrap();
    let with = |name: &str| report["provenance"][name].as_str().unwrap().to_owned();
    let corpus = with("corpus");
    let (_, fingerprint) = corpus.rsplit_once(' ').unwrap();
    let on = json!({"records": "questions", "questions": 30, "model": with("model"), "corpus": fingerprint,
        "created": 1_764_000_000});
    let measured = json!({"retrieval_ratio": 0.5, "loss": 0.0, "loss_bound": 0.04, "disagreement": 0.0,
        "disagreement_bound": 0.2});
    let all = json!({"format": "ken-guarantee", "version": 1, "policy": policy, "max_loss": 0.05, "measured": measured,
        "confidence": 0.95, "samples": null, "calibrated_on": on});
    all.to_string()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_policy_that_was_chosen_is_put_to_use() {
    let ken = with_notes();
    let before = "server_data = \"data\"\nk = 1\nmax_tokens = 8\npolicy = \"never\" # mine\n";
    ken.write("ken.toml", before);
    let server = serving(&ken, &[]);
    let study = tune(&server);
    assert_eq!(policy(&server), "never");
    choose(&server, &study, "always");
    let plain = "tuned = \"tuned.toml\"\n".to_owned() + &before.replace("never", "always");
    assert_eq!(ken.read("ken.toml"), plain);

    // Of another policy, with a threshold and a guarantee: what it was measured with is what is served.
    let kept = format!("data/studies/{study}");
    let tuned = ken.read(&format!("{kept}/tuned.toml"));
    assert_eq!(ken.read("tuned.toml"), tuned);
    let other = tuned.replace("policy = \"always\"", "policy = \"prompt@0.4\"");
    ken.write(&format!("{kept}/tuned.toml"), &other);
    let promised = format!("{kept}/tuned.guarantee.json");
    ken.write(&promised, guarantee(&ken, &kept, "prompt@0.4"));
    choose(&server, &study, "prompt@0.4");
    let (_, watched) = server.exchange("GET", "/v1/ken/guarantee", "");
    assert!(watched.contains("\"policy\":\"prompt@0.4\""), "{watched}");
    let named = ken.read("ken.toml");
    says!(named => "calibration = \"tuned.guarantee.json\"");

    // With other settings its threshold says nothing.
    ken.write(
        &format!("{kept}/tuned.toml"),
        other.replace("k = \"1\"", "k = \"2\""),
    );
    let (status, told) = server.reply("/v1/ken/policy", &json!({"study": study}));
    let error = &told["error"];
    assert_eq!(status, 409, "{told}");
    assert_eq!(error["code"], "tuned_otherwise", "{told}");
    holds!("{told}" => error["message"].as_str().unwrap().contains("here is k 1"));
    assert_eq!(policy(&server), "prompt@0.4");
    assert_eq!(
        (ken.read("ken.toml"), ken.read("tuned.toml")),
        (named, other)
    );
    drop(server);
    let server = serving(&ken, &[]);
    assert_eq!(policy(&server), "prompt@0.4");

    // One that promises nothing takes the guarantee of the one before out.
    ken.write(&format!("{kept}/tuned.toml"), &tuned);
    std::fs::remove_file(ken.path(&promised)).unwrap();
    choose(&server, &study, "always");
    assert_eq!(ken.read("ken.toml"), plain);
    drop(server);
    let asked = ken.json(&["ask", QUESTION, "--corpus", "island"]);
    assert_eq!(asked["policy"], "always");

    // A flag comes before the file.
    let server = serving(&ken, &["--policy", "never"]);
    let study = json!({"study": study});
    server.refuses("/v1/ken/policy", &study, 409, ["code", "policy_given"]);
    assert_eq!(policy(&server), "never");
}
