//! A model's files: opens, checks and writes them.

pub(in crate::decoder) mod checkpoint;
pub(in crate::decoder) mod export;
pub(in crate::decoder) mod file_names;
pub(in crate::decoder) mod footprint;
pub(in crate::decoder) mod gguf;
pub(in crate::decoder) mod gguf_header;
pub(in crate::decoder) mod origin;
pub(in crate::decoder) mod replacement;
pub(in crate::decoder) mod settings_file;
pub(in crate::decoder) mod shards;
pub(in crate::decoder) mod size;
pub(in crate::decoder) mod stored_weights;
pub(in crate::decoder) mod tensors;
pub(in crate::decoder) mod untrained;
pub(in crate::decoder) mod weights;
