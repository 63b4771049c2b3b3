//! Writes valid files for the targets to begin with, below `corpus` in the current folder.

#[allow(dead_code)]
#[path = "../../crates/answer/tests/fuzzing/datastore.rs"]
mod datastore;
#[allow(dead_code)]
#[path = "../../crates/model/tests/loading/load.rs"]
mod load;

use std::path::Path;

use load::{Place, Reader};

fn main() -> std::io::Result<()> {
    for (target, name, reader) in [
        ("gguf", "decoder", Reader::Gguf),
        ("safetensors", "decoder", Reader::Decoder),
        ("safetensors", "embedder", Reader::Embedder),
    ] {
        let folder = Path::new("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::copy(Place::new(reader).weights(), folder.join(name))?;
    }
    let folder = Path::new("corpus/datastore");
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("valid"), datastore::Place::new().valid())
}
