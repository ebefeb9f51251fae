//! Amounts of resources as Kubernetes writes them.

use replank_model::object::resources::{CPU, EPHEMERAL_STORAGE, MEMORY};
use replank_model::quantity::Quantity;

/// One mebibyte: memory is lowered to a multiple of it.
pub const MEBI: i64 = 1024 * 1024;

/// Whether a resource is counted in bytes.
pub fn is_bytes(resource: &str) -> bool {
    resource == MEMORY || resource == EPHEMERAL_STORAGE || resource.starts_with("hugepages-")
}

/// An amount as the scheduler counts it (thousandths of cpu, bytes, pieces), written as a quantity.
#[must_use]
pub fn amount(resource: &str, amount: i64) -> String {
    if resource == CPU {
        return if amount % 1000 == 0 { (amount / 1000).to_string() } else { format!("{amount}m") };
    }
    if !is_bytes(resource) {
        return amount.to_string();
    }
    let units = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
    let exact = units.iter().find(|(_, shift)| amount != 0 && amount % (1 << shift) == 0);
    exact.map_or_else(|| amount.to_string(), |(unit, shift)| format!("{}{unit}", amount >> shift))
}

/// An amount for a person: bytes rounded down to whole mebibytes, where there are some.
#[must_use]
pub fn rounded(resource: &str, value: i64) -> String {
    let rounded = if is_bytes(resource) && value.abs() >= MEBI { value / MEBI * MEBI } else { value };
    amount(resource, rounded)
}

/// As a quantity of the API.
pub fn quantity(resource: &str, value: i64) -> Quantity {
    amount(resource, value).parse().expect("a whole number with a suffix is a quantity")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_exactly() {
        assert_eq!((amount("cpu", 1500), amount("cpu", 2000)), ("1500m".to_owned(), "2".to_owned()));
        assert_eq!(amount("memory", 60 << 30), "60Gi");
        assert_eq!(amount("memory", 1000), "1000");
        assert_eq!(rounded("memory", (3 << 30) + 5), "3Gi");
        assert_eq!(amount("nvidia.com/gpu", 2), "2");
    }
}
