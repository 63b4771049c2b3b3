//! Creating a collection for a corpus, with its partitions and indexes. No passage is sent here.

use ken_corpus::Corpus;
use ken_index::VectorType;
use milvus::v2::prelude::{
    ConsistencyLevel, CreateCollectionRequest, CreateIndexRequest, CreatePartitionRequest,
    DescribeIndexRequest, DropCollectionRequest, GetServerVersionRequest, HasPartitionRequest,
    IndexParam,
};

use super::connection::{Connection, LONG, SHORT, call};
use super::identity::{Identity, PROPERTY};
use super::schema::{VECTOR, WORD_COUNTS, fields, lexical_index, partition};
use crate::error::{Failure, MilvusError};
use crate::index_kind::{IndexKind, VectorIndex};

/// The prefix of milvus-lite's version.
const LITE: &str = "milvus_lite";

/// Creates the collection, with a lexical index where the server supports one.
///
/// # Errors
/// [`MilvusError::IndexUnsupported`], which leaves no collection; and any error of a call.
pub(crate) fn create(
    connection: &Connection,
    corpus: &Corpus,
    index: VectorIndex,
    alias: Option<&str>,
) -> Result<Identity, MilvusError> {
    refuse_unknown(connection, index)?;
    let lexical = Identity {
        alias: alias.map(str::to_owned),
        ..Identity::new(corpus, index, true)
    };
    let identity = match create_as(connection, &lexical) {
        Ok(()) => lexical,
        Err(refused) if refused.is_refusal() => {
            let dense = Identity {
                lexical: false,
                ..lexical
            };
            // If this fails too, BM25 was not the problem.
            create_as(connection, &dense).map_err(|_| match index.numbers {
                VectorType::F32 => refused,
                _ => unsupported(refused, index),
            })?;
            dense
        }
        Err(other) => return Err(other),
    };
    match complete_parts(connection, &identity) {
        Err(error @ MilvusError::IndexUnsupported { .. }) => {
            drop_collection(connection)?;
            Err(error)
        }
        outcome => outcome.map(|()| identity),
    }
}

/// The error for an index that is refused; any other stays.
fn unsupported(error: MilvusError, index: VectorIndex) -> MilvusError {
    match error {
        MilvusError::Call {
            failure: Failure::Refused,
            server,
            reason,
            ..
        } => MilvusError::IndexUnsupported {
            server,
            index,
            reason,
        },
        other => other,
    }
}

pub(crate) fn drop_collection(connection: &Connection) -> Result<(), MilvusError> {
    let request = DropCollectionRequest::builder();
    call!("drop the collection" within SHORT, connection => drop_collection(request))
}

/// Refuses an index that the server accepts by name but never builds: after a restart, the server could not load the
/// collection.
fn refuse_unknown(connection: &Connection, index: VectorIndex) -> Result<(), MilvusError> {
    if matches!(index.kind, IndexKind::AutoIndex | IndexKind::Hnsw) {
        return Ok(());
    }
    let request = GetServerVersionRequest::builder().build();
    let version = connection.wait("report its version", SHORT, async |client| {
        client.server_version(request?).await
    })?;
    let version = version.version();
    match version.starts_with(LITE) {
        false => Ok(()),
        true => Err(MilvusError::IndexUnsupported {
            server: connection.address.server(),
            index,
            reason: format!("it is {version}, which builds no such index"),
        }),
    }
}

fn create_as(connection: &Connection, identity: &Identity) -> Result<(), MilvusError> {
    let dimensions = identity.settings.embedder.dimensions;
    let dimensions = u32::try_from(dimensions).unwrap_or(u32::MAX);
    let request = CreateCollectionRequest::builder()
        .schema(fields(dimensions, identity.index.numbers, identity.lexical))
        .consistency_level(ConsistencyLevel::Bounded)
        .properties([(PROPERTY.to_owned(), identity.to_text(connection)?)].into());
    call!("create the collection" within SHORT, connection => create_collection(request))
}

/// Creates the partitions and indexes that are missing, with the errors of [`create`]. Jobs that push parts may do so at
/// once: what one cannot create, because another just did, is there.
pub(crate) fn complete_parts(
    connection: &Connection,
    identity: &Identity,
) -> Result<(), MilvusError> {
    for shard in 0..identity.settings.sharding.count {
        let name = partition(shard);
        if has_partition(connection, &name)? {
            continue;
        }
        let request = CreatePartitionRequest::builder().partition_name(&name);
        let created =
            call!("create a partition" within SHORT, connection => create_partition(request));
        if let Err(error) = created
            && !has_partition(connection, &name)?
        {
            return Err(error);
        }
    }
    let index = identity.index;
    ensure_index(connection, VECTOR, index.parameters())
        .map_err(|error| unsupported(error, index))?;
    match identity.lexical {
        true => ensure_index(connection, WORD_COUNTS, lexical_index()),
        false => Ok(()),
    }
}

fn has_partition(connection: &Connection, name: &str) -> Result<bool, MilvusError> {
    let request = HasPartitionRequest::builder().partition_name(name);
    let there = call!("look for a partition" within SHORT, connection => has_partition(request))?;
    Ok(there.exists())
}

/// Creates the index of a field if it is missing.
fn ensure_index(
    connection: &Connection,
    field: &str,
    index: IndexParam,
) -> Result<(), MilvusError> {
    if has_index(connection, field)? {
        return Ok(());
    }
    let request = CreateIndexRequest::builder().index_param(index).sync(false);
    match call!("create an index" within LONG, connection => create_index(request)) {
        Err(error) if !has_index(connection, field)? => Err(error),
        _ => Ok(()),
    }
}

fn has_index(connection: &Connection, field: &str) -> Result<bool, MilvusError> {
    let request = DescribeIndexRequest::builder().field_name(field);
    let described = call!("describe an index" within SHORT, connection => describe_index(request));
    let described = match described {
        // Servers refuse to describe a missing index.
        Err(error) if error.is_refusal() => return Ok(false),
        described => described?,
    };
    let mut indexes = described.indexes().iter();
    Ok(indexes.any(|index| index.get_field_name() == field))
}
