//! The Python of this machine.

use std::process::{Command, Stdio};

use crate::environment::Environment;
use crate::error::HubError;

/// The variable that names a Python.
pub(crate) const PYTHON: &str = "KEN_PYTHON";

/// Windows and some containers know Python by the second name only.
const NAMES: [&str; 2] = ["python3", "python"];

/// Fails in Python 2.
const IS_PYTHON_3: &str = "import sys; sys.exit(sys.version_info[0] < 3)";

/// The command that starts Python: what `KEN_PYTHON` names, unchecked, else the first of `python3` and `python` that is
/// Python 3.
///
/// # Errors
/// [`HubError::PythonMissing`] if none is.
pub fn find_python(environment: &Environment) -> Result<String, HubError> {
    if let Some(python) = environment.get(PYTHON) {
        return Ok(python);
    }
    let mut names = NAMES.into_iter();
    let found = names.find(|name| is_python_3(name, environment));
    found.map(str::to_owned).ok_or_else(|| {
        let tried = NAMES.join(", ");
        HubError::PythonMissing { tried }
    })
}

fn is_python_3(name: &str, environment: &Environment) -> bool {
    let mut command = Command::new(name);
    command
        .args(["-c", IS_PYTHON_3])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    environment.apply_to(&mut command);
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_that_is_named_is_taken_as_it_is() {
        let environment = Environment::of_process().with(PYTHON, "/nonexistent/python");
        assert_eq!(find_python(&environment).unwrap(), "/nonexistent/python");
    }

    #[cfg(unix)]
    #[test]
    fn the_first_name_that_is_python_3_is_taken() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::of_process()
            .without(PYTHON)
            .with("PATH", &folder.path().to_string_lossy());
        let install = |name: &str, code: u8| {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\nexit {code}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let missing = find_python(&environment).unwrap_err();
        assert!(missing.to_string().contains("python3, python"), "{missing}");
        install("python3", 1);
        let missing = find_python(&environment).unwrap_err();
        assert_eq!(missing.kind(), "python_missing");
        install("python", 0);
        assert_eq!(find_python(&environment).unwrap(), "python");
        install("python3", 0);
        assert_eq!(find_python(&environment).unwrap(), "python3");
    }
}
