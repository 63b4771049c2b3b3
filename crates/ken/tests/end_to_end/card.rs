//! `ken card`: what the model knows, by kind, with a page, and the same numbers as the answers behind it.

use ken_testing::{cases, has, holds, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{keys, number, objects, refuses};

fn questions() -> String {
    let known = [
        ("France", "Paris"),
        ("Italy", "Rome"),
        ("Spain", "Madrid"),
        ("Japan", "Tokyo"),
    ];
    let known = known.map(|(land, city)| {
        json!({"id": land, "question": format!("What is the capital of {land}?"), "golden_answers": [city],
            "metadata": {"kind": "capital"}})
    });
    let unknown = cases![
        "keeper" => "Who is the keeper of the Orrin lighthouse?", "Ilse Marrow";
        "year" => "When was the lighthouse of Orrin built?", "1871";
    ];
    let unknown = unknown.map(|(id, question, answer)| {
        json!({"id": id, "question": question, "golden_answers": [answer], "metadata": {"kind": "island"}})
    });
    let lines = known.iter().chain(&unknown).map(Value::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_card_says_what_is_known_by_kind() {
    let ken = with_notes();
    ken.write("questions.jsonl", questions());
    let verb = ["card", "questions.jsonl", "--corpus", "island"];
    let card = ken.json(&verb);
    assert_eq!(keys(&card), ["n", "all", "by", "signals", "search", "seed"]);
    let [by] = card["by"].as_array().unwrap().as_slice() else {
        panic!("{card}");
    };
    assert_eq!(by["field"], "kind");
    let groups = by["groups"].as_array().unwrap();
    let of = |group: usize, part: &str| number(&groups[group][1][part]["value"]);
    has!(groups, [0][0]: "capital", [1][0]: "island");
    assert!(of(0, "memory") > of(1, "memory"), "{card}");
    assert_eq!(of(1, "memory"), 0.0);
    // The same numbers as in the answers.
    let right = |policy: &str| {
        let lines = ken.read(&format!("questions.card/{policy}.jsonl"));
        let records = objects(&lines).into_iter();
        records
            .filter(|record| record["em"] == 1.0 || record["em"] == true)
            .count() as f64
    };
    for (policy, part) in [("never", "memory"), ("always", "evidence")] {
        let share = number(&card["all"][part]["value"]);
        holds!("{policy}: {card}" => (share * 6.0 - right(policy)).abs() < 1e-9);
    }
    let signals = card["signals"].as_array().unwrap();
    assert_eq!(signals.len(), 4);
    assert!(
        signals
            .iter()
            .all(|signal| signal["tenths"].as_array().unwrap().len() == 6)
    );
    let page = ken.read("questions.card/report.html");
    assert!(page.contains("Whether it knows that it knows"));
    // Others see it: it names the model, and no folder.
    let model = crate::harness::generator();
    let name = model.file_name().unwrap().to_str().unwrap();
    says!(page => &format!("<h1>What {name} knows</h1>"));
    assert!(!page.contains(model.parent().unwrap().to_str().unwrap()));
    let text = ken.text(&[&verb[..], &["--by", "kind"]].concat());
    says!(text => "from memory", "a search costs in tokens");
    refuses!(ken, &[&verb[..], &["--by", "nothing"]].concat() => "no_field", "nothing", "");
}
