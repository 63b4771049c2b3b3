//! Who may use a route.

use crate::access::caller::Caller;
use crate::access::keys::Scope;
use crate::wire::refusal::Refusal;

/// Who may use a route, if the server has keys at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Everybody, without a key.
    Everybody,
    /// Every key that is known and has not expired.
    AnyKey,
    /// A key with one of these scopes.
    Scopes(&'static [Scope]),
}

impl Permission {
    /// # Errors
    /// A key without any of the scopes; the refusal names the last of them.
    pub(super) fn check(self, caller: &Caller) -> Result<(), Refusal> {
        let Self::Scopes(scopes) = self else {
            return Ok(());
        };
        let checks = scopes.iter().map(|scope| caller.may(*scope));
        checks.reduce(Result::or).unwrap_or(Ok(()))
    }
}
