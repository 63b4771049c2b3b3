//! Opening corpora, with the embedder that each was made with and the reranker of the settings.

use std::path::Path;
use std::sync::Arc;

use ken_answer::{BackEnd, Rerank, Reranker, Reranking, Retriever};
use ken_corpus::{Active, Corpus, CorpusInfo, EmbedderIdentity};
use ken_hub::{HubError, ModelReference};
use ken_index::Index;
use ken_language::{Embedder, LanguageModel};
use ken_milvus::{Collection, MilvusAddress};
use ken_model::encoder::CrossEncoder;
use ken_search_service::{SearchService, ServiceAddress};

use crate::error::SetupError;
use crate::fetch::Setup;
use crate::settings::{CorpusAddress, CorpusSource};
use crate::trust;

impl Setup<'_> {
    /// The corpus with its index, the embedder that it was made with, and the reranking of the settings, for callers
    /// that have no language model.
    ///
    /// # Errors
    /// No corpus, or one that cannot be opened; an embedder or reranker that cannot be used.
    pub fn retriever(&self) -> Result<Retriever, SetupError> {
        let retriever = self.retriever_of(self.settings.corpus()?)?;
        self.reranked(retriever, || self.language_model())
    }

    /// Several corpora, each under its name, reranked if the settings say so.
    ///
    /// # Errors
    /// As [`Setup::retriever`].
    pub fn named_retrievers(
        &self,
        sources: &[CorpusSource],
        model: &Arc<dyn LanguageModel>,
    ) -> Result<Vec<(String, Retriever)>, SetupError> {
        let retrievers = sources.iter().map(|source| {
            let retriever = self.retriever_of(&source.address)?;
            let retriever = self.reranked(retriever, || Ok(Arc::clone(model)))?;
            Ok((source.name.clone(), retriever))
        });
        retrievers.collect()
    }

    /// A corpus with its index and the embedder that it was made with, not reranked. Behind a search service, the
    /// embedder is that of the settings.
    pub(crate) fn retriever_of(&self, corpus: &CorpusAddress) -> Result<Retriever, SetupError> {
        let (back_end, embedder) = match corpus {
            CorpusAddress::Service(address) => {
                let embedder = self.embedder(&self.settings.embedder)?;
                (self.service(address, embedder.as_ref())?.into(), embedder)
            }
            CorpusAddress::Milvus(address) => self.with_embedder(self.active(address)?.into())?,
            CorpusAddress::Folder(path) => self.with_embedder(self.index(path)?.into())?,
        };
        Ok(Retriever::new(back_end, embedder.into())?.within(&self.settings.filters)?)
    }

    /// A corpus with an embedder that is already open, reranked if the settings say so.
    ///
    /// # Errors
    /// A corpus that cannot be opened or that another embedder embedded; a reranker that cannot be used.
    pub fn retriever_by(
        &self,
        corpus: &CorpusAddress,
        embedder: Arc<dyn Embedder>,
        model: &Arc<dyn LanguageModel>,
    ) -> Result<Retriever, SetupError> {
        let back_end: BackEnd = match corpus {
            CorpusAddress::Service(address) => self.service(address, embedder.as_ref())?.into(),
            CorpusAddress::Milvus(address) => self.active(address)?.into(),
            CorpusAddress::Folder(path) => self.index(path)?.into(),
        };
        let retriever = Retriever::new(back_end, embedder)?.within(&self.settings.filters)?;
        self.reranked(retriever, || Ok(Arc::clone(model)))
    }

    /// The corpus of a retriever as it is now; `None` if it has not changed since the retriever opened it, or is behind a
    /// search service, which does not tell.
    ///
    /// # Errors
    /// A corpus that cannot be opened, or that was rebuilt with another embedder.
    pub fn renewed(
        &self,
        retriever: &Retriever,
        corpus: &CorpusAddress,
    ) -> Result<Option<Retriever>, SetupError> {
        let opened = retriever.back_end();
        let renewed: Option<BackEnd> = match (corpus, opened) {
            (CorpusAddress::Folder(path), _) => {
                match CorpusInfo::read(path)?.generation == opened.generation() {
                    true => None,
                    false => Some(self.index(path)?.into()),
                }
            }
            (_, BackEnd::Milvus(collection)) => collection.renewed()?.map(BackEnd::from),
            _ => None,
        };
        let renewed =
            renewed.map(|back_end| retriever.over(back_end)?.within(&self.settings.filters));
        Ok(renewed.transpose()?)
    }

    /// The corpus of the settings without an embedder, for work that reads passages.
    ///
    /// # Errors
    /// No corpus, or one that cannot be opened; one behind a search service, whose passages cannot be listed.
    pub fn back_end(&self) -> Result<BackEnd, SetupError> {
        Ok(match self.settings.corpus()? {
            CorpusAddress::Milvus(address) => self.active(address)?.into(),
            _ => self.index(self.settings.folder()?)?.into(),
        })
    }

    /// Identifies what the corpus of the settings holds, over all of its shards.
    ///
    /// # Errors
    /// No corpus, or one that cannot be opened; one behind a search service, which has no shards.
    pub fn corpus_fingerprint(&self) -> Result<String, SetupError> {
        match self.settings.corpus()? {
            CorpusAddress::Milvus(address) => {
                Ok(self.collection(address, Active::All)?.fingerprint())
            }
            _ => Ok(Corpus::open(self.settings.folder()?)?.fingerprint()),
        }
    }

    /// The active part of a corpus in Milvus.
    fn active(&self, address: &MilvusAddress) -> Result<Collection, SetupError> {
        self.collection(address, self.settings.active)
    }

    /// A corpus on disk.
    fn index(&self, path: &Path) -> Result<Index, SetupError> {
        let corpus = Arc::new(Corpus::open_shards(path, self.settings.active)?);
        Ok(Index::open(corpus)?.with_recall(self.settings.recall))
    }

    /// A corpus behind a search service, whose questions an embedder of the settings embeds.
    fn service(
        &self,
        address: &ServiceAddress,
        embedder: &dyn Embedder,
    ) -> Result<SearchService, SetupError> {
        let identity = EmbedderIdentity::new(
            &self.settings.embedder.to_string(),
            embedder.fingerprint(),
            embedder.dimensions(),
        );
        let key = self.search_key(address)?;
        Ok(SearchService::open(address, key.as_ref(), identity)?)
    }

    /// Adds the embedder that the corpus was made with.
    fn with_embedder(&self, back_end: BackEnd) -> Result<(BackEnd, Box<dyn Embedder>), SetupError> {
        let embedder = match &self.settings.moved_embedder {
            Some(moved) => self.moved_embedder(&back_end, moved)?,
            None => self.own_embedder(&back_end)?,
        };
        Ok((back_end, embedder))
    }

    /// The embedder of questions: the corpus's or, if no corpus is named, that of the settings.
    ///
    /// # Errors
    /// A corpus or an embedder that cannot be used.
    pub fn question_embedder(&self) -> Result<Arc<dyn Embedder>, SetupError> {
        match &self.settings.corpus {
            Some(corpus) => Ok(self.retriever_of(corpus)?.into_embedder()),
            None => Ok(self.embedder(&self.settings.embedder)?.into()),
        }
    }

    /// Adds the reranking of the settings to a retriever. `model` gives the language model, if reranking needs one.
    ///
    /// # Errors
    /// A cross-encoder that cannot be used, and those of `model`.
    pub fn reranked(
        &self,
        retriever: Retriever,
        model: impl FnOnce() -> Result<Arc<dyn LanguageModel>, SetupError>,
    ) -> Result<Retriever, SetupError> {
        let settings = self.settings;
        let by = match &settings.rerank {
            Rerank::None => return Ok(retriever),
            Rerank::CrossEncoder(reference) => {
                let folder = self.fetched(reference)?;
                Reranker::CrossEncoder(Arc::new(CrossEncoder::load(&folder, settings.precision)?))
            }
            Rerank::Likelihood => Reranker::Likelihood(model()?),
            Rerank::Embedder => Reranker::Embedder,
        };
        let reranking = Reranking::new(by, settings.rerank_depth, settings.rerank_chunk);
        Ok(retriever.reranked(reranking))
    }

    /// A corpus in Milvus.
    ///
    /// # Errors
    /// A key that is not set, a server or collection that cannot be used.
    pub fn collection(
        &self,
        address: &MilvusAddress,
        active: Active,
    ) -> Result<Collection, SetupError> {
        let token = self.milvus_token(address)?;
        Ok(Collection::open(address, token.as_ref(), active)?)
    }

    /// The embedder that the corpus names, if ken may use it.
    fn own_embedder(&self, corpus: &BackEnd) -> Result<Box<dyn Embedder>, SetupError> {
        let reference = &corpus.embedder().reference;
        let parsed: ModelReference = reference.parse()?;
        let named_by = trust::consent(&parsed, &corpus.place(), self.settings)?;
        let opened = self.embedder_named_by(named_by, &parsed);
        opened.map_err(|error| match error {
            SetupError::Hub(HubError::LocalMissing { .. }) => SetupError::EmbedderMissing {
                corpus: corpus.place(),
                reference: reference.clone(),
            },
            _ => error,
        })
    }

    /// The embedder of the corpus at the place where it is now.
    fn moved_embedder(
        &self,
        corpus: &BackEnd,
        moved: &ModelReference,
    ) -> Result<Box<dyn Embedder>, SetupError> {
        let made_with = corpus.embedder();
        let embedder = self.embedder(moved)?;
        match embedder.fingerprint() == made_with.fingerprint {
            true => Ok(embedder),
            false => Err(SetupError::OtherEmbedder {
                corpus: corpus.place(),
                named: moved.to_string(),
                made_with: made_with.reference.clone(),
            }),
        }
    }
}
