//! Volumes that are put together from several sources (`validateProjectionSources`). Certificates and trust bundles are
//! dropped before: their gates are off in 1.36.

use std::collections::BTreeSet;

use super::error::{Causes, Shown};
use super::field::Field;
use super::{mounts, volumes};

/// The shortest and longest that a token may live.
const TOKEN_SECONDS: (i64, i64) = (10 * 60, 1 << 32);

pub(super) fn projected(volume: &Field<'_>, causes: &mut Causes) {
    volumes::mode(&volume.child("defaultMode"), causes);
    let mut paths: BTreeSet<&str> = BTreeSet::new();
    for source in volume.child("sources").items() {
        let mut kinds = 0;
        for of in ["secret", "configMap"].map(|name| source.child(name)) {
            if !of.is_set() {
                continue;
            }
            kinds += 1;
            volumes::required(&of, "name", causes);
            for item in of.child("items").items() {
                volumes::key_to_path(&item, causes);
                let path = item.child("path").text();
                if !path.is_empty() && !paths.insert(path) {
                    conflict(volume, of.child("name").text(), causes);
                }
            }
        }
        if let Some(downward) = source.child("downwardAPI").set() {
            kinds += 1;
            for item in downward.child("items").items() {
                volumes::downward_file(&item.moved(&*downward.path), causes);
                let path = item.child("path").text();
                if !path.is_empty() && !paths.insert(path) {
                    conflict(volume, path, causes);
                }
            }
        }
        if let Some(token) = source.child("serviceAccountToken").set() {
            kinds += 1;
            self::token(&token, volume, causes);
        }
        if kinds > 1 {
            causes.forbidden(&source.path, "may not specify more than 1 volume type per source");
        }
    }
}

fn conflict(volume: &Field<'_>, shown: &str, causes: &mut Causes) {
    causes.invalid(&volume.path, Shown::text(shown), "conflicting duplicate paths");
}

fn token(token: &Field<'_>, volume: &Field<'_>, causes: &mut Causes) {
    let life = token.child("expirationSeconds");
    let seconds = life.number_or_zero();
    let (least, most) = TOKEN_SECONDS;
    if seconds < least {
        causes.invalid(&life.path, Shown::plain(seconds), "may not specify a duration less than 10 minutes");
    }
    if seconds > most {
        causes.invalid(
            &life.path,
            Shown::plain(seconds),
            "may not specify a duration larger than 2^32 seconds",
        );
    }
    let path = token.child("path").moved(volume.at("path"));
    if path.is_empty() {
        causes.required(&path.path, "");
    } else {
        mounts::not_reserved(&path, causes);
    }
}
