//! Models: their files (`hub`), decoders that write and score text (`decoder`), and encoders
//! that embed it (`encoder`). Knows nothing of corpora, prompts' contents or routing.

pub mod decoder;
pub mod encoder;
mod fingerprint;
pub mod hub;
