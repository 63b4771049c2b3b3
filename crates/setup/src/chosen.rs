//! A policy that tuning chose, and its way into the settings: what it was tuned for, and its guarantee if it has one,
//! lie beside the file that names them. A server keeps the same files beside its report, until somebody wants them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ken_answer::{Pipeline, Policy};
use ken_policy::Guarantee;

use crate::error::SetupError;
use crate::settings::{Key, Settings};
use crate::tuned::Tuned;

/// A policy that tuning chose.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// What it was tuned for.
    pub tuned: Tuned,
    /// What it promises.
    pub guarantee: Option<Guarantee>,
}

impl Chosen {
    /// The file of lines for the settings, where it is kept without these.
    pub const SETTINGS: &str = "chosen.toml";

    /// The file of what it was tuned for.
    pub const TUNED: &str = "tuned.toml";

    /// The file of its guarantee.
    pub const GUARANTEE: &str = "tuned.guarantee.json";

    /// The keys by which settings name it.
    const KEYS: [Key; 3] = [Key::policy, Key::tuned, Key::calibration];

    /// Chosen by what a pipeline answered.
    pub fn of(
        policy: Policy,
        guarantee: Option<Guarantee>,
        settings: &Settings,
        mut pipeline: Pipeline,
    ) -> Self {
        pipeline.settings.policy = policy;
        Self {
            tuned: Tuned::of(settings, &pipeline),
            guarantee,
        }
    }

    /// Writes it into the file that [`Settings::resolve`] reads, and its own files beside that. The guarantee of
    /// another policy is no longer named. Returns the path of the settings.
    ///
    /// # Errors
    /// As [`Settings::write`]; files that cannot be written.
    pub fn write(&self, file: Option<&Path>) -> Result<PathBuf, SetupError> {
        let (path, _) = Settings::file(file);
        self.tuned.write(&path.with_file_name(Self::TUNED))?;
        if let Some(guarantee) = &self.guarantee {
            guarantee.write(&path.with_file_name(Self::GUARANTEE))?;
        }
        let calibration = self.guarantee.as_ref().map(|_| Self::GUARANTEE);
        let changes = [
            (Key::policy, Some(self.tuned.policy.as_str())),
            (Key::tuned, Some(Self::TUNED)),
            (Key::calibration, calibration),
        ];
        Settings::write(file, &changes)
    }

    /// Keeps it in a folder.
    ///
    /// # Errors
    /// As [`Chosen::write`].
    pub fn keep(&self, folder: &Path) -> Result<(), SetupError> {
        self.write(Some(&folder.join(Self::SETTINGS))).map(drop)
    }

    /// Reads it in the folder where it is kept.
    ///
    /// # Errors
    /// Files that are not there, or of another kind.
    pub fn read(folder: &Path) -> Result<Self, SetupError> {
        let guarantee = folder.join(Self::GUARANTEE);
        let guarantee = guarantee.is_file().then(|| Guarantee::read(&guarantee));
        Ok(Self {
            tuned: Tuned::read(&folder.join(Self::TUNED))?,
            guarantee: guarantee.transpose()?,
        })
    }

    /// What holds for a run that was given these values, where its settings name this policy in the folder where it
    /// is kept.
    ///
    /// # Errors
    /// As [`Settings::resolve`].
    pub fn resolve(
        &self,
        folder: &Path,
        file: Option<&Path>,
        given: Vec<(Key, OsString)>,
    ) -> Result<Settings, SetupError> {
        let own = [
            (Key::policy, self.tuned.policy.clone().into()),
            (Key::tuned, folder.join(Self::TUNED).into()),
        ];
        let mut settings = Settings::resolve(file, given.into_iter().chain(own))?;
        let guarantee = self.guarantee.as_ref();
        settings.calibration = guarantee.map(|_| folder.join(Self::GUARANTEE));
        Ok(settings)
    }

    /// The first setting of those that name it which a variable sets, or these values: they come before the file.
    pub fn preceded(given: &[(Key, OsString)]) -> Option<Key> {
        let mut keys = Self::KEYS.into_iter();
        keys.find(|key| key.is_in_environment() || given.iter().any(|(own, _)| own == key))
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;

    fn chosen(policy: &str, guarantee: Option<Guarantee>) -> Chosen {
        let with = [("k", "3"), ("model", "abc")];
        let with = with.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Chosen {
            tuned: Tuned {
                policy: policy.to_owned(),
                measured_with: with.into(),
            },
            guarantee,
        }
    }

    fn guarantee(policy: &str) -> Guarantee {
        let measured = r#"{"retrieval_ratio": 0.5, "loss": 0.0, "loss_bound": 0.04, "disagreement": 0.0, "disagreement_bound": 0.1}"#;
        let on = r#"{"records": "q.jsonl", "questions": 200, "model": "abc", "corpus": "def", "created": 1}"#;
        let text = format!(
            r#"{{"policy": "{policy}", "max_loss": 0.05, "measured": {measured}, "confidence": 0.95, "samples": null, "calibrated_on": {on}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn it_is_kept_and_put_into_settings_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let [kept, own] = ["kept", "own"].map(|name| folder.path().join(name));
        std::fs::create_dir(&kept).unwrap();
        std::fs::create_dir(&own).unwrap();
        let first = chosen("certainty@0.5", Some(guarantee("certainty@0.5")));
        first.keep(&kept).unwrap();
        assert_eq!(Chosen::read(&kept).unwrap(), first);
        let file = own.join("ken.toml");
        std::fs::write(&file, "k = 3 # few\npolicy = \"never\"\n").unwrap();
        let written = || std::fs::read_to_string(&file).unwrap();
        assert_eq!(first.write(Some(&file)).unwrap(), file);
        assert_eq!(
            written(),
            "calibration = \"tuned.guarantee.json\"\ntuned = \"tuned.toml\"\nk = 3 # few\npolicy = \"certainty@0.5\"\n"
        );
        assert_eq!(Chosen::read(&own).unwrap(), first);
        // Of the next one, which promises nothing, the settings name no guarantee.
        let second = chosen("always", None);
        second.write(Some(&file)).unwrap();
        assert_eq!(
            written(),
            "tuned = \"tuned.toml\"\nk = 3 # few\npolicy = \"always\"\n"
        );
    }

    #[test]
    fn settings_name_it_where_it_is_kept_before_the_file_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ken.toml");
        let text = "calibration = \"other.json\"\nk = 3\npolicy = \"never\"\n";
        std::fs::write(&file, text).unwrap();
        let kept = folder.path().join("kept");
        let resolved = |guarantee: Option<Guarantee>| {
            let chosen = chosen("certainty@0.5", guarantee);
            let settings = chosen.resolve(&kept, Some(&file), vec![(Key::k, "4".into())]);
            let settings = settings.unwrap();
            let answering = settings.answering();
            has!(answering, policy.to_string().as_str(): "certainty@0.5", k: 4);
            assert_eq!(settings.tuned, Some(kept.join("tuned.toml")));
            settings.calibration
        };
        let its_own = kept.join("tuned.guarantee.json");
        assert_eq!(resolved(Some(guarantee("certainty@0.5"))), Some(its_own));
        assert_eq!(resolved(None), None);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn what_comes_before_the_file_is_told() {
        assert_eq!(Chosen::preceded(&[(Key::k, "3".into())]), None);
        let given = [(Key::calibration, "gu.json".into()), (Key::k, "3".into())];
        assert_eq!(Chosen::preceded(&given), Some(Key::calibration));
    }
}
