//! `resource.Quantity`.

use anyhow::{Context, bail};
use replank_model::quantity::{Exactness, Format, Quantity};
use replank_oracle::recordings::{self, Differences};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The kinds of cases, with their inputs.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Input {
    Parse { input: String },
    Arith { a: String, b: String },
    Format { value: String },
    Mul { a: String, by: i64 },
}

/// `approximateFloat64` as written: a JSON reader may be off by the last bit.
#[derive(Deserialize)]
struct Approximate {
    #[serde(rename = "approximateFloat64")]
    text: Option<Box<RawValue>>,
}

pub(crate) fn check(line: &str) -> anyhow::Result<Differences> {
    let mut recorded: Map<String, Value> = serde_json::from_str(line)?;
    let approximate: Approximate = serde_json::from_str(line)?;
    if let Some(raw) = approximate.text {
        let text = raw.get().trim_matches('"');
        let value: f64 = text.parse().with_context(|| format!("the float {text}"))?;
        recorded.insert("approximateFloat64".to_owned(), float(value));
    }
    let mut ours = match serde_json::from_str(line)? {
        Input::Parse { input } => parse(&input),
        Input::Arith { a, b } => arithmetic(&a, &b)?,
        Input::Format { value } => format(value.parse()?),
        Input::Mul { a, by } => multiply(&a, by)?,
    };
    for field in ["id", "kind"] {
        ours[field] = recorded.get(field).context("a case has an id and a kind")?.clone();
    }
    if !ours.is_object() {
        bail!("an answer is an object");
    }
    Ok(recordings::differences(&Value::Object(recorded), &ours))
}

/// Bits and all.
fn float(value: f64) -> Value {
    Value::String(format!("{value:e}"))
}

fn rounded((quantity, exactness): &(Quantity, Exactness)) -> Value {
    json!({"result": quantity.to_string(), "exact": *exactness == Exactness::Exact})
}

fn parse(input: &str) -> Value {
    let quantity: Quantity = match input.parse() {
        Ok(quantity) => quantity,
        Err(error) => return json!({"input": input, "valid": false, "error": error.to_string()}),
    };
    let mut ours = json!({
        "input": input,
        "valid": true,
        "canonical": quantity.to_string(),
        "json": serde_json::to_string(&quantity).expect("a quantity is a string"),
        "format": quantity.format().name(),
        "sign": quantity.signum(),
        "isZero": quantity.is_zero(),
        "value": quantity.value().to_string(),
        "milliValue": quantity.milli_value().to_string(),
        "approximateFloat64": float(quantity.approximate_f64()),
        "exactDecimal": quantity.exact_decimal(),
        "roundUpMilli": rounded(&quantity.round_up_milli()),
        "roundUpUnits": rounded(&quantity.round_up_units()),
        "neg": (-&quantity).to_string(),
    });
    if let Some(integer) = quantity.as_i64() {
        ours["asInt64"] = integer.to_string().into();
    }
    ours
}

fn arithmetic(a: &str, b: &str) -> anyhow::Result<Value> {
    let (left, right): (Quantity, Quantity) = (a.parse()?, b.parse()?);
    let sum = &left + &right;
    Ok(json!({
        "a": a,
        "b": b,
        "cmp": left.cmp(&right) as i8,
        "equal": left == right,
        "add": sum.to_string(),
        "addFormat": sum.format().name(),
        "sub": (&left - &right).to_string(),
    }))
}

fn format(value: i64) -> Value {
    let units = |format| Quantity::from_units(value, format).to_string();
    let milli = |format| Quantity::from_milli(value, format).to_string();
    json!({
        "value": value.to_string(),
        "unitsDecimalSI": units(Format::DecimalSi),
        "unitsBinarySI": units(Format::BinarySi),
        "unitsDecimalExponent": units(Format::DecimalExponent),
        "milliDecimalSI": milli(Format::DecimalSi),
        "milliBinarySI": milli(Format::BinarySi),
        "milliDecimalExponent": milli(Format::DecimalExponent),
    })
}

fn multiply(a: &str, by: i64) -> anyhow::Result<Value> {
    let (product, exactness) = a.parse::<Quantity>()?.mul_int(by);
    Ok(json!({"a": a, "by": by, "mul": product.to_string(), "exact": exactness == Exactness::Exact}))
}
