//! The prefixes that some embedders expect on queries and passages. Families whose files do not state them are
//! recognized by name.

use std::path::Path;

use ken_language::Role;

/// The prefixes of queries and passages; empty if the model expects none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefixes {
    /// Added before every query.
    pub query: String,
    /// Added before every passage.
    pub passage: String,
}

impl Prefixes {
    /// The prefixes of a family of embedders, recognized by a model's name or path, such as
    /// `intfloat/e5-base-v2` or `BAAI/bge-small-en-v1.5`. `None` for an unknown family.
    pub fn of_family(name: &str) -> Option<Self> {
        let name = name.to_lowercase().replace("--", "/");
        name.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '.'))
            .find_map(family)
    }

    /// As [`Prefixes::of_family`], from the folder that holds the model: its own name, or that of
    /// the repository when the folder lies in a hub cache (`models--ORG--NAME/snapshots/REVISION`).
    pub(super) fn of_folder(dir: &Path) -> Option<Self> {
        let mut names = dir.iter().rev().map(|part| part.to_string_lossy());
        let own = names.next()?;
        Self::of_family(&own).or_else(|| {
            names
                .find(|part| part.starts_with("models--"))
                .and_then(|part| Self::of_family(&part))
        })
    }

    /// The prefix of a role.
    pub fn of_role(&self, role: Role) -> &str {
        match role {
            Role::Query => &self.query,
            Role::Passage => &self.passage,
        }
    }
}

/// The prefixes of one name without its organization, in lower case.
fn family(name: &str) -> Option<Prefixes> {
    let pair = |query: &str, passage: &str| {
        Some(Prefixes {
            query: query.to_owned(),
            passage: passage.to_owned(),
        })
    };
    if name.starts_with("e5-") || name.starts_with("multilingual-e5-") {
        if name.contains("instruct") {
            let task = "Given a web search query, retrieve relevant passages that answer the query";
            return pair(&format!("Instruct: {task}\nQuery: "), "");
        }
        return pair("query: ", "passage: ");
    }
    if name.starts_with("nomic-embed-text") || name.starts_with("modernbert-embed") {
        return pair("search_query: ", "search_document: ");
    }
    let is_bge = name.starts_with("bge-") && name.contains("-en");
    if is_bge || name.starts_with("mxbai-embed") || name.starts_with("snowflake-arctic-embed") {
        if name.ends_with("-v2.0") {
            return pair("query: ", "");
        }
        return pair(
            "Represent this sentence for searching relevant passages: ",
            "",
        );
    }
    if name.starts_with("bge-") && name.contains("-zh") {
        return pair("为这个句子生成表示以用于检索相关文章：", "");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_known_by_name() {
        let query = |name: &str| Prefixes::of_family(name).map(|prefixes| prefixes.query);
        assert_eq!(query("intfloat/e5-base-v2").as_deref(), Some("query: "));
        assert_eq!(
            query("hf:intfloat/multilingual-e5-small@main").as_deref(),
            Some("query: ")
        );
        assert!(
            query("intfloat/multilingual-e5-large-instruct")
                .unwrap()
                .starts_with("Instruct: ")
        );
        let bge = "Represent this sentence for searching relevant passages: ";
        assert_eq!(query("BAAI/bge-small-en-v1.5").as_deref(), Some(bge));
        assert_eq!(
            query("/models/cache/BAAI_bge-base-en/").as_deref(),
            Some(bge)
        );
        assert!(
            query("BAAI/bge-large-zh")
                .unwrap()
                .starts_with("为这个句子")
        );
        assert_eq!(
            query("nomic-ai/nomic-embed-text-v1.5").as_deref(),
            Some("search_query: ")
        );
        assert_eq!(
            query("Snowflake/snowflake-arctic-embed-xs").as_deref(),
            Some(bge)
        );
        assert_eq!(
            query("Snowflake/snowflake-arctic-embed-m-v2.0").as_deref(),
            Some("query: ")
        );
        assert_eq!(query("BAAI/bge-m3"), None);
        assert_eq!(query("nreimers/MiniLM-L6-H384-uncased"), None);
        assert_eq!(query(""), None);
    }

    #[test]
    fn a_folder_is_known_by_its_own_name_or_its_repository() {
        let of = |path: &str| Prefixes::of_folder(Path::new(path)).map(|prefixes| prefixes.passage);
        assert_eq!(of("/models/e5-small").as_deref(), Some("passage: "));
        assert_eq!(
            of("/hub/models--intfloat--e5-small/snapshots/0a1b").as_deref(),
            Some("passage: ")
        );
        assert_eq!(of("/data/e5-notes/minilm"), None);
    }
}
