//! Open models that answer over documents, by size. The list ages, so it has a date. All are of families
//! that ken supports, in files of 4 to 6 bits a weight, and need no account.

use crate::short_names::ShortName;

/// When the list was last checked.
pub const LISTED_ON: &str = "2026-11-28";

/// The bytes of memory that any model needs besides its weights and the keys and values of some two thousand tokens, which
/// grow with the weights.
const BESIDE: u64 = 300_000_000;

/// An open model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenModel {
    /// Its name, file and size.
    pub known: ShortName,
    /// Its license.
    pub licence: &'static str,
    /// The languages that it was made for; empty if there are dozens.
    pub languages: &'static [&'static str],
}

impl OpenModel {
    /// The bytes of memory that answering with it takes: its weights, its keys and values, and a constant.
    pub fn memory_bytes(&self) -> u64 {
        self.known.bytes + self.known.bytes / 5 + BESIDE
    }

    /// Whether it was made for a language.
    pub fn speaks(&self, language: &str) -> bool {
        self.languages.is_empty() || self.languages.contains(&language)
    }
}

macro_rules! models {
    ($($name:literal: $bytes:literal, $repository:literal / $file:literal, $sha256:literal, $licence:literal, $languages:expr;)*) => {
        [$(OpenModel {
            known: ShortName {
                name: $name,
                reference: concat!("hf:", $repository, "/", $file),
                weights: $file,
                sha256: $sha256,
                bytes: $bytes,
            },
            licence: $licence,
            languages: $languages,
        }),*]
    };
}

/// The languages of Llama 3.2, by its model card.
const EIGHT: &[&str] = &[
    "English",
    "German",
    "French",
    "Italian",
    "Portuguese",
    "Hindi",
    "Spanish",
    "Thai",
];

/// From small to large.
static MODELS: [OpenModel; 7] = models! {
    "qwen2.5-0.5b": 491_400_032,
        "Qwen/Qwen2.5-0.5B-Instruct-GGUF" / "qwen2.5-0.5b-instruct-q4_k_m.gguf",
        "74a4da8c9fdbcd15bd1f6d01d621410d31c6fc00986f5eb687824e7b93d7a9db", "Apache-2.0", &[];
    "smollm2-1.7b": 1_055_609_536,
        "HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF" / "smollm2-1.7b-instruct-q4_k_m.gguf",
        "decd2598bc2c8ed08c19adc3c8fdd461ee19ed5708679d1c54ef54a5a30d4f33", "Apache-2.0", &["English"];
    "qwen2.5-1.5b": 1_117_320_736,
        "Qwen/Qwen2.5-1.5B-Instruct-GGUF" / "qwen2.5-1.5b-instruct-q4_k_m.gguf",
        "6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e", "Apache-2.0", &[];
    "llama3.2-3b": 2_019_377_696,
        "bartowski/Llama-3.2-3B-Instruct-GGUF" / "Llama-3.2-3B-Instruct-Q4_K_M.gguf",
        "6c1a2b41161032677be168d354123594c0e6e67d2b9227c84f296ad037c728ff", "Llama 3.2 Community", EIGHT;
    "gemma3-4b": 2_489_757_856,
        "ggml-org/gemma-3-4b-it-GGUF" / "gemma-3-4b-it-Q4_K_M.gguf",
        "882e8d2db44dc554fb0ea5077cb7e4bc49e7342a1f0da57901c0802ea21a0863", "Gemma terms", &[];
    "qwen3-4b": 2_497_280_256,
        "Qwen/Qwen3-4B-GGUF" / "Qwen3-4B-Q4_K_M.gguf",
        "7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5", "Apache-2.0", &[];
    "qwen3-8b": 5_027_783_488,
        "Qwen/Qwen3-8B-GGUF" / "Qwen3-8B-Q4_K_M.gguf",
        "d98cdcbd03e17ce47681435b5150e34c1417f50b5c0019dd560e4882c5745785", "Apache-2.0", &[];
};

/// The list, from small to large.
pub fn open_models() -> &'static [OpenModel] {
    &MODELS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_goes_from_small_to_large_and_names_files() {
        assert!(MODELS.is_sorted_by_key(|model| model.known.bytes));
        for model in &MODELS {
            let ShortName {
                sha256, weights, ..
            } = model.known;
            assert!(weights.ends_with(".gguf"));
            assert!(sha256.len() == 64 && sha256.chars().all(|c| c.is_ascii_hexdigit()));
            assert!(model.memory_bytes() > model.known.bytes);
        }
    }

    #[test]
    fn a_language_is_one_of_those_listed_or_any() {
        let speaks = |index: usize, language: &str| MODELS[index].speaks(language);
        assert!(speaks(0, "Greek") && speaks(1, "English") && !speaks(1, "German"));
    }
}
