//! `cargo xtask dist try`: installs each file of `dist/` in an empty Debian and runs the demo there, as users would.
//! It needs root, since it changes into these systems.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use super::image::USER;
use super::{Release, run as run_program};
use crate::tidy::files_below;

/// The system for the program, which needs no Python: an old one. And the one for the wheel, whose Python has to be
/// newer.
const OLD: &str = "bullseye";
const NEW: &str = "bookworm";
const PYTHON: [&str; 2] = ["python3", "python3-venv"];

/// The certificates of this machine, which may know of a proxy.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The command that has to work after installing.
const DEMO: &str = "ken demo --limit 6";

/// Tries all files of this machine's release.
pub(crate) fn run(root: &Path) -> Result<()> {
    let release = Release::of(root)?;
    let work = tempfile::tempdir().context("cannot make a folder")?;
    let debian = System::install(OLD, work.path().join("debian"), &[])?;
    let (archive, unpacked) = (release.file(".tar.gz")?, release.name());
    debian.try_out(
        &archive,
        &format!("tar --extract --file /dist/* && PATH=/{unpacked}:$PATH && {DEMO}"),
    )?;
    debian.try_out(
        &release.file(".deb")?,
        &format!("dpkg --install /dist/* && {DEMO} && id ken && dpkg --remove ken"),
    )?;
    let python = System::install(NEW, work.path().join("python"), &PYTHON)?;
    python.try_out(
        &release.file(".whl")?,
        &format!(
            "python3 -m venv /env && PATH=/env/bin:$PATH && pip install --quiet /dist/* && {DEMO} && \
             python3 -c 'import ken; print(ken.__version__)'"
        ),
    )?;
    let archive = release.file("-image.tar")?;
    let image = System::of_image(&archive, work.path().join("image"))?;
    report(&archive, || {
        let demo: Vec<&str> = DEMO.split(' ').collect();
        image.run(&format!("{USER}:{USER}"), "/data", &demo)
    })
}

impl Release {
    /// The file in `dist/` with this ending.
    fn file(&self, end: &str) -> Result<PathBuf> {
        let files = files_below(&self.out, |_| false);
        let files = files.context("make them by `cargo xtask dist` first")?;
        let name = files.iter().find(|name| name.ends_with(end));
        let name = name.with_context(|| format!("dist/ has no *{end}"))?;
        Ok(self.out.join(name))
    }
}

/// An installed system, in a folder.
struct System {
    folder: PathBuf,
}

impl System {
    /// Debian's smallest system, and some packages.
    fn install(suite: &str, folder: PathBuf, packages: &[&str]) -> Result<Self> {
        let mut command = Command::new("mmdebstrap");
        command.args(["--quiet", "--variant=minbase"]);
        command.args(packages.iter().map(|name| format!("--include={name}")));
        run_program(command.arg(suite).arg(&folder))?;
        Self { folder }.connected()
    }

    /// The files of an image, unpacked as a container's runtime does.
    fn of_image(archive: &Path, folder: PathBuf) -> Result<Self> {
        let layout = tempfile::tempdir()?;
        unpack(archive, layout.path())?;
        let blob = |digest: &Value| -> Result<PathBuf> {
            let digest = digest.as_str().context("the image names no file")?;
            Ok(layout.path().join("blobs").join(digest.replace(':', "/")))
        };
        let read =
            |path: PathBuf| -> Result<Value> { Ok(serde_json::from_slice(&fs::read(path)?)?) };
        let index = read(layout.path().join("index.json"))?;
        let manifest = read(blob(&index["manifests"][0]["digest"])?)?;
        let layers = manifest["layers"]
            .as_array()
            .context("an image without layers")?;
        fs::create_dir_all(&folder)?;
        for layer in layers {
            unpack(&blob(&layer["digest"])?, &folder)?;
        }
        Self { folder }.connected()
    }

    /// Copies the certificates and the name resolution of the host.
    fn connected(self) -> Result<Self> {
        for file in [CERTIFICATES, "/etc/resolv.conf", "/etc/hosts"] {
            let to = self.folder.join(&file[1..]);
            fs::create_dir_all(to.parent().unwrap_or(&self.folder))?;
            fs::copy(file, to).with_context(|| format!("cannot copy {file}"))?;
        }
        fs::create_dir_all(self.folder.join("proc"))?;
        Ok(self)
    }

    /// Runs a script with one file in `/dist`.
    fn try_out(&self, file: &Path, script: &str) -> Result<()> {
        let dist = self.folder.join("dist");
        fs::create_dir_all(&dist)?;
        let name = file.file_name().context("a file without a name")?;
        fs::copy(file, dist.join(name))?;
        report(file, || self.run("0:0", "/root", &["sh", "-ec", script]))?;
        fs::remove_dir_all(dist).context("cannot remove what was tried")
    }

    /// Runs a program in the system, with an environment of its own.
    fn run(&self, user: &str, home: &str, words: &[&str]) -> Result<()> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-ec"]);
        command.arg("mount -t proc proc \"$1/proc\" && shift && exec chroot \"$@\"");
        command.arg("sh").arg(&self.folder);
        command.arg(format!("--userspec={user}")).arg(&self.folder);
        command.args(words).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin");
        command.env("HOME", home).env("SSL_CERT_FILE", CERTIFICATES);
        run_program(&mut command)
    }
}

fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--file").arg(archive);
    run_program(tar.arg("--directory").arg(folder))
}

/// Reports how long installing a file and running the demo took.
fn report(file: &Path, trial: impl FnOnce() -> Result<()>) -> Result<()> {
    let name = file.file_name().unwrap_or_default().display();
    let started = Instant::now();
    trial().with_context(|| format!("{name} does not work"))?;
    println!(
        "{name}: works, after {:.1} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
