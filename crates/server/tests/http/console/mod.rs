//! The console: how its files are served, and how people use it in a browser.

mod chromium;
mod person;
mod serving;
mod studying;
mod watching;
