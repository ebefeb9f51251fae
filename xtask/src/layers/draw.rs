//! Layers as text, from the top to the bottom.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::circles::Layers;
use super::tree::Crate;

const WIDTH: usize = 120;

/// One crate: a line of figures, its layers, and the uses within each circle.
pub(super) fn draw(name: &str, found: &Crate, layers: &Layers) -> String {
    let circles = layers.circles().count();
    let files = found.files.len();
    let height = layers.layers.len();
    let mut text = match circles {
        0 => format!("{name}: {files} modules in {height} layers\n"),
        _ => format!("{name}: {files} modules in {height} layers, CIRCLES: {circles}\n"),
    };
    for (number, layer) in layers.layers.iter().enumerate().rev() {
        let mut singles = Vec::new();
        let mut rings = Vec::new();
        for group in layer {
            match group.as_slice() {
                [single] => singles.push(found.files[*single].as_str()),
                _ => rings.push(group),
            }
        }
        let mut lines = wrapped(&joined(&singles));
        for ring in rings {
            let names: Vec<&str> = ring.iter().map(|file| found.files[*file].as_str()).collect();
            lines.extend(wrapped(&format!("CIRCLE of {}: {}", names.len(), joined(&names))));
        }
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { (number + 1).to_string() } else { String::new() };
            writeln!(text, "  {label:>3}  {line}").expect("a text takes everything");
        }
    }
    for ring in layers.circles() {
        writeln!(text, "  circle of {}:", ring.len()).expect("a text takes everything");
        for ((from, to), names) in &found.edges {
            if ring.contains(from) && ring.contains(to) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                writeln!(text, "    {} uses {}: {}", found.files[*from], found.files[*to], names.join(", "))
                    .expect("a text takes everything");
            }
        }
    }
    text
}

/// Names with the same parent share it: `roll::{fleet, zones}`.
fn joined(names: &[&str]) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names {
        let (parent, own) = name.rsplit_once("::").unwrap_or(("", name));
        groups.entry(parent).or_default().push(own);
    }
    let mut parts = Vec::new();
    for (parent, mut owns) in groups {
        owns.sort_unstable();
        parts.push(match (parent, owns.as_slice()) {
            ("", _) => owns.join(", "),
            (_, [own]) => format!("{parent}::{own}"),
            (_, _) => format!("{parent}::{{{}}}", owns.join(", ")),
        });
    }
    parts.join(", ")
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn layers_are_drawn_from_the_top_and_circles_are_marked() {
        let files = ["lib", "a", "a::b", "a::c", "d"].map(ToOwned::to_owned).to_vec();
        let names = |name: &str| BTreeSet::from([name.to_owned()]);
        let edges = [((0, 1), "mod"), ((1, 2), "mod"), ((1, 3), "mod"), ((2, 1), "Own"), ((3, 4), "D")];
        let edges = edges.into_iter().map(|(edge, name)| (edge, names(name))).collect();
        let found = Crate { files, edges };
        let layers = Layers::of(5, &found.edges);
        assert_eq!(
            draw("x", &found, &layers),
            "x: 5 modules in 4 layers, CIRCLES: 1\n\
             \x20   4  lib\n\
             \x20   3  CIRCLE of 2: a, a::b\n\
             \x20   2  a::c\n\
             \x20   1  d\n\
             \x20 circle of 2:\n\
             \x20   a uses a::b: mod\n\
             \x20   a::b uses a: Own\n"
        );
        assert_eq!(joined(&["lib", "a::b", "a::c", "d", "e::f"]), "d, lib, a::{b, c}, e::f");
    }
}
