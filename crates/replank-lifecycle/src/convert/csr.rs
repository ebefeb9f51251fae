//! CertificateSigningRequests: signer and usages are required in `v1` (`pkg/apis/certificates/v1beta1/defaults.go`).

use super::{Hold, Note, Work, default};
use crate::table::Gvk;
use crate::tree::Tree;

pub(super) fn up(object: &mut Tree, from: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
    if from.version == "v1" {
        return Ok(());
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    let path = || "spec.signerName".to_owned();
    match spec.text_at(&["signerName"]) {
        Some(says @ "kubernetes.io/legacy-unknown") => {
            let needed = "v1 refuses it: name a signer";
            return Err(Hold::NoCounterpart { path: path(), says: says.to_owned(), needed });
        }
        Some(_) => {}
        None => return Err(Hold::Absent { path: path(), why: "v1 requires a signer" }),
    }
    let usages = Tree::list(vec![Tree::text("digital signature"), Tree::text("key encipherment")]);
    default(spec, "usages", usages, &["request", "signerName"]);
    if spec.get("usages").is_some_and(Tree::is_empty) {
        return Err(Hold::Absent { path: "spec.usages".to_owned(), why: "v1 requires at least one" });
    }
    work.note(Note::Known {
        path: "spec".to_owned(),
        what: "a request is short-lived: change the program that creates it",
    });
    Ok(())
}
