//! The interfaces of language models, embedders and cross-encoders: traits, prompts, sampling options,
//! requests and responses, and the token that cancels a call. Other crates implement them, for models on this machine
//! and behind endpoints. This crate loads no model, and knows no tensors and no network.
//!
//! ```
//! use ken_language::StreamedText;
//!
//! // An answer ends where the next question would begin; a possible beginning of it is held back.
//! let mut answer = StreamedText::new(vec!["\nQuestion".to_owned()].into());
//! assert_eq!(answer.extend("The keeper\nQ"), "The keeper");
//! assert_eq!(answer.extend("The keeper\nQuestion: who"), "");
//! assert!(answer.stopped);
//! ```

mod cancel;
mod cancellation;
mod chat_server;
mod embedder;
mod error;
mod fingerprint;
mod first_line;
mod model;
mod names;
mod pair_scorer;
mod prompt;
mod request;
mod response;
mod source_chooser;
mod source_prompts;
mod streamed_text;
mod text_model;
mod thoughts;

pub use cancel::{CancelToken, Cancelled, break_if};
pub use cancellation::{bound_embedder, bound_model, bound_scorer};
pub use chat_server::{Api, ChatServer, Takes};
pub use embedder::{Embedder, Role};
pub use error::{Fault, ModelError, ServerFault};
pub use fingerprint::fingerprint_of_texts;
pub use first_line::FirstLine;
pub use model::{Capabilities, LanguageModel};
pub use names::UnknownName;
pub use pair_scorer::PairScorer;
pub use prompt::{Examples, Prompt, Reply, WorkedExample};
pub use request::{
    GenerateOptions, GenerateRequest, OutputSchema, Piece, Progress, Sampling, ScoreRequest,
    UnknownFormat,
};
pub use response::{Finish, Generation, Score, TokenLogprob, softmax, total};
pub use source_chooser::{DoesNotChoose, SourceChoice, SourceChooser};
pub use source_prompts::{Knowledge, Sourced};
pub use streamed_text::StreamedText;
pub use text_model::{LogprobOptions, TextCompletion, TextModel, TextRequest, TokenizerInfo};
pub use thoughts::Thoughts;
