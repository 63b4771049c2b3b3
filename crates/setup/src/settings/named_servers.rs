//! Which servers settings name, and who named them.

use std::collections::BTreeSet;

use super::address::CorpusAddress;

/// Who named a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// A person, by a flag, a variable, or a settings file that either names.
    Person,
    /// A corpus, or the settings file that was found in the working directory.
    Data,
}

/// The servers that settings name, by origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    by_person: BTreeSet<String>,
    by_data: BTreeSet<String>,
    /// Whether data, and not a person, wrote the table of keys.
    pub(super) keys_by_data: bool,
}

impl Named {
    /// Records the server whose address a value of a setting may hold.
    pub(super) fn take(&mut self, value: &str, named_by: NamedBy) {
        let origins = match named_by {
            NamedBy::Person => &mut self.by_person,
            NamedBy::Data => &mut self.by_data,
        };
        origins.extend(origin_in(value));
    }

    /// Who named a server; `by` is who named the thing being opened. A server that a person named anywhere is a
    /// person's; one that the settings do not name was given to a command.
    pub(crate) fn by(&self, origin: &str, by: NamedBy) -> NamedBy {
        match by {
            _ if self.by_person.contains(origin) => NamedBy::Person,
            NamedBy::Person if self.by_data.contains(origin) => NamedBy::Data,
            by => by,
        }
    }

    /// Whether the table of keys may choose the key of a server that was named like this.
    pub(crate) fn heeds_table(&self, named_by: NamedBy) -> bool {
        !self.keys_by_data || named_by == NamedBy::Person
    }
}

/// The origin of the server whose address stands in a value, alone or after `NAME=` or a prefix for its kind.
fn origin_in(value: &str) -> Option<String> {
    let (before, _) = value.split_once("://")?;
    let is_scheme =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.');
    let url = &value[before.trim_end_matches(is_scheme).len()..];
    match CorpusAddress::has_scheme(url) {
        true => url.parse::<CorpusAddress>().ok()?.origin(),
        false => ken_model::remote::origin(url).ok(),
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

    use super::*;

    #[test]
    fn addresses_are_found_in_values_of_any_kind() {
        for (value, origin) in cases![
            "https://API.example.org/v1#small" => "https://api.example.org";
            "http://127.0.0.1:8000/v1" => "http://127.0.0.1:8000";
            "cross-encoder:http://h:1/v1" => "http://h:1";
            "wiki=milvus://Box/notes" => "milvus://box:19530";
            "wiki=qdrant+http://Box:1/notes?text=t" => "http://box:1";
            "postgres://ken@box/shop/docs" => "postgres://box:5432";
        ] {
            assert_eq!(origin_in(value).as_deref(), Some(origin), "{value}");
        }
        for value in [
            "",
            "minilm",
            "://",
            "hf:org/model",
            "/a/b",
            "ftp://h/x",
            "https://u:p@h",
        ] {
            assert_eq!(origin_in(value), None, "{value}");
        }
    }

    #[test]
    fn what_only_data_names_is_no_persons() {
        let mut named = Named::default();
        named.take("http://both/v1", NamedBy::Data);
        named.take("http://data/v1", NamedBy::Data);
        named.take("http://both/v1#other", NamedBy::Person);
        assert_eq!(named.by("http://both", NamedBy::Data), NamedBy::Person);
        assert_eq!(named.by("http://data", NamedBy::Person), NamedBy::Data);
        assert_eq!(named.by("http://given", NamedBy::Person), NamedBy::Person);
        assert_eq!(named.by("http://corpus", NamedBy::Data), NamedBy::Data);
        assert!(named.heeds_table(NamedBy::Data));
        named.keys_by_data = true;
        assert!(!named.heeds_table(NamedBy::Data) && named.heeds_table(NamedBy::Person));
    }
}
