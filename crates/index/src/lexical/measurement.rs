//! Writing and opening a lexical index, timed. It asserts nothing.

use std::io::Write as _;
use std::time::Instant;

use super::*;

/// The vocabulary: the frequency of a word falls with its rank (Zipf's law).
const VOCABULARY: f64 = 1e7;

/// Writes `KEN_BENCH_PASSAGES` passages of `KEN_BENCH_WORDS` words into the folder `KEN_BENCH_LEXICAL`
/// and opens what was written, with and without reading all of it. Adds a line of JSON to `lexical.json`
/// there.
#[test]
#[ignore = "a measurement"]
fn of_writing_and_opening() {
    let dir = PathBuf::from(std::env::var_os("KEN_BENCH_LEXICAL").unwrap());
    let setting = |name| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (passages, words) = (setting("KEN_BENCH_PASSAGES"), setting("KEN_BENCH_WORDS"));
    let segment = tempfile::tempdir_in(&dir).unwrap();

    let start = Instant::now();
    let mut writer = LexicalWriter::create(segment.path()).unwrap();
    let empty_bytes = writer.memory();
    let (mut state, mut text, mut writer_bytes) = (7u64, String::new(), 0);
    for _ in 0..passages {
        text.clear();
        for _ in 0..words {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let share = (state >> 11) as f64 / (1u64 << 53) as f64;
            text.push_str(&format!("w{:x} ", VOCABULARY.powf(share) as u64));
        }
        writer.push("", &text).unwrap();
        writer_bytes = writer.memory().max(writer_bytes);
    }
    let pushed_s = start.elapsed().as_secs_f64();
    writer.finish().unwrap();
    let written_s = start.elapsed().as_secs_f64();

    let open = |most_bytes| {
        let start = Instant::now();
        let segments = [(segment.path(), passages)].into_iter();
        let index = LexicalIndex::open_verifying(most_bytes, segments).unwrap();
        (start.elapsed().as_secs_f64(), index.parts.len())
    };
    let (verified_s, _) = open(u64::MAX);
    let (opened_s, parts) = open(HEAP_BYTES);
    let folders = (0..parts).map(|part| std::fs::read_dir(folder(segment.path(), part)).unwrap());
    let file_bytes: u64 = folders
        .flatten()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let measured = serde_json::json!({
        "passages": passages,
        "words": words,
        "parts": parts,
        "empty_bytes": empty_bytes,
        "writer_bytes": writer_bytes,
        "peak_memory": peak.unwrap().trim(),
        "file_bytes": file_bytes,
        "pushed_s": pushed_s,
        "written_s": written_s,
        "opened_and_verified_s": verified_s,
        "opened_s": opened_s,
    });
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(dir.join("lexical.json"));
    writeln!(file.unwrap(), "{measured}").unwrap();
}
