//! Reading a damaged block of a large file, mapped or by position, reports the damage.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use ken_storage::{
    BLOCK_BYTES, Blocks, CheckedFolder, HEAP_BYTES, Mapped, StorageError, block_sum,
};

/// A file of several blocks, the last of them short, and its folder.
fn written() -> (tempfile::TempDir, Vec<u8>, CheckedFolder) {
    let dir = tempfile::tempdir().unwrap();
    let length = HEAP_BYTES as usize + 3 * BLOCK_BYTES + 100;
    let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
    fs::write(dir.path().join("file"), &bytes).unwrap();
    // Checksums of another file come before.
    let mut sums = vec![0; 16];
    let each = bytes.chunks(BLOCK_BYTES).map(block_sum);
    sums.extend(each.flat_map(u64::to_le_bytes));
    fs::write(dir.path().join("sums"), sums).unwrap();
    let sums = Arc::new(Mapped::open(&dir.path().join("sums"), None).unwrap());
    let blocks = Blocks::new(&dir.path().join("file"), length, sums, 2);
    let blocks = [("file".to_owned(), Arc::new(blocks))];
    let folder = CheckedFolder::new(dir.path(), blocks.into());
    (dir, bytes, folder)
}

/// The results of reading a range: mapped, and by position.
fn both(folder: &CheckedFolder, range: Range<usize>) -> [Result<Vec<u8>, StorageError>; 2] {
    let mapped = folder.map("file", None).unwrap();
    let mapped = mapped
        .read(range.clone())
        .map(|bytes| bytes.unwrap().to_vec());
    let file = folder.read_at("file", None).unwrap();
    let read = file.bytes(range.start as u64..range.end as u64);
    [mapped, read.map(|bytes| bytes.unwrap().into_owned())]
}

#[test]
fn intact_blocks_are_read_as_they_are() {
    let (_dir, bytes, folder) = written();
    let end = bytes.len();
    for range in [
        0..1,
        BLOCK_BYTES - 1..BLOCK_BYTES + 1,
        end - 1..end,
        end..end,
        0..end,
    ] {
        for read in both(&folder, range.clone()) {
            assert_eq!(read.unwrap(), &bytes[range.clone()]);
        }
    }
}

#[test]
fn once_few_blocks_are_left_the_rest_is_checked() {
    for damaged in [false, true] {
        let (dir, mut bytes, folder) = written();
        let last = bytes.len() - 1;
        bytes[last] ^= u8::from(damaged);
        fs::write(dir.path().join("file"), &bytes).unwrap();
        let mapped = folder.map("file", None).unwrap();
        mapped.touch(0..bytes.len() / 2);
        mapped.check_rest();
        mapped.sound().unwrap();
        mapped.touch(0..bytes.len() - 2 * BLOCK_BYTES);
        mapped.sound().unwrap();
        mapped.check_rest();
        assert_eq!(mapped.sound().is_err(), damaged);
    }
}

#[test]
fn damage_is_found_where_it_is_read_and_only_there() {
    let (dir, mut bytes, _) = written();
    let (first, last) = (5 * BLOCK_BYTES, bytes.len() - 1);
    bytes[first] ^= 1;
    bytes[last] ^= 0x80;
    for (damaged, range) in [
        (false, 4 * BLOCK_BYTES..5 * BLOCK_BYTES),
        (true, 4 * BLOCK_BYTES..5 * BLOCK_BYTES + 1),
        (true, 6 * BLOCK_BYTES - 1..6 * BLOCK_BYTES),
        (false, 6 * BLOCK_BYTES..7 * BLOCK_BYTES),
        (true, last - 1..last),
    ] {
        // A fresh folder each time: nothing was read before.
        let (_other, _, folder) = written();
        fs::write(_other.path().join("file"), &bytes).unwrap();
        for read in both(&folder, range.clone()) {
            match read {
                Ok(read) => assert!(!damaged && read == bytes[range.clone()]),
                Err(error) => {
                    assert!(damaged, "{error}");
                    assert_eq!(error.source.kind(), io::ErrorKind::InvalidData);
                    assert!(error.path.ends_with("file"), "{error}");
                }
            }
        }
    }
    drop(dir);
}

#[test]
fn a_range_past_the_end_is_no_damage() {
    let (_dir, bytes, folder) = written();
    let file = folder.read_at("file", None).unwrap();
    let end = bytes.len() as u64;
    assert!(file.bytes(end - 1..end + 1).unwrap().is_none());
    let error = file.read_into(end - 1, &mut [0; 2]).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::UnexpectedEof);
    let mapped = folder.map("file", None).unwrap();
    assert!(mapped.read(0..bytes.len() + 1).unwrap().is_none());
    assert_eq!(mapped.u64_at(bytes.len() - 7), None);
    file.read_into(end - 2, &mut [0; 2]).unwrap();
    mapped.sound().unwrap();
}
