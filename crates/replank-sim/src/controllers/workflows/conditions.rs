//! Conditions of steps and tasks: `when` and `depends` (argo-workflows `workflow/controller/steps.go` `shouldExecute`, `common/ancestry.go`).
//!
//! Both are texts with `&&`, `||`, `!` and brackets; they differ in what stands between. What cannot be told has no answer, unless the rest decides.

/// Whether a text holds, of which `atom` answers the parts between the signs; `None` where that cannot be told.
pub(super) fn holds(text: &str, atom: &dyn Fn(&[&str]) -> Option<bool>) -> Option<bool> {
    let words = words(text);
    let mut reader = Reader { words: &words, atom };
    let value = reader.or()?;
    reader.words.is_empty().then_some(value).flatten()
}

/// Whether a comparison of a `when` holds; words without quotes are texts.
pub(super) fn compared(words: &[&str]) -> Option<bool> {
    let plain = |word: &str| word.trim_matches(['\'', '"']).to_owned();
    match words {
        ["true"] => Some(true),
        ["false"] => Some(false),
        [left, sign, right] => {
            let (left, right) = (plain(left), plain(right));
            let numbers = || Some((left.parse::<f64>().ok()?, right.parse::<f64>().ok()?));
            match *sign {
                "==" => Some(numbers().map_or(left == right, |(a, b)| a == b)),
                "!=" => Some(numbers().map_or(left != right, |(a, b)| a != b)),
                "<" => numbers().map(|(a, b)| a < b),
                "<=" => numbers().map(|(a, b)| a <= b),
                ">" => numbers().map(|(a, b)| a > b),
                ">=" => numbers().map(|(a, b)| a >= b),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Longer signs before those they begin with.
const SIGNS: [&str; 11] = ["&&", "||", "==", "!=", "<=", ">=", "=~", "<", ">", "(", ")"];

fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign)).map(|sign| sign.len());
        let is_end = |c: char| c.is_whitespace() || "()&|=!<>".contains(c);
        let length = match (sign, first) {
            (Some(length), _) => length,
            (None, '!') => 1,
            (None, '\'' | '"') => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            (None, _) => rest.find(is_end).unwrap_or(rest.len()).max(first.len_utf8()),
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

struct Reader<'a> {
    words: &'a [&'a str],
    atom: &'a dyn Fn(&[&str]) -> Option<bool>,
}

/// `None` outside: it is not such a text. Inside: what it says, if that can be told.
type Read = Option<Option<bool>>;

impl Reader<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let is_next = self.words.first() == Some(&sign);
        self.words = &self.words[usize::from(is_next)..];
        is_next
    }

    fn or(&mut self) -> Read {
        let mut value = self.and()?;
        while self.take("||") {
            value = match (value, self.and()?) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                (None, _) | (_, None) => None,
            };
        }
        Some(value)
    }

    fn and(&mut self) -> Read {
        let mut value = self.not()?;
        while self.take("&&") {
            value = match (value, self.not()?) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                (None, _) | (_, None) => None,
            };
        }
        Some(value)
    }

    fn not(&mut self) -> Read {
        if self.take("!") {
            return Some(self.not()?.map(|value| !value));
        }
        if self.take("(") {
            let value = self.or()?;
            return self.take(")").then_some(value);
        }
        let is_sign = |word: &&&str| ["&&", "||", "(", ")"].contains(*word);
        let length = self.words.iter().take_while(|word| !is_sign(word)).count();
        let (own, rest) = self.words.split_at(length);
        self.words = rest;
        (length > 0).then(|| (self.atom)(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_texts_and_numbers() {
        for (text, expected) in [
            ("heads == heads", Some(true)),
            ("'two words' != tails", Some(true)),
            ("1.0 == 1", Some(true)),
            ("10 > 9 && 2 <= 1", Some(false)),
            ("(a == b || 3 >= 3) && !(x == y)", Some(true)),
            ("true", Some(true)),
            ("a =~ b", None),
            ("a =~ b || 1 == 1", Some(true)),
            ("a < b", None),
            ("a == ", None),
            ("(a == a", None),
            ("", None),
        ] {
            assert_eq!(holds(text, &compared), expected, "{text}");
        }
    }

    #[test]
    fn names_of_tasks_with_their_results() {
        let atom = |words: &[&str]| match words {
            ["a.Failed"] => Some(false),
            [name] => Some(name.starts_with('a')),
            _ => None,
        };
        assert_eq!(holds("a && (a.Failed || a.Succeeded) && !b", &atom), Some(true));
        assert_eq!(holds("a&&b||a.Failed", &atom), Some(false));
        assert_eq!(holds("a b", &atom), None);
    }
}
