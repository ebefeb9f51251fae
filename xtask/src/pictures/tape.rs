//! What is typed, and what a terminal shows meanwhile. A tape has one step a line:
//!
//! ```text
//! size 100 28          columns and rows
//! title WORDS          what the picture shows, for those who do not see it
//! run COMMAND          before the terminal is seen
//! hide, show           what is typed between them is not seen
//! type TEXT            typed, with a return at its end
//! key KEY              one key, as tmux names it
//! until TEXT           until the screen shows it
//! rest SECONDS         time to read
//! keep                 what is seen stands in the text, too
//! ```

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::screen::{Row, read};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(80);
/// The longest time in which nothing changes that is kept.
const STILL: Duration = Duration::from_millis(900);
/// How long something may take to appear.
const PATIENCE: Duration = Duration::from_secs(180);

/// What a terminal showed from one moment on.
pub(super) struct Frame {
    /// Since the begin.
    pub(super) at: Duration,
    pub(super) rows: Vec<Row>,
}

pub(super) struct Tape {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) title: String,
    steps: Vec<Step>,
}

enum Step {
    Run(String),
    Hide,
    Show,
    Keep,
    Type(String),
    Key(String),
    Until(String),
    Rest(Duration),
}

impl Tape {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut tape = Self { columns: 100, rows: 28, title: String::new(), steps: Vec::new() };
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = rest.to_owned();
            tape.steps.push(match word {
                "size" => {
                    let (columns, rows) = rest.split_once(' ').context("a size is columns and rows")?;
                    (tape.columns, tape.rows) = (columns.parse()?, rows.parse()?);
                    continue;
                }
                "title" => {
                    tape.title = rest;
                    continue;
                }
                "run" => Step::Run(rest),
                "hide" => Step::Hide,
                "show" => Step::Show,
                "keep" => Step::Keep,
                "type" => Step::Type(rest),
                "key" => Step::Key(rest),
                "until" => Step::Until(rest),
                "rest" => Step::Rest(Duration::from_secs_f64(rest.parse()?)),
                _ => bail!("there is no step {word}"),
            });
        }
        Ok(tape)
    }

    /// Plays it in a folder of its own, with these programs at hand.
    pub(super) fn play(&self, programs: &[PathBuf]) -> Result<(Vec<Frame>, Vec<String>)> {
        let terminal = Terminal::open(self, programs)?;
        let mut seen = Seen {
            frames: Vec::new(),
            kept: Vec::new(),
            hidden: false,
            at: Duration::ZERO,
            last: Instant::now(),
        };
        for step in &self.steps {
            match step {
                Step::Run(command) => terminal.run(command)?,
                Step::Hide => seen.hidden = true,
                Step::Show => seen.hidden = false,
                Step::Keep => {
                    let shown = seen.look(&terminal)?;
                    seen.kept.push(shown.trim_end().to_owned());
                }
                Step::Type(text) => {
                    for part in text.chars().collect::<Vec<_>>().chunks(4) {
                        terminal.keys(&["-l", "--", &part.iter().collect::<String>()])?;
                        seen.look(&terminal)?;
                    }
                    terminal.keys(&["Enter"])?;
                    seen.look(&terminal)?;
                }
                Step::Key(key) => terminal.keys(&[key])?,
                Step::Until(text) => {
                    let begun = Instant::now();
                    while !seen.look(&terminal)?.contains(text) {
                        ensure!(
                            begun.elapsed() < PATIENCE,
                            "{text:?} does not appear:\n{}",
                            terminal.shown()?
                        );
                    }
                }
                Step::Rest(span) => {
                    let begun = Instant::now();
                    while begun.elapsed() < *span {
                        seen.look(&terminal)?;
                    }
                    seen.rest(*span);
                }
            }
        }
        Ok((seen.frames, seen.kept))
    }
}

struct Seen {
    frames: Vec<Frame>,
    /// Screens that are wanted as text.
    kept: Vec<String>,
    hidden: bool,
    at: Duration,
    last: Instant,
}

impl Seen {
    /// Looks once; what the terminal shows, as text.
    fn look(&mut self, terminal: &Terminal) -> Result<String> {
        std::thread::sleep(LOOK);
        let shown = terminal.shown()?;
        let rows = read(&shown);
        let text = rows.iter().map(Row::text).collect::<Vec<_>>().join("\n");
        if !self.hidden && self.frames.last().is_none_or(|last| last.rows != rows) {
            self.at += self.last.elapsed().min(STILL);
            self.frames.push(Frame { at: self.at, rows });
            self.last = Instant::now();
        }
        Ok(text)
    }

    /// The last frame stays for so long.
    fn rest(&mut self, span: Duration) {
        if self.hidden {
            return;
        }
        self.at += span.saturating_sub(STILL);
        if let Some(rows) = self.frames.last().map(|last| last.rows.clone()) {
            self.frames.push(Frame { at: self.at, rows });
        }
        self.last = Instant::now();
    }
}

/// A terminal of tmux, with a server of its own.
struct Terminal {
    socket: String,
    folder: PathBuf,
}

impl Terminal {
    fn open(tape: &Tape, programs: &[PathBuf]) -> Result<Self> {
        let socket = format!("replank-pictures-{}", std::process::id());
        let folder = std::env::temp_dir().join(&socket);
        std::fs::create_dir_all(folder.join("bin"))?;
        for program in programs {
            let name = program.file_name().context("a program has a name")?;
            let link = folder.join("bin").join(name);
            if !link.exists() {
                std::os::unix::fs::symlink(program, link)?;
            }
        }
        let terminal = Self { socket, folder };
        let path = format!(
            "{}:{}",
            terminal.folder.join("bin").display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let (columns, rows) = (tape.columns.to_string(), tape.rows.to_string());
        let home = terminal.folder.display().to_string();
        let shell = format!(
            "env -u KUBECONFIG -u KUBEBUILDER_ASSETS PATH='{path}' HOME='{home}' PS1='$ ' bash --norc --noprofile"
        );
        let size = ["-x", &columns, "-y", &rows, "-c", &home];
        terminal.tmux(&[&["-f", "/dev/null", "new-session", "-d"], &size[..], &[&shell]].concat())?;
        terminal.tmux(&["set-option", "-g", "status", "off"])?;
        std::thread::sleep(Duration::from_millis(500));
        // No lines about jobs in the background.
        terminal.keys(&["-l", "set +m; clear"])?;
        terminal.keys(&["Enter"])?;
        std::thread::sleep(Duration::from_millis(500));
        Ok(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new("tmux").args(["-u", "-L", &self.socket]).args(arguments).output();
        let output = output.context("tmux is needed: it is the terminal")?;
        ensure!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn keys(&self, keys: &[&str]) -> Result<()> {
        self.tmux(&[&["send-keys"], keys].concat()).map(drop)
    }

    /// What is on the screen, with its colours as escapes.
    fn shown(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-e", "-p"])
    }

    /// Runs a command that the terminal does not see.
    fn run(&self, command: &str) -> Result<()> {
        let path =
            format!("{}:{}", self.folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let status = Command::new("bash")
            .args(["-c", command])
            .current_dir(&self.folder)
            .env("PATH", path)
            .env("HOME", &self.folder)
            .env_remove("KUBECONFIG")
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "it fails: {command}");
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let ended = self.tmux(&["kill-server"]).map(drop);
        // What ran in it writes its last words.
        std::thread::sleep(Duration::from_secs(1));
        let removed = std::fs::remove_dir_all(&self.folder).map_err(Into::into);
        if let Err(error) = ended.and(removed) {
            eprintln!("the terminal in {} is left behind: {error:#}", self.folder.display());
        }
    }
}
