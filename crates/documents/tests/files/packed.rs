//! Compressed bytes.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

pub(crate) fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(contents: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn bzip2(contents: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}
