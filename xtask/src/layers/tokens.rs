//! Rust text as words and signs: comments, strings and numbers' suffixes are nobody's dependency.
//!
//! Every step goes at least one byte on, so any text is read in one pass.

/// One token, as far as paths need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// An identifier, a keyword or a number.
    Word(&'a str),
    /// `::`
    Colons,
    /// Any other sign.
    Sign(char),
}

/// The tokens of a file, without comments, strings, characters and lifetimes.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest {
            [b'/', b'/', ..] => line(rest),
            [b'/', b'*', ..] => comment(rest),
            [b'"', ..] => string(rest),
            [b'\'', ..] => quote(&text[at..]),
            [b':', b':', ..] => {
                tokens.push(Token::Colons);
                2
            }
            [first, ..] if is_word(*first) => match literal(rest) {
                0 => {
                    let raw = if rest.starts_with(b"r#") { 2 } else { 0 };
                    let length = raw + rest[raw..].iter().take_while(|byte| is_word(**byte)).count();
                    tokens.push(Token::Word(&text[at + raw..at + length]));
                    length
                }
                length => length,
            },
            [first, ..] => {
                if !first.is_ascii_whitespace() {
                    tokens.push(Token::Sign(char::from(*first)));
                }
                1
            }
            [] => 1,
        };
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn line(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// A block comment; they nest.
fn comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A string or character with a prefix (`b"`, `br#"`, `r"`, `b'`); 0 for anything else.
fn literal(rest: &[u8]) -> usize {
    let prefix = rest.iter().take_while(|byte| matches!(byte, b'b' | b'c' | b'r')).count();
    let after = &rest[prefix..];
    if prefix > 2 {
        return 0;
    }
    if !rest[..prefix].contains(&b'r') {
        return match after {
            [b'"', ..] if prefix > 0 => prefix + string(after),
            [b'\'', ..] if &rest[..prefix] == b"b" => {
                let skipped = if after.get(1) == Some(&b'\\') { 3 } else { 2 };
                let end = after.iter().skip(skipped).position(|byte| *byte == b'\'');
                prefix + end.map_or(after.len(), |end| skipped + end + 1)
            }
            _ => 0,
        };
    }
    let hashes = after.iter().take_while(|byte| **byte == b'#').count();
    if after.get(hashes) != Some(&b'"') {
        return 0;
    }
    let mut at = prefix + hashes + 1;
    while at < rest.len() {
        at += 1;
        if rest[at - 1] == b'"'
            && rest[at..].len() >= hashes
            && rest[at..at + hashes].iter().all(|byte| *byte == b'#')
        {
            return at + hashes;
        }
    }
    rest.len()
}

/// A character or a lifetime.
fn quote(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    let first = letters.next();
    if let Some((_, '\\')) = first {
        return rest[3.min(rest.len())..].find('\'').map_or(rest.len(), |end| end + 4);
    }
    if let Some((at, '\'')) = letters.next() {
        return at + 1;
    }
    1 + rest.as_bytes()[1..].iter().take_while(|byte| is_word(**byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text)
            .into_iter()
            .filter_map(|token| match token {
                Token::Word(word) => Some(word),
                Token::Colons | Token::Sign(_) => None,
            })
            .collect()
    }

    #[test]
    fn comments_and_strings_are_left_out() {
        assert_eq!(words("a // b\nc /* d /* e */ f */ g"), ["a", "c", "g"]);
        assert_eq!(words(r#"a "b \" c" d b"e" 'f' '\'' '"' g b'"' h"#), ["a", "d", "g", "h"]);
        assert_eq!(words("a r\"b\" c r##\"d \"# e\"## f br#\"g\"# r#type"), ["a", "c", "f", "type"]);
        assert_eq!(words("x: &'static str, y: '\u{e4}', z: F<'a>"), ["x", "str", "y", "z", "F"]);
        assert_eq!(words(r"a '\u{1F600}' b '\\' c"), ["a", "b", "c"]);
    }

    #[test]
    fn what_is_not_closed_ends_with_the_text() {
        for text in ["\"a", "r#\"a", "/* a", "'", "'\\", "b'", "b'\\", "\"\\", "r#", "//"] {
            assert!(words(text).is_empty() || text == "r#", "{text}");
        }
    }

    #[test]
    fn colons_are_one_token() {
        let found = tokens("a::b: c");
        let expected =
            [Token::Word("a"), Token::Colons, Token::Word("b"), Token::Sign(':'), Token::Word("c")];
        assert_eq!(found, expected);
    }
}
