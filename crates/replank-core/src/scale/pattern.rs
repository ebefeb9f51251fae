//! Regular expressions as people write them for names of groups: literals, `.`, classes, groups, `|`, `*`, `+`, `?`, `^`, `$`.
//!
//! A crate without I/O takes no engine of regular expressions for a handful of patterns over names of at most 255 bytes. What is
//! not known (`\b`, counted repeats, look-around) is an error and not something else.

use replank_model::text::Text;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    text: Text,
    node: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    /// One of these, in order.
    Any(Vec<Node>),
    /// One after the other.
    All(Vec<Node>),
    Repeat(Box<Node>, usize, usize),
    One(Class),
    Start,
    End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Class {
    Dot,
    Literal(char),
    Set { ranges: Vec<(char, char)>, is_negated: bool },
}

impl Class {
    fn has(&self, one: char) -> bool {
        match self {
            Self::Dot => one != '\n',
            Self::Literal(literal) => *literal == one,
            Self::Set { ranges, is_negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&one)) != *is_negated
            }
        }
    }
}

/// More than any name has, so that a repeat of what is empty ends.
const MANY: usize = 1 << 10;

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is not known, and where.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader { text: text.chars().collect(), at: 0 };
        let node = reader.any()?;
        match reader.peek() {
            Some(_) => Err(reader.flaw("unmatched closing parenthesis")),
            None => Ok(Self { text: text.into(), node }),
        }
    }

    pub(super) fn text(&self) -> &Text {
        &self.text
    }

    /// Whether the pattern is found anywhere in a name.
    pub(super) fn is_found_in(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        (0..=name.len()).any(|from| !ends(&self.node, &name, &[from]).is_empty())
    }
}

/// All positions at which a match can end that begins at one of some positions; each once, so that the work is bounded by the
/// pattern's size times the square of the name's length.
fn ends(node: &Node, name: &[char], from: &[usize]) -> Vec<usize> {
    let mut ends_at: Vec<usize> = match node {
        Node::Any(nodes) => nodes.iter().flat_map(|one| ends(one, name, from)).collect(),
        Node::All(nodes) => nodes.iter().fold(from.to_vec(), |from, one| ends(one, name, &from)),
        Node::Repeat(one, least, most) => {
            let (mut now, mut all) = (from.to_vec(), Vec::new());
            for times in 0..=*most {
                if times >= *least {
                    let known = all.len();
                    all.extend(now.iter().copied());
                    all.sort_unstable();
                    all.dedup();
                    if all.len() == known {
                        break;
                    }
                }
                now = ends(one, name, &now);
                if now.is_empty() {
                    break;
                }
            }
            all
        }
        Node::One(class) => {
            let on = from.iter().filter(|at| name.get(**at).is_some_and(|one| class.has(*one)));
            on.map(|at| at + 1).collect()
        }
        Node::Start => from.iter().copied().filter(|at| *at == 0).collect(),
        Node::End => from.iter().copied().filter(|at| *at == name.len()).collect(),
    };
    ends_at.sort_unstable();
    ends_at.dedup();
    ends_at
}

struct Reader {
    text: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let one = self.peek()?;
        self.at += 1;
        Some(one)
    }

    fn flaw(&self, what: &str) -> String {
        let text: String = self.text.iter().collect();
        format!("pattern {text:?}, character {}: {what}", self.at + 1)
    }

    fn any(&mut self) -> Result<Node, String> {
        let mut nodes = vec![self.all()?];
        while self.peek() == Some('|') {
            self.at += 1;
            nodes.push(self.all()?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Any(nodes) })
    }

    fn all(&mut self) -> Result<Node, String> {
        let mut nodes = Vec::new();
        while let Some(one) = self.peek().filter(|one| !matches!(one, '|' | ')')) {
            self.at += 1;
            let node = match one {
                '^' => Node::Start,
                '$' => Node::End,
                '.' => Node::One(Class::Dot),
                '[' => Node::One(self.set()?),
                '\\' => Node::One(self.escaped()?),
                '(' => self.group()?,
                '*' | '+' | '?' | '{' => {
                    return Err(self.flaw("a repetition without an operand, or an unknown one"));
                }
                literal => Node::One(Class::Literal(literal)),
            };
            nodes.push(self.repeated(node));
        }
        Ok(Node::All(nodes))
    }

    fn repeated(&mut self, node: Node) -> Node {
        let (least, most) = match self.peek() {
            Some('*') => (0, MANY),
            Some('+') => (1, MANY),
            Some('?') => (0, 1),
            Some(_) | None => return node,
        };
        self.at += 1;
        // A lazy repeat finds the same names.
        if self.peek() == Some('?') {
            self.at += 1;
        }
        Node::Repeat(Box::new(node), least, most)
    }

    fn group(&mut self) -> Result<Node, String> {
        if self.peek() == Some('?') {
            self.at += 1;
            if self.next() != Some(':') {
                return Err(self.flaw("an unknown kind of group"));
            }
        }
        let node = self.any()?;
        match self.next() {
            Some(')') => Ok(node),
            Some(_) | None => Err(self.flaw("unclosed parenthesis")),
        }
    }

    fn escaped(&mut self) -> Result<Class, String> {
        let set = |ranges: &[(char, char)], is_negated| Class::Set { ranges: ranges.to_vec(), is_negated };
        let word = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
        match self.next() {
            Some('d') => Ok(set(&word[..1], false)),
            Some('D') => Ok(set(&word[..1], true)),
            Some('w') => Ok(set(&word, false)),
            Some('W') => Ok(set(&word, true)),
            Some(one) if one.is_alphanumeric() => Err(self.flaw("an unknown escape")),
            Some(one) => Ok(Class::Literal(one)),
            None => Err(self.flaw("a trailing backslash")),
        }
    }

    fn set(&mut self) -> Result<Class, String> {
        let is_negated = self.peek() == Some('^');
        self.at += usize::from(is_negated);
        let mut ranges = Vec::new();
        loop {
            let low = match self.next() {
                Some(']') if !ranges.is_empty() => return Ok(Class::Set { ranges, is_negated }),
                Some('\\') => match self.escaped()? {
                    Class::Literal(one) => one,
                    Class::Set { ranges: more, is_negated: false } => {
                        ranges.extend(more);
                        continue;
                    }
                    Class::Set { .. } | Class::Dot => {
                        return Err(self.flaw("an unknown class within a class"));
                    }
                },
                Some(one) => one,
                None => return Err(self.flaw("unclosed bracket")),
            };
            let is_range =
                self.peek() == Some('-') && self.text.get(self.at + 1).is_some_and(|one| *one != ']');
            if is_range {
                self.at += 1;
                let high = self.next().unwrap_or(low);
                if high < low {
                    return Err(self.flaw("a range whose end is before its start"));
                }
                ranges.push((low, high));
            } else {
                ranges.push((low, low));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, name: &str) -> bool {
        Pattern::read(pattern).expect("it is known").is_found_in(name)
    }

    #[test]
    fn patterns_are_found_as_people_mean_them() {
        for (pattern, name, expected) in [
            (".*", "", true),
            ("spot", "web-spot-a", true),
            ("^spot", "web-spot-a", false),
            ("a$", "web-spot-a", true),
            ("^(web|api)-[a-c]$", "api-b", true),
            ("^(web|api)-[a-c]$", "api-d", false),
            ("eks-.+-[0-9a-f]+", "eks-web-12ab", true),
            ("m5\\.large", "m5xlarge", false),
            ("^[^-]+$", "web", true),
            ("^[^-]+$", "web-a", false),
            ("x?y*z", "z", true),
            ("(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false),
            ("\\d{0}", "", false),
        ] {
            if pattern.contains('{') {
                assert!(Pattern::read(pattern).is_err(), "{pattern}");
                continue;
            }
            assert_eq!(found(pattern, name), expected, "{pattern} in {name:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for pattern in ["a(", "a)", "[a", "*a", "a{2}", "\\b", "(?=a)", "[z-a]", "a\\"] {
            assert!(Pattern::read(pattern).is_err(), "{pattern}");
        }
    }
}
