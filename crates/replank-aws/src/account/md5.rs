//! MD5, by which clients check that a message has come as it was sent (RFC 1321). It protects nothing.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::fault::Fault;

const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The digest, in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((bytes.len() as u64 * 8).to_le_bytes());
    for block in padded.chunks_exact(64) {
        let words: Vec<u32> = block
            .chunks_exact(4)
            .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect();
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64_usize {
            let (mixed, word) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), (7 * step) % 16),
            };
            let sine = ((step as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a.wrapping_add(mixed).wrapping_add(sine).wrapping_add(words[word]);
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
        }
        for (old, new) in state.iter_mut().zip([a, b, c, d]) {
            *old = old.wrapping_add(new);
        }
    }
    state.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of a message's attributes, by their names: of each the name, the data type and the value, each after its length; before a value a byte that says whether it is
/// text ("Calculating the MD5 message digest for message attributes" in the developer guide). `None` where there are none.
///
/// # Errors
/// Where an attribute is not right.
pub(crate) fn attributes_digest(attributes: &Value) -> Result<Option<String>, Fault> {
    let all: BTreeMap<&String, &Value> = attributes.as_object().into_iter().flatten().collect();
    let mut bytes = Vec::new();
    for (name, value) in &all {
        let wrong =
            |why: &str| Fault::bad("InvalidParameterValue", format!("The message attribute '{name}' {why}."));
        let kind = value["DataType"].as_str().filter(|kind| !kind.is_empty());
        let kind = kind.ok_or_else(|| wrong("must contain a non-empty message attribute type"))?;
        let (mark, given) = match kind.split('.').next() {
            Some("String" | "Number") => {
                (1, value["StringValue"].as_str().map(|text| text.as_bytes().to_vec()))
            }
            Some("Binary") => (2, value["BinaryValue"].as_str().and_then(|text| STANDARD.decode(text).ok())),
            Some(_) | None => {
                return Err(wrong(
                    "has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String",
                ));
            }
        };
        let given = given.filter(|given| !given.is_empty());
        let given = given.ok_or_else(|| wrong("must contain a non-empty message attribute value"))?;
        put(&mut bytes, name.as_bytes());
        put(&mut bytes, kind.as_bytes());
        bytes.push(mark);
        put(&mut bytes, &given);
    }
    Ok((!all.is_empty()).then(|| hex(&bytes)))
}

fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend(part);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn digests_of_attributes_are_those_that_the_java_sdk_computes() {
        let attributes = json!({
            "s": {"DataType": "String", "StringValue": "☃ é"}, "n": {"DataType": "Number", "StringValue": "12.5"},
            "b": {"DataType": "Binary", "BinaryValue": "AQL/"}, "c": {"DataType": "String.custom", "StringValue": "x"}});
        assert_eq!(attributes_digest(&attributes), Ok(Some("7767bd54d7fc047d8f04aff777c41c8b".to_owned())));
        assert_eq!(attributes_digest(&Value::Null), Ok(None));
        let wrong = json!({"a": {"DataType": "Text", "StringValue": "x"}});
        assert_eq!(
            attributes_digest(&wrong).map_err(|fault| fault.code),
            Err("InvalidParameterValue".to_owned())
        );
    }

    #[test]
    fn digests_are_those_of_the_rfc() {
        assert_eq!(hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let long = "1234567890".repeat(8);
        assert_eq!(hex(long.as_bytes()), "57edf4a22be3c955ac49da2e2107b67a");
    }
}
