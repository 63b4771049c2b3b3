//! The commands of the tutorials and the guides, run in a reader's order, and their output compared with the page. A
//! guide gets the [ground](Ground) that its readers bring: notes, questions, corpora.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use ken_testing::cases;
use serde_json::json;

use crate::harness::{Ken, generator, words};

/// Parts of commands that are not run here, and why.
const ELSEWHERE: [(&str, &str); 60] = cases![
    "cargo " => "builds";
    "ken demo" => "takes long: tests of demo";
    "label sources" => "takes long: tests of label";
    "tar --" => "takes the files of a release: cargo xtask dist try";
    "sha256sum" => "takes the files of a release: cargo xtask dist try";
    "man " => "takes the files of a release: cargo xtask dist try";
    "pip install" => "installs";
    "-m venv" => "installs";
    "npm install" => "installs";
    "sudo " => "changes the machine";
    "systemctl" => "changes the machine";
    "systemd-analyze" => "needs systemd";
    "journalctl" => "needs systemd";
    "rsync" => "is another program";
    "skopeo" => "is another program";
    "docker" => "needs a container runtime";
    "helm " => "needs a cluster";
    "kubectl" => "needs a cluster";
    "open-webui" => "is another program";
    "vllm" => "is another program";
    "llama-server" => "is another program";
    "ollama" => "is another program";
    "lm_eval" => "is another program, and tried in the tests of Python";
    "milvus" => "needs Milvus: tests of milvus";
    "qdrant+" => "needs a search service: tests of search_services";
    "elasticsearch+" => "needs a search service: tests of search_services";
    "retrieve+" => "needs a search service: tests of search_services";
    "postgres://" => "needs a search service: tests of search_services";
    "example.org" => "stands for another machine";
    "azure.com" => "stands for another machine";
    "127.0.0.1:80" => "needs a model server: tests of remote";
    "127.0.0.1:11434" => "needs a model server: tests of remote";
    "127.0.0.1:4318" => "needs a collector";
    "hf:" => "downloads a model: tests of models";
    "model pull" => "downloads a model: tests of models";
    "model choose" => "downloads a model: tests of choose";
    "…" => "has a placeholder";
    "ken train " => "takes long: tests of train, tuning and gate";
    "--watch" => "runs until it is stopped: tests of folders";
    "--adapter" => "needs a trained model: tests of self_routing";
    "datastore" => "needs a trained model: tests of self_routing";
    "serve mcp" => "talks to a program: tests of serve";
    "--device" => "needs a GPU";
    "router.json" => "needs a trained router: tests of train";
    "pruner.json" => "needs a trained pruner: tests of prune";
    "gate.json" => "needs a trained gate: tests of gate";
    "--kbm kbm" => "needs a trained model: tests of tuning";
    "ken study " => "takes long: tests of study";
    "ken plan " => "takes long: tests of study";
    "guarantee.json" => "takes more questions: tests of calibrate";
    "judged.jsonl" => "takes traffic: tests of serve_evals";
    "asked.jsonl" => "takes traffic: tests of serve_evals";
    "part-" => "takes several jobs: tests of ingest and parts";
    "bge-reranker" => "downloads a model: tests of rerank";
    "e5-small" => "downloads a model: tests of models";
    "qwen2.5-1.5b" => "downloads a model: tests of choose";
    "maturin" => "builds";
    "key revoke" => "names a key: tests of keys";
    "rollback 7" => "needs seven generations: tests of corpus";
    "/var/lib/" => "is of a service";
];

/// A fenced block of commands, and the output that the page shows.
struct Block {
    commands: Vec<String>,
    printed: Option<String>,
}

/// A part of a page that a reader acts on.
enum Step {
    Run(Block),
    /// A file to write: its name and its text.
    Write(String, String),
}

/// Fenced blocks of a page: the language, the text without its indentation, and the line before.
fn fences(page: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let (mut lines, mut before) = (page.lines(), "");
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let Some(language) = line.trim_start().strip_prefix("```") else {
            if !line.trim().is_empty() {
                before = line;
            }
            continue;
        };
        let text = lines.by_ref().take_while(|line| line.trim() != "```");
        let text: Vec<&str> = text
            .map(|line| line.get(indent..).unwrap_or_default())
            .collect();
        found.push((
            language.to_owned(),
            text.join("\n") + "\n",
            before.to_owned(),
        ));
        before = "```";
    }
    found
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for (language, text, before) in fences(page) {
        let named = before
            .strip_prefix("Write `")
            .and_then(|rest| rest.strip_suffix("`:"));
        match (language.as_str(), named) {
            ("sh", _) => steps.push(Step::Run(Block {
                commands: commands(&text),
                printed: None,
            })),
            ("text", _) if before == "```" => {
                if let Some(Step::Run(block)) = steps.last_mut() {
                    block.printed = Some(text);
                }
            }
            (_, Some(name)) => steps.push(Step::Write(name.to_owned(), text)),
            _ => {}
        }
    }
    steps
}

/// The commands of a block: lines that are continued, quoted or follow `<<` belong together.
fn commands(block: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut lines = block.lines();
    while let Some(line) = lines.next() {
        let mut command = line.to_owned();
        if line.contains("<<'END'") {
            let text = lines.by_ref().take_while(|line| *line != "END");
            text.for_each(|line| command += &format!("\n{line}"));
            command += "\nEND\n";
        } else {
            let is_open = |command: &str| {
                command.ends_with('\\')
                    || command.matches('\'').count() % 2 == 1
                    || is_loop(command)
            };
            while is_open(&command)
                && let Some(more) = lines.next()
            {
                command += &format!("\n{more}");
            }
        }
        if !command.trim().is_empty() {
            found.push(command);
        }
    }
    found
}

fn is_loop(command: &str) -> bool {
    command.starts_with("for ") && !command.ends_with("done")
}

/// What readers have: a folder with a corpus, questions, and whatever else the guides name.
struct Ground {
    ken: Ken,
    servers: Vec<Child>,
    /// The port of the page's server.
    port: Option<String>,
    /// Differences from the page.
    wrong: Vec<String>,
    /// How many commands were run, and how many were not, by reason.
    run: usize,
    left: BTreeMap<&'static str, usize>,
}

impl Drop for Ground {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Ground {
    fn empty() -> Self {
        Self {
            ken: Ken::new(),
            servers: Vec::new(),
            port: None,
            wrong: Vec::new(),
            run: 0,
            left: BTreeMap::new(),
        }
    }

    /// Runs the commands of a page, and checks their output.
    fn follow(&mut self, page: &Path) {
        let text = fs::read_to_string(page).unwrap();
        for step in steps(&text) {
            match step {
                Step::Write(name, text) => self.ken.write(&name, self.here(&text)),
                Step::Run(block) => {
                    let mut printed = String::new();
                    let mut all = true;
                    for command in &block.commands {
                        match self.obey(command) {
                            Some(text) => printed += &text,
                            None => all = false,
                        }
                    }
                    if let (Some(shown), true) = (&block.printed, all)
                        && !is_like(shown, &printed)
                    {
                        let commands = block.commands.join("\n");
                        let wrong = format!("{commands}\nprints\n{printed}and not\n{shown}");
                        self.wrong.push(wrong);
                    }
                }
            }
        }
    }

    /// Runs a command and returns its output; `None` if it is not run here.
    fn obey(&mut self, command: &str) -> Option<String> {
        let reason = ELSEWHERE.iter().find(|(part, _)| command.contains(part));
        let reason = reason.map(|(_, why)| *why);
        let is_missing = command.starts_with("curl ") && !has_curl();
        if let Some(why) = reason.or(is_missing.then_some("needs curl, which is not here")) {
            *self.left.entry(why).or_default() += 1;
            return None;
        }
        self.run += 1;
        if command.starts_with("curl ") && self.port.is_none() {
            self.serve("ken serve --corpus notes.ken");
        }
        if command.starts_with("ken serve ") && !command.contains("serve key") {
            return self.serve(command);
        }
        let script = self.here(command);
        let done = self.shell(&script).output().unwrap();
        let (out, error) = (
            String::from_utf8(done.stdout).unwrap(),
            String::from_utf8_lossy(&done.stderr),
        );
        if !done.status.success() {
            self.wrong.push(format!(
                "{command}
fails: {out}{error}"
            ));
            return None;
        }
        Some(out)
    }

    /// A text with the address of the page's server, and the Python that has its packages.
    fn here(&self, text: &str) -> String {
        let port = self.port.as_deref().unwrap_or("8484");
        let text = text
            .replace("venv/bin/python", "\"$KEN_TEST_PYTHON\"")
            .replace(" /backups/", " backups/")
            .replace(" /tmp/", " ")
            .replace("=/data/", "=");
        text.replace("127.0.0.1:8484", &format!("127.0.0.1:{port}"))
            .replace("localhost:8484", &format!("127.0.0.1:{port}"))
    }

    fn shell(&self, script: &str) -> Command {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_ken"));
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders = [program.parent().unwrap().to_path_buf()]
            .into_iter()
            .chain(std::env::split_paths(&folders));
        let own = self.ken.command(&[]);
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", script]);
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None if name == "KEN_TEST_PYTHON" => &mut shell,
                None => shell.env_remove(name),
            };
        }
        shell
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("KEN_SAMPLES", "2")
            .env("KEN_MAX_TOKENS", "6")
            .current_dir(self.ken.path("."))
            .stdin(Stdio::null());
        shell
    }

    /// Starts a server that replaces the one before; returns its first line, if it serves.
    fn serve(&mut self, command: &str) -> Option<String> {
        for mut before in self.servers.drain(..) {
            before.kill().unwrap();
            before.wait().unwrap();
        }
        let command = match command.contains("--listen") {
            true => command.replace("0.0.0.0:8484", "127.0.0.1:0"),
            false => format!("{command} --listen 127.0.0.1:0"),
        };
        let mut shell = self.shell(&format!("exec {command}"));
        let mut server = shell
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (tell, lines) = mpsc::channel();
        let out = BufReader::new(server.stdout.take().unwrap());
        std::thread::spawn(move || {
            out.lines()
                .map_while(Result::ok)
                .try_for_each(|line| tell.send(line))
        });
        // Its first lines come at once.
        let first = lines
            .recv_timeout(Duration::from_secs(60))
            .unwrap_or_default();
        let others = std::iter::from_fn(|| lines.recv_timeout(Duration::from_millis(200)).ok());
        let told: Vec<String> = std::iter::once(first).chain(others).collect();
        self.servers.push(server);
        let told = told.join("\n") + "\n";
        let port = told
            .split("http://127.0.0.1:")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let Some(port) = port.map(str::to_owned) else {
            self.wrong
                .push(format!("{command}\nserves nothing: {told}"));
            return None;
        };
        let told = told.replace(&format!(":{port}"), ":8484");
        self.port = Some(port);
        Some(told)
    }

    /// The ground of a guide's readers.
    fn of_a_reader(guide: &Path) -> Self {
        let ground = Self::empty();
        let ken = &ground.ken;
        ken.write(
            "notes/boat.md",
            "# The boat\nThe Marigold is moored at berth 14. Her oil is changed every 120 hours.\n",
        );
        ken.write(
            "notes/house.md",
            "# The house\nInes Farrow sweeps the chimney every October and keeps the keys.\n",
        );
        ken.write(
            "notes/cars/old.md",
            "# The old car\nThe brakes of the old car were made in Tollen in 1962.\n",
        );
        let record = |n: usize| json!({"id": format!("w{n}"), "title": format!("Harbor {n}"), "text": format!("The harbor {n} was opened in {}.", 1800 + n)});
        let lines = |rows: Vec<serde_json::Value>| {
            rows.iter()
                .map(|row| format!("{row}\n"))
                .collect::<String>()
        };
        ken.write("wiki.jsonl", lines((0..40).map(record).collect()));
        // Choosing a policy takes at least 30.
        let count = if guide.ends_with("choose-a-policy.md") {
            30
        } else {
            8
        };
        let question = |n: usize| json!({"id": format!("q{n}"), "question": format!("When was the harbor {n} opened?"), "golden_answers": [(1800 + n).to_string()], "metadata": {"gold_passage": format!("w{n}#0")}});
        for (name, numbers) in [
            ("questions", 0..count),
            ("others", 32..40),
            ("dev", 0..8),
            ("nq", 0..8),
            ("webq", 8..16),
            ("mixed", 0..8),
        ] {
            ken.write(
                &format!("{name}.jsonl"),
                lines(numbers.map(question).collect()),
            );
        }
        ken.text(&["ingest", "notes", "wiki.jsonl", "--corpus", "notes.ken"]);
        // A guide that makes it makes it itself.
        if !fs::read_to_string(guide)
            .unwrap()
            .contains("--corpus wiki.ken --dense")
        {
            let wiki = ["ingest", "wiki.jsonl", "--corpus", "wiki.ken"];
            ken.text(&[&wiki[..], &["--shards", "4"]].concat());
        }
        ken.write("faq.md", "# Questions\nThe office opens at nine.\n");
        ken.write("manual.pdf", "%PDF-1.4\n");
        for name in ["handbook", "minutes"] {
            ken.text(&["ingest", "notes", "--corpus", &format!("{name}.ken")]);
        }
        ken.write("redundant.jsonl", "{\"passage_id\": \"boat.md#0\"}\n");
        ken.write("scifact/corpus.jsonl", lines((0..8).map(|n| json!({"_id": format!("d{n}"), "title": "", "text": format!("Finding {n} is about harbor {n}.")})).collect()));
        ken.write("scifact/queries.jsonl", lines((0..4).map(|n| json!({"_id": format!("s{n}"), "text": format!("What is finding {n} about?")})).collect()));
        let judged = |of: &str, to: &str, count: usize| {
            (0..count)
                .map(|n| format!("{of}{n}\t{to}{n}\t1\n"))
                .collect::<String>()
        };
        ken.write(
            "scifact/qrels/test.tsv",
            format!("query-id\tcorpus-id\tscore\n{}", judged("s", "d", 4)),
        );
        ken.write(
            "judged.tsv",
            format!("query-id\tcorpus-id\tscore\n{}", judged("q", "w", 8)),
        );
        for name in ["bm25", "splade"] {
            let run: String = (0..4)
                .map(|n| {
                    format!(
                        "s{n} Q0 d{n} 1 2.5 {name}\ns{n} Q0 d{} 2 1.5 {name}\n",
                        n + 1
                    )
                })
                .collect();
            ken.write(&format!("{name}.run"), run);
        }
        for name in words("model.gguf small.gguf models/qwen2.5-0.5b-q4_k_m.gguf") {
            let path = ken.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(generator(), path).unwrap();
        }
        ground
    }
}

fn has_curl() -> bool {
    let asked = Command::new("curl")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// Whether a text is as the page shows it, where `…` stands for anything.
fn is_like(shown: &str, text: &str) -> bool {
    let trimmed = |text: &str| {
        let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
        lines.join("\n")
    };
    let (shown, text) = (trimmed(shown), trimmed(text));
    let Some((first, rest)) = shown.split_once('…') else {
        return shown == text;
    };
    let mut parts: Vec<&str> = rest.split('…').collect();
    let last = parts.pop().unwrap_or_default();
    let between = text.strip_prefix(first);
    let Some(mut between) = between.and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    parts.iter().all(|part| {
        let found = between.split_once(part);
        between = found.map_or("", |(_, rest)| rest);
        found.is_some()
    })
}

fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_tutorials_work_from_their_first_line_to_their_last() {
    for page in ["tutorial.md", "tutorial-server.md"] {
        let mut ground = Ground::empty();
        ground.follow(&documents().join(page));
        assert!(
            ground.wrong.is_empty(),
            "{page}: {}",
            ground.wrong.join("\n")
        );
        assert!(ground.run > 5, "{page}: {} commands", ground.run);
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_commands_of_the_guides_work() {
    let guides = fs::read_dir(documents().join("how-to")).unwrap();
    let mut guides: Vec<PathBuf> = guides.map(|entry| entry.unwrap().path()).collect();
    guides.sort();
    let (mut run, mut left, mut wrong) = (0, BTreeMap::new(), Vec::new());
    for guide in guides {
        let mut ground = Ground::of_a_reader(&guide);
        let started = std::time::Instant::now();
        ground.follow(&guide);
        println!(
            "{}: {} commands, {:.1?}",
            guide.display(),
            ground.run,
            started.elapsed()
        );
        run += ground.run;
        let told = ground.wrong.iter();
        wrong.extend(told.map(|told| format!("{}: {told}", guide.display())));
        for (why, count) in &ground.left {
            *left.entry(*why).or_insert(0) += count;
        }
    }
    println!("{run} commands are run, and these are not: {left:#?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(run >= 90, "{run} commands");
}

#[test]
fn what_is_left_out_stands_for_anything() {
    assert!(is_like("a … c\n", "a b c\n"));
    assert!(is_like("a\n…\nd\n", "a\nb\nc\nd\n"));
    assert!(is_like("a\n…\n", "a\nb\n"));
    assert!(!is_like("a … c\n", "a b d\n"));
    assert!(!is_like("a\n", "a\nb\n"));
    assert!(!is_like("a … c\n", "a b c d\n"));
}
