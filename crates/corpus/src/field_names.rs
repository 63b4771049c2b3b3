//! Which fields of a record are the id, the title and the text of a document, by known names or by names that the user
//! gives. The known ones are those of FlashRAG's `{id, contents}`, BEIR's `{_id, title, text}`, DPR's `id, text, title`, MS MARCO's
//! `{pid, passage}` and similar.

use std::str::FromStr;

use serde_json::{Map, Value};

/// What a field is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Names the document.
    Id,
    /// Its title.
    Title,
    /// Its text.
    Text,
}

/// A record, split by the roles of its fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// Its id; `None` if it has none or the names say that records are numbered.
    pub id: Option<String>,
    /// Its title; may be empty.
    pub title: String,
    /// Its text.
    pub text: String,
    /// All other fields; those of an object `metadata` stand beside the others.
    pub metadata: Map<String, Value>,
}

/// Why a record is no document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldFault {
    /// It has no field with this role.
    Missing(Role),
    /// A field holds another kind of value.
    WrongType {
        /// The name of the field.
        field: String,
        /// What it has to hold.
        expected: &'static str,
    },
}

/// The names of the field with the id; the first one present counts.
const ID_NAMES: &[&str] = &["id", "_id", "doc_id"];
/// The names of the field with the text.
const TEXT_NAMES: &[&str] = &["contents", "text", "passage", "content"];
/// The names of the field with the title.
const TITLE_NAMES: &[&str] = &["title"];

/// Other names, in lower case and without signs, so that `pageContent` equals `page_content`.
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

    /// The usual names of the field, for messages: "id, _id or doc_id".
    #[must_use]
    pub fn told(self) -> String {
        either(self.names().0)
    }
}

/// The names of the fields with the id, the title and the text, if they are not the known ones, by [`Role`].
///
/// ```
/// use ken_corpus::{FieldName, FieldNameError, FieldNames};
///
/// let given = ["text=body", "id=docid"].into_iter().map(str::parse::<FieldName>);
/// let names = given.collect::<Result<FieldNames, FieldNameError>>()?;
/// assert_ne!(names, FieldNames::default());
/// # Ok::<(), FieldNameError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldNames([Option<String>; 3]);

/// The name of the field with the id, the title or the text, written `text=body`.
///
/// The name may be that of a field within another, `metadata.source`, and in a table without a header the number
/// of a column, from 1. `id=` numbers the records: the id is the file's name and the line or row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldName {
    role: Role,
    name: String,
}

/// A text that does not give a field name.
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
            names.0[role as usize] = Some(name);
        }
        names
    }
}

impl FieldNames {
    fn given(&self, role: Role) -> Option<&str> {
        self.0[role as usize].as_deref()
    }

    /// Whether the user gives a name for the field, or none as the id.
    #[must_use]
    pub fn gives(&self, role: Role) -> bool {
        self.given(role).is_some()
    }

    /// These names for records that are numbered.
    #[must_use]
    pub fn numbering(mut self) -> Self {
        self.0[Role::Id as usize] = Some(String::new());
        self
    }

    /// Whether the id of a record is its number.
    #[must_use]
    pub fn numbers_records(&self) -> bool {
        self.given(Role::Id) == Some("")
    }

    /// Whether the columns are given by number, so that a table has no header.
    #[must_use]
    pub fn are_numbers(&self) -> bool {
        let is_number = |name: &str| name.parse::<u32>().is_ok_and(|number| number > 0);
        let is_fit = |name: &String| name.is_empty() || is_number(name);
        self.given(Role::Text).is_some_and(is_number) && self.0.iter().flatten().all(is_fit)
    }

    /// Whether a given name may be that of a field within another.
    #[must_use]
    pub fn has_paths(&self) -> bool {
        self.0.iter().flatten().any(|name| name.contains('.'))
    }

    /// The names that the field may have, for messages: "id, _id or doc_id".
    #[must_use]
    pub fn told(&self, role: Role) -> String {
        match self.given(role) {
            Some(name) => format!("{name:?}"),
            None => role.told(),
        }
    }

    /// The name of the field, among the fields that a record has.
    #[must_use]
    pub fn find<'n>(
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
    fn take(&self, role: Role, fields: &mut Map<String, Value>) -> Option<(String, Value)> {
        let name = self.find(role, fields.keys().map(String::as_str));
        if let Some(name) = name.map(str::to_owned) {
            let value = fields.shift_remove(&name)?;
            return Some((name, value));
        }
        // A field within another stays in that one, too.
        let path = self.given(role)?;
        let (first, rest) = path.split_once('.')?;
        let mut value = fields.get(first)?;
        for part in rest.split('.') {
            value = value.get(part)?;
        }
        Some((path.to_owned(), value.clone()))
    }

    /// Whether columns of these names are enough for documents; if not, which one is missing.
    #[must_use]
    pub fn missing<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Option<Role> {
        let has_id = self.numbers_records() || self.find(Role::Id, names.clone()).is_some();
        match has_id {
            true => self.find(Role::Text, names).is_none().then_some(Role::Text),
            false => Some(Role::Id),
        }
    }
}

impl FieldNames {
    /// The parts of a record.
    ///
    /// Without a `title` field, the first line of several in `contents` is the title, without the
    /// quotes around it, as in FlashRAG's corpora. A title that `contents` repeats as its
    /// first line is left out of the text. A title without a text is the text, so that it can be found.
    ///
    /// # Errors
    /// No text; a field with another kind of value.
    pub fn parts(&self, mut fields: Map<String, Value>) -> Result<Parts, FieldFault> {
        let wrong = |field, expected| FieldFault::WrongType { field, expected };
        let id = match self.take(Role::Id, &mut fields) {
            Some((_, Value::String(id))) if !id.is_empty() => Some(id),
            Some((_, Value::Number(id))) => Some(id.to_string()),
            None | Some((_, Value::String(_) | Value::Null)) => None,
            Some(_) if self.numbers_records() => None,
            Some((name, _)) => return Err(wrong(name, "a text or a number")),
        };
        let title = match self.take(Role::Title, &mut fields) {
            None | Some((_, Value::Null)) => None,
            Some((_, Value::String(title))) => Some(title),
            Some((name, _)) => return Err(wrong(name, "a text")),
        };
        let (name, contents) = match self.take(Role::Text, &mut fields) {
            Some((name, Value::String(contents))) => (name, contents),
            None | Some((_, Value::Null)) => return Err(FieldFault::Missing(Role::Text)),
            Some((name, value)) => {
                let text = paragraphs(&value).ok_or_else(|| wrong(name.clone(), "a text"))?;
                (name, text)
            }
        };
        let (title, text) = if name == "contents" {
            split_title(title, contents)
        } else {
            (title.unwrap_or_default(), contents)
        };
        let is_title_alone = text.trim().is_empty() && !title.trim().is_empty();
        let (title, text) = match is_title_alone {
            true => (String::new(), title),
            false => (title, text),
        };
        if fields.get("metadata").is_some_and(Value::is_object)
            && let Some(Value::Object(inner)) = fields.shift_remove("metadata")
        {
            merge(&mut fields, inner);
        }
        Ok(Parts {
            id,
            title: without_nuls(title),
            text: without_nuls(text),
            metadata: fields,
        })
    }
}

/// Adds the fields of `metadata` to those beside it. If both have a name with different values, the inner one becomes
/// `metadata.NAME`.
fn merge(fields: &mut Map<String, Value>, inner: Map<String, Value>) {
    for (name, value) in inner {
        match fields.get(&name) {
            Some(outer) if *outer == value => {}
            Some(_) => {
                fields.insert(format!("metadata.{name}"), value);
            }
            None => {
                fields.insert(name, value);
            }
        }
    }
}

/// A list of texts as one text.
fn paragraphs(value: &Value) -> Option<String> {
    let parts: Option<Vec<&str>> = value.as_array()?.iter().map(Value::as_str).collect();
    parts
        .filter(|parts| !parts.is_empty())
        .map(|parts| parts.join("\n"))
}

/// Removes NULs, which JSON strings can hold and texts cannot.
fn without_nuls(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', ""),
        false => text,
    }
}

fn split_title(title: Option<String>, contents: String) -> (String, String) {
    let Some((first, rest)) = contents.split_once('\n') else {
        return (title.unwrap_or_default(), contents);
    };
    let first = unquote(first.trim());
    match title {
        None => (first.to_owned(), rest.to_owned()),
        Some(title) if unquote(title.trim()) == first => (title, rest.to_owned()),
        Some(title) => (title, contents),
    }
}

fn unquote(text: &str) -> &str {
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text)
}

/// A name in lower case, without signs and spaces.
fn bare(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The names that a field may have, for messages: "id, _id or doc_id".
fn either(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

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
    fn a_title_alone_is_the_text() {
        for (record, title, text) in cases![
            r#"{"_id":"1","title":"Moon","text":""}"# => "", "Moon";
            r#"{"id":"1","title":"Moon","contents":" \n"}"# => "", "Moon";
            r#"{"id":"1","contents":"\"Moon\"\n"}"# => "", "Moon";
            r#"{"id":"1","title":"","text":""}"# => "", "";
            r#"{"id":"1","title":"Moon","text":"It is far."}"# => "Moon", "It is far.";
        ] {
            let parts = FieldNames::default().parts(serde_json::from_str(record).unwrap());
            let parts = parts.unwrap();
            assert_eq!((&*parts.title, &*parts.text), (title, text), "{record}");
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
