//! The fields, partitions and indexes of a collection that holds a corpus.

use std::collections::HashMap;

use ken_index::VectorType;
use milvus::v2::prelude::{
    CollectionSchema, DataType, FieldSchema, Function, FunctionType, IndexParam, IndexType,
    MetricType,
};

use super::numbers;
use crate::index_kind::{IndexKind, VectorIndex};

/// The passage's id: the primary key.
pub(crate) const ID: &str = "id";
pub(crate) const DOC_ID: &str = "doc_id";
pub(crate) const TITLE: &str = "title";
pub(crate) const TEXT: &str = "text";
/// The passage's place in its document.
pub(crate) const LOCATION: &str = "location";
pub(crate) const METADATA: &str = "metadata";
pub(crate) const VECTOR: &str = "vector";
/// Whether search leaves the passage out.
pub(crate) const PRUNED: &str = "pruned";
/// The terms of title and text, for BM25.
pub(crate) const WORDS: &str = "words";
/// Their BM25 vector, which Milvus computes.
pub(crate) const WORD_COUNTS: &str = "word_counts";
/// What equality filters read: see `facets`.
pub(crate) const FACETS: &str = "facets";
/// What order filters read: see `facets`.
pub(crate) const BOUNDS: &str = "bounds";
/// Changes whenever anything else in the row does.
pub(crate) const DIGEST: &str = "digest";
/// A hash of the id, by which a partition is scanned in pieces.
pub(crate) const PIECE: &str = "piece";

/// The longest text of a field, in bytes, and the largest JSON value: Milvus's own limits.
pub(crate) const LONGEST_TEXT: usize = 65_535;
/// The longest passage id. Kept shorter, so that many ids fit into an answer.
pub(crate) const LONGEST_ID: usize = 1_024;
/// The most facets of a passage: Milvus's own limit for arrays.
pub(crate) const MOST_FACETS: usize = 4_096;
/// The most hits of a search: Milvus's own limit.
pub(crate) const MOST_HITS: usize = 16_384;

impl VectorIndex {
    /// The vector index.
    pub(crate) fn parameters(self) -> IndexParam {
        let refined = [
            ("nlist", "1024"),
            ("refine", "true"),
            ("refine_type", "SQ8"),
        ];
        let (kind, params) = match self.kind {
            IndexKind::AutoIndex => (IndexType::AutoIndex, params([])),
            IndexKind::Hnsw => {
                let params = params([("M", "16"), ("efConstruction", "200")]);
                (IndexType::Hnsw, params)
            }
            IndexKind::DiskAnn => (IndexType::DiskAnn, params([])),
            IndexKind::IvfRabitq => (IndexType::IvfRabitq, params(refined)),
        };
        IndexParam::new()
            .field_name(VECTOR)
            .index_type(kind)
            .metric_type(numbers::metric(self.numbers))
            .extra_params(params)
    }
}

impl IndexKind {
    /// The search parameters for the best `k`: a candidate list larger than `k`, so that few are
    /// missed.
    pub(crate) fn search_params(self, k: usize) -> HashMap<String, String> {
        let width = k.max(100).to_string();
        match self {
            Self::AutoIndex => params([]),
            Self::Hnsw => params([("ef", width.as_str())]),
            Self::DiskAnn => params([("search_list", width.as_str())]),
            Self::IvfRabitq => params([("nprobe", "64"), ("refine_k", "4")]),
        }
    }
}

/// The lexical index.
pub(crate) fn lexical_index() -> IndexParam {
    // As in ken's own BM25.
    IndexParam::new()
        .field_name(WORD_COUNTS)
        .index_type(IndexType::SparseInvertedIndex)
        .metric_type(MetricType::Bm25)
        .extra_params(params([("bm25_k1", "1.2"), ("bm25_b", "0.75")]))
}

fn params<const N: usize>(pairs: [(&str, &str); N]) -> HashMap<String, String> {
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// The partition of a shard.
pub(crate) fn partition(shard: u32) -> String {
    format!("shard_{shard}")
}

/// The fields of a collection.
pub(crate) fn fields(dimensions: u32, vectors: VectorType, lexical: bool) -> CollectionSchema {
    let field = |name: &str, kind| FieldSchema::new().name(name).data_type(kind);
    let text = |name: &str| field(name, DataType::VarChar).max_length(LONGEST_TEXT as u32);
    let facets = field(FACETS, DataType::Array)
        .element_type(DataType::VarChar)
        .max_length(64)
        .max_capacity(MOST_FACETS as u32);
    let schema = CollectionSchema::new()
        .enable_dynamic_field(false)
        .add_field(
            field(ID, DataType::VarChar)
                .max_length(LONGEST_ID as u32)
                .primary_key(true),
        )
        .add_field(text(DOC_ID))
        .add_field(text(TITLE))
        .add_field(text(TEXT))
        .add_field(field(LOCATION, DataType::Json))
        .add_field(field(METADATA, DataType::Json))
        .add_field(facets)
        .add_field(field(BOUNDS, DataType::Json))
        .add_field(field(PRUNED, DataType::Bool))
        .add_field(field(DIGEST, DataType::VarChar).max_length(64))
        .add_field(field(PIECE, DataType::Int64))
        .add_field(field(VECTOR, numbers::data_type(vectors)).dimension(dimensions));
    if !lexical {
        return schema;
    }
    schema
        .add_field(text(WORDS).enable_analyzer(true))
        .add_field(field(WORD_COUNTS, DataType::SparseFloatVector))
        .add_function(
            Function::new()
                .name("bm25")
                .function_type(FunctionType::Bm25)
                .input_fields([WORDS])
                .output_fields([WORD_COUNTS]),
        )
}
