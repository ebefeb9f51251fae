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
        let frames = tape.play(&programs).with_context(|| path.display().to_string())?;
        let drawn = svg::draw(&frames, tape.columns, tape.rows, &tape.title);
        let picture = folder.join(format!("{name}.svg"));
        println!("{}: {} frames, {} kB", picture.display(), frames.len(), drawn.len() / 1000);
        std::fs::write(&picture, drawn)?;
    }
    Ok(())
}
