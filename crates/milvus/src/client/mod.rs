//! The client: pushing a corpus to a collection, searching it there, and marking its passages.

mod collection;
mod connection;
mod create;
mod facets;
mod identity;
mod literal;
mod numbers;
mod part_marks;
mod pieces;
mod push;
mod ranked;
mod row;
mod schema;
mod sweep;
mod switch;
mod transfer;
mod update;

pub use collection::Collection;
pub use push::push;
pub use ranked::{Ranked, restore};
pub use switch::push_and_switch;
pub use update::{mark, score};
