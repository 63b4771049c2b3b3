//! Writes valid files for the targets to begin with, below `corpus` in the current folder.

#[allow(dead_code)]
#[path = "../../crates/corpus/tests/fuzzing/seeds.rs"]
mod documents;
#[path = "../../crates/corpus/tests/files/mod.rs"]
mod files;
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
    for (name, bytes) in documents::small() {
        let target = match name.rsplit('.').next() {
            Some("md") => "markdown",
            Some("html") => "html",
            Some("pdf") => "pdf",
            Some("parquet") => "parquet",
            Some("xml") => "mediawiki",
            Some("csv" | "tsv") => "separated",
            Some("jsonl") => "json_lines",
            Some("gz" | "zst" | "bz2") => "compressed",
            _ => "segmentation",
        };
        let folder = Path::new("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
