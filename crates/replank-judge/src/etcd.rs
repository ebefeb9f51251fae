//! What an etcd holds, by the JSON of its gateway: an API server keeps nothing anywhere else.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Client, Method};

/// All keys of an API server lie between these two.
const FIRST: &str = "/registry/";
const END: &str = "/registry0";

/// More than so many writes are not taken at once.
const WRITES_MAX: usize = 100;

/// Values by keys, such as `/registry/pods/default/web-1`. Values stay as they come: in base64, of whatever the API server writes.
pub(crate) type Held = BTreeMap<String, String>;

/// Everything that an API server keeps in it, at one moment.
pub(crate) fn held(etcd: &Client) -> Result<Held> {
    let range = json!({"key": STANDARD.encode(FIRST), "range_end": STANDARD.encode(END)});
    let answer = etcd.send(Method::Post, "/v3/kv/range", Some(&range))?.ok().context("etcd")?;
    let pair = |one: &Value| {
        let key = String::from_utf8(STANDARD.decode(one["key"].as_str().context("a key")?)?)?;
        Ok((key, one["value"].as_str().unwrap_or_default().to_owned()))
    };
    answer["kvs"].as_array().into_iter().flatten().map(pair).collect()
}

/// Deletes some keys, and puts others.
pub(crate) fn write(etcd: &Client, gone: &[&str], put: &[(&str, &str)]) -> Result<()> {
    let deletes = gone.iter().map(|key| json!({"requestDeleteRange": {"key": STANDARD.encode(key)}}));
    let puts =
        put.iter().map(|(key, value)| json!({"requestPut": {"key": STANDARD.encode(key), "value": value}}));
    let all: Vec<Value> = deletes.chain(puts).collect();
    for some in all.chunks(WRITES_MAX) {
        etcd.send(Method::Post, "/v3/kv/txn", Some(&json!({"success": some})))?.ok().context("etcd")?;
    }
    Ok(())
}
