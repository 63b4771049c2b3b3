//! What a watch has found, kept in a file that a later server goes on from.

use std::path::Path;

use ken_policy::{DriftTest, Guarantee, LossTest, Promise};
use ken_storage::StorageError;
use serde::{Deserialize, Serialize};

use super::Test;

/// By what a guarantee lapsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lapse {
    pub(crate) test: String,
    pub(crate) mean: f64,
    pub(crate) observed: u64,
}

/// What was found of a guarantee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// As it is written: numbers that are read need not be the same to the last digit.
    guarantee: String,
    /// Questions that the policy decided on.
    pub(crate) questions: u64,
    /// Nothing is put to it where few errors are promised.
    agreement: LossTest,
    correctness: LossTest,
    /// Files of before there were judges have none.
    #[serde(default)]
    judge: Option<LossTest>,
    pub(crate) lapse: Option<Lapse>,
    /// Of the scores on which the policy decides, where the guarantee holds those of calibration.
    #[serde(default)]
    pub(crate) drift: Option<DriftTest>,
    /// After how many questions these were found to have drifted.
    #[serde(default)]
    pub(crate) drifted_after: Option<u64>,
}

impl Kept {
    pub(crate) fn new(guarantee: &Guarantee) -> Self {
        let disagreement = match &guarantee.promise {
            Promise::Loss { measured, .. } => measured.disagreement_bound,
            Promise::Error { .. } => 1.0,
        };
        Self {
            questions: 0,
            agreement: LossTest::new(disagreement),
            correctness: LossTest::new(guarantee.promise.limit()),
            judge: None,
            drift: guarantee.scores.clone().map(DriftTest::new),
            drifted_after: None,
            lapse: None,
            guarantee: written(guarantee),
        }
    }

    /// Whether it is of this guarantee; in which order its fields were written says nothing.
    pub(crate) fn is_of(&self, guarantee: &Guarantee) -> bool {
        let fields = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        let own = fields(&self.guarantee);
        own.is_some() && own == fields(&written(guarantee))
    }

    pub(crate) fn test(&mut self, test: Test) -> &mut LossTest {
        match test {
            Test::Agreement => &mut self.agreement,
            Test::Correctness => &mut self.correctness,
            Test::Judge => {
                let limit = self.correctness.limit();
                self.judge.get_or_insert_with(|| LossTest::new(limit))
            }
        }
    }

    /// What a file says; `None` where it is not there or says something else.
    pub(crate) fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&ken_storage::read(file).ok()?).ok()
    }

    /// Writes it to a file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn write(&self, file: &Path) -> Result<(), StorageError> {
        // What is kept has neither maps with strange keys nor failing parts.
        let text = serde_json::to_vec(self).unwrap_or_default();
        ken_storage::replace(file, &text)
    }
}

fn written(guarantee: &Guarantee) -> String {
    // Nor has a guarantee.
    serde_json::to_string(guarantee).unwrap_or_default()
}
