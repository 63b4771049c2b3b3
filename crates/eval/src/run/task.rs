//! The tasks of runs, in the words of their messages.

use std::fmt;

/// The task of a run on each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Answers a question.
    Answer,
    /// Probes what a model knows about a question.
    Probe,
    /// Writes a first text about a question.
    FirstText,
    /// Labels a question with the source that helps most.
    LabelSource,
    /// Measures the mastery of a sentence.
    LabelMastery,
    /// Measures the signals of policies for a question.
    Signals,
    /// Retrieves passages for a question.
    Retrieve,
}

impl Task {
    /// The items, the participle for those with a record, and the verb for each.
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

    /// The name of the items.
    pub fn items(self) -> &'static str {
        self.words()[0]
    }

    /// The participle for items with a record.
    pub fn done(self) -> &'static str {
        self.words()[1]
    }
}

impl fmt::Display for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.words()[2])
    }
}
