//! Joins the parts of a run: checks all of them before writing anything, and writes what one run would have written.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::folder::{FILE, Manifest, PartedRun, broken};
use super::{Part, PartError, joined_fingerprint};
use crate::results::{ResultsFile, RunSettings, differences, read_records, read_settings};
use crate::run::{Item, RunError, RunRecord, record_of, records_of};

/// All parts of one run.
#[derive(Debug)]
pub struct Parts {
    /// In the order of their numbers.
    parts: Vec<(PathBuf, Manifest)>,
}

/// The records of all parts, in the order of the run's items.
#[derive(Debug)]
pub struct JoinedFile<L> {
    /// What the records depend on.
    pub settings: RunSettings,
    /// The records.
    pub records: Vec<L>,
}

impl Parts {
    /// Reads the parts in the folders.
    ///
    /// # Errors
    /// A folder of something else, parts of different runs, a part that is repeated or missing.
    pub fn read(folders: &[PathBuf]) -> Result<Self, PartError> {
        let parts = folders
            .iter()
            .map(|folder| Ok((folder.clone(), Manifest::read(folder)?)));
        let mut parts: Vec<(PathBuf, Manifest)> = parts.collect::<Result<_, PartError>>()?;
        let (first, rest) = parts.split_first().ok_or_else(|| PartError::NotAPart {
            path: PathBuf::new(),
        })?;
        for (path, manifest) in rest {
            let differences = first.1.differences(manifest);
            if !differences.is_empty() {
                return Err(PartError::OtherRun {
                    path: path.clone(),
                    first: first.0.clone(),
                    differences,
                });
            }
        }
        parts.sort_by_key(|(_, manifest)| manifest.part);
        check_each_once(&parts)?;
        let parts = Self { parts };
        match parts.first().1.is_of(&parts.in_order()) {
            true => Ok(parts),
            false => Err(PartError::BrokenPart {
                path: parts.first().0.join(FILE),
                reason: "its items and those of the other parts are not those of the run"
                    .to_owned(),
            }),
        }
    }

    /// The folders, in the order of the parts' numbers.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|(folder, _)| folder.as_path())
    }

    /// The run of the parts.
    pub fn run(&self) -> &PartedRun {
        &self.first().1.run
    }

    /// The work of the run, as the command recorded it.
    ///
    /// # Errors
    /// Work of another kind.
    pub fn work<W: DeserializeOwned>(&self) -> Result<W, PartError> {
        let (folder, manifest) = self.first();
        W::deserialize(&manifest.run.work).map_err(|cause| broken(folder, &cause))
    }

    /// The items of the run, in order.
    ///
    /// # Errors
    /// Items of another kind.
    pub fn items<I: DeserializeOwned>(&self) -> Result<Vec<I>, PartError> {
        let items = self.in_order().into_iter().map(serde_json::from_value);
        let items: Result<Vec<I>, _> = items.collect();
        items.map_err(|cause| broken(&self.first().0, &cause))
    }

    /// The records of `items`, which are those of the run, from the file `name` of each part.
    ///
    /// # Errors
    /// Files of different settings or items, a part without the record of one of its items.
    pub fn records<L: RunRecord>(
        &self,
        name: &str,
        items: &[L::Item],
    ) -> Result<JoinedFile<L>, PartError> {
        self.joined(Path::new(name), items, |_| true, None)
    }

    /// As [`Parts::records`], of those of `items` alone that have a record in a file of one run.
    ///
    /// # Errors
    /// As [`Parts::records`].
    pub fn records_of_some<L: RunRecord>(
        &self,
        name: &str,
        items: &[L::Item],
        has_record: impl Fn(&L::Item) -> bool,
    ) -> Result<JoinedFile<L>, PartError> {
        self.joined(Path::new(name), items, has_record, None)
    }

    /// As [`Parts::records`], of a file whose setting `fingerprint`, if it has one, is of the items of the part: that
    /// of the run is [joined](joined_fingerprint).
    ///
    /// # Errors
    /// As [`Parts::records`].
    pub fn records_with<L: RunRecord>(
        &self,
        name: &Path,
        items: &[L::Item],
        fingerprint: &str,
    ) -> Result<JoinedFile<L>, PartError> {
        self.joined(name, items, |_| true, Some(fingerprint))
    }

    fn joined<L: RunRecord>(
        &self,
        name: &Path,
        items: &[L::Item],
        has_record: impl Fn(&L::Item) -> bool,
        fingerprint: Option<&str>,
    ) -> Result<JoinedFile<L>, PartError> {
        for (folder, manifest) in &self.parts {
            if !folder.join(name).exists() {
                let own = manifest.part.items_of(items);
                let total = own.filter(|item| has_record(item)).count();
                return Err(unfinished::<L>(folder, 0, total));
            }
        }
        let settings = self.settings(name, fingerprint)?;
        let of_parts = self.parts.iter().map(|(folder, manifest)| {
            let file = folder.join(name);
            records_of_part::<L>(&file, folder, manifest.part, items, &has_record)
        });
        let mut of_parts: Vec<_> = of_parts.collect::<Result<_, PartError>>()?;
        let in_turn = items.iter().enumerate().filter_map(|(index, item)| {
            if has_record(item) {
                of_parts[index % self.parts.len()].next()
            } else {
                None
            }
        });
        Ok(JoinedFile {
            records: in_turn.collect(),
            settings,
        })
    }

    /// The settings of the run's file `name`.
    fn settings(&self, name: &Path, fingerprint: Option<&str>) -> Result<RunSettings, PartError> {
        let (first, _) = self.first();
        let mut settings = read_settings(&first.join(name))?;
        for folder in self.folders().skip(1) {
            let mut of_part = read_settings(&folder.join(name))?;
            if let Some(setting) = fingerprint
                && let (Some(joined), Some(own)) =
                    (settings.get_mut(setting), of_part.get_mut(setting))
            {
                *joined = joined_fingerprint([joined.as_str(), own.as_str()]);
                own.clone_from(joined);
            }
            let differences = differences(&settings, &of_part);
            if !differences.is_empty() {
                return Err(PartError::OtherRun {
                    path: folder.to_owned(),
                    first: first.clone(),
                    differences,
                });
            }
        }
        Ok(settings)
    }

    /// Whether a part has the file `name`.
    pub fn hold(&self, name: &str) -> bool {
        self.folders().any(|folder| folder.join(name).exists())
    }

    fn first(&self) -> &(PathBuf, Manifest) {
        &self.parts[0]
    }

    fn in_order(&self) -> Vec<Value> {
        let mut items: Vec<_> = self.parts.iter().map(|(_, m)| m.items.iter()).collect();
        let total: usize = self.parts.iter().map(|(_, m)| m.items.len()).sum();
        let in_turn = (0..total).filter_map(|index| items[index % self.parts.len()].next());
        in_turn.cloned().collect()
    }
}

impl<L: RunRecord> JoinedFile<L> {
    /// Appends the records that the file `out` does not hold yet, and returns all records of `items` in it.
    ///
    /// # Errors
    /// A file of different settings, or of different items under the same ids, or one that cannot be written. Joining
    /// again completes it.
    pub fn write(self, items: &[L::Item], out: &Path) -> Result<Vec<L>, RunError> {
        let mut file = ResultsFile::open(out, self.settings)?;
        for item in items {
            record_of(item, &file)?;
        }
        for (item, record) in items.iter().zip(self.records) {
            if record_of(item, &file)?.is_none() {
                file.append(record)?;
            }
        }
        file.sync()?;
        Ok(records_of(items, &file))
    }
}

/// Refuses parts in the order of their numbers if one is repeated or missing.
fn check_each_once(parts: &[(PathBuf, Manifest)]) -> Result<(), PartError> {
    for (before, after) in parts.iter().zip(parts.iter().skip(1)) {
        if before.1.part == after.1.part {
            return Err(PartError::Twice {
                part: before.1.part,
                one: before.0.clone(),
                other: after.0.clone(),
            });
        }
    }
    let all = parts[0].1.part.all();
    let is_there = |part: &Part| parts.iter().any(|(_, manifest)| manifest.part == *part);
    let missing: Vec<Part> = all.filter(|part| !is_there(part)).collect();
    match missing.as_slice() {
        [] => Ok(()),
        _ => Err(PartError::Missing { parts: missing }),
    }
}

/// The records of a part in the order of its items; `items` are those of the run.
fn records_of_part<L: RunRecord>(
    file: &Path,
    folder: &Path,
    part: Part,
    items: &[L::Item],
    has_record: &impl Fn(&L::Item) -> bool,
) -> Result<std::vec::IntoIter<L>, PartError> {
    let mut kept: HashMap<String, L> = read_records(file)?;
    let own = part.items_of(items).filter(|item| has_record(item));
    let own: Vec<&L::Item> = own.collect();
    let records = own
        .iter()
        .filter_map(|item| kept.remove(item.id()).filter(|record| record.is_of(item)));
    let records: Vec<L> = records.collect();
    match records.len() == own.len() {
        true => Ok(records.into_iter()),
        false => Err(unfinished::<L>(folder, records.len(), own.len())),
    }
}

fn unfinished<L: RunRecord>(folder: &Path, done: usize, total: usize) -> PartError {
    PartError::Unfinished {
        path: folder.to_owned(),
        done,
        total,
        items: L::TASK.items(),
    }
}
