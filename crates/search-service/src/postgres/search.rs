//! The statement of a search: its ranking and its filters.

use std::fmt::Write as _;

use ken_corpus::{Comparison, Filter, number_in};

use super::sql::{Statement, quoted};
use super::words::{TERM, Term, words};
use crate::address::ServiceAddress;

/// How rows are ranked.
pub(super) enum Ranking<'q> {
    /// By their distance from a vector.
    Nearest(&'q [f32]),
    /// By the words that they have.
    Words(Vec<Term>),
}

impl Statement {
    /// A search: every column of a row as JSON, and its score.
    pub(super) fn search(
        address: &ServiceAddress,
        ranking: &Ranking<'_>,
        k: usize,
        filters: &[Filter],
    ) -> Self {
        let options = &address.options;
        let mut made = Self::default();
        let (score, condition, order) = match ranking {
            Ranking::Nearest(vector) => made.nearest(address, vector),
            Ranking::Words(terms) => made.with_words(address, terms),
        };
        let unshown = [options.vector.as_deref(), options.words.as_deref()];
        let mut fields = "to_jsonb(t)".to_owned();
        for column in unshown.into_iter().flatten() {
            let column = made.parameter(column.to_owned());
            let _ = write!(fields, " - {column}::text");
        }
        // Computes the words of a row once, and not for each word of the question.
        let join = match ranking {
            Ranking::Nearest(_) => String::new(),
            Ranking::Words(_) => {
                let words = words(address);
                format!(" CROSS JOIN LATERAL (SELECT {words} AS of OFFSET 0) words")
            }
        };
        let table = quoted(&address.name());
        made.sql = format!(
            "SELECT {fields}, ({score})::float8 AS score FROM {table} t{join} WHERE {condition}"
        );
        for filter in filters {
            let condition = made.condition(filter, options.metadata.as_deref());
            // Writing into a String does not fail.
            let _ = write!(made.sql, " AND {condition}");
        }
        let _ = write!(made.sql, " ORDER BY {order} LIMIT {k}");
        made
    }

    /// The score, the condition and the order of a search by a vector.
    fn nearest(&mut self, address: &ServiceAddress, vector: &[f32]) -> (String, String, String) {
        let options = &address.options;
        let numbers: Vec<String> = vector.iter().map(ToString::to_string).collect();
        let query = self.parameter(format!("[{}]", numbers.join(",")));
        let (operator, is_cosine) = match options.distance.as_deref() {
            Some("l2") => ("<->", false),
            Some("ip") => ("<#>", false),
            _ => ("<=>", true),
        };
        let column = quoted(options.vector.as_deref().unwrap_or_default());
        let distance = format!("t.{column} {operator} {query}::text::vector");
        let score = match is_cosine {
            true => format!("1 - ({distance})"),
            false => format!("-({distance})"),
        };
        (score, "true".to_owned(), distance)
    }

    /// The score, the condition and the order of a search by words: the weight of each word, which grows with its rarity,
    /// times the database's rank, which grows ever slower with its frequency in the row.
    fn with_words(&mut self, address: &ServiceAddress, terms: &[Term]) -> (String, String, String) {
        let (mut scores, mut candidates) = (Vec::new(), Vec::new());
        for term in terms {
            let word = self.parameter(term.word.clone());
            let query = TERM.replace("WORD", &word);
            scores.push(format!("{} * ts_rank(words.of, {query})", term.weight));
            if term.is_rare {
                candidates.push(format!("{} @@ {query}", words(address)));
            }
        }
        let any = format!("({})", candidates.join(" OR "));
        (scores.join(" + "), any, "score DESC".to_owned())
    }

    /// A filter over a column of JSON, or over all columns.
    fn condition(&mut self, filter: &Filter, metadata: Option<&str>) -> String {
        let mut joined = |filters: &[Filter], word: &str, none: &str| {
            let conditions = filters
                .iter()
                .map(|filter| self.condition(filter, metadata));
            let conditions: Vec<String> = conditions.collect();
            match conditions.is_empty() {
                true => none.to_owned(),
                false => format!("({})", conditions.join(word)),
            }
        };
        match filter {
            Filter::All(filters) => joined(filters, " AND ", "true"),
            Filter::Any(filters) => joined(filters, " OR ", "false"),
            Filter::Not(inner) => format!("NOT {}", self.condition(inner, metadata)),
            Filter::Exists { key } => self.any(key, metadata, "x IS NOT NULL"),
            Filter::Compare {
                key,
                comparison,
                value,
            } => {
                let fits = self.fits(*comparison, value);
                let any = self.any(key, metadata, &fits);
                match comparison {
                    Comparison::NotEqual => format!("NOT {any}"),
                    _ => any,
                }
            }
        }
    }

    /// The condition that a value of a field fits; in a list, one is enough.
    fn any(&mut self, key: &str, metadata: Option<&str>, fits: &str) -> String {
        let key = self.parameter(key.to_owned());
        let of = match metadata {
            Some(column) => format!("t.{}::jsonb", quoted(column)),
            None => "to_jsonb(t)".to_owned(),
        };
        let value = format!("({of} -> {key}::text)");
        format!(
            "EXISTS (SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof({value}) WHEN 'array' THEN {value} \
             ELSE jsonb_build_array({value}) END) AS of(x) WHERE {fits})"
        )
    }

    /// The condition on a text x. Two numbers are compared as numbers, as in every filter.
    fn fits(&mut self, comparison: Comparison, value: &str) -> String {
        const NUMBER: &str = "^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$";
        let text = self.parameter(value.to_owned());
        let operator = match comparison {
            Comparison::Equal | Comparison::NotEqual => "=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::StartsWith => return format!("starts_with(x, {text}::text)"),
        };
        let as_texts = format!("x COLLATE \"C\" {operator} {text}::text");
        match number_in(value) {
            Some(number) => {
                let number = self.parameter(number.to_string());
                let as_numbers = format!("x::float8 {operator} {number}::text::float8");
                format!("CASE WHEN x ~ '{NUMBER}' THEN {as_numbers} ELSE {as_texts} END")
            }
            None => as_texts,
        }
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::says;

    use super::*;

    fn made(address: &str, ranking: &Ranking<'_>, filter: &str) -> Statement {
        let filters: Vec<Filter> = match filter {
            "" => Vec::new(),
            filter => vec![filter.parse().unwrap()],
        };
        Statement::search(&address.parse().unwrap(), ranking, 3, &filters)
    }

    #[test]
    fn nothing_of_a_name_or_a_value_is_sql() {
        let address = "postgres://b/shop/my%22docs?text=o'b%22dy&language=en'glish";
        let words = Ranking::Words(vec![Term {
            word: "it's; DROP".to_owned(),
            weight: 1.5,
            is_rare: true,
        }]);
        let Statement { sql, parameters } = made(address, &words, "a'\"b = \"'c'\"");
        says!(sql => "t.\"o'b\"\"dy\"", "'en''glish'::regconfig");
        assert!(!sql.contains("DROP") && !sql.contains("'c'"), "{sql}");
        assert_eq!(parameters, ["it's; DROP", "'c'", "a'\"b"]);
    }

    #[test]
    fn a_vector_is_compared_as_the_index_does() {
        let vector = Ranking::Nearest(&[0.5, 1.0]);
        let made = made("postgres://b/shop/docs?vector=v&distance=l2", &vector, "");
        assert_eq!(made.parameters, ["[0.5,1]", "v"]);
        let order = "ORDER BY t.\"v\" <-> $1::text::vector LIMIT 3";
        assert!(made.sql.ends_with(order), "{}", made.sql);
    }
}
