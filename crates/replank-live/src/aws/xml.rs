//! Answers in XML, as JSON: what the AWS CLI prints of them has the same form.
//!
//! A list is an element that holds nothing but `member`s (Auto Scaling, STS) or `item`s (EC2). An element without content is null.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Map, Value};

/// Members that are numbers.
const NUMBERS: &[&str] = &[
    "MinSize",
    "MaxSize",
    "DesiredCapacity",
    "HeartbeatTimeout",
    "OnDemandBaseCapacity",
    "OnDemandPercentageAboveBaseCapacity",
    "SpotInstancePools",
    "versionNumber",
];
/// Members that are true or false.
const FLAGS: &[&str] = &["ProtectedFromScaleIn", "NewInstancesProtectedFromScaleIn", "defaultVersion"];

struct Element {
    name: String,
    text: String,
    inner: Vec<(String, Value)>,
}

impl Element {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), text: String::new(), inner: Vec::new() }
    }

    fn into_value(self) -> (String, Value) {
        let Self { name, text, inner } = self;
        if inner.is_empty() {
            let value = match &*text {
                "" => Value::Null,
                "true" | "false" if FLAGS.contains(&&*name) => Value::Bool(text == "true"),
                number if NUMBERS.contains(&&*name) => {
                    number.parse::<u64>().map_or_else(|_| Value::from(number), Value::from)
                }
                other => Value::from(other),
            };
            return (name, value);
        }
        if inner.iter().all(|(name, _)| name == "member") || inner.iter().all(|(name, _)| name == "item") {
            return (name, inner.into_iter().map(|(_, value)| value).collect());
        }
        let all: Map<String, Value> = inner.into_iter().collect();
        (name, Value::Object(all))
    }
}

/// The outermost element of a document.
///
/// # Errors
/// Where it is not well-formed.
pub(super) fn read(text: &str) -> Result<Value, String> {
    Ok(named(text)?.1)
}

/// The outermost element of a document, with its name.
///
/// # Errors
/// Where it is not well-formed.
pub(super) fn named(text: &str) -> Result<(String, Value), String> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    loop {
        let event = reader.read_event().map_err(|error| error.to_string())?;
        match event {
            Event::Start(start) => open.push(Element::new(start.local_name().as_ref())),
            Event::Empty(start) => {
                let (name, value) = Element::new(start.local_name().as_ref()).into_value();
                match open.last_mut() {
                    Some(outer) => outer.inner.push((name, value)),
                    None => return Ok((name, value)),
                }
            }
            Event::End(_) => {
                let Some(element) = open.pop() else {
                    return Err("an element ends that has not begun".to_owned());
                };
                let (name, value) = element.into_value();
                match open.last_mut() {
                    Some(outer) => outer.inner.push((name, value)),
                    None => return Ok((name, value)),
                }
            }
            Event::Text(more) => append(&mut open, &more),
            Event::CData(more) => append(&mut open, &more),
            Event::GeneralRef(reference) => {
                let number = reference.resolve_char_ref().map_err(|error| error.to_string())?;
                let name = &*reference;
                let known = match number {
                    Some(letter) => letter.to_string(),
                    None => quick_xml::escape::resolve_xml_entity(name)
                        .ok_or_else(|| format!("the entity {name} is not known"))?
                        .to_owned(),
                };
                append(&mut open, &known);
            }
            Event::Eof => return Err("it ends within an element".to_owned()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// Text between elements is form, and means nothing.
fn append(open: &mut [Element], more: &str) {
    if let Some(element) = open.last_mut() {
        let is_form = element.text.is_empty() && more.trim().is_empty() && more.contains('\n');
        if !is_form {
            element.text += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_has_the_form_that_the_cli_prints() {
        let text = "<?xml version=\"1.0\"?>\n<R xmlns=\"http://x/\"><Result>\n  <Groups><member><Name>a &amp; b&#x21;</Name><MinSize>2</MinSize><Tags/>\
            <Ids><member>i-1</member><member>i-2</member></Ids><ProtectedFromScaleIn>true</ProtectedFromScaleIn></member></Groups><NextToken/></Result></R>";
        assert_eq!(
            read(text).expect("it is well-formed"),
            json!({"Result": {"Groups": [{"Name": "a & b!", "MinSize": 2, "Tags": null, "Ids": ["i-1", "i-2"], "ProtectedFromScaleIn": true}], "NextToken": null}})
        );
        assert!(read("<a><b></a>").is_err() && read("<a>").is_err() && read("no document").is_err());
    }
}
