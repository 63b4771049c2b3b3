//! The back ends of a search: a corpus on disk, one in Milvus, or one behind a search service, with the calls that
//! retrieving needs of each. They embed no questions.

use std::path::PathBuf;
use std::sync::Arc;

use ken_corpus::{
    Corpus, EmbedderIdentity, Filter, ListedDocument, Passage, PassageId, PrunedDocument, Pruning,
    Selection,
};
use ken_index::{Hit, Index, Mode, Query};
use ken_milvus::Collection;
use ken_search_service::SearchService;
use serde_json::{Map, Value};

use crate::AnswerError;

/// A corpus to search. A clone shares it, and may be narrowed by filters of its own.
#[derive(Clone)]
pub enum BackEnd {
    /// A corpus on disk.
    Local(Local),
    /// A corpus in Milvus.
    Milvus(Box<Collection>),
    /// A corpus behind a search service.
    Service(Box<SearchService>),
}

/// A corpus on disk, with its filters.
#[derive(Clone)]
pub struct Local {
    index: Arc<Index>,
    filters: Vec<Filter>,
    /// The passages that fit all filters; `None` for all.
    selection: Option<Selection>,
}

impl From<Index> for BackEnd {
    fn from(index: Index) -> Self {
        Self::Local(Local {
            index: Arc::new(index),
            filters: Vec::new(),
            selection: None,
        })
    }
}

impl From<Collection> for BackEnd {
    fn from(collection: Collection) -> Self {
        Self::Milvus(Box::new(collection))
    }
}

impl From<SearchService> for BackEnd {
    fn from(service: SearchService) -> Self {
        Self::Service(Box::new(service))
    }
}

impl BackEnd {
    /// Narrows the search to passages that fit all filters, those given before included, by their documents' metadata and by
    /// their own scores.
    ///
    /// # Errors
    /// A damaged corpus; a filter that Milvus or the service cannot take.
    pub fn within(self, filters: &[Filter]) -> Result<Self, AnswerError> {
        if filters.is_empty() {
            return Ok(self);
        }
        Ok(match self {
            Self::Local(mut local) => {
                local.filters.extend_from_slice(filters);
                local.selection = Some(Selection::new(local.index.corpus(), &local.filters)?);
                Self::Local(local)
            }
            Self::Milvus(collection) => Self::Milvus(Box::new(collection.within(filters)?)),
            Self::Service(service) => Self::Service(Box::new(service.within(filters)?)),
        })
    }

    /// Narrows the search to documents of a corpus on disk, given by segment and ordinal; leaves corpora elsewhere as they
    /// are.
    ///
    /// # Errors
    /// A damaged corpus.
    pub(crate) fn of_documents(self, documents: &[(usize, usize)]) -> Result<Self, AnswerError> {
        Ok(match self {
            Self::Local(mut local) => {
                let (corpus, within) = (local.index.corpus(), local.selection.as_ref());
                local.selection = Some(Selection::of_documents(corpus, documents, within)?);
                Self::Local(local)
            }
            elsewhere => elsewhere,
        })
    }

    /// The passages to which filters or documents narrow the search of a corpus on disk; `None` for all.
    pub(crate) fn selection(&self) -> Option<&Selection> {
        self.local()?.selection.as_ref()
    }

    fn local(&self) -> Option<&Local> {
        match self {
            Self::Local(local) => Some(local),
            Self::Milvus(_) | Self::Service(_) => None,
        }
    }

    /// The first documents of a corpus on disk that fit the filters, at most `most`, and how many there are; `None` for a
    /// corpus elsewhere.
    ///
    /// # Errors
    /// A damaged corpus.
    pub(crate) fn listing(
        &self,
        most: usize,
    ) -> Result<Option<(Vec<ListedDocument>, usize)>, AnswerError> {
        let Some(local) = self.local() else {
            return Ok(None);
        };
        let corpus = local.index.corpus();
        let (mut first, mut count) = (Vec::new(), 0);
        for document in corpus.documents(None, false) {
            let document = document?;
            if self.admits(&document.metadata) {
                count += 1;
                if count <= most {
                    first.push(document);
                } else if local.filters.is_empty() {
                    count = corpus.document_count();
                    break;
                }
            }
        }
        Ok(Some((first, count)))
    }

    /// The place of the corpus: a folder, or an address.
    pub fn place(&self) -> PathBuf {
        match self {
            Self::Local(local) => local.index.corpus().dir().to_path_buf(),
            Self::Milvus(collection) => collection.address().to_string().into(),
            Self::Service(service) => service.address().to_string().into(),
        }
    }

    /// The model that embedded the passages.
    pub fn embedder(&self) -> &EmbedderIdentity {
        match self {
            Self::Local(local) => local.index.corpus().embedder(),
            Self::Milvus(collection) => collection.embedder(),
            Self::Service(service) => service.embedder(),
        }
    }

    /// Whether a search in a mode needs the question's vector.
    pub fn takes_vector(&self, mode: Mode) -> bool {
        match self {
            Self::Local(_) | Self::Milvus(_) => mode != Mode::Lexical,
            Self::Service(service) => service.takes_vector(mode),
        }
    }

    /// The number of live passages in the searched shards; `None` if a search service does not report it.
    pub fn passage_count(&self) -> Option<usize> {
        match self {
            Self::Local(local) => Some(local.index.corpus().passage_count()),
            Self::Milvus(collection) => Some(collection.passage_count()),
            Self::Service(service) => service.passage_count(),
        }
    }

    /// The bytes of the index's files, and of the whole corpus; `None` for a corpus elsewhere, of which no server tells them.
    pub fn bytes(&self) -> Option<(u64, u64)> {
        let corpus = self.corpus()?;
        Some((corpus.index_bytes(), corpus.bytes()))
    }

    /// The number of the searched generation; 0 behind a search service, which has none.
    pub fn generation(&self) -> u64 {
        match self {
            Self::Local(local) => local.index.corpus().generation(),
            Self::Milvus(collection) => collection.info().generation,
            Self::Service(_) => 0,
        }
    }

    /// Identifies the corpus and, where that changes results, the way of searching it.
    pub fn fingerprint(&self) -> String {
        match self {
            Self::Local(local) => local.index.fingerprint(),
            Self::Milvus(collection) => collection.fingerprint(),
            Self::Service(service) => service.fingerprint(),
        }
    }

    /// Identifies what the corpus holds, however it is searched.
    pub fn content(&self) -> String {
        match self {
            Self::Local(local) => local.index.corpus().fingerprint(),
            Self::Milvus(collection) => collection.content(),
            Self::Service(service) => service.fingerprint(),
        }
    }

    /// The live passage of an id, if it fits the filters; behind a search service, only if a recent search found it.
    ///
    /// # Errors
    /// A damaged corpus, a server that fails.
    pub fn find(&self, id: &str) -> Result<Option<Passage>, AnswerError> {
        Ok(match self {
            Self::Local(local) => {
                let found = local.index.corpus().find(&PassageId(id.to_owned()))?;
                found.filter(|passage| self.admits(&passage.metadata))
            }
            Self::Milvus(collection) => collection.find(id)?,
            Self::Service(service) => service.find(id),
        })
    }

    /// Whether there is a document of an id, pruned or not; in Milvus, whether its first passage exists. Always `true` for
    /// a search service, which is not asked.
    ///
    /// # Errors
    /// As [`BackEnd::find`].
    pub fn has_document(&self, id: &str) -> Result<bool, AnswerError> {
        Ok(match self {
            Self::Local(local) => local.index.corpus().passages_of(id, None)?.is_some(),
            Self::Milvus(collection) => collection.find(&format!("{id}#0"))?.is_some(),
            Self::Service(_) => true,
        })
    }

    /// The prunings of passages, by reason; empty for corpora elsewhere.
    ///
    /// # Errors
    /// A damaged corpus.
    pub fn prunings(&self) -> Result<Vec<Pruning>, AnswerError> {
        match self.corpus() {
            Some(corpus) => Ok(corpus.prunings()?),
            None => Ok(Vec::new()),
        }
    }

    /// The documents with pruned passages that fit the filters, newest first.
    ///
    /// # Errors
    /// A damaged corpus.
    pub fn pruned_documents(&self) -> Result<Vec<PrunedDocument>, AnswerError> {
        let Some(corpus) = self.corpus() else {
            return Ok(Vec::new());
        };
        let mut documents = corpus.pruned_documents()?;
        documents.retain(|document| self.admits(&document.metadata));
        Ok(documents)
    }

    /// The corpus on disk; `None` for one elsewhere.
    pub fn corpus(&self) -> Option<&Corpus> {
        self.local().map(|local| &**local.index.corpus())
    }

    /// Whether a document or a passage of a corpus on disk fits the filters by its metadata. That of a document has no
    /// scores of passages.
    pub fn admits(&self, metadata: &Map<String, Value>) -> bool {
        let mut filters = self.local().into_iter().flat_map(|local| &local.filters);
        filters.all(|filter| filter.matches(metadata))
    }

    /// The `k` best passages, best first, and the cosine of the query and the nearest passage if a dense or hybrid search on
    /// disk computed it.
    ///
    /// # Errors
    /// A query that does not fit, a damaged index, a server that fails.
    pub fn search(
        &self,
        query: &Query<'_>,
        mode: Mode,
        k: usize,
    ) -> Result<(Vec<Hit>, Option<f32>), AnswerError> {
        Ok(match self {
            Self::Local(Local {
                index, selection, ..
            }) => index.search_with_nearest(query, mode, k, selection.as_ref())?,
            Self::Milvus(collection) => (collection.search(query, mode, k)?, None),
            Self::Service(service) => (service.search(query, mode, k)?, None),
        })
    }
}
