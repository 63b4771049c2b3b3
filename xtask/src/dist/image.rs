//! The container image: the C library and certificates of Debian, the program, and nothing else, as an archive in
//! OCI's layout. Making it needs neither root nor a daemon.
//!
//! Layout: <https://github.com/opencontainers/image-spec/blob/main/image-layout.md>.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Release, files_below, run, sha256_of};

/// The packages from Debian.
const SUITE: &str = "bookworm";
const PACKAGES: &str = "ca-certificates,libc6,libgcc-s1,netbase,tzdata";

/// The user that the program runs as, and the folders that belong to it.
pub(super) const USER: &str = "10001";
const FOLDERS: [&str; 2] = ["data", "models"];

/// Writes `ken-…-image.tar`.
pub(crate) fn build(release: &Release, tree: &Path) -> Result<()> {
    let work = tempfile::tempdir().context("cannot make a folder")?;
    let layout = Layout::new(work.path().join("layout"))?;
    let layers = [
        layout.layer(&system(work.path())?)?,
        layout.layer(&program(work.path(), tree)?)?,
        layout.layer(&volumes(work.path())?)?,
    ];
    let config = layout.json(&config(release, &layers)?)?;
    let manifest = layout.json(&json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described("application/vnd.oci.image.config.v1+json", &config),
        "layers": layers.each_ref().map(|layer| described("application/vnd.oci.image.layer.v1.tar", layer)),
    }))?;
    let mut listed = described("application/vnd.oci.image.manifest.v1+json", &manifest);
    listed["annotations"] = json!({ "org.opencontainers.image.ref.name": release.version });
    layout.index(&listed)?;
    let archive = release.out.join(format!("{}-image.tar", release.name()));
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--file").arg(archive);
    tar.arg("--directory").arg(&layout.folder).arg(".");
    run(&mut tar)
}

/// Debian's part, extracted but not configured, so that it needs neither root nor a chroot.
fn system(work: &Path) -> Result<PathBuf> {
    let (layer, folder) = (work.join("system.tar"), work.join("system"));
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--mode=chrootless", "--variant=extract"]);
    command.args(["--format=directory", "--skip=check/chrootless,output/dev"]);
    command.arg(format!("--include={PACKAGES}"));
    command.arg(SUITE).arg(&folder);
    run(&mut command).context("mmdebstrap makes the image's base: `apt-get install mmdebstrap`")?;
    certificates(&folder)?;
    let users =
        format!("root:x:0:0::/:/usr/sbin/nologin\nken:x:{USER}:{USER}::/data:/usr/sbin/nologin\n");
    fs::write(folder.join("etc/passwd"), users).context("cannot write the users")?;
    pack(&folder, "0", &["."], &layer)?;
    Ok(layer)
}

/// Puts the certificates into one file, as their package's own script does.
fn certificates(system: &Path) -> Result<()> {
    let certificates = system.join("usr/share/ca-certificates/mozilla");
    let mut all = Vec::new();
    for name in files_below(&certificates, |_| false)? {
        all.extend(fs::read(certificates.join(name))?);
    }
    let folder = system.join("etc/ssl/certs");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("ca-certificates.crt"), all).context("cannot write the certificates")
}

/// The program and the licences.
fn program(work: &Path, tree: &Path) -> Result<PathBuf> {
    let (layer, folder) = (work.join("program.tar"), work.join("program"));
    let (programs, notices) = (folder.join("usr/bin"), folder.join("usr/share/doc/ken"));
    fs::create_dir_all(&programs)?;
    fs::create_dir_all(&notices)?;
    fs::copy(tree.join("ken"), programs.join("ken")).context("cannot copy the program")?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY"] {
        fs::copy(tree.join(name), notices.join(name)).context("cannot copy the licences")?;
    }
    pack(&folder, "0", &["usr"], &layer)?;
    Ok(layer)
}

/// The folders that volumes are mounted at; a volume takes over their owner.
fn volumes(work: &Path) -> Result<PathBuf> {
    let (layer, folder) = (work.join("volumes.tar"), work.join("volumes"));
    for name in FOLDERS {
        fs::create_dir_all(folder.join(name))?;
    }
    pack(&folder, USER, &FOLDERS, &layer)?;
    Ok(layer)
}

/// Puts folders that belong to `owner` into a layer.
fn pack(folder: &Path, owner: &str, names: &[&str], to: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--mtime=@0", "--numeric-owner"]);
    tar.arg(format!("--owner={owner}"))
        .arg(format!("--group={owner}"));
    tar.arg("--file").arg(to).arg("--directory").arg(folder);
    run(tar.args(names))
}

/// How the image is run.
fn config(release: &Release, layers: &[Blob]) -> Result<Value> {
    let layers: Vec<&String> = layers.iter().map(|layer| &layer.digest).collect();
    Ok(json!({
        "architecture": release.architecture()?,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/bin:/bin", "KEN_HOME=/models", "KEN_LISTEN=0.0.0.0:8484", "HOME=/data"],
            "Entrypoint": ["ken"],
            "Cmd": ["serve"],
            "WorkingDir": "/data",
            "ExposedPorts": { "8484/tcp": {} },
            "Volumes": { "/data": {}, "/models": {} },
            "Labels": {
                "org.opencontainers.image.title": "ken",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": layers },
    }))
}

/// A file of a layout, named by its content.
struct Blob {
    digest: String,
    bytes: u64,
}

/// A folder in the layout of OCI.
struct Layout {
    folder: PathBuf,
}

impl Layout {
    fn new(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(folder.join("blobs/sha256")).context("cannot make the layout")?;
        fs::write(
            folder.join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )?;
        Ok(Self { folder })
    }

    /// Adds a layer, which is not compressed, so that its digest is also that of its content.
    fn layer(&self, tar: &Path) -> Result<Blob> {
        let (digest, bytes) = (sha256_of(tar)?, fs::metadata(tar)?.len());
        fs::copy(tar, self.folder.join("blobs/sha256").join(&digest))?;
        let digest = format!("sha256:{digest}");
        Ok(Blob { digest, bytes })
    }

    fn json(&self, value: &Value) -> Result<Blob> {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), value.to_string())?;
        self.layer(file.path())
    }

    fn index(&self, manifest: &Value) -> Result<()> {
        let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
        fs::write(self.folder.join("index.json"), index.to_string()).context("cannot write it")
    }
}

/// How one file of a layout names another.
fn described(media_type: &str, blob: &Blob) -> Value {
    json!({ "mediaType": media_type, "digest": blob.digest, "size": blob.bytes })
}
