//! Definitions of custom resources that the API server was asked about (`peers/kube-validation`): what it takes is taken, what it
//! refuses is refused, and at the same fields.
//!
//! `REPLANK_VECTORS` names another directory of recordings.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use replank_lifecycle::definition::{self, Judged};
use replank_lifecycle::schema::Schema;
use replank_oracle::recordings::{self, Coverage, Differences, Kind};
use serde_json::{Value, json};

#[test]
fn definitions_are_judged_as_by_the_server() {
    recordings::check("replank-lifecycle", |kind| match kind {
        Kind::Definition => Coverage::Checked(check),
        Kind::Yaml => Coverage::NotHere("another test"),
        Kind::Scheduler(_) => Coverage::NotHere("replank-schedule"),
        Kind::Hpa => Coverage::NotHere("replank-hpa"),
        Kind::Quantity | Kind::IntStr | Kind::LabelSelector | Kind::Version | Kind::Validation => {
            Coverage::NotHere("replank-oracle")
        }
    });
}

fn check(line: &str) -> anyhow::Result<Differences> {
    let recorded: Value = serde_json::from_str(line)?;
    let object = &recorded["object"];
    let expect = &recorded["expect"];
    let is_taken = expect["ok"] == true && recorded["unknown"].as_str().unwrap_or_default().is_empty();
    let mut theirs = json!({"taken": is_taken});
    static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::embedded);
    let of_type = SCHEMA.check(object);
    let problems = definition::check(object);
    let mut ours = json!({"taken": of_type.is_empty() && problems.is_empty()});
    if problems.iter().any(|problem| problem.judged == Judged::Unknown) {
        // What is not computed here may be wrong or not; what is refused must be.
        let is_refused = problems.iter().any(|problem| problem.judged == Judged::Refused);
        let ours = json!({"taken": is_taken && !is_refused});
        return Ok(recordings::differences(&theirs, &ours));
    }
    if expect["code"] == 422 && of_type.is_empty() {
        let causes = expect["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
        // What is stored follows from which version is the storage version.
        let fields = causes.iter().filter_map(|cause| cause["field"].as_str());
        let theirs_at: BTreeSet<String> =
            fields.filter(|field| *field != "status.storedVersions").map(plain).collect();
        let ours_at: BTreeSet<String> = problems.iter().map(|problem| plain(&problem.path)).collect();
        theirs["fields"] = json!(theirs_at);
        ours["fields"] = json!(ours_at);
    }
    Ok(recordings::differences(&theirs, &ours))
}

/// What all versions have alike the server moves up before it looks, and names it there. Within a default it names the value; here
/// it is the default.
fn plain(path: &str) -> String {
    let path = path.replacen("spec.validation.", "spec.versions[0].schema.", 1);
    let path = path.replacen("spec.subresources.", "spec.versions[0].subresources.", 1);
    let path =
        path.replacen("spec.additionalPrinterColumns[", "spec.versions[0].additionalPrinterColumns[", 1);
    let path = match path.find("].default.").or(path.find(".items.default.")) {
        Some(at) => {
            path[..at + path[at..].find(".default").unwrap_or_default() + ".default".len()].to_owned()
        }
        None => path,
    };
    // `version` is the name of the first one.
    if path == "spec.version" { "spec.versions[0].name".to_owned() } else { path }
}
