//! Tiny decoders of every family that learn.

mod gradients;
mod peft;
mod training;

#[allow(dead_code)]
#[path = "../../../model/tests/decoder/checkpoint.rs"]
mod checkpoint;
#[allow(dead_code)]
#[path = "../../../model/tests/decoder/folder.rs"]
mod folder;
#[allow(dead_code)]
#[path = "../../../model/tests/decoder/vocabulary.rs"]
mod vocabulary;

use checkpoint::Tiny;
use ken_model::decoder::Checkpoint;
use tempfile::TempDir;

use crate::{LoraSettings, Sequence};

/// A tiny decoder's files.
fn files(tiny: &Tiny) -> TempDir {
    let dir = TempDir::new().unwrap();
    folder::write(tiny, folder::Layout::F32, dir.path());
    dir
}

fn opened(dir: &TempDir) -> Checkpoint {
    Checkpoint::open(dir.path(), None).unwrap()
}

fn lora() -> LoraSettings {
    LoraSettings {
        rank: 3,
        alpha: 6.0,
        tokens: vec![5, 9],
        ..LoraSettings::default()
    }
}

/// Sequences of tokens that every tiny decoder knows.
fn sequences() -> Vec<Sequence> {
    vec![
        Sequence::completion(&[3, 5, 9, 4], &[7, 9, 2]),
        Sequence::whole(vec![6, 5, 4, 3, 8]),
        Sequence {
            tokens: vec![8, 2, 9],
            weights: vec![0.0, 0.5, 2.0],
        },
        Sequence::completion(&[4, 4], &[6, 5, 9, 9, 3, 2]),
    ]
}
