//! The file of a guarantee: the questions that a threshold was calibrated on, and what it promises.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::drift_test::Ranks;

/// The format field of every file.
const FORMAT: &str = "ken-guarantee";

/// The version written, and the only one read.
const VERSION: u32 = 1;

/// A guarantee: what a policy promises.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// The policy with its threshold.
    pub policy: String,
    /// The promise, with its measurements.
    #[serde(flatten)]
    pub promise: Promise,
    /// The probability, over the questions that it was calibrated on, that the guarantee holds.
    pub confidence: f64,
    /// The number of answers that the policy samples, if it samples any.
    pub samples: Option<usize>,
    /// What it was calibrated on.
    pub calibrated_on: CalibratedOn,
    /// The distribution of the scores of these questions, by which the policy decides; older files have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Ranks>,
}

/// What is promised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Promise {
    /// Accuracy drops by at most so much compared with always retrieving.
    Loss {
        /// The mean loss of accuracy that is allowed; gains do not offset losses.
        max_loss: f64,
        /// What was measured.
        measured: MeasuredLoss,
    },
    /// At most so many of the given answers are wrong; others are withheld.
    Error {
        /// The signal that withholds answers, with its threshold; `None` if all are given.
        abstain: Option<String>,
        /// The share of wrong answers that is allowed among those given.
        max_error: f64,
        /// What was measured.
        measured: MeasuredError,
    },
}

impl Promise {
    /// The mean loss, or the share of wrong answers, that is allowed.
    #[must_use]
    pub fn limit(&self) -> f64 {
        match self {
            Self::Loss { max_loss, .. } => *max_loss,
            Self::Error { max_error, .. } => *max_error,
        }
    }
}

/// What a guarantee was calibrated on: it is for questions like these, this model and this corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalibratedOn {
    /// The name of the file of probed questions, without its folder.
    pub records: String,
    /// The number of usable questions in it.
    pub questions: usize,
    /// The fingerprint of the model.
    pub model: String,
    /// The fingerprint of the corpus.
    pub corpus: String,
    /// The fingerprint of the prompts; older files have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The time, in seconds since 1970 (UTC).
    pub created: u64,
}

impl CalibratedOn {
    /// The provenance of a calibration that ends now.
    #[must_use]
    pub fn now(
        records: String,
        questions: usize,
        model: String,
        corpus: String,
        prompt: String,
    ) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            records,
            questions,
            model,
            corpus,
            prompt: Some(prompt),
            created: since.map_or(0, |since| since.as_secs()),
        }
    }
}

/// Measurements for a promise of little loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLoss {
    /// The share of questions that retrieve.
    pub retrieval_ratio: f64,
    /// The mean loss.
    pub loss: f64,
    /// Its upper bound at the confidence.
    pub loss_bound: f64,
    /// The share of all questions that do not retrieve and would have another answer if they did.
    pub disagreement: f64,
    /// Its upper bound at the confidence: [`disagreement_bound`].
    pub disagreement_bound: f64,
}

/// Measurements for a promise of few errors, on the questions that prove it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredError {
    /// The number of these questions: half of those it was calibrated on.
    pub questions: usize,
    /// The share of questions that are answered.
    pub answered: f64,
    /// The share of questions that are answered from memory.
    pub from_memory: f64,
    /// The share of wrong answers among those given.
    pub error: f64,
    /// Its upper bound at the confidence.
    pub error_bound: f64,
}

/// The upper bound, at a confidence, of the share of questions that do not retrieve and would have another answer if
/// they did, given that `differing` of `questions` are such. It holds for all thresholds at once, so also for one
/// chosen on the same questions: the share grows with the threshold as a distribution function does (Dvoretzky,
/// Kiefer and Wolfowitz 1956, with the constant of Massart 1990).
#[must_use]
pub fn disagreement_bound(differing: usize, questions: usize, confidence: f64) -> f64 {
    // The one-sided inequality, which holds for error probabilities up to one half.
    let error = (1.0 - confidence).clamp(f64::MIN_POSITIVE, 0.5);
    let questions = questions.max(1) as f64;
    let above = ((1.0 / error).ln() / (2.0 * questions)).sqrt();
    (differing as f64 / questions + above).min(1.0)
}

/// A guarantee with its file's format and version.
#[derive(Serialize, Deserialize)]
struct Written<T> {
    format: String,
    version: u32,
    #[serde(flatten)]
    guarantee: T,
}

/// Why a guarantee cannot be read or written.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum GuaranteeFileError {
    #[error("cannot read the guarantee {}: {source}", path.display())]
    #[diagnostic(kind = "guarantee_file", remedy = "check the path after <calibration>")]
    File { path: PathBuf, source: io::Error },
    #[error("{} is no file of a guarantee: {reason}", path.display())]
    #[diagnostic(
        kind = "not_a_guarantee",
        remedy = "calibrate again, and have the guarantee written to a file"
    )]
    NotAGuarantee { path: PathBuf, reason: String },
    #[error(transparent)]
    Storage(#[from] ken_storage::StorageError),
}

impl Guarantee {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, or is not of a guarantee.
    pub fn read(path: &Path) -> Result<Self, GuaranteeFileError> {
        let text = fs::read(path).map_err(|source| GuaranteeFileError::File {
            path: path.to_owned(),
            source,
        })?;
        let no_guarantee = |reason: String| GuaranteeFileError::NotAGuarantee {
            path: path.to_owned(),
            reason,
        };
        let written: Written<Self> =
            serde_json::from_slice(&text).map_err(|error| no_guarantee(error.to_string()))?;
        match (written.format.as_str(), written.version) {
            (FORMAT, VERSION) => Ok(written.guarantee),
            (FORMAT, other) => Err(no_guarantee(format!(
                "it has version {other}, and version {VERSION} is read"
            ))),
            (other, _) => Err(no_guarantee(format!("its format is {other:?}"))),
        }
    }

    /// Writes a file, and replaces an old one.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), GuaranteeFileError> {
        let written = Written {
            format: FORMAT.to_owned(),
            version: VERSION,
            guarantee: self,
        };
        let text = serde_json::to_vec_pretty(&written);
        let mut text = text.map_err(|error| GuaranteeFileError::NotAGuarantee {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        text.push(b'\n');
        Ok(ken_storage::output(path, &text)?)
    }
}
