//! Calling crates that panic on damaged files: the panic becomes a value.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is caught and reported as an error.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// The result of `call`, or the message of its panic, which is not printed.
///
/// After a panic, whatever `call` has changed must not be used again.
///
/// # Errors
/// The message of the panic.
pub fn contained<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    silence_contained_panics();
    let outer = CONTAINED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    CONTAINED.set(outer);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "its data are invalid".to_owned())
    })
}

/// Installs, once, a panic hook that passes all other panics on to the previous hook.
fn silence_contained_panics() {
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
        let index = std::hint::black_box(3);
        let message = contained(|| empty[index]).unwrap_err();
        assert!(message.contains("index out of bounds"), "{message}");
        assert_eq!(contained(|| -> u8 { panic!("x") }), Err("x".to_owned()));
        assert!(!CONTAINED.get());
    }
}
