//! `ken train pruner` and `ken prune` on real embeddings: exact ratios, guarantees, reports, undoing, and
//! what is refused.

use ken_testing::{has, holds, says};
use serde_json::{Value, json};

use crate::harness::{Ken, keys, number, objects, refuses, texts, words};
use crate::records::{invent, probe_with};
use crate::tuning::{MODEL, SMALL};

/// Passages of each kind.
const EACH: usize = 30;

const COUNTRIES: [&str; 30] = [
    "France", "Italy", "Spain", "Norway", "Japan", "Egypt", "Peru", "Chile", "Kenya", "Greece",
    "Poland", "Cuba", "Iran", "China", "India", "Ghana", "Nepal", "Malta", "Qatar", "Oman",
    "Sweden", "Finland", "Brazil", "Canada", "Mexico", "Turkey", "Sudan", "Angola", "Laos", "Fiji",
];

/// Passages about countries, which the labels call known, and about an invented island.
fn passages() -> Vec<(String, String, bool)> {
    let each = (0..EACH).flat_map(|at| {
        let country = COUNTRIES[at];
        [
            (
                format!("c{at}"),
                format!("{country} is a country with a capital and a parliament."),
                true,
            ),
            (
                format!("i{at}"),
                format!("Keeper number {at} of the Orrin lighthouse is called Marrow{at}."),
                false,
            ),
        ]
    });
    each.collect()
}

/// A folder with the corpus `island`, labels of its passages, questions, and a pruner.
pub(crate) fn prepared() -> Ken {
    let ken = Ken::new();
    let all = passages();
    let documents = all
        .iter()
        .map(|(id, text, _)| json!({"id": id, "contents": text}));
    ken.write_lines("documents.jsonl", documents);
    ken.text(&["ingest", "documents.jsonl", "--corpus", "island"]);
    let mut labels = vec![json!({"settings": {}}).to_string()];
    labels.extend(all.iter().map(|(id, text, known)| {
        json!({
            "id": format!("{id}#0/0"), "passage_id": format!("{id}#0"), "title": "", "sentence": text,
            "mastery": f64::from(u8::from(*known)), "interval": null, "pairs": [], "wanted": 1,
            "dropped": {"unwritten": 0, "unsupported": 0, "given_away": 0, "other_answer": 0,
                        "repeated": 0, "invalid": 0},
            "error": null,
            "fingerprint": {"model": "m", "writer": "m", "corpus": "c", "prompt": "p"},
        })
        .to_string()
    }));
    ken.write("mastery.jsonl", labels.join("\n") + "\n");
    let questions = (0..EACH).map(|at| {
        json!({"id": format!("q{at}"), "question": format!("Who is keeper number {at} of the lighthouse?"),
               "golden_answers": [format!("Marrow{at}")]})
    });
    ken.write_lines("questions.jsonl", questions);
    let text = ken.text(&words(TRAIN));
    assert!(text.contains("rank correlation"), "{text}");
    ken
}

pub(crate) const TRAIN: &str = "train pruner mastery.jsonl --corpus island --out pruner.json";

fn prune_verb<'a>(verb: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let flags = words("--corpus island --pruner pruner.json");
    [&["prune", verb][..], &flags, more].concat()
}

pub(crate) fn prune<'a>(more: &[&'a str]) -> Vec<&'a str> {
    prune_verb("apply", more)
}

pub(crate) fn pruned(ken: &Ken) -> (u64, u64) {
    let info = ken.json(&["corpus", "info", "--corpus", "island"]);
    (
        info["pruned"].as_u64().unwrap(),
        info["generation"].as_u64().unwrap(),
    )
}

/// The fingerprint field of the model in files that were measured on it.
fn real_model(ken: &Ken) -> String {
    let probe = words("--limit 1 --samples 1 --max-tokens 2 --out probed.jsonl");
    ken.text(&[&["probe", "questions.jsonl"][..], &probe].concat());
    let probed = ken.read("probed.jsonl");
    let record: Value = serde_json::from_str(probed.lines().nth(1).unwrap()).unwrap();
    format!("\"model\":{}", record["fingerprint"]["model"])
}

/// The ids of the passages that are left.
pub(crate) fn left(ken: &Ken) -> Vec<String> {
    let lines = ken.text(&["corpus", "export", "--corpus", "island"]);
    texts(&json!(objects(&lines)), "doc_id")
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn exactly_the_share_goes_that_is_known_and_comes_back() {
    let ken = prepared();
    let learned = ken.json(&words(TRAIN));
    assert_eq!(keys(&learned), ["pruner", "report"]);
    holds!("{learned}" => number(&learned["report"]["rank_correlation"]) > 0.7);
    let dry = ken.json(&prune(&["--ratio", "0.4", "--dry-run"]));
    has!(dry, ["pruned"]: 24, ["passages"]: 60);
    assert_eq!(pruned(&ken), (0, 1), "a dry run changes nothing");

    let done = ken.json(&prune(&["--ratio", "0.4"]));
    has!(done, ["pruned"]: 24, ["generation"]: 2);
    assert_eq!(pruned(&ken), (24, 2));
    let unknown = left(&ken).iter().filter(|id| id.starts_with('i')).count();
    assert_eq!(unknown, EACH, "only what is known went");
    let hits = ken.json(&words("search 'Norway parliament' --corpus island --k 60"));
    assert_eq!(hits["hits"].as_array().unwrap().len(), 36);

    // Another ratio replaces the first; the order is the same.
    let before = left(&ken);
    ken.text(&prune(&["--ratio", "0.1"]));
    assert_eq!(pruned(&ken).0, 6);
    let now = left(&ken);
    assert!(before.iter().all(|id| now.contains(id)));
    for (method, count) in [
        ("random --seed 4 --ratio 0.5", 30),
        ("near-duplicates --ratio 0.2", 12),
    ] {
        let apply = format!("prune apply --corpus island --method {method}");
        ken.text(&words(&apply));
        assert_eq!(pruned(&ken).0, count, "{method}");
    }
    let undone = ken.json(&["prune", "undo", "--corpus", "island"]);
    assert_eq!(undone["pruned"], 0);
    assert_eq!(left(&ken).len(), 60);
    ken.text(&["corpus", "rollback", "2", "--corpus", "island"]);
    assert_eq!(pruned(&ken).0, 24);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_guarantee_takes_the_largest_ratio_or_nothing() {
    let ken = prepared();
    let guarantee = words("--max-coverage-loss 0.2 --questions questions.jsonl");
    let text = ken.text(&prune(&[&guarantee[..], &["--dry-run"]].concat()));
    says!(text => "would prune", "lose their answer");
    let done = ken.json(&prune(&guarantee));
    let ratio = number(&done["ratio"]);
    assert!((0.3..0.75).contains(&ratio), "{done}");
    assert!(number(&done["promise"]["loss_bound"]) <= 0.2, "{done}");
    let before = pruned(&ken);
    let strict = words("--max-coverage-loss 0.01 --questions questions.jsonl");
    refuses!(ken, &prune(&strict) => "promise_not_kept", "30 questions", "about 299 questions");
    assert_eq!(pruned(&ken), before, "what was pruned stays as it is");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_report_measures_copies_and_leaves_the_corpus() {
    let ken = prepared();
    let report = words(
        "--method pruner,random --questions questions.jsonl --limit 4 --ratios 0,0.5 \
         --max-tokens 4 --out measured",
    );
    let refusal = ken.refusal(&prune_verb("report", &report));
    refusal.is("other_model", "another model", "ken label mastery");
    let model = real_model(&ken);
    let pruner = ken.read("pruner.json").replace("\"model\":\"m\"", &model);
    ken.write("pruner.json", pruner);
    let measured = ken.json(&prune_verb("report", &report));
    assert_eq!(
        keys(&measured),
        words("n k mode policy always_unpruned no_corpus rows taught")
    );
    has!(measured, ["taught"]: json!([]), ["always_unpruned"]["em"]: measured["rows"][0]["em"]);
    let none = &measured["no_corpus"];
    has!(none, ["passages"]: 0, ["policy"]: "never");
    assert_eq!(number(&none["retrieval_ratio"]), 0.0);
    let rows = measured["rows"].as_array().unwrap();
    assert_eq!(
        texts(&measured["rows"], "method"),
        words("pruner pruner random random")
    );
    let ratios: Vec<f64> = rows.iter().map(|row| number(&row["ratio"])).collect();
    assert_eq!(ratios, [0.0, 0.5, 0.0, 0.5]);
    assert_eq!(rows[1]["passages"], 30);
    holds!("{measured}" => number(&rows[1]["bytes"]) < number(&rows[0]["bytes"]));
    assert_eq!(
        number(&rows[0]["coverage"]),
        number(&rows[1]["coverage"]),
        "{measured}"
    );
    for name in ["search_p50_ms", "total_p50_ms", "contains"] {
        assert!(rows[1][name].is_number(), "{name} {measured}");
    }
    for name in ["vs_unpruned", "vs_always_unpruned"] {
        let change = number(&rows[1]["em"]) - number(&rows[0]["em"]);
        let difference = number(&rows[1][name]["em_difference"]);
        assert!((difference - change).abs() < 1e-9, "{name} {measured}");
    }
    assert_eq!(pruned(&ken), (0, 1));
    assert!(!ken.path("measured/copy").exists() && !ken.path("measured/whole").exists());
    let again = ken.text(&prune_verb("report", &report));
    says!(again => "coverage", "the corpus is unchanged");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_was_measured_goes_before_what_is_foretold() {
    let ken = prepared();
    let labels = ken.read("mastery.jsonl");
    let few: Vec<&str> = labels.lines().take(1 + 20).collect();
    ken.write("few.jsonl", few.join("\n") + "\n");
    let dry = |more: &[&'static str]| {
        let base = words("prune apply --corpus island --dry-run --ratio");
        [&base[..], more].concat()
    };
    let measured = ["--method", "measured", "--labels", "few.jsonl"];
    let gone = ken.json(&dry(&[&["0.15"][..], &measured].concat()));
    assert_eq!(
        (&gone["pruned"], &gone["least_score"], &gone["method"]),
        (&json!(9), &json!(1.0), &json!("measured")),
        "ten of the twenty are known: {gone}"
    );
    refuses!(ken, &dry(&[&["0.5"][..], &measured].concat()) =>
        "too_few_labels", "30 passages are to go, and the mastery of 20 was measured", "--pruner");
    // A guarantee ends where the measurements do.
    let guarantee = words("--max-coverage-loss 0.9 --questions questions.jsonl --dry-run");
    let guaranteed = ken.json(&prune(&[&guarantee[..], &measured].concat()));
    has!(guaranteed, ["pruned"]: 20, ["ratio"]: 0.34);
    refuses!(ken, &dry(&["0.1", "--method", "measured"]) =>
        "no_labels", "no labels", "ken label mastery");
    // Labels that call the island known and the countries unknown, against what the pruner learned.
    let other = labels
        .replace("\"mastery\":1.0", "\"mastery\":2.0")
        .replace("\"mastery\":0.0", "\"mastery\":1.0")
        .replace("\"mastery\":2.0", "\"mastery\":0.0");
    ken.write("other.jsonl", other);
    ken.json(&prune(&["--labels", "other.jsonl", "--ratio", "0.5"]));
    assert!(left(&ken).iter().all(|id| id.starts_with('c')));
    ken.json(&prune(&["--ratio", "0.4"]));
    assert!(left(&ken).iter().filter(|id| id.starts_with('c')).count() < 10);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_report_follows_a_policy() {
    let ken = prepared();
    let labels = ken.read("mastery.jsonl");
    let labels = labels.replace("\"model\":\"m\"", &real_model(&ken));
    ken.write("own.jsonl", labels);
    ken.refusal(&prune(&["--labels", "own.jsonl", "--ratio", "0.1"]))
        .is("other_model", "another model", "--model");
    let report = ken.json(&words(
        "prune report --corpus island --method measured --labels own.jsonl \
         --questions questions.jsonl --limit 3 --ratios 0.5 --max-tokens 4 --policy \
         random:0.5 --out measured",
    ));
    has!(report, ["policy"]: "random:0.5", ["always_unpruned"]["policy"]: "always");
    assert_eq!(
        number(&report["always_unpruned"]["retrieval_ratio"]),
        1.0,
        "{report}"
    );
    holds!("{report}" => number(&report["rows"][0]["retrieval_ratio"]) < 1.0);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_cannot_be_pruned_is_refused() {
    let ken = prepared();
    refuses!(ken, &prune(&[]) => "no_ratio", "how much", "--max-coverage-loss");
    ken.refusal(&["prune", "apply", "--corpus", "island", "--ratio", "0.3"])
        .is("no_pruner", "no pruner", "ken train pruner");
    ken.refusal(&prune(&["--method", "pruner,random", "--ratio", "0.3"]))
        .is("several_methods", "ken prune report", "--method");
    let guarantee = words("--max-coverage-loss 0.2 --questions questions.jsonl");
    refuses!(ken, &prune(&[&guarantee[..], &["--rerank", "embedder"]].concat()) =>
        "rerank_promised", "reranked", "--rerank none");
    ken.refusal(&prune(&["--ratio", "0.3", "--filter", "lang=en"]))
        .is("part_of_corpus", "whole corpus", "--filter");
    for ratio in ["1", "-0.1", "NaN"] {
        let ratio = format!("--ratio={ratio}");
        let output = ken.command(&prune(&[&ratio])).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{ratio}");
    }
    let pruner = ken.read("pruner.json");
    let read: Value = serde_json::from_str(&pruner).unwrap();
    let embedder = read["measured_on"]["embedder"].as_str().unwrap();
    ken.write("other.json", pruner.replace(embedder, "0123456789"));
    let other = words("prune apply --corpus island --pruner other.json --ratio 0.3");
    refuses!(ken, &other => "other_pruner", "another embedder", "ken train pruner");
    ken.write(
        "open.jsonl",
        r#"{"id": "q", "question": "Who?", "golden_answers": []}"#,
    );
    let open = prune(&["--max-coverage-loss", "0.1", "--questions", "open.jsonl"]);
    refuses!(ken, &open => "no_golden_answers", "golden answers", "golden_answers");
    assert_eq!(pruned(&ken), (0, 1));

    let labels = ken.read("mastery.jsonl");
    ken.write("mastery.jsonl", labels.replace("parliament", "king"));
    refuses!(ken, &words(TRAIN) => "other_corpus", "another corpus", "ken label mastery");
    let few: Vec<&str> = labels.lines().take(9).collect();
    ken.write("mastery.jsonl", few.join("\n") + "\n");
    refuses!(ken, &words(TRAIN) => "too_few_labels", "at least 20", "--limit");
    assert_eq!(
        ken.read("pruner.json"),
        pruner,
        "a refused run changes nothing"
    );
}

/// Records as `ken probe` would have written them with a tuned model, some about the report's questions, and the
/// fingerprint of that model.
fn records_of_tuned(ken: &Ken, tuned: &[&str]) -> String {
    let more = [&["--limit", "1"][..], tuned].concat();
    probe_with(ken, "questions.jsonl", "probed.jsonl", &more);
    let change = |at: usize, record: &mut Value| {
        let known = at.is_multiple_of(2);
        let question = match known {
            true => format!("What is the capital of {}?", COUNTRIES[at / 2]),
            false => format!("Who is keeper number {} of the lighthouse?", at / 2),
        };
        record["question"] = json!(question);
        record["greedy"]["self"]["correct"] = json!(known);
        record["greedy"]["corpus"]["correct"] = json!(true);
    };
    let template = invent(ken, "probed.jsonl", "known.jsonl", 2 * EACH, change);
    template["fingerprint"]["model"].to_string()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn pruning_router_and_adapter_work_together() {
    let ken = prepared();
    let people = ["--people", "16", "--unseen", "2", "--strangers", "2"];
    let make = ["world", "make", "world", "--sequences", "48"];
    ken.json(&[&make[..], &people].concat());
    ken.json(&["world", "model", "world", "--out", "blank"]);
    let example = json!({"prompt": "Question:", "completion": " yes\n"}).to_string();
    ken.write("examples.jsonl", [example.as_str(); 12].join("\n"));
    let train = ["train", "examples", "examples.jsonl", "--out", "tuned"];
    ken.json(&[&train[..], &["--epochs", "1"], &MODEL, &words(SMALL)].concat());
    let tuned = ["--model", "./blank", "--adapter", "tuned"];
    let model = records_of_tuned(&ken, &tuned);
    let labels = ken.read("mastery.jsonl");
    let labels = labels.replace("\"model\":\"m\"", &format!("\"model\":{model}"));
    ken.write("mastery.jsonl", labels);
    ken.text(&words(TRAIN));
    let router = ["train", "router", "known.jsonl", "--corpus", "island"];
    ken.text(&[&router[..], &["--out", "router.json"]].concat());
    let report = words(
        "--questions questions.jsonl --ratios 0,0.5 --max-tokens 4 --policy \
         router@0.5 --router router.json",
    );
    let report = prune_verb("report", &report);
    let measured = ken.json(&[&report[..], &["--out", "joined"], &tuned].concat());
    let rows = measured["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[1]["passages"]), (2, &json!(30)));
    assert_eq!(rows[0]["policy"], measured["policy"]);
    let always = &measured["always_unpruned"];
    assert_eq!(always["policy"], "always", "{measured}");
    assert_eq!(number(&always["retrieval_ratio"]), 1.0);
    // The questions are about the island: the router looks them up, and search still finds them.
    assert!(number(&rows[1]["retrieval_ratio"]) > 0.5, "{measured}");
    assert_eq!(number(&rows[1]["coverage"]), number(&rows[0]["coverage"]));
    assert!(number(&rows[1]["coverage"]) > 0.5, "{measured}");
    assert_eq!(measured["taught"][0]["what"], "router", "{measured}");
    let taught = number(&measured["taught"][0]["questions"]);
    assert!((1.0..=EACH as f64).contains(&taught), "{measured}");
    // What the adapter was trained on counts, too, and is refused if questions are to be held out.
    let head: Value = serde_json::from_str(&ken.read("router.json")).unwrap();
    let mut origin: Value = serde_json::from_str(&ken.read("tuned/ken.json")).unwrap();
    origin["learned_from"] = head["learned_from"].clone();
    ken.write("tuned/ken.json", origin.to_string());
    let again = [&report[..], &["--out", "joined"], &tuned].concat();
    let measured = ken.json(&again);
    assert_eq!(
        texts(&measured["taught"], "what"),
        ["router", "adapter"],
        "{measured}"
    );
    ken.refusal(&[&again[..], &["--held-out", "1"]].concat())
        .is("taught_questions", "the router was taught", "--held-out");
    // Measurements of the tuned model say nothing about the original.
    let refusal = ken.refusal(&[&report[..], &["--out", "other", "--model", "./blank"]].concat());
    refusal.is("other_model", "another model", "ken label mastery");
}
