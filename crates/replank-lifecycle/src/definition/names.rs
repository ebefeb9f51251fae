//! What names may look like (apimachinery, `pkg/util/validation`).

/// Why a text is no DNS label that begins with a letter (RFC 1035), if it is none.
pub(super) fn label_1035(text: &str) -> Option<&'static str> {
    let within = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let bytes = text.as_bytes();
    let fits = bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last() != Some(&b'-')
        && bytes.iter().all(|byte| within(*byte));
    if !fits {
        Some("lower case letters, digits and `-` only, a letter first, a letter or digit last")
    } else if text.len() > 63 {
        Some("63 characters at most")
    } else {
        None
    }
}

/// Why a text is no DNS name, if it is none.
pub(super) fn subdomain(text: &str) -> Option<&'static str> {
    let edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(|byte| edge(*byte))
            && bytes.last().is_some_and(|byte| edge(*byte))
            && bytes.iter().all(|byte| edge(*byte) || *byte == b'-')
    };
    if text.len() > 253 {
        Some("253 characters at most")
    } else if !text.split('.').all(is_label) {
        Some("lower case letters, digits, `-` and `.` only, a letter or digit first and last of each part")
    } else {
        None
    }
}
