//! Answers from memory that stand in place of answers from documents.

use std::fmt;
use std::str::FromStr;

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

/// A name that is none of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown way with answers from memory `{0}` (mark, answer, refuse are known)")]
pub struct UnknownMemory(String);

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mark => "mark",
            Self::Answer => "answer",
            Self::Refuse => "refuse",
        })
    }
}

impl FromStr for Memory {
    type Err = UnknownMemory;

    fn from_str(name: &str) -> Result<Self, UnknownMemory> {
        [Self::Mark, Self::Answer, Self::Refuse]
            .into_iter()
            .find(|memory| memory.to_string() == name)
            .ok_or_else(|| UnknownMemory(name.to_owned()))
    }
}
