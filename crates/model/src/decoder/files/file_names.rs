//! The names of the files of a model or an adapter, as Hugging Face and PEFT give them.

/// The file that makes a folder a model. It is written last.
pub(in crate::decoder) const CONFIG_FILE: &str = "config.json";
/// The weights, in one file.
pub(in crate::decoder) const WEIGHTS_FILE: &str = "model.safetensors";
/// The end of the name of an index of weights in several files.
pub(in crate::decoder) const INDEX_END: &str = ".safetensors.index.json";

/// Files without weights that are copied unchanged.
pub(in crate::decoder) const COPIED: [&str; 6] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "tokenizer.model",
];

/// The settings of an adapter: the file that makes a folder an adapter. It is written last.
pub const SETTINGS_FILE: &str = "adapter_config.json";
/// The tensors of an adapter.
pub const TENSORS_FILE: &str = "adapter_model.safetensors";

/// ken's record of a training, beside the weights or the adapter.
pub(in crate::decoder) const ORIGIN_FILE: &str = "ken.json";
