//! Connections: how many there may be, which one makes room for a newcomer, and how long a client that does not read
//! may stall one.

pub(crate) mod connection;
pub(crate) mod files;
pub(crate) mod places;
pub(crate) mod write_timeout;
