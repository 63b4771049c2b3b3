//! Models that are pulled from a hub, which is a server in this process.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use ken_hub::{Environment, HubError, ModelCache, ModelReference};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::loopback::{Reply, Server};
use crate::world::{Contents, KEPT, Refusal, World};

/// A folder of pulled models.
#[derive(Debug, Clone, Copy)]
pub struct PullsWorld;

const REPOSITORIES: [&str; 3] = ["one", "two", "three"];
const CONFIG: &[u8] = b"{\"model_type\": \"llama\"}";

/// Other bytes for each repository.
fn weights(repository: &str) -> Vec<u8> {
    let mut hash = blake3::Hasher::new()
        .update(repository.as_bytes())
        .finalize_xof();
    let mut bytes = vec![0; 2900];
    hash.fill(&mut bytes);
    bytes
}

fn listing(repository: &str) -> String {
    let weights = weights(repository);
    let sha256: String = Sha256::digest(&weights)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    json!({"sha": PullsWorld::COMMIT, "siblings": [
        {"rfilename": "config.json", "size": CONFIG.len()},
        {"rfilename": "1_Pooling/config.json"},
        {"rfilename": "model.safetensors", "size": weights.len(),
         "lfs": {"sha256": sha256, "size": weights.len(), "pointerSize": 134}},
    ]})
    .to_string()
}

/// The hub, which lives as long as the process.
fn hub() -> &'static str {
    static HUB: OnceLock<Server> = OnceLock::new();
    let server = HUB.get_or_init(|| {
        Server::start(|request| {
            let of = |repository: &&&str| request.path.contains(&format!("/org/{repository}/"));
            let Some(repository) = REPOSITORIES.iter().find(of) else {
                return Reply::status(404);
            };
            match request
                .path
                .rsplit_once(&format!("/resolve/{}/", PullsWorld::COMMIT))
            {
                Some((_, "config.json")) => Reply::file(CONFIG),
                Some((_, "1_Pooling/config.json")) => Reply::file(b"{}"),
                Some((_, "model.safetensors")) => Reply::file(&weights(repository)),
                Some(_) => Reply::status(404),
                None => Reply::text(listing(repository)),
            }
        })
    });
    &server.url
}

fn cache(dir: &Path) -> ModelCache {
    let environment = Environment::of_process()
        .with("HF_ENDPOINT", hub())
        .with("HF_HOME", &dir.join("shared").to_string_lossy())
        .without("HF_TOKEN");
    ModelCache::open_with(&dir.join(KEPT).join("home"), environment)
}

fn reference(repository: &str) -> ModelReference {
    let reference = format!("hf:org/{repository}").parse();
    reference.expect("the name of a model")
}

/// The contents of a pulled model; `None` if it is not pulled.
fn held(cache: &ModelCache, reference: &ModelReference) -> Result<Option<String>, String> {
    match cache.info(reference) {
        Err(error) if error.kind() == "not_pulled" => Ok(None),
        Err(error) => Err(error.to_string()),
        Ok(record) => {
            let checked = cache.verify(reference, &mut |_| {}, &AtomicBool::new(false));
            let checked = checked.map_err(|error: HubError| error.to_string())?;
            match checked.is_intact() {
                true => Ok(Some(format!("{} files", record.files.len()))),
                false => Err(format!("{reference} is damaged: {:?}", checked.files)),
            }
        }
    }
}

impl PullsWorld {
    /// Where all repositories stand.
    pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// Removes one.
    pub(crate) fn remove(dir: &Path, step: usize) -> Result<(), String> {
        let removed = cache(dir).remove(&reference(REPOSITORIES[step]));
        removed.map(|_| ()).map_err(|error| error.to_string())
    }
}

impl World for PullsWorld {
    fn name(&self) -> &'static str {
        "pulls"
    }

    fn steps(&self) -> usize {
        REPOSITORIES.len()
    }

    fn take(&self, dir: &Path, step: usize) -> Result<(), Refusal> {
        let pulled = cache(dir).pull(
            &reference(REPOSITORIES[step]),
            &mut |_| {},
            &AtomicBool::new(false),
        );
        pulled
            .map(|_| ())
            .map_err(|error| Refusal::new(error.kind(), &error))
    }

    fn contents(&self, dir: &Path) -> Result<Contents, String> {
        let cache = cache(dir);
        let mut all = Contents::new();
        for repository in REPOSITORIES {
            if let Some(held) = held(&cache, &reference(repository))? {
                all.insert(repository.to_owned(), held);
            }
        }
        Ok(all)
    }
}
