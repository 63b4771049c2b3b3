//! A card of a model: what it knows about some questions, on one page (`report`), from answers without and with
//! evidence and the signals of these answers (`work`).

mod knowledge;
mod report;
mod work;

pub use knowledge::{Card, Knowledge, KnowledgeBy, SearchWorth, SelfKnowledge, card};
pub use report::card_report;
pub use work::{CardWork, card_policies};
