//! Whether a guarantee fits what is served.

use ken_answer::{Abstention, Policy};
use ken_diagnostic::{Remedy, remedy};
use ken_policy::{Guarantee, Promise};

/// Why a guarantee says nothing about what is served.
#[derive(Debug, Clone, PartialEq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum NotGuaranteed {
    #[error("the guarantee is for the policy {guaranteed}, and not for {policy}")]
    #[diagnostic(
        remedy = "set <policy> {guaranteed}, or calibrate {policy} and have its guarantee written"
    )]
    OtherPolicy { guaranteed: String, policy: String },
    #[error("the guarantee is for {guaranteed} sampled answers, and not for {samples}")]
    #[diagnostic(kind = "other_samples", remedy = "set <samples> {guaranteed}")]
    Samples { guaranteed: usize, samples: usize },
    #[error(
        "the guarantee is for answers withheld by {}, and not by {}",
        named(guaranteed),
        named(abstain)
    )]
    #[diagnostic(kind = "other_abstention", remedy = withholding(guaranteed))]
    Abstention {
        guaranteed: Option<String>,
        abstain: Option<String>,
    },
    #[error("the guarantee was calibrated on another model")]
    #[diagnostic(remedy = "serve the model that was probed, or probe and calibrate this one")]
    OtherModel,
    #[error("the guarantee was calibrated on answers to prompts in another wording")]
    #[diagnostic(remedy = "probe and calibrate again")]
    OtherPrompt,
    #[error("the guarantee was calibrated on another corpus, or on another generation of this one")]
    #[diagnostic(
        remedy = "serve the corpus that was probed with, or probe and calibrate with this one"
    )]
    OtherCorpus,
}

fn named(abstain: &Option<String>) -> &str {
    abstain.as_deref().unwrap_or("nothing")
}

fn withholding(guaranteed: &Option<String>) -> Remedy {
    match guaranteed {
        Some(abstain) => {
            remedy!("set <abstain> {abstain}, or calibrate again and have the guarantee written")
        }
        None => remedy!("leave out <abstain>, or calibrate again and have the guarantee written"),
    }
}

/// What is served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now<'a> {
    pub(crate) policy: Policy,
    /// What withholds answers.
    pub(crate) abstain: Option<Abstention>,
    pub(crate) samples: usize,
    /// The fingerprint of the model.
    pub(crate) model: &'a str,
    /// The fingerprint of the default corpus.
    pub(crate) corpus: Option<&'a str>,
    /// The fingerprint of the prompts of short answers, which policies decide by.
    pub(crate) prompt: &'a str,
}

impl Now<'_> {
    /// Checks that a guarantee fits; except for its corpus, which may change.
    ///
    /// # Errors
    /// A guarantee for another policy, another abstention, another number of samples, another model, or other prompts.
    pub(super) fn check(&self, guarantee: &Guarantee) -> Result<(), NotGuaranteed> {
        if guarantee.policy.parse() != Ok(self.policy) {
            return Err(NotGuaranteed::OtherPolicy {
                guaranteed: guarantee.policy.clone(),
                policy: self.policy.to_string(),
            });
        }
        if let Promise::Error { abstain, .. } = &guarantee.promise
            && abstain.as_deref().map(str::parse) != self.abstain.map(Ok)
        {
            return Err(NotGuaranteed::Abstention {
                guaranteed: abstain.clone(),
                abstain: self.abstain.map(|abstain| abstain.to_string()),
            });
        }
        if let Some(guaranteed) = guarantee.samples
            && guaranteed != self.samples
        {
            return Err(NotGuaranteed::Samples {
                guaranteed,
                samples: self.samples,
            });
        }
        let on = &guarantee.calibrated_on;
        if on.model != self.model {
            return Err(NotGuaranteed::OtherModel);
        }
        match &on.prompt {
            Some(prompt) if prompt != self.prompt => Err(NotGuaranteed::OtherPrompt),
            _ => Ok(()),
        }
    }
}
