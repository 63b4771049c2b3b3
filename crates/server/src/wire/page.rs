//! Lists in pages, as OpenAI has them: `limit`, `after` and `order` in the query, and `has_more`.

use schemars::JsonSchema;
use serde::Serialize;

use super::query;
use super::refusal::Refusal;

/// The default number of items on a page.
const LIMIT: usize = 20;

/// The most items on a page.
const MOST: usize = 10_000;

/// Which page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    limit: usize,
    /// The id of the last item before it.
    after: Option<String>,
    /// The id of the first item after it.
    before: Option<String>,
    /// Whether the oldest come first.
    ascending: bool,
}

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listed<T> {
    object: &'static str,
    pub(crate) data: Vec<T>,
    first_id: Option<String>,
    last_id: Option<String>,
    /// Whether there are more after the last.
    pub(crate) has_more: bool,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            limit: LIMIT,
            after: None,
            before: None,
            ascending: false,
        }
    }
}

impl Page {
    /// Reads the query of an address. Unknown parameters are ignored, as in OpenAI's API.
    ///
    /// # Errors
    /// A value that cannot be taken.
    pub(crate) fn read(query: Option<&str>) -> Result<Self, Refusal> {
        let mut page = Self::default();
        for (name, value) in query::pairs(query) {
            match (&*name, &*value) {
                ("before", "") => {}
                ("before", id) => page.before = Some(id.to_owned()),
                (name, value) => {
                    page.take(name, value)?;
                }
            }
        }
        Ok(page)
    }

    /// Takes a parameter; returns whether it belongs to pages.
    ///
    /// # Errors
    /// A value that cannot be taken.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> Result<bool, Refusal> {
        let refused = |message: &str| Err(Refusal::invalid(name, message));
        match (name, value) {
            ("limit", text) => match text.parse() {
                Ok(limit) if (1..=MOST).contains(&limit) => self.limit = limit,
                _ => return refused("it must be a number from 1 to 10000"),
            },
            ("after", "") => {}
            ("after", id) => self.after = Some(id.to_owned()),
            ("order", "asc") => self.ascending = true,
            ("order", "desc") => self.ascending = false,
            ("order", _) => return refused("it must be `asc` or `desc`"),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The id of the last item before it.
    pub(crate) fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Whether the newest come first.
    pub(crate) fn newest_first(&self) -> bool {
        !self.ascending
    }

    /// The first page of a list that is in the page's order and starts after its `after`.
    ///
    /// # Errors
    /// The first error of the list.
    pub(crate) fn first<T, E>(
        &self,
        list: impl Iterator<Item = Result<T, E>>,
        id: impl Fn(&T) -> &str,
    ) -> Result<Listed<T>, E> {
        let data = list.take(self.limit + 1).collect::<Result<Vec<T>, E>>()?;
        Ok(self.cut(data, id))
    }

    /// The page of a list that is ordered newest first. One before an item ends with that item's neighbor.
    ///
    /// # Errors
    /// An `after` or `before` that is not in the list: an empty page would pass for the end of it.
    pub(crate) fn of<T>(
        &self,
        mut all: Vec<T>,
        id: impl Fn(&T) -> &str,
    ) -> Result<Listed<T>, Refusal> {
        if self.ascending {
            all.reverse();
        }
        let index = |all: &[T], param: &str, named: &str| {
            let index = all.iter().position(|item| id(item) == named);
            index.ok_or_else(|| unknown_cursor(param, named))
        };
        if let Some(before) = &self.before {
            let end = index(&all, "before", before)?;
            all.truncate(end);
        }
        let start = match &self.after {
            None => 0,
            Some(after) => index(&all, "after", after)? + 1,
        };
        let mut rest = all.split_off(start);
        let surplus = match self.before {
            Some(_) => rest.len().saturating_sub(self.limit),
            None => 0,
        };
        let mut listed = self.cut(rest.split_off(surplus), id);
        listed.has_more |= surplus > 0;
        Ok(listed)
    }

    fn cut<T>(&self, mut data: Vec<T>, id: impl Fn(&T) -> &str) -> Listed<T> {
        let has_more = data.len() > self.limit;
        data.truncate(self.limit);
        let named = |item: Option<&T>| item.map(|item| id(item).to_owned());
        Listed {
            object: "list",
            first_id: named(data.first()),
            last_id: named(data.last()),
            has_more,
            data,
        }
    }
}

/// The refusal of an item that a list does not hold, as the place where its page begins or ends.
pub(crate) fn unknown_cursor(param: &str, id: &str) -> Refusal {
    let message = format!(
        "there is no {id:?} in this list, or not any more: read it from its beginning, without `{param}`"
    );
    Refusal::bad("unknown_cursor", message).of(param)
}

impl<T> Listed<T> {
    /// The page with each item converted.
    pub(crate) fn map<U>(self, with: impl Fn(T) -> U) -> Listed<U> {
        Listed {
            object: self.object,
            data: self.data.into_iter().map(with).collect(),
            first_id: self.first_id,
            last_id: self.last_id,
            has_more: self.has_more,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(query: &str, all: &[&str]) -> Vec<Vec<String>> {
        let mut page = Page::read(Some(query)).unwrap();
        let mut found = Vec::new();
        loop {
            let all = all.iter().map(|id| (*id).to_owned()).collect();
            let listed = page.of(all, String::as_str).unwrap();
            assert_eq!(listed.last_id.as_ref(), listed.data.last());
            page.after = listed.last_id;
            found.push(listed.data);
            if !listed.has_more {
                return found;
            }
        }
    }

    #[test]
    fn pages_are_the_list() {
        let all = ["c", "b", "a"];
        assert_eq!(pages("", &all), [["c", "b", "a"]]);
        assert_eq!(pages("limit=2", &all), [vec!["c", "b"], vec!["a"]]);
        assert_eq!(
            pages("order=asc&limit=2", &all),
            [vec!["a", "b"], vec!["c"]]
        );
        assert_eq!(pages("after=b", &all), [["a"]]);
        assert_eq!(pages("limit=1", &[]), [Vec::<String>::new()]);
        let page = |query: &str| {
            let all = all.map(str::to_owned).to_vec();
            let listed = Page::read(Some(query)).unwrap().of(all, String::as_str);
            listed.map(|listed| (listed.data.concat(), listed.has_more))
        };
        let lost = |query: &str| page(query).unwrap_err().code();
        assert_eq!(lost("after=z"), "unknown_cursor");
        assert_eq!(lost("before=z"), "unknown_cursor");
        let page = |query: &str| page(query).unwrap();
        assert_eq!(page("before=a"), ("cb".to_owned(), false));
        assert_eq!(page("before=a&limit=1"), ("b".to_owned(), true));
        assert_eq!(page("before=c"), (String::new(), false));
        assert_eq!(page("before=a&after=c&limit=1"), ("b".to_owned(), false));
        assert_eq!(page("before=&limit=1"), ("c".to_owned(), true));
        for bad in ["limit=0", "limit=x", "order=up"] {
            assert_eq!(Page::read(Some(bad)).unwrap_err().code(), "invalid_value");
        }
    }
}
