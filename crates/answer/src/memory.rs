//! Answers from memory that stand in place of answers from documents.

use ken_language::named;
use serde::Serialize;

/// The treatment of an answer from memory after a search of documents that do not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// A full answer says that it is from memory.
    Mark,
    /// It is given as any other.
    Answer,
    /// It is withheld: the answer is that the documents do not say.
    Refuse,
}

named! {
    Memory, "way with answers from memory",
    Memory::Mark => "mark",
    Memory::Answer => "answer",
    Memory::Refuse => "refuse",
}
