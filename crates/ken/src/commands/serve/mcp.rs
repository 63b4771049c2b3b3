//! `ken serve mcp`: an agent's messages from stdin, a line each, and the responses to stdout.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_server::{Access, Agent};

use super::log::LogLines;
use super::open;
use crate::failure::{Failure, Result};
use crate::interrupt::{self, Line};
use crate::output;
use crate::session::Session;

pub(crate) fn run(session: &Session<'_>) -> Result<()> {
    let access = Access::open(session.settings.server_keys.clone())?;
    let gone = Arc::new(AtomicBool::new(false));
    let is_gone = Arc::clone(&gone);
    let reply = move |line: &str| {
        if output::json_line(line).is_err() {
            is_gone.store(true, Ordering::Relaxed);
        }
    };
    let lines = LogLines::begin()?;
    let served = open(session, None, &lines.log())?;
    let agent = Agent::new(served, access, reply).map_err(Failure::other)?;
    // What is under way is responded to, however the input ends.
    let ended = loop {
        let line = match interrupt::next_line_within(Agent::LONGEST) {
            Ok(Some(line)) => line,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.into()),
        };
        if gone.load(Ordering::Relaxed) {
            return Ok(());
        }
        match line {
            Line::Whole(line) => agent.take(&line),
            Line::TooLong => agent.refuse_long(),
        }
    };
    agent.finish();
    ended
}
