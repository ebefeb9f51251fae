//! What names have to be, and how that is said (apimachinery `pkg/util/validation/validation.go`).

pub(super) const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
                                    or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
                                    regex used for validation is \
                                    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                     and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                          alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
                          regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
                        consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character \
                        (e.g. '*.example.com', regex used for validation is \
                        '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
}

fn problems(text: &str, most: usize, fits: bool, why: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > most {
        problems.push(format!("must be no more than {most} characters"));
    }
    if !fits {
        problems.push(why.to_owned());
    }
    problems
}

pub(super) fn subdomain(text: &str) -> Vec<String> {
    problems(text, 253, text.split('.').all(is_label), SUBDOMAIN)
}

pub(in super::super) fn label(text: &str) -> Vec<String> {
    // What is a subdomain and no label has dots.
    let why = if text.split('.').all(is_label) { "must not contain dots" } else { LABEL };
    problems(text, 63, is_label(text), why)
}

pub(super) fn label_1035(text: &str) -> Vec<String> {
    let begins = text.starts_with(|first: char| first.is_ascii_lowercase());
    problems(text, 63, is_label(text) && begins, LABEL_1035)
}

/// A host name, whose first part may stand for any.
pub(super) fn host(text: &str) -> Vec<String> {
    match text.strip_prefix("*.") {
        Some(rest) => problems(text, 253, rest.split('.').all(is_label), WILDCARD),
        None if text.contains('*') => problems(text, 253, false, WILDCARD),
        None => subdomain(text),
    }
}

/// The name of a port of a container.
pub(super) fn port_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 15 {
        problems.push("must be no more than 15 characters".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

/// A name that is part of a path (`path.ValidatePathSegmentName`).
pub(super) fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    ['/', '%']
        .into_iter()
        .filter(|mark| text.contains(*mark))
        .map(|mark| format!("may not contain '{mark}'"))
        .collect()
}
