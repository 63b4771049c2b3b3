//! Files for the tests: good ones of each format, and hostile ones of any length.
#![allow(dead_code)] // Each test program uses a part of them.

pub(crate) mod font;
pub(crate) mod hostile;
pub(crate) mod packages;
pub(crate) mod packed;
pub(crate) mod pages;
pub(crate) mod table;
