//! Small texts: escapes of URLs, ids that follow from names, times as XML has them.

use replank_model::time::Time;

/// Escapes everything but what RFC 3986 calls unreserved.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Reads escapes; what is none stays as it is. With `plus`, a plus is a blank, as in forms.
pub(crate) fn unescape(text: &str, plus: bool) -> String {
    let bytes = text.as_bytes();
    let mut read = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = text.get(at + 1..at + 3).filter(|pair| pair.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match (bytes[at], pair) {
            (b'%', Some(pair)) => {
                read.push(u8::from_str_radix(pair, 16).unwrap_or(b'%'));
                at += 3;
            }
            (b'+', _) if plus => {
                read.push(b' ');
                at += 1;
            }
            (byte, _) => {
                read.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// The pairs of a query or a form.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let parts = text.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (unescape(key, true), unescape(value, true))
    };
    parts.map(pair).collect()
}

/// FNV-1a, 64 bits: what follows from a name has to be the same on every machine.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// An id in the form of a UUID that follows from a text.
pub(crate) fn uuid(text: &str) -> String {
    replank_model::text::uuid(hash(text), hash(&format!("{text}/")))
}

/// An id as EC2 writes one, such as `lt-0123456789abcdef0`.
pub(crate) fn ec2_id(prefix: &str, text: &str) -> String {
    format!("{prefix}-0{:016x}", hash(text))
}

/// A moment as XML and EventBridge have it, with milliseconds.
pub(crate) fn moment(time: Time) -> String {
    let seconds = time.floor_seconds();
    let millis = time.as_millis() - seconds.as_millis();
    format!("{}.{millis:03}Z", seconds.to_string().trim_end_matches('Z'))
}

/// A moment as JSON has it: seconds since 1970.
pub(crate) fn epoch(time: Time) -> f64 {
    time.as_millis() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_they_are_written() {
        for text in ["", "a b/c+d", "ü%&=", "arn:aws:eks:x:1:cluster/a", "%zz", "100%"] {
            assert_eq!(unescape(&escape(text), false), text);
        }
        assert_eq!(
            pairs("a=1+2&b=%2B&c"),
            [("a", "1 2"), ("b", "+"), ("c", "")].map(|(k, v)| (k.to_owned(), v.to_owned()))
        );
    }

    #[test]
    fn moments_have_milliseconds() {
        assert_eq!(moment(Time::from_millis(1_764_000_000_042)), "2025-11-24T16:00:00.042Z");
    }
}
