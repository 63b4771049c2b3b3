//! The crash-safe store of passages: immutable segments, numbered generations, one commit point.
//!
//! A corpus folder holds
//!
//! - `CURRENT`: the number and hash of the published generation, as text. Replacing this file is the
//!   only commit point: before it the old generation is current, after it the new one.
//! - `generations/{n:08}.json`: the manifest of generation n ([`manifest`]), never rewritten.
//!   Readers of a generation hold a shared lock on this file ([`pin`]).
//! - `segments/{n:08}-{shard:03}/`: documents and passages of one shard that came with generation
//!   n, never rewritten.
//! - `marks/{n:08}.{segment}.json`: which documents of a segment are gone and which of its passages
//!   are pruned, as of generation n, never rewritten.
//! - `marks/{n:08}.{segment}.{score}.f32`: a score of each of its passages, likewise.
//! - `staging/`: segments under construction; a killed writer's leftovers are removed at the next open.
//! - `LOCK`: held by the one writer.
//! - `BACKUP`: in a copy that [`backup()`] made, the corpus that it is a copy of.
//!
//! It holds no vectors and no search index; the index crate adds its files to a staged segment.

mod admission;
mod backup;
mod backup_note;
mod checksums;
mod collect;
mod corpus;
mod document_list;
mod document_names;
mod documents;
mod error;
mod info;
mod join;
mod layout;
mod manifest;
mod marks;
mod pin;
mod prune_mark;
mod prune_summary;
mod published_documents;
mod record;
mod recovery;
mod score_publication;
mod scores;
mod segment;
mod settings;
mod shards;
mod staged_segment;
mod validate;
mod verify;
mod writer;

pub use backup::{Backup, backup};
pub use corpus::Corpus;
pub use document_list::ListedDocument;
pub use document_names::file_stem;
pub use error::CorpusError;
pub use info::{CorpusInfo, PastGeneration, ShardInfo, history};
pub use join::join;
pub use layout::is_score_name;
pub use manifest::Change;
pub use prune_mark::{PlaceMark, PruneMark};
pub use prune_summary::{PrunedDocument, Pruning};
pub use published_documents::{DocumentState, Known, Published};
pub use scores::score_in_metadata;
pub use segment::Segment;
pub use settings::{EmbedderIdentity, Setting, Settings};
pub use shards::{Active, Assigner, Sharding};
pub use staged_segment::{Pruned, StagedSegment};
pub use verify::{ByteProgress, Damage, verify};
pub use writer::Writer;
