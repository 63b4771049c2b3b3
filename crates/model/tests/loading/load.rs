//! Loads arbitrary bytes as a model's weights, for the seeded mutations beside it and for the fuzz targets. The
//! models are tiny, and valid except for the bytes.

#[path = "tiny_models.rs"]
mod tiny_models;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ken_language::{GenerateOptions, Role, Sampling};
use ken_model::Precision;
use ken_model::decoder::{Decoder, DecoderError, LoadOptions};
use ken_model::encoder::{Encoder, EncoderError};
use tempfile::TempDir;
use tiny_models::{folder, loaded, write_decoder, write_embedder, write_gguf};

/// The reader of the bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reader {
    /// A decoder's GGUF file.
    Gguf,
    /// The safetensors of a decoder.
    Decoder,
    /// The safetensors of an embedder.
    Embedder,
}

/// A folder with a model.
pub(crate) struct Place {
    reader: Reader,
    folder: TempDir,
}

impl Place {
    /// Writes a model with only valid files.
    pub(crate) fn new(reader: Reader) -> Self {
        let folder = TempDir::new().unwrap();
        match reader {
            Reader::Gguf => write_gguf(&folder.path().join("tiny.gguf")),
            Reader::Decoder => write_decoder(folder::Layout::F16, folder.path()),
            Reader::Embedder => write_embedder(folder.path()),
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

    /// Writes the bytes into the file of the weights, loads the model and uses it if it loads. Returns whether it
    /// does; a refusal must be a typed error with a message.
    pub(crate) fn load(&self, bytes: &[u8]) -> bool {
        std::fs::write(self.weights(), bytes).unwrap();
        self.load_what_is_there()
    }

    /// [`Place::load`] with the file unchanged.
    pub(crate) fn load_what_is_there(&self) -> bool {
        loaded(&match self.reader {
            Reader::Gguf => use_decoder(&self.weights()).map_err(|e| (e.kind(), e.to_string())),
            Reader::Decoder => {
                use_decoder(self.folder.path()).map_err(|e| (e.kind(), e.to_string()))
            }
            Reader::Embedder => {
                use_embedder(self.folder.path()).map_err(|e| (e.kind(), e.to_string()))
            }
        })
    }
}

/// Loads a decoder. Broken numbers may make generation fail, but not panic.
fn use_decoder(path: &Path) -> Result<(), DecoderError> {
    let decoder = Decoder::load(path, &LoadOptions::default())?;
    let options = GenerateOptions::new(Sampling::Greedy, 2);
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
