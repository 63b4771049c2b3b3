//! What a threshold was calibrated on and what that guarantees, as a file that whoever uses the threshold
//! can read.

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
    /// What is promised, and what was measured of it.
    #[serde(flatten)]
    pub promise: Promise,
    /// The probability, over the questions that it was calibrated on, that the guarantee holds.
    pub confidence: f64,
    /// Answers that the policy samples, where it does.
    pub samples: Option<usize>,
    /// What it was calibrated on.
    pub calibrated_on: CalibratedOn,
    /// Where the scores of these questions lie, on which the policy decides; files of before that was kept
    /// have none.
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
    /// At most so many of the answers given are wrong, where others are withheld.
    Error {
        /// What withholds answers, with its threshold; `None` where all are given.
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
    /// The file of probed questions, without its folder.
    pub records: String,
    /// Those that could be used.
    pub questions: usize,
    /// The fingerprint of the model.
    pub model: String,
    /// The fingerprint of the corpus.
    pub corpus: String,
    /// When, in seconds since 1970 (UTC).
    pub created: u64,
}

impl CalibratedOn {
    /// Of a calibration that ends now.
    #[must_use]
    pub fn now(records: String, questions: usize, model: String, corpus: String) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            records,
            questions,
            model,
            corpus,
            created: since.map_or(0, |since| since.as_secs()),
        }
    }
}

/// What was measured on the questions of a promise of little loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLoss {
    /// The share that retrieves.
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

/// What was measured of a promise of few errors, on the questions that prove it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredError {
    /// How many these were: half of those it was calibrated on.
    pub questions: usize,
    /// The share that is answered.
    pub answered: f64,
    /// The share that is answered from memory.
    pub from_memory: f64,
    /// The share of wrong answers among those given.
    pub error: f64,
    /// Its upper bound at the confidence.
    pub error_bound: f64,
}

/// The upper bound, at a confidence, of the share of questions that do not retrieve and would have another
/// answer if they did, from how many of some questions these are. It holds for all thresholds at once, so also
/// for one that was chosen on the same questions: how many these are grows with the threshold as a
/// distribution function does (Dvoretzky, Kiefer and Wolfowitz 1956, with the constant of Massart 1990).
#[must_use]
pub fn disagreement_bound(differing: usize, questions: usize, confidence: f64) -> f64 {
    // The inequality is for one side, and for probabilities up to one half.
    let error = (1.0 - confidence).clamp(f64::MIN_POSITIVE, 0.5);
    let questions = questions.max(1) as f64;
    let above = ((1.0 / error).ln() / (2.0 * questions)).sqrt();
    (differing as f64 / questions + above).min(1.0)
}

/// A file with what says which it is.
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
    /// A file that cannot be read, or is none of a guarantee.
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

    /// Writes a file, in the place of the one that is there.
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
