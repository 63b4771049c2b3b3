//! `ken model export`: writes a checkpoint for other tools.

use std::collections::BTreeMap;

use serde_json::json;

use crate::arguments::model::ModelExportArguments;
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

pub(crate) fn model(arguments: &ModelExportArguments, session: &Session<'_>) -> Result<()> {
    let out = &arguments.out;
    let taken = std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    if taken {
        let message = format!("{} is not empty", out.display());
        let hint = "name another folder";
        return Err(Failure::refused("out_not_empty", message, hint));
    }
    let checkpoint = session.setup().checkpoint()?;
    checkpoint.write(out, arguments.stored, &BTreeMap::new())?;
    if session.json {
        return output::json(&json!({"out": out, "as": arguments.stored.to_string()}));
    }
    output::line(format!("written to {}", out.display()))
}
