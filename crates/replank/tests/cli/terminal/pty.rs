//! A terminal: a program in it, keys that are pressed, and what is to be seen.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::screen::Screen;
use crate::common::root;

/// How long something may take to be seen.
const PATIENCE: Duration = Duration::from_mins(3);

/// See the module's page.
pub(super) struct Terminal {
    child: Child,
    keys: File,
    screen: Arc<Mutex<Screen>>,
    reads: JoinHandle<()>,
}

impl Terminal {
    /// Runs the binary in a terminal of its own, which is that of the session: Ctrl-C is pressed as by a person.
    pub(super) fn run(arguments: &[&str], kubeconfig: &Path, (columns, rows): (u16, u16)) -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("there are terminals");
        grantpt(&main).and_then(|()| unlockpt(&main)).expect("it is ours");
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&main, size).expect("it has a size");
        let name = ptsname(&main, Vec::new()).expect("it has a name").into_string().expect("it is text");
        let side =
            || Stdio::from(File::options().read(true).write(true).open(&name).expect("it can be opened"));
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(env!("CARGO_BIN_EXE_replank")).args(arguments).current_dir(root());
        command.arg("--kubeconfig").arg(kubeconfig).env("TERM", "xterm-256color").env("NO_COLOR", "1");
        command
            .env_remove("KUBECONFIG")
            .env_remove("COLUMNS")
            .env_remove("LINES")
            .env("HOME", env!("CARGO_TARGET_TMPDIR"));
        let child = command
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("setsid of util-linux is there");
        // Only the program holds the other side now: reading ends with it.
        drop(command);
        let keys = File::from(main);
        let mut shown = keys.try_clone().expect("it can be read");
        let screen = Arc::new(Mutex::new(Screen::new(columns.into(), rows.into())));
        let reads = {
            let screen = screen.clone();
            thread::spawn(move || {
                let mut some = [0; 4096];
                // It ends with an error (EIO) once nobody has the other side open.
                while let Ok(count @ 1..) = shown.read(&mut some) {
                    screen.lock().expect("no thread fell").take(&some[..count]);
                }
            })
        };
        Self { child, keys, screen, reads }
    }

    /// Presses keys; `\u{3}` is Ctrl-C.
    pub(super) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal is there");
    }

    /// What is to be seen now, line by line.
    pub(super) fn shows(&self) -> Vec<String> {
        self.screen.lock().expect("no thread fell").lines()
    }

    /// Everything that was ever seen, one line under the other: those that have left at the top, and those that are there.
    pub(super) fn all(&self) -> String {
        self.screen.lock().expect("no thread fell").all().join("\n")
    }

    /// Waits until something is seen.
    pub(super) fn until(&self, what: &str, is_so: impl Fn(&[String]) -> bool) {
        let begun = Instant::now();
        while !is_so(&self.shows()) {
            assert!(begun.elapsed() < PATIENCE, "{what}: {}", self.all());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for a word.
    pub(super) fn until_word(&self, word: &str) {
        self.until(word, |lines| lines.iter().any(|line| line.contains(word)));
    }

    /// The code that the program ends with, and everything that was seen.
    pub(super) fn end(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                let seen = self.all();
                drop(self.child.kill());
                panic!("it does not end: {seen}");
            }
            thread::sleep(Duration::from_millis(20));
        };
        self.reads.join().expect("it was read");
        let seen = self.screen.lock().expect("no thread fell").all().join("\n");
        (status.code(), seen)
    }
}
