//! The answer to a question by an account of the world.

use crate::query::Query;
use crate::subject::{Account, Subject};

/// An answer, and the subjects whose documents give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth<'w> {
    /// The answer.
    pub value: &'w str,
    /// The indices of the subjects whose documents together give it, in the order of the hops.
    pub by: Vec<usize>,
}

/// The answer to a question about one of `subjects`, whose facts refer to each other by index.
pub(crate) fn truth_among(
    subjects: &[Subject],
    subject: usize,
    query: Query,
    account: Account,
) -> Option<Truth<'_>> {
    let fact = |index: usize, relation| {
        let subject = subjects.get(index)?;
        let subject = match account {
            Account::Corpus => subject.in_corpus()?,
            Account::Training | Account::Now => subject,
        };
        subject.fact(relation)
    };
    match query {
        Query::Plain(relation) => Some(Truth {
            value: fact(subject, relation)?.by(account),
            by: vec![subject],
        }),
        Query::TwoHop(first, second) => {
            let between = fact(subject, first)?.leads_to(account)?;
            Some(Truth {
                value: fact(between, second)?.by(account),
                by: vec![subject, between],
            })
        }
    }
}
