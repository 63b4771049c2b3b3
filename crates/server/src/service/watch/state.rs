//! The findings of a watch, in a file from which a later server goes on.

use std::path::Path;

use ken_policy::{DriftTest, Guarantee, LossTest, Promise};
use ken_storage::StorageError;
use serde::{Deserialize, Serialize};

use super::Test;

/// The test and loss by which a guarantee lapsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lapse {
    pub(crate) test: String,
    pub(crate) mean: f64,
    pub(crate) observed: u64,
}

/// The findings about a guarantee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// As JSON: a number that is written and read again may differ in the last digit.
    guarantee: String,
    /// Questions that the policy decided on.
    pub(crate) questions: u64,
    /// Stays empty where few errors are promised.
    agreement: LossTest,
    correctness: LossTest,
    /// Files from before there were judges have none.
    #[serde(default)]
    judge: Option<LossTest>,
    pub(crate) lapse: Option<Lapse>,
    /// Of the scores on which the policy decides, if the guarantee holds those of calibration.
    #[serde(default)]
    pub(crate) drift: Option<DriftTest>,
    /// After how many questions drift was found.
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

    /// Whether these are about this guarantee; the order of its fields does not matter.
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

    /// The findings in a file; `None` if there is none or it holds something else.
    pub(crate) fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&ken_storage::read(file).ok()?).ok()
    }

    /// Writes the findings to a file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn write(&self, file: &Path) -> Result<(), StorageError> {
        // Cannot fail: there are no maps with keys other than strings, and no part fails.
        let text = serde_json::to_vec(self).unwrap_or_default();
        ken_storage::replace(file, &text)
    }
}

fn written(guarantee: &Guarantee) -> String {
    // Cannot fail, either.
    serde_json::to_string(guarantee).unwrap_or_default()
}
