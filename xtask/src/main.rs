//! The project's own tasks: setup of the test models, all checks and tests, benchmarks, the tidy
//! checks, and the site of the documentation. It builds nothing that users run.
#![allow(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bench;
mod cargo_programs;
mod clients;
mod compatibility;
mod dist;
mod environment;
mod milvus;
mod models;
mod python;
mod search_services;
mod shaped;
mod site;
mod stages;
mod supply_chain;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use self::bench::Vectors;

/// The verbs, in the order of the help.
pub(crate) const VERBS: &[(&str, &str)] = &[
    (
        "test",
        "fetch the test models, milvus-lite, other search services and the official clients, then run every check and every test",
    ),
    (
        "test --fast",
        "every check, and the tests that need no model and no server",
    ),
    (
        "tidy",
        "check the project's own rules (map, sizes, names, dependencies)",
    ),
    (
        "supply-chain",
        "check licences and sources of all dependencies, and advisories where their database is reached",
    ),
    (
        "sanitize",
        "run the tests of what is unsafe under AddressSanitizer and LeakSanitizer",
    ),
    (
        "emulate",
        "run the tests of what is unsafe for 64-bit ARM, under qemu",
    ),
    (
        "models",
        "fetch the test models only and print their folder",
    ),
    (
        "milvus",
        "install milvus-lite for the tests only and print its program",
    ),
    (
        "search-services",
        "install PostgreSQL and Qdrant's library for the tests only and print the Python that has them",
    ),
    (
        "clients",
        "install the official clients of the server for the tests only and print where they are",
    ),
    (
        "clients try",
        "try clients that others wrote (installs them, two gigabytes) against servers on loopback; takes --ken PROGRAM, \
         --model FILE, --only NAME, --out FILE.csv",
    ),
    (
        "python",
        "run the tests of the Python package only; installs what they import",
    ),
    (
        "dist",
        "make the files of a release for this machine: archive, wheel, package, image, chart, notices",
    ),
    (
        "dist try",
        "install each of them in an empty Debian and run the demo there; as root",
    ),
    (
        "compatibility",
        "compile with the oldest compiler that Cargo.toml names, and compare public APIs with the last release's",
    ),
    (
        "site",
        "make the documentation's site in target/site and check its links; installs mdBook",
    ),
    (
        "bench model",
        "compare ken's engine with its peers (installs them, a few gigabytes)",
    ),
    (
        "bench index",
        "compare dense search with hnswlib and faiss; takes a number of vectors, or a file of \
         vectors and one of queries",
    ),
    (
        "bench growth",
        "measure dense search at 10,000 to a million vectors, in 1 to 12 shards",
    ),
    (
        "bench answers",
        "compare answers over manuals of Debian with LlamaIndex and a plain prompt over llama.cpp; takes a model file (GGUF) and, if \
         wanted, --questions validation|test|confirm|all, --every N and arms",
    ),
    (
        "bench datastore",
        "measure a policy datastore of 100,000 entries, or of as many as the argument says",
    ),
    (
        "bench documents",
        "compare readers of documents with poppler, pypdf and pdf_oxide on the PDFs of a folder, and with markitdown on \
         Office files that it makes; takes the folder",
    ),
    (
        "bench paper",
        "measure a table of the papers and print it beside theirs; takes its name, such as zero-rag-1, and --model [NAME=]MODEL and, \
         if wanted, --questions FILE.., --ground NAME, --limit N",
    ),
    (
        "gguf",
        "write a model of random weights; takes --shape llama3-8b, and a file (4.9 GB)",
    ),
    (
        "torture",
        "lose power, fail calls, kill writers, damage files, put links, read alongside; takes one of \
         crash-states, faults, kills, damage, links, company, and --count N, --seed S, --minutes M, --out DIR",
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let root = repository_root()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => stages::test(&root),
        ["test", "--fast"] => stages::test_fast(&root),
        ["bench", "model"] => bench::model(&root),
        ["bench", "index"] => bench::index(&root, &Vectors::Clustered(100_000)),
        ["bench", "index", vectors] => {
            let vectors = vectors.parse().context("VECTORS is no number")?;
            bench::index(&root, &Vectors::Clustered(vectors))
        }
        ["bench", "index", vectors, queries] => {
            bench::index(&root, &Vectors::Files(vectors.into(), queries.into()))
        }
        ["bench", "growth"] => bench::growth(&root),
        ["bench", "answers", model, rest @ ..] => bench::answers(&root, Path::new(model), rest),
        ["bench", "datastore"] => bench::datastore(&root, 100_000),
        ["bench", "datastore", entries] => {
            bench::datastore(&root, entries.parse().context("ENTRIES is no number")?)
        }
        ["bench", "documents", folder] => bench::documents(&root, Path::new(folder)),
        ["bench", "paper", table, rest @ ..] => bench::paper(&root, table, rest),
        ["gguf", "--shape", shape, out] => shaped::write(shape, Path::new(out)),
        ["torture", rest @ ..] => stages::torture(&root, rest),
        ["tidy"] => stages::tidy(&root),
        ["supply-chain"] => supply_chain::check(&root),
        ["sanitize"] => stages::sanitize(&root),
        ["emulate"] => stages::emulate(&root),
        ["models"] => print_path(&models::ensure()?),
        ["milvus"] => print_path(&milvus::ensure()?),
        ["search-services"] => print_path(&search_services::ensure()?),
        ["clients"] => {
            let clients = clients::ensure()?;
            println!("KEN_TEST_PYTHON={}", clients.python.display());
            println!("KEN_TEST_NODE={}", clients.node.display());
            println!("KEN_TEST_NODE_MODULES={}", clients.modules.display());
            Ok(())
        }
        ["clients", "try", rest @ ..] => clients::try_out(&root, rest),
        ["python"] => stages::python(&root),
        ["site"] => site::make(&root),
        ["compatibility"] => compatibility::check(&root),
        ["dist"] => dist::make(&root),
        ["dist", "try"] => dist::try_out(&root),
        [] | ["help" | "-h" | "--help"] => {
            println!("{}", usage());
            Ok(())
        }
        _ => bail!("unknown command: {}\n{}", words.join(" "), usage()),
    }
}

fn print_path(path: &Path) -> Result<()> {
    println!("{}", path.display());
    Ok(())
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask VERB\n");
    for (verb, purpose) in VERBS {
        text.push_str(&format!("\n  {verb:<17}{purpose}"));
    }
    text
}

/// The folder of the workspace, wherever the command is run from. Found at run time, since clones may share one
/// folder of build output.
fn repository_root() -> Result<PathBuf> {
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("run this through cargo: `cargo xtask VERB`")?;
    Path::new(&own)
        .parent()
        .map(Path::to_path_buf)
        .context("xtask is in no workspace")
}

/// The cargo that called this program, as if it were called directly: build scripts would take the variables about
/// this package for a change, and everything that depends on them would be built again.
fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let of_package =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(of_package) {
            command.env_remove(name);
        }
    }
    command
}

/// What cargo says of the workspace's packages and folders.
fn cargo_metadata(root: &Path) -> Result<Value> {
    let output = cargo_command()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cannot start cargo")?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Runs a program that has to succeed.
fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    ensure!(
        status.success(),
        "{} ended with {status}",
        command.get_program().display()
    );
    Ok(())
}
