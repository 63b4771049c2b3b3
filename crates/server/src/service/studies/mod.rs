//! Studies, comparisons and probes in a folder that the settings name, as `ken study`, `ken eval` and `ken probe`
//! leave them. The server compares a name from a request only with names in the folder, and follows no links: no path
//! leads out of the folder.

mod summary;

use std::fs::{DirEntry, FileType, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ken_setup::{Chosen, Tuned};
use ken_storage::StorageError;

use self::summary::{Manifest, Report};
use super::clock::seconds_of;
use crate::wire::refusal::Refusal;
use crate::wire::studies::{StudyFile, StudyObject};

/// The largest file that is read.
const LARGEST: u64 = 64 << 20;

/// The most entries of the folder that are read.
const MOST: usize = 10_000;

/// The folder in that of the server, if the settings name none.
const OWN: &str = "studies";

/// The report of a study, a comparison or a pruning, for people and as data.
const PAGE: &str = "report.html";
const REPORT: &str = "page.json";
const DATA: &str = "report.json";

/// The scores of compared policies.
const POLICIES: &str = "policies.csv";

/// The manifest of a study. It holds paths, so clients do not get it.
const MANIFEST: &str = "study.json";

/// The folder of studies.
pub(crate) struct Studies {
    folder: PathBuf,
}

/// An entry of the folder.
struct Entry {
    object: StudyObject,
    /// The path of each of its files, in the order in which they are listed.
    paths: Vec<PathBuf>,
}

impl Studies {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder that the settings name, or one in the server's folder, if it has one.
    ///
    /// # Errors
    /// A folder that cannot be created.
    pub(crate) fn open(
        named: Option<PathBuf>,
        data: Option<&Path>,
    ) -> Result<Option<Self>, StorageError> {
        let own = || {
            let folder = data?.join(OWN);
            Some(ken_storage::create_plain_dir_all(&folder).map(|()| folder))
        };
        let folder = named.map(Ok).or_else(own).transpose()?;
        Ok(folder.map(Self::new))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// All known entries of the folder, by name.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub(crate) fn all(&self) -> Result<Vec<StudyObject>, Refusal> {
        let mut all: Vec<StudyObject> = entries(&self.folder)?
            .iter()
            .filter_map(Entry::read)
            .map(|entry| entry.object)
            .collect();
        all.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(all)
    }

    /// A file of an entry.
    ///
    /// # Errors
    /// An unknown name; a file that cannot be read.
    pub(crate) fn file(&self, name: &str, file: &str) -> Result<Vec<u8>, Refusal> {
        let entry = self.find(name)?;
        let mut files = entry.object.files.iter();
        let index = files.position(|known| known.name == file).ok_or_else(|| {
            let message = format!("the study {name:?} has no file {file:?}");
            Refusal::not_found("unknown_file", message)
        })?;
        Ok(read(&entry.paths[index])?)
    }

    /// The folder of one in which a policy was chosen.
    ///
    /// # Errors
    /// A name that is not there; one in which none was.
    pub(crate) fn chosen(&self, name: &str) -> Result<PathBuf, Refusal> {
        match self.find(name)?.object.chosen {
            Some(_) => Ok(self.folder.join(name)),
            None => {
                let message = format!("no policy was chosen in the study {name:?}");
                Err(Refusal::bad("nothing_chosen", message).of("study"))
            }
        }
    }

    fn find(&self, name: &str) -> Result<Entry, Refusal> {
        let entries = entries(&self.folder)?;
        let entry = entries.iter().find(|entry| entry.file_name() == name);
        entry.and_then(Entry::read).ok_or_else(|| {
            Refusal::not_found("unknown_study", format!("there is no study {name:?}"))
        })
    }
}

/// The entries of a folder, without hidden ones.
fn entries(folder: &Path) -> Result<Vec<DirEntry>, StorageError> {
    let failed = || StorageError::new("read", folder);
    let read = std::fs::read_dir(folder).map_err(failed())?.take(MOST);
    let mut entries = Vec::new();
    for entry in read {
        let entry = entry.map_err(failed())?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| !name.starts_with('.')) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The content of a file, unless it is too large.
fn read(path: &Path) -> Result<Vec<u8>, StorageError> {
    let failed = || StorageError::new("read", path);
    let file = std::fs::File::open(path).map_err(failed())?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed())?;
    match bytes.len() as u64 > LARGEST {
        true => Err(failed()(io::Error::from(io::ErrorKind::FileTooLarge))),
        false => Ok(bytes),
    }
}

impl Entry {
    /// Reads an entry of the folder; `None` if it is of no known kind, a link, or gone by now.
    fn read(entry: &DirEntry) -> Option<Self> {
        let name = entry.file_name().into_string().ok()?;
        let kind: FileType = entry.file_type().ok()?;
        let mut study = Self {
            object: StudyObject {
                name,
                ..StudyObject::default()
            },
            paths: Vec::new(),
        };
        let is_known = match (kind.is_dir(), kind.is_file()) {
            (true, _) => study.as_folder(&entry.path()),
            (_, true) => study.as_file(&entry.path()),
            // A link, or no file at all.
            _ => false,
        };
        is_known.then_some(study)
    }

    /// Adds a file if it exists, is no link and is not too large.
    fn add(&mut self, name: &str, path: PathBuf) -> bool {
        let Some(known) = path
            .symlink_metadata()
            .ok()
            .filter(|known| known.is_file() && known.len() <= LARGEST)
        else {
            return false;
        };
        self.note_time(&known);
        self.object.files.push(StudyFile {
            name: name.to_owned(),
            bytes: known.len(),
        });
        self.paths.push(path);
        true
    }

    /// Records when a file changed.
    fn note_time(&mut self, known: &Metadata) {
        let changed = known.modified().map_or(0, seconds_of);
        self.object.changed_at = self.object.changed_at.max(changed);
    }

    fn as_folder(&mut self, folder: &Path) -> bool {
        let has = [PAGE, REPORT, DATA, POLICIES].map(|name| self.add(name, folder.join(name)));
        let [has_page, has_report, has_data, has_policies] = has;
        let [_, is_tuned, _] = [Chosen::SETTINGS, Chosen::TUNED, Chosen::GUARANTEE]
            .map(|name| self.add(name, folder.join(name)));
        let tuned = is_tuned.then(|| Tuned::read(&folder.join(Chosen::TUNED)));
        self.object.chosen = tuned.and_then(Result::ok).map(|tuned| tuned.policy);
        let report = has_data
            .then(|| summary::parsed::<Report>(&folder.join(DATA)))
            .flatten();
        let made_of = folder.join(MANIFEST);
        let manifest = summary::parsed::<Manifest>(&made_of);
        if let Ok(known) = made_of.symlink_metadata() {
            self.note_time(&known);
        }
        self.object.page = has_page.then(|| PAGE.to_owned());
        self.object.report = has_report.then(|| REPORT.to_owned());
        self.object.kind = match (report.is_some() || manifest.is_some(), has_policies) {
            (true, _) => "study",
            (_, true) => "comparison",
            _ => "report",
        };
        if report.is_some() {
            self.object.data = Some(DATA.to_owned());
        } else if has_policies {
            self.object.data = Some(POLICIES.to_owned());
        }
        summary::describe(&mut self.object, report, manifest);
        has_page || self.object.kind != "report"
    }

    fn as_file(&mut self, path: &Path) -> bool {
        let name = self.object.name.clone();
        let questions = match path.extension().and_then(|ending| ending.to_str()) {
            Some("jsonl") => summary::of_probe(path),
            Some("json") => summary::of_comparison(path),
            _ => None,
        };
        let Some(questions) = questions.filter(|_| self.add(&name, path.to_owned())) else {
            return false;
        };
        self.object.questions = Some(questions);
        self.object.data = Some(name.clone());
        self.object.kind = match name.ends_with(".json") {
            true => "comparison",
            false => "probe",
        };
        // `ken probe` writes a page beside the records.
        let page = format!("{name}.html");
        if self.add(&page, path.with_file_name(&page)) {
            self.object.page = Some(page);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<(String, &'static str)> {
        let all = Studies::new(folder.to_owned()).all().unwrap();
        all.into_iter()
            .map(|study| (study.name, study.kind))
            .collect()
    }

    #[test]
    fn what_is_nothing_of_ours_is_left_out_and_what_is_broken_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let write = |name: &str, text: &str| {
            let file = path.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        for (name, text) in [
            ("empty/other.txt", "x"),
            ("broken/report.json", "{\"series\": 7"),
            ("broken.study/study.json", "["),
            ("questions.jsonl", "{\"id\": \"a\", \"question\": \"b\"}\n"),
            ("settings.jsonl", "{\"settings\":{}}\n"),
            ("noise.jsonl", "\u{0}\n\n"),
            ("other.json", "{\"policies\": []}"),
            ("page.html", "<p>"),
            (".hidden/report.html", "<p>"),
        ] {
            write(name, text);
        }
        assert_eq!(names(path), []);
        write(
            "nq/study.json",
            r#"{"datasets": {"nq": {"questions": 3}}, "models": {}, "conditions": []}"#,
        );
        write("pruned/report.html", "<p>");
        write("pruned/report.json", "{\"rows\": []}");
        write("compared/policies.csv", "policy,em\n");
        let known = r#"{"settings":{}}
{"id": "a", "question": "b", "confidence": {"self": 0.5}}
"#;
        write("known.jsonl", known);
        let expected = [
            ("compared", "comparison"),
            ("known.jsonl", "probe"),
            ("nq", "study"),
            ("pruned", "report"),
        ];
        let expected = expected.map(|(name, kind)| (name.to_owned(), kind));
        assert_eq!(names(path), expected);
        let studies = Studies::new(path.to_owned());
        assert_eq!(
            studies.file("known.jsonl", "known.jsonl").unwrap(),
            known.as_bytes()
        );
        for (name, file) in [
            ("nq", "study.json"),
            ("nq", "report.html"),
            ("nq", "../pruned/report.html"),
            ("pruned", "../known.jsonl"),
            ("known.jsonl", "../known.jsonl"),
        ] {
            let refused = studies.file(name, file).err().unwrap();
            assert_eq!(refused.code(), "unknown_file", "{name} {file}");
        }
        for name in ["", ".", "..", "./nq", "nq/", ".hidden", "page.html", "none"] {
            let refused = studies.file(name, "report.html").err().unwrap();
            assert_eq!(refused.code(), "unknown_study", "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;

        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (path, secret) = (folder.path(), other.path().join("report.html"));
        std::fs::write(&secret, "secret").unwrap();
        std::fs::create_dir_all(path.join("own")).unwrap();
        symlink(other.path(), path.join("linked")).unwrap();
        symlink(&secret, path.join("own/report.html")).unwrap();
        symlink(&secret, path.join("own/page.json")).unwrap();
        symlink(other.path(), path.join("own/report.json")).unwrap();
        assert_eq!(names(path), []);
        std::fs::write(path.join("own/policies.csv"), "policy,em\n").unwrap();
        let own = Studies::new(path.to_owned()).all().unwrap();
        let files: Vec<&str> = own[0].files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(files, [POLICIES]);
    }
}
