//! What a member has to be like.

use serde_json::Value;

/// The types of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Flag,
    List,
    Map,
    Structure,
}

/// Patterns of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// Without controls but tabs and ends of lines.
    Shown,
    /// Letters, digits, dots, hyphens and underscores.
    Word,
}

/// What a member has to be like.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule<'t> {
    kind: Kind,
    is_required: bool,
    /// It is part of the URL, where every value is a text.
    is_of_url: bool,
    min: Option<i64>,
    max: Option<i64>,
    pattern: Option<Pattern>,
    values: Vec<&'t str>,
}

/// What is not right with a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Broken {
    /// It is not there.
    Absent,
    /// Too short, or too few elements.
    Short(String, i64),
    /// Too long, or too many elements.
    Long(String, i64),
    /// Too small.
    Small(i64, i64),
    /// Too large.
    Large(i64, i64),
    /// Letters that it must not have.
    Letters(String, &'static str),
    /// None of the values that there are.
    Unknown(String, String),
}

impl Broken {
    /// In the words that all services have for it.
    pub(super) fn told(&self, place: &str) -> String {
        let said = |value: &str, must: String| {
            format!("Value {value} at '{place}' failed to satisfy constraint: Member must {must}")
        };
        match self {
            Self::Absent => said("null", "not be null".to_owned()),
            Self::Short(value, min) => {
                said(&format!("'{value}'"), format!("have length greater than or equal to {min}"))
            }
            Self::Long(value, max) => {
                said(&format!("'{value}'"), format!("have length less than or equal to {max}"))
            }
            Self::Small(value, min) => {
                said(&format!("'{value}'"), format!("have value greater than or equal to {min}"))
            }
            Self::Large(value, max) => {
                said(&format!("'{value}'"), format!("have value less than or equal to {max}"))
            }
            Self::Letters(value, pattern) => {
                said(&format!("'{value}'"), format!("satisfy regular expression pattern: {pattern}"))
            }
            Self::Unknown(value, values) => {
                said(&format!("'{value}'"), format!("satisfy enum value set: [{values}]"))
            }
        }
    }
}

impl<'t> Rule<'t> {
    /// A line of the table: the path, and what it says. `None` where it cannot be read.
    pub(super) fn read(line: &'t str) -> Option<(&'t str, Self)> {
        let mut words = line.strip_prefix(' ')?.split(' ');
        let path = words.next()?;
        let kind = match words.next()? {
            "text" => Kind::Text,
            "number" => Kind::Number,
            "flag" => Kind::Flag,
            "list" => Kind::List,
            "map" => Kind::Map,
            "structure" => Kind::Structure,
            // Numbers with fractions, times and bytes are only asked to be there.
            "float" | "double" | "timestamp" | "blob" => Kind::Text,
            _ => return None,
        };
        let mut rule = Self {
            kind,
            is_required: false,
            is_of_url: false,
            min: None,
            max: None,
            pattern: None,
            values: Vec::new(),
        };
        for word in words {
            match word {
                "required" => rule.is_required = true,
                "url" => rule.is_of_url = true,
                "shown" => rule.pattern = Some(Pattern::Shown),
                "word" => rule.pattern = Some(Pattern::Word),
                _ if word.starts_with('=') => rule.values = word[1..].split(',').collect(),
                _ => {
                    let (min, max) = word.split_once("..")?;
                    let bound =
                        |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
                    (rule.min, rule.max) = (bound(min)?, bound(max)?);
                }
            }
        }
        Some((path, rule))
    }

    /// What is not right with a value.
    ///
    /// # Errors
    /// Where it is of another type, in words.
    pub(super) fn check(&self, value: Option<&Value>, is_form: bool) -> Result<Vec<Broken>, String> {
        let is_form = is_form || self.is_of_url;
        let is_empty_of_form =
            |value: &&Value| is_form && self.kind != Kind::Text && value.as_str().is_some_and(str::is_empty);
        let Some(value) = value.filter(|value| !is_empty_of_form(value)) else {
            return Ok(if self.is_required { vec![Broken::Absent] } else { Vec::new() });
        };
        match self.kind {
            Kind::Text => match value.as_str() {
                Some(text) => Ok(self.text(text)),
                None if is_form || !self.is_text() => Ok(Vec::new()),
                None => Err(format!("{} can not be converted to a String", name_of(value))),
            },
            Kind::Number => {
                let text = value.as_str().filter(|_| is_form);
                let number = text.map_or_else(|| value.as_i64(), |text| text.parse().ok());
                let number = number.ok_or_else(|| match text {
                    Some(text) => text.to_owned(),
                    None => format!("{} can not be converted to an Integer", name_of(value)),
                })?;
                Ok([
                    self.min.filter(|min| number < *min).map(|min| Broken::Small(number, min)),
                    self.max.filter(|max| number > *max).map(|max| Broken::Large(number, max)),
                ]
                .into_iter()
                .flatten()
                .collect())
            }
            Kind::Flag => {
                let is_right = match value {
                    Value::Bool(_) => true,
                    Value::String(text) => is_form && ["true", "false"].contains(&&*text.to_lowercase()),
                    Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
                };
                match (is_right, is_form) {
                    (true, _) => Ok(Vec::new()),
                    (false, true) => Err(value.as_str().unwrap_or_default().to_owned()),
                    (false, false) => Err(format!("{} can not be converted to a Boolean", name_of(value))),
                }
            }
            Kind::List => match value.as_array() {
                Some(all) => Ok(self.length(&shown(all), all.len())),
                None if is_form => Ok(self.length(&value.to_string(), 1)),
                None => Err("Expected list or null".to_owned()),
            },
            Kind::Map | Kind::Structure => match value.as_object() {
                Some(all) if self.kind == Kind::Map => Ok(self.length(&value.to_string(), all.len())),
                Some(_) => Ok(Vec::new()),
                None if is_form => Ok(Vec::new()),
                None => Err(format!("Unexpected token {} where an object was expected", name_of(value))),
            },
        }
    }

    /// Whether it says anything of a text.
    fn is_text(&self) -> bool {
        self.min.is_some() || self.max.is_some() || self.pattern.is_some() || !self.values.is_empty()
    }

    fn text(&self, text: &str) -> Vec<Broken> {
        let mut broken = self.length(text, text.chars().count());
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        let (is_right, pattern) = match self.pattern {
            None => (true, ""),
            Some(Pattern::Shown) => (
                text.chars().all(|letter| letter >= ' ' || "\r\n\t".contains(letter)),
                r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*",
            ),
            Some(Pattern::Word) => (!text.is_empty() && text.chars().all(is_word), r"[\.\-_A-Za-z0-9]+"),
        };
        if !is_right {
            broken.push(Broken::Letters(text.to_owned(), pattern));
        }
        if !self.values.is_empty() && !self.values.contains(&text) {
            broken.push(Broken::Unknown(text.to_owned(), self.values.join(", ")));
        }
        broken
    }

    fn length(&self, shown: &str, length: usize) -> Vec<Broken> {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let short = self.min.filter(|min| length < *min).map(|min| Broken::Short(shown.to_owned(), min));
        let long = self.max.filter(|max| length > *max).map(|max| Broken::Long(shown.to_owned(), max));
        [short, long].into_iter().flatten().collect()
    }
}

fn shown(all: &[Value]) -> String {
    let told = |one: &Value| one.as_str().map_or_else(|| one.to_string(), str::to_owned);
    format!("[{}]", all.iter().map(told).collect::<Vec<_>>().join(", "))
}

/// What AWS calls a value of JSON.
fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Bool(true) => "TRUE_VALUE",
        Value::Bool(false) => "FALSE_VALUE",
        Value::Number(_) => "NUMBER_VALUE",
        Value::String(_) => "STRING_VALUE",
        Value::Array(_) => "START_ARRAY",
        Value::Object(_) => "START_OBJECT",
    }
}
