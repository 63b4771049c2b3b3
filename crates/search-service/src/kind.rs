//! The kinds of search services: the prefixes of their addresses, and their abilities.

use ken_index::Mode;

/// A kind of search service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `POST …/vector_stores/ID/search` of OpenAI's API.
    VectorStore,
    /// `POST …/retrieve` of search agents: Search-R1 and its forks.
    Retrieve,
    /// `POST …/INDEX/_search`.
    Elasticsearch,
    /// As Elasticsearch, with vectors in its own form.
    OpenSearch,
    /// `POST …/collections/NAME/points/query`.
    Qdrant,
    /// A table, with vectors by pgvector.
    Postgres,
}

const SCHEMES: [(&str, Kind); 5] = [
    ("vector-store+", Kind::VectorStore),
    ("retrieve+", Kind::Retrieve),
    ("elasticsearch+", Kind::Elasticsearch),
    ("opensearch+", Kind::OpenSearch),
    ("qdrant+", Kind::Qdrant),
];

impl Kind {
    /// The kind at the start of an address, and the service's own URL after it.
    pub(crate) fn of(address: &str) -> Option<(Self, &str)> {
        let by_prefix = SCHEMES.into_iter().find_map(|(prefix, kind)| {
            let url = address.strip_prefix(prefix)?;
            let is_http = url.starts_with("http://") || url.starts_with("https://");
            is_http.then_some((kind, url))
        });
        by_prefix.or_else(|| {
            let is_postgres =
                address.starts_with("postgres://") || address.starts_with("postgresql://");
            is_postgres.then_some((Self::Postgres, address))
        })
    }

    /// The form of the address after the server.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::VectorStore => "v1/vector_stores/ID",
            Self::Retrieve => "retrieve",
            Self::Elasticsearch | Self::OpenSearch => "INDEX",
            Self::Qdrant => "COLLECTION",
            Self::Postgres => "DATABASE/TABLE",
        }
    }

    /// What it is, for messages.
    pub(crate) fn said(self) -> &'static str {
        match self {
            Self::VectorStore => "a vector store of OpenAI's API",
            Self::Retrieve => "a retriever of search agents",
            Self::Elasticsearch => "Elasticsearch",
            Self::OpenSearch => "OpenSearch",
            Self::Qdrant => "Qdrant",
            Self::Postgres => "PostgreSQL",
        }
    }

    /// Whether a question can be sent as a vector.
    pub(crate) fn takes_vectors(self) -> bool {
        !matches!(self, Self::VectorStore | Self::Retrieve)
    }

    /// The searches of a mode: by the words, by the vector of a question, or both; `None` if the service does not offer it.
    /// `Hybrid`, the default, stands for all searches that the service offers.
    pub(crate) fn searches(self, mode: Mode, has_vectors: bool) -> Option<Searches> {
        let (words, vectors) = match self {
            // They decide themselves how they search.
            Self::VectorStore | Self::Retrieve => {
                let own = Searches {
                    words: true,
                    vectors: false,
                };
                return (mode == Mode::Hybrid).then_some(own);
            }
            Self::Qdrant => (false, true),
            _ => (true, has_vectors),
        };
        let searches = Searches {
            words: words && mode != Mode::Dense,
            vectors: vectors && mode != Mode::Lexical,
        };
        (searches.words || searches.vectors).then_some(searches)
    }
}

/// The searches of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Searches {
    pub(crate) words: bool,
    pub(crate) vectors: bool,
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

    use super::*;

    #[test]
    fn the_default_mode_does_what_a_service_can() {
        let by = |kind: Kind, mode, vectors| {
            let searches = kind.searches(mode, vectors);
            searches.map(|by| (by.words, by.vectors))
        };
        for (kind, vectors, hybrid, dense, lexical) in cases![
            Kind::Retrieve => false, Some((true, false)), None, None;
            Kind::VectorStore => false, Some((true, false)), None, None;
            Kind::Qdrant => true, Some((false, true)), Some((false, true)), None;
            Kind::Elasticsearch => false, Some((true, false)), None, Some((true, false));
            Kind::Postgres => true, Some((true, true)), Some((false, true)), Some((true, false));
        ] {
            assert_eq!(by(kind, Mode::Hybrid, vectors), hybrid, "{kind:?}");
            assert_eq!(by(kind, Mode::Dense, vectors), dense, "{kind:?}");
            assert_eq!(by(kind, Mode::Lexical, vectors), lexical, "{kind:?}");
        }
    }
}
