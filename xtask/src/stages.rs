//! The stages of `cargo xtask test`, in sequence, each with its seconds; the first one that fails ends the run. The
//! checks themselves are in `tidy` and in the crates.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::clients::{self, Clients};
use crate::{cargo_command, milvus, models, python, run, search_services, supply_chain, tidy};

/// Everything that needs no model and no server.
pub(crate) fn test_fast(root: &Path) -> Result<()> {
    let started = Instant::now();
    checks(root)?;
    stage("tests", || {
        cargo(root, None, &["test", "--workspace", "--features", EXTRAS])
    })?;
    passed(started);
    Ok(())
}

/// Everything that must hold before a change is merged.
pub(crate) fn test(root: &Path) -> Result<()> {
    let started = Instant::now();
    let prepared = Prepared {
        models: stage("models", models::ensure)?,
        milvus: stage("milvus", milvus::ensure)?,
        search_services: stage("search services", search_services::ensure)?,
        clients: stage("clients", clients::ensure)?,
    };
    let python = stage("packages for Python", python::ensure)?;
    checks(root)?;
    stage("supply chain", || supply_chain::check(root))?;
    stage("tests", || cargo(root, Some(&prepared), WHOLE))?;
    stage("Python package", || {
        python::test(root, &python, &prepared.models, EXTRAS)
    })?;
    passed(started);
    Ok(())
}

/// The tests of the Python package only.
pub(crate) fn python(root: &Path) -> Result<()> {
    let models = stage("models", models::ensure)?;
    let python = stage("packages for Python", python::ensure)?;
    stage("Python package", || {
        python::test(root, &python, &models, EXTRAS)
    })
}

/// Features that a build has only on request, so that they are checked and tested here.
const EXTRAS: &str = "ken-rag/milvus,ken-rag/postgres,ken-server/otel";

/// All tests, including ignored ones, except for measurements and long runs.
const WHOLE: &[&str] = &[
    "test",
    "--workspace",
    "--features",
    EXTRAS,
    // One run names every test that fails.
    "--no-fail-fast",
    "--",
    "--include-ignored",
    "--skip",
    "measurement::",
    "--skip",
    "at_length",
];

/// The checks that run no test.
fn checks(root: &Path) -> Result<()> {
    stage("tools", || {
        require_component(root, "fmt", "rustfmt")?;
        require_component(root, "clippy", "clippy")
    })?;
    stage("format", || {
        cargo(root, None, &["fmt", "--all", "--check"])
            .context("run `cargo fmt --all` to format the sources")
    })?;
    stage("tidy", || report(&tidy::findings(root)?))?;
    stage("lints", || {
        clippy(root, &format!("--workspace --features {EXTRAS}"))
    })?;
    stage("lints of the default build", || clippy(root, "-p ken-rag"))
}

/// Runs Clippy on all targets of some packages; its warnings are errors.
fn clippy(root: &Path, packages: &str) -> Result<()> {
    let arguments = format!("clippy {packages} --all-targets -- -D warnings");
    cargo(root, None, &arguments.split(' ').collect::<Vec<_>>())
}

fn passed(started: Instant) {
    eprintln!(
        "xtask: all passed in {:.1} s",
        started.elapsed().as_secs_f64()
    );
}

/// The tidy checks only.
pub(crate) fn tidy(root: &Path) -> Result<()> {
    report(&tidy::findings(root)?)?;
    println!("tidy");
    Ok(())
}

/// The crates that contain `unsafe`, and which of their tests run it.
const UNSAFE: [(&str, &[&str]); 3] = [
    ("ken-storage", &["--lib"]),
    ("ken-index", &["--lib"]),
    ("ken-model", &["--lib", "kernels::"]),
];

/// Runs the tests of `unsafe` code under AddressSanitizer, with a stable compiler that is told to accept the option.
pub(crate) fn sanitize(root: &Path) -> Result<()> {
    let variables = [
        ("RUSTC_BOOTSTRAP", "1"),
        ("RUSTFLAGS", "-Zsanitizer=address"),
    ];
    test_unsafe(root, &host()?, &variables)
}

/// Runs the tests of `unsafe` code for 64-bit ARM, on a processor that qemu emulates: those of NEON's kernels, which have
/// to compute what the portable ones do.
pub(crate) fn emulate(root: &Path) -> Result<()> {
    let variables = [
        (
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
            "aarch64-linux-gnu-gcc",
        ),
        (
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            "qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu",
        ),
    ];
    test_unsafe(root, "aarch64-unknown-linux-gnu", &variables).context(
        "this needs `rustup target add aarch64-unknown-linux-gnu`, and of Debian the packages gcc-aarch64-linux-gnu and qemu-user",
    )
}

/// Runs the tests of [`UNSAFE`] for a target, built in a folder of their own: otherwise the variables would cause
/// everything to be built again.
fn test_unsafe(root: &Path, target: &str, variables: &[(&str, &str)]) -> Result<()> {
    for (package, tests) in UNSAFE {
        stage(package, || {
            run(cargo_command()
                .args(["test", "--package", package, "--target", target])
                .args(tests)
                .current_dir(root)
                .envs(variables.iter().copied())
                .env("CARGO_TARGET_DIR", root.join("target/unsafe")))
        })?;
    }
    Ok(())
}

/// The platform that cargo builds for.
pub(crate) fn host() -> Result<String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("cannot start rustc")?;
    let output = String::from_utf8_lossy(&output.stdout);
    let line = output.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned)
        .context("rustc does not say what it builds for")
}

/// Runs the torture campaign.
pub(crate) fn torture(root: &Path, arguments: &[&str]) -> Result<()> {
    run(cargo_command()
        .args(["run", "--quiet", "--package", "ken-torture"])
        .args(["--bin", "torture", "--"])
        .args(arguments)
        .current_dir(root))
}

pub(crate) fn stage<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("xtask: {name}");
    let started = Instant::now();
    let outcome = work();
    let seconds = started.elapsed().as_secs_f64();
    match &outcome {
        Ok(_) => eprintln!("xtask: {name} passed in {seconds:.1} s"),
        Err(_) => eprintln!("xtask: {name} FAILED after {seconds:.1} s"),
    }
    outcome.with_context(|| format!("stage `{name}` failed"))
}

/// Turns findings into an error.
pub(crate) fn report(findings: &[tidy::Finding]) -> Result<()> {
    for finding in findings {
        eprintln!("{finding}");
    }
    ensure!(findings.is_empty(), "{} finding(s)", findings.len());
    Ok(())
}

/// What the tests need besides cargo's packages.
struct Prepared {
    /// The folder of the test models.
    models: PathBuf,
    /// The program that starts milvus-lite.
    milvus: PathBuf,
    /// The Python with the other search services.
    search_services: PathBuf,
    /// The official clients of the server.
    clients: Clients,
}

/// A path among what is prepared.
type PathIn = fn(&Prepared) -> &PathBuf;

/// The variables by which the tests find that.
const VARIABLES: [(&str, PathIn); 6] = [
    ("KEN_TEST_MODELS", |of| &of.models),
    ("KEN_TEST_MILVUS", |of| &of.milvus),
    ("KEN_TEST_SEARCH_SERVICES", |of| &of.search_services),
    ("KEN_TEST_PYTHON", |of| &of.clients.python),
    ("KEN_TEST_NODE", |of| &of.clients.node),
    ("KEN_TEST_NODE_MODULES", |of| &of.clients.modules),
];

/// Runs cargo, with what was prepared for its tests or, to show that nothing depends on that, without.
fn cargo(root: &Path, prepared: Option<&Prepared>, arguments: &[&str]) -> Result<()> {
    let mut command = cargo_command();
    command.args(arguments).current_dir(root);
    for (name, path) in VARIABLES {
        match prepared {
            Some(prepared) => command.env(name, path(prepared)),
            None => command.env_remove(name),
        };
    }
    run(&mut command).with_context(|| format!("`cargo {}` failed", arguments.join(" ")))
}

fn require_component(root: &Path, subcommand: &str, component: &str) -> Result<()> {
    let present = cargo_command()
        .args([subcommand, "--version"])
        .current_dir(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    ensure!(
        present,
        "{component} is not installed: run `rustup component add {component}`"
    );
    Ok(())
}
