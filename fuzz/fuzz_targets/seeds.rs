//! Writes valid files for the targets to begin with, below `corpus` in the current folder.

#[allow(dead_code)]
#[path = "../../crates/model/tests/loading/load.rs"]
mod load;

#[allow(dead_code)]
#[path = "../../crates/model/tests/fuzzing/model_files.rs"]
mod model_files;
#[allow(dead_code)]
#[path = "../../crates/model/tests/fuzzing/wheels.rs"]
mod wheels;

use std::path::Path;

use load::{Place, Reader};
use model_files::ModelFile;

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
    for (target, name, file) in [
        ("tokenizer", "decoder", ModelFile::DecoderTokenizer),
        ("tokenizer", "embedder", ModelFile::EmbedderTokenizer),
        ("config", "decoder", ModelFile::DecoderConfig),
        ("config", "embedder", ModelFile::EmbedderConfig),
        ("template", "template", ModelFile::Template),
        ("adapter", "settings", ModelFile::AdapterSettings),
        ("adapter", "tensors", ModelFile::AdapterTensors),
    ] {
        write(target, name, &model_files::Place::new(file).valid())?;
    }
    write("wheel", "model", &wheels::valid())?;
    Ok(())
}

fn write(target: &str, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let folder = Path::new("corpus").join(target);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), bytes)
}
