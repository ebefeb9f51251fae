//! What the API server says of an object that is to be created: its message and causes word for word, and the fields that
//! it does not know.

use replank_model::validation::{Refusal, unknown_fields, validate};
use replank_oracle::recordings::{self, Differences};
use serde_json::{Value, json};

pub(crate) fn check(line: &str) -> anyhow::Result<Differences> {
    let recorded: Value = serde_json::from_str(line)?;
    let object = &recorded["object"];
    let expect = match validate(object) {
        Ok(()) => json!({"ok": true}),
        Err(refusal) => {
            let mut expect = json!({"code": refusal.code(), "message": refusal.to_string()});
            if let Refusal::Invalid { causes, .. } = &refusal {
                let cause = |cause: &replank_model::validation::FieldError| json!({"reason": cause.kind.reason(), "field": cause.path, "message": cause.body()});
                expect["causes"] = causes.iter().map(cause).collect();
            }
            expect
        }
    };
    let mut ours = json!({"id": recorded["id"], "object": object, "expect": expect});
    let unknown: Vec<String> =
        unknown_fields(object).iter().map(|path| format!("unknown field {path:?}")).collect();
    if !unknown.is_empty() {
        ours["unknown"] = format!("strict decoding error: {}", unknown.join(", ")).into();
    }
    Ok(recordings::differences(&recorded, &ours))
}
