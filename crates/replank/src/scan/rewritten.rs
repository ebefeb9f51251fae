//! One text, before and after, and what is told of it.

use std::sync::Arc;

use replank_lifecycle::Measure;
use replank_lifecycle::fix::{self, Change, Fixed, Hunk, Left};
use replank_lifecycle::schema::Schema;

/// One text, before and after.
pub(super) struct Rewritten {
    pub(super) before: String,
    pub(super) after: String,
    pub(super) hunks: Vec<Hunk>,
    /// What changed, a line each.
    pub(super) told: Vec<String>,
    /// What each change is, without its place.
    pub(super) changes: Vec<String>,
    pub(super) left: Vec<Left>,
    /// The same for texts within it: stored manifests.
    pub(super) within: Vec<(String, String, Vec<Hunk>)>,
}

/// What became of one file: its text is not kept.
#[derive(Default)]
pub(super) struct Done {
    pub(super) told: Vec<String>,
    pub(super) changes: Vec<String>,
    /// Lines that changed, where any did.
    pub(super) lines: Option<String>,
    pub(super) left: Vec<Left>,
    /// What would be written, as a comparison.
    pub(super) difference: String,
    /// Why it cannot be written at all.
    pub(super) refused: Option<String>,
}

pub(super) fn of_fixed(name: &str, before: String, fixed: Fixed) -> Rewritten {
    let Fixed { text: after, changes, left, hunks } = fixed;
    let told =
        changes.iter().flat_map(|change| told_of(&format!("{name}:{}", change.place.line), change)).collect();
    let changes = changes.iter().map(sort_of).collect();
    Rewritten { before, after, hunks, told, changes, left, within: Vec::new() }
}

pub(super) fn of_releases(measure: &Measure, schema: &Schema, name: &Arc<str>, before: String) -> Rewritten {
    let fixed = fix::fix_releases(measure, schema, name, &before);
    let (mut all_told, mut changes, mut within) = (Vec::new(), Vec::new(), Vec::new());
    for release in fixed.releases {
        let place = format!("{name}:{}: {}", release.place.line, release.name);
        all_told.extend(release.changes.iter().flat_map(|change| told_of(&place, change)));
        changes.extend(release.changes.iter().map(sort_of));
        let manifests = release.manifests.into_iter();
        within.extend(manifests.map(|(text, hunks)| (format!("{name}/{}", release.name), text, hunks)));
    }
    let (after, hunks, left) = (fixed.text, fixed.hunks, fixed.left);
    Rewritten { before, after, hunks, told: all_told, changes, left, within }
}

impl Done {
    /// Of a text that may be written; `difference` is what would be, where that was asked for.
    pub(super) fn of(rewritten: Rewritten, difference: String) -> Self {
        let Rewritten { hunks, told, changes, left, .. } = rewritten;
        let lines = (!hunks.is_empty()).then(|| line_numbers(&hunks));
        Self { told, changes, lines, left, difference, refused: None }
    }

    /// Of a file that nobody can write.
    pub(super) fn refused(why: String) -> Self {
        Self { refused: Some(why), ..Self::default() }
    }
}

/// What a change is, without its place: `extensions/v1beta1 Deployment becomes apps/v1`.
fn sort_of(change: &Change) -> String {
    let field = change.field.map(|field| format!("{field} ")).unwrap_or_default();
    format!("{field}{} becomes {}", change.from, change.to.api_version())
}

/// A change, and a line for each of its notes.
fn told_of(place: &str, change: &Change) -> Vec<String> {
    let field = change.field.map(|field| format!("{field} ")).unwrap_or_default();
    let namespace = change.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let from = &change.from;
    let to = change.to.api_version();
    let mut lines = vec![format!("{place}: {field}{from} {namespace}{} becomes {to}", change.name)];
    lines.extend(change.notes.iter().map(|note| format!("{place}: {note}")));
    lines
}

/// `2, 8-10`: lines of the new text.
fn line_numbers(hunks: &[Hunk]) -> String {
    let mut grown = 0isize;
    let mut parts: Vec<String> = Vec::new();
    for hunk in hunks {
        let first = hunk.line.saturating_add_signed(grown);
        parts.push(match hunk.new.len() {
            0 => format!("{first} (removed before it)"),
            1 => first.to_string(),
            many => format!("{first}-{}", first + many - 1),
        });
        grown += hunk.new.len() as isize - hunk.old.len() as isize;
    }
    parts.join(", ")
}

/// What would be written.
pub(super) fn difference(name: &str, of: &Rewritten) -> String {
    if of.within.is_empty() {
        return if of.hunks.is_empty() { String::new() } else { fix::unified(name, &of.before, &of.hunks) };
    }
    // What is stored is packed: shown is what is packed.
    of.within.iter().map(|(name, text, hunks)| fix::unified(name, text, hunks)).collect()
}
