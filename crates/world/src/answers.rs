//! What an account of the world answers to a question.

use crate::query::Query;
use crate::subject::{Account, Subject};

/// An answer, and where to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth<'w> {
    /// The answer.
    pub value: &'w str,
    /// The positions of the subjects whose documents give it together, in the order of the hops.
    pub by: Vec<usize>,
}

/// The answer to a question about one of some subjects, whose facts lead to each other.
pub(crate) fn truth_among(
    subjects: &[Subject],
    subject: usize,
    query: Query,
    account: Account,
) -> Option<Truth<'_>> {
    let fact = |at: usize, relation| {
        let subject = subjects.get(at)?;
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
