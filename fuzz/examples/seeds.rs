//! Writes valid seed files for the targets, below `corpus` in the current folder.

// Each module is used in part.
#![allow(dead_code, unused_imports)]

include!("../server.rs.in");

#[path = "../../crates/ingest/tests/fuzzing/corpus_folder.rs"]
mod corpus_folder;

#[path = "../../crates/documents/tests/fuzzing/seeds.rs"]
mod documents;
#[path = "../../crates/documents/tests/files/mod.rs"]
mod files;
#[path = "../../crates/model/tests/fuzzing/endpoint_json.rs"]
mod endpoint_json;
#[path = "../../crates/answer/tests/fuzzing/datastore.rs"]
mod datastore;
#[path = "../../crates/model/tests/loading/load.rs"]
mod load;
#[path = "../../crates/model/tests/fuzzing/server_sent_events.rs"]
mod server_sent_events;

#[path = "../../crates/index/tests/fuzzing/read.rs"]
mod read;
#[path = "../../crates/model/tests/fuzzing/model_files.rs"]
mod model_files;
#[path = "../../crates/hub/tests/fuzzing/wheels.rs"]
mod wheels;

use std::path::Path;

use corpus_folder::{Instead, Verb};
use fuzzing::kept::{JournalPlace, KeysPlace};
use fuzzing::requests::{Asked, Tried};
use load::{Place, Reader};
use model_files::ModelFile;
use read::{Segment, TABLES, Tables};

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
            Some("docx" | "pptx" | "xlsx") => "office",
            Some("odt") => "open_document",
            Some("epub") => "epub",
            Some("zip" | "tar") => "archives",
            Some("eml" | "mbox") => "mail",
            Some("ipynb") => "notebook",
            Some("rtf") => "rtf",
            Some("json") => "json_array",
            Some("rst" | "org" | "adoc" | "tex") => "light_markup",
            _ => "segmentation",
        };
        write(target, &name, &bytes)?;
    }
    for (choice, layout) in (0..).zip(["graph", "disk"]) {
        let graph = std::fs::read(Segment::new(layout).file("vectors.graph"))?;
        write("graph", layout, &[&[choice][..], &graph].concat())?;
    }
    let tables = Tables::new();
    for (choice, layout) in (0..).zip(TABLES) {
        write("segment_tables", &layout.replace(':', "-"), &tables.valid(choice))?;
    }
    write("query", "words", "who drives the tide? 北京在哪里".as_bytes())?;
    write("query", "filter", b"year>=1969")?;
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
    for (target, seeds) in [
        ("endpoint_json", &endpoint_json::SEEDS[..]),
        ("server_sent_events", &server_sent_events::SEEDS[..]),
    ] {
        for (number, seed) in seeds.iter().enumerate() {
            write(target, &number.to_string(), seed.as_bytes())?;
        }
    }
    write("datastore", "valid", &datastore::Place::new().valid())?;
    for (target, seeds) in [
        ("requests", Asked::new(Tried::Json).seeds()),
        ("uploads", Asked::new(Tried::Files).seeds()),
        ("keys", vec![KeysPlace::new().valid()]),
        ("journal", JournalPlace::seeds()),
        ("corpus_folder", corpora()),
    ] {
        for (number, seed) in seeds.iter().enumerate() {
            write(target, &number.to_string(), seed)?;
        }
    }
    Ok(())
}

/// Each file of a corpus as it is, and each replacement under each verb of some of its paths.
fn corpora() -> Vec<Vec<u8>> {
    let place = corpus_folder::Place::new();
    let case = corpus_folder::Place::case;
    let mut seeds: Vec<Vec<u8>> = place
        .valid()
        .map(|(number, bytes)| case(number, 1, 0, bytes))
        .collect();
    for instead in 0..Instead::ALL.len() {
        for verb in 0..Verb::ALL.len() {
            let number = (instead * Verb::ALL.len() + verb) % place.count();
            seeds.push(case(number, instead, verb, b"[]"));
        }
    }
    seeds
}

fn write(target: &str, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let folder = Path::new("corpus").join(target);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), bytes)
}
