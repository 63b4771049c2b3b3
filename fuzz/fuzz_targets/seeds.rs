//! Writes valid files for the targets to begin with, below `corpus` in the current folder.

#[allow(dead_code)]
#[path = "../../crates/model/tests/fuzzing/endpoint_json.rs"]
mod endpoint_json;
#[allow(dead_code)]
#[path = "../../crates/model/tests/loading/load.rs"]
mod load;
#[allow(dead_code)]
#[path = "../../crates/model/tests/fuzzing/server_sent_events.rs"]
mod server_sent_events;

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
    for (target, seeds) in [
        ("endpoint_json", &endpoint_json::SEEDS[..]),
        ("server_sent_events", &server_sent_events::SEEDS[..]),
    ] {
        let folder = Path::new("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in seeds.iter().enumerate() {
            std::fs::write(folder.join(number.to_string()), seed)?;
        }
    }
    Ok(())
}
