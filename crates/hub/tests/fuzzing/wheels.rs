//! Unpacks any bytes as a downloaded wheel.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ken_hub::{Environment, ModelCache, ModelReference};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

const REFERENCE: &str = "pypi:tiny-model==1.0/tiny_model/model";
const WHEEL: &str = "tiny_model-1.0-py3-none-any.whl";

/// A small wheel with a model.
pub(crate) fn valid() -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in [
        ("tiny_model/__init__.py", &b""[..]),
        ("tiny_model/model/config.json", b"{}"),
        ("tiny_model/model/1_Pooling/config.json", b"{\"a\": 1}"),
        ("tiny_model/model/model.safetensors", &[7; 5000]),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A cache with an already downloaded wheel.
pub(crate) struct Place {
    home: TempDir,
    cache: ModelCache,
    wheel: PathBuf,
}

impl Place {
    /// An empty cache.
    pub(crate) fn new() -> Self {
        let home = TempDir::new().unwrap();
        // Without Python nothing is downloaded; a wheel that is already there needs none.
        let environment = Environment::of_process().with("KEN_PYTHON", "/nonexistent/python");
        let cache = ModelCache::open_with(home.path(), environment);
        let mut place = Self {
            wheel: PathBuf::new(),
            cache,
            home,
        };
        assert!(!place.pull(), "without a wheel nothing can be pulled");
        let partial = place.home.path().join("partial");
        let own = std::fs::read_dir(partial).unwrap().next().unwrap().unwrap();
        place.wheel = own.path().join("wheel").join(WHEEL);
        place
    }

    fn pull(&self) -> bool {
        let reference: ModelReference = REFERENCE.parse().unwrap();
        let never = AtomicBool::new(false);
        match self.cache.pull(&reference, &mut |_| {}, &never) {
            Ok(_) => true,
            Err(error) => {
                assert!(!error.kind().is_empty() && !error.to_string().is_empty());
                false
            }
        }
    }

    /// Unpacks the bytes; returns whether they were a wheel with the model.
    pub(crate) fn unpack(&self, bytes: &[u8]) -> bool {
        std::fs::create_dir_all(self.wheel.parent().unwrap()).unwrap();
        std::fs::write(&self.wheel, bytes).unwrap();
        let pulled = self.pull();
        if pulled {
            let reference: ModelReference = REFERENCE.parse().unwrap();
            self.cache.remove(&reference).unwrap();
        }
        pulled
    }
}
