//! A session that is played: each command in a shell, what it prints compared or written down.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::form::{Section, Session, Side, Step, Way};
use super::normal::Normal;

/// How long a command that is repeated may differ.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long what a command prints stays as it is before that is taken for its end.
const CALM: Duration = Duration::from_secs(4);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);
/// What one command may take, in seconds.
const LIMIT: &str = "180";

/// Where a session is played.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The cluster's.
    pub kubeconfig: &'a Path,
    /// Which kind it is.
    pub side: Side,
    /// Folders with the programs that it calls.
    pub programs: &'a [PathBuf],
    /// Where its commands run: the files that it names lie there.
    pub at: &'a Path,
    /// Where what it leaves behind goes.
    pub folder: &'a Path,
    /// Takes what is printed for what should be.
    pub write: bool,
}

/// Plays all sections; `told` hears of each: its title, and what differs, if it does.
///
/// # Errors
/// There is no shell, or a file cannot be written.
pub fn play(session: &mut Session, setting: &Setting<'_>, told: &dyn Fn(&str, Option<&str>)) -> Result<()> {
    std::fs::create_dir_all(setting.folder)?;
    // Its own: a session names its namespace there.
    std::fs::copy(setting.kubeconfig, setting.folder.join("kubeconfig"))?;
    let normal = Normal::default();
    for section in &mut session.sections {
        if section.only.is_none_or(|side| side == setting.side) {
            let wrong = play_section(section, setting, &normal)?;
            told(&section.title, wrong.as_deref());
        }
    }
    Ok(())
}

fn play_section(section: &mut Section, setting: &Setting<'_>, normal: &Normal) -> Result<Option<String>> {
    let mut wrong = String::new();
    for step in &mut section.steps {
        let (printed, ended) =
            if setting.write { settled(step, setting, normal)? } else { tried(step, setting, normal)? };
        if setting.write {
            step.expected.clone_from(&printed);
        }
        let right = ended == matches!(step.way, Way::Succeeds | Way::Eventually);
        if !right || printed != step.expected {
            let end = if right {
                ""
            } else if ended {
                " (it succeeds)"
            } else {
                " (it fails)"
            };
            write!(wrong, "\n{}{end}\n{}", step.command, difference(&step.expected, &printed))?;
        }
    }
    Ok(Some(wrong).filter(|wrong| !wrong.is_empty()))
}

/// What it prints, and whether it succeeds; tried again while it differs, if it may.
fn tried(step: &Step, setting: &Setting<'_>, normal: &Normal) -> Result<(Vec<String>, bool)> {
    let begun = Instant::now();
    loop {
        let (printed, ended) = once(&step.command, setting, normal)?;
        if step.way != Way::Eventually || (ended && printed == step.expected) || begun.elapsed() > PATIENCE {
            return Ok((printed, ended));
        }
        std::thread::sleep(PAUSE);
    }
}

/// What it prints at last.
fn settled(step: &Step, setting: &Setting<'_>, normal: &Normal) -> Result<(Vec<String>, bool)> {
    let (mut last, mut since) = (once(&step.command, setting, normal)?, Instant::now());
    while step.way == Way::Eventually && since.elapsed() < CALM {
        std::thread::sleep(PAUSE);
        let next = once(&step.command, setting, normal)?;
        if next != last {
            (last, since) = (next, Instant::now());
        }
    }
    Ok(last)
}

fn once(command: &str, setting: &Setting<'_>, normal: &Normal) -> Result<(Vec<String>, bool)> {
    let output = setting.folder.join("output");
    let file = File::create(&output).with_context(|| format!("cannot write {}", output.display()))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = setting.programs.iter().cloned().chain(std::env::split_paths(&path));
    let status = Command::new("timeout")
        .args([LIMIT, "bash", "-c", command])
        .current_dir(setting.at)
        .env("PATH", std::env::join_paths(folders)?)
        .env("KUBECONFIG", setting.folder.join("kubeconfig"))
        .env("HOME", setting.folder)
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .context("cannot start timeout and bash")?;
    let printed = std::fs::read(&output)?;
    Ok((normal.lines(&String::from_utf8_lossy(&printed)), status.success()))
}

/// Both sides, without the lines that they begin and end with alike.
fn difference(expected: &[String], printed: &[String]) -> String {
    let same = |pairs: &mut dyn Iterator<Item = (&String, &String)>| {
        pairs.take_while(|(one, other)| one == other).count()
    };
    let before = same(&mut expected.iter().zip(printed));
    let after = same(&mut expected[before..].iter().rev().zip(printed[before..].iter().rev()));
    let part = |lines: &[String], mark: &str| {
        lines[before..lines.len() - after].iter().map(|line| format!("  {mark} {line}\n")).collect::<String>()
    };
    part(expected, "-") + &part(printed, "+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_what_lies_between() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(difference(&lines("a b c d"), &lines("a x d")), "  - b\n  - c\n  + x\n");
    }
}
