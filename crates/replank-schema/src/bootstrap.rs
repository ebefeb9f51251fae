//! The objects that every cluster has from the start.

use serde_json::Value;

use crate::table::table;

/// The objects that an API server and its controllers make in an empty cluster, in their order: built-in roles and bindings, priority classes and levels,
/// flow schemas, API services, and the Service `kubernetes` with its address. Without uids, versions and times.
#[must_use]
pub fn bootstrap() -> Vec<Value> {
    table(include_bytes!("../data/bootstrap.json.gz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_of_users_are_there() {
        let all = bootstrap();
        let has = |kind: &str, name: &str| {
            all.iter().any(|one| one["kind"] == kind && one["metadata"]["name"] == name)
        };
        for role in ["cluster-admin", "admin", "edit", "view", "system:discovery"] {
            assert!(has("ClusterRole", role), "{role}");
        }
        assert!(has("PriorityClass", "system-node-critical") && has("Service", "kubernetes"));
        assert!(all.iter().all(|one| one["metadata"].get("uid").is_none()));
    }
}
