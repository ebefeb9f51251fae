//! Systems Manager: the public parameters of images.

use serde_json::{Value, json};

use super::names::Names;
use super::unknown::unknown;
use crate::call::Reply;
use crate::fault::Fault;
use crate::image::{Image, parameter, parameters};
use crate::input::Input;
use crate::page::page;
use crate::service::Service;

pub(crate) fn answer(names: &Names, action: &str, input: Input<'_>) -> Reply {
    match action {
        "GetParameter" => {
            let name = input.text("Name").ok_or_else(|| Fault::bad("ValidationException", "1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null"))?;
            let (image, value) = parameter(name).ok_or_else(|| Fault::bad("ParameterNotFound", ""))?;
            Ok(json!({"Parameter": shown(names, name, &image, &value)}))
        }
        "GetParameters" => {
            let names_asked = input.texts("Names");
            let found = names_asked
                .iter()
                .filter_map(|name| parameter(name).map(|(image, value)| shown(names, name, &image, &value)));
            let found: Vec<Value> = found.collect();
            let invalid: Vec<&String> = names_asked.iter().filter(|name| parameter(name).is_none()).collect();
            Ok(json!({"Parameters": found, "InvalidParameters": invalid}))
        }
        "GetParametersByPath" => {
            let path = input.text("Path").unwrap_or("/");
            let all = parameters()
                .into_iter()
                .filter(|name| is_below(name, path, input.flag("Recursive").ok().flatten().unwrap_or(false)));
            let all = all.filter_map(|name| {
                Some((
                    name.clone(),
                    parameter(&name).map(|(image, value)| shown(names, &name, &image, &value))?,
                ))
            });
            let size = usize::try_from(input.number("MaxResults")?.unwrap_or(10).clamp(1, 10)).unwrap_or(10);
            let (found, next) = page(
                all.collect(),
                size,
                input.text("NextToken"),
                &Fault::bad("InvalidNextToken", "The specified token is not valid."),
            )?;
            let mut answer = json!({"Parameters": found});
            if let Some(next) = next {
                answer["NextToken"] = json!(next);
            }
            Ok(answer)
        }
        // Public parameters are not listed among an account's own, of which there are none.
        "DescribeParameters" => Ok(json!({"Parameters": []})),
        _ => Err(unknown(Service::Ssm, action)),
    }
}

fn is_below(name: &str, path: &str, is_recursive: bool) -> bool {
    let rest = name.strip_prefix(path.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    rest.is_some_and(|rest| is_recursive || !rest.contains('/'))
}

fn shown(names: &Names, name: &str, image: &Image, value: &str) -> Value {
    json!({"Name": name, "Type": "String", "Value": value, "Version": 1, "DataType": "text",
        "LastModifiedDate": image.created().parse().map(crate::text::epoch).unwrap_or_default(),
        "ARN": format!("arn:aws:ssm:{}::parameter{name}", names.region())})
}
