//! What names, keys and other short texts may look like (apimachinery `pkg/util/validation/validation.go`,
//! `pkg/api/validate/content`). Each function says what is wrong; empty if nothing is.

use super::error::{Causes, Shown};
use super::field::Field;
use crate::selector::validate::{label_key_problems, label_value_problems};

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const UNDERSCORE_SUBDOMAIN: &str = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";

fn characters_max(most: usize) -> String {
    format!("must be no more than {most} characters")
}

/// `RegexError`: a rule, examples, and the expression behind it.
fn rule(words: &str, expression: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{expression}')", examples.join(" or "))
}

/// At least one byte, the first and last alphanumeric in lower case, all others that or `within`.
fn is_framed(text: &str, within: &[u8]) -> bool {
    let end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    match text.as_bytes() {
        [] => false,
        [only] => end(only),
        [first, middle @ .., last] => {
            end(first) && end(last) && middle.iter().all(|byte| end(byte) || within.contains(byte))
        }
    }
}

fn is_label(text: &str) -> bool {
    is_framed(text, b"-")
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// `IsDNS1123Label`.
pub(super) fn label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push(characters_max(63));
    }
    if !is_label(text) {
        problems.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            let words = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                         must start and end with an alphanumeric character";
            rule(words, LABEL, &["my-name", "123-abc"])
        });
    }
    problems
}

/// `IsDNS1123Subdomain`.
pub(super) fn subdomain(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push(characters_max(253));
    }
    if !is_subdomain(text) {
        let words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                     and must start and end with an alphanumeric character";
        problems.push(rule(words, SUBDOMAIN, &["example.com"]));
    }
    problems
}

/// The same where the rule is generated from the API's types, which count in bytes by name (`validate.LongName`).
pub(super) fn subdomain_in_bytes(text: &str) -> Vec<String> {
    let in_bytes = |problem: String| problem.replace("no more than 253 characters", "no more than 253 bytes");
    subdomain(text).into_iter().map(in_bytes).collect()
}

/// `IsDNS1123SubdomainWithUnderscore`.
pub(super) fn underscore_subdomain(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push(characters_max(253));
    }
    if !text.split('.').all(|part| is_framed(part.strip_prefix('_').unwrap_or(part), b"-_")) {
        let words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or \
                     '.', and must start and end with an alphanumeric character";
        problems.push(rule(words, UNDERSCORE_SUBDOMAIN, &["example.com"]));
    }
    problems
}

/// A name that something is to be appended to may end in a dash (`maskTrailingDash`).
pub(super) fn as_prefix(name: &str, check: fn(&str) -> Vec<String>) -> Vec<String> {
    // Upstream cuts by bytes: a name whose last characters are not ASCII is invalid either way.
    match name.strip_suffix('-').filter(|rest| !rest.is_empty()) {
        Some(rest) => {
            let mut masked = rest.to_owned();
            masked.pop();
            masked.push('a');
            check(&masked)
        }
        None => check(name),
    }
}

/// `IsValidPortName`.
pub(super) fn port_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 15 {
        problems.push(characters_max(15));
    }
    let mut say = |is_wrong: bool, words: &str| {
        if is_wrong {
            problems.push(words.to_owned());
        }
    };
    let within = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    say(
        text.is_empty() || !text.bytes().all(within),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    say(!text.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)");
    say(text.contains("--"), "must not contain consecutive hyphens");
    say(text.starts_with('-') || text.ends_with('-'), "must not begin or end with a hyphen");
    problems
}

/// `IsValidPortNum`.
pub(super) fn port_number(number: i64) -> Vec<String> {
    range(number, 1, 65_535)
}

/// `InclusiveRangeError`, where it applies.
pub(super) fn range(number: i64, least: i64, most: i64) -> Vec<String> {
    if (least..=most).contains(&number) {
        return Vec::new();
    }
    vec![format!("must be between {least} and {most}, inclusive")]
}

/// `IsValidUserID`, `IsValidGroupID`.
pub(super) fn user_id(number: i64) -> Vec<String> {
    range(number, 0, i64::from(i32::MAX))
}

/// `IsRelaxedEnvVarName`.
pub(super) fn variable_name(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if text.chars().all(|character| matches!(character, ' '..='~') && character != '=') {
        return Vec::new();
    }
    let words =
        "a valid environment variable name must consist only of printable ASCII characters other than '='";
    vec![words.to_owned()]
}

/// `IsConfigMapKey`.
pub(super) fn config_key(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push(characters_max(253));
    }
    let within = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if text.is_empty() || !text.bytes().all(within) {
        let words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        problems.push(rule(words, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    match text {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        _ if text.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

/// `IsHTTPHeaderName`.
pub(super) fn header_name(text: &str) -> Vec<String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Vec::new();
    }
    let words = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![rule(words, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// `IsValidPercent`.
pub(super) fn percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or("");
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let words = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![rule(words, "[0-9]+%", &["1%", "93%"])]
}

/// `IsPathSegmentPrefix`: what may begin a part of a URL's path.
pub(super) fn path_segment(text: &str) -> Vec<String> {
    let forbidden = ["/", "%"].into_iter().filter(|part| text.contains(part));
    forbidden.map(|part| format!("may not contain '{part}'")).collect()
}

/// `IsDomainPrefixedPath`.
pub(super) fn domain_path(field: &Field<'_>, causes: &mut Causes) {
    let text = field.text();
    if text.is_empty() {
        return causes.required(&field.path, "");
    }
    let Some((host, path)) = text.split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty())
    else {
        let words = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return causes.invalid(&field.path, Shown::text(text), words);
    };
    causes.broken_rules(&field.path, host, subdomain(host));
    let within = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(within) {
        let words = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        causes.invalid(&field.path, Shown::text(path), words);
    }
}

/// A label's key, or another qualified name (`ValidateLabelName`, `ValidateQualifiedName`).
pub(super) fn qualified(path: &str, text: &str, causes: &mut Causes) {
    causes.broken_rules(path, text, label_key_problems(text));
}

/// Labels (`ValidateLabels`).
pub(super) fn labels(field: &Field<'_>, causes: &mut Causes) {
    for (key, value) in field.members() {
        qualified(&field.path, key, causes);
        causes.broken_rules(&field.path, value.text(), label_value_problems(value.text()));
    }
}

/// The bytes that all annotations of an object may have together.
const ANNOTATIONS_BYTES_MAX: usize = 256 << 10;

/// Annotations (`ValidateAnnotations`).
pub(super) fn annotations(field: &Field<'_>, causes: &mut Causes) {
    let mut bytes = 0;
    for (key, value) in field.members() {
        causes.broken_rules(&field.path, key, label_key_problems(&key.to_lowercase()));
        bytes += key.len() + value.len();
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        causes.too_long(&field.path, ANNOTATIONS_BYTES_MAX);
    }
}

/// A DNS label at a path (`ValidateDNS1123Label`).
pub(super) fn label_at(field: &Field<'_>, causes: &mut Causes) {
    causes.broken_rules(&field.path, field.text(), label(field.text()));
}

/// A DNS subdomain at a path (`ValidateDNS1123Subdomain` and the names of most objects).
pub(super) fn subdomain_at(field: &Field<'_>, causes: &mut Causes) {
    causes.broken_rules(&field.path, field.text(), subdomain(field.text()));
}
