//! The layers of each crate's modules, drawn and checked.
//!
//! A module is a file. It uses another where it imports or names something that is defined there; re-exports lead to the file that defines. A parent stands above
//! the modules it declares, so a child that uses what its parent defines makes a circle. Tests are left out: they may look at everything.

mod circles;
mod draw;
mod known;
mod read;
mod tokens;
mod tree;

use std::path::Path;

use anyhow::{Context, Result, bail};

use circles::Layers;
use known::{Circle, KNOWN_CIRCLES};
use tree::Crate;

/// Draws the layers of the modules of each crate.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this crate, by its name or without `replank-`.
    name: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut crates = crates(&super::root())?;
    if let Some(wanted) = &args.name {
        crates.retain(|(name, _)| name == wanted || name.strip_prefix("replank-") == Some(wanted));
        if crates.is_empty() {
            bail!("there is no crate {wanted}");
        }
    }
    for (name, found) in &crates {
        println!("{}", draw::draw(name, found, &Layers::of(found.files.len(), &found.edges)));
    }
    Ok(())
}

/// Circles that are not known, and known ones that are gone.
pub(crate) fn check() -> Result<Vec<String>> {
    let crates = crates(&super::root())?;
    let circles: Vec<(&str, Vec<&str>)> = crates
        .iter()
        .flat_map(|(name, found)| circles_of(found).into_iter().map(|ring| (name.as_str(), ring)))
        .collect();
    println!("  layers: {} crates, {} circles", crates.len(), circles.len());
    Ok(compare(&circles, KNOWN_CIRCLES))
}

/// Every path that a file writes, test code aside: imports, globs, and paths in the code.
pub(crate) fn paths_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![read::Text::read(text)];
    while let Some(text) = left.pop() {
        found.extend(text.imports.values().chain(&text.paths).map(|path| path.join("::")));
        found.extend(text.globs.iter().map(|path| format!("{}::*", path.join("::"))));
        left.extend(text.within.into_iter().map(|(_, within)| within));
    }
    found
}

fn circles_of(found: &Crate) -> Vec<Vec<&str>> {
    let layers = Layers::of(found.files.len(), &found.edges);
    let name = |ring: &Vec<usize>| {
        let mut names: Vec<&str> = ring.iter().map(|file| found.files[*file].as_str()).collect();
        names.sort_unstable();
        names
    };
    layers.circles().map(name).collect()
}

fn compare(found: &[(&str, Vec<&str>)], known: &[Circle<'_>]) -> Vec<String> {
    let mut told = Vec::new();
    for (name, ring) in found {
        if !known.iter().any(|(of, members)| of == name && members == ring) {
            let members = ring.join(", ");
            told.push(format!(
                "{name}: these modules need each other: {members}; `cargo xtask layers {name}` says why"
            ));
        }
    }
    for (name, ring) in known {
        if !found.iter().any(|(of, members)| of == name && members == ring) {
            let members = ring.join(", ");
            told.push(format!("{name}: KNOWN_CIRCLES lists {members}, which is not a circle"));
        }
    }
    told
}

/// Every crate of the workspace, by name.
fn crates(root: &Path) -> Result<Vec<(String, Crate)>> {
    let mut places = vec![root.join("xtask")];
    let below = root.join("crates");
    for entry in std::fs::read_dir(&below).with_context(|| format!("{} cannot be read", below.display()))? {
        places.push(entry?.path());
    }
    places.sort();
    let mut crates = Vec::new();
    for place in places {
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let open = |file: &str| std::fs::read_to_string(place.join(file)).ok();
        let start = if place.join("src/lib.rs").exists() { "src/lib.rs" } else { "src/main.rs" };
        crates.push((
            name.clone(),
            tree::read(start, &open).with_context(|| format!("the modules of {name}"))?,
        ));
    }
    Ok(crates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(child: &str, known: &[Circle<'_>]) -> Vec<String> {
        let open = |name: &str| match name {
            "src/lib.rs" => Some("mod a; mod d;".to_owned()),
            "src/a/mod.rs" => Some("mod b; mod c; pub use c::C; pub struct A;".to_owned()),
            "src/a/b.rs" => Some(child.to_owned()),
            "src/a/c.rs" => Some("pub struct C;".to_owned()),
            "src/d.rs" => Some("use crate::a::{A, C};".to_owned()),
            _ => None,
        };
        let found = tree::read("src/lib.rs", &open).expect("all files are there");
        let circles: Vec<(&str, Vec<&str>)> =
            circles_of(&found).into_iter().map(|ring| ("x", ring)).collect();
        compare(&circles, known)
    }

    #[test]
    fn a_planted_circle_is_found() {
        assert_eq!(told("use super::C;", &[]), Vec::<String>::new());
        let own = told("use super::A;", &[]);
        assert_eq!(own, ["x: these modules need each other: a, a::b; `cargo xtask layers x` says why"]);
        let far = told("use crate::d::D;", &[]);
        assert_eq!(far, ["x: these modules need each other: a, a::b, d; `cargo xtask layers x` says why"]);
    }

    #[test]
    fn a_known_circle_passes_until_it_is_gone() {
        assert_eq!(told("use super::A;", &[("x", &["a", "a::b"])]), Vec::<String>::new());
        let gone = told("use super::C;", &[("x", &["a", "a::b"])]);
        assert_eq!(gone, ["x: KNOWN_CIRCLES lists a, a::b, which is not a circle"]);
    }

    #[test]
    fn the_workspace_is_read() {
        let crates = crates(&crate::root()).expect("it is there");
        let core = crates.iter().find(|(name, _)| name == "replank-core").expect("core is a crate");
        assert!(core.1.files.len() > 50 && core.1.edges.len() > 200, "{}", core.1.edges.len());
    }
}
