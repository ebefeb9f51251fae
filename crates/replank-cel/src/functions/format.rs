//! Named formats of texts (apiserver `pkg/cel/library/format.go`).

use regex_lite::Regex;

use super::part::{Made, failed};
use crate::convert::unbase64;
use crate::time;
use crate::value::Val;

/// Name, pattern, most characters, and what is said of what does not match.
const FORMATS: [(&str, &str, usize, &str); 13] = [
    ("dns1123Label", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 63, LABEL),
    (
        "dns1123Subdomain",
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        253,
        SUBDOMAIN,
    ),
    ("dns1035Label", "^[a-z]([-a-z0-9]*[a-z0-9])?$", 63, LABEL_1035),
    ("qualifiedName", "^([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", 317, QUALIFIED),
    ("dns1123LabelPrefix", "^[a-z0-9][-a-z0-9]*$", 63, LABEL),
    ("dns1123SubdomainPrefix", "^[a-z0-9][-a-z0-9.]*$", 253, SUBDOMAIN),
    ("dns1035LabelPrefix", "^[a-z][-a-z0-9]*$", 63, LABEL_1035),
    ("labelValue", "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", 63, VALUE),
    ("uri", "^[a-zA-Z][a-zA-Z0-9+.-]*:[^\\s]*$|^/[^\\s]*$", usize::MAX, "invalid URI"),
    (
        "uuid",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
        usize::MAX,
        "does not match the UUID format",
    ),
    ("byte", "", usize::MAX, "invalid base64"),
    ("date", "", usize::MAX, "invalid date"),
    ("datetime", "", usize::MAX, "invalid datetime"),
];

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

pub(super) fn call(function: &str, values: &[Val]) -> Made {
    let known = |name: &str| FORMATS.iter().find(|(one, ..)| *one == name).map(|(one, ..)| *one);
    Some(match (function, values) {
        ("format.named", [Val::Text(name)]) => {
            Ok(known(name).map_or(Val::Optional(None), |name| Val::some(Val::Format(name))))
        }
        (name, []) => match name.strip_prefix("format.").and_then(known) {
            Some(name) => Ok(Val::Format(name)),
            None => return None,
        },
        ("validate", [Val::Format(name), Val::Text(text)]) => {
            let Some(row) = FORMATS.iter().find(|(one, ..)| one == name) else {
                return failed("unknown format").into();
            };
            Ok(problem(row, text)
                .map_or(Val::Optional(None), |why| Val::some(Val::list(vec![Val::text(&why)]))))
        }
        _ => return None,
    })
}

fn problem((name, pattern, most, why): &(&str, &str, usize, &str), text: &str) -> Option<String> {
    let fits = match *name {
        "byte" => unbase64(text).is_some(),
        "date" => text.len() == 10 && time::timestamp(text).is_some(),
        "datetime" => text.len() > 10 && time::timestamp(text).is_some(),
        _ => Regex::new(pattern).is_ok_and(|regex| regex.is_match(text)),
    };
    if !fits {
        return Some((*why).to_owned());
    }
    (text.len() > *most).then(|| format!("must be no more than {most} bytes"))
}
