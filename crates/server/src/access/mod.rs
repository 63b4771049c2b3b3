//! Who may do what: keys with scopes, expiry and quotas, and which hosts and origins the server answers at all.

pub(crate) mod caller;
pub(crate) mod host;
pub(crate) mod keys;
pub(crate) mod quota;
