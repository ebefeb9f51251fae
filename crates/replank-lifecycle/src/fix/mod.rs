//! Manifests with the versions that a cluster serves: what [`crate::scan`] finds in them is converted, and the change is laid
//! onto the text, of which everything else stays as it is.
//!
//! After that the text is read again, and must say exactly what the converted objects say; otherwise it stays as it was, and
//! the reason is told. What is written in Kubernetes' own groups is of the types that 1.36 serves ([`crate::schema`]).

mod fixing;
pub mod kustomize;
mod lay;
mod lines;
mod object;
mod outcome;
mod outcome_of_object;
mod release;
mod rules;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ops::Range;

use crate::source::{Document, Place};
use crate::table::Gvk;
use crate::tree::{self, Notation, Origins, Tree};
use lay::{Edit, apply};
pub use lines::{Hunk, unified};
pub use outcome::{Change, Fixed, Left, Why, WhyRule};
pub use release::{FixedRelease, FixedReleases, fix_releases};

pub use fixing::fix;
use fixing::{Fixing, notation_of};

/// Objects of one document that are tried one by one where they cannot be changed together.
const TRIED_MAX: usize = 200;

/// The outcome for the objects of a document.
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
            Ok(_) => Err("an anchor, an alias or `<<` is where the change would be".to_owned()),
            Err(why) => Err(why),
        }
    }
}
