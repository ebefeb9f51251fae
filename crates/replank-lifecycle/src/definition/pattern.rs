//! Regular expressions as Go takes them (`regexp/syntax`, with its Perl flags): no look-around, no back references, repeated
//! 1,000 times at most.

const REPEATED_MAX: u64 = 1000;

/// Why Go does not compile an expression, if it does not.
pub(super) fn wrong(pattern: &str) -> Option<String> {
    let mut reader = Reader { rest: pattern, groups: vec![Group::default()] };
    reader.expression().err().map(str::to_owned)
}

/// What is open: what can be repeated in it, and how often it is at most.
#[derive(Default)]
struct Group {
    /// How often the parts of what was read last are repeated; `None` where there is nothing yet.
    last: Option<u64>,
    /// The most of everything before that.
    most: u64,
}

struct Reader<'p> {
    rest: &'p str,
    groups: Vec<Group>,
}

type Read<T> = Result<T, &'static str>;

const MISSING_PAREN: &str = "a parenthesis is not closed";
const MISSING_BRACKET: &str = "a bracket is not closed";
const BAD_ESCAPE: &str = "no escape of Go's";
const BAD_RANGE: &str = "no range of characters";

impl<'p> Reader<'p> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// One more thing that can be repeated.
    fn atom(&mut self, repeated: u64) {
        if let Some(group) = self.groups.last_mut() {
            group.most = group.most.max(group.last.unwrap_or(0));
            group.last = Some(repeated);
        }
    }

    fn expression(&mut self) -> Read<()> {
        let mut repeats = false;
        while let Some(next) = self.next() {
            let repeated_before = std::mem::replace(&mut repeats, false);
            match next {
                '(' if self.rest.starts_with('?') => self.flags()?,
                '(' => self.groups.push(Group::default()),
                '|' => {
                    if let Some(group) = self.groups.last_mut() {
                        group.most = group.most.max(group.last.take().unwrap_or(0));
                    }
                }
                ')' => {
                    let group = self.groups.pop().unwrap_or_default();
                    if self.groups.is_empty() {
                        return Err("a parenthesis is closed that is not open");
                    }
                    self.atom(group.most.max(group.last.unwrap_or(0)));
                }
                '[' => {
                    self.class()?;
                    self.atom(1);
                }
                '*' | '+' | '?' => {
                    self.repeat(1, repeated_before)?;
                    repeats = true;
                }
                '{' => match self.counts() {
                    Some(count) => {
                        self.repeat(count?, repeated_before)?;
                        repeats = true;
                    }
                    None => self.atom(1),
                },
                '\\' if self.eat("Q") => {
                    let (literal, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                    self.rest = rest;
                    literal.chars().for_each(|_| self.atom(1));
                }
                '\\' => {
                    let zero_width = ["A", "b", "B", "z"];
                    if !zero_width.iter().any(|escape| self.eat(escape)) && !self.named_class()? {
                        self.escape()?;
                    }
                    self.atom(1);
                }
                _ => self.atom(1),
            }
        }
        if self.groups.len() > 1 { Err(MISSING_PAREN) } else { Ok(()) }
    }

    /// What follows `(?`: a name, or flags, which may end there.
    fn flags(&mut self) -> Read<()> {
        self.eat("?");
        if self.eat("P<") || self.eat("<") {
            let (name, rest) = self.rest.split_once('>').ok_or("a name is not closed")?;
            let is_name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
            if name.is_empty() || !name.bytes().all(is_name) {
                return Err("a group's name has letters, digits and `_` only");
            }
            self.rest = rest;
            self.groups.push(Group::default());
            return Ok(());
        }
        let (mut negated, mut any) = (false, false);
        loop {
            match self.next() {
                Some('i' | 'm' | 's' | 'U') => any = true,
                Some('-') if !negated => (negated, any) = (true, false),
                Some(':') if any || !negated => {
                    self.groups.push(Group::default());
                    return Ok(());
                }
                Some(')') if any || !negated => return Ok(()),
                Some(_) => return Err("look-around and other groups of Perl are not supported"),
                None => return Err(MISSING_PAREN),
            }
        }
    }

    /// `n}`, `n,}` or `n,m}`: how often it is repeated at most. `None` where the brace is one like any other character.
    fn counts(&mut self) -> Option<Read<u64>> {
        let (within, rest) = self.rest.split_once('}')?;
        let (least, most) = within.split_once(',').unwrap_or((within, within));
        let is_number = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_digit())
                && (text == "0" || !text.starts_with('0'))
        };
        if !is_number(least) || !(most.is_empty() || is_number(most)) {
            return None;
        }
        self.rest = rest;
        // A number that is too large to be read is too large.
        let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
        let (from, to) = (number(least), if most.is_empty() { number(least) } else { number(most) });
        Some(if from > to || to > REPEATED_MAX { Err("repeated too often") } else { Ok(to) })
    }

    fn repeat(&mut self, count: u64, repeated_before: bool) -> Read<()> {
        self.eat("?");
        if repeated_before {
            return Err("a repetition of a repetition");
        }
        let group = self.groups.last_mut().ok_or(MISSING_PAREN)?;
        let last = group.last.ok_or("nothing is there to be repeated")?;
        // What is there once counts for one, whatever is in it.
        let all = if count >= 2 { last.max(1).saturating_mul(count) } else { last };
        if count >= 2 && all > REPEATED_MAX {
            return Err("repeated too often");
        }
        group.last = Some(if count == 0 { 0 } else { all });
        Ok(())
    }

    /// A class that has a name, behind its backslash.
    fn named_class(&mut self) -> Read<bool> {
        if ["d", "D", "s", "S", "w", "W"].iter().any(|class| self.eat(class)) {
            return Ok(true);
        }
        if !self.eat("p") && !self.eat("P") {
            return Ok(false);
        }
        let name = if self.eat("{") {
            let (name, rest) = self.rest.split_once('}').ok_or(BAD_RANGE)?;
            self.rest = rest;
            name.strip_prefix('^').unwrap_or(name).to_owned()
        } else {
            self.next().map(String::from).ok_or(BAD_RANGE)?
        };
        if UNICODE_CLASSES.split(' ').any(|known| known == name) { Ok(true) } else { Err(BAD_RANGE) }
    }

    /// One character behind its backslash.
    fn escape(&mut self) -> Read<char> {
        let octal = |reader: &mut Self, first: u32, more: usize| {
            let mut code = first;
            for _ in 0..more {
                let Some(digit) = reader.rest.chars().next().and_then(|next| next.to_digit(8)) else { break };
                code = code * 8 + digit;
                reader.next();
            }
            char::from_u32(code).ok_or(BAD_ESCAPE)
        };
        match self.next().ok_or("a backslash at the end")? {
            digit @ '1'..='7' => {
                if !self.rest.starts_with(|next| matches!(next, '0'..='7')) {
                    return Err("back references are not supported");
                }
                octal(self, digit.to_digit(8).unwrap_or(0), 2)
            }
            '0' => octal(self, 0, 2),
            'x' => {
                let digits = if self.eat("{") {
                    let (digits, rest) = self.rest.split_once('}').ok_or(BAD_ESCAPE)?;
                    self.rest = rest;
                    digits
                } else {
                    let digits = self.rest.get(..2).ok_or(BAD_ESCAPE)?;
                    self.rest = &self.rest[2..];
                    digits
                };
                if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Err(BAD_ESCAPE);
                }
                let code = u32::from_str_radix(digits, 16).map_err(|_| BAD_ESCAPE)?;
                // Halves of surrogate pairs are characters like others to Go.
                if code > 0x10_ffff {
                    Err(BAD_ESCAPE)
                } else {
                    Ok(char::from_u32(code).unwrap_or('\u{fffd}'))
                }
            }
            'a' => Ok('\u{7}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\u{b}'),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(other),
            _ => Err(BAD_ESCAPE),
        }
    }

    /// `[…]`, behind its bracket.
    fn class(&mut self) -> Read<()> {
        self.eat("^");
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            if self.rest.starts_with("[:")
                && let Some(end) = self.rest[2..].find(":]")
            {
                let name = &self.rest[2..2 + end];
                let name = name.strip_prefix('^').unwrap_or(name);
                if !POSIX_CLASSES.split(' ').any(|known| known == name) {
                    return Err(BAD_RANGE);
                }
                self.rest = &self.rest[2 + end + 2..];
                continue;
            }
            if let Some(escaped) = self.rest.strip_prefix('\\') {
                let before = self.rest;
                self.rest = escaped;
                if self.named_class()? {
                    continue;
                }
                self.rest = before;
            }
            let low = self.class_character()?;
            let mut ahead = self.rest.chars();
            if ahead.next() == Some('-') && ahead.next().is_some_and(|next| next != ']') {
                self.next();
                if self.class_character()? < low {
                    return Err(BAD_RANGE);
                }
            }
        }
        self.eat("]");
        Ok(())
    }

    fn class_character(&mut self) -> Read<char> {
        match self.next().ok_or(MISSING_BRACKET)? {
            '\\' => self.escape(),
            other => Ok(other),
        }
    }
}

const POSIX_CLASSES: &str =
    "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit";

/// General categories, and the scripts that expressions are written for. The others of Unicode are taken for unknown: a person
/// decides.
const UNICODE_CLASSES: &str = "Any C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl \
                               Zp Zs Arabic Armenian Bengali Cyrillic Devanagari Georgian Greek Han Hangul Hebrew Hiragana \
                               Katakana Latin Tamil Thai";

#[cfg(test)]
mod tests {
    use super::wrong;

    #[test]
    fn what_go_compiles_is_taken() {
        for pattern in [
            "",
            "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            "a{2,3}b{2}c{3,}",
            "{",
            "a{,2}",
            "a{02}",
            "(?i)a|(?:b)*",
            "(?P<x>a)(?<y>b)",
            "[]a]",
            "[^]]",
            "[a-]",
            "[[:alpha:]_]",
            r"\d+\.\d*?",
            r"[\w.-]+",
            r"\pL\p{Greek}",
            r"\x41\x{1F600}\012\0",
            r"\Q*[\E",
            "(|a)*",
            "^*",
            r"\_\-\/",
            "(a{10}){100}",
            "[[:]",
            "(a|b{3}){4}",
            "((a{2}){0}){1000}",
            "a(?i)*",
            "(?)",
            "x{0}",
            "[--a]",
            "\\/[^\\s\\]]",
        ] {
            assert_eq!(wrong(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn what_go_does_not_compile_is_refused() {
        for pattern in [
            "(?=a)",
            "(?!a)b",
            "(?<=a)",
            r"(a)\1",
            "a**",
            "a+*",
            "*",
            "(*a)",
            "a{1001}",
            "a{3,2}",
            "(a{100}){11}",
            "(",
            ")",
            "[a",
            "[z-a]",
            r"\",
            r"\C",
            r"\y",
            r"[\8]",
            "(?P<x y>a)",
            "(?x)a",
            "[[:nope:]]",
            r"\p{Nope}",
            r"\xZ1",
            "a{2}{3}",
            "|*",
            "(?-)",
            "(?i-)a",
            "a{99999999999999999999}",
            r"\Z",
            r"\h",
        ] {
            assert!(wrong(pattern).is_some(), "{pattern}");
        }
    }
}
