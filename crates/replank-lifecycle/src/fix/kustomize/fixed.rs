//! A file of a kustomization, fixed as was decided.

use std::path::Path;
use std::sync::Arc;

use super::decided::{Kustomized, Plan, Planned};
use crate::judge::Measure;
use crate::source::{self, Found, Place};

use super::super::outcome::{Change, Fixed, Left, Why};
use super::super::{lines, object};

/// Fixes a text of a kustomization that is decided as a whole. `path` is the real path of its file.
pub fn fix_kustomized(
    measure: &Measure,
    kustomized: &Kustomized,
    path: &Path,
    name: &Arc<str>,
    text: &str,
) -> Fixed {
    let line_starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let place = |at: usize| {
        let line = line_starts.partition_point(|start| *start <= at);
        let column = text[line_starts[line - 1]..at].chars().count() + 1;
        let number = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
        Place { source: name.clone(), line: number(line), column: number(column) }
    };
    let (mut edits, mut changes, mut left) = (Vec::new(), Vec::new(), Vec::new());
    match kustomized.plans.get(path) {
        None => {}
        Some(Plan::Edited(all)) => {
            for Planned { edits: of, at, name, field, from, to } in all {
                edits.extend(of.iter().cloned());
                changes.push(Change {
                    place: place(*at),
                    name: name.clone(),
                    namespace: None,
                    field: *field,
                    from: from.clone(),
                    to: to.clone(),
                    notes: Vec::new(),
                });
            }
        }
        Some(Plan::Left(why)) => source::read(name, text, &mut |found| {
            if let Found::Document(document) = found {
                object::each_judged(measure, &document.root, |used, at| {
                    let place = Place { source: name.clone(), line: at.line, column: at.column };
                    left.push(Left { place, used, why: Why::Kustomization(why.clone()) });
                });
            }
        }),
    }
    let (text, hunks) = lines::edited(text, edits);
    Fixed { text, changes, left, hunks }
}
