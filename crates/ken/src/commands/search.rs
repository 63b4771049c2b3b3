//! `ken search`: the passages that fit a query.

use std::sync::atomic::AtomicBool;

use anyhow::Result;
use serde_json::json;

use crate::arguments::SearchArguments;
use crate::commands::open;
use crate::config::Settings;
use crate::output;

/// Passages shown where nobody says how many.
const HITS_SHOWN: usize = 10;

/// Runs `ken search`.
pub(crate) fn run(
    arguments: &SearchArguments,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    let retriever = open::retriever(settings, stop)?;
    let hits = retriever.search(
        &arguments.query,
        settings.mode,
        settings.k.unwrap_or(HITS_SHOWN),
    )?;
    if json {
        let hits: Vec<_> = hits
            .iter()
            .map(|hit| {
                json!({
                    "passage_id": hit.passage.id,
                    "doc_id": hit.passage.doc_id,
                    "title": hit.passage.title,
                    "text": hit.passage.text,
                    "score": hit.score,
                })
            })
            .collect();
        return output::json(&json!({ "query": arguments.query, "hits": hits }));
    }
    for (rank, hit) in (1..).zip(&hits) {
        let passage = &hit.passage;
        output::line(format!(
            "{rank:>2}. {:.4}  {}  {}",
            hit.score, passage.id, passage.title
        ))?;
        output::line(format!("      {}", output::shortened(&passage.text, 200)))?;
    }
    if hits.is_empty() {
        output::line("nothing found")?;
    }
    Ok(())
}
