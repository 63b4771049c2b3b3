//! `--part` and `ken join`: joined parts equal what one run writes, whatever the verb; how a killed part resumes, and
//! what is refused.

use std::fs;

use ken_testing::{cases, holds};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, objects, refuses, words};
use crate::study::{ingest, small, study};

/// Five questions, so that parts differ in length.
fn prepared() -> Ken {
    let ken = with_notes();
    let questions = cases![
        "q1" => "Who is the keeper of the Orrin lighthouse?", "Ilse Marrow", "island";
        "q2" => "What is the capital of France?", "Paris", "capital";
        "q3" => "Who built the oven of the bakery?", "Anders Pell", "island";
        "q4" => "What is the capital of Italy?", "Rome", "capital";
        "q5" => "How many clocks are in the clock museum of Tollen?", "312", "island";
    ];
    let lines = questions.map(|(id, question, answer, kind)| {
        json!({"id": id, "question": question, "golden_answers": [answer], "metadata": {"kind": kind}})
    });
    ken.write_lines("questions.jsonl", lines);
    ken
}

/// The hint at a part that is not finished.
const AGAIN: &str = "run the command of this part again";

/// Files of records in a folder.
fn in_folder<const N: usize>(folder: &str, names: [&str; N]) -> [String; N] {
    names.map(|name| format!("{folder}/{name}.jsonl"))
}

/// Without times, which differ from run to run: keys such as `ms`, `latency_ms` and `timing_ms`, and of the report of a
/// study its `time` and its `fronts`, some of which are by time.
fn untimed(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let is_timed = |name: &str| ["ms", "time", "fronts"].contains(&name);
                fields.retain(|name, _| !is_timed(name) && !name.ends_with("_ms"));
                fields.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

/// The lines of a file of records, or of what a verb prints.
fn lines(text: &str) -> Vec<Value> {
    objects(text).into_iter().map(untimed).collect()
}

/// Joins three parts.
fn join(out: &str) -> String {
    let parts = [1, 2, 3].map(|number| format!("{out}.part-{number}-of-3"));
    format!("join {} --out {out}", parts.join(" "))
}

/// Cuts a file like a run that was killed while it wrote its second record. Returns what was whole.
fn cut(ken: &Ken, name: &str) -> String {
    let whole = ken.read(name);
    let lines = whole.lines().take(2).map(|line| line.len() + 1);
    let second = lines.sum::<usize>();
    ken.write(name, &whole[..second + 30]);
    whole[..second].to_owned()
}

/// Runs a verb once as a whole, then in three parts that are joined, and compares the output and the `files` of
/// records. Afterwards, the whole run's files are in `whole`, and the joined ones in `out`.
fn check_joined(ken: &Ken, verb: &[&str], out: &str, files: &[impl AsRef<str>]) {
    let files: Vec<&str> = files.iter().map(AsRef::as_ref).collect();
    let verb = [verb, &["--out", out, "--json"]].concat();
    let printed = ken.text(&verb);
    let moved = |name: &str| format!("whole/{name}");
    let whole: Vec<String> = files.iter().map(|file| ken.read(file)).collect();
    fs::create_dir_all(ken.path("whole")).unwrap();
    for entry in fs::read_dir(ken.path("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with(out) {
            fs::rename(ken.path(&name), ken.path(&moved(&name))).unwrap();
        }
    }
    for part in ["3/3", "1/3", "2/3"] {
        let printed = ken.text(&[&verb[..], &["--part", part]].concat());
        assert_eq!(lines(&printed)[0]["part"], part, "{printed}");
        assert!(!ken.path(out).exists(), "a part leaves the whole alone");
    }
    let join = join(out) + " --json";
    for _ in 0..2 {
        // Neither the models nor the corpus are needed.
        let joined = ken
            .command(&words(&join))
            .env("KEN_MODEL", "gone.gguf")
            .env("KEN_EMBEDDER", "./gone")
            .output()
            .unwrap();
        let joined = String::from_utf8(joined.stdout).unwrap();
        assert_eq!(lines(&joined), lines(&printed));
        for (file, whole) in files.iter().zip(&whole) {
            assert_eq!(lines(&ken.read(file)), lines(whole), "{file}");
        }
    }
}

/// A page without the date in it.
fn undated(page: &str) -> String {
    let (before, rest) = page.split_once("date").unwrap_or_else(|| panic!("{page}"));
    let end = rest.find('Z').unwrap();
    format!("{before}{}", &rest[end..])
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn probed_parts_are_one_run_with_its_report() {
    let ken = prepared();
    let verb = words("probe questions.jsonl --corpus island --by kind");
    let how = ["--samples", "4", "--max-tokens", "8"];
    let verb = [&verb[..], &how].concat();
    check_joined(&ken, &verb, "known.jsonl", &["known.jsonl"]);
    let page = |name: &str| undated(&ken.read(name));
    assert_eq!(page("known.jsonl.html"), page("whole/known.jsonl.html"));
    assert!(ken.path("known.jsonl.parquet").is_file());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn labeled_parts_are_one_run() {
    let ken = prepared();
    let verb = words("label mastery --corpus island --limit 2 --pairs 2 --max-tokens 4");
    check_joined(&ken, &verb, "mastery.jsonl", &["mastery.jsonl"]);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn labels_of_sources_are_joined_after_each_round() {
    let ken = prepared();
    // The second question has no first text, and no label.
    let written = ken.read("questions.jsonl");
    let (before, after) = written.split_once('\n').unwrap();
    let open = json!({"id": "q0", "question": "Who rang the bell?", "golden_answers": []});
    ken.write("questions.jsonl", format!("{before}\n{open}\n{after}"));
    let verb = ["label", "sources", "questions.jsonl", "--corpus", "island"];
    let verb = [&verb[..], &["--contexts", "2", "--json", "--out"]].concat();
    let printed = ken.text(&[&verb[..], &["whole.jsonl"]].concat());
    let measure = |part: &str| {
        let printed = ken.text(&[&verb[..], &["labels.jsonl", "--part", part]].concat());
        assert_eq!(lines(&printed)[0]["items"], 2, "{printed}");
    };
    let join = join("labels.jsonl");
    let join = words(&join);

    ["3/3", "1/3", "2/3"].into_iter().for_each(measure);
    for _ in 0..2 {
        assert_eq!(ken.json(&join)["questions"], 6);
        let first = ken.read("labels.jsonl.first");
        assert_eq!(first, ken.read("whole.jsonl.first"));
        assert!(!ken.path("labels.jsonl").exists());
    }
    measure("1/3");
    let message = "labels.jsonl.part-2-of-3 has 0 of its 2 questions";
    refuses!(ken, &join => "part_unfinished", message, AGAIN);
    ["2/3", "3/3"].into_iter().for_each(measure);
    for _ in 0..2 {
        let joined = ken.text(&[&join[..], &["--json"]].concat());
        assert_eq!(joined, printed);
        assert_eq!(ken.read("labels.jsonl"), ken.read("whole.jsonl"));
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn evaluated_parts_are_one_run() {
    let ken = prepared();
    let verb = words("eval questions.jsonl --corpus island --by kind");
    let random = [&verb[..], &["--policy", "random:0.5"]].concat();
    check_joined(&ken, &random, "random.jsonl", &["random.jsonl"]);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn compared_parts_are_one_run() {
    let ken = prepared();
    let verb = words(
        "eval questions.jsonl --corpus island --by kind --k 2 --samples 4 --policy \
         never,always:1,uncertainty:perplexity,certainty@0.5,random:0.5",
    );
    let files = ["never", "always", "always:1", "signals"];
    check_joined(&ken, &verb, "policies", &in_folder("policies", files));
    for name in ["report.html", "page.json", "policies.csv"] {
        assert!(ken.path(&format!("policies/{name}")).is_file(), "{name}");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn parts_compared_by_full_answers_are_one_run() {
    let ken = prepared();
    let verb = words(
        "eval questions.jsonl --corpus island --policy always,documents --style full \
         --max-tokens 8",
    );
    let files = ["never", "always", "documents", "signals"];
    check_joined(&ken, &verb, "policies", &in_folder("policies", files));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_card_of_parts_is_one_card() {
    let ken = prepared();
    let verb = ["card", "questions.jsonl", "--corpus", "island"];
    let files = in_folder("card", ["never", "always", "signals"]);
    check_joined(&ken, &verb, "card", &files);
    let title = |page: &str| ken.read(page).split("</h1>").next().unwrap().to_owned();
    assert_eq!(title("card/report.html"), title("whole/card/report.html"));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_part_is_resumed_and_parts_of_other_runs_are_refused() {
    let ken = prepared();
    let probe = |more: &[&'static str]| {
        let verb = words("probe questions.jsonl --samples 2 --max-tokens 4");
        [&verb[..], &["--out", "known.jsonl"], more].concat()
    };
    ken.text(&probe(&["--part", "1/2"]));
    ken.text(&probe(&["--part", "2/2"]));
    let records = "known.jsonl.part-1-of-2/records.jsonl";
    let whole = ken.read(records);
    let kept = cut(&ken, records);
    let join = words("join known.jsonl.part-1-of-2 known.jsonl.part-2-of-2 --out known.jsonl");
    let message = "known.jsonl.part-1-of-2 has 1 of its 3 questions";
    refuses!(ken, &join => "part_unfinished", message, AGAIN);
    assert!(!ken.path("known.jsonl").exists());
    ken.text(&probe(&["--part", "1/2"]));
    holds!("what was paid for is kept" => ken.read(records).starts_with(&kept));
    assert_eq!(lines(&ken.read(records)), lines(&whole));
    ken.text(&join);
    let joined = ken.read("known.jsonl");

    let refused = ken.refusal(&probe(&["--part", "1/2", "--temperature", "0.5"]));
    refused.is("other_run", "temperature was 1 and is now 0.5", "--out");
    refuses!(ken, &[&join[..2], &join[3..]].concat() => "part_missing", "2/2", "--part I/N");
    let copy = [&join[..2], &["known.jsonl.part-1-of-2"], &join[3..]].concat();
    refuses!(ken, &copy => "part_twice", "part 1/2 is there twice", "");
    ken.text(&probe(&["--part", "1/3"]));
    let other = [&join[..1], &["known.jsonl.part-1-of-3"], &join[2..]].concat();
    let message = "known.jsonl.part-2-of-2 is a part of another run than known.jsonl.part-1-of-3";
    ken.refusal(&other).is("other_run", message, "");
    assert_eq!(
        ken.read("known.jsonl"),
        joined,
        "a refused join changes nothing"
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_study_of_parts_is_one_study() {
    let ken = Ken::new();
    ingest(&ken);
    // Fewer questions than parts.
    let few = json!({"id": "q1", "question": "Who made the bell?", "golden_answers": ["Mr Finch"]});
    ken.write("few.jsonl", few.to_string());
    let (small, scales) = (small(), ["--scales", "0-3", "--reverse"]);
    let verb = ["study", "run", "q.jsonl", "few.jsonl", "--corpus", "w"];
    let how = ["--model", &small, "--ks", "2", "--timed", "2"];
    let policies = ["--policy", "prompt@0.5,random:0.5", "--max-tokens", "8"];
    let verb = [&verb[..], &scales, &how, &policies].concat();
    // What is found once more, as in three shards in either order, is copied, and comes first.
    let searched = (1..=3).flat_map(|n| ["forward", "reversed"].map(|order| (n, order)));
    let searched: Vec<String> = searched
        .map(|(n, order)| format!("n{n}-{order}-k2-pruned0"))
        .collect();
    let mut files = Vec::new();
    for dataset in ["q", "few"] {
        files.push(format!("st/cells/{dataset}/s/n0.jsonl"));
        files.push(format!("st/signals/{dataset}/s.jsonl"));
        for condition in &searched {
            files.push(format!("st/cells/{dataset}/s/{condition}.jsonl"));
            files.push(format!("st/evidence/{dataset}/{condition}.jsonl"));
        }
    }
    check_joined(&ken, &verb, "st", &files);
    assert_eq!(ken.read("st/study.json"), ken.read("whole/st/study.json"));
    let provenance = |page: &str| {
        let page: Value = serde_json::from_str(&ken.read(page)).unwrap();
        let mut provenance = page["provenance"].clone();
        assert!(provenance["date"].take().is_string(), "{page}");
        provenance
    };
    assert_eq!(provenance("st/page.json"), provenance("whole/st/page.json"));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_part_of_a_study_is_resumed_and_parts_of_other_studies_are_refused() {
    let ken = Ken::new();
    ingest(&ken);
    let small = small();
    let (one, two) = ("st.part-1-of-2", "st.part-2-of-2");
    ken.text(&study("st", "0-1", &small, &["--part", "1/2"]));
    let join = |parts: &[&'static str]| [&["join"][..], parts, &["--out", "st"]].concat();
    refuses!(ken, &join(&[one]) => "part_missing", "2/2", "--part I/N");
    ken.text(&study("st", "0-1", &small, &["--part", "2/2"]));
    refuses!(ken, &join(&[one, two, one]) => "part_twice", "part 1/2 is there twice", "");

    // Its last cell.
    let cell = format!("{one}/cells/q/s/n1-forward-k2-pruned0.jsonl");
    let whole = ken.read(&cell);
    let kept = cut(&ken, &cell);
    let message = "st.part-1-of-2 has 1 of its 5 questions";
    refuses!(ken, &join(&[one, two]) => "part_unfinished", message, AGAIN);
    assert!(!ken.path("st").exists());
    let more_scales = study("st", "0-3", &small, &["--part", "1/2"]);
    refuses!(ken, &more_scales => "other_run", "scales was [0,1] and is now [0,1,2,3]", "--out");
    let larger = ["--part", "1/2", "--parameters", "s=5e9"];
    refuses!(ken, &study("st", "0-1", &small, &larger) => "other_run", "parameters was", "");
    ken.text(&study("st", "0-1", &small, &["--part", "1/2"]));
    let resumed = ken.read(&cell);
    holds!("what was paid for is kept" => resumed.starts_with(&kept));
    assert_eq!(lines(&resumed), lines(&whole));

    let again = ken.json(&join(&[one, two]));
    assert_eq!(again["missing"], json!([]));
    let joined = ken.read("st/cells/q/s/n1-forward-k2-pruned0.jsonl");
    let fewer = ["--part", "2/2", "--limit", "8"];
    ken.text(&study("other", "0-1", &small, &fewer));
    let message = "other.part-2-of-2 is a part of another run than st.part-1-of-2: items was 9";
    refuses!(ken, &join(&[one, "other.part-2-of-2"]) => "other_run", message, "");
    let side_by_side = ["study", "join", one, two, "--out", "all"];
    refuses!(ken, &side_by_side => "part_of_study", "st.part-1-of-2 is a part", "ken join PART");
    // The whole is a study as any other, to which scales are added.
    ken.text(&study("later", "2", &small, &["--part", "1/1"]));
    let report = ken.json(&join(&["later.part-1-of-1"]));
    assert_eq!(report["missing"], json!([]));
    assert_eq!(report["series"][0]["scales"].as_array().unwrap().len(), 2);
    ken.text(&study("st", "0-2", &small, &[]));
    assert_eq!(ken.read("st/cells/q/s/n1-forward-k2-pruned0.jsonl"), joined);
}

#[test]
fn a_part_is_a_number_of_how_many() {
    let ken = Ken::new();
    for part in ["0/2", "3/2", "2"] {
        let words = ["probe", "questions.jsonl", "--part", part];
        let output = ken.command(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{part}");
    }
    refuses!(ken, &["join", "nothing", "--out", "known.jsonl"] =>
        "not_a_part", "nothing is not the folder of a part", "--part");
}
