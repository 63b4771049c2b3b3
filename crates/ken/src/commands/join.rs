//! `ken join`: joins the parts that several jobs measured into one run.

use ken_eval::part::Parts;

use crate::arguments::join::JoinArguments;
use crate::commands::parts::PartedWork;
use crate::commands::{card, compare, eval, label, mastery, probe, study};
use crate::failure::Result;
use crate::session::Session;

pub(crate) fn run(arguments: &JoinArguments, session: &Session<'_>) -> Result<()> {
    let (parts, out) = (Parts::read(&arguments.parts)?, &arguments.out);
    match parts.work()? {
        PartedWork::Probe { by } => probe::join(&parts, by.as_deref(), out, session),
        PartedWork::LabelMastery => mastery::join(&parts, out, session),
        PartedWork::LabelSources => label::join(&parts, out, session),
        PartedWork::Eval { policy, by, taught } => {
            eval::join(&parts, &policy, by.as_deref(), taught, out, session)
        }
        PartedWork::Compare(options) => compare::join(&parts, &options, out, session),
        PartedWork::Card(options) => card::join(&parts, &options, out, session),
        PartedWork::Study(_) => study::part::join(&parts, out, session),
    }
}
