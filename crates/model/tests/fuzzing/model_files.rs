//! Loads arbitrary bytes as one file of a model, and uses the model if it loads.

#[path = "../loading/tiny_models.rs"]
mod tiny_models;

use std::ops::ControlFlow;
use std::path::PathBuf;

use ken_language::{Embedder, GenerateOptions, Role as TextRole, Sampling};
use ken_model::Precision;
use ken_model::decoder::{Decoder, DecoderError, LoadOptions, Message, Role};
use ken_model::encoder::{Encoder, EncoderError};
use ken_testing::{cases, with};
use tempfile::TempDir;
use tiny_models::checkpoint::Tensors;
use tiny_models::{folder, loaded, write_decoder, write_embedder, write_gguf};

/// The file that gets the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelFile {
    /// A decoder's `tokenizer.json`.
    DecoderTokenizer,
    /// A decoder's `config.json`.
    DecoderConfig,
    /// A chat template in its own file.
    Template,
    /// An adapter's `adapter_config.json`.
    AdapterSettings,
    /// An adapter's `adapter_model.safetensors`.
    AdapterTensors,
    /// A GGUF file whose metadata hold a tokenizer.
    Gguf,
    /// An embedder's `tokenizer.json`.
    EmbedderTokenizer,
    /// An embedder's `config.json`.
    EmbedderConfig,
}

const TEMPLATE: &str = "{% set ns = namespace(text='') %}{% for m in messages %}{% if loop.first and m['role'] != 'system' %}{{ bos_token }}{% endif %}[{{ m.role | upper }}]{{ m.content.strip() ~ '\n' }}{% set ns.text = ns.text + m.content | trim %}{% endfor %}{% macro turn(a, b=2) %}{{ a * b }}{% endmacro %}{{ turn(ns.text | length) }}{% if add_generation_prompt %}[ASSISTANT]{% endif %}";

/// A folder with a model.
pub(crate) struct Place {
    file: ModelFile,
    folder: TempDir,
}

impl Place {
    /// Writes a model with only valid files.
    pub(crate) fn new(file: ModelFile) -> Self {
        let folder = TempDir::new().unwrap();
        match file {
            ModelFile::EmbedderTokenizer | ModelFile::EmbedderConfig => {
                write_embedder(folder.path());
            }
            ModelFile::Gguf => write_gguf(&folder.path().join("tiny.gguf")),
            _ => {
                write_decoder(folder::Layout::F32, folder.path());
                std::fs::write(folder.path().join("chat_template.jinja"), TEMPLATE).unwrap();
                let adapter = folder.path().join("adapter");
                std::fs::create_dir(&adapter).unwrap();
                let settings = serde_json::json!({
                    "peft_type": "LORA",
                    "task_type": "CAUSAL_LM",
                    "r": 2,
                    "lora_alpha": 4.0,
                    "target_modules": ["q_proj"],
                });
                folder::write_json(&adapter.join("adapter_config.json"), &settings);
                let name = "base_model.model.model.layers.0.self_attn.q_proj";
                let tensors = Tensors::from(cases![
                    format!("{name}.lora_A.weight") => (vec![2, 32], vec![0.1; 64]);
                    format!("{name}.lora_B.weight") => (vec![32, 2], vec![0.1; 64]);
                ]);
                let path = adapter.join("adapter_model.safetensors");
                folder::write_tensors(&path, &tensors, folder::Layout::F32);
            }
        }
        Self { file, folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(match self.file {
            ModelFile::DecoderTokenizer | ModelFile::EmbedderTokenizer => "tokenizer.json",
            ModelFile::DecoderConfig | ModelFile::EmbedderConfig => "config.json",
            ModelFile::Template => "chat_template.jinja",
            ModelFile::AdapterSettings => "adapter/adapter_config.json",
            ModelFile::AdapterTensors => "adapter/adapter_model.safetensors",
            ModelFile::Gguf => "tiny.gguf",
        })
    }

    /// The file as it was written.
    pub(crate) fn valid(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }

    /// Writes the bytes into the file, loads the model and uses it if it loads. Returns whether it does; a refusal
    /// must be a typed error with a message.
    pub(crate) fn load(&self, bytes: &[u8]) -> bool {
        std::fs::write(self.path(), bytes).unwrap();
        loaded(&match self.file {
            ModelFile::EmbedderTokenizer | ModelFile::EmbedderConfig => {
                self.use_embedder().map_err(|e| (e.kind(), e.to_string()))
            }
            _ => self.use_decoder().map_err(|e| (e.kind(), e.to_string())),
        })
    }

    fn use_decoder(&self) -> Result<(), DecoderError> {
        let is_adapter = matches!(
            self.file,
            ModelFile::AdapterSettings | ModelFile::AdapterTensors
        );
        let options = with!(LoadOptions::default(),
            adapter: is_adapter.then(|| self.folder.path().join("adapter")));
        let path = match self.file {
            ModelFile::Gguf => self.path(),
            _ => self.folder.path().to_owned(),
        };
        let decoder = Decoder::load(&path, &options)?;
        let conversation = [
            Message::new(Role::System, "be brief"),
            Message::new(Role::User, "the thing</s>"),
        ];
        if self.file == ModelFile::Template {
            decoder.chat_prompt(&conversation, 1)?;
            return Ok(());
        }
        let _ = decoder.chat_prompt(&conversation, 1);
        let writing = GenerateOptions::new(Sampling::Greedy, 2);
        if let Ok(prompt) = decoder.prompt("", "the thing 12 \u{1f600} it's") {
            let _ = decoder.generate(&prompt, &writing, &mut |_| ControlFlow::Continue(()));
        }
        Ok(())
    }

    fn use_embedder(&self) -> Result<(), EncoderError> {
        let encoder = Encoder::load(self.folder.path(), Precision::F32)?;
        let _ = encoder.embed(&["w3 w5", "", "\u{1f600} w1"], TextRole::Passage);
        let _ = encoder.token_spans("w3 深 w5");
        Ok(())
    }
}
