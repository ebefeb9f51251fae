//! What kube-apiserver 1.36.2 said of values of `spec.x`: the schema, the value, each cause.

use serde_json::json;

use super::validate;
use crate::schema::read;

const SAID: &[(&str, &str, &[&str])] = &[
    (
        r#"{"type": "integer", "maximum": 0.5}"#,
        r#"0"#,
        &[
            r#"<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in spec.x"#,
        ],
    ),
    (
        r#"{"type": "integer", "maximum": 0.5}"#,
        r#"1"#,
        &[
            r#"<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in spec.x"#,
            r#"spec.x: Invalid value: 1: spec.x in body should be less than or equal to 0.5"#,
        ],
    ),
    (
        r#"{"type": "integer", "minimum": 0.5, "maximum": 3}"#,
        r#"1"#,
        &[
            r#"<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in spec.x"#,
        ],
    ),
    (
        r#"{"type": "integer", "minimum": 0.5, "maximum": 3}"#,
        r#"0"#,
        &[
            r#"<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in spec.x"#,
            r#"spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 0.5"#,
        ],
    ),
    (r#"{"type": "integer", "format": "uint32"}"#, r#"-1"#, &[]),
    (r#"{"type": "integer", "format": "uint32"}"#, r#"5000000000"#, &[]),
    (
        r#"{"type": "integer", "format": "int32"}"#,
        r#"3000000000"#,
        &[r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x"#],
    ),
    (
        r#"{"type": "integer", "format": "int32"}"#,
        r#"1.5"#,
        &[
            r#"spec.x: Invalid value: "float64": spec.x in body must be of type int32: "float64""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x"#,
        ],
    ),
    (
        r#"{"type": "integer", "format": "int32", "maximum": 3000000000}"#,
        r#"1"#,
        &[
            r#"<nil>: Invalid value: "": Maximum boundary value must be of type integer with format int32 in spec.x"#,
        ],
    ),
    (
        r#"{"type": "integer", "multipleOf": 2.5}"#,
        r#"5"#,
        &[r#"<nil>: Invalid value: "": MultipleOf value must be of type integer (default format) in spec.x"#],
    ),
    (
        r#"{"type": "integer", "multipleOf": 2.5}"#,
        r#"4"#,
        &[
            r#"<nil>: Invalid value: "": MultipleOf value must be of type integer (default format) in spec.x"#,
            r#"spec.x: Invalid value: 4: spec.x in body should be a multiple of 2.5"#,
        ],
    ),
    (
        r#"{"type": "number", "format": "float"}"#,
        r#"1e300"#,
        &[r#"<nil>: Invalid value: "": Checked value must be of type number with format float in spec.x"#],
    ),
    (
        r#"{"type": "integer"}"#,
        r#"1.5"#,
        &[
            r#"spec.x: Invalid value: "number": spec.x in body must be of type integer: "number""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x"#,
        ],
    ),
    (
        r#"{"type": "integer"}"#,
        r#"1e20"#,
        &[
            r#"spec.x: Invalid value: "number": spec.x in body must be of type integer: "number""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x"#,
        ],
    ),
    (
        r#"{"type": "integer", "minimum": 1}"#,
        r#"0.5"#,
        &[
            r#"spec.x: Invalid value: "number": spec.x in body must be of type integer: "number""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x"#,
            r#"spec.x: Invalid value: 0.5: spec.x in body should be greater than or equal to 1"#,
        ],
    ),
    (
        r#"{"type": "integer", "minimum": 1}"#,
        r#"1e20"#,
        &[
            r#"spec.x: Invalid value: "number": spec.x in body must be of type integer: "number""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x"#,
        ],
    ),
    (
        r#"{"type": "integer", "format": "int32"}"#,
        r#"1e20"#,
        &[
            r#"spec.x: Invalid value: "float64": spec.x in body must be of type int32: "float64""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x"#,
        ],
    ),
    (r#"{"type": "integer"}"#, r#"9223372036854775807"#, &[]),
    (
        r#"{"type": "integer", "format": "int32"}"#,
        r#"true"#,
        &[r#"spec.x: Invalid value: "": spec.x in body must be of type int32: """#],
    ),
    (
        r#"{"type": "integer", "format": "int32"}"#,
        r#""abc""#,
        &[r#"spec.x: Invalid value: "string": spec.x in body must be of type integer: "string""#],
    ),
    (
        r#"{"type": "integer", "format": "int32"}"#,
        r#"{}"#,
        &[r#"spec.x: Invalid value: "": spec.x in body must be of type int32: """#],
    ),
    (
        r#"{"type": "integer", "format": "int32"}"#,
        r#"[]"#,
        &[r#"spec.x: Invalid value: "array": spec.x in body must be of type integer: "array""#],
    ),
    (
        r#"{"type": "integer"}"#,
        r#"true"#,
        &[r#"spec.x: Invalid value: "boolean": spec.x in body must be of type integer: "boolean""#],
    ),
    (
        r#"{"type": "number", "format": "float"}"#,
        r#""abc""#,
        &[r#"spec.x: Invalid value: "string": spec.x in body must be of type number: "string""#],
    ),
    (
        r#"{"type": "number", "format": "float"}"#,
        r#"true"#,
        &[r#"spec.x: Invalid value: "": spec.x in body must be of type float: """#],
    ),
    (
        r#"{"type": "string", "format": "int32"}"#,
        r#"5"#,
        &[r#"spec.x: Invalid value: "integer": spec.x in body must be of type string: "integer""#],
    ),
    (r#"{"type": "string", "format": "int32"}"#, r#""abc""#, &[]),
    (
        r#"{"type": "string", "format": "int32"}"#,
        r#"{}"#,
        &[r#"spec.x: Invalid value: "object": spec.x in body must be of type string: "object""#],
    ),
    (
        r#"{"type": "string", "format": "date"}"#,
        r#"true"#,
        &[r#"spec.x: Invalid value: "": spec.x in body must be of type date: """#],
    ),
    (r#"{"type": "string", "format": "date"}"#, r#""2020-01-01""#, &[]),
    (
        r#"{"type": "string", "format": "date"}"#,
        r#"5"#,
        &[r#"spec.x: Invalid value: "int64": spec.x in body must be of type date: "int64""#],
    ),
    (
        r#"{"type": "boolean", "format": "int32"}"#,
        r#"5"#,
        &[r#"spec.x: Invalid value: "integer": spec.x in body must be of type boolean: "integer""#],
    ),
    (
        r#"{"type": "boolean", "format": "int32"}"#,
        r#""x""#,
        &[r#"spec.x: Invalid value: "string": spec.x in body must be of type boolean: "string""#],
    ),
    (
        r#"{"type": "number", "minimum": 0.5, "multipleOf": 0.25, "format": "double"}"#,
        r#"3"#,
        &[r#"spec.x: Invalid value: 0: factor MultipleOf declared for spec.x must be positive: 0"#],
    ),
    (
        r#"{"type": "number", "minimum": 0.5, "multipleOf": 0.25, "format": "double"}"#,
        r#"0.2"#,
        &[
            r#"spec.x: Invalid value: 0.2: spec.x in body should be a multiple of 0.25"#,
            r#"spec.x: Invalid value: 0.2: spec.x in body should be greater than or equal to 0.5"#,
        ],
    ),
];

#[test]
fn numbers_types_and_formats_are_judged_in_the_servers_words() {
    for (schema, value, said) in SAID {
        let of: serde_json::Value = serde_json::from_str(schema).expect("it is JSON");
        let value: serde_json::Value = serde_json::from_str(value).expect("it is JSON");
        let schema = read(&json!({"type": "object", "properties":
            {"spec": {"type": "object", "properties": {"x": of}}}}));
        let found = validate(&json!({"spec": {"x": value}}), None, &schema);
        let told: Vec<String> = found.iter().map(|one| format!("{}: {}", one.field, one.message)).collect();
        assert_eq!(told, *said, "{value} of {schema:?}");
    }
}
