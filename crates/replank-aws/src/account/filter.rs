//! Filters and pages of what EC2 describes.

use serde_json::{Value, json};

use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::page::page;

/// Filters by their names, each with the path of what it compares. A list on the way is passed through: one of its elements has to be asked for.
pub(crate) type Known = &'static [(&'static str, &'static str)];

/// How many results a page may be asked to have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pages {
    /// The fewest.
    pub(crate) min: i64,
    /// The most.
    pub(crate) max: i64,
    /// Where nothing is asked.
    pub(crate) default: i64,
}

impl Pages {
    /// From five to a thousand.
    pub(crate) const MANY: Self = Self { min: 5, max: 1000, default: 1000 };

    /// How many are asked for.
    ///
    /// # Errors
    /// Where it is not among those.
    pub(crate) fn size(self, input: Input<'_>) -> Result<usize, Fault> {
        let asked = input.number("MaxResults")?.unwrap_or(self.default);
        let wrong = |words: &str, bound: i64| {
            Fault::bad(
                "InvalidParameterValue",
                format!(
                    "Value ( {asked} ) for parameter maxResults is invalid. Expecting a value {words} {bound}."
                ),
            )
        };
        if asked < self.min {
            return Err(wrong("greater than", self.min));
        }
        if asked > self.max {
            return Err(wrong("smaller than or equal to", self.max));
        }
        Ok(usize::try_from(asked).unwrap_or(1))
    }
}

/// The filters of a call, which are all known.
#[derive(Clone, Debug)]
pub(crate) struct Filters {
    all: Vec<(By, Vec<String>)>,
}

#[derive(Clone, Debug)]
enum By {
    Path(&'static str),
    Tag(String),
    TagKey,
}

impl Filters {
    /// Reads them.
    ///
    /// # Errors
    /// In EC2's words for a filter that it does not know.
    pub(crate) fn read(input: Input<'_>, known: Known) -> Result<Self, Fault> {
        let one = |filter: Input<'_>| {
            let name = filter.text("Name").unwrap_or_default();
            let path = known.iter().find(|(known, _)| *known == name).map(|(_, path)| By::Path(path));
            let by = path.or_else(|| match name {
                "tag-key" => Some(By::TagKey),
                _ => name.strip_prefix("tag:").map(|key| By::Tag(key.to_owned())),
            });
            let by = by.ok_or_else(|| {
                Fault::bad("InvalidParameterValue", format!("The filter '{name}' is invalid"))
            })?;
            Ok((by, filter.texts("Value")))
        };
        Ok(Self { all: input.inputs("Filter").map(one).collect::<Result<_, _>>()? })
    }

    /// Whether something is what all of them ask for. Values may have stars and question marks.
    pub(crate) fn pass(&self, shown: &Value) -> bool {
        self.all.iter().all(|(by, values)| {
            let is_one = |text: &str| values.iter().any(|value| is_like(text, value));
            match by {
                By::Path(path) => leads_to(shown, path, &is_one),
                By::Tag(key) => tags(shown).any(|(own, value)| own == key && is_one(value)),
                By::TagKey => tags(shown).any(|(own, _)| is_one(own)),
            }
        })
    }
}

/// The refusal of a token of EC2's pages.
pub(crate) fn bad_token() -> Fault {
    Fault::bad(
        "InvalidParameterValue",
        "Value for parameter NextToken is invalid. Reason: it is none of ours.",
    )
}

/// What is described: those that are asked for by filters, by pages.
///
/// # Errors
/// Where a filter, the size of a page or a token is not right.
pub(crate) fn listed(
    input: Input<'_>,
    member: &str,
    all: Vec<(String, Value)>,
    known: Known,
    pages: Pages,
) -> Reply {
    let filters = Filters::read(input, known)?;
    let size = pages.size(input)?;
    let all = all.into_iter().filter(|(_, shown)| filters.pass(shown)).collect();
    let (found, next) = page(all, size, input.text("NextToken"), &bad_token())?;
    Ok(json!({member: found, "nextToken": next}))
}

/// Those of ids that are named; all where none is.
///
/// # Errors
/// The refusal of the first that is not there.
pub(crate) fn by_ids(
    all: Vec<(String, Value)>,
    ids: &[String],
    missing: impl Fn(&str) -> Fault,
) -> Result<Vec<(String, Value)>, Fault> {
    if let Some(id) = ids.iter().find(|id| !all.iter().any(|(known, _)| known == *id)) {
        return Err(missing(id));
    }
    Ok(all.into_iter().filter(|(id, _)| ids.is_empty() || ids.contains(id)).collect())
}

fn tags(shown: &Value) -> impl Iterator<Item = (&str, &str)> {
    let all = shown["tagSet"].as_array().into_iter().flatten();
    all.map(|tag| (tag["key"].as_str().unwrap_or_default(), tag["value"].as_str().unwrap_or_default()))
}

fn leads_to(value: &Value, path: &str, is_one: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::Array(all) => all.iter().any(|one| leads_to(one, path, is_one)),
        Value::Object(_) => {
            let (name, rest) = path.split_once('.').unwrap_or((path, ""));
            leads_to(&value[name], rest, is_one)
        }
        Value::Null => false,
        Value::String(text) => path.is_empty() && is_one(text),
        Value::Bool(_) | Value::Number(_) => path.is_empty() && is_one(&value.to_string()),
    }
}

/// Whether a text is one that a filter's value describes: a star stands for any characters, a question mark for one, and a backslash takes that from them.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut letters = pattern.chars();
    match letters.next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = letters.as_str();
            text.char_indices().any(|(at, _)| is_like(&text[at..], rest)) || is_like("", rest)
        }
        Some('?') => {
            let mut left = text.chars();
            left.next().is_some() && is_like(left.as_str(), letters.as_str())
        }
        Some(letter) => {
            let wanted = if letter == '\\' { letters.next().unwrap_or(letter) } else { letter };
            text.strip_prefix(wanted).is_some_and(|left| is_like(left, letters.as_str()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Known = &[("a-b", "a.b"), ("is-c", "c"), ("n", "n")];

    fn asked(filters: &Value) -> Result<Filters, String> {
        Filters::read(Input(&json!({"Filter": filters})), KNOWN).map_err(|fault| fault.message)
    }

    #[test]
    fn filters_look_into_lists_and_at_tags() {
        let shown = json!({"a": [{"b": "x"}, {"b": "yz"}], "c": true, "n": 8, "tagSet": [{"key": "k", "value": "v/1"}]});
        let passes = |name: &str, values: &[&str]| {
            asked(&json!([{"Name": name, "Value": values}])).expect("it is known").pass(&shown)
        };
        assert!(passes("a-b", &["x"]) && passes("a-b", &["no", "y*"]) && passes("a-b", &["?z"]));
        assert!(!passes("a-b", &["y"]) && !passes("a-b", &[]) && !passes("a-b", &["?"][..0]));
        assert!(passes("is-c", &["true"]) && passes("n", &["8"]) && !passes("n", &["80"]));
        assert!(passes("tag:k", &["v/*"]) && passes("tag-key", &["k"]) && !passes("tag:other", &["*"]));
        let both = json!([{"Name": "a-b", "Value": ["x"]}, {"Name": "tag:k", "Value": ["w"]}]);
        assert!(!asked(&both).expect("they are known").pass(&shown));
        let wrong = asked(&json!([{"Name": "d", "Value": ["x"]}])).expect_err("nobody knows it");
        assert_eq!(wrong, "The filter 'd' is invalid");
    }

    #[test]
    fn values_have_wildcards() {
        for (text, pattern, is_so) in [
            ("abc", "abc", true),
            ("abc", "a*", true),
            ("abc", "*c", true),
            ("abc", "a?c", true),
            ("abc", "*b*", true),
            ("abc", "?", false),
            ("", "*", true),
            ("a*c", "a\\*c", true),
            ("abc", "a\\*c", false),
            ("ac", "a?c", false),
        ] {
            assert_eq!(is_like(text, pattern), is_so, "{text} {pattern}");
        }
    }

    #[test]
    fn pages_have_sizes_that_ec2_takes() {
        let of = |asked: Value| {
            Pages::MANY.size(Input(&json!({"MaxResults": asked}))).map_err(|fault| fault.message)
        };
        assert_eq!(of(json!("5")), Ok(5));
        assert_eq!(of(Value::Null), Ok(1000));
        assert!(of(json!("4")).is_err_and(|words| words.ends_with("Expecting a value greater than 5.")));
        assert!(of(json!("1001")).is_err());
    }
}
