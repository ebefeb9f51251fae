//! Progress where standard error is no terminal, as in the log of a CI job.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use super::common::command;

/// Rehearsals that take longer than anybody waits here.
fn hours(more: &[&str]) -> Child {
    let asked = [&["rehearse", "--seeds", "1000000"], more].concat();
    command(&asked).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it can be run")
}

#[test]
fn a_log_is_told_of_progress_unless_it_is_to_be_quiet() {
    let (mut told, mut quiet) = (hours(&[]), hours(&["--quiet"]));
    let log = BufReader::new(told.stderr.take().expect("it is piped"));
    let line = log.lines().map_while(Result::ok).find(|line| line.starts_with("seeds: "));
    let line = line.expect("it goes on for hours");
    assert!(line.contains(" of 1000000 after ") && line.ends_with(" left"), "{line}");
    for child in [&mut told, &mut quiet] {
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
    let mut said = String::new();
    quiet.stderr.take().expect("it is piped").read_to_string(&mut said).expect("text");
    assert_eq!(said, "");
}
