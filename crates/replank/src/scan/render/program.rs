//! Running a renderer: within a time, with as much output as fits, and with the reason in its own words where it fails.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// A program and what it is called with before the directory.
#[derive(Debug)]
pub(super) struct Renderer {
    program: &'static str,
    arguments: &'static [&'static str],
}

pub(super) const HELM: Renderer = Renderer { program: "helm", arguments: &["template", "release-name"] };
pub(super) const KUSTOMIZE: [Renderer; 2] = [
    Renderer { program: "kustomize", arguments: &["build"] },
    Renderer { program: "kubectl", arguments: &["kustomize"] },
];

/// What one run may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    within: Duration,
    output_bytes_max: u64,
}

impl Limits {
    /// 256 MiB are 5,000 objects of 50 kB: what prints more goes on for ever.
    pub(super) fn within(within: Duration) -> Self {
        Self { within, output_bytes_max: 256 << 20 }
    }
}

/// Why there is no output.
#[derive(Debug)]
pub(super) enum NoOutput {
    /// The program cannot be run, or not be listened to.
    Run(io::Error),
    /// It ended otherwise than well.
    Failed { status: ExitStatus, story: String },
    /// It did not end in time.
    TooSlow(Duration),
    /// It prints without an end.
    TooMuch(u64),
    /// What it prints is not UTF-8.
    NotText,
}

impl fmt::Display for NoOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => write!(f, "the program cannot be run: {error}"),
            Self::Failed { status, story } => match told(story) {
                Some(line) => f.write_str(line),
                None => write!(f, "it failed ({status}) and said nothing"),
            },
            Self::TooSlow(within) => write!(
                f,
                "it did not finish within {} s (--render-timeout) and was killed",
                within.as_secs_f64()
            ),
            Self::TooMuch(bytes) => write!(f, "it printed more than {} MiB and was killed", bytes >> 20),
            Self::NotText => f.write_str("its output is not UTF-8"),
        }
    }
}

/// The line of a program's story that says why: helm and kustomize begin it with `Error: `, and may give advice behind it.
fn told(story: &str) -> Option<&str> {
    let lines = || story.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find_map(|line| line.strip_prefix("Error: ").or(line.strip_prefix("error: ")));
    error.or(lines().next_back())
}

/// How often is asked whether a program has ended that has closed its output.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// What a program that has ended is given for the rest of its story: a child of it may hold the pipe.
const STORY_WITHIN: Duration = Duration::from_millis(500);
/// As much of the story as is read.
const STORY_BYTES_MAX: u64 = 1 << 20;

impl Renderer {
    /// Whether it is on the PATH.
    pub(super) fn is_there(&self) -> bool {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).any(|path| path.join(self.program).is_file())
    }

    /// For messages.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.program, self.arguments[0])
    }

    /// What it prints of a directory.
    pub(super) fn run(&self, directory: &Path, limits: Limits) -> Result<String, NoOutput> {
        let mut command = Command::new(self.program);
        command.args(self.arguments).arg(no_option(directory));
        output(&mut command, limits)
    }
}

/// A path that no program takes for an option.
fn no_option(path: &Path) -> PathBuf {
    let is_option = path.to_string_lossy().starts_with('-');
    if is_option { Path::new(".").join(path) } else { path.to_owned() }
}

/// Runs a command. It is ended where it takes too long or prints too much; what it has started itself is not waited for.
fn output(command: &mut Command, limits: Limits) -> Result<String, NoOutput> {
    let deadline = Instant::now() + limits.within;
    let left = || deadline.saturating_duration_since(Instant::now());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(NoOutput::Run)?;
    // Both at once: a program that waits for its story to be read prints nothing.
    let printed = child.stdout.take().map(|pipe| drained(pipe, limits.output_bytes_max.saturating_add(1)));
    let story = child.stderr.take().map(|pipe| drained(pipe, STORY_BYTES_MAX));
    let printed = match printed.map(|printed| printed.recv_timeout(left())) {
        Some(Ok(Ok(bytes))) => bytes,
        Some(Ok(Err(error))) => return Err(ended(child, NoOutput::Run(error))),
        Some(Err(_)) | None => return Err(ended(child, NoOutput::TooSlow(limits.within))),
    };
    if printed.len() as u64 > limits.output_bytes_max {
        return Err(ended(child, NoOutput::TooMuch(limits.output_bytes_max)));
    }
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if left().is_zero() => return Err(ended(child, NoOutput::TooSlow(limits.within))),
            Ok(None) => std::thread::sleep(LOOK_AGAIN.min(left())),
            Err(error) => return Err(ended(child, NoOutput::Run(error))),
        }
    };
    if !status.success() {
        let story = story.and_then(|story| story.recv_timeout(STORY_WITHIN).ok()?.ok()).unwrap_or_default();
        return Err(NoOutput::Failed { status, story: String::from_utf8_lossy(&story).into_owned() });
    }
    String::from_utf8(printed).map_err(|_| NoOutput::NotText)
}

/// Reads a pipe to its end, beside; of more than so many bytes the rest is dropped.
fn drained(mut pipe: impl Read + Send + 'static, bytes_max: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.by_ref().take(bytes_max).read_to_end(&mut bytes);
        // Nobody may be there to hear it any more.
        drop(sender.send(read.map(|_| bytes)));
    });
    receiver
}

/// Ends a program.
fn ended(mut child: Child, why: NoOutput) -> NoOutput {
    // It may have ended by itself meanwhile.
    drop(child.kill());
    drop(child.wait());
    why
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run(script: &str, millis: u64, bytes: u64) -> Result<String, String> {
        let limits = Limits { within: Duration::from_millis(millis), output_bytes_max: bytes };
        output(Command::new("/bin/sh").args(["-c", script]), limits).map_err(|why| why.to_string())
    }

    #[test]
    fn output_comes_whole_however_long_the_story() {
        let flood = "i=0; while [ $i -lt 3000 ]; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >&2; \
                     echo b; i=$((i+1)); done";
        assert_eq!(run(flood, 60_000, 1 << 20), Ok("b\n".repeat(3000)));
    }

    #[test]
    fn what_prints_for_ever_or_never_ends_is_ended() {
        assert_eq!(
            run("while :; do echo bbbbbbbb; done", 60_000, 2 << 20),
            Err("it printed more than 2 MiB and was killed".to_owned())
        );
        let begun = Instant::now();
        let slow = Err("it did not finish within 0.3 s (--render-timeout) and was killed".to_owned());
        assert_eq!(run("exec sleep 20", 300, 100), slow);
        assert_eq!(run("exec >&-; exec sleep 20", 300, 100), slow, "its output is closed, and it goes on");
        assert_eq!(run("sleep 20 & echo a", 300, 100), slow, "a child of it holds the output");
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    }

    #[test]
    fn the_reason_is_the_programs_own() {
        assert_eq!(
            run("echo Error: a is not b >&2; echo Use --debug >&2; exit 1", 60_000, 9),
            Err("a is not b".into())
        );
        assert_eq!(run("echo half; echo x >&2; echo y >&2; exit 3", 60_000, 9), Err("y".into()));
        assert_eq!(run("exit 3", 60_000, 9), Err("it failed (exit status: 3) and said nothing".to_owned()));
        assert_eq!(run("printf '\\377'", 60_000, 9), Err("its output is not UTF-8".to_owned()));
        let none = output(&mut Command::new("/nothing/here"), Limits::within(Duration::from_secs(60)));
        assert!(matches!(none, Err(NoOutput::Run(_))));
    }

    #[test]
    fn no_directory_is_an_option() {
        assert_eq!(no_option(Path::new("-x")), Path::new("./-x"));
        assert_eq!(no_option(Path::new("a -x")), Path::new("a -x"));
    }
}
