//! Calls of the binary, each test in its own folder, with the two test models set.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A working folder with an empty home, in which the tests call the binary.
pub(crate) struct Ken {
    folder: TempDir,
}

/// The error that a call with `--json` prints.
pub(crate) struct Refusal {
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Ken {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The path of a file in the working folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file below the working folder, creating its folders.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// Writes values as lines of JSON.
    pub(crate) fn write_lines(&self, name: &str, values: impl IntoIterator<Item = Value>) {
        let lines = values.into_iter().map(|value| value.to_string() + "\n");
        self.write(name, lines.collect::<String>());
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A call that has not run yet: with no setting but the models, and no network.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ken"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KEN_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("KEN_HOME", self.path("home"))
            .env("KEN_MODEL", generator())
            .env("KEN_EMBEDDER", embedder())
            .env("HF_ENDPOINT", "http://127.0.0.1:9")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The text printed by a call that has to succeed.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        succeeded(self.command(arguments).output().unwrap())
    }

    /// The one JSON object printed by a call that has to succeed; adds `--json`.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        one_object(&self.text(&arguments))
    }

    /// The lines printed by a call with `input` on stdin.
    pub(crate) fn text_of_input(&self, arguments: &[&str], input: &str) -> String {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        succeeded(child.wait_with_output().unwrap())
    }

    /// The error of a call that has to fail; adds `--json`.
    pub(crate) fn refusal(&self, arguments: &[&str]) -> Refusal {
        let arguments = [arguments, &["--json"]].concat();
        refused(self.command(&arguments).output().unwrap())
    }
}

/// The stdout of a call that has to have succeeded, with an empty stderr.
fn succeeded(output: Output) -> String {
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    assert_eq!(stderr, "", "a stderr that is no terminal stays empty");
    stdout
}

/// The error of a call that has to have failed: one object on stdout and exit code 1.
pub(crate) fn refused(output: Output) -> Refusal {
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    refusal_in(&one_object(&stdout))
}

/// The error in an object that holds nothing else.
pub(crate) fn refusal_in(value: &Value) -> Refusal {
    assert_eq!(keys(value), ["error"], "{value}");
    let error = &value["error"];
    assert_eq!(keys(error), ["kind", "message", "hint"]);
    Refusal {
        kind: error["kind"].as_str().unwrap().to_owned(),
        message: error["message"].as_str().unwrap().to_owned(),
        hint: error["hint"].as_str().map(str::to_owned),
    }
}

impl Refusal {
    /// Checks the kind, and words of the message and the hint.
    pub(crate) fn is(&self, kind: &str, message: &str, hint: &str) {
        let Self {
            kind: given_kind,
            message: given_message,
            hint: given_hint,
        } = self;
        let given_hint = given_hint.as_deref().unwrap_or_default();
        assert_eq!(given_kind, kind, "{given_message}");
        assert!(given_message.contains(message), "message: {given_message}");
        assert!(given_hint.contains(hint), "hint: {given_hint}");
    }
}

/// Checks the error of a call by [`Refusal::is`]: `refuses!(ken, ARGUMENTS => KIND, MESSAGE, HINT)`.
macro_rules! refuses {
    ($ken:expr, $arguments:expr => $kind:expr, $message:expr, $hint:expr) => {
        $ken.refusal($arguments).is($kind, $message, $hint)
    };
}
pub(crate) use refuses;

fn one_object(stdout: &str) -> Value {
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    let value: Value = serde_json::from_str(stdout).unwrap();
    assert!(value.is_object(), "{value}");
    value
}

/// The values of lines of JSON.
pub(crate) fn objects(lines: &str) -> Vec<Value> {
    let lines = lines.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The items of a list.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value}"))
}

/// A text in each item of a list.
pub(crate) fn texts(list: &Value, field: &str) -> Vec<String> {
    let text = |item: &Value| item[field].as_str().unwrap().to_owned();
    items(list).iter().map(text).collect()
}

/// The names of an object's fields, in their order.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let fields = value.as_object().unwrap_or_else(|| panic!("{value}"));
    fields.keys().map(String::as_str).collect()
}

/// A number of a JSON object.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// The folder of the test models. Tests that use one are ignored by default; the others run with settings that name
/// missing models.
fn models() -> PathBuf {
    std::env::var_os("KEN_TEST_MODELS").map_or_else(|| "no-test-models".into(), PathBuf::from)
}

/// The language model, a file.
pub(crate) fn generator() -> PathBuf {
    models().join("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
}

/// The embedder, a folder.
pub(crate) fn embedder() -> PathBuf {
    models().join("minilm")
}

/// The words of a command line: what is between spaces, or between single quotes.
pub(crate) fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    let words = parts.map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect::<Vec<Vec<&str>>>().concat()
}

/// A path as an argument.
pub(crate) fn argument(path: &Path) -> &str {
    path.to_str().unwrap()
}
