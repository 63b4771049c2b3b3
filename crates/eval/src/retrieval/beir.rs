//! The files of queries and judgments: given separately, or in a folder of the BEIR benchmark with `queries.jsonl`,
//! `qrels/test.tsv` and `corpus.jsonl`.

use std::path::{Path, PathBuf};

use super::error::RetrievalError;

/// The files for measuring retrieval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievalFiles {
    /// The queries.
    pub queries: PathBuf,
    /// The judgments.
    pub qrels: PathBuf,
}

impl RetrievalFiles {
    /// The queries of a file or BEIR folder, with the judgments of a file, for a folder by default of its split
    /// `test`. `None` for a file of queries without judgments.
    ///
    /// # Errors
    /// [`RetrievalError::NoQrels`] for a folder without that split.
    pub fn of(queries: &Path, qrels: Option<&Path>) -> Result<Option<Self>, RetrievalError> {
        if !queries.is_dir() {
            return Ok(qrels.map(|qrels| Self {
                queries: queries.to_owned(),
                qrels: qrels.to_owned(),
            }));
        }
        let by_default = queries.join("qrels").join("test.tsv");
        let qrels = match qrels {
            Some(named) => named.to_owned(),
            None if by_default.is_file() => by_default,
            None => {
                let folder = queries.to_owned();
                return Err(RetrievalError::NoQrels { folder });
            }
        };
        Ok(Some(Self {
            queries: queries.join("queries.jsonl"),
            qrels,
        }))
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;

    #[test]
    fn a_folder_has_its_own_judgments() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let of = |qrels: Option<&str>| RetrievalFiles::of(folder, qrels.map(Path::new));
        let lacking = of(None).unwrap_err();
        assert_eq!(lacking.kind(), "no_qrels");
        let named = of(Some("dev.tsv")).unwrap().unwrap();
        assert_eq!(named.qrels, Path::new("dev.tsv"));
        std::fs::create_dir(folder.join("qrels")).unwrap();
        std::fs::write(folder.join("qrels/test.tsv"), "").unwrap();
        let found = of(None).unwrap().unwrap();
        has!(found, qrels: folder.join("qrels/test.tsv"), queries: folder.join("queries.jsonl"));
        let file = folder.join("questions.jsonl");
        assert_eq!(RetrievalFiles::of(&file, None).unwrap(), None);
    }
}
