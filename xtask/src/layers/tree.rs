//! A crate as its modules, and what each file uses of the others.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use super::read::{Path, Text};

/// Which file uses which, with the names that it uses.
pub(super) type Edges = BTreeMap<(usize, usize), BTreeSet<String>>;

/// A crate's files and what they use of each other.
#[derive(Debug)]
pub(super) struct Crate {
    /// Module paths of the files, `roll::fleet`; the root is `lib` or `main`.
    pub(super) files: Vec<String>,
    pub(super) edges: Edges,
}

/// Reads a crate by its root, with whatever gives the text of a file.
pub(super) fn read(root: &str, open: &dyn Fn(&str) -> Option<String>) -> Result<Crate> {
    let mut tree = Tree { modules: Vec::new(), files: Vec::new() };
    let Some(text) = open(root) else { bail!("{root} cannot be read") };
    let name = root.trim_end_matches(".rs").rsplit('/').next().unwrap_or_default();
    tree.files.push(name.to_owned());
    let dir = root.rsplit_once('/').map_or("", |(dir, _)| dir);
    tree.add(&Place { dir: dir.to_owned(), path: String::new() }, 0, None, Text::read(&text), open)?;
    let edges = tree.edges();
    Ok(Crate { files: tree.files, edges })
}

struct Place {
    /// Where the files of its children are.
    dir: String,
    /// Its path from the root.
    path: String,
}

impl Place {
    fn child(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}::{name}", self.path) };
        Self { dir: format!("{}/{name}", self.dir), path }
    }
}

struct Module {
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    text: Text,
}

/// Where a path leads.
#[derive(Clone, Copy)]
enum Target {
    Module(usize),
    /// An item of this module.
    Item(usize),
    /// Another crate, or a name of the code itself.
    Outside,
}

/// Longer chains of re-exports count as a circle.
const CHAIN_MAX: u32 = 24;

struct Tree {
    modules: Vec<Module>,
    files: Vec<String>,
}

impl Tree {
    fn add(
        &mut self,
        place: &Place,
        file: usize,
        parent: Option<usize>,
        mut text: Text,
        open: &dyn Fn(&str) -> Option<String>,
    ) -> Result<usize> {
        let own = self.modules.len();
        let declared = std::mem::take(&mut text.declared);
        let within = std::mem::take(&mut text.within);
        self.modules.push(Module { file, parent, children: BTreeMap::new(), text });
        for (name, text) in within {
            let child = self.add(&place.child(&name), file, Some(own), text, open)?;
            self.modules[own].children.insert(name, child);
        }
        for name in declared {
            let below = place.child(&name);
            let found = open(&format!("{}.rs", below.dir)).or_else(|| open(&format!("{}/mod.rs", below.dir)));
            let Some(text) = found else { bail!("the module {} has no file", below.path) };
            self.files.push(below.path.clone());
            let child = self.add(&below, self.files.len() - 1, Some(own), Text::read(&text), open)?;
            self.modules[own].children.insert(name, child);
        }
        Ok(own)
    }

    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (own, module) in self.modules.iter().enumerate() {
            let mut add = |to: usize, name: &str| {
                if self.modules[to].file != module.file {
                    edges.entry((module.file, self.modules[to].file)).or_default().insert(name.to_owned());
                }
            };
            // A parent stands above its children, whether it names them or calls methods that they give its types.
            for child in module.children.values() {
                add(*child, "mod");
            }
            for path in module.text.imports.values().chain(&module.text.paths) {
                if let Target::Item(to) = self.resolve(own, path, CHAIN_MAX) {
                    add(to, path.last().map_or("", String::as_str));
                }
            }
            for glob in &module.text.globs {
                let Target::Module(from) = self.resolve(own, glob, CHAIN_MAX) else { continue };
                for word in module.text.words.iter().filter(|word| !self.knows(own, word)) {
                    if let Some(Target::Item(to)) = self.member(from, word, CHAIN_MAX) {
                        add(to, word);
                    }
                }
            }
        }
        edges
    }

    /// Whether a name is the module's own, without its globs.
    fn knows(&self, module: usize, name: &str) -> bool {
        let Module { children, text, .. } = &self.modules[module];
        children.contains_key(name) || text.imports.contains_key(name) || text.defined.contains(name)
    }

    /// Follows a path that is written in a module.
    fn resolve(&self, own: usize, path: &Path, chain: u32) -> Target {
        let Some((first, mut rest)) = path.split_first() else { return Target::Outside };
        let mut target = match first.as_str() {
            "crate" => Target::Module(0),
            "self" => Target::Module(own),
            "super" => self.modules[own].parent.map_or(Target::Outside, Target::Module),
            // The name of an import does not resolve to the import itself.
            _ if path.len() == 1 || self.modules[own].text.imports.get(first) != Some(path) => {
                self.member(own, first, chain).unwrap_or(Target::Outside)
            }
            _ => {
                self.modules[own].children.get(first).map_or(Target::Outside, |child| Target::Module(*child))
            }
        };
        while let (Target::Module(at), Some((next, after))) = (target, rest.split_first()) {
            target = match next.as_str() {
                "self" => Target::Module(at),
                "super" => self.modules[at].parent.map_or(Target::Outside, Target::Module),
                _ => match self.member(at, next, chain) {
                    // What a module has from another crate, or from a macro, is its own to give.
                    None | Some(Target::Outside) => Target::Item(at),
                    Some(found) => found,
                },
            };
            rest = after;
        }
        target
    }

    /// What a module calls so.
    fn member(&self, module: usize, name: &str, chain: u32) -> Option<Target> {
        let chain = chain.checked_sub(1)?;
        let Module { children, text, .. } = &self.modules[module];
        if let Some(child) = children.get(name) {
            return Some(Target::Module(*child));
        }
        if text.defined.contains(name) {
            return Some(Target::Item(module));
        }
        if let Some(path) = text.imports.get(name) {
            return Some(self.resolve(module, path, chain));
        }
        text.globs.iter().find_map(|glob| match self.resolve(module, glob, chain) {
            Target::Module(from) if from != module => self.member(from, name, chain),
            Target::Module(_) | Target::Item(_) | Target::Outside => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges of a crate given as files and their texts, `user -> used: names`; those from parents to children left out.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let open = |name: &str| {
            files.iter().find(|(path, _)| format!("src/{path}") == name).map(|(_, text)| (*text).to_owned())
        };
        let found = read("src/lib.rs", &open).expect("all files are there");
        let mut told = Vec::new();
        for ((from, to), names) in &found.edges {
            let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| *name != "mod").collect();
            if !names.is_empty() {
                told.push(format!("{} -> {}: {}", found.files[*from], found.files[*to], names.join(" ")));
            }
        }
        told
    }

    #[test]
    fn reexports_lead_to_where_an_item_is_defined() {
        let files = [
            ("lib.rs", "pub mod a; mod b;"),
            ("a/mod.rs", "mod c; mod d; pub use c::Thing; pub use d::*; pub struct Own;"),
            ("a/c.rs", "pub struct Thing; use super::Second;"),
            ("a/d.rs", "pub struct Second; pub fn f() {}"),
            ("b.rs", "use crate::a::{self, Thing}; fn g() -> a::Own { a::f(); crate::a::Second; todo() }"),
        ];
        let expected = [
            "a -> a::c: Thing",
            "a::c -> a::d: Second",
            "b -> a: Own",
            "b -> a::c: Thing",
            "b -> a::d: Second f",
        ];
        let mut found = edges(&files);
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_child_that_uses_its_parents_items_is_an_edge_upwards() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; mod c; use other::Map; struct Own; impl Own { fn f() { b::g() } }"),
            ("a/b.rs", "use super::*; fn g(own: Own) { c::h() }"),
            ("a/c.rs", "pub fn h() -> super::Map { other::Own }"),
        ];
        let found = edges(&files);
        assert_eq!(found, ["a -> a::b: g", "a::b -> a: Own", "a::b -> a::c: h", "a::c -> a: Map"]);
    }

    #[test]
    fn modules_within_a_file_are_the_file() {
        let files = [
            ("lib.rs", "mod a; mod b { pub mod c; pub struct D; }"),
            (
                "a.rs",
                "mod inner { use super::Own; use crate::b::D; } struct Own; const C: u8 = crate::b::c::E;",
            ),
            ("b/c.rs", "pub const E: u8 = 1;"),
        ];
        assert_eq!(edges(&files), ["a -> lib: D", "a -> b::c: E"]);
    }

    #[test]
    fn circles_of_reexports_end() {
        let files = [
            ("lib.rs", "mod a; mod b; mod serde; pub use serde::Serde;"),
            ("a.rs", "pub use crate::b::*; pub use crate::b::X; use json::json;"),
            ("b.rs", "pub use crate::a::*; pub use crate::a::X; fn f() { X::new(); Y::new(); json::json() }"),
            ("serde.rs", "use serde::Other; pub struct Serde;"),
        ];
        assert_eq!(edges(&files)[0], "lib -> serde: Serde");
    }

    #[test]
    fn a_missing_file_is_told() {
        let open = |name: &str| (name == "src/lib.rs").then(|| "mod a;".to_owned());
        let told = read("src/lib.rs", &open).expect_err("there is no a").to_string();
        assert_eq!(told, "the module a has no file");
    }
}
