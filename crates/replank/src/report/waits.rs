//! What was waited for, by kind of reason.

use std::collections::BTreeMap;

use replank_model::time::Span;
use replank_rehearse::Wait;

use super::page::{Lean, Page, Tone, cut};
use super::words::{count, span};

/// Kinds that a person reads, the longest first; the others are in `-o json`.
const KINDS_MAX: usize = 10;

/// What waits: `2 nodes`, `1 pod`, `3 objects` where they differ.
fn who(waits: &[&Wait]) -> String {
    let noun = |wait: &Wait| wait.what.split(' ').next().unwrap_or_default().to_owned();
    let first = waits.first().map(|wait| noun(wait)).unwrap_or_default();
    match first.as_str() {
        "run" => "the run".to_owned(),
        noun_of_all @ ("node" | "pod" | "group") if waits.iter().all(|wait| noun(wait) == noun_of_all) => {
            count(waits.len(), noun_of_all)
        }
        _ => count(waits.len(), "object"),
    }
}

pub(super) fn write(page: &mut Page, waits: &[Wait]) {
    if waits.is_empty() {
        page.heading("Waited for", "nothing");
        return;
    }
    let mut kinds: BTreeMap<&str, Vec<&Wait>> = BTreeMap::new();
    for wait in waits {
        kinds.entry(&wait.kind).or_default().push(wait);
    }
    let mut kinds: Vec<Kind<'_>> = kinds.into_iter().map(|(name, waits)| Kind::of(name, waits)).collect();
    // A turn lasts as long as what others wait for: it explains nothing and goes last.
    kinds.sort_by_key(|kind| (kind.name == "turn", Span::ZERO - kind.longest.waited));
    page.heading("Waited for", "");
    let titles = ["reason", "waiting", "total", "longest"];
    let mut rows = vec![titles.map(|title| (title.to_owned(), Tone::Faint)).to_vec()];
    rows.extend(kinds.iter().take(KINDS_MAX).map(|kind| {
        vec![
            (kind.longest.on.label().to_owned(), Tone::Plain),
            (who(&kind.waits), Tone::Plain),
            (span(kind.all), Tone::Plain),
            (span(kind.longest.waited), Tone::Strong),
        ]
    }));
    page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Right], &rows);
    if kinds.len() > KINDS_MAX {
        page.wrapped(
            2,
            &format!("and {} more: -o json has them all", count(kinds.len() - KINDS_MAX, "reason")),
            Tone::Faint,
        );
    }
    page.gap();
    longest(page, &kinds);
}

/// All waits of one kind.
struct Kind<'a> {
    name: &'a str,
    waits: Vec<&'a Wait>,
    longest: &'a Wait,
    all: Span,
}

impl<'a> Kind<'a> {
    /// Of at least one wait.
    fn of(name: &'a str, waits: Vec<&'a Wait>) -> Self {
        let longest = waits.iter().copied().reduce(|a, b| if b.waited > a.waited { b } else { a });
        let all = waits.iter().fold(Span::ZERO, |sum, wait| sum + wait.waited);
        Self { name, longest: longest.expect("a kind is made of its waits"), all, waits }
    }
}

/// The longest single wait of the kinds that took longest.
fn longest(page: &mut Page, kinds: &[Kind<'_>]) {
    const SHOWN: usize = 3;
    for kind in kinds.iter().filter(|kind| kind.name != "turn").take(SHOWN) {
        let width = page.width().saturating_sub(4) * 3;
        let wait = kind.longest;
        let (what, waited) = (&wait.what, span(wait.waited));
        let text = match wait.on.finality() {
            None => format!("{what} waited {waited} for {}", wait.on),
            Some(_) => format!("{what}, for {waited}: {}", wait.on),
        };
        page.wrapped(2, &cut(&text, width), Tone::Plain);
    }
}
