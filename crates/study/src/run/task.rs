//! What runs do, in the words of their messages.

use std::fmt;

/// What a run does with each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Answers a question.
    Answer,
    /// Probes what a model knows of a question.
    Probe,
    /// Writes a first text about a question.
    FirstText,
    /// Labels a question with the source that helps most.
    LabelSource,
    /// Measures how well a sentence is known.
    LabelMastery,
    /// Takes the signals of a question that policies decide by.
    Signals,
}

impl Task {
    /// What is worked on.
    #[must_use]
    pub fn items(self) -> &'static str {
        match self {
            Self::LabelMastery => "sentences",
            _ => "questions",
        }
    }

    /// What has been done with the items that have a record.
    #[must_use]
    pub fn done(self) -> &'static str {
        match self {
            Self::Answer => "answered",
            Self::Probe => "probed",
            Self::FirstText => "first texts",
            Self::LabelSource | Self::LabelMastery => "labeled",
            Self::Signals => "measured",
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Answer => "answer the question",
            Self::Probe => "probe the question",
            Self::FirstText | Self::LabelSource => "label the question",
            Self::LabelMastery => "label the sentence",
            Self::Signals => "take what the policies need of the question",
        })
    }
}
