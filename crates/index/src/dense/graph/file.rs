//! The file `vectors.graph`: how a graph is written, and checked when it is opened.
//!
//! Little-endian. A header of 64 bytes: the eight letters `kengraph`; as u32 the version of the
//! layout, the neighbors of a node, the dimensions and the kind of the codes; as u64 the passages
//! and the nodes; zeros. Then, each at a multiple of 64 bytes: of kind 0 the codes, i8
//! `[nodes, dimensions]`, and their scales, f32 `[nodes]`; of kind 1 the centroids, f32
//! `[parts, 256, 4]`, and the codes, u8 `[nodes, parts]`, where a vector has a part for every four
//! dimensions; the neighbors of each layer, u32 `[nodes of the layer, neighbors]`, that of all
//! nodes first, filled up with 2^32 - 1; where the passages of each node begin, u32 `[nodes + 1]`;
//! the ordinals of the passages, u32 `[passages]`.
//!
//! What follows from the header is checked here; what the numbers say is not trusted by whoever
//! uses them, and the corpus keeps a hash of the file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use ken_storage::Mapped;

use super::build::layer_sizes;
use super::codes::Codes;
use super::pq::{self, PqCodes};
use super::walk::Layer;
use crate::IndexError;

/// The name of the file in a segment's folder.
pub(super) const FILE: &str = "vectors.graph";

const MAGIC: &[u8; 8] = b"kengraph";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;

/// Every part begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// A graph on disk: a small one in memory, a large one mapped.
#[derive(Debug)]
pub(super) struct GraphFile {
    path: PathBuf,
    bytes: Mapped,
    layout: Layout,
}

/// What the header says, and where the parts lie that follow from it, in bytes.
#[derive(Debug)]
struct Layout {
    degree: usize,
    dimensions: usize,
    codes: CodesLayout,
    layers: Vec<Range<usize>>,
    starts: Range<usize>,
    ordinals: Range<usize>,
}

/// Where the codes lie, in bytes.
#[derive(Debug)]
enum CodesLayout {
    Bytes {
        numbers: Range<usize>,
        scales: Range<usize>,
    },
    Pq {
        centroids: Range<usize>,
        codes: Range<usize>,
    },
}

/// What the vectors of the nodes are compared by.
#[derive(Clone, Copy, Debug)]
pub(super) enum StoredCodes<'a> {
    /// One byte a number.
    Bytes(Codes<'a>),
    /// One byte for four numbers.
    Pq(PqCodes<'a>),
}

impl Layout {
    /// `None` where the numbers are beyond any file.
    fn new(header: &Header) -> Option<Layout> {
        let number = |n: u64| usize::try_from(n).ok();
        let (nodes, passages) = (number(header.nodes)?, number(header.passages)?);
        let (degree, dimensions) = (header.degree as usize, header.dimensions as usize);
        let mut end = HEADER_BYTES;
        let mut part = |rows: usize, row_bytes: usize| {
            let start = end.checked_next_multiple_of(ALIGNMENT)?;
            end = start.checked_add(rows.checked_mul(row_bytes)?)?;
            Some(start..end)
        };
        Some(Layout {
            degree,
            dimensions,
            codes: match header.kind {
                Kind::Bytes => CodesLayout::Bytes {
                    numbers: part(nodes, dimensions)?,
                    scales: part(nodes, 4)?,
                },
                Kind::Pq => {
                    let subspaces = pq::subspaces(dimensions);
                    CodesLayout::Pq {
                        centroids: part(subspaces, pq::CENTROIDS * pq::CODE_DIMENSIONS * 4)?,
                        codes: part(nodes, subspaces)?,
                    }
                }
            },
            layers: layer_sizes(nodes)
                .into_iter()
                .map(|size| part(size, degree.checked_mul(4)?))
                .collect::<Option<_>>()?,
            starts: part(nodes.checked_add(1)?, 4)?,
            ordinals: part(passages, 4)?,
        })
    }
}

/// The kind of the codes, as it is written.
#[derive(Clone, Copy)]
enum Kind {
    Bytes = 0,
    Pq = 1,
}

struct Header {
    degree: u32,
    dimensions: u32,
    kind: Kind,
    passages: u64,
    nodes: u64,
}

impl Header {
    fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.degree.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.dimensions.to_le_bytes());
        bytes[20..24].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[24..32].copy_from_slice(&self.passages.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.nodes.to_le_bytes());
        bytes
    }

    /// What the bytes say, if a graph of so many passages and dimensions can say it.
    fn read(bytes: &[u8], passages: usize, dimensions: usize) -> Result<Header, String> {
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(format!("it has only {} bytes", bytes.len()));
        };
        if !bytes.starts_with(MAGIC) {
            return Err("it does not begin as a graph does".to_owned());
        }
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let half = |at: usize| word(at) as u32;
        let header = Header {
            degree: half(12),
            dimensions: half(16),
            kind: match half(20) {
                0 => Kind::Bytes,
                1 => Kind::Pq,
                other => return Err(format!("its codes are of the unknown kind {other}")),
            },
            passages: word(24),
            nodes: word(32),
        };
        let holds = (header.passages, header.dimensions as usize);
        if half(8) != VERSION {
            Err(format!("its layout is {}, not {VERSION}", half(8)))
        } else if holds != (passages as u64, dimensions) {
            let (held, of) = holds;
            Err(format!(
                "it is of {held} passages in {of} dimensions, not of {passages} in {dimensions}"
            ))
        } else if header.nodes == 0 || header.nodes > header.passages || header.degree == 0 {
            let (nodes, degree) = (header.nodes, header.degree);
            Err(format!("it has {nodes} nodes of {degree} neighbors"))
        } else {
            Ok(header)
        }
    }
}

/// A graph to be written; the parts as the top of this file describes them.
pub(super) struct Parts<'a> {
    pub(super) codes: StoredCodes<'a>,
    pub(super) layers: &'a [Vec<u32>],
    pub(super) starts: &'a [u32],
    pub(super) ordinals: &'a [u32],
}

/// Writes the graph of the segment in `dir`.
pub(super) fn write(
    dir: &Path,
    graph: &Parts<'_>,
    degree: usize,
    dimensions: usize,
) -> Result<(), IndexError> {
    let path = dir.join(FILE);
    let (kind, codes) = match graph.codes {
        StoredCodes::Bytes(Codes {
            numbers, scales, ..
        }) => (
            Kind::Bytes,
            [bytemuck::cast_slice(numbers), bytemuck::cast_slice(scales)],
        ),
        StoredCodes::Pq(PqCodes {
            centroids, codes, ..
        }) => (Kind::Pq, [bytemuck::cast_slice(centroids), codes]),
    };
    let header = Header {
        degree: degree as u32,
        dimensions: dimensions as u32,
        kind,
        passages: graph.ordinals.len() as u64,
        nodes: graph.starts.len().saturating_sub(1) as u64,
    };
    let mut parts: Vec<&[u8]> = codes.to_vec();
    parts.extend(graph.layers.iter().map(|rows| bytemuck::cast_slice(rows)));
    parts.push(bytemuck::cast_slice(graph.starts));
    parts.push(bytemuck::cast_slice(graph.ordinals));
    let written = File::create(&path).and_then(|file| {
        let mut file = BufWriter::new(file);
        file.write_all(&header.to_bytes())?;
        let mut end = HEADER_BYTES;
        for part in parts {
            let start = end.next_multiple_of(ALIGNMENT);
            file.write_all(&[0; ALIGNMENT][..start - end])?;
            file.write_all(part)?;
            end = start + part.len();
        }
        file.flush()
    });
    written.map_err(|source| IndexError::Io { path, source })
}

impl GraphFile {
    /// Opens the graph of the segment in `dir`; `None` where it has none.
    pub(super) fn open(
        dir: &Path,
        passages: usize,
        dimensions: usize,
    ) -> Result<Option<GraphFile>, IndexError> {
        let path = dir.join(FILE);
        let bytes = match Mapped::open(&path, None) {
            Ok(bytes) => bytes,
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let damaged = |path: PathBuf, reason| Err(IndexError::GraphDamaged { path, reason });
        let header = match Header::read(&bytes, passages, dimensions) {
            Ok(header) => header,
            Err(reason) => return damaged(path, reason),
        };
        match Layout::new(&header) {
            Some(layout) if layout.ordinals.end == bytes.len() => Ok(Some(GraphFile {
                path,
                bytes,
                layout,
            })),
            _ => {
                let (received, nodes) = (bytes.len(), header.nodes);
                damaged(
                    path,
                    format!("it has {received} bytes, which {nodes} nodes do not take"),
                )
            }
        }
    }

    /// The error for a graph that says what cannot be.
    pub(super) fn damaged(&self, reason: &str) -> IndexError {
        IndexError::GraphDamaged {
            path: self.path.clone(),
            reason: reason.to_owned(),
        }
    }

    /// What the vectors of the nodes are compared by.
    pub(super) fn codes(&self) -> StoredCodes<'_> {
        let dimensions = self.layout.dimensions;
        match &self.layout.codes {
            CodesLayout::Bytes { numbers, scales } => StoredCodes::Bytes(Codes {
                numbers: self.part(numbers),
                scales: self.part(scales),
                dimensions,
            }),
            CodesLayout::Pq { centroids, codes } => StoredCodes::Pq(PqCodes {
                centroids: self.part(centroids),
                codes: self.part(codes),
                subspaces: pq::subspaces(dimensions),
            }),
        }
    }

    /// The layers to walk through.
    pub(super) fn layers(&self) -> Vec<Layer<'_>> {
        let degree = self.layout.degree;
        let rows = self.layout.layers.iter().map(|range| self.part(range));
        rows.map(|rows| Layer { rows, degree }).collect()
    }

    /// Where the passages of each node begin, and the ordinals of the passages. Neither is checked.
    pub(super) fn passages(&self) -> (&[u32], &[u32]) {
        (
            self.part(&self.layout.starts),
            self.part(&self.layout.ordinals),
        )
    }

    fn part<T: bytemuck::AnyBitPattern>(&self, range: &Range<usize>) -> &[T] {
        let bytes = self.bytes.get(range.clone()).unwrap_or_default();
        bytemuck::try_cast_slice(bytes).unwrap_or_default()
    }
}
