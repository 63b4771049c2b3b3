//! Training of tiny decoders of every family.

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

use std::ops::ControlFlow;
use std::path::PathBuf;

use checkpoint::Tiny;
use ken_model::decoder::{Checkpoint, Origin, PromptForm};
use ken_testing::with;
use tempfile::TempDir;

use crate::{
    Examples, History, LoraSettings, Objective, Outcome, Progress, Sequence, TrainError,
    TrainSettings, Trainable, train,
};

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
    with!(LoraSettings::default(), rank: 3, alpha: 6.0, tokens: vec![5, 9])
}

/// Trains on a set without validation.
fn trained_on(
    model: &Trainable,
    examples: &[Objective],
    settings: &TrainSettings,
    checkpoint: Option<&PathBuf>,
    on: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(Outcome, History), TrainError> {
    train(
        model,
        &Examples::Set(examples),
        &[],
        settings,
        checkpoint,
        on,
    )
}

/// Never stops.
fn go_on(_: Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The origin of an adapter.
fn origin(model: &Trainable, prompt: PromptForm) -> Origin {
    Origin {
        base: model.base.clone(),
        purpose: "test".to_owned(),
        prompt,
        boundary: None,
        sources: None,
        held_out: None,
        learned_from: Vec::new(),
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
