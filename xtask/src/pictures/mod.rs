//! Pictures of terminals for the documentation: what a tape types is typed into a real terminal, and what that shows is drawn.

mod screen;
mod svg;
mod tape;

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::clients::k9s;
use crate::judged::{assets, replank};
use crate::root;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these tapes of docs/pictures.
    name: Vec<String>,
    /// The program that is shown; built if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = root().join("docs/pictures");
    let replank = replank(args.replank.as_deref())?.canonicalize()?;
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_tape = path.extension().is_some_and(|end| end == "tape");
        if !is_tape || !(args.name.is_empty() || args.name.contains(&name)) {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let mut programs = vec![replank.clone(), assets()?.program("kubectl")];
        if text.contains("k9s") {
            programs.push(k9s()?);
        }
        let tape = tape::Tape::parse(&text).with_context(|| path.display().to_string())?;
        let (frames, kept) = tape.play(&programs).with_context(|| path.display().to_string())?;
        let drawn = svg::draw(&frames, tape.columns, tape.rows, &tape.title);
        let picture = folder.join(format!("{name}.svg"));
        println!("{}: {} frames, {} kB", picture.display(), frames.len(), drawn.len() / 1000);
        std::fs::write(&picture, drawn)?;
        if !kept.is_empty() {
            let written = std::fs::read_to_string(page())?;
            std::fs::write(page(), put(&written, &name, &kept)?)?;
        }
    }
    Ok(())
}

/// The page with what recordings show as text.
fn page() -> PathBuf {
    root().join("docs/terminal.md")
}

/// The page with the screens that a tape kept, each in a block after its mark: `<!-- screen: drain 1 -->`.
fn put(page: &str, name: &str, kept: &[String]) -> Result<String> {
    let mut page = page.to_owned();
    for (number, screen) in kept.iter().enumerate() {
        let mark = format!("<!-- screen: {name} {} -->\n```text\n", number + 1);
        let (before, after) =
            page.split_once(&mark).with_context(|| format!("docs/terminal.md has no {mark:?}"))?;
        let (_, after) = after.split_once("```").context("a block has an end")?;
        page = format!("{before}{mark}{screen}\n```{after}");
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screens_stand_after_their_marks() {
        let page = "a\n<!-- screen: drain 1 -->\n```text\nold\n```\nb\n";
        let put = |name: &str| put(page, name, &["new\nline".to_owned()]);
        assert_eq!(
            put("drain").expect("there is a mark"),
            "a\n<!-- screen: drain 1 -->\n```text\nnew\nline\n```\nb\n"
        );
        assert!(put("roll").is_err());
    }

    /// Each screen of the page is one that its picture shows, line by line.
    #[test]
    fn what_the_page_shows_is_in_the_picture() {
        let page = std::fs::read_to_string(page()).expect("it is there");
        let mut screens = 0;
        for part in page.split("<!-- screen: ").skip(1) {
            let (mark, rest) = part.split_once(" -->\n```text\n").expect("a block follows");
            let name = mark.split(' ').next().expect("a name");
            let screen = rest.split("\n```").next().expect("it ends");
            let picture = root().join(format!("docs/pictures/{name}.svg"));
            let picture = std::fs::read_to_string(picture).expect("it is there");
            screens += 1;
            // Word by word: a picture breaks a line where its style changes.
            for word in screen.split_whitespace() {
                let word = word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                assert!(picture.contains(&word), "{word:?} is not in the picture of {name}");
            }
        }
        assert!(screens >= 5, "{screens}");
    }
}
