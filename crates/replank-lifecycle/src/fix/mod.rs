//! Manifests with the versions that a cluster serves: what [`crate::scan`] finds in them is converted, and the change is laid
//! onto the text, of which everything else stays as it is.
//!
//! After that what was written is read again, and must say exactly what the converted objects say ([`proof`]); otherwise the text stays
//! as it was, and the reason is told. What is written in Kubernetes' own groups is of the types that 1.36 serves ([`crate::schema`]).

mod fixing;
pub mod kustomize;
mod lay;
mod lines;
mod made;
mod moved;
mod object;
mod outcome;
mod outcome_of_object;
mod proof;
mod release;
mod remembered;
mod rules;
mod scanner;
mod shift;
mod suspect;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ops::Range;

use crate::source::{self, Document, Grown, Place};
use crate::table::Gvk;
use crate::tree::{self, Notation, Origins, Tree};
use lay::apply;
pub use lines::{Hunk, Lines, unified};
use made::{Converted, Made};
pub use outcome::{Change, Fixed, Left, Why, WhyRule};
pub use release::{FixedRelease, FixedReleases, fix_releases};
pub use scanner::{Head, ScannedText, Scanner};

pub use fixing::fix;
use fixing::{Fixing, notation_of};

/// Objects of one document that are tried one by one where they cannot be changed together.
const TRIED_MAX: usize = 200;

impl Fixing<'_> {
    /// Fixes a document, which may have been read as a tree already.
    fn document(&self, document: &Document<'_>, grown: Option<Grown>) -> Made {
        let mut none = Made::default();
        if !object::is_concerned(self.measure, &document.root) {
            return none;
        }
        let range = document.range.clone();
        let read = || {
            let notation = notation_of(&self.text[range.clone()]);
            // Flow notation of YAML may begin like JSON.
            tree::read(self.text, range.clone(), notation)
                .or_else(|why| tree::read(self.text, range.clone(), Notation::Yaml).map_err(|_| why))
        };
        let made = match grown.map_or_else(read, |grown| Ok(Some(grown))) {
            Ok(Some((tree, origins))) => self.made(tree, &origins, range),
            Ok(None) => return none,
            Err(why) => Err(why),
        };
        match made {
            Ok(made) => made,
            Err(why) => {
                object::each_judged(self.measure, &document.root, |used, at| {
                    let place = Place { source: self.name.clone(), line: at.line, column: at.column };
                    none.left.push(Left { place, used, why: Why::InTheWay(why.clone()) });
                });
                none
            }
        }
    }

    /// Everything of a document that can be changed, together if that goes.
    fn made(&self, tree: Tree, origins: &Origins, range: Range<usize>) -> Result<Made, String> {
        let all = self.tried(tree, origins, range.clone(), &|_, _, _| true);
        let Err(why) = all else { return all };
        // That is rare, so that the tree is read again rather than kept for it.
        let (tree, origins) = &tree::read(self.text, range.clone(), origins.notation)?.ok_or(why.clone())?;
        let all = RefCell::new(Vec::new());
        let counted = self.tried(tree.clone(), origins, range.clone(), &|_, used, from| {
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
            match self.tried(tree.clone(), origins, range.clone(), &|at, _, _| at == only) {
                Ok(_) => goes[only] = true,
                Err(why) => {
                    let place = self.place(origins, from);
                    left.push(Left { place, used, why: Why::InTheWay(why) });
                }
            }
        }
        let mut made = self.tried(tree.clone(), origins, range, &|at, _, _| goes[at])?;
        made.left.extend(left);
        Ok(made)
    }

    /// Converts those objects of a document that are chosen, and lays the change onto its text.
    fn tried(
        &self,
        mut converted: Tree,
        origins: &Origins,
        range: Range<usize>,
        chosen: object::Chosen<'_>,
    ) -> Result<Made, String> {
        let mut made = Made::default();
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
        let text = apply(self.text, range.clone(), &made.edits);
        proof::holds(self.text, origins, &converted, &text)?;
        let old = &self.text[range];
        let grown = |new: usize, old: usize| new as i64 - old as i64;
        made.converted = Some(Converted {
            bytes: grown(text.len(), old.len()),
            lines: grown(lines::line_ends(&text), lines::line_ends(old)),
            root: source::unwritten(&converted),
        });
        Ok(made)
    }
}
