//! Answers in protobuf, without their schema: numbers of fields and what they hold.

use serde_json::{Value, json};

use super::words::{MANAGERS, words};

/// What Kubernetes' protobuf begins with.
pub(super) const MAGIC: &[u8] = b"k8s\0";

/// Fields of the envelope (`runtime.Unknown`), of `ObjectMeta` and of `ListMeta`.
const RAW: u64 = 2;
const METADATA: u64 = 1;
const ITEMS: u64 = 2;
const STATUS: u64 = 3;

/// The comparable part of an object or a list; text of the bytes where it is none.
pub(super) fn normal(bytes: &[u8], moving: bool) -> Value {
    let Some(envelope) = fields(bytes) else { return Value::from(format!("{bytes:x?}")) };
    let kind = envelope.iter().find(|(number, _)| *number == METADATA);
    let is_list = kind.is_some_and(|(_, field)| {
        let names = field.bytes().and_then(fields).unwrap_or_default();
        names
            .iter()
            .any(|(number, name)| *number == 2 && name.bytes().is_some_and(|name| name.ends_with(b"List")))
    });
    let is_status = kind.is_some_and(|(_, field)| {
        let names = field.bytes().and_then(fields).unwrap_or_default();
        names.iter().any(|(number, name)| *number == 2 && name.bytes() == Some(b"Status"))
    });
    let parts = envelope.iter().map(|(number, field)| match (field.bytes(), *number) {
        (Some(raw), RAW) if is_list => json!([number, list(raw, moving)]),
        (Some(raw), RAW) if !is_status => json!([number, object(raw, moving)]),
        _ => json!([number, field.shown()]),
    });
    parts.collect()
}

fn list(bytes: &[u8], moving: bool) -> Value {
    let all = fields(bytes).unwrap_or_default();
    let parts = all.iter().map(|(number, field)| match (field.bytes(), *number) {
        // Versions and tokens.
        (Some(meta), METADATA) => {
            let meta = fields(meta).unwrap_or_default();
            let kept = meta.iter().filter(|(number, _)| !matches!(number, 2 | 3));
            json!([number, kept.map(|(number, field)| json!([number, field.shown()])).collect::<Value>()])
        }
        (Some(item), ITEMS) => json!([number, object(item, moving)]),
        _ => json!([number, field.shown()]),
    });
    parts.collect()
}

fn object(bytes: &[u8], moving: bool) -> Value {
    let all = fields(bytes).unwrap_or_default();
    let parts = all.iter().filter(|(number, _)| !(moving && *number == STATUS));
    let parts = parts.map(|(number, field)| match (field.bytes(), *number) {
        (Some(meta), METADATA) => json!([number, metadata(meta, moving)]),
        _ => json!([number, field.shown()]),
    });
    parts.collect()
}

/// Metadata without uid, version, times, what controllers own, and where it moves the generation and annotations.
fn metadata(bytes: &[u8], moving: bool) -> Value {
    let all = fields(bytes).unwrap_or_default();
    let kept = all.iter().filter(|(number, field)| match number {
        5 | 6 | 8 | 9 => false,
        7 | 12 => !moving,
        17 => {
            let entry = field.bytes().and_then(fields).unwrap_or_default();
            let manager = entry.first().and_then(|(_, manager)| manager.bytes());
            manager.is_some_and(|manager| MANAGERS.iter().any(|known| known.as_bytes() == manager))
        }
        _ => true,
    });
    let parts = kept.map(|(number, field)| match (field.bytes(), *number) {
        // An entry's time.
        (Some(entry), 17) => {
            let entry = fields(entry).unwrap_or_default();
            let kept = entry.iter().filter(|(number, _)| *number != 4);
            json!([number, kept.map(|(number, field)| json!([number, field.shown()])).collect::<Value>()])
        }
        _ => json!([number, field.shown()]),
    });
    parts.collect()
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Number(_) => None,
        }
    }

    /// A number, a text, or what looks like a message.
    fn shown(self) -> Value {
        let bytes = match self {
            // Ports of nodes are drawn.
            Self::Number(30_000..=32_767) => return Value::from("<port>"),
            Self::Number(number) => return Value::from(number),
            Self::Bytes(bytes) => bytes,
        };
        let text =
            std::str::from_utf8(bytes).ok().filter(|text| !text.contains(|letter: char| letter.is_control()));
        if let Some(text) = text {
            let is_address = text.parse::<std::net::Ipv4Addr>().is_ok() && text.starts_with("10.0.");
            return if is_address { Value::from("<address>") } else { Value::from(words(text)) };
        }
        match fields(bytes) {
            Some(all) => all.iter().map(|(number, field)| json!([number, field.shown()])).collect(),
            None => Value::from(words(&String::from_utf8_lossy(bytes))),
        }
    }
}

/// The fields of a message; `None` where it is none.
fn fields(bytes: &[u8]) -> Option<Vec<(u64, Field<'_>)>> {
    let mut all = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let number = tag >> 3;
        let length = match tag & 7 {
            0 => {
                all.push((number, Field::Number(varint(&mut rest)?)));
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut rest)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (field, after) = rest.split_at_checked(length)?;
        all.push((number, Field::Bytes(field)));
        rest = after;
        if number == 0 {
            return None;
        }
    }
    Some(all)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_servers_cannot_share_is_left_out() {
        // A ConfigMap with a name, a uid and a version.
        let of = |uid: &str| {
            let mut meta = b"\x0a\x01a\x2a".to_vec();
            meta.push(u8::try_from(uid.len()).expect("it is short"));
            meta.extend(uid.as_bytes());
            let mut raw = vec![0x0a, u8::try_from(meta.len()).expect("it is short")];
            raw.extend(&meta);
            let mut whole = b"\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12".to_vec();
            whole.push(u8::try_from(raw.len()).expect("it is short"));
            whole.extend(&raw);
            normal(&whole, false)
        };
        assert_eq!(of("one"), of("another"));
        assert!(of("one").to_string().contains("ConfigMap"), "{}", of("one"));
    }
}
