//! Opening what found passages are reranked by.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_answer::{Rerank, Reranker, Reranking, Retriever};
use ken_language::LanguageModel;
use ken_model::encoder::CrossEncoder;

use crate::commands::fetch::fetched;
use crate::config::Settings;
use crate::failure::Result;

/// The retriever with the reranking of the settings. `model` gives the language model, and is called
/// only where one is needed.
pub(crate) fn added(
    retriever: Retriever,
    settings: &Settings,
    model: impl FnOnce() -> Result<Arc<dyn LanguageModel>>,
    stop: &AtomicBool,
) -> Result<Retriever> {
    let by = match &settings.rerank {
        Rerank::None => return Ok(retriever),
        Rerank::CrossEncoder(reference) => {
            let folder = fetched(reference, stop)?;
            let cross_encoder = CrossEncoder::load(&folder, settings.precision)?;
            Reranker::CrossEncoder(Box::new(cross_encoder))
        }
        Rerank::Likelihood => Reranker::Likelihood(model()?),
        Rerank::Embedder => Reranker::Embedder,
    };
    let reranking = Reranking::new(by, settings.rerank_depth, settings.rerank_chunk);
    Ok(retriever.reranked(reranking))
}
