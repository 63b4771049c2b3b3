//! `ken corpus push`: pushes a corpus to a collection in Milvus.

use std::path::Path;

use ken_corpus::{Corpus, CorpusInfo};
use ken_milvus::{MilvusAddress, Pushed, VectorIndex, push, push_and_switch};
use serde::Serialize;

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
}

pub(super) fn run(
    corpus: &Path,
    to: &MilvusAddress,
    index: Option<VectorIndex>,
    switch: bool,
    session: &Session<'_>,
) -> Result<()> {
    let corpus = Corpus::open(corpus)?;
    let token = session.setup().milvus_token(to)?;
    let pushed = {
        let mut display = Display::new();
        let mut progress = |step: ken_milvus::Progress| {
            let total = Some(step.passages_total);
            display.show("pushing", Unit::Items, step.passages, total);
        };
        let push = if switch { push_and_switch } else { push };
        let token = token.as_ref();
        push(&corpus, to, token, index, &mut progress, session.stop)?
    };
    let Pushed {
        info,
        sent,
        deleted,
        kept,
        interrupted,
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
        });
    }
    output::line(format!(
        "{} sent, {deleted} deleted, {kept} kept: {to} holds",
        output::counted(sent, "passage")
    ))?;
    show_info(&info, session.json)
}
