//! The file `vectors.graph`: how a graph is written, and checked when it is opened.
//!
//! Little-endian. A header of 64 bytes: the eight letters `kengraph`; as u32 the version of the
//! layout, the neighbors of a node (M), the dimensions and the kind of the codes; as u64 the
//! passages and the nodes; zeros. Then, each at a multiple of 64 bytes: of kind 0 (scalar) the
//! codes, i8 `[nodes, dimensions]`, and their scales, f32 `[nodes]`; of kind 1 (PQ) the centroids,
//! f32 `[parts, 256, 4]`, and the codes, u8 `[nodes, parts]`, where a vector has a part for every
//! four dimensions; the neighbors of each layer, u32 `[nodes of the layer, neighbors]`, that of all
//! nodes first, padded with 2^32 - 1; where the passages of each node start, u32 `[nodes + 1]`; the
//! ordinals of the passages, u32 `[passages]`; the recalls of longer and longer candidate lists, f32
//! `[2, 16]` ([`Efforts`]), `[2, 12]` in layout 2, which is older.
//!
//! Opening a graph checks the sizes that follow from the header; the numbers are never trusted. A search checks
//! blocks against the corpus's checksums when it first reads them: those of codes and neighbors as the walk gets there,
//! those of the other parts all at once. A walk that meets a damaged block goes on to its end, and its result is
//! refused then.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use ken_storage::{CheckedFolder, Mapped, StorageError};

use super::Quantization;
use super::build::layer_sizes;
use super::effort::Efforts;
use super::product::{self, ProductCodes};
use super::scalar::ScalarCodes;
use super::walk::Layer;
use crate::IndexError;

/// The name of the file in a segment's folder.
pub(super) const FILE: &str = "vectors.graph";

const MAGIC: &[u8; 8] = b"kengraph";
const VERSION: u32 = 3;

/// The layout with fewer recalls, and their bytes.
const OLDER: u32 = 2;
const OLDER_RECALLS: usize = 2 * 12 * size_of::<f32>();
const HEADER_BYTES: usize = 64;

/// Every part starts at a multiple of this.
const ALIGNMENT: usize = 64;

/// A graph on disk: a small one in memory, a large one mapped.
#[derive(Debug)]
pub(crate) struct Graph {
    path: PathBuf,
    bytes: Mapped,
    layout: Layout,
}

/// The header, and the byte ranges of the parts, which follow from it.
#[derive(Debug)]
struct Layout {
    m: usize,
    dimensions: usize,
    codes: CodesRanges,
    layers: Vec<Range<usize>>,
    starts: Range<usize>,
    ordinals: Range<usize>,
    recalls: Range<usize>,
}

/// The byte ranges of the codes.
#[derive(Debug)]
enum CodesRanges {
    Scalar {
        numbers: Range<usize>,
        scales: Range<usize>,
    },
    Product {
        centroids: Range<usize>,
        codes: Range<usize>,
    },
}

/// The quantized vectors of the nodes.
#[derive(Clone, Copy, Debug)]
pub(super) enum StoredCodes<'a> {
    /// One byte a number.
    Scalar(ScalarCodes<'a>),
    /// One byte for four numbers.
    Product(ProductCodes<'a>),
}

impl Layout {
    /// `None` if the numbers overflow.
    fn new(header: &Header) -> Option<Layout> {
        let number = |n: u64| usize::try_from(n).ok();
        let (nodes, passages) = (number(header.nodes)?, number(header.passages)?);
        let (m, dimensions) = (header.m as usize, header.dimensions as usize);
        let mut end = HEADER_BYTES;
        let mut part = |rows: usize, row_bytes: usize| {
            let start = end.checked_next_multiple_of(ALIGNMENT)?;
            end = start.checked_add(rows.checked_mul(row_bytes)?)?;
            Some(start..end)
        };
        Some(Layout {
            m,
            dimensions,
            codes: match header.kind {
                Kind::Scalar => CodesRanges::Scalar {
                    numbers: part(nodes, dimensions)?,
                    scales: part(nodes, 4)?,
                },
                Kind::Product => {
                    let parts = product::parts(dimensions);
                    CodesRanges::Product {
                        centroids: part(parts, product::CENTROIDS * product::PART_DIMENSIONS * 4)?,
                        codes: part(nodes, parts)?,
                    }
                }
            },
            layers: layer_sizes(nodes)
                .into_iter()
                .map(|size| part(size, m.checked_mul(4)?))
                .collect::<Option<_>>()?,
            starts: part(nodes.checked_add(1)?, 4)?,
            ordinals: part(passages, 4)?,
            recalls: match header.version {
                OLDER => part(1, OLDER_RECALLS)?,
                _ => part(1, size_of::<Efforts>())?,
            },
        })
    }
}

impl Layout {
    fn end(&self) -> usize {
        self.recalls.end
    }
}

/// The kind of the codes, as written.
#[derive(Clone, Copy)]
enum Kind {
    Scalar = 0,
    Product = 1,
}

struct Header {
    version: u32,
    m: u32,
    dimensions: u32,
    kind: Kind,
    passages: u64,
    nodes: u64,
}

impl Header {
    fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.m.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.dimensions.to_le_bytes());
        bytes[20..24].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[24..32].copy_from_slice(&self.passages.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.nodes.to_le_bytes());
        bytes
    }

    /// Parses the header of a graph of `passages` and `dimensions`.
    fn read(bytes: &[u8], passages: usize, dimensions: usize) -> Result<Header, String> {
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(format!("it has only {} bytes", bytes.len()));
        };
        if !bytes.starts_with(MAGIC) {
            return Err("it does not start as a graph does".to_owned());
        }
        let word = |start: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[start + i]));
        let half = |start: usize| word(start) as u32;
        let header = Header {
            version: half(8),
            m: half(12),
            dimensions: half(16),
            kind: match half(20) {
                0 => Kind::Scalar,
                1 => Kind::Product,
                other => return Err(format!("its codes are of the unknown kind {other}")),
            },
            passages: word(24),
            nodes: word(32),
        };
        let holds = (header.passages, header.dimensions as usize);
        if !(OLDER..=VERSION).contains(&header.version) {
            let version = header.version;
            Err(format!("its layout is {version}, not {OLDER} or {VERSION}"))
        } else if holds != (passages as u64, dimensions) {
            let (held, of) = holds;
            Err(format!(
                "it is of {held} passages in {of} dimensions, not of {passages} in {dimensions}"
            ))
        } else if header.nodes == 0 || header.nodes > header.passages || header.m == 0 {
            let (nodes, m) = (header.nodes, header.m);
            Err(format!("it has {nodes} nodes of {m} neighbors"))
        } else {
            Ok(header)
        }
    }
}

/// A graph, in memory or in its file; the top of this file describes the parts. None of them is checked.
pub(super) struct Parts<'a> {
    /// Its file.
    pub(super) path: &'a Path,
    pub(super) codes: StoredCodes<'a>,
    /// That of all nodes first.
    pub(super) layers: Vec<Layer<'a>>,
    pub(super) starts: &'a [u32],
    pub(super) ordinals: &'a [u32],
}

/// The file of a graph in a segment's folder.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// Writes a graph. `m` is the length of a row of neighbors.
pub(super) fn write(
    graph: &Parts<'_>,
    efforts: &Efforts,
    m: usize,
    dimensions: usize,
) -> Result<(), IndexError> {
    let (kind, codes) = match graph.codes {
        StoredCodes::Scalar(ScalarCodes {
            numbers, scales, ..
        }) => (
            Kind::Scalar,
            [bytemuck::cast_slice(numbers), bytemuck::cast_slice(scales)],
        ),
        StoredCodes::Product(ProductCodes {
            centroids, codes, ..
        }) => (Kind::Product, [bytemuck::cast_slice(centroids), codes]),
    };
    let header = Header {
        version: VERSION,
        m: m as u32,
        dimensions: dimensions as u32,
        kind,
        passages: graph.ordinals.len() as u64,
        nodes: graph.starts.len().saturating_sub(1) as u64,
    };
    let mut parts: Vec<&[u8]> = codes.to_vec();
    parts.extend(
        graph
            .layers
            .iter()
            .map(|layer| bytemuck::cast_slice(layer.rows)),
    );
    parts.push(bytemuck::cast_slice(graph.starts));
    parts.push(bytemuck::cast_slice(graph.ordinals));
    parts.push(bytemuck::bytes_of(&efforts.recalls));
    let write = |file: File| {
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
    };
    let written = write(ken_storage::create(graph.path)?);
    Ok(written.map_err(StorageError::new("write", graph.path))?)
}

impl Parts<'_> {
    /// The error for a graph that contradicts itself.
    pub(super) fn damaged(&self, reason: &str) -> IndexError {
        IndexError::GraphDamaged {
            path: self.path.to_owned(),
            reason: reason.to_owned(),
        }
    }
}

impl Graph {
    /// Opens the graph of a segment; `None` if it has none.
    pub(in crate::dense) fn open(
        folder: &CheckedFolder,
        passages: usize,
        dimensions: usize,
    ) -> Result<Option<Graph>, IndexError> {
        let path = path(folder.dir());
        let bytes = match folder.map(FILE, None) {
            Ok(bytes) => bytes,
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        bytes.touch(0..HEADER_BYTES);
        bytes.sound()?;
        let layout = Header::read(&bytes, passages, dimensions).and_then(|header| {
            let layout = Layout::new(&header);
            let layout = layout.filter(|layout| layout.end() == bytes.len());
            layout.ok_or_else(|| {
                let (received, nodes) = (bytes.len(), header.nodes);
                format!("it has {received} bytes, which {nodes} nodes do not take")
            })
        });
        match layout {
            Ok(layout) => Ok(Some(Graph {
                path,
                bytes,
                layout,
            })),
            Err(reason) => Err(IndexError::GraphDamaged { path, reason }),
        }
    }

    /// The parts in the file.
    pub(super) fn parts(&self) -> Parts<'_> {
        self.bytes.check_rest();
        let Layout { m, dimensions, .. } = self.layout;
        let codes = match &self.layout.codes {
            CodesRanges::Scalar { numbers, scales } => StoredCodes::Scalar(ScalarCodes {
                numbers: self.watched(numbers),
                scales: self.part(scales),
                dimensions,
                watch: self.bytes.watch(numbers.start),
            }),
            CodesRanges::Product { centroids, codes } => StoredCodes::Product(ProductCodes {
                centroids: self.part(centroids),
                codes: self.watched(codes),
                parts: product::parts(dimensions),
                watch: self.bytes.watch(codes.start),
            }),
        };
        let layers = self.layout.layers.iter().map(|range| Layer {
            rows: self.watched(range),
            m,
            watch: self.bytes.watch(range.start),
        });
        Parts {
            path: &self.path,
            codes,
            layers: layers.collect(),
            starts: self.part(&self.layout.starts),
            ordinals: self.part(&self.layout.ordinals),
        }
    }

    /// How its vectors are quantized.
    pub(in crate::dense) fn quantization(&self) -> Quantization {
        match self.layout.codes {
            CodesRanges::Scalar { .. } => Quantization::Scalar,
            CodesRanges::Product { .. } => Quantization::Product,
        }
    }

    /// Fails once a damaged block was read.
    pub(super) fn sound(&self) -> Result<(), IndexError> {
        Ok(self.bytes.sound()?)
    }

    /// The recalls of its candidate lists.
    pub(super) fn efforts(&self) -> Efforts {
        Efforts::read(self.part(&self.layout.recalls))
    }

    /// A part of the file; checks its blocks now.
    fn part<T: bytemuck::AnyBitPattern>(&self, range: &Range<usize>) -> &[T] {
        self.bytes.touch(range.clone());
        self.watched(range)
    }

    /// A part of the file whose blocks the walk checks as it reads them.
    fn watched<T: bytemuck::AnyBitPattern>(&self, range: &Range<usize>) -> &[T] {
        let bytes = self.bytes.get(range.clone()).unwrap_or_default();
        bytemuck::try_cast_slice(bytes).unwrap_or_default()
    }
}
