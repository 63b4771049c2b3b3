//! What pruning goes by: a pruner, and what was measured. Both are of one model.

use ken_route::{Head, Purpose};
use ken_study::learn::pruner::{PrunerLabels, pruner_labels};
use ken_study::{MasteryRecord, PruningError, read_results};

use crate::arguments::{PruneBasis, PruneMethod};
use crate::failure::{Refusal, Result};

/// What is there of it.
pub(super) struct Basis {
    pub(super) head: Option<Head>,
    pub(super) labels: Option<PrunerLabels>,
}

impl Basis {
    /// Reads what the methods need.
    ///
    /// # Errors
    /// A pruner or labels that are not named or cannot be read, or that are of two models.
    pub(super) fn read(arguments: &PruneBasis) -> Result<Self> {
        let basis = Self {
            head: head(arguments)?,
            labels: labels(arguments)?,
        };
        if let (Some(head), Some(labels)) = (&basis.head, &basis.labels) {
            same_model(&head.measured_on.model, &labels.model)?;
        }
        Ok(basis)
    }

    /// Whether the pruner looks at what a model makes of passages.
    pub(super) fn has_passages_read(&self) -> bool {
        let head = self.head.as_ref();
        head.is_some_and(|head| head.measured_on.reader.is_some())
    }

    /// Makes sure that it is of the model at hand.
    ///
    /// # Errors
    /// [`PruningError::OtherModel`].
    pub(super) fn check(&self, model: &str) -> Result<(), PruningError> {
        let head = self.head.as_ref().map(|head| &head.measured_on.model);
        let labels = self.labels.as_ref().map(|labels| &labels.model);
        let mut measured = head.into_iter().chain(labels);
        measured.try_for_each(|measured| same_model(measured, model))
    }
}

fn same_model(expected: &str, received: &str) -> Result<(), PruningError> {
    match ken_storage::same_fingerprint(expected, received) {
        true => Ok(()),
        false => Err(PruningError::OtherModel {
            expected: expected.to_owned(),
            received: received.to_owned(),
        }),
    }
}

fn head(arguments: &PruneBasis) -> Result<Option<Head>> {
    if !arguments.method.contains(&PruneMethod::Pruner) {
        return Ok(None);
    }
    let path = arguments.pruner.as_ref().ok_or_else(|| {
        Refusal::new("no_pruner", "no pruner is named").hinting(
            "add --pruner FILE, which `ken train pruner LABELS --corpus DIR --out FILE` makes, or take another --method",
        )
    })?;
    Ok(Some(Head::read(path, Purpose::Pruner)?))
}

fn labels(arguments: &PruneBasis) -> Result<Option<PrunerLabels>> {
    match &arguments.labels {
        Some(path) => {
            let records: Vec<MasteryRecord> = read_results(path)?;
            Ok(Some(pruner_labels(&records)?))
        }
        None if arguments.method.contains(&PruneMethod::Measured) => {
            Err(Refusal::new("no_labels", "no labels are named")
                .hinting(
                    "add --labels FILE, which `ken label mastery --corpus DIR --out FILE` makes",
                )
                .into())
        }
        None => Ok(None),
    }
}
