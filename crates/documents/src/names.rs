//! The names that the fields of a record may have.

/// The names of the field that holds the id; the first that is present counts.
pub(crate) const ID_NAMES: &[&str] = &["id", "_id", "doc_id"];
/// The names of the field that holds the text.
pub(crate) const TEXT_NAMES: &[&str] = &["contents", "text", "passage", "content"];
/// The names of the field that holds the title.
pub(crate) const TITLE_NAMES: &[&str] = &["title"];

/// The names that a field may have, for messages: "id, _id or doc_id".
pub(crate) fn either(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
    }
}
