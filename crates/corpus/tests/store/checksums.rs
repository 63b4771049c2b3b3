//! Checks of files as they are read: small files as a whole when opened, large ones block by block.

use ken_corpus::{CorpusError, verify};

use super::*;

/// A corpus whose passages and documents take more than a MiB each, in one segment.
fn large(dir: &Path) {
    let text: Vec<String> = (0..8).map(|word| format!("word{word}")).collect();
    let documents: Vec<Document> = (0..8000)
        .map(|number| document(&format!("document {number:05}"), &text.join(" ")))
        .collect();
    ingest(&mut Writer::create(dir, settings()).unwrap(), &documents);
}

/// The first and the last document, and their passages.
fn read(dir: &Path) -> Result<Vec<String>, CorpusError> {
    let corpus = Corpus::open(dir)?;
    let mut all = Vec::new();
    for number in [0, 7999] {
        let id = PassageId::new(&format!("document {number:05}"), 7);
        all.push(format!("{:?}", corpus.find(&id)?));
    }
    Ok(all)
}

#[test]
fn a_small_file_is_checked_when_the_corpus_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = Writer::create(dir, settings()).unwrap();
    ingest(
        &mut writer,
        &[document("a", "one two"), document("b", "three")],
    );
    writer.prune(vec![mark("a#0")]).unwrap();
    drop(writer);
    let segment = segment(dir, "00000001-000");
    let mut paths: Vec<_> = files(&segment)
        .into_keys()
        .map(|name| segment.join(name))
        .collect();
    assert_eq!(paths.len(), 5);
    paths.push(dir.join("marks").join("00000002.00000001-000.json"));
    for path in paths {
        let bytes = fs::read(&path).unwrap();
        for place in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            fs::write(&path, changed).unwrap();
            let error = Corpus::open(dir).unwrap_err();
            assert_eq!(error.kind(), "corpus_damaged");
            assert!(
                error.to_string().contains(path.to_str().unwrap()),
                "{error}"
            );
            assert!(error.remedy().unwrap().mentions("VerifyCorpus"));
            let error = Writer::open(dir).unwrap_err();
            assert_eq!(error.kind(), "corpus_damaged");
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(contents(dir).len(), 2);
}

#[test]
fn a_block_of_a_large_file_is_checked_when_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    large(dir);
    let segment = segment(dir, "00000001-000");
    let expected = read(dir).unwrap();
    for name in ["passages.jsonl", "documents.jsonl"] {
        let path = segment.join(name);
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() > 1 << 20, "{name}");
        let change = |place: usize| {
            let mut changed = bytes.clone();
            // A digit or letter becomes another: the line can still be parsed.
            changed[place] ^= 1;
            fs::write(&path, changed).unwrap();
        };
        // In the middle of the file, where nothing is read.
        change(bytes.len() / 2);
        assert_eq!(read(dir).unwrap(), expected);
        assert_eq!(verify(dir, &mut |_| {}).unwrap().len(), 1);
        // In the last line.
        change(bytes.len() - 20);
        let error = read(dir).unwrap_err();
        assert_eq!(error.kind(), "corpus_damaged");
        assert!(error.to_string().contains(name), "{error}");
        fs::write(&path, &bytes).unwrap();
    }
    let path = segment.join("checksums.xxh3");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, vec![0; bytes.len()]).unwrap();
    let error = read(dir).unwrap_err();
    assert!(error.to_string().contains("checksums.xxh3"), "{error}");
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read(dir).unwrap(), expected);
}

#[test]
fn a_segment_with_large_files_and_no_checksums_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    large(dir);
    fs::remove_file(segment(dir, "00000001-000").join("checksums.xxh3")).unwrap();
    let error = read(dir).unwrap_err();
    assert_eq!(error.kind(), "corpus_file_missing");

    // As if it had never been there.
    let path = dir.join("generations/00000001.json");
    let text = fs::read_to_string(&path).unwrap();
    let json = text.strip_prefix("{\"manifest\":").unwrap();
    let (json, _) = json.rsplit_once(",\"blake3\":\"").unwrap();
    let start = json.find(",{\"name\":\"checksums.xxh3\"").unwrap();
    let end = start + json[start..].find('}').unwrap() + 1;
    let json = format!("{}{}", &json[..start], &json[end..]);
    let hash = blake3::hash(json.as_bytes()).to_hex();
    fs::write(
        &path,
        format!("{{\"manifest\":{json},\"blake3\":\"{hash}\"}}\n"),
    )
    .unwrap();
    fs::write(dir.join("CURRENT"), format!("1 {hash}\n")).unwrap();
    assert_eq!(read(dir).unwrap_err().kind(), "corpus_file_missing");
}
