//! Helm releases in dumps: `helm upgrade` reads the stored manifest, and fails once a version in it is gone, whatever the chart
//! says by then. What is stored is rewritten as any manifest is; the rest of the release is put back as it was.

use std::ops::Range;
use std::sync::Arc;

use super::lay::{self, Edit, apply};
use super::{Change, Fixed, Hunk, Left, Why, lines};
use crate::helm::Packed;
use crate::judge::Measure;
use crate::object;
use crate::scan::{Hint, release};
use crate::schema::Schema;
use crate::source::{self, Document, Found, Place};
use crate::table::Gvk;
use crate::tree::{self, Notation, Tree, What};

/// A text with releases that were fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedReleases {
    /// The text.
    pub text: String,
    /// Releases that were changed.
    pub releases: Vec<FixedRelease>,
    /// Releases, and objects within, that are left.
    pub left: Vec<Left>,
    /// Lines of the text that go and come.
    pub hunks: Vec<Hunk>,
}

/// One release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedRelease {
    /// Where it is kept.
    pub place: Place,
    /// The object that keeps it.
    pub name: String,
    /// What was changed in it; places are those of the stored manifests.
    pub changes: Vec<Change>,
    /// The stored manifest and those of hooks that were changed: what each said, and the lines that go and come.
    pub manifests: Vec<(String, Vec<Hunk>)>,
}

/// Fixes what the releases of a text have stored.
pub fn fix_releases(measure: &Measure, schema: &Schema, name: &Arc<str>, text: &str) -> FixedReleases {
    let mut fixing =
        Fixing { measure, schema, name, text, edits: Vec::new(), releases: Vec::new(), left: Vec::new() };
    source::read(name, text, &mut |found| match found {
        Found::Document(document) => fixing.document(&document),
        Found::Unread(_) | Found::Template { .. } => {}
    });
    let Fixing { edits, releases, left, .. } = fixing;
    let (text, hunks) = lines::edited(text, edits);
    FixedReleases { text, releases, left, hunks }
}

struct Fixing<'f> {
    measure: &'f Measure,
    schema: &'f Schema,
    name: &'f Arc<str>,
    text: &'f str,
    edits: Vec<Edit>,
    releases: Vec<FixedRelease>,
    left: Vec<Left>,
}

/// A release as it is kept.
struct Kept {
    place: Place,
    kind: String,
    name: String,
    data: String,
}

/// The outcome for one release.
struct OneRelease {
    /// What is to be stored, if anything changes.
    data: Option<String>,
    release: FixedRelease,
    left: Vec<Left>,
}

/// The outcome for the releases of one document.
struct Rewritten {
    edits: Vec<Edit>,
    releases: Vec<FixedRelease>,
    left: Vec<Left>,
}

impl Fixing<'_> {
    fn document(&mut self, document: &Document<'_>) {
        let mut of_document = Vec::new();
        object::visit(&document.root, &mut |object| {
            let place = Place { source: self.name.clone(), line: object.at.line, column: object.at.column };
            match release::stored(&object) {
                release::Stored::Current(data) => {
                    of_document.push(Kept {
                        place,
                        kind: object.kind.to_owned(),
                        name: object.name.to_owned(),
                        data: data.to_owned(),
                    });
                }
                release::Stored::Helm2 => self.left.push(left(
                    place,
                    object.kind,
                    "it is a Helm 2 release: move it to Helm 3 first with helm 2to3".to_owned(),
                )),
                release::Stored::Past | release::Stored::No => {}
            }
        });
        if of_document.is_empty() {
            return;
        }
        let range = document.range.clone();
        let notation = super::notation_of(&self.text[range.clone()]);
        match self.rewrite(range, notation, &of_document) {
            Ok(made) => {
                self.edits.extend(made.edits);
                self.releases.extend(made.releases);
                self.left.extend(made.left);
            }
            Err(why) => {
                let all = of_document.into_iter().map(|kept| left(kept.place, &kept.kind, why.clone()));
                self.left.extend(all);
            }
        }
    }

    fn rewrite(
        &self,
        range: Range<usize>,
        notation: Notation,
        of_document: &[Kept],
    ) -> Result<Rewritten, String> {
        let Some((mut tree, origins)) = tree::read(self.text, range.clone(), notation)? else {
            return Err("nothing is there".to_owned());
        };
        let (mut releases, mut all_left) = (Vec::new(), Vec::new());
        for Kept { place, kind, name, data } in of_document {
            match self.release(place, name, data) {
                Ok(OneRelease { data: new, release, left }) => {
                    if let Some(new) = new {
                        replace(&mut tree, data, &new);
                        releases.push(release);
                    }
                    all_left.extend(left);
                }
                Err(why) => all_left.push(left(place.clone(), kind, why)),
            }
        }
        let edits = lay::lay(self.text, &origins, &tree).map_err(|why| why.0.to_owned())?;
        let text = apply(self.text, range, &edits);
        match tree::read(&text, 0..text.len(), notation)? {
            Some((again, _)) if again.says(&tree) => Ok(Rewritten { edits, releases, left: all_left }),
            Some(_) | None => Err("an anchor or an alias is where it is stored".to_owned()),
        }
    }

    /// One release: what is to be stored, if anything changes.
    fn release(&self, place: &Place, name: &str, data: &str) -> Result<OneRelease, String> {
        let mut packed = Packed::unpack(data).map_err(|error| error.to_string())?;
        let before = packed.manifests().map_err(|error| error.to_string())?;
        let mut fixed_release = FixedRelease {
            place: place.clone(),
            name: name.to_owned(),
            changes: Vec::new(),
            manifests: Vec::new(),
        };
        let (mut after, mut all_left) = (Vec::new(), Vec::new());
        for manifest in before {
            let of = Arc::from(name);
            let Fixed { text, changes, left, hunks } =
                super::fix(self.measure, self.schema, &of, &manifest, &Hint::default(), &|_| false);
            after.push(text);
            fixed_release.changes.extend(changes);
            // Lines within the release say nothing about the file.
            all_left.extend(left.into_iter().map(|left| Left { place: place.clone(), ..left }));
            if !hunks.is_empty() {
                fixed_release.manifests.push((manifest, hunks));
            }
        }
        if fixed_release.manifests.is_empty() {
            return Ok(OneRelease { data: None, release: fixed_release, left: all_left });
        }
        packed.set_manifests(&after).map_err(|error| error.to_string())?;
        let new = packed.pack().map_err(|error| error.to_string())?;
        let again =
            Packed::unpack(&new).and_then(|again| again.manifests()).map_err(|error| error.to_string())?;
        if again != after {
            return Err("the rewritten release does not unpack to the same manifests".to_owned());
        }
        Ok(OneRelease { data: Some(new), release: fixed_release, left: all_left })
    }
}

fn left(place: Place, kind: &str, why: String) -> Left {
    Left { place, used: Gvk::of("v1", kind), why: Why::Release(why) }
}

/// Puts other data where a release's data stand.
fn replace(tree: &mut Tree, data: &str, new: &str) {
    match &mut tree.what {
        What::Text(text) if **text == *data => *text = new.into(),
        What::List(items) => items.iter_mut().for_each(|item| replace(item, data, new)),
        What::Map(entries) => entries.iter_mut().for_each(|entry| replace(&mut entry.value, data, new)),
        What::Null | What::Bool(_) | What::Number(_) | What::Text(_) => {}
    }
}
