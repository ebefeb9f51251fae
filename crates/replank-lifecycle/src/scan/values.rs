//! What a chart's own values say of versions: `apiVersion: {{ .Values.ingress.apiVersion }}` comes to that unless somebody
//! sets another one.

use std::collections::BTreeMap;

use crate::tree::{self, Notation, Tree, What};

/// Versions of APIs among the values of a chart, by their path, such as `ingress.apiVersion`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    versions: BTreeMap<String, String>,
}

impl Values {
    /// Of a `values.yaml`. What cannot be read has none.
    pub fn read(text: &str) -> Self {
        let mut values = Self::default();
        if let Ok(Some((tree, _))) = tree::read(text, 0..text.len(), Notation::Yaml) {
            values.gather(&tree, "");
        }
        values
    }

    fn gather(&mut self, tree: &Tree, path: &str) {
        match &tree.what {
            What::Map(entries) => {
                for entry in entries {
                    let path = if path.is_empty() {
                        (*entry.key).to_owned()
                    } else {
                        format!("{path}.{}", entry.key)
                    };
                    self.gather(&entry.value, &path);
                }
            }
            What::Text(text) if is_version(text) => {
                self.versions.insert(path.to_owned(), (**text).to_owned());
            }
            What::Null | What::Bool(_) | What::Number(_) | What::Text(_) | What::List(_) => {}
        }
    }

    /// The version that a directive puts in, with its braces, where nothing but values decides that.
    pub(super) fn put_in(&self, directive: &str) -> Option<String> {
        let inner = directive.strip_prefix("{{")?.strip_suffix("}}")?.trim_matches(['-', ' ', '\t', '\n']);
        let mut stages = inner.split('|').map(str::trim);
        let mut version = self.first(stages.next()?)?;
        for stage in stages {
            match stage.split_whitespace().collect::<Vec<_>>()[..] {
                ["quote" | "squote" | "trim" | "toString"] => {}
                // Only what is not set is replaced.
                ["default", literal] if version.is_none() => version = Some(literal_of(literal)?),
                ["default", _] => {}
                _ => return None,
            }
        }
        version.filter(|version| is_version(version))
    }

    /// What the first stage comes to. The outer `None` where that is not known, the inner where the value is not set.
    fn first(&self, stage: &str) -> Option<Option<String>> {
        match stage.split_whitespace().collect::<Vec<_>>()[..] {
            [one] if one.starts_with(['"', '`']) => literal_of(one).map(Some),
            [one] => self.value(one),
            ["quote" | "squote", one] => self.value(one),
            ["default", literal, one] => {
                let set = self.value(one)?;
                Some(Some(match set {
                    Some(set) => set,
                    None => literal_of(literal)?,
                }))
            }
            _ => None,
        }
    }

    fn value(&self, word: &str) -> Option<Option<String>> {
        let path = word.trim_start_matches('$').strip_prefix(".Values.")?;
        Some(self.versions.get(path).cloned())
    }
}

fn literal_of(word: &str) -> Option<String> {
    let inner = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('`')).map(str::to_owned)
}

/// Whether a text is a version as `apiVersion` has it: `v1`, or `batch/v1beta1`.
fn is_version(text: &str) -> bool {
    let (group, version) = text.split_once('/').unwrap_or(("", text));
    let is_group = group
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let Some(version) = version.strip_prefix('v') else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = match version.split_once("alpha").or_else(|| version.split_once("beta")) {
        Some((major, minor)) => digits(major) && digits(minor),
        None => digits(version),
    };
    is_group && is_version
}

/// The values that an object of a template depends on: those of the conditions that are open before a byte.
pub(super) fn conditions(text: &str, end: usize) -> Vec<String> {
    let mut open: Vec<Vec<String>> = Vec::new();
    let mut rest = &text[..end];
    while let Some(start) = rest.find("{{") {
        let directive = &rest[start + 2..];
        let inner = &directive[..directive.find("}}").unwrap_or(directive.len())];
        let inner_words = inner.trim_start_matches('-').trim_start();
        match inner_words.split_whitespace().next() {
            Some("if" | "with" | "range" | "define" | "block") => open.push(values_of(inner_words)),
            Some("end" | "end-") => drop(open.pop()),
            Some(_) | None => {}
        }
        rest = &directive[inner.len()..];
    }
    let mut all = Vec::new();
    for value in open.into_iter().flatten() {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// `ingress.enabled`, where a directive says `.Values.ingress.enabled`.
fn values_of(directive: &str) -> Vec<String> {
    let is_of_path = |character: char| character.is_alphanumeric() || matches!(character, '.' | '_' | '-');
    directive
        .split(".Values.")
        .skip(1)
        .map(|rest| {
            let end = rest.find(|character| !is_of_path(character)).unwrap_or(rest.len());
            rest[..end].trim_end_matches(['.', '-']).to_owned()
        })
        .filter(|path| !path.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_comes_to_what_the_values_say() {
        let values = Values::read("ingress:\n  apiVersion: extensions/v1beta1\n  name: web\nversion: v1\n");
        for (directive, expected) in [
            ("{{ .Values.ingress.apiVersion }}", Some("extensions/v1beta1")),
            ("{{- $.Values.ingress.apiVersion | quote -}}", Some("extensions/v1beta1")),
            ("{{ default \"batch/v1\" .Values.ingress.apiVersion }}", Some("extensions/v1beta1")),
            ("{{ default \"batch/v1beta1\" .Values.unset }}", Some("batch/v1beta1")),
            ("{{ .Values.unset | default \"batch/v1beta1\" }}", Some("batch/v1beta1")),
            ("{{ .Values.version }}", Some("v1")),
            ("{{ .Values.ingress.name }}", None),
            ("{{ .Values.unset }}", None),
            ("{{ template \"web.apiVersion\" . }}", None),
            ("{{ .Values.ingress.apiVersion | replace \"v1\" \"v2\" }}", None),
        ] {
            assert_eq!(values.put_in(directive).as_deref(), expected, "{directive}");
        }
    }

    #[test]
    fn conditions_are_those_that_are_open() {
        let text = "{{- if .Values.a.on }}\n{{ end }}\n{{- if and .Values.ingress.enabled (not .Values.b) -}}\n{{ .Values.c }}\napiVersion: x";
        assert_eq!(conditions(text, text.len()), ["ingress.enabled", "b"]);
        assert_eq!(conditions(text, 0), [""; 0]);
    }

    #[test]
    fn versions_are_told_from_other_texts() {
        for (text, expected) in [
            ("v1", true),
            ("batch/v1beta1", true),
            ("networking.k8s.io/v1", true),
            ("v1.2", false),
            ("velvet", false),
            ("1.2", false),
            ("a b/v1", false),
        ] {
            assert_eq!(is_version(text), expected, "{text}");
        }
    }
}
