//! What one file says about modules: which it declares, what it defines, what it imports, which paths it writes.
//!
//! What is compiled for tests only is left out.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{Token, tokens};

/// A path as it is written: `super`, `facts`, `Plan`.
pub(super) type Path = Vec<String>;

/// A module's text, or that of a module within.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// `mod name;`
    pub(super) declared: Vec<String>,
    /// `mod name { … }`
    pub(super) within: Vec<(String, Text)>,
    /// Names of items.
    pub(super) defined: BTreeSet<String>,
    /// Imports, by their local names.
    pub(super) imports: BTreeMap<String, Path>,
    /// `use path::*`
    pub(super) globs: Vec<Path>,
    /// Paths of more than one name in the code.
    pub(super) paths: BTreeSet<Path>,
    /// Names without a path, which a glob may have imported.
    pub(super) words: BTreeSet<String>,
}

impl Text {
    /// Reads a file.
    pub(super) fn read(text: &str) -> Self {
        let tokens = tokens(text);
        let mut reader = Reader { tokens: &tokens, at: 0 };
        let mut found = Self::default();
        reader.body(&mut found);
        found
    }
}

/// Before these a comma ends no item.
const ITEMS: &[&str] = &[
    "async", "const", "enum", "extern", "fn", "impl", "let", "mod", "pub", "static", "struct", "trait",
    "type", "union", "unsafe", "use",
];

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn word(&self, ahead: usize) -> Option<&'a str> {
        match self.peek(ahead) {
            Some(Token::Word(word)) => Some(word),
            Some(Token::Colons | Token::Sign(_)) | None => None,
        }
    }

    fn is(&self, ahead: usize, sign: char) -> bool {
        self.peek(ahead) == Some(Token::Sign(sign))
    }

    /// Up to the brace that closes the module, or the text's end.
    fn body(&mut self, found: &mut Text) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign('#') if self.is(1, '[') || self.is(1, '!') && self.is(2, '[') => self.attribute(),
                Token::Sign('}') if depth == 0 => {
                    self.at += 1;
                    return;
                }
                Token::Sign(sign) => {
                    depth = match sign {
                        '{' => depth + 1,
                        '}' => depth - 1,
                        _ => depth,
                    };
                    self.at += 1;
                }
                Token::Colons => self.at += 1,
                Token::Word(word) => self.at_word(word, depth, found),
            }
        }
    }

    fn at_word(&mut self, word: &str, depth: usize, found: &mut Text) {
        match (word, self.word(1)) {
            ("pub", _) if self.is(1, '(') => {
                self.at += 1;
                self.skip_group();
            }
            ("mod", Some(name)) if self.is(2, ';') => {
                found.declared.push(name.to_owned());
                self.at += 3;
            }
            ("mod", Some(name)) if self.is(2, '{') => {
                self.at += 3;
                let mut within = Text::default();
                self.body(&mut within);
                found.within.push((name.to_owned(), within));
            }
            ("use", next) if next.is_some() || self.is(1, '{') || self.peek(1) == Some(Token::Colons) => {
                self.at += 1;
                self.tree(&mut Vec::new(), found);
            }
            ("macro_rules", _) if self.is(1, '!') => {
                found.defined.extend(self.word(2).map(ToOwned::to_owned));
                self.at += 3;
            }
            ("const" | "enum" | "fn" | "static" | "struct" | "trait" | "type" | "union", Some(name))
                if depth == 0 && name != "fn" =>
            {
                found.defined.insert(name.to_owned());
                self.at += 2;
            }
            _ => self.path(found),
        }
    }

    /// A path, or a name that stands alone.
    fn path(&mut self, found: &mut Text) {
        let is_of_value = self.at > 0 && self.tokens[self.at - 1] == Token::Sign('.');
        let is_tail = self.at > 0 && self.tokens[self.at - 1] == Token::Colons;
        let mut path: Path = self.word(0).map(ToOwned::to_owned).into_iter().collect();
        self.at += 1;
        while self.peek(0) == Some(Token::Colons) {
            let Some(next) = self.word(1) else { break };
            path.push(next.to_owned());
            self.at += 2;
        }
        if is_of_value || is_tail {
            return;
        }
        match path.as_slice() {
            [] => {}
            [word] => {
                found.words.insert(word.clone());
            }
            [_, _, ..] => {
                found.words.insert(path[0].clone());
                found.paths.insert(path);
            }
        }
    }

    /// The tree of a `use`, to its end.
    fn tree(&mut self, prefix: &mut Path, found: &mut Text) {
        let before = prefix.len();
        loop {
            match self.peek(0) {
                Some(Token::Word("as")) => {
                    if let Some(name) = self.word(1) {
                        found.imports.insert(name.to_owned(), prefix.clone());
                    }
                    self.at += 2;
                    break;
                }
                Some(Token::Word(word)) => {
                    prefix.push(word.to_owned());
                    self.at += 1;
                    if self.peek(0) != Some(Token::Colons) && self.word(0) != Some("as") {
                        Self::import(prefix, found);
                        break;
                    }
                }
                Some(Token::Colons) => self.at += 1,
                Some(Token::Sign('*')) => {
                    found.globs.push(prefix.clone());
                    self.at += 1;
                    break;
                }
                Some(Token::Sign('{')) => {
                    self.at += 1;
                    while self.peek(0).is_some() && !self.is(0, '}') {
                        if self.is(0, ',') {
                            self.at += 1;
                        } else {
                            let start = self.at;
                            self.tree(prefix, found);
                            self.at = self.at.max(start + 1);
                        }
                    }
                    self.at += 1;
                    break;
                }
                Some(Token::Sign(_)) | None => break,
            }
        }
        prefix.truncate(before);
    }

    fn import(path: &Path, found: &mut Text) {
        let mut path = path.clone();
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(name) = path.last().cloned() {
            found.imports.insert(name, path);
        }
    }

    /// An attribute, and with it what is compiled for tests only.
    fn attribute(&mut self) {
        let is_inner = self.is(1, '!');
        self.at += if is_inner { 2 } else { 1 };
        let start = self.at;
        self.skip_group();
        let words: Vec<&str> = self.tokens[start..self.at]
            .iter()
            .filter_map(|token| match token {
                Token::Word(word) => Some(*word),
                Token::Colons | Token::Sign(_) => None,
            })
            .collect();
        if !matches!(words.as_slice(), ["cfg", "test", ..] | ["cfg", "all", "test", ..]) {
            return;
        }
        if is_inner {
            self.at = self.tokens.len();
        } else {
            self.skip_item();
        }
    }

    /// From an opening bracket behind its closing one.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek(0) {
            self.at += 1;
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return;
                    }
                }
                Token::Sign(_) | Token::Colons | Token::Word(_) => {}
            }
        }
    }

    /// An item, a field, a variant or a statement, with its further attributes.
    fn skip_item(&mut self) {
        while self.is(0, '#') {
            self.at += 1;
            self.skip_group();
        }
        let first = self.word(0).unwrap_or_default();
        let is_item = ITEMS.contains(&first);
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign(';') => {
                    self.at += 1;
                    return;
                }
                Token::Sign(',') if !is_item => {
                    self.at += 1;
                    return;
                }
                Token::Sign('{') => {
                    self.skip_group();
                    if !matches!(first, "use" | "let" | "const" | "static") {
                        return;
                    }
                }
                Token::Sign('(' | '[') => self.skip_group(),
                Token::Sign(')' | ']' | '}') => return,
                Token::Sign(_) | Token::Colons | Token::Word(_) => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        text.split("::").map(ToOwned::to_owned).collect()
    }

    #[test]
    fn uses_are_read_as_trees() {
        let text = Text::read("pub use a::{b, c::{self, d as e, *}, f::G};\nuse super::h;");
        let imports: Vec<(&str, String)> =
            text.imports.iter().map(|(name, path)| (name.as_str(), path.join("::"))).collect();
        let expected = [("G", "a::f::G"), ("b", "a::b"), ("c", "a::c"), ("e", "a::c::d"), ("h", "super::h")];
        assert_eq!(imports, expected.map(|(name, path)| (name, path.to_owned())));
        assert_eq!(text.globs, [path("a::c")]);
    }

    #[test]
    fn what_is_for_tests_is_left_out() {
        let text = Text::read(
            "#[cfg(test)]\nuse super::{a, b};\n#[cfg(test)]\n#[derive(Debug)]\nstruct C<A, B>(super::d::E);\n\
             #[cfg(test)]\nmod tests { use crate::f::G; fn g() { crate::h::i() } }\n\
             #[cfg(test)]\nmod more;\n#[cfg(all(test, unix))]\nfn t() -> super::j::K { if x { y } else { z } }\n\
             struct S { #[cfg(test)] l: super::l::L, m: super::m::M }",
        );
        assert!(text.imports.is_empty() && text.declared.is_empty() && text.within.is_empty(), "{text:?}");
        assert_eq!(text.paths.into_iter().collect::<Vec<_>>(), [path("super::m::M")]);
        assert_eq!(text.defined.into_iter().collect::<Vec<_>>(), ["S"]);
        assert!(Text::read("#![cfg(test)]\nuse super::a;").imports.is_empty());
    }

    #[test]
    fn items_modules_and_paths_are_found() {
        let text = Text::read(
            "pub(in crate::roll) fn f<T: super::a::B>() -> impl X + use<'static> { g::h::<T>(); self.i.j() }\n\
             mod inner { pub(crate) const K: u8 = super::L; }\nmod m;\nmacro_rules! n { () => { $crate::o::P } }",
        );
        assert_eq!(text.defined.iter().collect::<Vec<_>>(), ["f", "n"]);
        assert_eq!(text.declared, ["m"]);
        let paths: Vec<String> = text.paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["crate::o::P", "g::h", "super::a::B"]);
        assert_eq!(text.within[0].0, "inner");
        assert!(text.within[0].1.paths.contains(&path("super::L")));
        assert!(!text.words.contains("i") && !text.words.contains("j"), "fields and methods need no path");
    }

    #[test]
    fn any_text_ends() {
        for text in [
            "use {",
            "use a::{b",
            "mod",
            "mod a {",
            "#[cfg(test)]",
            "#[cfg(test)] fn a(",
            "}",
            "use a as",
            "::",
        ] {
            Text::read(text);
        }
    }
}
