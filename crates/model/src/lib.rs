//! Models in files or behind endpoints: what every language model and every embedder can be asked
//! (`language`, `embedder`), decoders that write and score text here (`decoder`), encoders that
//! embed it (`encoder`), the arithmetic that both share (`kernels`), both behind endpoints
//! (`remote`), and a model with a known boundary, for tests (`table`). Knows nothing of corpora, prompts' contents or routing.

pub mod decoder;
pub mod embedder;
pub mod encoder;
mod fingerprint;
pub mod kernels;
pub mod language;
pub mod remote;
mod small_file;
pub mod table;
mod tensor_file;
mod tokenizer_growth;
mod tokenizing;

pub use fingerprint::of_texts as fingerprint_of_texts;
pub use ken_storage::same_fingerprint as same_model;
pub use kernels::{Precision, UnknownName};
