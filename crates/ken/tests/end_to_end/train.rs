//! `ken train router` and its policy, on real embeddings and hidden states: trained on records, used by ask, eval and
//! calibrate, and refused where it does not fit.

use ken_testing::{has, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, keys, number, refuses, words};
use crate::model_server::{Manner, start};
use crate::records::{invent, probe};

/// Questions of each kind.
const EACH: usize = 30;

const COUNTRIES: [&str; 20] = [
    "France", "Italy", "Spain", "Norway", "Japan", "Egypt", "Peru", "Chile", "Kenya", "Greece",
    "Poland", "Cuba", "Iran", "China", "India", "Ghana", "Nepal", "Malta", "Qatar", "Oman",
];

/// Records of questions about countries, which count as known, and about an island, which do not: in the form in
/// which `ken probe` wrote a few, with other words and labels.
fn write_records(ken: &Ken, name: &str) {
    let questions = [
        json!({"id": "q1", "question": "What is the capital of France?", "golden_answers": ["Paris"]}),
        json!({"id": "q2", "question": "Who is the keeper of the Orrin lighthouse?",
               "golden_answers": ["Ilse Marrow"]}),
    ];
    ken.write_lines("questions.jsonl", questions);
    probe(ken, "questions.jsonl", "probed.jsonl");
    invent(ken, "probed.jsonl", name, 2 * EACH, |at, record| {
        let known = at % 2 == 0;
        let country = COUNTRIES[at / 2 % COUNTRIES.len()];
        let question = match (known, at / 2 >= COUNTRIES.len()) {
            (true, false) => format!("What is the capital of {country}?"),
            (true, true) => format!("Which language is spoken in {country}?"),
            (false, false) => format!("Who kept lighthouse number {at} of the island?"),
            (false, true) => format!("How many seals live at pier {at} of the harbour?"),
        };
        record["question"] = json!(question);
        record["greedy"]["self"]["correct"] = json!(known);
        record["greedy"]["corpus"]["correct"] = json!(true);
    });
}

/// A folder with the corpus, the records `known.jsonl` and a router from them.
fn prepared() -> Ken {
    let ken = with_notes();
    write_records(&ken, "known.jsonl");
    let text = ken.text(&train(&[]));
    says!(text => "AUROC", "calibration error", "--policy router@0.5 --router router.json");
    ken
}

fn train<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let base = words("train router known.jsonl --corpus island --out router.json");
    [&base[..], more].concat()
}

/// Asks by a router, from 0.5.
fn ask<'a>(question: &'a str, router: &'a str) -> Vec<&'a str> {
    let by = words("--corpus island --policy router@0.5 --max-tokens 4 --router");
    [&["ask", question][..], &by, &[router]].concat()
}

const UNKNOWN: &str = "Who kept lighthouse number 77 of the island?";

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_router_is_learned_and_the_policy_goes_by_it() {
    let ken = prepared();
    let router = ken.read("router.json");
    let learned = ken.json(&train(&[]));
    assert_eq!(
        ken.read("router.json"),
        router,
        "the same records give the same router"
    );
    assert_eq!(keys(&learned), ["router", "report", "seeds", "controls"]);
    let report = &learned["report"];
    assert!(number(&report["auroc"]) > 0.95, "{report}");
    assert!(number(&report["ece"]) < 0.25, "{report}");
    assert_eq!(
        number(&report["learned_from"]) + number(&report["held_out"]),
        60.0
    );

    let ask = |question| ken.json(&ask(question, "router.json"));
    let known = ask("What is the capital of Sweden?");
    has!(known, ["route"]: "self", ["calls"]["model"]: 1);
    assert!(known["timing_ms"]["represent"].is_number(), "{known}");
    assert_eq!(ask(UNKNOWN)["route"], "corpus");

    ken.write(
        "ken.toml",
        "corpus = \"island\"\nrouter = \"router.json\"\npolicy = \"router@0.5\"\n",
    );
    let chat = ken.text_of_input(&["ask", "-", "--json", "--max-tokens", "4"], UNKNOWN);
    assert!(chat.contains("\"route\":\"corpus\""), "{chat}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_router_is_compared_and_given_a_threshold_on_what_it_did_not_see() {
    let ken = prepared();
    let eval = words(
        "eval questions.jsonl --corpus island --policy always,router,router@0.5 \
         --router router.json --max-tokens 4 --out all",
    );
    let compared = ken.json(&eval);
    let policies = compared["policies"].as_array().unwrap();
    assert_eq!(policies[2]["policy"], "router@0.5");
    assert!(policies[2]["ece"].is_number(), "{compared}");
    let signals = ken.read("all/signals.jsonl");
    ken.text(&eval);
    assert_eq!(
        ken.read("all/signals.jsonl"),
        signals,
        "what was taken is not taken again"
    );
    let alone = ["--policy", "router@0.5", "--out", "alone.jsonl"];
    ken.json(
        &[
            &eval[..4],
            &["--router", "router.json", "--max-tokens", "4"],
            &alone,
        ]
        .concat(),
    );
    assert!(
        ken.read("alone.jsonl")
            .lines()
            .next()
            .unwrap()
            .contains("\"router\"")
    );

    let calibrate =
        words("calibrate known.jsonl --policy router --corpus island --router router.json");
    let chosen = ken.json(&calibrate);
    let report = &ken.json(&train(&[]))["report"];
    assert_eq!(
        chosen["n"], report["held_out"],
        "the others are left out: {chosen}"
    );
    assert!(number(&chosen["auroc"]) > 0.95, "{chosen}");
    let text = ken.text(&calibrate);
    says!(text => "--policy router@", "--router router.json");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_router_may_look_at_hidden_states() {
    let ken = prepared();
    let hidden = words("--features hidden --layer auto --seed 3 --out hidden.json");
    let train = ["train", "router", "known.jsonl"];
    let learned = ken.json(&[&train[..], &hidden].concat());
    let report = &learned["report"];
    assert_eq!(
        report["candidates"].as_array().unwrap().len(),
        4,
        "{report}"
    );
    assert_eq!(report["input"]["from"], "hidden_state", "{report}");
    assert!(number(&report["auroc"]) > 0.95, "{report}");
    let answer = ken.json(&ask(UNKNOWN, "hidden.json"));
    assert_eq!(answer["route"], "corpus", "{answer}");
    assert_eq!(
        answer["calls"]["model"], 2,
        "one reads the question: {answer}"
    );
    let first = ["--features", "first-token", "--out", "first.json"];
    let learned = ken.json(&[&train[..], &first].concat());
    let report = &learned["report"];
    assert_eq!(report["input"], json!({"from": "first_token"}), "{report}");
    assert_eq!(report["candidates"].as_array().unwrap().len(), 1);
    assert!(report["auroc"].is_number(), "{report}");
    let calibrate = words("calibrate known.jsonl --policy router --router first.json --ratio 0.5");
    let chosen = ken.json(&calibrate);
    assert_eq!(
        chosen["auroc"], report["auroc"],
        "the same questions are left, and the same is held of them: {chosen}"
    );
    let refusal = ken.refusal(
        &[
            &train[..],
            &["--features", "hidden", "--layer", "99", "--out", "x"],
        ]
        .concat(),
    );
    assert!(refusal.message.contains("99"), "{}", refusal.message);
    assert!(!ken.path("x").exists());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_endpoint_does_not_tell_how_sure_it_is_of_a_first_token() {
    let ken = with_notes();
    write_records(&ken, "here.jsonl");
    let server = start(Manner::Vllm);
    let there = ["--model", &server.url, "--model-name", "smollm2"];
    let probe = ["probe", "questions.jsonl", "--samples", "1"];
    let more = ["--max-tokens", "1", "--out", "there.jsonl"];
    ken.text(&[&probe[..], &there, &more].concat());
    let model = |records: &str| {
        let second = ken.read(records).lines().nth(1).map(str::to_owned);
        let record: Value = serde_json::from_str(&second.unwrap()).unwrap();
        record["fingerprint"]["model"].as_str().unwrap().to_owned()
    };
    let records = ken.read("here.jsonl");
    let records = records.replace(&model("here.jsonl"), &model("there.jsonl"));
    ken.write("known.jsonl", records);
    let first = ["--features", "first-token", "--out", "first.json"];
    let train = ["train", "router", "known.jsonl"];
    let refusal = ken.refusal(&[&train[..], &first, &there].concat());
    refusal.is("no_first_token", "first token", "--features embedding");
    assert!(!ken.path("first.json").exists());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_does_not_fit_is_refused_and_nothing_is_overwritten() {
    let ken = prepared();
    let router = ken.read("router.json");
    let ask = |more: &[&'static str]| {
        let base = ["ask", "Who?", "--corpus", "island", "--policy"];
        ken.refusal(&[&base[..], more].concat())
    };
    ask(&["router@0.5"]).is("no_router", "none is named", "ken train router");
    ask(&["router", "--router", "router.json"]).is("no_threshold", "`router`", "ken calibrate");
    ask(&["router@0.5", "--router", "gone.json"]).is("head_file", "gone.json", "ken train router");
    let other: Value = serde_json::from_str(&router).unwrap();
    let model = other["measured_on"]["model"].as_str().unwrap().to_owned();
    ken.write("other.json", router.replace(&model, "0123456789"));
    ask(&["router@0.5", "--router", "other.json"]).is(
        "other_router",
        "another model",
        "ken train router",
    );
    ken.write("half.json", &router[..router.len() / 2]);
    ask(&["router@0.5", "--router", "half.json"]).is("not_a_head", "half.json", "ken train router");

    let records = ken.read("known.jsonl");
    let few: Vec<&str> = records.lines().take(12).collect();
    ken.write("known.jsonl", few.join("\n") + "\n");
    refuses!(ken, &train(&[]) => "too_few_labels", "at least 20", "ken probe");
    ken.write(
        "known.jsonl",
        records.replace("\"correct\":false", "\"correct\":true"),
    );
    refuses!(ken, &train(&[]) => "one_class", "one class", "ken probe");
    ken.write("known.jsonl", records.replace(&model, "0123456789"));
    let hidden = train(&["--features", "hidden"]);
    refuses!(ken, &hidden => "other_model", "another model", "--model");
    ken.write("known.jsonl", "{}\n");
    refuses!(ken, &train(&[]) =>
        "not_results", "known.jsonl", "`ken probe QUESTIONS --out FILE` wrote");
    assert_eq!(
        ken.read("router.json"),
        router,
        "a refused run changes nothing"
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_router_is_learned_without_golden_answers_and_held_against_words() {
    let ken = prepared();
    let lines: Vec<String> = ken
        .read("known.jsonl")
        .lines()
        .enumerate()
        .map(|(at, line)| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            if record.get("question").is_some() {
                record["golden_answers"] = json!([]);
                record["greedy"]["self"]["correct"] = Value::Null;
                // Those that were known are certain.
                record["certainty"]["self"] = json!(if at % 2 == 1 { 1.0 } else { 0.25 });
            }
            record.to_string()
        })
        .collect();
    ken.write("asked.jsonl", lines.join("\n") + "\n");
    let train = |more: &[&'static str]| {
        let base = ["train", "router", "asked.jsonl", "--out", "free.json"];
        let predict = ["--predict", "certainty", "--features", "words"];
        [&base[..], &predict, more].concat()
    };
    let heads = ["--head", "mean-difference", "--control", "words"];
    let learned = ken.json(&train(&heads));
    let report = &learned["report"];
    has!(report, ["predicts"]: "certainty", ["auroc"]: Value::Null);
    assert!(number(&report["target_auroc"]) > 0.9, "{report}");
    assert_eq!(learned["controls"][0]["reads"], "words");
    let ask = ["ask", UNKNOWN, "--corpus", "island", "--max-tokens", "4"];
    let ask = [
        &ask[..],
        &["--policy", "router@0.5", "--router", "free.json"],
    ]
    .concat();
    assert_eq!(ken.json(&ask)["route"], "corpus");
    let golden = words("train router asked.jsonl --features words --out x.json");
    refuses!(ken, &golden => "no_labels", "has a label", "golden_answers");
}
