//! Which entries of folders are left out: by patterns that a person gives, by files of patterns in the folders, and by what
//! they are, such as installed packages and caches. Patterns are those of `gitignore`.

use std::fs::DirEntry;
use std::io::Read;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

use crate::error::ReadError;
use crate::notice::{NoticeKind, Notices};

/// The files of patterns. Those of the last one come first.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// What programs install and compile, unless a file says otherwise.
const USUAL: [&str; 2] = ["node_modules/", "__pycache__/"];

/// The files by which programs mark folders that they can make again: caches, and environments of Python.
const MARKS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// The longest file of patterns, in bytes.
const LONGEST: usize = 64 * 1024;

/// The patterns that hold in a folder: its own, and behind them those of the folder around it.
pub(crate) struct Patterns<'o> {
    own: Gitignore,
    outer: Option<&'o Patterns<'o>>,
}

impl<'o> Patterns<'o> {
    /// The patterns that a person gives for a folder.
    ///
    /// # Errors
    /// [`ReadError::BadPattern`].
    pub(crate) fn given(folder: &Path, patterns: &[String]) -> Result<Self, ReadError> {
        let bad = |pattern: String| {
            move |cause: ignore::Error| ReadError::BadPattern {
                pattern,
                reason: cause.to_string(),
            }
        };
        let mut builder = GitignoreBuilder::new(folder);
        for pattern in patterns {
            let added = builder.add_line(None, pattern);
            added.map_err(bad(pattern.clone()))?;
        }
        let own = builder.build().map_err(bad(patterns.join(" ")))?;
        Ok(Self { own, outer: None })
    }

    /// The patterns of a folder with these entries; `outer` are those of the folder around it, if that is read as well.
    /// `notices` get the lines that are no patterns, `unreadable` the files of patterns that cannot be read, or that hold
    /// more than can be matched.
    pub(crate) fn of(
        folder: &Path,
        entries: &[DirEntry],
        outer: Option<&'o Self>,
        notices: &Notices,
        unreadable: &mut dyn FnMut(PathBuf),
    ) -> Self {
        let mut builder = GitignoreBuilder::new(folder);
        if outer.is_none() {
            for pattern in USUAL {
                // Each is a pattern.
                let _ = builder.add_line(None, pattern);
            }
        }
        let is_here = |name: &&str| entries.iter().any(|entry| entry.file_name() == **name);
        let files = FILES.into_iter().filter(is_here);
        let files: Vec<PathBuf> = files.map(|name| folder.join(name)).collect();
        for path in &files {
            let Some(text) = text_of(path) else {
                unreadable(path.clone());
                continue;
            };
            for (line, pattern) in (1..).zip(text.lines()) {
                // As for git, a line that is no pattern excludes nothing.
                if let Err(error) = builder.add_line(None, pattern) {
                    let reason = reason_of(error);
                    notices.add(path.clone(), NoticeKind::BadPattern { line, reason });
                }
            }
        }
        let own = builder.build().unwrap_or_else(|_| {
            files.into_iter().for_each(unreadable);
            Gitignore::empty()
        });
        Self { own, outer }
    }

    /// What the innermost pattern that matches an entry says of it.
    pub(crate) fn matched(&self, path: &Path, is_folder: bool) -> Match<&Glob> {
        match (self.own.matched(path, is_folder), self.outer) {
            (Match::None, Some(outer)) => outer.matched(path, is_folder),
            (own, _) => own,
        }
    }
}

/// Why a line is no pattern, without the line.
fn reason_of(error: ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err,
        other => other.to_string(),
    }
}

/// Whether a folder is marked as one that a program can make again.
pub(crate) fn is_marked(folder: &Path) -> bool {
    MARKS.iter().any(|mark| folder.join(mark).is_file())
}

/// The text of a file of patterns; `None` if it is too long, or cannot be read.
fn text_of(path: &Path) -> Option<String> {
    let file = ken_storage::open(path).ok()?;
    let mut bytes = Vec::new();
    let most = LONGEST as u64 + 1;
    file.take(most).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    (bytes.len() <= LONGEST).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ken_testing::with;

    use super::*;
    use crate::documents::{read_documents, read_documents_with};
    use crate::files::{SkipReason, Skipped};
    use crate::options::ReadOptions;

    /// A folder of files, each with its text.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    /// Checks the ids of the documents in a folder, and the number of entries that are left out.
    fn check(folder: &Path, exclude: &[&str], ids: &[&str], excluded: usize) {
        let exclude = exclude.iter().map(|pattern| (*pattern).to_owned());
        let options = with!(ReadOptions::default(), exclude: exclude.collect());
        let documents = read_documents_with(&[folder.to_owned()], options).unwrap();
        assert_eq!(documents.excluded(), excluded);
        let read: Vec<String> = documents.map(|document| document.unwrap().id).collect();
        assert_eq!(read, ids);
    }

    #[test]
    fn what_git_ignores_is_left_out_and_what_is_given_comes_first() {
        let dir = folder(&[
            (".gitignore", "\u{feff}# made\n*.log\n/build/\n{\n"),
            (".ignore", "!kept.log\n"),
            ("a.md", "a"),
            ("all.log", "x"),
            ("kept.log", "x"),
            ("build/b.md", "b"),
            ("deep/.gitignore", "!own.log\n/c.md\n"),
            ("deep/c.md", "c"),
            ("deep/own.log", "x"),
            ("deep/build/d.md", "d"),
            ("deep/deeper/c.md", "c"),
        ]);
        let (build, deeper) = ("deep/build/d.md", "deep/deeper/c.md");
        let all = ["a.md", build, deeper, "deep/own.log", "kept.log"];
        check(dir.path(), &[], &all, 3);
        let given = ["deep/", "!/build/"];
        check(dir.path(), &given, &["a.md", "build/b.md", "kept.log"], 2);
        check(dir.path(), &["*.log"], &["a.md", build, deeper], 5);
        // A folder that is named itself is read.
        check(&dir.path().join("build"), &[], &["b.md"], 0);
    }

    #[test]
    fn what_programs_can_make_again_is_left_out() {
        let readme = "app/node_modules/left-pad/README.md";
        let dir = folder(&[
            ("a.md", "a"),
            (readme, "x"),
            ("app/__pycache__/x.txt", "x"),
            (
                "cache/CACHEDIR.TAG",
                "Signature: 8a477f597d28d172789f06886806bc55",
            ),
            ("cache/b.md", "b"),
            ("env/pyvenv.cfg", "home = /usr/bin"),
            ("env/c.md", "c"),
        ]);
        check(dir.path(), &[], &["a.md"], 4);
        fs::write(dir.path().join(".ignore"), "!node_modules/\n!/env\n").unwrap();
        let again = ["a.md", readme, "env/c.md", "env/pyvenv.cfg"];
        check(dir.path(), &[], &again, 2);
    }

    #[test]
    fn a_file_of_patterns_that_cannot_be_read_is_told() {
        let long = format!("{}\n*.md\n", "#".repeat(LONGEST));
        let dir = folder(&[(".gitignore", &long), ("a.md", "a")]);
        let documents = read_documents(&[dir.path().to_owned()]).unwrap();
        let expected = Skipped {
            path: dir.path().join(".gitignore"),
            reason: SkipReason::Unreadable,
        };
        assert_eq!(documents.skipped(), [expected]);
        assert!(documents.has_unreadable());
        assert_eq!(documents.count(), 1);
    }

    #[test]
    fn lines_that_are_no_patterns_are_told_and_cost_no_others() {
        let dir = folder(&[
            (".gitignore", "# made\n[z-a]\n*.log\n{a\n"),
            ("a.md", "a"),
            ("a.log", "x"),
            ("deep/.ignore", "\n!{b,\nc.md\n"),
            ("deep/b.md", "b"),
            ("deep/c.md", "c"),
        ]);
        check(dir.path(), &[], &["a.md", "deep/b.md"], 2);
        let documents = read_documents(&[dir.path().to_owned()]).unwrap();
        assert!(documents.skipped().is_empty());
        let told: Vec<String> = documents
            .notices()
            .take()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(told.len(), 3, "{told:?}");
        let places = [".gitignore:2", ".gitignore:4", "deep/.ignore:2"];
        for (message, place) in told.iter().zip(places) {
            let start = format!("{} is no pattern", dir.path().join(place).display());
            assert!(message.starts_with(&start), "{message}");
        }
        assert!(told[0].ends_with("invalid range; 'z' > 'a'"), "{}", told[0]);
    }

    #[test]
    fn what_is_given_itself_does_not_count_as_left_out() {
        let dir = folder(&[
            (".gitignore", "build/\n*.log\n"),
            ("a.md", "a"),
            ("a.log", "x"),
            ("build/b.md", "b"),
        ]);
        let given = [dir.path().to_owned(), dir.path().join("build")];
        let documents = read_documents(&given).unwrap();
        assert_eq!(documents.excluded(), 1);
        assert_eq!(documents.count(), 2);
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        let dir = folder(&[("a.md", "a")]);
        let options = with!(ReadOptions::default(), exclude: vec!["{a".to_owned()]);
        let read = read_documents_with(&[dir.path().to_owned()], options);
        let error = read.err().unwrap();
        assert_eq!(error.kind(), "bad_pattern");
        assert!(error.to_string().contains("`{a`"), "{error}");
    }

    #[test]
    fn copies_are_read_whatever_they_are() {
        let dir = folder(&[(".gitignore", "*"), ("node_modules/a.md", "a")]);
        let options = with!(ReadOptions::default(), copies: true);
        let documents = read_documents_with(&[dir.path().to_owned()], options).unwrap();
        assert_eq!(documents.count(), 1);
    }
}
