//! `ken search`: the passages that fit a query, or each of many queries; with a reranker, their chunks.

use ken_answer::SearchResult;
use serde_json::json;

use crate::arguments::corpus::SearchArguments;
use crate::excerpt::excerpt;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output;
use crate::session::Session;
use crate::style::{Look, Styled};

/// The default number of passages to show.
const HITS_SHOWN: usize = 10;

/// Stands for a query: read queries from standard input, one per line.
const FROM_STDIN: &str = "-";

pub(crate) fn run(arguments: &SearchArguments, session: &Session<'_>) -> Result<()> {
    let retriever = session.opening(|setup| setup.retriever())?;
    let k = session.settings.k(HITS_SHOWN);
    let search = |query: &str| -> Result<()> {
        let hits = retriever.search(query, session.settings.mode, k)?;
        if session.json {
            output::json(&json!({ "query": query, "hits": hits }))
        } else {
            show(query, &hits, !session.settings.filters.is_empty())
        }
    };
    if arguments.query != FROM_STDIN {
        return search(&arguments.query);
    }
    while let Some(query) = interrupt::next_line()? {
        if session.is_stopped() {
            return Err(Failure::stopped("stopped before the last query"));
        }
        if query.trim().is_empty() {
            continue;
        }
        if !session.json {
            output::line(&query)?;
        }
        search(&query)?;
    }
    Ok(())
}

fn show(query: &str, hits: &[SearchResult], is_filtered: bool) -> Result<()> {
    for (rank, hit) in (1..).zip(hits) {
        let passage = &hit.passage;
        let place = output::place(passage.id.as_str(), hit.chunk.as_ref());
        let line = Styled::default()
            .with(Look::Strong, &format!("{rank:>2}."))
            .plain(" ")
            .with(Look::Dim, &format!("{:.4}  {place}", hit.score))
            .plain("  ")
            .with(
                Look::Strong,
                &output::titled(&passage.title, &passage.location),
            );
        output::styled(&line, 4)?;
        output::excerpt(&excerpt(&hit.text, &[(query, 1)], 200))?;
    }
    match (hits.is_empty(), is_filtered) {
        (false, _) => Ok(()),
        (true, false) => output::line("nothing found"),
        (true, true) => output::line("nothing found among the documents that fit --filter"),
    }
}
