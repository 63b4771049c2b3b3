//! `cargo xtask dist`: builds the files of a release for this machine into `dist/`. Each can be installed without a
//! compiler; [`trial`] does so in an empty system.

mod chart;
mod deb;
mod descriptions;
mod image;
mod notices;
mod program;
mod tools;
mod trial;
mod wheel;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::models::sha256_of;
use crate::run;
use crate::stages::stage;
use crate::tidy::files_below;

pub(crate) use self::trial::run as try_out;

/// Features that a build from source has only on request: those who install a release cannot add them.
const FEATURES: &str = "milvus,otel,postgres";

/// The oldest C library that a release for Linux runs with: Debian 10, Ubuntu 20.04, RHEL 8.
const GLIBC: &str = "2.28";

/// A release in the making.
pub(crate) struct Release {
    /// The repository.
    root: PathBuf,
    /// Where its files go.
    out: PathBuf,
    /// `0.1.0`.
    version: String,
    /// `x86_64-unknown-linux-gnu`.
    target: String,
}

impl Release {
    fn of(root: &Path) -> Result<Self> {
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        let version = manifest
            .lines()
            .find_map(|line| line.strip_prefix("version = "))
            .context("Cargo.toml has no version")?;
        Ok(Self {
            root: root.to_owned(),
            out: root.join("dist"),
            version: version.trim_matches('"').to_owned(),
            target: crate::stages::host()?,
        })
    }

    /// The name of an archive, without its ending: `ken-0.1.0-x86_64-unknown-linux-gnu`.
    fn name(&self) -> String {
        format!("ken-{}-{}", self.version, self.target)
    }

    fn is_for_linux(&self) -> bool {
        self.target.ends_with("-linux-gnu")
    }

    /// `amd64` or `arm64`, as Debian and images name it.
    fn architecture(&self) -> Result<&'static str> {
        match self.target.split('-').next() {
            Some("x86_64") => Ok("amd64"),
            Some("aarch64") => Ok("arm64"),
            _ => bail!("no package is made for {}", self.target),
        }
    }
}

/// Makes all files of a release.
pub(crate) fn make(root: &Path) -> Result<()> {
    let release = Release::of(root)?;
    if release.out.exists() {
        fs::remove_dir_all(&release.out).context("cannot remove what an earlier run made")?;
    }
    fs::create_dir_all(&release.out).context("cannot make dist/")?;
    stage("descriptions", || descriptions::check(root))?;
    if chart::HAS_HELM {
        stage("chart", || chart::build(&release))?;
    }
    let tools = stage("tools", tools::ensure)?;
    let program = stage("program", || program::build(&release, &tools))?;
    let tree = stage("tree", || program::tree(&release, &tools, &program))?;
    stage("bill of materials", || {
        notices::bill_of_materials(&release, &tools)
    })?;
    stage("wheel", || wheel::build(&release, &tools))?;
    if release.is_for_linux() {
        stage("package for Debian", || deb::build(&release, &tools))?;
        stage("image", || image::build(&release, &tree))?;
    }
    stage("archive", || archive(&release, &tree))?;
    stage("checksums", || checksums(&release.out))
}

/// Moves the tree into one compressed archive.
fn archive(release: &Release, tree: &Path) -> Result<()> {
    let named = release.out.join(release.name());
    fs::rename(tree, &named).context("cannot rename the tree")?;
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--gzip").arg("--file");
    tar.arg(release.out.join(format!("{}.tar.gz", release.name())));
    tar.arg("--directory").arg(&release.out).arg(release.name());
    run(&mut tar)?;
    fs::remove_dir_all(named).context("cannot remove what was packed")
}

/// `SHA256SUMS`, as `sha256sum --check` reads it.
fn checksums(out: &Path) -> Result<()> {
    let mut sums = Vec::new();
    for name in files_below(out, |_| false)? {
        writeln!(sums, "{}  {name}", sha256_of(&out.join(&name))?)?;
    }
    print!("{}", String::from_utf8_lossy(&sums));
    fs::write(out.join("SHA256SUMS"), sums).context("cannot write the checksums")
}
