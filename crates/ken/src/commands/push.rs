//! `ken corpus push`: pushes a corpus to a collection in Milvus.

use std::path::Path;

use ken_corpus::{Corpus, CorpusInfo, Part};
use ken_milvus::{PushJob, Pushed, push, push_and_switch};
use serde::Serialize;

use crate::arguments::corpus::PushArguments;
use crate::commands::corpus_info::show_info;
use crate::failure::{Failure, Result};
use crate::output;
use crate::progress::{Display, Unit};
use crate::session::Session;

/// What `--json` prints: what `ken corpus info` prints, and what the push did.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    info: &'a CorpusInfo,
    to: String,
    sent: u64,
    deleted: u64,
    kept: u64,
    /// Of a part: those that have yet to be pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a [Part]>,
}

pub(super) fn run(corpus: &Path, arguments: &PushArguments, session: &Session<'_>) -> Result<()> {
    let corpus = Corpus::open(corpus)?;
    let to = &arguments.to;
    let token = session.setup().milvus_token(to)?;
    let job = PushJob {
        corpus: &corpus,
        address: to,
        token: token.as_ref(),
        index: arguments.index,
        part: arguments.part,
    };
    let pushed = {
        let mut display = Display::new();
        let progress = &mut |step: ken_milvus::Progress| {
            let total = Some(step.passages_total);
            display.show("pushing", Unit::Items, step.passages, total);
        };
        match arguments.switch {
            true => push_and_switch(job, progress, session.stop)?,
            false => push(job, progress, session.stop)?,
        }
    };
    let Pushed {
        info,
        sent,
        deleted,
        kept,
        interrupted,
        missing,
    } = pushed;
    if interrupted {
        let message = format!("stopped after {sent} passages were sent and {deleted} deleted");
        return Err(Failure::resumable(message));
    }
    if session.json {
        return output::json(&Shown {
            info: &info,
            to: to.to_string(),
            sent,
            deleted,
            kept,
            missing: arguments.part.map(|_| missing.as_slice()),
        });
    }
    let done = format!(
        "{} sent, {deleted} deleted, {kept} kept",
        output::counted(sent, "passage")
    );
    if !missing.is_empty() {
        let missing: Vec<String> = missing.iter().map(Part::to_string).collect();
        let missing = missing.join(", ");
        return output::line(format!(
            "{done}; {to} can be searched when these parts are pushed, too: {missing}"
        ));
    }
    output::line(format!("{done}: {to} holds"))?;
    show_info(&info, session.json)
}
