//! Which values of a release set members of an object. They are given only where they are proved: the chart's template, rendered as far as it matters with the values there
//! are, says what the release has rendered, and with the new ones what is wanted, and nothing else changes.

use serde_json::{Map, Value};

use super::guard;
use super::stored::{Release, coalesce};
use super::template::{Line, inner, lines};

/// The values that set these members, as a release's values have them; `None` where that cannot be proved. `body` has the members, null where one goes.
#[must_use]
pub fn setting(release: &Release, (kind, name): (&str, &str), body: &Value) -> Option<Value> {
    let (source, document) = rendered(release, kind, name)?;
    let own = source.strip_prefix(&format!("{}/", release.chart))?;
    let template = &release.templates.iter().find(|(name, _)| name == own)?.1;
    let leaves = leaves(body)?;
    let before = lines(template, &release.values)?;
    let mut wanted = Map::new();
    let mut of_values: Vec<String> = Vec::new();
    for (path, value) in &leaves {
        let mut all = before.iter().filter(|line| line.path == *path).peekable();
        if all.peek().is_none() {
            // A member that no template makes cannot be set, and needs not be taken away.
            if value.is_null() && at(&document, path).is_none() {
                continue;
            }
            return None;
        }
        let mut from: Vec<Vec<&str>> =
            all.map(|line| Some(source_of(line.text)?.0)).collect::<Option<_>>()?;
        from.dedup();
        let [from] = from.as_slice() else { return None };
        if release.is_shared(from) {
            return None;
        }
        if !before.iter().filter(|line| line.path == *path).all(|line| keeps(line.text, value)) {
            return None;
        }
        insert(&mut wanted, from, (*value).clone());
        of_values.push(from.join("."));
        if shown(&before, path, &release.values)? != at(&document, path) {
            return None;
        }
    }
    let mut new = release.values.as_object()?.clone();
    coalesce(&mut new, wanted.clone());
    let new = Value::Object(new);
    let after = lines(template, &new)?;
    let is_there = leaves.iter().all(|(path, value)| {
        shown(&after, path, &new) == Some(scalar(value))
            || (value.is_null() && !after.iter().any(|line| line.path == *path))
    });
    let others = |all: &[Line<'_>]| -> Vec<(usize, Option<bool>)> {
        let is_other = |line: &&Line<'_>| !leaves.iter().any(|(path, _)| line.path == *path);
        all.iter().filter(is_other).map(|line| (line.number, line.is_rendered)).collect()
    };
    let is_alone = of_values.iter().all(|value| is_used_here_only(release, own, value, &before, &leaves));
    (is_there && is_alone && !wanted.is_empty() && others(&before) == others(&after))
        .then_some(Value::Object(wanted))
}

/// The members that are set, each with its path. Lists and maps without members are not written by values in a way that is known.
fn leaves(body: &Value) -> Option<Vec<(Vec<&str>, &Value)>> {
    let mut all = Vec::new();
    let mut open = vec![(Vec::new(), body)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(members) if !members.is_empty() => {
                open.extend(members.iter().map(|(key, value)| ([&*path, &[&**key]].concat(), value)));
            }
            Value::Array(_) | Value::Object(_) => return None,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => all.push((path, value)),
        }
    }
    Some(all)
}

/// Where a member of an object stands, and its text.
type Member<'r> = (Vec<&'r str>, &'r str);

/// The template that has made an object, by the comment that Helm writes before what it renders, and the members of the object.
fn rendered<'r>(release: &'r Release, kind: &str, name: &str) -> Option<(&'r str, Vec<Member<'r>>)> {
    let mut found = None;
    let mut sources = Vec::new();
    for document in release.manifest.split("\n---") {
        let source = document.lines().find_map(|line| line.strip_prefix("# Source: "));
        let Some(source) = source else { continue };
        sources.push(source);
        let Some(all) = lines(document, &Value::Null) else { continue };
        let members: Vec<_> = all.into_iter().map(|line| (line.path, line.text)).collect();
        let is = |path: &[&str], text: &str| at(&members, path).as_deref() == Some(text);
        if is(&["kind"], kind) && is(&["metadata", "name"], name) {
            found = Some((source, members));
        }
    }
    let (source, members) = found?;
    // A template that makes several objects is not told apart.
    (sources.iter().filter(|one| **one == source).count() == 1).then_some((source, members))
}

/// What an object has at a path, without quotes.
fn at(members: &[Member<'_>], path: &[&str]) -> Option<String> {
    let (_, text) = members.iter().find(|(own, _)| own == path)?;
    Some(text.trim_matches(['"', '\'']).to_owned())
}

/// The value that a line shows, and whether another one stands in for it if it is empty: `{{ .Values.a.b | quote }}`.
fn source_of(text: &str) -> Option<(Vec<&str>, Option<&str>)> {
    let text = text.trim_matches(['"', '\'']);
    let is_one = text.starts_with("{{") && text.ends_with("}}") && text.matches("{{").count() == 1;
    let mut parts = is_one.then(|| inner(text))?.split('|').map(str::trim);
    let path = guard::path(parts.next()?)?;
    let mut default = None;
    for part in parts {
        match part.split_once(' ') {
            Some(("default", value)) if !value.contains(['(', '.', ' ']) => {
                default = Some(value.trim_matches('"'));
            }
            None if matches!(part, "quote" | "int" | "toYaml" | "toString") => {}
            Some(_) | None => return None,
        }
    }
    Some((path, default))
}

/// Whether a line shows a value as it is: in quotes a number would become a text, which the API refuses, and as a number a percentage would become 0.
fn keeps(text: &str, value: &Value) -> bool {
    let is_quoted = text.starts_with(['"', '\'']);
    let filters = inner(text.trim_matches(['"', '\''])).split('|').skip(1).map(str::trim);
    value.is_null()
        || (!is_quoted || value.is_string())
            && filters.into_iter().all(|filter| match filter {
                "quote" | "toString" => value.is_string(),
                "int" => value.is_i64() || value.is_u64(),
                _ => true,
            })
}

/// What the template shows of a member; the outer is `None` where that is not known, the inner where it does not show it.
fn shown(all: &[Line<'_>], path: &[&str], values: &Value) -> Option<Option<String>> {
    let mut text = None;
    for line in all.iter().filter(|line| line.path == *path) {
        if !line.is_rendered? {
            continue;
        }
        let (from, default) = source_of(line.text)?;
        let own = guard::at(values, &from);
        // What counts as empty to `default` is what does not count as true to `if` (sprig, defaults.go: `empty`).
        let shown = match default {
            Some(default) if !own.is_some_and(guard::is_true) => default.to_owned(),
            Some(_) | None => own.and_then(scalar)?,
        };
        if text.replace(shown).is_some() {
            return None;
        }
    }
    Some(text)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether nothing else is made of a value: it is named in the lines that show it, and in conditions of the same template, whose other lines stay.
fn is_used_here_only(
    release: &Release,
    own: &str,
    value: &str,
    before: &[Line<'_>],
    leaves: &[(Vec<&str>, &Value)],
) -> bool {
    release.templates.iter().all(|(name, text)| {
        text.lines().enumerate().filter(|(_, line)| uses(line, value)).all(|(number, line)| {
            let is_condition = ["if ", "else if "].iter().any(|word| inner(line.trim()).starts_with(word));
            let shows =
                |one: &Line<'_>| one.number == number && leaves.iter().any(|(path, _)| one.path == *path);
            name == own && (is_condition || before.iter().any(shows))
        })
    })
}

/// Whether a line names a value or a map that it stands in as a whole, or values altogether.
fn uses(line: &str, value: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
    line.match_indices(".Values").any(|(at, word)| {
        let rest = &line[at + word.len()..];
        let Some(rest) = rest.strip_prefix('.') else { return is_end(rest) };
        let named: String = rest
            .chars()
            .take_while(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '.'))
            .collect();
        let is_condition = ["if ", "else if "].iter().any(|word| inner(line.trim()).starts_with(word));
        named == value || (value.starts_with(&format!("{named}.")) && !is_condition)
    })
}

/// Sets a value at a path.
fn insert(into: &mut Map<String, Value>, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        into.insert((*first).to_owned(), value);
        return;
    }
    let below = into.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(members) = below {
        insert(members, rest, value);
    }
}
