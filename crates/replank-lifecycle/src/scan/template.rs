//! Templates, read as text: what stands between `{{` and `}}` is taken out, and the rest read as YAML.
//!
//! That tells which versions a template can come to, and not which it comes to. Where one document has several versions in
//! branches, or asks what the cluster serves, the finding says so.

use std::borrow::Cow;
use std::sync::Arc;

use super::values::{Values, conditions};
use super::{Hint, Origin, Scan, Unrendered, Use, reference};
use crate::finding::{Branch, Confidence, Evidence};
use crate::object;
use crate::source::{self, Found, Node, Place, Unread};

/// Why an object is not judged whose version a directive puts in.
pub const VERSION_PUT_IN: &str = "its apiVersion comes from the template language: --render shows it";

/// Stands for what a template puts in. It is shown as `{{…}}`.
const PUT_IN: &str = "TEMPLATED-VALUE";

/// A whole file, of which every document that has directives is a template.
pub(super) fn whole(scan: &mut Scan<'_>, name: &Arc<str>, text: &str, hint: &Hint) {
    let marked = without_markers_in_directives(text);
    source::read_templates(name, text, &marked, &mut |found| {
        scan.found(name, text, &found, &Origin::Plain, hint);
    });
}

/// One document, from its line on.
pub(super) fn scan(
    scan: &mut Scan<'_>,
    name: &Arc<str>,
    text: &str,
    line: u32,
    unread: Option<Unread>,
    hint: &Hint,
) {
    scan.report.counts.templates += 1;
    let plain = taken_out(text, &hint.values);
    let asks = text.contains(".Capabilities");
    let before = scan.report.findings.len();
    let mut read_any = false;
    let mut template = Template { scan: &mut *scan, name, text, first_line: line, asks };
    source::read(name, &plain, &mut |found| {
        if let Found::Document(document) = found {
            read_any = true;
            template.document(&document.root);
        }
    });
    if !read_any {
        template.lines(&plain);
    }
    // A file that is not a template and contains no Kubernetes object can be ignored.
    if scan.report.findings.len() == before
        && !read_any
        && plain.lines().any(|line| line.starts_with("apiVersion:"))
    {
        scan.report.unread.extend(unread);
    }
}

/// A template that is being read.
struct Template<'t, 's> {
    scan: &'t mut Scan<'s>,
    name: &'t Arc<str>,
    /// As it is written.
    text: &'t str,
    first_line: u32,
    /// Whether it asks what the cluster serves.
    asks: bool,
}

/// Something that says a version, or several in branches, each with its line.
struct Says<'n> {
    versions: Vec<(&'n str, u32)>,
    kind: &'n str,
    name: &'n str,
    namespace: Option<&'n str>,
    /// The object that refers to it, and the field.
    holder: Option<(String, &'static str)>,
}

/// The values of a key in some nodes. Branches make keys that are there several times.
fn all<'n, 't>(nodes: &[&'n Node<'t>], key: &str) -> Vec<&'n Node<'t>> {
    let entries = nodes.iter().flat_map(|node| node.entries());
    entries.filter(|(of, _)| of == key).map(|(_, node)| node).collect()
}

fn lines_of<'n>(nodes: &[&'n Node<'_>]) -> Vec<(&'n str, u32)> {
    nodes.iter().filter_map(|node| Some((node.text()?, node.at.line))).collect()
}

impl Template<'_, '_> {
    fn document(&mut self, root: &Node<'_>) {
        let versions = all(&[root], "apiVersion");
        let kind = root.text_of("kind").unwrap_or_default();
        object::visit(root, &mut |object| {
            self.scan.report.counts.objects += 1;
            let own = [object.node.get("apiVersion")];
            let nodes: Vec<&Node<'_>> = if object.kind == kind && !versions.is_empty() {
                versions.clone()
            } else {
                own.into_iter().flatten().collect()
            };
            let (name, namespace) = (object.name, object.namespace);
            self.says(&Says { versions: lines_of(&nodes), kind: object.kind, name, namespace, holder: None });
            for (key, field) in reference::FIELDS {
                for of in all(&all(&[object.node], "spec"), key) {
                    self.says(&Says {
                        versions: lines_of(&all(&[of], "apiVersion")),
                        kind: of.text_of("kind").unwrap_or_default(),
                        name: of.text_of("name").unwrap_or_default(),
                        namespace,
                        holder: Some((format!("{} {}", object.kind, shown(name)), field)),
                    });
                }
            }
        });
    }

    fn says(&mut self, says: &Says<'_>) {
        let Says { versions, kind, name, namespace, holder } = says;
        let scan = &mut *self.scan;
        let is_served = |version: &str| !version.contains(PUT_IN) && scan.measure.is_served(version, kind);
        let another = versions.iter().any(|(version, _)| is_served(version));
        let branch = match (versions.len() > 1 && another, self.asks) {
            (true, _) => Branch::OneOf,
            (false, true) => Branch::ByCapability,
            (false, false) => Branch::Only,
        };
        for (version, line) in versions {
            let place = Place { source: self.name.clone(), line: self.first_line + line - 1, column: 1 };
            if version.contains(PUT_IN) && scan.measure.has_old_versions(kind) {
                let what = match holder {
                    Some((holder, field)) => format!("{holder}: {field} to a {kind}"),
                    None => format!("{kind} {}", shown(name)),
                };
                let start = self.text.split_inclusive('\n').take(*line as usize - 1).map(str::len).sum();
                let values = conditions(self.text, start);
                let (what, why) = (what.trim_end().to_owned(), VERSION_PUT_IN);
                scan.report.unrendered.push(Unrendered { place, what, why, values });
                continue;
            }
            scan.used(Use {
                api_version: version,
                kind,
                name: &shown(name),
                namespace: namespace.filter(|namespace| !namespace.contains(PUT_IN)),
                holder: holder.as_ref().map(|(holder, _)| holder.clone()),
                place,
                evidence: match holder {
                    Some((_, field)) => Evidence::Reference { field },
                    None => Evidence::Template { branch },
                },
                confidence: match branch {
                    Branch::Only => Confidence::Medium,
                    Branch::ByCapability | Branch::OneOf | Branch::LeftOut => Confidence::Low,
                },
            });
        }
    }

    /// Where even that is not YAML: the lines at the left margin that say version and kind.
    fn lines(&mut self, text: &str) {
        let mut versions = Vec::new();
        let mut kind = "";
        let mut object = "";
        let mut in_metadata = false;
        for (line, number) in text.lines().zip(1..) {
            let value = |key: &str| {
                let value = line.strip_prefix(key)?.split(" #").next().unwrap_or_default();
                Some(value.trim().trim_matches(['"', '\'']))
            };
            if let Some(version) = value("apiVersion:") {
                versions.push((version, number));
            } else if let Some(of) = value("kind:") {
                kind = of;
            } else if in_metadata && object.is_empty() {
                object = value("  name:").unwrap_or_default();
            }
            in_metadata =
                line.starts_with("metadata:") || (in_metadata && (line.starts_with(' ') || line.is_empty()));
        }
        if !kind.is_empty() && !versions.is_empty() {
            self.scan.report.counts.objects += 1;
            self.says(&Says { versions, kind, name: object, namespace: None, holder: None });
        }
    }
}

/// A name as it is shown.
fn shown(name: &str) -> String {
    name.replace(PUT_IN, "{{…}}")
}

/// The text without its directives, every line where it was. Directives that have their lines to themselves leave these
/// empty; others leave a word, or the version that the chart's own values put in.
fn taken_out(text: &str, values: &Values) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, open, close)) = next_directive(rest) {
        let (before, directive) = rest.split_at(at);
        let (directive, after) = directive.split_at(end_of(directive, open, close));
        plain.push_str(before);
        let alone = plain.rsplit('\n').next().is_none_or(|line| line.trim().is_empty())
            && after.split('\n').next().is_none_or(|line| {
                let line = line.trim();
                line.is_empty() || is_directives(line)
            });
        if !alone {
            plain.push_str(values.put_in(directive).as_deref().unwrap_or(PUT_IN));
        }
        // Directives over several lines keep their number.
        plain.extend(directive.matches('\n'));
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// The text, byte for byte, with blanks for markers of documents within directives: in a comment over several lines, say.
fn without_markers_in_directives(text: &str) -> Cow<'_, str> {
    let mut marked = Cow::Borrowed(text);
    let mut at = 0;
    while let Some((start, open, close)) = next_directive(&text[at..]) {
        let start = at + start;
        at = start + end_of(&text[start..], open, close);
        for marker in ["\n---", "\n..."] {
            for (newline, _) in text[start..at].match_indices(marker) {
                let marker = start + newline + 1;
                marked.to_mut().replace_range(marker..marker + 3, "   ");
            }
        }
    }
    marked
}

/// Whether a line has nothing but directives.
fn is_directives(line: &str) -> bool {
    let mut rest = line;
    while let Some((0, open, close)) = next_directive(rest) {
        rest = rest[end_of(rest, open, close)..].trim_start();
    }
    rest.is_empty()
}

/// The next directive, with what opens and closes it.
fn next_directive(text: &str) -> Option<(usize, &'static str, &'static str)> {
    [("{{", "}}"), ("{%", "%}"), ("<%", "%>")]
        .into_iter()
        .filter_map(|(open, close)| text.find(open).map(|at| (at, open, close)))
        .min_by_key(|(at, ..)| *at)
}

/// The byte behind a directive. A comment of Go's templates may hold what would close another one.
fn end_of(directive: &str, open: &str, close: &str) -> usize {
    let inner = &directive[open.len()..];
    let is_comment = inner.trim_start_matches('-').trim_start().starts_with("/*");
    let from = if is_comment { inner.find("*/").unwrap_or(inner.len()) } else { 0 };
    inner[from..].find(close).map_or(directive.len(), |end| open.len() + from + end + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_taken_out_line_by_line() {
        let text = "{{- if .Values.a }}\nkind: X\n{{- end }}\nname: {{ .Release.Name }}-web\nlabels:\n  {{- include \"x\" . | nindent 4 }}\n{{/* a\n}} b */}}\nkey: \"{{ .b }}\"\n";
        assert_eq!(
            taken_out(text, &Values::default()),
            "\nkind: X\n\nname: TEMPLATED-VALUE-web\nlabels:\n  \n\n\nkey: \"TEMPLATED-VALUE\"\n"
        );
        assert_eq!(
            without_markers_in_directives("a\n---\n{{/*\n---\nx */}}\n---\n"),
            "a\n---\n{{/*\n   \nx */}}\n---\n"
        );
        assert_eq!(
            taken_out("{% if a %}{% set b %}\nkind: {{ k }}", &Values::default()),
            "\nkind: TEMPLATED-VALUE"
        );
    }
}
