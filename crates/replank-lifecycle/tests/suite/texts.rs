//! Texts that kubectl reads (`peers/kube-validation texts`): each is read here, too, by the scan and by snapshots, and says the
//! same.
//!
//! `REPLANK_VECTORS` names another directory of recordings.

use std::sync::Arc;

use replank_intake::document::Found as Read;
use replank_intake::limits::Limits;
use replank_intake::read;
use replank_intake::source::Source;
use replank_lifecycle::source::{self, Found};
use replank_oracle::recordings::{self, Coverage, Differences, Kind};
use serde_json::{Value, json};

#[test]
fn what_kubectl_reads_is_read() {
    recordings::check("replank-lifecycle, texts", |kind| match kind {
        Kind::Yaml => Coverage::Checked(check),
        Kind::Definition
        | Kind::Scheduler(_)
        | Kind::Hpa
        | Kind::Quantity
        | Kind::IntStr
        | Kind::LabelSelector
        | Kind::Version
        | Kind::Validation => Coverage::NotHere("another test"),
    });
}

fn check(line: &str) -> anyhow::Result<Differences> {
    let recorded: Value = serde_json::from_str(line)?;
    let text = recorded["text"].as_str().unwrap_or_default();
    if recorded["refused"] == true {
        // What kubectl refuses may be read here: a scan that finds more harms nobody.
        return Ok(Differences::default());
    }
    let mut values = Vec::new();
    read::read(vec![Source::bytes("x", text.as_bytes())], &Limits::default(), &mut |found| {
        if let Read::Document(document) = found {
            values.push(document.value.clone());
        }
    })?;
    let mut unread = Vec::new();
    let name: Arc<str> = Arc::from("x.yaml");
    source::read(&name, text, &mut |found| match found {
        Found::Document(_) => {}
        Found::Unread(of) => unread.push(of.why),
        Found::Template { .. } => unread.push("template".to_owned()),
    });
    let theirs = json!({"values": [recorded["json"]], "unread": Vec::<String>::new()});
    Ok(recordings::differences(&theirs, &json!({"values": values, "unread": unread})))
}
