//! How the parts of an Office Open XML package refer to one another.

use crate::error::ReadError;
use crate::package::Package;
use crate::watch::Watch;
use crate::xml::{Node, Xml};

/// A reference to another part.
pub(super) struct Relation {
    pub(super) id: String,
    /// The last word of its type, e.g. `slide`.
    pub(super) kind: String,
    /// The name of the part in the package.
    pub(super) target: String,
}

/// The relations of a part, or of the package if `part` is empty. Relations to the outside are left out.
pub(super) fn of(
    part: &str,
    package: &mut Package,
    watch: &Watch,
) -> Result<Vec<Relation>, ReadError> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let file = match folder {
        "" => format!("_rels/{name}.rels"),
        folder => format!("{folder}/_rels/{name}.rels"),
    };
    let Some(text) = package.text(&file)? else {
        return Ok(Vec::new());
    };
    let place = package.place.clone();
    let mut xml = Xml::new(&text, package.format(), &place, watch);
    let mut relations = Vec::new();
    while let Some(node) = xml.next()? {
        let Node::Start(element) = node else { continue };
        if element.name() != "Relationship"
            || element.attribute("TargetMode").as_deref() == Some("External")
        {
            continue;
        }
        let (Some(id), Some(kind), Some(target)) = (
            element.attribute("Id"),
            element.attribute("Type"),
            element.attribute("Target"),
        ) else {
            continue;
        };
        relations.push(Relation {
            id,
            kind: kind.rsplit('/').next().unwrap_or_default().to_owned(),
            target: resolved(folder, &target),
        });
    }
    Ok(relations)
}

/// The name of the main part.
pub(super) fn main_part(
    usual: &str,
    package: &mut Package,
    watch: &Watch,
) -> Result<String, ReadError> {
    let relations = of("", package, watch)?;
    let main = relations
        .into_iter()
        .find(|relation| relation.kind == "officeDocument");
    Ok(main.map_or_else(|| usual.to_owned(), |relation| relation.target))
}

/// A target as seen from a folder, without `.` and `..`.
pub(super) fn resolved(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => folder.split('/').collect(),
    };
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        assert_eq!(
            resolved("ppt/slides", "../notes/n1.xml"),
            "ppt/notes/n1.xml"
        );
        assert_eq!(resolved("ppt", "/word/x.xml"), "word/x.xml");
        assert_eq!(resolved("", "./a.xml"), "a.xml");
        assert_eq!(resolved("a", "../../../b.xml"), "b.xml");
    }
}
