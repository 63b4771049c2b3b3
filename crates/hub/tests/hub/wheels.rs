//! Small wheels for the tests, and an environment to pull them in.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ken_hub::{Environment, HubError, ModelCache, ModelRecord, ModelReference};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

use super::loopback::{Reply, Request, Server};

pub(crate) const WHEEL: &str = "tiny_model-1.0-py3-none-any.whl";
pub(crate) const FILE: &str = "pypi:tiny-model==1.0/tiny_model/weights.gguf";
pub(crate) const FOLDER: &str = "pypi:tiny-model==1.0/tiny_model/model";

/// Incompressible bytes.
pub(crate) fn noise(n: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .collect()
}

/// The content of `weights.gguf`.
pub(crate) fn weights() -> Vec<u8> {
    noise(1_500_000)
}

/// A wheel of `tiny-model` 1.0 with one weights file, one model folder, and `extra` entries.
pub(crate) fn wheel_bytes(extra: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let weights = weights();
    let entries: [(&str, &[u8]); 6] = [
        ("tiny_model/__init__.py", b""),
        ("tiny_model/weights.gguf", &weights),
        ("tiny_model/model/config.json", b"{}"),
        ("tiny_model/model/1_Pooling/config.json", b"{\"a\": 1}"),
        (
            "tiny_model-1.0.dist-info/METADATA",
            b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
        ),
        (
            "tiny_model-1.0.dist-info/WHEEL",
            b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        ),
    ];
    for (name, content) in entries.iter().chain(extra) {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// A home for the cache, a folder of wheels, and an environment that reaches nothing else.
pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    pub(crate) environment: Environment,
}

impl Bench {
    /// With an empty folder of wheels.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let links = dir.path().join("links");
        std::fs::create_dir(&links).unwrap();
        let mut environment = Environment::of_process();
        for name in [
            "PIP_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "PIP_CERT",
            "PIP_PROXY",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "http_proxy",
            "https_proxy",
            "ALL_PROXY",
            "all_proxy",
            "NO_PROXY",
            "no_proxy",
            "HF_TOKEN",
            "KEN_PYTHON",
        ] {
            environment = environment.without(name);
        }
        let environment = environment
            .with("PIP_CONFIG_FILE", "/dev/null")
            .with("PIP_NO_CACHE_DIR", "1")
            // The server may be slow on a machine under load.
            .with("PIP_TIMEOUT", "300")
            .with("PIP_NO_INDEX", "1")
            .with("HF_HOME", &dir.path().join("hf").to_string_lossy())
            .with("PIP_FIND_LINKS", &links.to_string_lossy());
        Self { dir, environment }
    }

    /// With this wheel in the folder.
    pub(crate) fn with_wheel(bytes: &[u8]) -> Self {
        let bench = Self::new();
        std::fs::write(bench.dir.path().join("links").join(WHEEL), bytes).unwrap();
        bench
    }

    /// With a package index at `url` instead of the folder.
    pub(crate) fn with_index(url: &str) -> Self {
        let mut bench = Self::new();
        bench.environment = bench
            .environment
            .without("PIP_NO_INDEX")
            .without("PIP_FIND_LINKS")
            .with("PIP_INDEX_URL", &format!("{url}/simple"));
        bench
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment = self.environment.clone().with(name, value);
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn cache(&self) -> ModelCache {
        ModelCache::open_with(&self.home(), self.environment.clone())
    }

    pub(crate) fn pull(&self, reference: &str) -> Result<ModelRecord, HubError> {
        self.cache()
            .pull(&parse(reference), &mut |_| {}, &AtomicBool::new(false))
    }
}

pub(crate) fn parse(reference: &str) -> ModelReference {
    reference.parse().unwrap()
}

/// A package index with one wheel that answers requests for it with `answer`.
pub(crate) fn index(wheel: &[u8], answer: impl Fn(&Request) -> Reply + Send + 'static) -> Server {
    let hash = sha256(wheel);
    Server::start(move |request| match request.path.as_str() {
        "/simple/tiny-model/" => Reply::text(format!(
            "<html><body><a href=\"../../files/{WHEEL}#sha256={hash}\">{WHEEL}</a></body></html>"
        )),
        path if path.ends_with(WHEEL) => answer(request),
        _ => Reply::status(404),
    })
}

/// The only entry of `folder`.
pub(crate) fn only_entry(folder: &Path) -> PathBuf {
    let entries: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].path()
}

/// All files below `folder`, relative, sorted.
pub(crate) fn tree(folder: &Path) -> Vec<String> {
    fn walk(root: &Path, folder: &Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(root, &path, out);
            } else {
                out.push(
                    path.strip_prefix(root)
                        .unwrap()
                        .to_string_lossy()
                        .into_owned(),
                );
            }
        }
    }
    let mut out = Vec::new();
    walk(folder, folder, &mut out);
    out.sort();
    out
}
