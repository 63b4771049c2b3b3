//! Renders templates from untrusted sources: steps, output and depth are bounded, so that a template that loops,
//! recurses or doubles its strings is refused within a second.
//!
//! The engine bounds steps itself. It does not bound what a step builds, so every operand first passes through
//! [`Budget::spend`] (`rewritten` inserts that into the template), and filters and methods that could build much from
//! little are checked before they run. Those that models' templates do not use are left out.

mod json;
mod rewrite;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use minijinja::machinery::{CodeGenerator, Vm, make_string_output, parse};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, escape_formatter, filters};

/// The most instructions of a template. Models' templates take some dozens per message.
const MOST_STEPS: u64 = 500_000;
/// Bytes that it may handle, over all steps, besides those for the conversation.
const MOST_BYTES: usize = 8 << 20;
/// How often it may handle each byte of the conversation and of itself.
const MOST_TIMES: usize = 64;
/// The cost of an element of a list or a map, besides its own bytes.
const ELEMENT_BYTES: usize = 16;
/// Lists and maps within one another.
const MOST_DEPTH: usize = 24;
/// How deep macros and loops may recurse, in the engine's measure.
const MOST_RECURSION: usize = 100;
/// Parsing a template recurses with the length of its expressions, which `rewritten` bounds.
const STACK_BYTES: usize = 64 << 20;

/// The text that a template renders from a context with `given` bytes of text.
///
/// # Errors
/// A message about the template's fault, or the bound that it exceeds.
pub(in crate::decoder) fn render(
    source: &str,
    context: Value,
    given: usize,
) -> Result<String, String> {
    let rendered = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || render_here(source, context, given))
            .map_err(|error| format!("no thread to render it on: {error}"))
            .map(std::thread::ScopedJoinHandle::join)
    })?;
    match rendered {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(match error.kind() {
            ErrorKind::OutOfFuel => {
                format!(
                    "it takes more than {MOST_STEPS} steps, and no model's template needs as many"
                )
            }
            _ => error.to_string(),
        }),
        Err(_) => Err("the template engine failed".to_owned()),
    }
}

fn render_here(source: &str, context: Value, given: usize) -> Result<String, Error> {
    rewrite::check_length(source)?;
    let budget = Arc::new(Budget::new(source.len() + given));
    let environment = environment(&budget);
    let parsed = parse(source, "chat", SyntaxConfig, rewrite::WHITESPACE)?;
    let spending = rewrite::statement(&parsed)?;
    let mut code = CodeGenerator::new("chat", source);
    code.compile_stmt(&spending);
    let (instructions, blocks) = code.finish();
    let mut text = String::new();
    Vm::new(&environment).eval(
        &instructions,
        context,
        &blocks,
        &mut make_string_output(&mut text),
        AutoEscape::None,
    )?;
    Ok(text)
}

/// The bytes that a template may still handle.
#[derive(Debug)]
struct Budget {
    left: AtomicI64,
    all: usize,
}

impl Budget {
    fn new(given: usize) -> Self {
        let all = MOST_BYTES + MOST_TIMES * given;
        Self {
            left: AtomicI64::new(all as i64),
            all,
        }
    }

    fn take(&self, bytes: usize) -> Result<(), Error> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX / 2);
        let left = self.left.fetch_sub(bytes, Ordering::Relaxed);
        match left < bytes {
            true => Err(refused(format!(
                "it handles more than {} bytes, which is beyond reason for this conversation",
                self.all
            ))),
            false => Ok(()),
        }
    }

    /// Spends the size of a value.
    fn weigh(&self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MOST_DEPTH {
            return Err(refused(format!(
                "its lists and maps are nested deeper than {MOST_DEPTH}"
            )));
        }
        match value.kind() {
            ValueKind::String | ValueKind::Bytes => {
                self.take(value.as_bytes().map_or(0, <[u8]>::len))
            }
            ValueKind::Seq | ValueKind::Iterable => {
                for element in value.try_iter()? {
                    self.take(ELEMENT_BYTES)?;
                    self.weigh(&element, depth + 1)?;
                }
                Ok(())
            }
            ValueKind::Map => {
                for key in value.try_iter()? {
                    self.take(ELEMENT_BYTES)?;
                    self.weigh(&key, depth + 1)?;
                    self.weigh(&value.get_item(&key)?, depth + 1)?;
                }
                Ok(())
            }
            _ => self.take(1),
        }
    }

    /// Spends the size of a value and returns it. Values that the engine would compute lazily, one computation on top
    /// of the other, are computed here.
    fn spend(&self, value: Value) -> Result<Value, Error> {
        self.weigh(&value, 0)?;
        Ok(match value.kind() {
            ValueKind::Iterable => Value::from(value.try_iter()?.collect::<Vec<_>>()),
            ValueKind::Seq if value.downcast_object_ref::<Vec<Value>>().is_none() => {
                Value::from(value.try_iter()?.collect::<Vec<_>>())
            }
            _ => value,
        })
    }

    /// Spends the size of the result of replacing or joining, before it runs.
    fn foresee(&self, name: &str, args: &[Value]) -> Result<(), Error> {
        let texts: Vec<&str> = args.iter().map(|arg| arg.as_str().unwrap_or("")).collect();
        match (name, texts.as_slice()) {
            ("replace", [text, from, to, ..]) => {
                let places = match from.is_empty() {
                    true => text.len() + 1,
                    false => text.matches(from).count(),
                };
                self.take(places.saturating_mul(to.len()))
            }
            ("join", [_, separator, ..]) => {
                let count = args.first().and_then(Value::len).unwrap_or(0);
                self.take(count.saturating_mul(separator.len()))
            }
            _ => Ok(()),
        }
    }
}

fn refused(reason: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}

/// The engine's filters by their names in templates, which may differ from the functions'.
macro_rules! filters {
    ($($name:ident),*) => { filters![$($name: $name),*] };
    ($($name:ident: $filter:ident),*) => {
        vec![$((stringify!($name), Value::from_function(filters::$filter))),*]
    };
}

fn environment(budget: &Arc<Budget>) -> Environment<'static> {
    let mut environment = Environment::new();
    let mut kept = filters![
        abs, attr, bool, capitalize, default, dictsort, escape, first, float, int, items, join,
        last, length, lines, list, lower, map, max, min, reject, rejectattr, replace, reverse,
        round, safe, select, selectattr, sort, split, string, title, trim, unique, upper
    ];
    kept.extend(filters![count: length, d: default, e: escape]);
    // These filters could build much from little.
    for name in [
        "batch", "chain", "format", "groupby", "indent", "pprint", "slice", "sum", "zip",
    ] {
        environment.remove_filter(name);
    }
    environment.remove_global("debug");
    let of_json = budget.clone();
    environment.add_filter("tojson", move |value: Value, options: Kwargs| {
        of_json.weigh(&value, 0)?;
        of_json.spend(Value::from(json::written(&value, &options)?))
    });
    for (name, filter) in kept {
        let budget = budget.clone();
        environment.add_filter(name, move |state: &State, args: Rest<Value>| {
            for arg in args.iter() {
                budget.weigh(arg, 0)?;
            }
            budget.foresee(name, &args)?;
            budget.spend(filter.call(state, &args)?)
        });
    }
    let of_methods = budget.clone();
    environment.set_unknown_method_callback(move |state, value, method, args| {
        call_method(&of_methods, state, value, method, args)
    });
    let of_output = budget.clone();
    environment.set_formatter(move |out, state, value| {
        of_output.weigh(value, 0)?;
        escape_formatter(out, state, value)
    });
    let of_operands = budget.clone();
    environment.add_function(rewrite::SPEND, move |value: Value| of_operands.spend(value));
    let of_products = budget.clone();
    environment.add_function(rewrite::PRODUCT, move |a: Value, b: Value| {
        product(&of_products, &a, &b)
    });
    let raise = |message: String| -> Result<String, Error> { Err(refused(message)) };
    environment.add_function("raise_exception", raise);
    environment.set_recursion_limit(MOST_RECURSION);
    environment.set_fuel(Some(MOST_STEPS));
    environment
}

/// Calls a method as in Python, within the budget.
fn call_method(
    budget: &Budget,
    state: &State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if method == "format" {
        return Err(Error::from(ErrorKind::UnknownMethod));
    }
    budget.weigh(value, 0)?;
    match method {
        // The list is the argument, not the receiver.
        "join" => {
            let list = args.first().cloned().unwrap_or_default();
            budget.foresee(method, &[list, value.clone()])?;
        }
        _ => budget.foresee(method, &[std::slice::from_ref(value), args].concat())?,
    }
    let made = minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args)?;
    budget.spend(made)
}

/// `a * b` of numbers, or of a text and its number of repetitions.
fn product(budget: &Budget, a: &Value, b: &Value) -> Result<Value, Error> {
    let repeated = match (a.as_str(), b.as_str()) {
        (Some(text), None) => Some((text, b)),
        (None, Some(text)) => Some((text, a)),
        _ => None,
    };
    if let Some((text, times)) = repeated {
        let times = times.as_usize();
        let times = times.ok_or_else(|| refused("a text times no number"))?;
        budget.take(text.len().saturating_mul(times))?;
        return Ok(Value::from(text.repeat(times)));
    }
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        let product = a.checked_mul(b).map(Value::from);
        return product.ok_or_else(|| refused("a product of numbers is too large"));
    }
    match (f64::try_from(a.clone()), f64::try_from(b.clone())) {
        (Ok(a), Ok(b)) => Ok(Value::from(a * b)),
        _ => Err(refused(format!(
            "{} times {} is nothing that templates compute",
            a.kind(),
            b.kind()
        ))),
    }
}

#[cfg(test)]
mod tests;
