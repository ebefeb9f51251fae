//! Texts of answers without what is drawn, and who writes.

/// Who writes fields in this test; what others own is not compared.
pub(super) const MANAGERS: [&str; 4] = ["replank-judge", "one", "two", "before-first-apply"];

/// Text without times, uids, versions, and objects as Go prints them.
pub(super) fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at_word = out.chars().next_back().is_none_or(|last| !last.is_ascii_alphanumeric());
        if at_word && let Some(length) = uid(rest) {
            out.push_str("<uid>");
            rest = &rest[length..];
        } else if at_word && let Some(length) = time(rest) {
            out.push_str("<time>");
            rest = &rest[length..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    objects(&versions(&schemes(&out)))
}

/// Where a scheme was made, which Go tells of it, depends on the paths that a binary was built in.
fn schemes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("in scheme \"") {
        let (before, place) = rest.split_at(at + "in scheme \"".len());
        out.push_str(before);
        out.push_str("<scheme>");
        rest = &place[place.find('"').unwrap_or(place.len())..];
    }
    out.push_str(rest);
    out
}

fn uid(text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..36)?;
    let fits = bytes.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
    });
    fits.then_some(36)
}

/// The length of a time in RFC 3339 with `Z`.
fn time(text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..19)?;
    let fits = bytes.iter().enumerate().all(|(at, byte)| match at {
        4 | 7 => *byte == b'-',
        10 => *byte == b'T',
        13 | 16 => *byte == b':',
        _ => byte.is_ascii_digit(),
    });
    let end = text[fits.then_some(19)?..].find('Z')?;
    text[19..19 + end].chars().all(|c| c == '.' || c.is_ascii_digit()).then_some(20 + end)
}

/// Versions that messages tell.
fn versions(text: &str) -> String {
    let mut text = text.to_owned();
    let marks = [
        "resource version: ",
        "current: ",
        "ResourceVersion in the precondition (",
        "record (",
        "too old resource version: <version> (",
        "ResourceVersion in precondition: ",
        "ResourceVersion in object meta: ",
        "resourceVersion\":\"",
        "resourceVersion\\\":\\\"",
    ];
    for mark in marks {
        let mut from = 0;
        while let Some(at) = text[from..].find(mark) {
            let begin = from + at + mark.len();
            let digits = text[begin..].chars().take_while(char::is_ascii_digit).count();
            text.replace_range(begin..begin + digits, if digits > 0 { "<version>" } else { "" });
            from = begin;
        }
    }
    // An address that was drawn, and could not be given.
    let mark = "failed to allocate IP: IPAddress.networking.k8s.io \"";
    if let Some(begin) = text.find(mark).map(|at| at + mark.len()) {
        let end = text[begin..].find('"').map_or(text.len(), |length| begin + length);
        text.replace_range(begin..end, "<address>");
    }
    text
}

/// Whole objects that a message echoes: Go prints maps in any order.
fn objects(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("Invalid value: ") {
        let (before, value) = rest.split_at(at + "Invalid value: ".len());
        out.push_str(before);
        let is_object = ["{", "\"{", "&", "map[", "[]", "v1.", "core.", "apps."]
            .iter()
            .any(|mark| value.starts_with(mark));
        let end = value.find("}: ").or_else(|| value.find("}\": ").map(|end| end + 1));
        match end.filter(|end| is_object && *end > 60) {
            Some(end) => {
                out.push_str("<object>");
                rest = &value[end + 1..];
            }
            None => rest = value,
        }
    }
    out.push_str(rest);
    out
}
