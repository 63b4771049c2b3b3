//! Connections: how many there may be, who makes room for a newcomer, and how long one may be stalled by
//! whoever does not read.

pub(crate) mod connection;
pub(crate) mod files;
pub(crate) mod places;
pub(crate) mod write_timeout;
