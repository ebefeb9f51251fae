//! Pods from their text. Of the pods of one template the spec is read once: it stands in each of their texts, letter by letter, but for the pod's own parts.

use std::sync::Arc;

use memchr::{memchr, memmem};
use rustc_hash::FxHashMap;

use crate::object::pod::PodSpec;
use crate::object::pod_wire::{Own, TOKEN_VOLUME};
use crate::text::{NodeName, Text};
use crate::tree::{has_control, skip};

/// Specs that are compared first, the one that was met last before all: pods of one template stand side by side, or those of a node.
const LATEST: usize = 8;

/// The texts of specs, and what they were read to.
#[derive(Debug, Default)]
pub(super) struct SpecTexts {
    known: FxHashMap<Arc<str>, Arc<Known>>,
    latest: Vec<Arc<Known>>,
}

/// The text of a spec in pieces, with something of a pod's own between each two.
#[derive(Debug)]
struct Known {
    /// The pieces, with a mark between each two.
    text: Arc<str>,
    /// Where each piece begins and ends, and what follows it.
    pieces: Vec<(usize, usize, Hole)>,
    spec: Arc<PodSpec>,
    has_pin: bool,
}

/// What follows a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hole {
    /// The name of the pod's node.
    Node,
    /// Five letters of the token volume's name.
    Token,
    /// Nothing: it was the last piece.
    End,
}

/// What a pod has of its own, as it stands in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Given<'t> {
    node: Option<&'t str>,
    token: Option<&'t str>,
}

/// A spec that is known.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) spec: Arc<PodSpec>,
    pub(super) own: Own,
    /// Where it ends.
    pub(super) end: usize,
}

impl SpecTexts {
    /// The spec that begins here, if it is known.
    pub(super) fn find(&mut self, text: &str, from: usize) -> Option<Met> {
        for at in 0..self.latest.len() {
            if let Some((given, end)) = self.latest[at].matches(text, from) {
                self.latest[..=at].rotate_right(1);
                return Some(self.latest[0].met(given, end));
            }
        }
        let end = skip(text, from)?;
        let (given, key) = Pieces::of(&text[from..end])?.key()?;
        let known = self.known.get(key.as_str())?.clone();
        let met = known.met(given, end);
        self.met(known);
        Some(met)
    }

    fn met(&mut self, known: Arc<Known>) {
        self.latest.truncate(LATEST - 1);
        self.latest.insert(0, known);
    }

    /// Remembers the text of a spec, with what it was read to and how often that names a token volume.
    pub(super) fn learn(&mut self, text: &str, spec: &Arc<PodSpec>, own: &Own, volumes: usize) -> Option<()> {
        let pieces = Pieces::of(text)?;
        let Given { node, token } = pieces.given;
        if own.node.as_ref().map(NodeName::as_str) != node
            || own.token.as_deref() != token
            || own.pin.is_some() && own.pin != own.node
        {
            return None;
        }
        // Its own parts stand where they were taken from, and nowhere else.
        let pins = own.pin.as_ref().map_or(0, |_| required_terms(spec));
        let named = |text: &str| memmem::find_iter(text.as_bytes(), VOLUME).count();
        let tokens = token.map_or(0, |_| volumes.saturating_sub(named(text)));
        let count = |hole: Hole| pieces.pieces.iter().filter(|(_, of)| *of == hole).count();
        if count(Hole::Node) != node.map_or(0, |_| 1 + pins) || count(Hole::Token) != tokens {
            return None;
        }
        if hides_letters(text) {
            return None;
        }
        let (_, key) = pieces.key()?;
        let text: Arc<str> = key.into();
        let known = Arc::new(Known {
            text: text.clone(),
            pieces: pieces.places(),
            spec: spec.clone(),
            has_pin: own.pin.is_some(),
        });
        self.known.insert(text, known.clone());
        self.met(known);
        Some(())
    }

    /// Forgets all texts.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.latest.clear();
    }
}

/// The token volume's name without a pod's letters, in quotes.
const VOLUME: &[u8] = b"\"kube-api-access\"";

fn required_terms(spec: &PodSpec) -> usize {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required.as_ref());
    required.map_or(0, |required| required.node_selector_terms.len())
}

impl Known {
    /// Whether this text stands here, and where it ends.
    fn matches<'t>(&self, text: &'t str, from: usize) -> Option<(Given<'t>, usize)> {
        let mut given = Given::default();
        let mut at = from;
        for (from, to, hole) in &self.pieces {
            let piece = &self.text.as_bytes()[*from..*to];
            if text.as_bytes().get(at..at + piece.len()) != Some(piece) {
                return None;
            }
            at += piece.len();
            let of = match hole {
                Hole::End => return Some((given, at)),
                Hole::Node => &mut given.node,
                Hole::Token => &mut given.token,
            };
            let end = at + memchr(b'"', text.as_bytes().get(at..)?)?;
            let part = text.get(at..end)?;
            match of {
                Some(known) if *known != part => return None,
                Some(_) => {}
                None if is_plain(part, *hole) => *of = Some(part),
                None => return None,
            }
            at = end;
        }
        None
    }

    fn met(&self, given: Given<'_>, end: usize) -> Met {
        let node = given.node.map(NodeName::from);
        let pin = node.clone().filter(|_| self.has_pin);
        Met { spec: self.spec.clone(), own: Own { node, pin, token: given.token.map(Text::from) }, end }
    }
}

/// Whether a part of a pod's own is one wherever it stands.
fn is_plain(part: &str, hole: Hole) -> bool {
    let fits = match hole {
        Hole::Node => !part.is_empty(),
        Hole::Token => part.len() == TOKEN_LEN,
        Hole::End => false,
    };
    fits && !part.contains('\\') && !has_control(part)
}

/// Letters by which a token volume's name ends.
const TOKEN_LEN: usize = 5;

/// A text, cut at a pod's own parts.
struct Pieces<'t> {
    pieces: Vec<(&'t str, Hole)>,
    given: Given<'t>,
}

impl<'t> Pieces<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let given = Given { node: node_of(text)?, token: token_of(text)? };
        let mut holes: Vec<(usize, usize, Hole)> = Vec::new();
        if let Some(node) = given.node {
            let quoted = format!("\"{node}\"");
            let places = memmem::find_iter(text.as_bytes(), &quoted);
            holes.extend(places.map(|at| (at + 1, at + 1 + node.len(), Hole::Node)));
        }
        if let Some(token) = given.token {
            let quoted = format!("\"{TOKEN_VOLUME}-{token}\"");
            let places = memmem::find_iter(text.as_bytes(), &quoted);
            let begins = TOKEN_VOLUME.len() + 2;
            holes.extend(places.map(|at| (at + begins, at + begins + token.len(), Hole::Token)));
        }
        holes.sort_unstable_by_key(|(from, ..)| *from);
        let mut pieces = Vec::with_capacity(holes.len() + 1);
        let mut at = 0;
        for (from, to, hole) in holes {
            pieces.push((text.get(at..from)?, hole));
            at = to;
        }
        pieces.push((text.get(at..)?, Hole::End));
        Some(Self { pieces, given })
    }

    /// Where the pieces are in the text with marks.
    fn places(&self) -> Vec<(usize, usize, Hole)> {
        let mut at = 0;
        let place = |(piece, hole): &(&str, Hole)| {
            let from = at;
            at += piece.len() + 1;
            (from, from + piece.len(), *hole)
        };
        self.pieces.iter().map(place).collect()
    }

    /// The text with a mark in place of each part of the pod's own; `None` where such a mark stands in it, which JSON allows in no text.
    fn key(&self) -> Option<(Given<'t>, String)> {
        let mut key = String::new();
        for (piece, hole) in &self.pieces {
            if piece.contains(['\u{1}', '\u{2}']) {
                return None;
            }
            key.push_str(piece);
            match hole {
                Hole::Node => key.push('\u{1}'),
                Hole::Token => key.push('\u{2}'),
                Hole::End => {}
            }
        }
        Some((self.given, key))
    }
}

/// Whether a letter of names is written as an escape: a name that stands somewhere may not be found there, then. Servers escape `<`, `>` and `&` alone.
fn hides_letters(text: &str) -> bool {
    let of_name = |code: u32| {
        char::from_u32(code).is_some_and(|letter| letter.is_ascii_alphanumeric() || "-.".contains(letter))
    };
    memmem::find_iter(text.as_bytes(), b"\\u")
        .filter_map(|at| text.get(at + 2..at + 6))
        .any(|hex| u32::from_str_radix(hex, 16).is_ok_and(of_name))
}

/// The value behind the first key `nodeName`, wherever it stands; the outer `None` where it is not plain.
fn node_of(text: &str) -> Option<Option<&str>> {
    const KEY: &str = "\"nodeName\"";
    for at in memmem::find_iter(text.as_bytes(), KEY) {
        let behind = text[at + KEY.len()..].trim_ascii_start();
        let Some(value) = behind.strip_prefix(':') else { continue };
        let value = value.trim_ascii_start().strip_prefix('"')?;
        let node = &value[..memchr(b'"', value.as_bytes())?];
        return is_plain(node, Hole::Node).then_some(Some(node));
    }
    Some(None)
}

/// The letters of the first token volume's name; the outer `None` where they are not plain.
fn token_of(text: &str) -> Option<Option<&str>> {
    const NAME: &str = "\"kube-api-access-";
    let Some(at) = memmem::find(text.as_bytes(), NAME.as_bytes()) else { return Some(None) };
    let value = &text[at + NAME.len()..];
    let token = &value[..memchr(b'"', value.as_bytes())?];
    is_plain(token, Hole::Token).then_some(Some(token))
}

#[cfg(test)]
mod tests;
