//! Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::common::{PLAN, SNAPSHOT, command};

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is kill");
    assert!(sent.success());
}

/// Starts it and waits until it has read its snapshot.
fn start(arguments: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = command(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    let mut story = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
    let mut line = String::new();
    while !line.contains("snapshot time:") {
        line.clear();
        assert!(story.read_line(&mut line).expect("text") > 0, "it ended before it had read its snapshot");
    }
    (child, story)
}

#[test]
fn many_rehearsals_stop_with_what_they_have() {
    let (child, mut story) = start(&["rehearse", SNAPSHOT, "-f", PLAN, "--seeds", "10000", "-o", "json"]);
    sleep(Duration::from_secs(3));
    interrupt(&child);
    let output = child.wait_with_output().expect("the binary ends");
    let mut told = String::new();
    story.read_to_string(&mut told).expect("text");
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("interrupted by Ctrl-C"), "{told}");
    if !told.contains("before the first rehearsal was over") {
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a whole result");
        let done = all["rehearsals"].as_array().expect("a list").len();
        assert!((1..10_000).contains(&done), "{done}");
        assert_eq!(all["summary"]["seeds"], done);
    }
}

#[test]
fn before_a_rehearsal_it_ends_at_once() {
    let mut child = command(&["rehearse", "-", "--roll", "web"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    // Nothing is written to it: it waits for its snapshot.
    let waiting = child.stdin.take();
    sleep(Duration::from_millis(500));
    interrupt(&child);
    let output = child.wait_with_output().expect("the binary ends");
    drop(waiting);
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
}
