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
    /// Finds passages for a question.
    Retrieve,
}

impl Task {
    /// What is worked on, what has been done with those that have a record, and what is done with each.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Answer => ["questions", "answered", "answer the question"],
            Self::Probe => ["questions", "probed", "probe the question"],
            Self::FirstText => ["questions", "first texts", "label the question"],
            Self::LabelSource => ["questions", "labeled", "label the question"],
            Self::LabelMastery => ["sentences", "labeled", "label the sentence"],
            Self::Retrieve => ["questions", "searched", "find passages for the question"],
            Self::Signals => {
                let take = "take what the policies need of the question";
                ["questions", "measured", take]
            }
        }
    }

    /// What is worked on.
    #[must_use]
    pub fn items(self) -> &'static str {
        self.words()[0]
    }

    /// What has been done with the items that have a record.
    #[must_use]
    pub fn done(self) -> &'static str {
        self.words()[1]
    }
}

impl fmt::Display for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.words()[2])
    }
}
