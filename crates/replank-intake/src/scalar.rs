//! What a plain YAML scalar means to kubectl, for those who read YAML with its places.

use serde_json::Value;

use crate::yaml::scalar;

/// The JSON value of a scalar without quotes and tag. `None` for what JSON has not: NaN and the infinities.
pub fn value(text: &str) -> Option<Value> {
    scalar::plain(text).value(text)
}

/// Whether a scalar without quotes and tag is text, and so what is written.
pub fn is_text(text: &str) -> bool {
    scalar::plain(text) == scalar::Scalar::Text
}

/// The key that a scalar without quotes is: `on` is `true`. `None` for what cannot be one.
pub fn key(text: &str) -> Option<String> {
    scalar::plain(text).key(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_what_kubectl_takes_them_for() {
        assert_eq!(value("on"), Some(Value::Bool(true)));
        assert_eq!(value("017"), Some(Value::from(15)));
        assert_eq!(value("1.2.3"), Some(Value::from("1.2.3")));
        assert_eq!(value(""), Some(Value::Null));
        assert_eq!(value(".nan"), None);
        assert!(is_text("1.2.3") && is_text("object") && !is_text("on") && !is_text("") && !is_text("017"));
        assert_eq!((key("on"), key("80"), key("~")), (Some("true".into()), Some("80".into()), None));
    }
}
