//! Reading files by crates that panic on damaged ones: the panic becomes a value.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is one that is caught and told as an error.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// What `call` returns, or the message of its panic, which is then not printed.
///
/// What `call` has changed when it panics must not be used again.
///
/// # Errors
/// The message of the panic.
pub fn contained<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    pass_over_contained_panics();
    let outer = CONTAINED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    CONTAINED.set(outer);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "its data make no sense".to_owned())
    })
}

/// Puts a hook before the one that is there, once, which goes on printing all other panics.
fn pass_over_contained_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !CONTAINED.get() {
                print(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_messages() {
        assert_eq!(contained(|| 7), Ok(7));
        let empty: [u8; 0] = [];
        let at = std::hint::black_box(3);
        let message = contained(|| empty[at]).unwrap_err();
        assert!(message.contains("index out of bounds"), "{message}");
        assert_eq!(contained(|| -> u8 { panic!("x") }), Err("x".to_owned()));
        assert!(!CONTAINED.get());
    }
}
