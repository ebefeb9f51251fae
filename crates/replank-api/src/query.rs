//! What stands behind the `?` of a request.

/// Parameters of a request, as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the part behind the `?`.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescape(name, true), unescape(value, true))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter, unless it is empty.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Whether a parameter says yes, as upstream reads booleans of queries: anything but `false` and `0`.
    #[must_use]
    pub fn is_set(&self, name: &str) -> bool {
        self.boolean(name).unwrap_or(false)
    }

    /// A boolean parameter, if it is there.
    #[must_use]
    pub fn boolean(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// A whole number, if it is there and is one.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }
}

/// Takes percent escapes out, and in queries pluses for blanks.
#[must_use]
pub(crate) fn unescape(text: &str, is_query: bool) -> String {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let escaped = || {
            let digits = text.as_bytes().get(text.len() - rest.len()..)?.get(..2)?;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        match byte {
            b'+' if is_query => bytes.push(b' '),
            b'%' => match escaped() {
                Some(meant) => {
                    bytes.push(meant);
                    rest.nth(1);
                }
                None => bytes.push(byte),
            },
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_broken_ones_stay() {
        let query = Query::read("labelSelector=a%3Db%2Cc+d&watch&x=100%&y=%zz&watch=0");
        assert_eq!(query.get("labelSelector"), Some("a=b,c d"));
        assert_eq!((query.get("x"), query.get("y")), (Some("100%"), Some("%zz")));
        assert!(query.is_set("watch"));
        assert_eq!(unescape("a+b%2Fc", false), "a+b/c");
    }
}
