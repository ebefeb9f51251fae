//! A person is asked before a cluster is changed.

use std::io::{IsTerminal, Write, stdin};

use crate::exit::Exit;
use crate::failure::Failure;

/// Asks on a terminal whether to do something; elsewhere the command says so (`--yes`).
///
/// # Errors
/// Where nobody can be asked, or the answer is another than yes.
pub(crate) fn confirm(is_confirmed: bool, what: &str) -> Result<(), Failure> {
    if is_confirmed {
        return Ok(());
    }
    if !stdin().is_terminal() {
        return Err(Failure::usage_message("nobody can be asked whether the cluster is to be changed")
            .next("pass --yes where there is no terminal"));
    }
    let mut err = std::io::stderr();
    let asked = write!(err, "{what}? Only yes is taken for one: ").and_then(|()| err.flush());
    let mut answer = String::new();
    asked.and_then(|()| stdin().read_line(&mut answer)).map_err(Failure::internal)?;
    if answer.trim() == "yes" {
        return Ok(());
    }
    Err(Failure { exit: Exit::Refused, ..Failure::usage_message("not confirmed: nothing was changed") })
}
