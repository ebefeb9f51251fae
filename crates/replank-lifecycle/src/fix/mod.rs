//! Manifests with the versions that a cluster serves: what [`crate::scan`] finds in them is converted, and the change is laid
//! onto the text, of which everything else stays as it is.
//!
//! After that the text is read again, and must say exactly what the converted objects say; otherwise it stays as it was, and
//! the reason is told. What is written in Kubernetes' own groups is of the types that 1.36 serves ([`crate::schema`]).

mod lay;
mod lines;
mod object;
mod outcome;
mod release;
mod rules;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

pub use lines::{Hunk, unified};
pub use outcome::{Change, Fixed, Left, Why, WhyRule};
pub use release::{FixedRelease, FixedReleases, fix_releases};

use crate::judge::Measure;
use crate::scan::{self, Hint};
use crate::schema::Schema;
use crate::source::{self, Document, Found, Place};
use crate::table::Gvk;
use crate::tree::{self, Notation, Origins, Tree};
use lay::{Edit, apply};

/// Objects of one document that are tried one by one where they cannot be changed together.
const TRIED_MAX: usize = 200;

/// Fixes a text. `lets_be` says of which lines nothing is to be changed: those that somebody has made an exception for.
pub fn fix(
    measure: &Measure,
    schema: &Schema,
    name: &Arc<str>,
    text: &str,
    hint: &Hint,
    lets_be: &dyn Fn(u32) -> bool,
) -> Fixed {
    let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut fixing = Fixing {
        measure,
        schema,
        name,
        text,
        line_starts,
        lets_be,
        edits: Vec::new(),
        changes: Vec::new(),
        left: Vec::new(),
    };
    if scan::is_of_manifests(name, text, hint) {
        source::read(name, text, &mut |found| match found {
            Found::Document(document) => fixing.document(&document),
            // The scan tells what cannot be read, and what is a template.
            Found::Unread(_) | Found::Template { .. } => {}
        });
    }
    let Fixing { edits, changes, left, .. } = fixing;
    let (text, hunks) = lines::edited(text, edits);
    Fixed { text, changes, left, hunks }
}

/// The notation that a document is written in.
fn notation_of(text: &str) -> Notation {
    if source::is_json(text) { Notation::Json } else { Notation::Yaml }
}

struct Fixing<'f> {
    measure: &'f Measure,
    schema: &'f Schema,
    name: &'f Arc<str>,
    text: &'f str,
    line_starts: Vec<usize>,
    lets_be: &'f dyn Fn(u32) -> bool,
    edits: Vec<Edit>,
    changes: Vec<Change>,
    left: Vec<Left>,
}

/// What came of the objects of a document.
struct Made {
    edits: Vec<Edit>,
    changes: Vec<Change>,
    left: Vec<Left>,
}

impl Fixing<'_> {
    fn document(&mut self, document: &Document<'_>) {
        if !object::is_concerned(self.measure, &document.root) {
            return;
        }
        let range = document.range.clone();
        let notation = notation_of(&self.text[range.clone()]);
        // Flow notation of YAML may begin like JSON.
        let read = tree::read(self.text, range.clone(), notation)
            .or_else(|why| tree::read(self.text, range.clone(), Notation::Yaml).map_err(|_| why));
        let made = match read {
            Ok(Some((tree, origins))) => self.made(&tree, &origins, range),
            Ok(None) => return,
            Err(why) => Err(why),
        };
        match made {
            Ok(made) => {
                self.edits.extend(made.edits);
                self.changes.extend(made.changes);
                self.left.extend(made.left);
            }
            Err(why) => object::each_judged(self.measure, &document.root, |used, at| {
                let place = Place { source: self.name.clone(), line: at.line, column: at.column };
                self.left.push(Left { place, used, why: Why::InTheWay(why.clone()) });
            }),
        }
    }

    /// Everything of a document that can be changed, together if that goes.
    fn made(&self, tree: &Tree, origins: &Origins, range: Range<usize>) -> Result<Made, String> {
        let all = self.tried(tree, origins, range.clone(), &|_, _, _| true);
        let Err(why) = all else { return all };
        let all = RefCell::new(Vec::new());
        let counted = self.tried(tree, origins, range.clone(), &|_, used, from| {
            all.borrow_mut().push((used.clone(), from));
            false
        });
        let all = all.into_inner();
        if counted.is_err() || all.len() < 2 || all.len() > TRIED_MAX {
            return Err(why);
        }
        let mut goes = vec![false; all.len()];
        let mut left = Vec::new();
        for (only, (used, from)) in all.into_iter().enumerate() {
            match self.tried(tree, origins, range.clone(), &|at, _, _| at == only) {
                Ok(_) => goes[only] = true,
                Err(why) => {
                    let place = self.place(origins, from);
                    left.push(Left { place, used, why: Why::InTheWay(why) });
                }
            }
        }
        let mut made = self.tried(tree, origins, range, &|at, _, _| goes[at])?;
        made.left.extend(left);
        Ok(made)
    }

    /// Converts those objects of a document that are chosen, and lays the change onto its text.
    fn tried(
        &self,
        tree: &Tree,
        origins: &Origins,
        range: Range<usize>,
        chosen: object::Chosen<'_>,
    ) -> Result<Made, String> {
        let mut converted = tree.clone();
        let mut made = Made { edits: Vec::new(), changes: Vec::new(), left: Vec::new() };
        let chosen = |at: usize, used: &Gvk, from: Option<usize>| {
            !(self.lets_be)(self.place(origins, from).line) && chosen(at, used, from)
        };
        object::convert_all(self.measure, self.schema, &mut converted, &chosen, &mut |from, outcome| {
            let place = self.place(origins, from);
            match outcome {
                Ok(done) => made.changes.push(done.at(place)),
                Err(left) => {
                    let (used, why) = *left;
                    made.left.push(Left { place, used, why });
                }
            }
        });
        if made.changes.is_empty() {
            return Ok(made);
        }
        made.edits =
            lay::lay(self.text, origins, &converted).map_err(|in_the_way| in_the_way.0.to_owned())?;
        let text = apply(self.text, range, &made.edits);
        let length = text.len();
        match tree::read(&text, 0..length, origins.notation) {
            Ok(Some((again, _))) if again.says(&converted) => Ok(made),
            Ok(_) => Err("an anchor, an alias or `<<` stands where the change has to be made".to_owned()),
            Err(why) => Err(why),
        }
    }

    fn place(&self, origins: &Origins, from: Option<usize>) -> Place {
        let at = from.map_or(0, |from| origins.nodes[from].range.start);
        let line = self.line_starts.partition_point(|start| *start <= at);
        let line_start = self.line_starts[line - 1];
        let number = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
        Place {
            source: self.name.clone(),
            line: number(line),
            column: number(self.text[line_start..at].chars().count() + 1),
        }
    }
}
