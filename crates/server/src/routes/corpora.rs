//! `/v1/ken/corpora`: the corpora that are served, and their passages.

use super::call::{Call, Corpus};
use super::reply::Reply;
use crate::service::answers::Request;
use crate::service::corpora::Opened;
use crate::service::search_options::SearchOptions;
use crate::service::work;
use crate::wire::ken::{CorpusList, CorpusSummary, PassageResponse};
use crate::wire::refusal::Refusal;

/// The corpora that the caller may read.
pub(crate) async fn list(call: Call) -> Result<Reply<CorpusList>, Refusal> {
    let all = call.served.corpora.all().into_iter();
    let readable = all.filter(|corpus| call.caller().may_read(&corpus.name));
    let mut corpora: Vec<CorpusSummary> = readable.map(|corpus| summary(&corpus)).collect();
    if let Some(library) = &call.served.library {
        for made in library.stores.made()? {
            let listed = corpora.iter_mut().find(|known| known.name == made.name);
            match listed {
                Some(listed) => listed.title = made.title,
                None if call.caller().may_read(&made.name) => {
                    let empty = CorpusSummary::empty(made.name, &shown(&library.reference));
                    corpora.push(CorpusSummary {
                        title: made.title,
                        ..empty
                    });
                }
                None => {}
            }
        }
    }
    Ok(Reply::json(&CorpusList { corpora }))
}

/// A corpus that is served.
pub(crate) fn summary(opened: &Opened) -> CorpusSummary {
    let searched = opened.retriever.back_end();
    CorpusSummary {
        name: opened.name.clone(),
        title: None,
        generation: searched.generation(),
        passages: searched.passage_count(),
        embedder: shown(&searched.embedder().reference),
    }
}

/// An embedder by its name; no response says where an endpoint or a file is.
pub(super) fn shown(reference: &str) -> String {
    let is_published = ["hf:", "pypi:"]
        .iter()
        .any(|start| reference.starts_with(start));
    let name = match reference.split_once("://") {
        Some((_, address)) => address.split_once('#').map_or("endpoint", |(_, name)| name),
        None if is_published => reference,
        None => {
            let path = reference.trim_end_matches(['/', '\\']);
            path.rsplit(['/', '\\']).next().unwrap_or_default()
        }
    };
    name.to_owned()
}

/// A passage.
pub(crate) async fn passage(
    call: Call<(Corpus, String)>,
) -> Result<Reply<PassageResponse>, Refusal> {
    let (Corpus(corpus), id) = call.path;
    let read = read(&call.served, corpus, id, &call.request);
    Ok(Reply::json(&read.await?))
}

/// A passage.
///
/// # Errors
/// A corpus or passage that is not there or not for the caller.
pub(crate) async fn read(
    served: &std::sync::Arc<crate::service::resources::Served>,
    corpus: String,
    id: String,
    request: &Request,
) -> Result<PassageResponse, Refusal> {
    let corpus = SearchOptions::of(Some(corpus)).some_corpus(served, &request.caller)?;
    work::run(served, &served.searches, move |_, _| {
        let passage = corpus.retriever.back_end().find(&id)?;
        let passage = passage.ok_or_else(|| {
            let message = format!("there is no passage {id:?}");
            Refusal::not_found("unknown_passage", message)
        })?;
        Ok(PassageResponse {
            corpus: corpus.state(),
            passage_id: passage.id.0,
            doc_id: passage.doc_id,
            title: passage.title,
            location: passage.location.into(),
            text: passage.text,
            metadata: passage.metadata,
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedder_is_shown_without_its_place() {
        for (reference, expected) in [
            ("minilm", "minilm"),
            ("/srv/models/minilm/", "minilm"),
            ("../models/static.safetensors", "static.safetensors"),
            ("C:\\models\\minilm", "minilm"),
            ("hf:org/model@main", "hf:org/model@main"),
            ("pypi:embedder", "pypi:embedder"),
            ("http://10.0.0.7:8000/v1#bge-m3", "bge-m3"),
            ("https://models.example.org/v1", "endpoint"),
        ] {
            assert_eq!(shown(reference), expected);
        }
    }
}
