//! Default names of files of records.

use std::path::{Path, PathBuf};

/// The extensions of files of questions, and of corpora.
const ENDINGS: [&str; 3] = [".jsonl.gz", ".jsonl", ".ken"];

/// The default path of records: in the working directory, named after the file of questions or the corpus, without
/// its extension, and the command.
pub fn default_file(source: &Path, what: &str) -> PathBuf {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    let stem = stem.unwrap_or(&name);
    PathBuf::from(format!("{stem}.{what}"))
}

/// A file beside the records, with their name and another extension.
pub fn with_ending(records: &Path, ending: &str) -> PathBuf {
    let mut beside = records.as_os_str().to_owned();
    beside.push(".");
    beside.push(ending);
    PathBuf::from(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_named_after_the_questions() {
        let named = |source: &str| default_file(Path::new(source), "probe.jsonl");
        assert_eq!(named("sets/nq.jsonl.gz"), Path::new("nq.probe.jsonl"));
        assert_eq!(named("a/nq.dev.jsonl"), Path::new("nq.dev.probe.jsonl"));
        assert_eq!(named("b/nq.test.jsonl"), Path::new("nq.test.probe.jsonl"));
        assert_eq!(named("notes.ken"), Path::new("notes.probe.jsonl"));
        assert_eq!(named("questions"), Path::new("questions.probe.jsonl"));
        let table = with_ending(Path::new("nq.probe.jsonl"), "parquet");
        assert_eq!(table, Path::new("nq.probe.jsonl.parquet"));
    }
}
