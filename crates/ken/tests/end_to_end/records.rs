//! Records in the form of `ken probe`, of the test models and, with invented answers, in any number.

use serde_json::{Value, json};

use crate::harness::Ken;

/// Probes the questions of a file over the corpus `island`, two samples each, into the file `out`.
pub(crate) fn probe(ken: &Ken, questions: &str, out: &str) {
    probe_with(ken, questions, out, &[]);
}

/// As [`probe`], with more flags.
pub(crate) fn probe_with(ken: &Ken, questions: &str, out: &str, more: &[&str]) {
    let base = ["probe", questions, "--corpus", "island", "--samples", "2"];
    let to = ["--max-tokens", "8", "--out", out];
    ken.text(&[&base[..], &to, more].concat());
}

/// Writes the records of a file to another, each changed by `change`, which also gets its line number.
pub(crate) fn change(ken: &Ken, from: &str, to: &str, change: impl Fn(usize, &mut Value)) {
    let lines = ken.read(from);
    let changed = lines.lines().enumerate().map(|(at, line)| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if record.get("question").is_some() {
            change(at, &mut record);
        }
        record.to_string()
    });
    ken.write(to, changed.collect::<Vec<_>>().join("\n") + "\n");
}

/// Writes 300 records to `known.jsonl`, in the form of `probed.jsonl`: of known, of found, and of other answers, which
/// one of the log probabilities tells apart.
pub(crate) fn invent_told_apart(ken: &Ken) {
    invent(ken, "probed.jsonl", "known.jsonl", 300, |at, record| {
        let (without, with) = [(true, true), (false, true), (false, false)][at % 3];
        record["question"] = json!(format!("What is in box {at}?"));
        for (condition, right) in [("self", without), ("corpus", with)] {
            let answer = &mut record["greedy"][condition];
            answer["correct"] = json!(right);
            let spread = (at % 17) as f64 / 10.0;
            answer["logprob"] = json!(if right { -0.1 - spread } else { -6.0 - spread });
            answer["tokens"] = json!(2);
        }
    });
}

/// Writes this many records to a file, each the first one of the file `probed` with its own id and changed by
/// `change`, which also gets its number. Returns that first one.
pub(crate) fn invent(
    ken: &Ken,
    probed: &str,
    name: &str,
    count: usize,
    change: impl Fn(usize, &mut Value),
) -> Value {
    let probed = ken.read(probed);
    let mut lines: Vec<String> = probed.lines().take(1).map(str::to_owned).collect();
    let template: Value = serde_json::from_str(probed.lines().nth(1).unwrap()).unwrap();
    for at in 0..count {
        let mut record = template.clone();
        record["id"] = json!(format!("r{at}"));
        change(at, &mut record);
        lines.push(record.to_string());
    }
    ken.write(name, lines.join("\n") + "\n");
    template
}
