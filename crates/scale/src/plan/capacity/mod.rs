//! The disk, memory, hours, cores and money of a corpus before it is built, from measurements of smaller ones, which are in
//! `measurements.json`.

mod demand;
mod entry;
mod error;
mod estimate;
mod growth;
mod measurements;
mod needs;
mod report;
#[cfg(test)]
mod tests;

pub use demand::{Demand, Embedding, Machine};
pub use entry::{Basis, Entry, Part, Unit};
pub use error::CapacityError;
pub use estimate::Estimate;
pub use growth::{Check, Growth};
pub use measurements::Measurements;
pub use needs::Capacity;
pub use report::capacity_report;
