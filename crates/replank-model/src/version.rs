//! Versions of Kubernetes and its API (apimachinery 1.36: `pkg/util/version/version.go`, `pkg/version/helpers.go`).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use smallvec::SmallVec;

use crate::go::{self, Quoted};

/// A version number: `1.36`, `v1.36.2-eks-1a2b3c4`.
///
/// There is no `Eq` or `Ord`: versions compare as upstream compares them, and that is not a total order. A
/// generic version is equal to a semantic one of the same numbers whatever its pre-release, and so two that are equal
/// to a third need not be equal to each other.
#[derive(Clone, Debug)]
pub struct Version {
    /// At least two.
    components: SmallVec<[u64; 3]>,
    syntax: Syntax,
}

#[derive(Clone, Debug)]
enum Syntax {
    /// What follows the numbers is not looked at.
    Generic,
    Semantic {
        pre_release: Box<str>,
        build: Box<str>,
    },
}

/// Why a text is not a version; reads as upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// It does not begin with a number.
    #[error("could not parse {} as version", Quoted(.text))]
    NotVersion {
        /// All of it.
        text: String,
    },
    /// Not three numbers in a semantic version, fewer than two in a generic one.
    #[error("illegal version string {}", Quoted(.text))]
    Count {
        /// All of it.
        text: String,
    },
    /// A number that begins with 0 where it may not.
    #[error("illegal zero-prefixed version component {} in {}", Quoted(.component), Quoted(.text))]
    ZeroPrefixed {
        /// The number.
        component: String,
        /// All of it.
        text: String,
    },
    /// A number beyond 64 bits.
    #[error(
        "illegal non-numeric version component {0} in {1}: strconv.ParseUint: parsing {0}: value out of range",
        Quoted(.component),
        Quoted(.text)
    )]
    OutOfRange {
        /// The number.
        component: String,
        /// All of it.
        text: String,
    },
    /// What follows the numbers of a semantic version is neither pre-release nor build.
    #[error("could not parse pre-release/metadata ({extra}) in version {}", Quoted(.text))]
    Extra {
        /// What follows.
        extra: String,
        /// All of it.
        text: String,
    },
}

/// Which of upstream's two syntaxes a text is read in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Generic,
    Semantic,
}

impl Version {
    /// Two or more numbers, and whatever follows (`ParseGeneric`).
    ///
    /// # Errors
    /// If the text does not begin like that.
    pub fn parse_generic(text: &str) -> Result<Self, VersionError> {
        Self::read(text, Reading::Generic)
    }

    /// Three numbers, and a pre-release and build as in Semantic Versioning (`ParseSemantic`).
    ///
    /// # Errors
    /// If the text is anything else.
    pub fn parse_semantic(text: &str) -> Result<Self, VersionError> {
        Self::read(text, Reading::Semantic)
    }

    /// The first two numbers of a generic version (`ParseMajorMinor`).
    ///
    /// # Errors
    /// As [`Version::parse_generic`].
    pub fn parse_major_minor(text: &str) -> Result<Self, VersionError> {
        let whole = Self::parse_generic(text)?;
        Ok(Self::major_minor(whole.major(), whole.minor()))
    }

    /// A generic version of two numbers.
    pub fn major_minor(major: u64, minor: u64) -> Self {
        Self { components: SmallVec::from_slice(&[major, minor]), syntax: Syntax::Generic }
    }

    fn read(text: &str, reading: Reading) -> Result<Self, VersionError> {
        let not_version = || VersionError::NotVersion { text: text.to_owned() };
        let (numbers, extra) = split_numbers(text).ok_or_else(not_version)?;
        let count = numbers.split('.').count();
        let has_count = match reading {
            Reading::Semantic => count == 3,
            Reading::Generic => count >= 2,
        };
        if !has_count {
            return Err(VersionError::Count { text: text.to_owned() });
        }
        let mut components = SmallVec::new();
        for component in numbers.split('.') {
            if (components.is_empty() || reading == Reading::Semantic) && is_zero_prefixed(component) {
                return Err(zero_prefixed(component, text));
            }
            // They are digits, so that size is all that can be wrong.
            let number = go::parse_uint(component.as_bytes()).map_err(|_| VersionError::OutOfRange {
                component: component.to_owned(),
                text: text.to_owned(),
            })?;
            components.push(number);
        }
        let syntax = match reading {
            Reading::Generic => Syntax::Generic,
            Reading::Semantic => {
                let no_extra = || VersionError::Extra { extra: extra.to_owned(), text: text.to_owned() };
                let (pre_release, build) = split_extra(extra).ok_or_else(no_extra)?;
                let numeric = |part: &&str| go::parse_uint(part.as_bytes()).is_ok() && is_zero_prefixed(part);
                if let Some(part) = pre_release.split('.').find(numeric) {
                    return Err(zero_prefixed(part, text));
                }
                Syntax::Semantic { pre_release: pre_release.into(), build: build.into() }
            }
        };
        Ok(Self { components, syntax })
    }

    /// The first number.
    pub fn major(&self) -> u64 {
        self.components[0]
    }

    /// The second number.
    pub fn minor(&self) -> u64 {
        self.components[1]
    }

    /// The third number, 0 if there is none.
    pub fn patch(&self) -> u64 {
        self.components.get(2).copied().unwrap_or(0)
    }

    /// All numbers.
    pub fn components(&self) -> &[u64] {
        &self.components
    }

    /// The pre-release of a semantic version, else empty.
    pub fn pre_release(&self) -> &str {
        match &self.syntax {
            Syntax::Generic => "",
            Syntax::Semantic { pre_release, .. } => pre_release,
        }
    }

    /// The build metadata of a semantic version, else empty. It does not count in comparisons.
    pub fn build(&self) -> &str {
        match &self.syntax {
            Syntax::Generic => "",
            Syntax::Semantic { build, .. } => build,
        }
    }

    /// Numbers first, with missing ones taken as 0; then, only between two semantic versions, the pre-release.
    pub fn compare(&self, other: &Self) -> Ordering {
        let length = self.components.len().max(other.components.len());
        let number = |version: &Self, index| version.components.get(index).copied().unwrap_or(0);
        let by_number = (0..length)
            .map(|index| number(self, index).cmp(&number(other, index)))
            .find(|ordering| ordering.is_ne());
        match (&self.syntax, &other.syntax) {
            (
                Syntax::Semantic { pre_release: left, build: _ },
                Syntax::Semantic { pre_release: right, build: _ },
            ) => by_number.unwrap_or_else(|| compare_pre_releases(left, right)),
            (Syntax::Generic, Syntax::Generic | Syntax::Semantic { .. })
            | (Syntax::Semantic { .. }, Syntax::Generic) => by_number.unwrap_or(Ordering::Equal),
        }
    }

    /// Against a text, which is read in this version's own syntax (upstream's `Compare`).
    ///
    /// # Errors
    /// If the text is not a version in that syntax.
    pub fn compare_text(&self, other: &str) -> Result<Ordering, VersionError> {
        let reading = match self.syntax {
            Syntax::Generic => Reading::Generic,
            Syntax::Semantic { .. } => Reading::Semantic,
        };
        Ok(self.compare(&Self::read(other, reading)?))
    }

    /// Whether it is not older than `least`.
    pub fn is_at_least(&self, least: &Self) -> bool {
        self.compare(least).is_ge()
    }
}

/// Semantic if it can be, else generic (upstream's `Parse`).
impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        Self::parse_semantic(text).or_else(|_| Self::parse_generic(text))
    }
}

/// Go's `\s`.
fn is_space(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\u{c}' | '\r' | ' ')
}

fn is_zero_prefixed(number: &str) -> bool {
    number.starts_with('0') && number != "0"
}

fn zero_prefixed(component: &str, text: &str) -> VersionError {
    VersionError::ZeroPrefixed { component: component.to_owned(), text: text.to_owned() }
}

/// `\s*v?([0-9]+(\.[0-9]+)*)(.*)`: the numbers, and what follows on the same line, which must be the last one.
fn split_numbers(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(is_space);
    let text = text.strip_prefix('v').unwrap_or(text);
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if end == 0 {
        return None;
    }
    while bytes.get(end) == Some(&b'.') {
        match digits(end + 1) {
            0 => break,
            more => end += 1 + more,
        }
    }
    let (numbers, extra) = text.split_at(end);
    (!extra.contains('\n')).then_some((numbers, extra))
}

/// `(-PRE)?(\+BUILD)?\s*`, where both are identifiers with dots between them.
fn split_extra(extra: &str) -> Option<(&str, &str)> {
    let (pre_release, rest) = identifiers(extra, '-')?;
    let (build, rest) = identifiers(rest, '+')?;
    rest.chars().all(is_space).then_some((pre_release, build))
}

/// The identifiers behind `mark` and what follows them; if there is no mark, nothing and everything.
fn identifiers(text: &str, mark: char) -> Option<(&str, &str)> {
    let Some(text) = text.strip_prefix(mark) else {
        return Some(("", text));
    };
    let is_end = |character: char| !(character.is_ascii_alphanumeric() || matches!(character, '-' | '.'));
    let (found, rest) = text.split_at(text.find(is_end).unwrap_or(text.len()));
    (!found.split('.').any(str::is_empty)).then_some((found, rest))
}

fn compare_pre_releases(left: &str, right: &str) -> Ordering {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let by_identifier = left.split('.').zip(right.split('.')).map(|(left, right)| {
        match (go::parse_uint(left.as_bytes()), go::parse_uint(right.as_bytes())) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            (Ok(_) | Err(_), _) => left.cmp(right),
        }
    });
    let first = by_identifier.into_iter().find(|ordering| ordering.is_ne());
    first.unwrap_or_else(|| left.split('.').count().cmp(&right.split('.').count()))
}

/// Of a generic version without what followed the numbers.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, component) in self.components.iter().enumerate() {
            let point = if index == 0 { "" } else { "." };
            write!(f, "{point}{component}")?;
        }
        for (mark, part) in [('-', self.pre_release()), ('+', self.build())] {
            if !part.is_empty() {
                write!(f, "{mark}{part}")?;
            }
        }
        Ok(())
    }
}

/// How stable an API version is. The greater is preferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

/// Which of two API versions goes first (`CompareKubeAwareVersionStrings`): the greater is the preferred one, as in
/// `v2 > v1 > v2beta1 > v1beta2 > v1alpha1`. A text of another form is less than all of these, and among such texts
/// the one that is first by the alphabet is the greater.
pub fn compare_api_versions(left: &str, right: &str) -> Ordering {
    match (priority(left), priority(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => right.cmp(left),
    }
}

/// Stability, major and minor number of `v1`, `v1beta2` or `v1alpha3`.
fn priority(version: &str) -> Option<(Stability, i64, i64)> {
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        go::parse_int(digits.as_bytes()).ok().filter(|_| is_number)
    };
    let version = version.strip_prefix('v')?;
    let (major, rest) =
        version.split_at(version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len()));
    let (stability, minor) = if rest.is_empty() {
        (Stability::Stable, 0)
    } else if let Some(minor) = rest.strip_prefix("beta") {
        (Stability::Beta, number(minor)?)
    } else {
        (Stability::Alpha, number(rest.strip_prefix("alpha")?)?)
    };
    Some((stability, number(major)?, minor))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn missing_numbers_are_zero() {
        let compare = |left: &str, right: &str| version(left).compare(&version(right));
        assert_eq!(compare("1.36", "1.36.0"), Ordering::Equal);
        assert_eq!(compare("1.36", "1.36.0.0.1"), Ordering::Less);
        assert_eq!(compare("1.36.1.2", "1.36.1"), Ordering::Greater);
    }

    #[test]
    fn pre_releases_count_between_semantic_versions_alone() {
        let ordered =
            ["1.2.3-1", "1.2.3-2", "1.2.3-10", "1.2.3-a", "1.2.3-a.1", "1.2.3-a.b", "1.2.3-a.b.c", "1.2.3"];
        for (index, left) in ordered.iter().enumerate() {
            for (other, right) in ordered.iter().enumerate() {
                assert_eq!(version(left).compare(&version(right)), index.cmp(&other), "{left} {right}");
            }
            assert_eq!(Version::parse_generic("1.2.3").unwrap().compare(&version(left)), Ordering::Equal);
        }
        assert_eq!(version("1.2.3+a").compare(&version("1.2.3+b")), Ordering::Equal);
    }

    #[test]
    fn white_space_is_taken_where_upstream_takes_it() {
        assert_eq!(Version::parse_semantic("\n v1.2.3-a+b \t").unwrap().to_string(), "1.2.3-a+b");
        assert!(Version::parse_generic("1.2.3\n").is_err());
        assert!(Version::parse_generic("1.2\u{a0}").is_ok());
        assert!(Version::parse_semantic("1.2.3\u{a0}").is_err());
        assert!(Version::parse_generic("vv1.2").is_err());
    }

    #[test]
    fn api_versions_go_stable_first() {
        let sorted = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v1alpha",
            "v1beta1x",
            "v99999999999999999999",
        ];
        for (index, left) in sorted.iter().enumerate() {
            for (other, right) in sorted.iter().enumerate() {
                assert_eq!(compare_api_versions(left, right), other.cmp(&index), "{left} {right}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*", near in "[ v]{0,2}[0-9.]{0,12}[-+a-c0-9. \n]{0,12}", other in ".*") {
            for text in [text, near] {
                if let Err(error) = Version::parse_semantic(&text) {
                    prop_assert!(!error.to_string().is_empty());
                }
                if let Ok(version) = text.parse::<Version>() {
                    prop_assert_eq!(version.to_string().parse::<Version>().unwrap().to_string(), version.to_string());
                    prop_assert_eq!(version.compare(&version), Ordering::Equal);
                }
                prop_assert_eq!(compare_api_versions(&text, &other), compare_api_versions(&other, &text).reverse());
            }
        }
    }
}
