//! Answers in XML.

use serde_json::Value;

use super::message::{Answer, leaf};
use crate::fault::Fault;
use crate::service::Service;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

pub(super) fn answer(service: Service, action: &str, value: &Value, id: &str) -> Answer {
    let mut body = format!("<{action}Response xmlns=\"{}\"><{action}Result>", service.namespace());
    members(&mut body, value, "member");
    body += &format!(
        "</{action}Result><ResponseMetadata><RequestId>{id}</RequestId></ResponseMetadata></{action}Response>"
    );
    xml(200, &body, id)
}

pub(super) fn fault(service: Service, fault: &Fault, id: &str) -> Answer {
    let who = if fault.status >= 500 { "Receiver" } else { "Sender" };
    let mut body = format!("<ErrorResponse xmlns=\"{}\"><Error><Type>{who}</Type>", service.namespace());
    element(&mut body, "Code", &fault.code);
    element(&mut body, "Message", &fault.message);
    body += &format!("</Error><RequestId>{id}</RequestId></ErrorResponse>");
    xml(fault.status, &body, id)
}

pub(super) fn ec2_answer(service: Service, action: &str, value: &Value, id: &str) -> Answer {
    let mut body = format!("<{action}Response xmlns=\"{}\"><requestId>{id}</requestId>", service.namespace());
    members(&mut body, value, "item");
    body += &format!("</{action}Response>");
    xml(200, &body, id)
}

pub(super) fn ec2_fault(fault: &Fault, id: &str) -> Answer {
    let mut body = "<Response><Errors><Error>".to_owned();
    element(&mut body, "Code", &fault.code);
    element(&mut body, "Message", &fault.message);
    body += &format!("</Error></Errors><RequestID>{id}</RequestID></Response>");
    xml(fault.status, &body, id)
}

fn xml(status: u16, body: &str, id: &str) -> Answer {
    let headers =
        vec![("content-type", "text/xml;charset=UTF-8".to_owned()), ("x-amzn-requestid", id.to_owned())];
    Answer { status, headers, body: format!("{HEAD}{body}") }
}

/// The members of a structure; those that are null are absent. A member whose name begins with `*` is a list without an element around it.
fn members(out: &mut String, value: &Value, list: &str) {
    let Value::Object(all) = value else { return };
    for (name, value) in all {
        match (name.strip_prefix('*'), value) {
            (_, Value::Null) => {}
            (Some(name), Value::Array(elements)) => {
                for one in elements {
                    wrapped(out, name, one, list);
                }
            }
            (_, value) => wrapped(out, name, value, list),
        }
    }
}

fn wrapped(out: &mut String, name: &str, value: &Value, list: &str) {
    match value {
        Value::Object(_) => {
            *out += &format!("<{name}>");
            members(out, value, list);
            *out += &format!("</{name}>");
        }
        Value::Array(elements) => {
            *out += &format!("<{name}>");
            for one in elements {
                wrapped(out, list, one, list);
            }
            *out += &format!("</{name}>");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            element(out, name, &leaf(value));
        }
    }
}

fn element(out: &mut String, name: &str, text: &str) {
    *out += &format!("<{name}>");
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#xD;"),
            // XML has no way to write other controls.
            other if other < ' ' && !"\t\n".contains(other) => {}
            other => out.push(other),
        }
    }
    *out += &format!("</{name}>");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn structures_lists_and_texts_are_written() {
        let value =
            json!({"A": {"B": ["x", {"C": 1}], "D": null, "E": []}, "*F": ["1", "2"], "G": "<&>", "H": true});
        let written = answer(Service::AutoScaling, "Do", &value, "r").body;
        assert_eq!(
            written,
            format!(
                "{HEAD}<DoResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\"><DoResult><F>1</F><F>2</F><A><B><member>x</member><member><C>1</C></member></B><E></E></A><G>&lt;&amp;&gt;</G><H>true</H></DoResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DoResponse>"
            )
        );
    }
}
