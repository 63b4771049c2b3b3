//! `ken study`: models against corpus scales, over the same questions.

mod evidence;
mod grid;
pub(crate) mod part;
mod report;
mod run;

use ken_scale::study::join;

use crate::arguments::study::{StudyJoinArguments, StudyVerb};
use crate::failure::Result;
use crate::output;
use crate::session::Session;

pub(crate) use report::is_table;

/// Runs a verb of `ken study`.
pub(crate) fn run(verb: &StudyVerb, session: &Session<'_>) -> Result<()> {
    match verb {
        StudyVerb::Run(arguments) => run::run(arguments, session),
        StudyVerb::Report(of) => {
            report::told(&of.study, of.out.as_ref(), of.by.as_deref(), session)
        }
        StudyVerb::Join(arguments) => joined(arguments, session),
    }
}

fn joined(arguments: &StudyJoinArguments, session: &Session<'_>) -> Result<()> {
    let (whole, missing) = join(&arguments.parts, &arguments.out)?;
    let cells = whole.cells().len();
    if session.json {
        return output::json(&serde_json::json!({ "cells": cells, "missing": missing }));
    }
    let (out, lacking) = (arguments.out.display(), missing.len());
    output::line(format!("{cells} cells in {out}, {lacking} of them missing"))?;
    missing.iter().try_for_each(output::line)
}
