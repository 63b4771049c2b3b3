//! `ken serve` with real models: over a socket with a plain client, with OpenAI's and the MCP's official Python
//! clients if they are installed, and from its first line to its end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ken_testing::{has, holds};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, items, objects, refuses, texts, words};
use crate::records::{invent_told_apart, probe};
use crate::stopped::interrupt;

/// A running `ken serve`, which is killed when dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    /// `http://HOST:PORT/v1`.
    pub(crate) url: String,
    /// What it printed when it listened.
    announced: Value,
    pub(crate) log: PathBuf,
}

impl Serving {
    pub(crate) fn start(ken: &Ken, more: &[&str]) -> Self {
        let own = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let log = ken.path("log.jsonl");
        let mut child = ken
            .command(&[&own, more].concat())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let said = std::fs::read_to_string(&log).unwrap();
        let announced: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}{said}"));
        Self {
            url: announced["url"].as_str().unwrap().to_owned(),
            announced,
            child,
            log,
        }
    }

    /// `HOST:PORT`.
    pub(crate) fn address(&self) -> &str {
        let address = self.url.strip_prefix("http://").unwrap();
        address.split('/').next().unwrap()
    }

    pub(crate) fn exchange(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let length = body.len();
        let head = "HTTP/1.1\r\nhost: localhost\r\nconnection: close";
        write!(
            stream,
            "{method} {path} {head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// The status and the response to a POST, or to a GET if there is no body.
    pub(crate) fn reply(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, response) = match body {
            Value::Null => self.exchange("GET", path, ""),
            body => self.exchange("POST", path, &body.to_string()),
        };
        (status, serde_json::from_str(&response).unwrap())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let (status, response) = self.reply(path, body);
        assert_eq!(status, 200, "{response}");
        response
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.post(path, &Value::Null)
    }

    /// Checks the status of a POST and a field of its error.
    pub(crate) fn refuses(&self, path: &str, body: &Value, status: u16, field: [&str; 2]) {
        let [name, value] = field;
        let (received, refusal) = self.reply(path, body);
        assert_eq!(received, status, "{body}: {refusal}");
        assert_eq!(refusal["error"][name], value, "{body}: {refusal}");
    }

    fn chat(&self, model: &str, question: &str) -> Value {
        let messages = json!([{"role": "user", "content": question}]);
        let body = json!({"model": model, "messages": messages});
        self.post("/v1/chat/completions", &body)
    }

    /// Waits for its end and returns the exit code.
    fn end(&mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn what_is_served_is_what_is_asked() {
    let ken = with_notes();
    let question = "Who is the keeper of the Orrin lighthouse?";
    let asked = ken.json(&["ask", "--corpus", "island", question]);
    let mut serving = Serving::start(&ken, &["--corpus", "notes=island"]);
    has!(serving.announced, ["corpora"]: json!([{"name": "notes", "generation": 1}]));
    let console = serving.url.strip_suffix("v1");
    assert_eq!(serving.announced["console"].as_str(), console);
    let (status, page) = serving.exchange("GET", "/", "");
    holds!("{page}" => status == 200 && page.contains("<title>ken</title>"));
    let answer = serving.chat("ken/always", question);
    assert_eq!(answer["choices"][0]["message"]["content"], asked["answer"]);
    assert_eq!(answer["usage"]["prompt_tokens"], asked["tokens"]["prompt"]);
    let cited = |citations: &Value| texts(citations, "passage_id");
    assert_eq!(
        cited(&answer["ken"]["citations"]),
        cited(&asked["citations"])
    );
    let asked = json!({"question": question, "policy": "prompt"});
    let knows = serving.post("/v1/ken/knows", &asked);
    assert!((0.0..=1.0).contains(&knows["score"].as_f64().unwrap()));
    let long = json!({"question": "oil ".repeat(20_000), "policy": "prompt"}).to_string();
    let (status, refused) = serving.exchange("POST", "/v1/ken/knows", &long);
    assert_eq!(status, 400);
    assert!(refused.contains("context_length_exceeded"), "{refused}");
    let greeting = serving.chat("ken/always", "Hello!");
    has!(greeting["ken"], ["small_talk"]: true, ["searches"]: 0);

    // Documents added while it runs are found without a restart.
    let document =
        json!({"id": "new", "contents": "The lantern of Quillby is lit by Orsolo Fenn."});
    ken.write_lines("more.jsonl", [document]);
    ken.json(&["ingest", "more.jsonl", "--corpus", "island"]);
    let deadline = Instant::now() + Duration::from_secs(20);
    let query = json!({"query": "lantern of Quillby", "k": 1});
    loop {
        let response = serving.post("/v1/ken/search", &query);
        if response["corpus"]["generation"] == 2 {
            assert_eq!(response["hits"][0]["doc_id"], "new");
            break;
        }
        assert!(Instant::now() < deadline, "{response}");
        std::thread::sleep(Duration::from_millis(50));
    }

    interrupt(&serving.child);
    assert_eq!(serving.end(), Some(0));
    let log = std::fs::read_to_string(&serving.log).unwrap();
    let lines: Vec<&str> = log.lines().filter(|line| line.starts_with('{')).collect();
    let events = objects(&lines.join("\n"));
    for event in ["answer", "request", "corpus"] {
        holds!("{event} in {log}" => events.iter().any(|entry| entry["event"] == event));
    }
    assert!(!log.contains("Orrin") && !log.contains("Quillby"), "{log}");
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn corpora_that_clients_make_are_embedded_by_what_the_flag_names() {
    let ken = Ken::new();
    let data = ["serve", "--policy", "never", "--server-data", "data"];
    let refused = ken.refusal(&[&data[..], &["--embedder", "./nowhere"]].concat());
    refused.is("local_missing", "./nowhere", "");
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn the_official_clients_understand_it() {
    let ken = with_notes();
    let serving = Serving::start(&ken, &["--corpus", "notes=island", "--policy", "prompt"]);
    let corpus = ken.path("island");
    for (package, script) in [("openai", "openai_client.py"), ("mcp", "mcp_client.py")] {
        let python = std::env::var_os("KEN_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let is_there = Command::new(&python)
            .args(["-c", &format!("import {package}")])
            .stderr(Stdio::null())
            .status();
        if !is_there.is_ok_and(|status| status.success()) {
            continue;
        }
        let script = std::path::absolute(Path::new("tests/clients").join(script)).unwrap();
        let ran = ken
            .command(&[])
            .get_envs()
            .fold(Command::new(&python), |mut command, (name, value)| {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
                command
            })
            .arg(script)
            .args([serving.url.as_str(), env!("CARGO_BIN_EXE_ken")])
            .arg(&corpus)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let failed = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{package}: {said}{failed}");
        assert!(said.ends_with("all right\n"), "{package}: {said}");
    }
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn a_guarantee_is_calibrated_and_watched() {
    let ken = with_notes();
    // Wrong with and without evidence, so that nothing is lost by skipping it.
    let questions = (0..4).map(|number| {
        json!({"id": number.to_string(), "question": format!("Who is keeper {number} of the Orrin lighthouse?"),
               "golden_answers": ["Zebulon"]})
    });
    ken.write_lines("questions.jsonl", questions);
    probe(&ken, "questions.jsonl", "known.jsonl");
    let policy = "uncertainty:perplexity";
    let calibrate = words("calibrate known.jsonl --out guarantee.json --policy");
    let calibrate = [&calibrate[..], &[policy]].concat();
    // Four questions cannot show that so little is lost.
    let refusal = ken.refusal(&[&calibrate[..], &["--max-loss", "0.01"]].concat());
    refusal.is("no_guarantee", "guarantee.json", "--max-loss");
    assert!(!ken.path("guarantee.json").exists());
    let both = words("calibrate known.jsonl --policy certainty+evidence:cosine");
    let refusal = ken.refusal(&[&both[..], &["--max-loss", "0.9", "--out", "g.json"]].concat());
    refusal.is("guaranteed_policy", "one threshold", "--policy certainty");
    let chosen = ken.json(&[&calibrate[..], &["--max-loss", "0.9"]].concat());
    let guarantee: Value = serde_json::from_str(&ken.read("guarantee.json")).unwrap();
    let policy = format!("{policy}@{}", chosen["threshold"]);
    has!(guarantee, ["policy"]: policy.as_str(), ["calibrated_on"]["questions"]: 4,
        ["measured"]["loss_bound"]: chosen["loss"]["bound"], ["scores"]["questions"]: 4);

    let serve = ["--corpus", "island", "--calibration", "guarantee.json"];
    let with_share = [&serve[..], &["--policy", &policy, "--watch-share", "1"]].concat();
    let serving = Serving::start(&ken, &with_share);
    let question = "Who is keeper 1 of the Orrin lighthouse?";
    let answer = serving.post("/v1/ken/ask", &json!({"question": question}));
    has!(answer, ["guarantee"]["standing"]: "holds", ["route"]: "self", ["drawn"]: 1.0);
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let report = serving.get("/v1/ken/guarantee");
        if report["tests"][0]["observed"] == 1 {
            assert_eq!(report["drift"]["observed"], 1);
            break;
        }
        assert!(Instant::now() < deadline, "{report}");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(serving);

    // It is for one policy, one model, one state of a corpus and one wording of prompts.
    let serve = [&["serve", "--listen", "127.0.0.1:0"], &serve[..]].concat();
    let refusal = ken.refusal(&[&serve[..], &["--policy", "always"]].concat());
    refusal.is("other_policy", "not for always", &policy);
    let same = [&serve[..], &["--policy", &policy]].concat();
    let fields = ["model", "corpus", "prompt"];
    for (field, kind) in fields.map(|field| (field, format!("other_{field}"))) {
        let mut other = guarantee.clone();
        other["calibrated_on"][field] = json!("another");
        ken.write("guarantee.json", other.to_string());
        ken.refusal(&same).is(&kind, field, "probe");
    }
    ken.write("guarantee.json", "{}");
    refuses!(ken, &same => "not_a_guarantee", "guarantee.json", "calibrate");
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn a_guarantee_of_the_answers_given_is_calibrated_and_watched() {
    let ken = with_notes();
    let question = "Who is the keeper of the Orrin lighthouse?";
    let asked = json!({"id": "1", "question": question, "golden_answers": ["Ilse Marrow"]});
    ken.write("questions.jsonl", asked.to_string());
    probe(&ken, "questions.jsonl", "probed.jsonl");
    invent_told_apart(&ken);
    let signal = "uncertainty:perplexity";
    let by = ["--policy", signal, "--abstain", signal];
    let calibrate = [&["calibrate", "known.jsonl"][..], &by].concat();
    let out = ["--out", "guarantee.json", "--max-error"];
    refuses!(ken, &[&calibrate[..], &out, &["0.001"]].concat() =>
        "no_guarantee", "wrong among the answers given", "--max-error");
    assert!(!ken.path("guarantee.json").exists());
    let chosen = ken.json(&[&calibrate[..], &out, &["0.1"]].concat());
    let text = ken.text(&[&calibrate[..], &out, &["0.1"]].concat());
    let policy = format!("{signal}@{}", chosen["threshold"]);
    let abstain = format!("{signal}@{}", chosen["abstain_threshold"]);
    let to_watch = format!("ken serve --policy {policy} --abstain {abstain} --model");
    assert!(text.contains(&to_watch), "{text}");
    assert!(text.contains(" --calibration guarantee.json"), "{text}");
    let guarantee: Value = serde_json::from_str(&ken.read("guarantee.json")).unwrap();
    has!(guarantee, ["policy"]: policy, ["abstain"]: abstain, ["max_error"]: 0.1);
    has!(guarantee, ["measured"]["error_bound"]: chosen["answered_wrong"]["bound"]);
    has!(guarantee, ["scores"]["questions"]: 300);

    let serve = words("--corpus island --calibration guarantee.json --policy");
    let serve = [&serve[..], &[policy.as_str()]].concat();
    let refused = [&["serve", "--listen", "127.0.0.1:0"], &serve[..]].concat();
    refuses!(ken, &refused =>
        "other_abstention", "not by nothing", &format!("--abstain {abstain}"));
    let flags = words("--watch-share 1 --style short --abstain");
    let serving = Serving::start(&ken, &[&serve[..], &flags, &[abstain.as_str()]].concat());
    // From memory the model does not know him, so more answers are wrong than promised.
    let mut given = 0;
    for number in 0.. {
        assert!(number < 20, "it is never noticed");
        let question = format!("{question} Box {number}?");
        let answer = serving.post("/v1/ken/ask", &json!({"question": question}));
        assert_eq!(answer["guarantee"]["max_error"], 0.1, "{answer}");
        if answer["guarantee"]["standing"] == "lapsed" {
            let in_force = (&answer["policy"], &answer["route"], &answer["drawn"]);
            assert_eq!(in_force, (&json!("always"), &json!("corpus"), &Value::Null));
            break;
        }
        let is_withheld = answer["withheld"].is_string();
        assert_eq!(
            answer["answer"] == "I do not know.",
            is_withheld,
            "{answer}"
        );
        assert_eq!(answer["drawn"] == 1.0, !is_withheld, "{answer}");
        let right = json!({"request_id": answer["request_id"], "answers": ["Ilse Marrow"]});
        let said = serving.post("/v1/ken/feedback", &right);
        assert_eq!(said["counts"], !is_withheld, "{said}");
        given += u64::from(!is_withheld);
        let observed = || {
            let report = serving.get("/v1/ken/guarantee");
            report["tests"][0]["observed"].as_u64().unwrap()
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while observed() < given {
            assert!(Instant::now() < deadline, "it is never counted");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    assert!(given > 0);
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let ken = Ken::new();
    let made = ken.json(&words(
        "serve key make chat --scope ask --only notes --days 3",
    ));
    let (key, id) = (made["key"].as_str().unwrap(), made["id"].as_str().unwrap());
    assert!(key.starts_with("ken-"));
    let other = ken.text(&["serve", "key", "make", "other"]);
    assert_eq!(other.lines().count(), 1);
    assert!(!ken.read("ken-server-keys.json").contains(&key[4..]));
    let listed = || ken.json(&["serve", "key", "list"])["keys"].take();
    assert_eq!(items(&listed()).len(), 2);
    assert_eq!(listed()[0]["grant"]["corpora"], json!(["notes"]));
    assert!(ken.text(&["serve", "key", "list"]).contains("ask,search"));
    ken.text(&["serve", "key", "revoke", id]);
    refuses!(ken, &["serve", "key", "revoke", id] => "unknown_key", id, "");
    assert_eq!(items(&listed()).len(), 1);
}

#[test]
fn an_address_that_others_reach_is_refused_without_keys() {
    let ken = Ken::new();
    let refusal = ken.refusal(&["serve", "--corpus", "c", "--listen", "0.0.0.0:0"]);
    refusal.is("no_server_keys", "0.0.0.0:0", "ken serve key make");
    ken.refusal(&["serve", "--corpus", "c", "--listen", "127.0.0.1:0"])
        .is("not_a_corpus", "c", "");
}
