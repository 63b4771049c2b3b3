//! The flags of `ken train`. It loads no model and learns nothing.

use clap::{Args, Subcommand};

use super::tuning::{TrainExamplesArguments, TrainNoiseTolerantArguments};
use crate::config::Layer;

/// `ken train`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct TrainArguments {
    #[command(subcommand)]
    pub(crate) verb: TrainVerb,
}

/// What can be learned.
#[derive(Debug, Subcommand)]
pub(crate) enum TrainVerb {
    /// A language model, from a file of examples
    Examples(Box<TrainExamplesArguments>),
    /// A language model that answers right whatever stands in its prompt
    NoiseTolerant(Box<TrainNoiseTolerantArguments>),
}

impl TrainVerb {
    /// What the flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        match self {
            Self::Examples(examples) => examples.layer(),
            Self::NoiseTolerant(tuning) => tuning.layer(),
        }
    }
}
