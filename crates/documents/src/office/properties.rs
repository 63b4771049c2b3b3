//! The metadata of a document: title, author, subject, keywords and dates.

use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::package::Package;
use crate::record::one_line;
use crate::watch::Watch;
use crate::xml::{Node, Xml};

/// The elements that become metadata, with their names there; the first one present counts.
const NAMES: [(&str, &str); 9] = [
    ("title", "title"),
    ("creator", "author"),
    ("initial-creator", "author"),
    ("subject", "subject"),
    ("keywords", "keywords"),
    ("keyword", "keywords"),
    ("created", "created"),
    ("creation-date", "created"),
    ("modified", "modified"),
];

/// The title and the metadata in the part of this name.
pub(super) fn of(
    part: &str,
    package: &mut Package,
    watch: &Watch,
) -> Result<(Option<String>, Map<String, Value>), ReadError> {
    let mut fields = Map::new();
    if let Some(text) = package.text(part)? {
        let place = package.place.clone();
        let mut xml = Xml::new(&text, package.format(), &place, watch);
        while let Some(node) = xml.next()? {
            let Node::Start(element) = node else { continue };
            let known = NAMES.iter().find(|(name, _)| *name == element.name());
            if let Some((_, name)) = known
                && let Some(value) = one_line(&xml.text()?)
            {
                fields.entry(*name).or_insert(value.into());
            }
        }
    }
    let title = fields.shift_remove("title");
    let title = title.and_then(|title| title.as_str().map(str::to_owned));
    Ok((title, fields))
}
