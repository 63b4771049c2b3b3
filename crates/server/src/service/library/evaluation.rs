//! What is measured of policies, as it is kept on disk until it is done.

use serde::{Deserialize, Serialize};

use super::measurer::Purpose;
use crate::service::policies;
use crate::wire::refusal::Refusal;

/// The file of questions among what is sent with a job.
pub(crate) const QUESTIONS: &str = "questions.jsonl";

/// A set of questions on which policies are measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evaluation {
    /// Under which it is found among the studies.
    pub(crate) study: String,
    /// What the questions are called.
    pub(crate) name: String,
    /// The policies that are compared; none where one is to be chosen.
    pub(crate) policies: Vec<String>,
}

impl Evaluation {
    /// What is asked of the questions.
    ///
    /// # Errors
    /// Policies that are none.
    pub(crate) fn purpose(&self) -> Result<Purpose, Refusal> {
        if self.policies.is_empty() {
            return Ok(Purpose::Tune);
        }
        let policies = self.policies.iter().map(|name| policies::parsed(name));
        Ok(Purpose::Compare(policies.collect::<Result<_, _>>()?))
    }
}
