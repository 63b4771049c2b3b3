//! The console: how its files are served, and how people use it in a browser.

mod chatting;
mod chromium;
mod markdown;
mod measuring;
mod person;
mod serving;
mod studying;
mod uploading;
mod watching;
