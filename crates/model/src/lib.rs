//! Models in files or behind endpoints: decoders that generate and score text on this machine (`decoder`), encoders
//! that embed it (`encoder`), the arithmetic that both share (`kernels`), and both behind endpoints (`remote`). Other
//! crates have the corpora, the prompts and the routing.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use ken_model::decoder::{Decoder, LoadOptions};
//!
//! let decoder = Decoder::load(Path::new("smollm2-135m-instruct.gguf"), &LoadOptions::default())?;
//! assert!(decoder.has_chat_template() && decoder.context_tokens() > 2_000);
//! # Ok::<(), ken_model::decoder::DecoderError>(())
//! ```

pub mod decoder;
pub mod encoder;
mod fingerprint;
pub mod kernels;
mod memory;
pub mod remote;
mod small_file;
mod tensor_file;
mod tokenization;
mod tokenizer_growth;

pub use kernels::Precision;
pub use memory::available_memory;
