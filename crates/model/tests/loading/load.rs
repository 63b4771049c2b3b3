//! Loads whatever bytes stand where a model's weights should: one function for the seeded
//! mutations beside it and for the fuzz targets. The models are tiny, and whole but for the bytes.

// The helpers serve other tests too, which use the rest of them.
#[allow(dead_code)]
#[path = "../decoder/checkpoint.rs"]
mod checkpoint;
#[allow(dead_code)]
#[path = "../encoder_families/checkpoint.rs"]
mod embedder;
#[allow(dead_code)]
#[path = "../decoder/folder.rs"]
mod folder;
#[allow(dead_code)]
#[path = "../decoder/gguf.rs"]
mod gguf;
#[allow(dead_code)]
#[path = "../decoder/reference.rs"]
mod reference;
#[allow(dead_code)]
#[path = "../decoder/vocabulary.rs"]
mod vocabulary;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use candle_core::quantized::GgmlDType;
use checkpoint::Tiny;
use ken_language::{GenerateOptions, Role, Sampling};
use ken_model::Precision;
use ken_model::decoder::{Decoder, DecoderError, LoadOptions};
use ken_model::encoder::{Encoder, EncoderError};
use tempfile::TempDir;

/// Which reader gets the bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reader {
    /// A decoder's GGUF file.
    Gguf,
    /// The safetensors of a decoder.
    Decoder,
    /// The safetensors of an embedder.
    Embedder,
}

/// A folder with all that a model has beside its weights.
pub(crate) struct Place {
    reader: Reader,
    folder: TempDir,
}

impl Place {
    /// Writes a model of which every file is valid.
    pub(crate) fn new(reader: Reader) -> Self {
        let folder = TempDir::new().unwrap();
        let tiny = Tiny {
            layers: 1,
            tied: false,
            ..Tiny::new("llama")
        };
        match reader {
            Reader::Gguf => {
                gguf::write(&tiny, GgmlDType::Q8_0, &folder.path().join("tiny.gguf"));
            }
            Reader::Decoder => {
                folder::write(&tiny, folder::Layout::F16, folder.path());
            }
            Reader::Embedder => {
                embedder::Tiny::default().write(folder.path());
            }
        }
        Self { reader, folder }
    }

    /// The file of the weights; a valid one after [`Place::new`].
    pub(crate) fn weights(&self) -> PathBuf {
        self.folder.path().join(match self.reader {
            Reader::Gguf => "tiny.gguf",
            Reader::Decoder | Reader::Embedder => "model.safetensors",
        })
    }

    /// Puts the bytes into the file of the weights, loads the model and uses it where it loads.
    /// Returns whether it does; a refusal has to be a typed error with a message.
    pub(crate) fn load(&self, bytes: &[u8]) -> bool {
        std::fs::write(self.weights(), bytes).unwrap();
        self.load_what_is_there()
    }

    /// As [`Place::load`], of the file as it is.
    pub(crate) fn load_what_is_there(&self) -> bool {
        let refusal = match self.reader {
            Reader::Gguf => use_decoder(&self.weights()).map_err(|e| (e.kind(), e.to_string())),
            Reader::Decoder => {
                use_decoder(self.folder.path()).map_err(|e| (e.kind(), e.to_string()))
            }
            Reader::Embedder => {
                use_embedder(self.folder.path()).map_err(|e| (e.kind(), e.to_string()))
            }
        };
        match refusal {
            Ok(()) => true,
            Err((kind, message)) => {
                assert!(!kind.is_empty() && !message.is_empty());
                false
            }
        }
    }
}

/// Loads a decoder. Numbers that went wrong may make writing fail, but not panic.
fn use_decoder(path: &Path) -> Result<(), DecoderError> {
    let decoder = Decoder::load(path, &LoadOptions::default())?;
    let options = GenerateOptions {
        sampling: Sampling::Greedy,
        max_tokens: 2,
        stop: Vec::new(),
    };
    if let Ok(prompt) = decoder.prompt("", "the thing") {
        let _ = decoder.generate(&prompt, &options, &mut |_| ControlFlow::Continue(()));
    }
    Ok(())
}

fn use_embedder(folder: &Path) -> Result<(), EncoderError> {
    let encoder = Encoder::load(folder, Precision::F32)?;
    let _ = encoder.embed(&["w3 w5"], Role::Passage);
    Ok(())
}
