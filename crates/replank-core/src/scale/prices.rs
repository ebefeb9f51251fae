//! What instance types cost.

use std::collections::BTreeMap;

use replank_model::text::Text;
use replank_protocol::scaling::Market;
use serde_json::Value;

/// Micro-dollars (or millionths of any currency) an hour.
pub type Price = i64;

/// Prices by instance type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(BTreeMap<Text, OfType>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OfType {
    on_demand: Option<Price>,
    spot: Option<Price>,
}

/// A file of prices that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PricesError {
    /// It is no JSON object.
    #[error(
        "expected an object of instance types, such as {{\"m6i.xlarge\": {{\"onDemand\": 0.192, \"spot\": 0.08}}}}"
    )]
    NoObject,
    /// An entry is wrong.
    #[error(
        "{instance_type}: expected a price per hour above 0, or {{\"onDemand\": …, \"spot\": …}}, found {found}"
    )]
    Entry {
        /// Of which type.
        instance_type: String,
        /// What is there.
        found: String,
    },
}

impl Prices {
    /// Reads `{"m6i.xlarge": {"onDemand": 0.192, "spot": 0.08}, "m5.large": 0.096}`: prices an hour; a bare number is the price on
    /// demand.
    ///
    /// # Errors
    /// Names the first type whose price cannot be read.
    pub fn read(value: &Value) -> Result<Self, PricesError> {
        let entries = value.as_object().ok_or(PricesError::NoObject)?;
        let mut prices = BTreeMap::new();
        for (name, entry) in entries {
            let wrong = || PricesError::Entry { instance_type: name.clone(), found: entry.to_string() };
            let of = match entry {
                Value::Number(_) => OfType { on_demand: Some(price(entry).ok_or_else(wrong)?), spot: None },
                Value::Object(members) => {
                    if members.keys().any(|key| key != "onDemand" && key != "spot") || members.is_empty() {
                        return Err(wrong());
                    }
                    let member =
                        |key: &str| members.get(key).map(|value| price(value).ok_or_else(wrong)).transpose();
                    OfType { on_demand: member("onDemand")?, spot: member("spot")? }
                }
                Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => return Err(wrong()),
            };
            prices.insert(Text::from(name.as_str()), of);
        }
        Ok(Self(prices))
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What an instance costs an hour. Without a price of the spot market nothing is known of a spot instance.
    #[must_use]
    pub fn of(&self, instance_type: &str, market: Market) -> Option<Price> {
        let known = self.0.get(instance_type)?;
        match market {
            Market::OnDemand | Market::CapacityBlock => known.on_demand,
            Market::Spot => known.spot,
        }
    }
}

fn price(value: &Value) -> Option<Price> {
    let dollars = value.as_f64().filter(|dollars| *dollars > 0.0 && *dollars < 1e6)?;
    #[expect(clippy::cast_possible_truncation, reason = "below 10^12")]
    Some((dollars * 1e6).round() as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prices_are_of_a_type_and_a_market() {
        let prices =
            Prices::read(&json!({"m5.large": 0.096, "m6i.large": {"onDemand": 0.1, "spot": 0.04}})).unwrap();
        assert_eq!(prices.of("m5.large", Market::OnDemand), Some(96_000));
        assert_eq!(
            prices.of("m5.large", Market::Spot),
            None,
            "a price on demand says nothing of the spot market"
        );
        assert_eq!(prices.of("m6i.large", Market::Spot), Some(40_000));
        assert_eq!(prices.of("c5.large", Market::OnDemand), None);
    }

    #[test]
    fn a_wrong_price_is_named() {
        let wrong = |value: &Value| Prices::read(value).unwrap_err().to_string();
        assert!(wrong(&json!([])).starts_with("expected an object of instance types"));
        assert!(wrong(&json!({"m5.large": -1})).starts_with("m5.large: expected a price"));
        assert!(wrong(&json!({"m5.large": {"ondemand": 1}})).ends_with("found {\"ondemand\":1}"));
    }
}
