//! How much of an input is taken in before it is refused.

/// Bounds on what is read. Each default carries its argument; a caller that knows better sets the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one source, after decompression.
    pub input_bytes_max: u64,
    /// Bytes of one JSON document that is not a list, or of one item of a JSON list.
    pub json_unit_bytes_max: usize,
    /// Bytes of text held until its meaning is known: one YAML document, or the items of a JSON list that lack
    /// a kind while the kind of the list is still to come.
    pub held_bytes_max: usize,
    /// Levels of nested objects and arrays in one document or list item.
    pub depth_max: usize,
    /// Values (scalars, objects, arrays) in one document or list item.
    pub nodes_max: usize,
    /// Values that all aliases of one YAML document may add, recorded or repeated.
    pub alias_nodes_max: usize,
    /// Bytes of text that all aliases of one YAML document may add.
    pub alias_bytes_max: usize,
    /// Levels of directories below one that was named.
    pub directory_depth_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // 150,000 pods with managedFields come to about 2 GB of JSON. Nothing of a list is held, so this
            // bounds time (a gzip bomb of blanks takes seconds), not memory.
            input_bytes_max: 8 << 30,
            // etcd refuses requests above 1.5 MiB, so an object from a cluster is far below this; manifests
            // written by tools (dashboards in ConfigMaps) reach about 1 MiB.
            json_unit_bytes_max: 64 << 20,
            // `kubectl get pods -A -o yaml` gives one document for everything.
            held_bytes_max: 1 << 30,
            // The deepest public manifests (the schemas of prometheus-operator's definitions) reach 27. A
            // value is dropped and walked by recursion, whose stack must hold this many frames; serde_json's
            // own bound is 128.
            depth_max: 100,
            // An object of 1.5 MiB has at most about 300,000 values; a JSON tree takes up to 600 bytes for
            // each of the costliest (an object with one key), so this keeps one unit below 600 MB.
            nodes_max: 1_000_000,
            // What go-yaml, the reader in kubectl, lets through without looking at the share of aliases.
            alias_nodes_max: 400_000,
            alias_bytes_max: 64 << 20,
            // Deeper trees are build output or a mistake; each level is a stack frame of the walk.
            directory_depth_max: 64,
        }
    }
}
