//! What is broken, read by `replank-intake`, which saves what can be saved.

use std::sync::Arc;

use replank_intake::document::Found as Saved;
use replank_intake::limits::Limits;
use replank_intake::problem::Lost;
use replank_intake::read;
use replank_intake::source::Source;

use super::node::{At, from_value};
use super::split::Part;
use super::{Document, Found, Place, Unread};

/// Reads a part of a text again; what is found has the lines of the text.
pub(super) fn read<'t>(name: &Arc<str>, text: &str, part: &Part, each: &mut dyn FnMut(Found<'t>)) {
    let source = Source::bytes(name.clone(), text[part.range.clone()].as_bytes());
    let line_of = |line: Option<u64>| part.line + (line.unwrap_or(1) as u32).saturating_sub(1);
    let result = read::read(vec![source], &Limits::default(), &mut |saved| match saved {
        Saved::Document(document) => {
            let line = line_of(Some(document.line));
            let at = At { line, column: 1, start: part.range.start, end: part.range.end };
            each(Found::Document(Document {
                range: part.range.clone(),
                line,
                root: from_value(&document.value, at),
            }));
        }
        Saved::List { .. } => {}
        Saved::Problem(problem) => match problem.lost {
            // A key that is there twice, say: kubectl takes it.
            Lost::Nothing => {}
            Lost::Item | Lost::Document | Lost::RestOfList | Lost::Source | Lost::RestOfSource => {
                let place = Place {
                    source: name.clone(),
                    line: line_of(problem.place.line),
                    column: problem.place.column.map_or(1, |column| column as u32),
                };
                each(Found::Unread(Unread { place, why: problem.kind.to_string() }));
            }
        },
    });
    if let Err(fatal) = result {
        let place = Place { source: name.clone(), line: part.line, column: 1 };
        each(Found::Unread(Unread { place, why: fatal.to_string() }));
    }
}
