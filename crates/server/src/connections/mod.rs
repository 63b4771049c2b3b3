//! Connections: how many there may be, which one makes room for a newcomer, how long a client that does not read may
//! stall one, and what becomes of a body that nobody reads.

pub(crate) mod connection;
pub(crate) mod files;
pub(crate) mod places;
pub(crate) mod remainder;
pub(crate) mod write_timeout;
