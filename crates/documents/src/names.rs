//! The names that the fields of a record have: those that are known, and those that are given.

use std::str::FromStr;

use serde_json::{Map, Value};

/// What a field is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Id,
    Title,
    Text,
}

/// The names of the field that holds the id; the first that is present counts.
pub(crate) const ID_NAMES: &[&str] = &["id", "_id", "doc_id"];
/// The names of the field that holds the text.
pub(crate) const TEXT_NAMES: &[&str] = &["contents", "text", "passage", "content"];
/// The names of the field that holds the title.
const TITLE_NAMES: &[&str] = &["title"];

/// Other names of each, in lower case and without signs: `pageContent` and `page_content` are one.
const OTHER_IDS: &[&str] = &[
    "id",
    "pid",
    "passageid",
    "chunkid",
    "docid",
    "documentid",
    "docno",
    "uuid",
];
const OTHER_TEXTS: &[&str] = &[
    "contents",
    "text",
    "passage",
    "content",
    "pagecontent",
    "passagetext",
    "chunktext",
    "documenttext",
    "doctext",
    "fulltext",
    "body",
    "bodytext",
    "document",
    "article",
    "chunk",
    "context",
    "abstract",
];
const OTHER_TITLES: &[&str] = &[
    "title",
    "doctitle",
    "documenttitle",
    "pagetitle",
    "headline",
];

impl Role {
    fn names(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Id => (ID_NAMES, OTHER_IDS),
            Self::Title => (TITLE_NAMES, OTHER_TITLES),
            Self::Text => (TEXT_NAMES, OTHER_TEXTS),
        }
    }
}

/// Which fields of records are the id, the title and the text, where their names are not known ones.
///
/// ```
/// use ken_documents::{FieldName, FieldNameError, FieldNames};
///
/// let given = ["text=body", "id=docid"].into_iter().map(str::parse::<FieldName>);
/// let names = given.collect::<Result<FieldNames, FieldNameError>>()?;
/// assert_ne!(names, FieldNames::default());
/// # Ok::<(), FieldNameError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldNames {
    id: Option<String>,
    title: Option<String>,
    text: Option<String>,
}

/// That one field is the id, the title or the text; `text=body` in words.
///
/// The name may be that of a field within another, `metadata.source`, and in a table without a header the number
/// of a column, from 1. `id=` numbers the records: the id is the file's name and the line or row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldName {
    role: Role,
    name: String,
}

/// It does not say which field is what.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is none of id=NAME, title=NAME and text=NAME")]
pub struct FieldNameError(String);

impl FromStr for FieldName {
    type Err = FieldNameError;

    fn from_str(text: &str) -> Result<Self, FieldNameError> {
        let wrong = || FieldNameError(text.to_owned());
        let (role, name) = text.split_once('=').ok_or_else(wrong)?;
        let (role, name) = (role.trim(), name.trim());
        let role = match role {
            "id" => Role::Id,
            "title" => Role::Title,
            "text" if !name.is_empty() => Role::Text,
            _ => return Err(wrong()),
        };
        let name = name.to_owned();
        Ok(Self { role, name })
    }
}

impl FromIterator<FieldName> for FieldNames {
    fn from_iter<I: IntoIterator<Item = FieldName>>(given: I) -> Self {
        let mut names = Self::default();
        for FieldName { role, name } in given {
            let slot = match role {
                Role::Id => &mut names.id,
                Role::Title => &mut names.title,
                Role::Text => &mut names.text,
            };
            *slot = Some(name);
        }
        names
    }
}

impl FieldNames {
    fn given(&self, role: Role) -> Option<&str> {
        match role {
            Role::Id => self.id.as_deref(),
            Role::Title => self.title.as_deref(),
            Role::Text => self.text.as_deref(),
        }
    }

    /// Whether the id of a record is its number.
    pub(crate) fn numbers_records(&self) -> bool {
        self.id.as_deref() == Some("")
    }

    /// Whether the columns are given by number, so that a table has no header.
    pub(crate) fn are_numbers(&self) -> bool {
        let is_number = |name: &str| name.parse::<u32>().is_ok_and(|number| number > 0);
        let others = [&self.id, &self.title].into_iter().flatten();
        self.text.as_deref().is_some_and(is_number)
            && others
                .map(String::as_str)
                .all(|name| name.is_empty() || is_number(name))
    }

    /// Whether a name may be that of a field within another.
    pub(crate) fn has_paths(&self) -> bool {
        let given = [&self.id, &self.title, &self.text].into_iter().flatten();
        given.into_iter().any(|name| name.contains('.'))
    }

    /// The names that the field may have, for messages: "id, _id or doc_id".
    pub(crate) fn told(&self, role: Role) -> String {
        match self.given(role) {
            Some(name) => format!("{name:?}"),
            None => either(role.names().0),
        }
    }

    /// The name of the field, among those that are there.
    pub(crate) fn find<'n>(
        &self,
        role: Role,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Option<&'n str> {
        let mut names = names;
        if let Some(given) = self.given(role) {
            return names
                .clone()
                .find(|name| *name == given)
                .or_else(|| names.find(|name| name.eq_ignore_ascii_case(given)));
        }
        let (exact, others) = role.names();
        let known = exact
            .iter()
            .find_map(|known| names.clone().find(|name| name == known));
        known.or_else(|| {
            let bare: Vec<(String, &str)> = names.map(|name| (bare(name), name)).collect();
            others.iter().find_map(|other| {
                let (_, name) = bare.iter().find(|(bare, _)| bare == other)?;
                Some(*name)
            })
        })
    }

    /// Takes the field out of a record.
    pub(crate) fn take(
        &self,
        role: Role,
        fields: &mut Map<String, Value>,
    ) -> Option<(String, Value)> {
        let name = self.find(role, fields.keys().map(String::as_str));
        if let Some(name) = name.map(str::to_owned) {
            let value = fields.shift_remove(&name)?;
            return Some((name, value));
        }
        // A field within another stays there, too.
        let path = self.given(role)?;
        let (first, rest) = path.split_once('.')?;
        let mut value = fields.get(first)?;
        for part in rest.split('.') {
            value = value.get(part)?;
        }
        Some((path.to_owned(), value.clone()))
    }

    /// Whether columns of these names are enough for documents; otherwise which one is missing.
    pub(crate) fn missing<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Option<Role> {
        let has_id = self.numbers_records() || self.find(Role::Id, names.clone()).is_some();
        match has_id {
            true => self.find(Role::Text, names).is_none().then_some(Role::Text),
            false => Some(Role::Id),
        }
    }
}

/// A name in lower case, without signs and spaces.
fn bare(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The names that a field may have, for messages: "id, _id or doc_id".
pub(crate) fn either(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(given: &[&str]) -> FieldNames {
        given
            .iter()
            .map(|text| text.parse::<FieldName>().unwrap())
            .collect()
    }

    #[test]
    fn known_names_are_found() {
        let find = |role, columns: &[&'static str]| {
            FieldNames::default()
                .find(role, columns.iter().copied())
                .unwrap_or("none")
        };
        for (role, columns, found) in [
            (Role::Id, &["docid", "pid"][..], "pid"),
            (Role::Id, &["pid", "doc_id"], "doc_id"),
            (Role::Id, &["Text", "ID"], "ID"),
            (Role::Id, &["Document Id"], "Document Id"),
            (Role::Text, &["body", "page_content"], "page_content"),
            (Role::Text, &["Text", "content"], "content"),
            (Role::Text, &["BODY"], "BODY"),
            (Role::Title, &["name"], "none"),
            (Role::Title, &["Title"], "Title"),
        ] {
            assert_eq!(find(role, columns), found, "{columns:?}");
        }
    }

    #[test]
    fn names_are_given() {
        let given = names(&["text=Answer", "id=metadata.nr", "title="]);
        let mut fields: Map<String, Value> =
            serde_json::from_str(r#"{"answer":"a","text":"t","title":"T","metadata":{"nr":7}}"#)
                .unwrap();
        assert_eq!(given.take(Role::Id, &mut fields).unwrap().1, 7);
        assert_eq!(given.take(Role::Text, &mut fields).unwrap().1, "a");
        assert!(given.take(Role::Title, &mut fields).is_none());
        assert_eq!(given.told(Role::Text), "\"Answer\"");
        assert!(names(&["text=2", "id="]).are_numbers());
        assert!(!names(&["text=2", "id=nr"]).are_numbers());
        for wrong in ["text", "text=", "body=text", "=x"] {
            assert!(wrong.parse::<FieldName>().is_err(), "{wrong}");
        }
    }
}
